// SPDX-License-Identifier: MIT
// Every gradient of the rotation's parameters is the central difference of a loss by the parameter.
#include <rope/gradients.hpp>
#include <rope/wrapped_rows.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "gradients/problem.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/strided.hpp"

using namespace gradients;

namespace {

/// Positions between -20 and 20, not whole, different on every axis and for every token.
std::vector<double> positions_of(Index axes, Index tokens) {
    std::vector<double> p;
    for (Index i = 0; i < axes * tokens; ++i) p.push_back(20.0 * std::sin(1.0 + 1.7 * static_cast<double>(i)));
    return p;
}
rope::Frequencies frequencies_of(Index entries) {
    rope::Frequencies f;
    for (Index i = 0; i < entries; ++i) f.inv_freq.push_back(std::pow(10.0, -0.4 * static_cast<double>(i)) - 0.1);
    f.attention_factor = 1.3;
    return f;
}

/// Every gradient of one rotation of q and k, the outputs in memory of this order.
void check_all(const Shape& shape, Rotation by, const support::MemoryOrder& order) {
    const std::vector<double> q = support::normal<double>(shape.tokens() * shape.q_heads * shape.head_dim, 1);
    const std::vector<double> k = support::normal<double>(shape.tokens() * shape.k_heads * shape.head_dim, 2);
    const auto loss = [&] {
        return loss_of(rotated(shape, by, q, shape.q_heads)) + loss_of(rotated(shape, by, k, shape.k_heads));
    };
    const std::vector<double> yq = rotated(shape, by, q, shape.q_heads), yk = rotated(shape, by, k, shape.k_heads);
    const std::vector<double> gq = slopes_of(yq), gk = slopes_of(yk);
    const Index entries = static_cast<Index>(by.frequencies.inv_freq.size());
    const Index pairs = by.map.is_mixed ? entries / by.map.axes : entries;
    const rope::Rows<double> rows(by.frequencies, by.map, by.slice);
    // Outputs hold 1 before, and must hold 1 more than the gradient.
    const auto ones = [&](std::array<Index, 4> extents, support::StridedTensor<double>& t) {
        t.set(std::vector<double>(size(extents[0] * extents[1] * extents[2] * extents[3]), 1.0));
    };
    const std::array<Index, 4> per_pair = {shape.batch, shape.seq, 1, pairs}, per_entry = {1, 1, 1, entries},
                               per_token = {by.map.axes, shape.tokens(), 1, 1};
    support::StridedTensor<double> angles(per_pair, order), magnitudes(per_pair, order), dw(per_entry, order),
        dp(per_token, order);
    angles.set(std::vector<double>(size(shape.tokens() * pairs), 0.0));
    magnitudes.set(std::vector<double>(size(shape.tokens() * pairs), 0.0));
    ones(per_entry, dw);
    ones(per_token, dp);
    with_layout(shape.layout, [&](auto layout) {
        rope::add_angle_gradients<decltype(layout)::value>(
            rope::view(yq, shape.batch, shape.seq, shape.q_heads, shape.head_dim),
            rope::view(gq, shape.batch, shape.seq, shape.q_heads, shape.head_dim), rows, angles.view(),
            magnitudes.view());
        rope::add_angle_gradients<decltype(layout)::value>(
            rope::view(yk, shape.batch, shape.seq, shape.k_heads, shape.head_dim),
            rope::view(gk, shape.batch, shape.seq, shape.k_heads, shape.head_dim), rows, angles.view(),
            magnitudes.view());
    });
    rope::add_frequency_gradients(angles.view(), rope::AxisPositions(by.positions, by.map.axes), by.map, dw.view());
    rope::add_position_gradients(angles.view(), by.frequencies, by.map, dp.view());
    const auto less_one = [](const support::StridedTensor<double>& t) {
        std::vector<double> list = t.elements();
        for (double& x : list) x -= 1.0;
        return list;
    };
    std::vector<double> w(by.frequencies.inv_freq.begin(), by.frequencies.inv_freq.end());
    const std::vector<double> of_w = less_one(dw);
    check_gradients("frequency", w, of_w, [&] {
        by.frequencies.inv_freq.assign(w.begin(), w.end());
        return loss();
    });
    by.frequencies.inv_freq.assign(w.begin(), w.end());
    check_gradients("position", by.positions, less_one(dp), loss);
    std::vector<double> m = {by.frequencies.attention_factor};
    const double of_m = rope::attention_factor_gradient(magnitudes.view(), m[0]);
    check_gradients("attention factor", m, {of_m}, [&] {
        by.frequencies.attention_factor = m[0];
        return loss();
    });
    by.frequencies.attention_factor = m[0];
    // w_i = w0_i exp(a_i), at a_i = 0.
    std::vector<double> a(w.size(), 0.0), of_a = of_w;
    for (std::size_t i = 0; i < a.size(); ++i) of_a[i] *= w[i];
    check_gradients("log-frequency", a, of_a, [&] {
        for (std::size_t i = 0; i < a.size(); ++i) by.frequencies.inv_freq[i] = w[i] * std::exp(a[i]);
        return loss();
    });
    CHECK(angles.fence_is_intact());
    CHECK(magnitudes.fence_is_intact());
    CHECK(dw.fence_is_intact());
    CHECK(dp.fence_is_intact());
}

}  // namespace

TEST_CASE("q and k together, in both layouts, whole heads and slices of heads") {
    Shape shape;
    shape.layout = GENERATE(rope::Layout::interleaved, rope::Layout::half_split);
    const Index pairs = GENERATE(1, 4, 6), offset = GENERATE(0, 2, 4);
    if (2 * pairs + offset > shape.head_dim) return;
    check_all(shape, {frequencies_of(pairs), {}, {shape.head_dim, offset}, positions_of(1, shape.tokens())}, {});
}

TEST_CASE("frequencies beside magnitudes that grow with the position (xPos)") {
    Shape shape;
    shape.layout = GENERATE(rope::Layout::interleaved, rope::Layout::half_split);
    Rotation by = {frequencies_of(6), {}, {shape.head_dim, 0}, positions_of(1, shape.tokens())};
    for (int i = 0; i < 6; ++i) by.frequencies.log_growth.push_back(0.02 * i);
    const std::vector<double> x = support::normal<double>(shape.tokens() * shape.q_heads * shape.head_dim, 1);
    const std::vector<double> y = rotated(shape, by, x, shape.q_heads), g = slopes_of(y);
    std::vector<double> angles(size(shape.tokens() * 6), 0.0), dw(6, 0.0);
    const rope::TensorView<double> of_angles = rope::view(angles, shape.batch, shape.seq, 1, 6);
    const auto heads = [&](const std::vector<double>& v) {
        return rope::view(v, shape.batch, shape.seq, shape.q_heads, shape.head_dim);
    };
    const rope::Rows<double> rows(by.frequencies, by.map, by.slice);
    rope::add_angle_gradients(shape.layout, heads(y), heads(g), rows, of_angles);
    rope::add_frequency_gradients(of_angles, rope::AxisPositions(by.positions, 1), by.map, rope::view(dw, 1, 1, 6));
    std::vector<double> w(by.frequencies.inv_freq.begin(), by.frequencies.inv_freq.end());
    check_gradients("frequency", w, dw, [&] {
        by.frequencies.inv_freq.assign(w.begin(), w.end());
        return loss_of(rotated(shape, by, x, shape.q_heads));
    });
}

TEST_CASE("more pairs than are summed at once") {
    Shape shape;
    shape.layout = GENERATE(rope::Layout::interleaved, rope::Layout::half_split);
    shape.batch = 1;
    shape.seq = 2;
    shape.q_heads = 2;
    shape.k_heads = 1;
    shape.head_dim = 142;
    rope::Frequencies f = frequencies_of(70);
    check_all(shape, {f, {}, {142, 1}, positions_of(1, shape.tokens())}, {});
}

TEST_CASE("several axes") {
    Shape shape;
    shape.layout = GENERATE(rope::Layout::interleaved, rope::Layout::half_split);
    check_all(shape, {frequencies_of(6), rope::mrope_sections({3, 2, 1}), {}, positions_of(3, shape.tokens())}, {});
    check_all(shape, {frequencies_of(6), rope::mrope_interleaved({2, 2, 2}), {}, positions_of(3, shape.tokens())}, {});
}

TEST_CASE("mixed axes") {
    Shape shape;
    shape.layout = GENERATE(rope::Layout::interleaved, rope::Layout::half_split);
    check_all(shape, {rope::mixed_frequencies(6, 10.0, 0.4), rope::mixed_axes(2), {}, positions_of(2, shape.tokens())},
              {});
    check_all(shape, {frequencies_of(15), rope::mixed_axes(3), {12, 2}, positions_of(3, shape.tokens())}, {});
}

TEST_CASE("outputs with any strides") {
    Shape shape;
    std::size_t n = 0;
    for (const support::MemoryOrder& order : support::memory_orders())
        if (n++ % 5 == 0) check_all(shape, {frequencies_of(5), {}, {12, 1}, positions_of(1, shape.tokens())}, order);
}

TEST_CASE("positions as apply takes them, and frequencies of several blocks of tokens") {
    Shape shape;
    shape.batch = 2;
    shape.seq = 70;
    shape.q_heads = 1;
    Rotation by = {frequencies_of(6), {}, {}, {}};
    for (Index b = 0; b < shape.batch; ++b)
        for (Index s = 0; s < shape.seq; ++s) by.positions.push_back(static_cast<double>(b == 0 ? 3 + s : -5 + s));
    const std::vector<double> x = support::normal<double>(shape.tokens() * 12, 5);
    const std::vector<double> y = rotated(shape, by, x, 1), g = slopes_of(y);
    const rope::Rows<double> rows(by.frequencies);
    std::vector<double> angles(size(shape.tokens() * 6)), dw(6);
    const auto of_angles = rope::view(angles, shape.batch, shape.seq, 1, 6);
    rope::add_angle_gradients<rope::Layout::half_split>(rope::view(y, shape.batch, shape.seq, 1, 12),
                                                        rope::view(g, shape.batch, shape.seq, 1, 12), rows, of_angles);
    rope::add_frequency_gradients(of_angles, rope::start_at(std::vector<int>{3, -5}), rope::view(dw, 1, 1, 6));
    std::vector<double> w(by.frequencies.inv_freq.begin(), by.frequencies.inv_freq.end());
    check_gradients("frequency", w, dw, [&] {
        by.frequencies.inv_freq.assign(w.begin(), w.end());
        return loss_of(rotated(shape, by, x, 1));
    });
    // The same as ids, and as one start for each entry.
    std::vector<double> by_ids(6), by_start(6);
    std::vector<Index> ids;
    for (const double p : by.positions) ids.push_back(static_cast<Index>(p));
    rope::add_frequency_gradients(of_angles, ids, rope::view(by_ids, 1, 1, 6));
    CHECK(support::same_bits(by_ids, dw));
    rope::add_frequency_gradients(of_angles.slice_batch(0, 1), rope::start_at(3), rope::view(by_start, 1, 1, 6));
    rope::add_frequency_gradients(of_angles.slice_batch(1, 1), rope::start_at(-5), rope::view(by_start, 1, 1, 6));
    for (std::size_t i = 0; i < 6; ++i) CHECK(by_start[i] == Approx(dw[i]).epsilon(1e-12));
}

TEST_CASE("frequencies of each head, and of groups of heads") {
    Shape shape;
    shape.layout = GENERATE(rope::Layout::interleaved, rope::Layout::half_split);
    const Index heads = 6, groups = GENERATE(2, 3, 6), pairs = 6, in_group = heads / groups;
    std::vector<Rotation> by;
    for (Index n = 0; n < groups; ++n)
        by.push_back({rope::mixed_frequencies(pairs, 10.0, 0.5 + static_cast<double>(n)),
                      rope::mixed_axes(2),
                      {},
                      positions_of(2, shape.tokens())});
    const std::vector<double> x = support::normal<double>(shape.tokens() * heads * shape.head_dim, 7);
    const auto all_rotated = [&] {
        std::vector<double> y = x;
        for (Index n = 0; n < groups; ++n) {
            rope::Rows<double> rows(by[size(n)].frequencies, by[size(n)].map);
            rows.build(rope::AxisPositions(by[size(n)].positions, 2), shape.seq, shape.batch);
            rope::apply(
                shape.layout,
                rope::view(y, shape.batch, shape.seq, heads, shape.head_dim).slice_heads(n * in_group, in_group), rows);
        }
        return y;
    };
    const std::vector<double> y = all_rotated(), g = slopes_of(y);
    const auto of_y = rope::view(y, shape.batch, shape.seq, heads, shape.head_dim);
    const auto of_g = rope::view(g, shape.batch, shape.seq, heads, shape.head_dim);
    const rope::Rows<double> rows(by[0].frequencies, by[0].map);
    std::vector<double> angles(size(shape.tokens() * groups * pairs)), one(size(shape.tokens() * pairs));
    const auto of_angles = rope::view(angles, shape.batch, shape.seq, groups, pairs);
    rope::add_angle_gradients(shape.layout, of_y, of_g, rows, of_angles);
    for (Index n = 0; n < groups; ++n) {
        std::vector<double> dw(size(2 * pairs)), also(size(2 * pairs));
        const rope::AxisPositions positions(by[size(n)].positions, 2);
        rope::add_frequency_gradients(of_angles.slice_heads(n, 1), positions, by[0].map,
                                      rope::view(dw, 1, 1, 2 * pairs));
        std::vector<double> w(by[size(n)].frequencies.inv_freq.begin(), by[size(n)].frequencies.inv_freq.end());
        check_gradients("frequency", w, dw, [&] {
            by[size(n)].frequencies.inv_freq.assign(w.begin(), w.end());
            return loss_of(all_rotated());
        });
        // The same from a slice of the heads.
        std::fill(one.begin(), one.end(), 0.0);
        rope::add_angle_gradients(shape.layout, of_y.slice_heads(n * in_group, in_group),
                                  of_g.slice_heads(n * in_group, in_group), rows,
                                  rope::view(one, shape.batch, shape.seq, 1, pairs));
        rope::add_frequency_gradients(rope::view(one, shape.batch, shape.seq, 1, pairs), positions, by[0].map,
                                      rope::view(also, 1, 1, 2 * pairs));
        CHECK(support::same_bits(also, dw));
    }
}

TEST_CASE("the base of a schedule and a factor of each frequency") {
    rope::Config config;
    config.head_dim = 12;
    config.base = 50.0;
    config.interpolation_factor = 1.5;
    config.has_log_scale = true;
    config.log_scale = {0.1, -0.2, 0.3, 0.0, 0.5, -0.4};
    Shape shape;
    const std::vector<double> x = support::normal<double>(shape.tokens() * 12, 8);
    const auto forward = [&] {
        rope::Rows<double> rows(config);
        rows.build(rope::start_at(4), shape.seq, shape.batch);
        std::vector<double> y = x;
        rope::apply<rope::Layout::half_split>(rope::view(y, shape.batch, shape.seq, 1, 12), rows);
        return y;
    };
    const std::vector<double> y = forward(), g = slopes_of(y);
    const rope::Frequencies f = rope::frequencies(config);
    std::vector<double> angles(size(shape.tokens() * 6)), dw(6), of_scale(6);
    const auto of_angles = rope::view(angles, shape.batch, shape.seq, 1, 6);
    rope::add_angle_gradients<rope::Layout::half_split>(rope::view(y, shape.batch, shape.seq, 1, 12),
                                                        rope::view(g, shape.batch, shape.seq, 1, 12),
                                                        rope::Rows<double>(config), of_angles);
    rope::add_frequency_gradients(of_angles, rope::start_at(4), rope::view(dw, 1, 1, 6));
    double of_base = 0.0;
    for (std::size_t i = 0; i < 6; ++i) {
        of_scale[i] = dw[i] * f.inv_freq[i];
        of_base += dw[i] * f.inv_freq[i] * -2.0 * static_cast<double>(i) / (12.0 * config.base);
    }
    std::vector<double> scale(config.log_scale.begin(), config.log_scale.end()), base = {config.base};
    check_gradients("log_scale", scale, of_scale, [&] {
        config.log_scale.assign(scale.begin(), scale.end());
        return loss_of(forward());
    });
    config.log_scale.assign(scale.begin(), scale.end());
    check_gradients("base", base, {of_base}, [&] {
        config.base = base[0];
        return loss_of(forward());
    });
}

// FoPE: cosines and sines are each mixed by a matrix, [frequencies, pairs]. That is no rotation, but a row all the same:
// WrappedRows; and its gradients are those of the row's entries.
TEST_CASE("cosines and sines that matrices mix") {
    Shape shape;
    shape.layout = GENERATE(rope::Layout::interleaved, rope::Layout::half_split);
    const Index pairs = 6, terms = 5, tokens = shape.tokens(), heads = 3;
    const std::vector<double> x = support::normal<double>(tokens * heads * 12, 9);
    std::vector<double> mixing = support::normal<double>(2 * terms * pairs, 10);  // of cosines, then of sines
    rope::Rows<double> plain(frequencies_of(terms));
    plain.build(rope::start_at(1), tokens);
    const auto mixed = [&] {
        std::vector<double> table(size(2 * tokens * pairs));
        for (Index t = 0; t < tokens; ++t)
            for (Index i = 0; i < pairs; ++i)
                for (Index d = 0; d < terms; ++d) {
                    table[size(2 * t * pairs + i)] += plain.cos_row(t)[d] * mixing[size(d * pairs + i)];
                    table[size((2 * t + 1) * pairs + i)] += plain.sin_row(t)[d] * mixing[size((terms + d) * pairs + i)];
                }
        return table;
    };
    const auto wrapped = [&](const std::vector<double>& table) {
        return rope::WrappedRows<double>(
            rope::CosSinView<double>{table.data(), table.data() + pairs, tokens, pairs, 1, 2 * pairs});
    };
    const auto forward = [&] {
        const std::vector<double> table = mixed();
        std::vector<double> y = x;
        rope::apply(shape.layout, rope::view(y, tokens, heads, 12), wrapped(table));
        return y;
    };
    const std::vector<double> g = slopes_of(forward()), table = mixed();
    std::vector<double> of_sin(size(tokens * pairs)), of_cos(size(tokens * pairs)), of_mixing(mixing.size());
    rope::add_angle_gradients(shape.layout, rope::view(x, tokens, heads, 12), rope::view(g, tokens, heads, 12),
                              wrapped(table), rope::view(of_sin, tokens, 1, pairs),
                              rope::view(of_cos, tokens, 1, pairs));
    for (Index t = 0; t < tokens; ++t)
        for (Index i = 0; i < pairs; ++i)
            for (Index d = 0; d < terms; ++d) {
                of_mixing[size(d * pairs + i)] += plain.cos_row(t)[d] * of_cos[size(t * pairs + i)];
                of_mixing[size((terms + d) * pairs + i)] += plain.sin_row(t)[d] * of_sin[size(t * pairs + i)];
            }
    check_gradients("mixing", mixing, of_mixing, [&] { return loss_of(forward()); });
}
