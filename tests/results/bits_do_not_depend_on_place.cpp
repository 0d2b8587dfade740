// SPDX-License-Identifier: MIT
// The bits of a result depend on its pair, its position and its table alone: not on the layout, on strides,
// on batch or head, on in or out of place, on where a call or a table begins, nor on how the work is cut.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/jobs.hpp"
#include "support/strided.hpp"

using rope::Index;
using rope::Layout;
using support::same_bits;
using support::size;

namespace {

rope::Config config_of(Index head_dim, Index rotary_dim = 0, Index rotary_offset = 0, double m = 1.0) {
    rope::Config config;
    config.head_dim = head_dim;
    config.rotary_dim = rotary_dim;
    config.rotary_offset = rotary_offset;
    config.attention_factor = m;
    return config;
}

/// The rotated slice of every head, from interleaved to half-split order.
template <class T>
std::vector<T> to_half_split(const std::vector<T>& x, Index head_dim, Index rotary_dim, Index offset) {
    std::vector<T> y = x;
    for (std::size_t head = 0; head < x.size(); head += size(head_dim))
        for (Index i = 0; i < rotary_dim / 2; ++i) {
            y[head + size(offset + i)] = x[head + size(offset + 2 * i)];
            y[head + size(offset + i + rotary_dim / 2)] = x[head + size(offset + 2 * i + 1)];
        }
    return y;
}

}  // namespace

TEMPLATE_TEST_CASE("interleaved is half-split with permuted features", "", float, double, rope::half, rope::bfloat16) {
    for (const Index d : {2, 4, 6, 10, 30, 34, 64, 96, 128, 130})
        for (const Index rotary : {d, d / 4 * 2 > 0 ? d / 4 * 2 : Index(2)}) {
            const Index offset = (d - rotary) / 2;
            const rope::CosSinCache<support::TableOf<TestType>> cache(config_of(d, rotary, offset), 64);
            const auto x = support::normal<TestType>(11 * 3 * d, 5);
            auto interleaved = x;
            auto half_split = to_half_split(x, d, rotary, offset);
            rope::apply<Layout::interleaved>(rope::view(interleaved.data(), 11, 3, d), cache, rope::start_at(7));
            rope::apply<Layout::half_split>(rope::view(half_split.data(), 11, 3, d), cache, rope::start_at(7));
            CAPTURE(d, rotary);
            REQUIRE(same_bits(to_half_split(interleaved, d, rotary, offset), half_split));
        }
}

TEMPLATE_TEST_CASE("strides, order of axes, in and out of place", "", float, double, rope::bfloat16) {
    const std::array<Index, 4> extents = {2, 3, 4, 22};
    const Index count = 2 * 3 * 4 * 22;
    const std::vector<int> positions = {3, 90, 4, 1, 0, 55};
    const auto x = support::normal<TestType>(count, 9);
    for (const Layout layout : {Layout::interleaved, Layout::half_split})
        for (const double m : {1.0, 1.25}) {
            const rope::CosSinCache<support::TableOf<TestType>> cache(config_of(22, 18, 2, m), 100);
            auto plain = x;
            rope::apply(layout, rope::view(plain.data(), 2, 3, 4, 22), cache, positions);
            auto undone = plain;
            rope::apply_inverse(layout, rope::view(undone.data(), 2, 3, 4, 22), cache, positions);
            for (const support::MemoryOrder& order : support::memory_orders()) {
                support::StridedTensor<TestType> in(extents, order);
                support::StridedTensor<TestType> out(extents, support::MemoryOrder());
                support::StridedTensor<TestType> out2(extents, order);
                in.set(x);
                rope::apply_copy(layout, in.view(), out.view(), cache, positions);
                rope::apply_copy(layout, in.view(), out2.view(), cache, positions);
                REQUIRE(same_bits(in.elements(), x));  // reading does not write
                REQUIRE(same_bits(out.elements(), plain));
                REQUIRE(same_bits(out2.elements(), plain));
                rope::apply(layout, in.view(), cache, positions);
                REQUIRE(same_bits(in.elements(), plain));
                rope::apply_inverse(layout, in.view(), cache, positions);
                REQUIRE(same_bits(in.elements(), undone));
                REQUIRE(in.fence_is_intact());
                REQUIRE(out.fence_is_intact());
                REQUIRE(out2.fence_is_intact());
            }
        }
}

TEST_CASE("cutting the tokens into calls, heads into slices, the work into pieces") {
    const Index seq = 37, heads = 5, d = 26;
    const rope::CosSinCache<float> cache(config_of(d), 600);
    const auto x = support::normal<float>(seq * heads * d, 11);
    for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
        auto whole = x;
        rope::apply(layout, rope::view(whole.data(), seq, heads, d), cache, rope::start_at(500));

        const bool ok = rc::check("pieces in any order", [&] {
            auto pieces = x;
            std::mt19937_64 engine(*rc::gen::arbitrary<std::uint64_t>());
            const Index cuts = *rc::gen::inRange<Index>(1, 20);
            const auto v = rope::view(pieces.data(), seq, heads, d);
            // By hand: an executor would not be asked about so small a call.
            const auto run = [&](const auto& job) { support::run_in_pieces(job, cuts, engine); };
            if (layout == Layout::interleaved)
                support::with_job_in_place<Layout::interleaved>(v, cache, rope::start_at(500), run);
            else
                support::with_job_in_place<Layout::half_split>(v, cache, rope::start_at(500), run);
            RC_ASSERT(same_bits(pieces, whole));
        });
        REQUIRE(ok);

        auto tokens = x;
        for (Index s = 0; s < seq; ++s)
            rope::apply(layout, rope::view(tokens.data(), seq, heads, d).slice_tokens(s, 1), cache,
                        rope::start_at(500 + s));
        REQUIRE(same_bits(tokens, whole));

        auto by_head = x;
        for (Index h = 0; h < heads; ++h)
            rope::apply(layout, rope::view(by_head.data(), seq, heads, d).slice_heads(h, 1), cache,
                        rope::start_at(500));
        REQUIRE(same_bits(by_head, whole));
    }
}

TEMPLATE_TEST_CASE("tokens turn as in calls of their own, whatever positions their neighbours have", "", float, double,
                   rope::bfloat16) {
    using T = support::TableOf<TestType>;
    const rope::Config config = config_of(42, 38, 2);
    const rope::CosSinCache<T> full(config, 700);
    const rope::CompactCosSinCache<T> compact(config, 700);
    std::mt19937_64 random(3);
    const auto below = [&random](Index n) { return static_cast<Index>(random() % static_cast<std::uint64_t>(n)); };
    for (int round = 0; round < 120; ++round) {
        // Stretches at equal steps, up and down, near and far.
        std::vector<Index> ids;
        while (ids.size() < 40) {
            const Index step = std::vector<Index>{0, 1, -1, 2, 17, -90, 256}[size(below(7))];
            Index id = below(700);
            for (Index n = 1 + below(12); n > 0 && id >= 0 && id < 700; --n, id += step) ids.push_back(id);
        }
        const Index seq = static_cast<Index>(ids.size()), heads = 1 + below(2) * 2;
        const rope::CosSinRows<T>& table = round % 2 == 0 ? static_cast<const rope::CosSinRows<T>&>(full) : compact;
        const Layout layout = below(2) == 0 ? Layout::interleaved : Layout::half_split;
        const bool inverse = below(3) == 0;
        const auto x = support::normal<TestType>(seq * heads * 42, static_cast<unsigned>(round));
        auto whole = x, copy = x, single = x;
        const auto turn = [&](auto& in, auto& out, Index s, Index n, bool in_place) {
            const auto from = rope::view(in.data(), seq, heads, 42).slice_tokens(s, n);
            const auto to = rope::view(out.data(), seq, heads, 42).slice_tokens(s, n);
            const rope::Positions positions = rope::ids(ids.data() + s, n);
            if (in_place && inverse) return rope::apply_inverse(layout, to, table, positions);
            if (in_place) return rope::apply(layout, to, table, positions);
            if (inverse) return rope::apply_inverse_copy(layout, from, to, table, positions);
            rope::apply_copy(layout, from, to, table, positions);
        };
        turn(whole, whole, 0, seq, true);
        turn(x, copy, 0, seq, false);
        for (Index s = 0; s < seq; ++s) turn(single, single, s, 1, true);
        CAPTURE(round, seq, heads, inverse);
        REQUIRE(same_bits(whole, single));
        REQUIRE(same_bits(copy, single));
    }
}

TEST_CASE("q and k in one call, with any cut, are q and k in two") {
    const Index seq = 300, d = 160;  // large enough to be cut
    const rope::CosSinCache<float> cache(config_of(d), 310);
    const rope::CosSinCache<float> other(config_of(d, 104, 4), 310);
    const auto q0 = support::normal<float>(seq * 4 * d, 1);
    const auto k0 = support::normal<float>(seq * 2 * d, 2);
    const auto q_of = [&](std::vector<float>& v) { return rope::view(v.data(), seq, 4, d); };
    const auto k_of = [&](std::vector<float>& v) { return rope::view(v.data(), seq, 2, d); };
    for (const rope::CosSinCache<float>* k_cache : {&cache, &other}) {
        auto q = q0, k = k0;
        rope::apply<Layout::half_split>(q_of(q), cache, rope::start_at(3));
        rope::apply<Layout::half_split>(k_of(k), *k_cache, rope::start_at(3));
        for (const Index piece : {1, 2, 3, 7, 31, 50, 1000}) {
            auto q2 = q0, k2 = k0;
            bool asked = false;
            rope::apply<Layout::half_split>(q_of(q2), k_of(k2), cache, *k_cache, rope::start_at(3),
                                            [&](Index count, auto&& f) {
                                                asked = true;
                                                for (Index i = 0; i < count; i += piece)
                                                    f(i, std::min(count, i + piece));
                                            });
            REQUIRE(asked);
            REQUIRE(same_bits(q, q2));
            REQUIRE(same_bits(k, k2));
        }
    }
    auto q = q0, k = k0, q2 = q0, k2 = k0;
    rope::apply_inverse<Layout::half_split>(q_of(q), k_of(k), cache, rope::start_at(3));
    rope::apply_inverse<Layout::half_split>(q_of(q2), cache, rope::start_at(3));
    rope::apply_inverse<Layout::half_split>(k_of(k2), cache, rope::start_at(3));
    CHECK((same_bits(q, q2) && same_bits(k, k2)));
    rope::apply_transpose<Layout::interleaved>(q_of(q), k_of(k), cache, rope::start_at(3));
    rope::apply_transpose<Layout::interleaved>(q_of(q2), k_of(k2), cache, cache, rope::start_at(3));
    CHECK((same_bits(q, q2) && same_bits(k, k2)));
    rope::apply_inverse<Layout::interleaved>(q_of(q), k_of(k), cache, other, rope::start_at(3));
    rope::apply_inverse<Layout::interleaved>(q_of(q2), cache, rope::start_at(3));
    rope::apply_inverse<Layout::interleaved>(k_of(k2), other, rope::start_at(3));
    CHECK((same_bits(q, q2) && same_bits(k, k2)));
}

TEMPLATE_TEST_CASE("a table's entries depend on their position alone", "", float, double) {
    const rope::Config config = config_of(64, 0, 0, 1.25);
    const rope::CosSinCache<TestType> big(config, 20000, -10000);
    const bool ok = rc::check("a window holds the rows of the whole", [&] {
        const Index first = *rc::gen::inRange<Index>(-10000, 9000);
        const Index count = *rc::gen::inRange<Index>(1, 1000);
        const rope::CosSinCache<TestType> window(config, count, first);
        RC_ASSERT(std::memcmp(window.cos_row(first), big.cos_row(first), window.bytes()) == 0);
    });
    REQUIRE(ok);
}

TEST_CASE("position 0 gives finite data back by value") {
    const rope::CosSinCache<float> cache(config_of(48), 4);
    auto x = support::normal<float>(5 * 48, 21);
    x[3] = -0.0f;
    x[4] = std::numeric_limits<float>::max();
    x[5] = std::numeric_limits<float>::lowest();
    for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
        auto y = x;
        rope::apply(layout, rope::view(y.data(), 1, 5, 48), cache);
        REQUIRE(std::equal(x.begin(), x.end(), y.begin()));
    }
}

TEMPLATE_TEST_CASE("scaling by a power of two commutes", "", float, double, rope::bfloat16) {
    const rope::CosSinCache<support::TableOf<TestType>> cache(config_of(80), 5000);
    const auto x = support::normal<TestType>(13 * 2 * 80, 31);
    for (const double factor : {0x1p-20, 0.5, 4.0, 0x1p30})
        for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
            const auto scaled = [&](std::vector<TestType> v) {
                for (TestType& e : v) e = support::from_double<TestType>(factor * support::to_double(e));
                return v;
            };
            const auto turned = [&](std::vector<TestType> v) {
                rope::apply(layout, rope::view(v.data(), 13, 2, 80), cache, rope::start_at(4900));
                return v;
            };
            REQUIRE(same_bits(turned(scaled(x)), scaled(turned(x))));
        }
}

TEMPLATE_TEST_CASE("NaN and infinity stay in their pair", "", float, double, rope::half, rope::bfloat16) {
    const Index d = 20, rotary = 16, offset = 2, heads = 3, seq = 4;
    const rope::CosSinCache<support::TableOf<TestType>> cache(config_of(d, rotary, offset), 100);
    const auto x = support::normal<TestType>(seq * heads * d, 41);
    // Bit patterns, because -ffast-math may not know infinity: all exponent bits set, and one more for NaN.
    const auto special = [](bool nan) {
        TestType value;
        if constexpr (sizeof(TestType) == 8) {
            const std::uint64_t bits = 0x7ff0000000000000u | (nan ? 1ull << 51 : 0);
            std::memcpy(&value, &bits, sizeof(value));
        } else if constexpr (sizeof(TestType) == 4) {
            const std::uint32_t bits = 0x7f800000u | (nan ? 1u << 22 : 0);
            std::memcpy(&value, &bits, sizeof(value));
        } else if constexpr (std::is_same_v<TestType, rope::half>) {
            value = {static_cast<std::uint16_t>(0x7c00u | (nan ? 0x200u : 0))};
        } else {
            value = {static_cast<std::uint16_t>(0x7f80u | (nan ? 0x40u : 0))};
        }
        return value;
    };
    for (const Layout layout : {Layout::interleaved, Layout::half_split})
        for (const bool nan : {false, true})
            for (Index j = 0; j < d; ++j) {
                auto clean = x, spoilt = x;
                spoilt[size((2 * heads + 1) * d + j)] = special(nan);
                rope::apply(layout, rope::view(clean.data(), seq, heads, d), cache, rope::start_at(50));
                rope::apply(layout, rope::view(spoilt.data(), seq, heads, d), cache, rope::start_at(50));
                Index changed = 0;
                for (std::size_t i = 0; i < x.size(); ++i)
                    if (std::memcmp(&clean[i], &spoilt[i], sizeof(TestType)) != 0) {
                        ++changed;
                        REQUIRE(!rope::detail::is_finite(support::to_double(spoilt[i])));
                        const Index at = static_cast<Index>(i) - (2 * heads + 1) * d - offset;
                        const Index of = j - offset;
                        const bool same_pair =
                            layout == Layout::interleaved ? at / 2 == of / 2 : at % (rotary / 2) == of % (rotary / 2);
                        const bool turns = of >= 0 && of < rotary;
                        REQUIRE((turns ? same_pair && at >= 0 && at < rotary : at == of));
                    }
                REQUIRE(changed == (j >= offset && j < offset + rotary ? 2 : 1));
            }
}

TEST_CASE("features that pass through keep their bits, even a signalling NaN") {
    const rope::CosSinCache<float> cache(config_of(12, 4, 4), 10);
    std::vector<rope::half> x(12, rope::half{0x7d01});
    std::vector<rope::half> y(12);
    const std::vector<rope::half> before = x;
    rope::apply_copy<Layout::half_split>(rope::view(x.data(), 1, 1, 12), rope::view(y.data(), 1, 1, 12), cache,
                                         rope::start_at(3));
    for (const std::size_t j : {0u, 1u, 2u, 3u, 8u, 9u, 10u, 11u}) REQUIRE(y[j].bits == before[j].bits);
}
