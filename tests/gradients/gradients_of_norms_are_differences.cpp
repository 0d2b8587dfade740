// SPDX-License-Identifier: MIT
// The way back through a norm and the rotation is the central difference of a loss of pass, and in narrower types within
// the stated error.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/gradients.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "gradients/problem.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"
#include "support/strided.hpp"

using namespace gradients;

namespace {

struct Norm {
    bool is_l2 = false, rotates = true;
    rope::NormOptions options = {};
    Index weights = 1;  // heads of the weight; 0: none
    Index rotary_dim = 12, rotary_offset = 0;
};
constexpr Index kHeadDim = 12;
constexpr double kEps = 0.05;

rope::Config config_of(const Norm& norm) {
    rope::Config config;
    config.head_dim = kHeadDim;
    config.rotary_dim = norm.rotary_dim;
    config.rotary_offset = norm.rotary_offset;
    config.attention_factor = 1.3;
    config.base = 30.0;
    return config;
}

/// x through the norm and the rotation; the weight is [weights, head_dim].
template <class X, class W>
rope::Path path_of(const Norm& norm, const rope::TensorView<X>& x, const std::vector<W>& w) {
    rope::Path path = rope::heads(x);
    const rope::StepNumbers numbers = norm.weights == 0 ? rope::StepNumbers(nullptr)
                                      : norm.weights == 1
                                          ? rope::StepNumbers(w)
                                          : rope::StepNumbers(rope::view(w, 1, 1, norm.weights, kHeadDim));
    if (norm.is_l2)
        path.l2_norm(numbers, kEps, norm.options);
    else
        path.rms_norm(numbers, kEps, norm.options);
    if (norm.rotates) path.rotate();
    return path;
}

std::vector<double> normed(const Shape& shape, const Norm& norm, const rope::CosSinCache<double>& cache,
                           const std::vector<double>& x, const std::vector<double>& w) {
    std::vector<double> y(x.size());
    const auto view = [&](auto& v) { return rope::view(v, shape.batch, shape.seq, shape.q_heads, kHeadDim); };
    with_layout(shape.layout, [&](auto layout) {
        rope::pass<decltype(layout)::value>(cache, rope::start_at(2), path_of(norm, view(x), w).to(view(y)));
    });
    return y;
}

void check_norm(const Shape& shape, const Norm& norm, const support::MemoryOrder& order) {
    const rope::CosSinCache<double> cache(config_of(norm), 100);
    const Index tokens = shape.tokens(), heads = shape.q_heads,
                blocks = rope::weight_gradient_rows(shape.batch, shape.seq);
    std::vector<double> x = support::normal<double>(tokens * heads * kHeadDim, 1);
    std::vector<double> w = support::normal<double>(std::max<Index>(norm.weights, 1) * kHeadDim, 2);
    const std::vector<double> y = normed(shape, norm, cache, x, w), g = slopes_of(y);
    const std::array<Index, 4> extents = {shape.batch, shape.seq, heads, kHeadDim};
    support::StridedTensor<double> of_x(extents, order), of_g(extents, order), dx(extents, order);
    of_x.set(x);
    of_g.set(g);
    // Rows of dw have contiguous features; between them lie numbers that nobody may touch.
    support::MemoryOrder with_gaps;
    with_gaps.gap = 3;
    support::StridedTensor<double> rows({1, blocks, std::max<Index>(norm.weights, 1), kHeadDim}, with_gaps);
    std::vector<double> dw(w.size());
    rows.set(std::vector<double>(size(blocks) * w.size(), 0.0));
    with_layout(shape.layout, [&](auto layout) {
        rope::pass_backward<decltype(layout)::value>(cache, rope::start_at(2), path_of(norm, of_x.view(), w),
                                                     of_g.view(), dx.view(),
                                                     norm.weights > 0 ? rows.view() : rope::TensorView<double>());
    });
    CHECK(dx.fence_is_intact());
    CHECK(rows.fence_is_intact());
    CHECK(support::same_bits(of_x.elements(), x));
    CHECK(support::same_bits(of_g.elements(), g));
    check_gradients("x", x, dx.elements(), [&] { return loss_of(normed(shape, norm, cache, x, w)); });
    if (norm.weights == 0) return;
    rope::add_row_sums(rows.view(), rope::view(dw, 1, norm.weights, kHeadDim));
    check_gradients("weight", w, dw, [&] { return loss_of(normed(shape, norm, cache, x, w)); });
}

Shape shape_of(rope::Layout layout) {
    Shape shape;
    shape.layout = layout;
    shape.seq = 10;  // 20 tokens: more than a row of the weight's gradient has
    return shape;
}

}  // namespace

TEST_CASE("norms of every kind, in both layouts") {
    const Shape shape = shape_of(GENERATE(rope::Layout::interleaved, rope::Layout::half_split));
    Norm norm;
    norm.is_l2 = GENERATE(false, true);
    norm.weights = GENERATE(0, 1, 3);
    norm.options.adds_one = norm.weights == 1 && norm.is_l2;
    check_norm(shape, norm, {});
}

TEST_CASE("weights around zero, slices of heads, and no rotation") {
    const Shape shape = shape_of(GENERATE(rope::Layout::interleaved, rope::Layout::half_split));
    Norm norm;
    norm.options.adds_one = true;
    norm.rotary_dim = 6;
    norm.rotary_offset = 3;
    check_norm(shape, norm, {});
    norm.rotates = false;
    check_norm(shape, norm, {});
}

TEST_CASE("tensors with any strides") {
    Shape shape = shape_of(rope::Layout::half_split);
    shape.seq = 3;
    std::size_t n = 0;
    for (const support::MemoryOrder& order : support::memory_orders())
        if (n++ % 7 == 0) check_norm(shape, {}, order);
}

TEST_CASE("dx in place of g, and in place of x") {
    const Shape shape = shape_of(rope::Layout::interleaved);
    const rope::CosSinCache<float> cache(config_of({}), 100);
    const Index n = shape.tokens() * shape.q_heads * kHeadDim;
    const std::vector<float> x = support::normal<float>(n, 3), g = support::normal<float>(n, 4),
                             w = support::normal<float>(kHeadDim, 5);
    const auto view = [&](auto& v) { return rope::view(v, shape.batch, shape.seq, shape.q_heads, kHeadDim); };
    std::vector<float> dx(x.size()), over_g = g, over_x = x;
    constexpr auto layout = rope::Layout::interleaved;
    rope::pass_backward<layout>(cache, rope::start_at(2), path_of({}, view(x), w), view(g), view(dx));
    rope::pass_backward<layout>(cache, rope::start_at(2), path_of({}, view(x), w), view(over_g), view(over_g));
    rope::pass_backward<layout>(cache, rope::start_at(2), path_of({}, view(over_x), w), view(g), view(over_x));
    CHECK(support::same_bits(over_g, dx));
    CHECK(support::same_bits(over_x, dx));
}

TEST_CASE("positions by ids, of each entry its own") {
    const Shape shape = shape_of(rope::Layout::half_split);
    const rope::CosSinCache<float> cache(config_of({}), 100);
    const Index n = shape.tokens() * shape.q_heads * kHeadDim;
    const std::vector<float> x = support::normal<float>(n, 3), g = support::normal<float>(n, 4),
                             w = support::normal<float>(kHeadDim, 5);
    const auto view = [&](auto& v) { return rope::view(v, shape.batch, shape.seq, shape.q_heads, kHeadDim); };
    std::vector<float> by_ids(x.size()), by_starts(x.size());
    std::vector<int> ids;
    for (const int start : {7, 50})
        for (int s = 0; s < 10; ++s) ids.push_back(start + s);
    constexpr auto layout = rope::Layout::half_split;
    rope::pass_backward<layout>(cache, ids, path_of({}, view(x), w), view(g), view(by_ids));
    rope::pass_backward<layout>(cache, rope::start_at(std::vector<int>{7, 50}), path_of({}, view(x), w), view(g),
                                view(by_starts));
    CHECK(support::same_bits(by_ids, by_starts));
}

TEST_CASE("the layout at run time") {
    const Index rows_of_dw = rope::weight_gradient_rows(2, 10);
    for (const rope::Layout layout : {rope::Layout::interleaved, rope::Layout::half_split}) {
        const Shape shape = shape_of(layout);
        const rope::CosSinCache<float> cache(config_of({}), 100);
        const Index n = shape.tokens() * shape.q_heads * kHeadDim;
        const std::vector<float> x = support::normal<float>(n, 3), g = support::normal<float>(n, 4),
                                 w = support::normal<float>(kHeadDim, 5);
        const auto view = [&](auto& v) { return rope::view(v, shape.batch, shape.seq, shape.q_heads, kHeadDim); };
        std::vector<float> known(x.size()), late(x.size()), cut(x.size()), none(x.size());
        std::vector<double> dw_known(size(rows_of_dw * kHeadDim)), dw_late(dw_known.size()), dw_cut(dw_known.size());
        const auto rows = [&](std::vector<double>& v) { return rope::view(v, rows_of_dw, 1, kHeadDim); };
        const rope::Path path = path_of({}, view(x), w);
        const rope::Positions positions = rope::start_at(2);
        with_layout(layout, [&](auto fixed) {
            rope::pass_backward<decltype(fixed)::value>(cache, positions, path, view(g), view(known), rows(dw_known));
        });
        rope::pass_backward(layout, cache, positions, path, view(g), view(late), rows(dw_late));
        rope::pass_backward(layout, rope::part(0, 1), cache, positions, path, view(g), view(cut), rows(dw_cut));
        CHECK(support::same_bits(late, known));
        CHECK(support::same_bits(dw_late, dw_known));
        CHECK(support::same_bits(cut, known));
        CHECK(support::same_bits(dw_cut, dw_known));
        CHECK(rope::check_pass_backward(layout, cache, positions, path, view(g), view(late), rows(dw_late)).ok());
        const auto other = static_cast<rope::Layout>(9);
        const std::string sentence = "layout is 9; it must be Layout::interleaved (0) or Layout::half_split (1).";
        CHECK(support::invalid([&] { rope::pass_backward(other, cache, positions, path, view(g), view(none)); }) ==
              sentence);
        CHECK(rope::check_pass_backward(other, cache, positions, path, view(g), view(none)).message() == sentence);
        CHECK(none == std::vector<float>(x.size()));
        // A table that is made for one layout refuses the other one.
        rope::Config config = config_of({});
        config.layout = layout;
        const rope::CosSinCache<float> of_one(config, 100);
        const bool is_interleaved = layout == rope::Layout::interleaved;
        const auto wrong = is_interleaved ? rope::Layout::half_split : rope::Layout::interleaved;
        CHECK(rope::check_pass_backward(layout, of_one, positions, path, view(g), view(none)).ok());
        CHECK_FALSE(rope::check_pass_backward(wrong, of_one, positions, path, view(g), view(none)).ok());
        std::vector<double> angles(size(shape.tokens() * cache.pairs()));
        const auto sums = rope::view(angles, shape.batch, shape.seq, 1, cache.pairs());
        CHECK(rope::check_angle_gradients(layout, view(x), view(g), of_one, sums).ok());
        CHECK_FALSE(rope::check_angle_gradients(wrong, view(x), view(g), of_one, sums).ok());
    }
}

TEST_CASE("rows that are combined from two") {
    const Shape shape = shape_of(GENERATE(rope::Layout::interleaved, rope::Layout::half_split));
    rope::Config config = config_of({});
    config.attention_factor = 1.0;
    const Index n = shape.tokens() * shape.q_heads * kHeadDim;
    const std::vector<double> x = support::normal<double>(n, 3), g = support::normal<double>(n, 4),
                              w = support::normal<double>(kHeadDim, 5);
    const auto view = [&](auto& v) { return rope::view(v, shape.batch, shape.seq, shape.q_heads, kHeadDim); };
    std::vector<double> expected(x.size()), dx(x.size());
    with_layout(shape.layout, [&](auto layout) {
        rope::pass_backward<decltype(layout)::value>(rope::CosSinCache<double>(config, 5000), rope::start_at(4000),
                                                     path_of({}, view(x), w), view(g), view(expected));
        rope::pass_backward<decltype(layout)::value>(rope::CompactCosSinCache<double>(config, 5000),
                                                     rope::start_at(4000), path_of({}, view(x), w), view(g), view(dx));
    });
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(dx[i] == Approx(expected[i]).margin(1e-13));
}

// The formulas in double, on the numbers as they are rounded.
TEMPLATE_TEST_CASE("half, bfloat16 and float are within the stated error", "", float, rope::half, rope::bfloat16) {
    const Shape shape = shape_of(GENERATE(rope::Layout::interleaved, rope::Layout::half_split));
    const rope::Config config = config_of({});
    const rope::CosSinCache<float> cache(config, 100);
    const Index n = shape.tokens() * shape.q_heads * kHeadDim;
    const std::vector<TestType> x = support::normal<TestType>(n, 3), g = support::normal<TestType>(n, 4),
                                w = support::normal<TestType>(kHeadDim, 5);
    std::vector<double> rotated_back(size(n)), of_x(size(n));
    for (std::size_t i = 0; i < size(n); ++i) {
        rotated_back[i] = support::to_double(g[i]);
        of_x[i] = support::to_double(x[i]);
    }
    const auto view = [&](auto& v) { return rope::view(v, shape.batch, shape.seq, shape.q_heads, kHeadDim); };
    const rope::CosSinCache<double> exact(config, 100);
    rope::apply_transpose(shape.layout, view(rotated_back), exact, rope::start_at(2));
    std::vector<TestType> dx(x.size());
    const Index blocks = rope::weight_gradient_rows(shape.batch, shape.seq);
    std::vector<double> rows(size(blocks * kHeadDim)), dw(kHeadDim), expected_dw(kHeadDim), error_dw(kHeadDim);
    with_layout(shape.layout, [&](auto layout) {
        rope::pass_backward<decltype(layout)::value>(cache, rope::start_at(2), path_of({}, view(x), w), view(g),
                                                     view(dx), rope::view(rows, blocks, 1, kHeadDim));
    });
    rope::add_row_sums(rope::view(rows, blocks, 1, kHeadDim), rope::view(dw, 1, 1, kHeadDim));
    const double u = 0x1p-24, narrow = sizeof(TestType) == 4                  ? 0.0
                                       : std::is_same_v<TestType, rope::half> ? 0x1p-11
                                                                              : 0x1p-8;
    for (std::size_t first = 0; first < size(n); first += kHeadDim) {
        double squares = 0.0, mean = 0.0, mean_of_sizes = 0.0, mean_of_wn = 0.0;
        for (std::size_t i = first; i < first + kHeadDim; ++i) squares += of_x[i] * of_x[i];
        const double r = 1.0 / std::sqrt(squares / kHeadDim + kEps);
        double largest = 0.0;  // R: of the terms that the rotation adds
        for (std::size_t i = first; i < first + kHeadDim; ++i) {
            const double product = support::to_double(w[i - first]) * rotated_back[i] * of_x[i] * r;
            mean += product / kHeadDim;
            mean_of_sizes += std::fabs(product) / kHeadDim;
            mean_of_wn += std::fabs(support::to_double(w[i - first]) * of_x[i] * r) / kHeadDim;
            largest = std::max(largest, 1.3 * 2.0 * std::fabs(support::to_double(g[i])));
        }
        for (std::size_t i = first; i < first + kHeadDim; ++i) {
            const double wi = support::to_double(w[i - first]), ni = of_x[i] * r;
            const double expected = r * (wi * rotated_back[i] - ni * mean);
            const double bound =
                8.0 * u * r * (std::fabs(wi) * largest + std::fabs(ni) * (mean_of_sizes + mean_of_wn * largest));
            CAPTURE(i, expected, bound);
            CHECK(std::fabs(support::to_double(dx[i]) - expected) <= bound + narrow * std::fabs(expected) + 0x1p-24);
            expected_dw[i - first] += rotated_back[i] * ni;
            error_dw[i - first] += 8.0 * u * largest * std::fabs(ni);
        }
    }
    for (std::size_t i = 0; i < kHeadDim; ++i) CHECK(std::fabs(dw[i] - expected_dw[i]) <= error_dw[i]);
}

TEST_CASE("without positions they are 0, 1, 2, ...") {
    constexpr rope::Layout layout = rope::Layout::interleaved;
    rope::Config config;
    config.head_dim = 16;
    const rope::CosSinCache<float> cache(config, 8);
    std::vector<float> x = support::normal<float>(8 * 2 * 16, 1), g = support::normal<float>(8 * 2 * 16, 2);
    const auto view = [](std::vector<float>& v) { return rope::view(v.data(), 8, 2, 16); };
    const rope::Path path = rope::heads(view(x)).rms_norm(1e-6).rotate();
    std::vector<float> want(x.size()), dx(x.size()), cut(x.size());
    rope::pass_backward<layout>(cache, rope::start_at(0), path, view(g), view(want));
    rope::pass_backward<layout>(cache, path, view(g), view(dx));
    for (rope::Index i = 0; i < 2; ++i) rope::pass_backward<layout>(rope::part(i, 2), cache, path, view(g), view(cut));
    CHECK(support::same_bits(dx, want));
    CHECK(support::same_bits(cut, want));
    const rope::CosSinCache<float> shorter(config, 7);
    CHECK(std::string(rope::check_pass_backward<layout>(shorter, path, view(g), view(dx)).message()) ==
          "positions start at 0 and seq is 8; this cache holds positions 0 to 6.");
}
