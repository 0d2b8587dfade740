// SPDX-License-Identifier: MIT
// Gradients have the same bits for every executor, part, layout, stride and instruction set, and those of 16-bit types are
// the sums of their products.
#include <rope/gradients.hpp>
#include <rope/rows.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/jobs.hpp"
#include "support/strided.hpp"

using rope::Index;
using rope::Layout;
using support::same_bits;
using support::size;

namespace {

constexpr Index kBatch = 2, kSeq = 45, kHeads = 6, kKeyHeads = 3, kDim = 34, kPairs = 15, kOffset = 2,
                kTokens = kBatch * kSeq;

/// Cuts into n pieces, the last one first.
struct Pieces {
    Index n;
    template <class F>
    void operator()(Index count, F&& f) const {
        for (Index i = n; i > 0; --i) f(count * (i - 1) / n, count * i / n);
    }
};
struct Threads {
    Index n;
    template <class F>
    void operator()(Index count, F&& f) const {
        std::vector<std::thread> pool;
        for (Index i = 0; i < n; ++i)
            pool.emplace_back([&f, count, i, this] { f(count * i / n, count * (i + 1) / n); });
        for (std::thread& t : pool) t.join();
    }
};

rope::Config config() {
    rope::Config config;
    config.head_dim = kDim;
    config.rotary_dim = 2 * kPairs;
    config.rotary_offset = kOffset;
    config.attention_factor = 1.2;
    return config;
}

/// All outputs there are.
struct Outputs {
    std::vector<double> angles = std::vector<double>(size(kTokens * kKeyHeads * kPairs), 0.5), magnitudes = angles,
                        dw = std::vector<double>(kPairs, 0.5), dp = std::vector<double>(size(kTokens), 0.5),
                        rows = std::vector<double>(size(rope::weight_gradient_rows(kBatch, kSeq) * kDim), 0.5),
                        weight = std::vector<double>(kDim, 0.5);
    std::vector<double> dx;
    bool operator==(const Outputs& o) const {
        return same_bits(angles, o.angles) && same_bits(magnitudes, o.magnitudes) && same_bits(dw, o.dw) &&
               same_bits(dp, o.dp) && same_bits(rows, o.rows) && same_bits(weight, o.weight) && same_bits(dx, o.dx);
    }
};

/// Everything with an executor; `each` calls f once, or once for each part of a whole call.
template <Layout layout, class X, class Each>
Outputs all(const rope::TensorView<const X>& y, const rope::TensorView<const X>& g, const std::vector<float>& w,
            const support::MemoryOrder& order, const Each& each) {
    using T = support::TableOf<X>;
    const rope::CosSinCache<T> cache(config(), 1000);
    const rope::Frequencies f = rope::frequencies(config());
    const std::vector<T> weight(w.begin(), w.end());
    Outputs o;
    support::StridedTensor<X> dx({kBatch, kSeq, kHeads, kDim}, order);
    const auto angles = rope::view(o.angles, kBatch, kSeq, kKeyHeads, kPairs);
    const auto magnitudes = rope::view(o.magnitudes, kBatch, kSeq, kKeyHeads, kPairs);
    const Index blocks = rope::weight_gradient_rows(kBatch, kSeq);
    const auto rows = rope::view(o.rows, blocks, 1, kDim);
    each([&](auto&& executor) { rope::add_angle_gradients<layout>(y, g, cache, angles, magnitudes, executor); });
    each([&](auto&& executor) {
        rope::add_frequency_gradients(angles, rope::start_at(900), rope::view(o.dw, 1, 1, kPairs), executor);
    });
    each([&](auto&& executor) {
        rope::add_position_gradients(angles, f, rope::view(o.dp, 1, kTokens, 1, 1), executor);
    });
    each([&](auto&& executor) {
        rope::pass_backward<layout>(executor, cache, rope::start_at(900),
                                    rope::heads(y).rms_norm(weight, 1e-6).rotate(), g, dx.view(), rows);
    });
    each([&](auto&& executor) { rope::add_row_sums(rows, rope::view(o.weight, 1, 1, kDim), executor); });
    for (const X& x : dx.elements()) o.dx.push_back(support::to_double(x));
    CHECK(dx.fence_is_intact());
    return o;
}
const auto whole = [](const auto& f) { f(rope::detail::CallingThread()); };

/// The numbers of one layout in the other: pair i stays pair i.
template <class X>
std::vector<X> as_half_split(const std::vector<X>& interleaved) {
    std::vector<X> y = interleaved;
    for (std::size_t head = 0; head < y.size(); head += kDim)
        for (std::size_t i = 0; i < kPairs; ++i) {
            y[head + kOffset + i] = interleaved[head + kOffset + 2 * i];
            y[head + kOffset + kPairs + i] = interleaved[head + kOffset + 2 * i + 1];
        }
    return y;
}

template <class X>
rope::TensorView<const X> view_of(const std::vector<X>& v) {
    return rope::view(v, kBatch, kSeq, kHeads, kDim);
}

constexpr Index kNumbers = kTokens * kHeads * kDim;

}  // namespace

TEMPLATE_TEST_CASE("executors of 1, 2, 3 and 7 parts, and rope::part", "", float, double, rope::half, rope::bfloat16) {
    const std::vector<TestType> y = support::normal<TestType>(kNumbers, 1), g = support::normal<TestType>(kNumbers, 2);
    const std::vector<float> w = support::normal<float>(kDim, 3);
    constexpr auto layout = Layout::half_split;
    const Outputs expected = all<layout>(view_of(y), view_of(g), w, {}, whole);
    CHECK(expected.dw != Outputs().dw);
    for (const Index n : {1, 2, 3, 7}) {
        INFO(n << " parts");
        const auto pieces = [&](const auto& f) { f(rope::at_every_size(Pieces{n})); };
        const auto threads = [&](const auto& f) { f(rope::at_every_size(Threads{n})); };
        const auto parts = [&](const auto& f) {
            for (Index i = 0; i < n; ++i) f(rope::part((i * 5 + 1) % n, n));
        };
        CHECK(all<layout>(view_of(y), view_of(g), w, {}, pieces) == expected);
        CHECK(all<layout>(view_of(y), view_of(g), w, {}, threads) == expected);
        CHECK(all<layout>(view_of(y), view_of(g), w, {}, parts) == expected);
    }
    const auto beyond = [&](const auto& f) { f(rope::at_every_size(support::BeyondTheEnds())); };
    CHECK(all<layout>(view_of(y), view_of(g), w, {}, beyond) == expected);
}

TEST_CASE("an executor is asked for large calls, and one part does its share") {
    const Index seq = 300, heads = 8, dim = 64;
    const std::vector<float> y = support::normal<float>(seq * heads * dim, 1);
    const auto v = rope::view(y, seq, heads, dim);
    const rope::Rows<float> rows(rope::Config{dim});
    std::vector<double> angles(size(seq * dim / 2)), one = angles;
    Index asked = 0;
    const auto executor = [&](Index count, const auto& f) {
        ++asked;
        f(0, count);
    };
    rope::add_angle_gradients<Layout::half_split>(v, v.slice_tokens(0, seq), rows, rope::view(angles, seq, 1, dim / 2),
                                                  {}, executor);
    CHECK(asked == 1);
    std::vector<float> g = y;
    g[5] += 1.0f;
    rope::add_angle_gradients<Layout::half_split>(v, rope::view(g, seq, heads, dim), rows,
                                                  rope::view(one, seq, 1, dim / 2), {}, rope::part(1, 2));
    CHECK(one[5] == 0.0);  // the first half is the other part's
    rope::add_angle_gradients<Layout::half_split>(v, rope::view(g, seq, heads, dim), rows,
                                                  rope::view(one, seq, 1, dim / 2), {}, rope::part(0, 2));
    CHECK(one[5] != 0.0);
}

TEMPLATE_TEST_CASE("layouts, strides and instruction sets", "", float, double, rope::half, rope::bfloat16) {
    const std::vector<TestType> y = support::normal<TestType>(kNumbers, 1), g = support::normal<TestType>(kNumbers, 2);
    const std::vector<float> w(size(kDim), 0.75f);  // permuted like heads, it stays as it is
    const Outputs expected = all<Layout::interleaved>(view_of(y), view_of(g), w, {}, whole);
    // Of a norm the sums go over features in their order, which is another one here.
    const std::vector<TestType> ys = as_half_split(y), gs = as_half_split(g);
    const Outputs split = all<Layout::half_split>(view_of(ys), view_of(gs), w, {}, whole);
    CHECK(same_bits(split.angles, expected.angles));
    CHECK(same_bits(split.magnitudes, expected.magnitudes));
    CHECK(same_bits(split.dw, expected.dw));
    CHECK(same_bits(split.dp, expected.dp));
    std::size_t n = 0;
    for (const support::MemoryOrder& order : support::memory_orders()) {
        if (n++ % 7 != 0) continue;
        support::StridedTensor<TestType> of_y({kBatch, kSeq, kHeads, kDim}, order),
            of_g({kBatch, kSeq, kHeads, kDim}, order);
        of_y.set(y);
        of_g.set(g);
        CHECK(all<Layout::interleaved, TestType>(of_y.view(), of_g.view(), w, order, whole) == expected);
    }
    support::for_each_isa([&](const char* isa) {
        CAPTURE(isa);
        const Outputs o = all<Layout::interleaved>(view_of(y), view_of(g), w, {}, whole);
        CHECK(same_bits(o.angles, expected.angles));
        CHECK(same_bits(o.magnitudes, expected.magnitudes));
        CHECK(same_bits(o.dw, expected.dw));
        CHECK(same_bits(o.dp, expected.dp));
        if (!rope::detail::active_isa_has_fma()) return;
        CHECK(same_bits(o.dx, expected.dx));
        CHECK(same_bits(o.rows, expected.rows));
        CHECK(same_bits(o.weight, expected.weight));
    });
}

TEMPLATE_TEST_CASE("sums in double, whatever the elements", "", float, double, rope::half, rope::bfloat16) {
    using T = support::TableOf<TestType>;
    std::vector<TestType> y = support::normal<TestType>(kNumbers, 1);
    const std::vector<TestType> g = support::normal<TestType>(kNumbers, 2);
    // In float this head would hide those of its token.
    for (std::size_t i = 0; i < kDim; ++i) y[i] = support::from_double<TestType>(i % 2 == 0 ? 30000.0 : 3.0e-5);
    const rope::Rows<T> rows(config());
    std::vector<double> angles(size(kTokens * kPairs)), magnitudes = angles;
    rope::add_angle_gradients<Layout::half_split>(view_of(y), view_of(g), rows,
                                                  rope::view(angles, kBatch, kSeq, 1, kPairs),
                                                  rope::view(magnitudes, kBatch, kSeq, 1, kPairs));
    for (std::size_t t = 0; t < size(kTokens); ++t)
        for (std::size_t i = 0; i < kPairs; ++i) {
            long double angle = 0.0L, magnitude = 0.0L, sizes = 0.0L;
            for (std::size_t h = 0; h < kHeads; ++h) {
                const std::size_t a = (t * kHeads + h) * kDim + kOffset + i, b = a + kPairs;
                const auto value = [](TestType x) { return static_cast<long double>(support::to_double(x)); };
                angle += value(y[a]) * value(g[b]) - value(y[b]) * value(g[a]);
                magnitude += value(y[a]) * value(g[a]) + value(y[b]) * value(g[b]);
                sizes += std::fabs(value(y[a]) * value(g[b])) + std::fabs(value(y[b]) * value(g[a])) +
                         std::fabs(value(y[a]) * value(g[a])) + std::fabs(value(y[b]) * value(g[b]));
            }
            const double bound = static_cast<double>(kHeads * 0x1p-52L * sizes);
            CHECK(std::fabs(angles[t * kPairs + i] - static_cast<double>(angle)) <= bound);
            CHECK(std::fabs(magnitudes[t * kPairs + i] - static_cast<double>(magnitude)) <= bound);
        }
}
