// SPDX-License-Identifier: MIT
// Heads with rows of their own, wrapped or built: every call has the bits of calls on one head each.
#include <rope/gradients.hpp>
#include <rope/part.hpp>
#include <rope/rope.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::Layout;
using support::same_bits;
using support::size;

namespace {

constexpr Index kRows = 3, kHeads = 6, kDim = 32, kPairs = 12,
                kOffset = 4;  // rows of 3 heads, which 6 heads take in turn
constexpr rope::HeadSlice kSlice = {kDim, kOffset};

/// Cosines and sines of [batch, tokens, heads of rows, pairs].
struct Numbers {
    Index batch, tokens;
    std::vector<float> cos, sin;
    Numbers(Index b, Index t) : batch(b), tokens(t) {
        for (Index i = 0; i < b * t * kRows * kPairs; ++i) {
            cos.push_back(static_cast<float>(std::cos(0.37 * static_cast<double>(i))));
            sin.push_back(static_cast<float>(std::sin(0.37 * static_cast<double>(i))));
        }
    }
    rope::CosSinView<float> of_all() const {
        return {cos.data(), sin.data(), tokens, kPairs, batch, kRows * kPairs, 1, true, kRows, kPairs};
    }
    rope::CosSinView<float> of_head(Index h) const {
        const Index at = h % kRows * kPairs;
        rope::CosSinView<float> v = {cos.data() + at, sin.data() + at, tokens, kPairs, batch, kRows * kPairs};
        v.compares_copies = false;
        return v;
    }
};

/// A tensor [batch, tokens, heads, features] in memory of one order or another.
struct Order {
    const char* name;
    Index batch, token, head, feature;  // strides, of [2, 9, 6, 32]
};
constexpr Order kOrders[] = {{"tokens first", 9 * 6 * 32, 6 * 32, 32, 1},
                             {"heads first", 9 * 6 * 32, 32, 9 * 32, 1},
                             {"heads contiguous", 9 * 6 * 32, 6 * 32, 1, 6},
                             {"tokens contiguous", 9 * 6 * 32, 1, 32 * 9, 9}};
template <class T>
rope::TensorView<T> view_of(std::vector<T>& x, const Order& o, Index batch, Index tokens) {
    return {x.data(), batch, tokens, kHeads, kDim, o.batch, o.token, o.head, o.feature};
}

}  // namespace

TEMPLATE_TEST_CASE("apply by rows of each head is apply on each head", "", float, rope::bfloat16) {
    using T = TestType;
    support::for_each_isa([&](const char* name) {
        for (const Order& order : kOrders)
            for (const Index batch : {Index(1), Index(2)})
                for (const Index tokens : {Index(1), Index(9)}) {
                    CAPTURE(name, order.name, batch, tokens);
                    const Numbers numbers(batch, tokens);
                    const rope::WrappedRows<float> rows(numbers.of_all(), kSlice);
                    const std::vector<T> x = support::normal<T>(2 * 9 * kHeads * kDim, 1);
                    const auto check = [&](const auto& run) {
                        std::vector<T> got = x, want = x;
                        run(view_of(got, order, batch, tokens), rows);
                        for (Index h = 0; h < kHeads; ++h)
                            run(view_of(want, order, batch, tokens).slice_heads(h, 1),
                                rope::WrappedRows<float>(numbers.of_head(h), kSlice));
                        CHECK(same_bits(got, want));
                        CHECK_FALSE(same_bits(got, x));
                    };
                    check([](auto v, const auto& r) { rope::apply<Layout::half_split>(v, r); });
                    check([](auto v, const auto& r) { rope::apply<Layout::interleaved>(v, r); });
                    check([](auto v, const auto& r) { rope::apply_inverse<Layout::half_split>(v, r); });
                    check([](auto v, const auto& r) { rope::apply_transpose<Layout::interleaved>(v, r); });
                    check([](auto v, const auto& r) {
                        for (const Index i : {2, 0, 1}) rope::apply<Layout::half_split>(v, r, {}, rope::part(i, 3));
                    });
                    check([](auto v, const auto& r) { rope::pass<Layout::half_split>(r, rope::heads(v).rotate()); });
                    check([](auto v, const auto& r) {
                        rope::pass<Layout::half_split>(r, rope::heads(v).rms_norm(1e-6).rotate().multiply(0.5));
                    });
                    check([](auto v, const auto& r) {
                        rope::pass<Layout::interleaved>(r, rope::heads(v).rotate_into(Layout::half_split));
                    });
                    check([](auto v, const auto& r) {
                        rope::pass<Layout::interleaved>(r, rope::heads(v).rotate_back(rope::RotateRounding::all));
                    });
                    std::vector<T> out(x.size()), want(x.size()), source = x;
                    rope::apply_copy<Layout::half_split>(view_of(source, order, batch, tokens),
                                                         view_of(out, kOrders[0], batch, tokens), rows);
                    for (Index h = 0; h < kHeads; ++h)
                        rope::apply_copy<Layout::half_split>(view_of(source, order, batch, tokens).slice_heads(h, 1),
                                                             view_of(want, kOrders[0], batch, tokens).slice_heads(h, 1),
                                                             rope::WrappedRows<float>(numbers.of_head(h), kSlice));
                    CHECK(same_bits(out, want));
                }
    });
}

TEST_CASE("heads before tokens, and rows that are copied, are the same rows") {
    const Numbers numbers(2, 5);
    std::vector<float> cos(numbers.cos.size()), sin(cos.size());
    for (Index b = 0; b < 2; ++b)
        for (Index t = 0; t < 5; ++t)
            for (Index h = 0; h < kRows; ++h)
                for (Index i = 0; i < kPairs; ++i) {
                    const std::size_t from = size(((b * 5 + t) * kRows + h) * kPairs + i);
                    const std::size_t to = size(((b * kRows + h) * 5 + t) * kPairs + i);
                    cos[to] = numbers.cos[from];
                    sin[to] = numbers.sin[from];
                }
    const rope::CosSinView<float> heads_first = {cos.data(), sin.data(), 5,    kPairs, 2,
                                                 kPairs,     1,          true, kRows,  5 * kPairs};
    std::vector<double> memory(2 * 2 * 5 * kRows * kPairs);
    std::vector<float> copied(memory.size()), want = support::normal<float>(2 * 5 * kHeads * kDim, 2), got = want,
                                              by_copy = want;
    const auto view = [](std::vector<float>& x) { return rope::view(x.data(), 2, 5, kHeads, kDim); };
    rope::apply<Layout::half_split>(view(want), rope::WrappedRows<float>(numbers.of_all(), kSlice));
    rope::apply<Layout::half_split>(view(got), rope::WrappedRows<float>(heads_first, kSlice));
    rope::apply<Layout::half_split>(view(by_copy),
                                    rope::WrappedRows<float>(rope::copy_cos_sin(heads_first, copied.data()), kSlice));
    CHECK(same_bits(got, want));
    CHECK(same_bits(by_copy, want));
    // c0 c0 c1 c1 ..., read as one copy of each.
    std::vector<float> twice_cos, twice_sin;
    for (std::size_t i = 0; i < cos.size(); ++i)
        for (int k = 0; k < 2; ++k) {
            twice_cos.push_back(numbers.cos[i]);
            twice_sin.push_back(numbers.sin[i]);
        }
    rope::CosSinView<float> twice = {
        twice_cos.data(), twice_sin.data(), 5, kPairs, 2, 2 * kRows * kPairs, 2, true, kRows, 2 * kPairs};
    std::vector<float> by_twice = support::normal<float>(2 * 5 * kHeads * kDim, 2);
    rope::apply<Layout::half_split>(view(by_twice),
                                    rope::WrappedRows<float>(rope::copy_cos_sin(twice, copied.data()), kSlice));
    CHECK(same_bits(by_twice, want));
    twice_sin[7 * 2 * kPairs + 5] += 1.0f;
    CHECK(std::string(check(twice).message()).find("sin has") == 0);
}

TEMPLATE_TEST_CASE("rows are built for each head", "", float, double) {
    using T = TestType;
    constexpr Index tokens = 7;
    rope::Frequencies all, of[kRows];
    for (Index h = 0; h < kRows; ++h)
        for (Index i = 0; i < kPairs; ++i) {
            of[h].inv_freq.push_back(1.0 / static_cast<double>(1 + 3 * i + h));
            all.inv_freq.push_back(of[h].inv_freq.back());
        }
    all.attention_factor = 1.25;
    for (rope::Frequencies& f : of) f.attention_factor = 1.25;
    const auto view = [](std::vector<T>& x) { return rope::view(x.data(), tokens, kHeads, kDim); };
    const std::vector<int> ids = {0, 5, 900, 3, 3, 77, 12};
    rope::Rows<T> rows(all, {}, kSlice, kRows);
    rows.build(ids, tokens);
    CHECK(rows.pairs() == kPairs);
    std::vector<T> got = support::normal<T>(tokens * kHeads * kDim, 2), want = got;
    rope::apply<Layout::half_split>(view(got), rows);
    for (Index h = 0; h < kHeads; ++h) {
        rope::Rows<T> one(of[h % kRows], {}, kSlice);
        one.build(ids, tokens);
        rope::apply<Layout::half_split>(view(want).slice_heads(h, 1), one);
        for (Index i = 0; i < kPairs; ++i) {
            CHECK(rows.cos_row(2)[h % kRows * kPairs + i] == one.cos_row(2)[i]);
            CHECK(rows.sin_row(2)[h % kRows * kPairs + i] == one.sin_row(2)[i]);
        }
    }
    CHECK(same_bits(got, want));
    // In the caller's memory, and with other frequencies.
    std::vector<T> memory(size(tokens * 2 * kRows * kPairs));
    rows.use_memory(memory.data(), tokens);
    for (double& w : all.inv_freq) w *= 0.5;
    rows.use_frequencies(all);
    rows.build(ids, tokens);
    std::vector<int> halved = ids;
    rope::Rows<T> again(all, {}, kSlice, kRows);
    again.build(ids, tokens);
    CHECK(memory[size(2 * kRows * kPairs + kPairs)] == again.cos_row(1)[kPairs]);
    CHECK(rows.sin_row(6)[kRows * kPairs - 1] == again.sin_row(6)[kRows * kPairs - 1]);
}

TEST_CASE("mixed axes of each head, and two slices of a head, are heads with frequencies of their own") {
    constexpr Index tokens = 6;
    const std::vector<double> places = {0, 1, 2, 0, 1, 2, 0, 0, 0, 1, 1, 1};
    const rope::AxisPositions positions(places, 2);
    rope::Frequencies mixed;  // [axes, heads, pairs]
    for (int i = 0; i < 2 * 2 * 16; ++i) mixed.inv_freq.push_back(std::cos(0.7 * i));
    rope::Rows<double> rows(mixed, rope::mixed_axes(2), {}, 2);
    rows.build(positions, tokens);
    for (Index t = 0; t < tokens; ++t)
        for (Index h = 0; h < 2; ++h)
            for (Index i = 0; i < 16; ++i) {
                const double angle = places[size(t)] * mixed.inv_freq[size(h * 16 + i)] +
                                     places[size(tokens + t)] * mixed.inv_freq[size(32 + h * 16 + i)];
                CHECK(std::abs(rows.cos_row(t)[h * 16 + i] - std::cos(angle)) < 1e-14);
                CHECK(std::abs(rows.sin_row(t)[h * 16 + i] - std::sin(angle)) < 1e-14);
            }
    // Features 0 .. 31 of each head by the first axis, 32 .. 63 by the second, each slice half-split in itself.
    rope::Config half;
    half.head_dim = 32;
    rope::Frequencies both = rope::frequencies(half);
    both.inv_freq.insert(both.inv_freq.end(), both.inv_freq.begin(), both.inv_freq.begin() + 16);
    both.inv_freq_low.clear();
    rope::Frequencies one = both;
    one.inv_freq.resize(16);
    rope::AxisMap map;
    map.axes = 2;
    for (int i = 0; i < 32; ++i) map.axis_of.push_back(static_cast<unsigned char>(i / 16));
    rope::Rows<double> slices(both, map, {}, 2), first(one), second(one);
    slices.build(positions, tokens);
    std::vector<double> got = support::normal<double>(tokens * 3 * 64, 2), want = got;
    rope::apply<Layout::half_split>(rope::view(got.data(), tokens, 2 * 3, 32), slices);
    first.build(rope::AxisPositions(places.data(), 1, tokens), tokens);
    second.build(rope::AxisPositions(places.data() + tokens, 1, tokens), tokens);
    const auto whole = rope::view(want.data(), tokens, 3, 64);
    rope::apply<Layout::half_split>(whole.slice_features(0, 32), first);
    rope::apply<Layout::half_split>(whole.slice_features(32, 32), second);
    CHECK(same_bits(got, want));
}

TEST_CASE("gradients of a norm and of angles, by rows of each head") {
    constexpr Index tokens = 5;
    const Numbers numbers(1, tokens);
    const rope::WrappedRows<float> rows(numbers.of_all(), kSlice);
    std::vector<float> x = support::normal<float>(tokens * kHeads * kDim, 1),
                       g = support::normal<float>(tokens * kHeads * kDim, 2);
    const std::vector<float> w = support::normal<float>(kDim, 3);
    std::vector<float> got(x.size()), want(x.size());
    const auto view = [](std::vector<float>& v) { return rope::view(v.data(), tokens, kHeads, kDim); };
    rope::pass_backward<Layout::half_split>(rows, rope::heads(view(x)).rms_norm(w, 1e-6).rotate(), view(g), view(got));
    for (Index h = 0; h < kHeads; ++h)
        rope::pass_backward<Layout::half_split>(rope::WrappedRows<float>(numbers.of_head(h), kSlice),
                                                rope::heads(view(x).slice_heads(h, 1)).rms_norm(w, 1e-6).rotate(),
                                                view(g).slice_heads(h, 1), view(want).slice_heads(h, 1));
    CHECK(same_bits(got, want));
    std::vector<double> angles(size(tokens * kHeads * kPairs)), angles_of_head(angles.size());
    const auto of_angles = [](std::vector<double>& v) { return rope::view(v.data(), tokens, kHeads, kPairs); };
    rope::add_angle_gradients<Layout::half_split>(view(x), view(g), rows, of_angles(angles));
    for (Index h = 0; h < kHeads; ++h)
        rope::add_angle_gradients<Layout::half_split>(view(x).slice_heads(h, 1), view(g).slice_heads(h, 1),
                                                      rope::WrappedRows<float>(numbers.of_head(h), kSlice),
                                                      of_angles(angles_of_head).slice_heads(h, 1));
    CHECK(angles == angles_of_head);
}

TEST_CASE("heads that do not fit are refused") {
    const Numbers numbers(2, 3);
    const rope::WrappedRows<float> rows(numbers.of_all(), kSlice);
    std::vector<float> x(2 * 3 * 7 * kDim, 1.0f);
    const std::vector<float> before = x;
    const auto said = [](auto&& call) { return support::refusal(call).message; };
    CHECK(said([&] { rope::apply<Layout::half_split>(rope::view(x.data(), 2, 3, 7, kDim), rows); }) ==
          "x.heads is 7; its wrapped table has rows for each of 3 heads, and heads must be a multiple of them.");
    CHECK(said([&] {
              rope::pass<Layout::half_split>(rows, rope::heads(rope::view(x.data(), 2, 3, 7, kDim)).rotate());
          }) ==
          "path 1.heads is 7; its wrapped table has rows for each of 3 heads, and heads must be a multiple of them.");
    CHECK(x == before);
    std::vector<float> written(100);
    CHECK(said([&] { (void)rope::write_rows(rows, {}, 3, 2, written.data()); }) ==
          "the wrapped table has rows for each of 3 heads; rows are written of tables that all heads share.");
    rope::CosSinView<float> v = numbers.of_all();
    v.row_stride = 0;
    CHECK(std::string(check(v).message()) == "row_stride is 0; where heads have rows of their own it must be given.");
    v = numbers.of_all();
    v.heads = -1;
    CHECK(std::string(check(v).message()).find("heads is -1; it must be from 0") == 0);
    v.heads = 3;
    v.head_stride = kPairs - 1;
    CHECK(std::string(check(v).message()).find("head_stride is 11; a row of 12 pairs") == 0);
    v.head_stride = INT64_MAX / 2;
    CHECK_FALSE(check(v).ok());
    v.head_stride = 3 * kPairs * 3 + 1;
    CHECK(said([&] { rope::WrappedRows<float> bad(v, kSlice); }) ==
          "head_stride is 109; with 2 batch entries it must be a multiple of row_stride (36).");
    // Rows over one another, of which a copy would be too large.
    v = {numbers.cos.data(), numbers.sin.data(), Index(1) << 32, 1, 1, 1, 1, false, Index(1) << 32, 1};
    CHECK_FALSE(check(v).ok());
    std::vector<double> angles(2 * 3 * kRows * kPairs);
    std::vector<float> y(2 * 3 * kHeads * kDim);
    CHECK(said([&] {
              rope::add_angle_gradients<Layout::half_split>(rope::view(y.data(), 2, 3, kHeads, kDim),
                                                            rope::view(y.data(), 2, 3, kHeads, kDim), rows,
                                                            rope::view(angles.data(), 2, 3, kRows, kPairs));
          }) ==
          "angles.heads is 3; the wrapped table has rows of each head, and so each of the 6 heads of y needs its own.");
    rope::Frequencies f;
    f.inv_freq = {1.0, 0.5, 0.25};
    CHECK(said([&] { rope::Rows<float> bad(f, {}, {}, 2); }) ==
          "heads is 2; inv_freq has 3 entries, as many for each head, or heads is 0.");
    CHECK(said([&] { rope::Rows<float> bad(f, {}, {}, -1); }).find("heads is -1;") == 0);
    CHECK(said([&] { rope::Rows<float> bad(f, {}, {}, INT64_MAX); }).find("heads is 9223372036854775807;") == 0);
}
