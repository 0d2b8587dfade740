// SPDX-License-Identifier: MIT
// Every instruction set gives the bits of its class: with fma, fma(a, c, -(b*s)) and fma(b, c, a*s); without, two
// rounded products and a rounded sum; then one rounding to the element's type. For every type, layout, direction, slice
// and number of pairs, so that whole vectors, the overlapping last one and the loop over single pairs all get their
// turn; and for numbers that no network sees. NaN stays NaN, in its pair.
#include <rope/core.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/exact.hpp"
#include "support/isas.hpp"
#include "support/jobs.hpp"

using rope::bfloat16;
using rope::half;
using rope::Index;
using rope::Layout;
using support::Operation;
using support::size;

namespace {

constexpr Layout kLayouts[] = {Layout::interleaved, Layout::half_split};
constexpr Operation kOperations[] = {Operation::apply, Operation::inverse, Operation::transpose};

/// Four of the widest vectors that any set may have (16 floats, or 32 bfloat16 as even and odd ones), and three more.
constexpr Index kMaxPairs = 4 * 16 + 6;
/// More than any set turns at once.
constexpr Index kMorePairs = 8 * 16 + 5;

/// Rotated features before and after which others lie.
struct Slice {
    Index before, after;
};
constexpr Slice kSlices[] = {{0, 0}, {0, 5}, {19, 0}, {3, 34}};

template <class T>
rope::CosSinCache<T> cache_of(Index pairs, Slice slice, double m, Index positions) {
    rope::Config config;
    config.head_dim = slice.before + 2 * pairs + slice.after;
    config.rotary_dim = 2 * pairs;
    config.rotary_offset = slice.before;
    config.base = 100.0;  // angles of every size among few pairs
    config.attention_factor = m;
    return rope::CosSinCache<T>(config, positions, -2);
}

/// The same for every case: where processors are emulated, nothing takes as long as tables.
template <class T>
const rope::CosSinCache<T>& small_cache(Index pairs, Slice slice) {
    static std::map<std::array<Index, 3>, rope::CosSinCache<T>> made;
    const std::array<Index, 3> key = {pairs, slice.before, slice.after};
    const auto found = made.find(key);
    return (found != made.end() ? found : made.emplace(key, cache_of<T>(pairs, slice, 1.25, 8)).first)->second;
}

template <class In, class Out, class T = support::TableOf<In>>
void check_all_pairs() {
    const std::vector<int> ids = {5, -1};
    unsigned round = 0;
    Index classes_differ = 0;
    for (Index pairs = 1; pairs <= kMorePairs; pairs = pairs == kMaxPairs ? kMorePairs : pairs + 1)
        for (const Slice slice : kSlices) {
            const rope::CosSinCache<T>& cache = small_cache<T>(pairs, slice);
            for (const Layout layout : kLayouts) {
                const Index heads = 1 + round % 5;
                const Operation operation = kOperations[round++ % 3];
                const Index d = cache.head_dim();
                std::vector<In> x(size(2 * heads * d));
                support::fill_with_telling_numbers(rope::view(x.data(), 2, heads, d), layout, cache, ids, round);
                const std::vector<Out> blank(x.size(), support::from_double<Out>(-77.0));
                std::vector<Out> expected[2] = {blank, blank};
                for (const bool fma : {false, true})
                    support::turn_exactly(fma, operation, layout, rope::view(x.data(), 2, heads, d),
                                          rope::view(expected[fma].data(), 2, heads, d), cache, ids);
                if (support::first_difference(expected[0], expected[1]) >= 0) ++classes_differ;
                support::for_each_isa([&](const char* isa) {
                    const std::vector<Out>& want = expected[rope::detail::active_isa_has_fma()];
                    CAPTURE(isa, pairs, heads, layout, slice.before, slice.after, static_cast<int>(operation));
                    const std::vector<In> before = x;
                    std::vector<Out> y = blank;
                    support::turn_copy(operation, layout, rope::view(before.data(), 2, heads, d),
                                       rope::view(y.data(), 2, heads, d), cache, ids);
                    REQUIRE(support::first_difference(y, want) == -1);
                    REQUIRE(support::same_bits(before, x));
                    if constexpr (std::is_same_v<In, Out>) {
                        std::vector<In> z = x;
                        support::turn(operation, layout, rope::view(z.data(), 2, heads, d), cache, ids);
                        REQUIRE(support::first_difference(z, want) == -1);
                    }
                });
            }
        }
    // Else these numbers could not tell one class from the other. (After rounding to 16 bits few can.)
    CHECK(classes_differ > (sizeof(Out) == 2 ? 5 : 200));
}

/// The bits of a float, half or bfloat16 NaN that no conversion may turn into infinity or zero.
template <class Out>
Index count_lost_nans(const std::vector<Out>& y) {
    Index lost = 0;
    for (const Out& e : y)
        if (!support::is_nan(e)) ++lost;
    return lost;
}

}  // namespace

TEMPLATE_TEST_CASE("one type, in and out of place", "", float, double, half, bfloat16) {
    check_all_pairs<TestType, TestType>();
}

TEMPLATE_TEST_CASE("whole heads, by kernels that ask for memory where a set has one", "", float, double, half,
                   bfloat16) {
    const std::vector<int> ids = {5, -1};
    const rope::Positions positions = ids;
    unsigned round = 0;
    for (const Index pairs : {16, 32, 48, 64, 128})
        for (const Index heads : {2, 3, 4, 5})
            for (const Layout layout : kLayouts) {
                const auto& cache = small_cache<support::TableOf<TestType>>(pairs, Slice{0, 0});
                std::vector<TestType> x(size(2 * heads * 2 * pairs));
                const auto view_of = [&](std::vector<TestType>& v) {
                    return rope::view(v.data(), 2, heads, 2 * pairs);
                };
                support::fill_with_telling_numbers(view_of(x), layout, cache, ids, ++round);
                std::vector<TestType> expected[2] = {x, x};
                for (const bool fma : {false, true})
                    support::turn_exactly(fma, Operation::apply, layout, view_of(x), view_of(expected[fma]), cache,
                                          ids);
                support::for_each_isa([&](const char* isa) {
                    std::vector<TestType> y = x;
                    const auto run = [](const auto& job) { job.kernel(job.task, 0, job.pieces); };
                    if (layout == Layout::interleaved)
                        support::with_job_in_place<Layout::interleaved>(view_of(y), cache, positions, run);
                    else
                        support::with_job_in_place<Layout::half_split>(view_of(y), cache, positions, run);
                    CAPTURE(isa, pairs, heads, layout);
                    REQUIRE(support::first_difference(y, expected[rope::detail::active_isa_has_fma()]) == -1);
                });
            }
}

TEST_CASE("from one type to another") {
    SECTION("float to half") { check_all_pairs<float, half>(); }
    SECTION("float to bfloat16") { check_all_pairs<float, bfloat16>(); }
    SECTION("half to float") { check_all_pairs<half, float>(); }
    SECTION("half to bfloat16") { check_all_pairs<half, bfloat16>(); }
    SECTION("bfloat16 to float") { check_all_pairs<bfloat16, float>(); }
    SECTION("bfloat16 to half") { check_all_pairs<bfloat16, half>(); }
}

TEMPLATE_TEST_CASE("every half and every bfloat16, as a and as b", "", half, bfloat16) {
    const Index heads = 64, pairs = 1024, count = 2 * heads * pairs;
    const rope::CosSinCache<float> cache = cache_of<float>(pairs, {0, 0}, 1.25, 8);
    for (const Layout layout : kLayouts) {
        const auto place = [&](Index i, bool second) {
            const Index head = i / pairs, pair = i % pairs;
            return size(2 * pairs * head + (layout == Layout::interleaved ? 2 * pair + second : pair + second * pairs));
        };
        std::vector<TestType> x(size(count));
        for (Index i = 0; i < heads * pairs; ++i) {
            x[place(i, false)].bits = static_cast<std::uint16_t>(i);
            x[place(i, true)].bits = static_cast<std::uint16_t>(i * 40503);  // odd, so a permutation of them all
        }
        std::vector<TestType> expected[2] = {x, x};
        for (const bool fma : {false, true}) {
            const auto v = rope::view(expected[fma].data(), 1, heads, 2 * pairs);
            support::turn_exactly(fma, Operation::apply, layout, v, v, cache, rope::start_at(3));
        }
        support::for_each_isa([&](const char* isa) {
            CAPTURE(isa, layout);
            auto y = x;
            rope::apply(layout, rope::view(y.data(), 1, heads, 2 * pairs), cache, rope::start_at(3));
            REQUIRE(support::first_difference(y, expected[rope::detail::active_isa_has_fma()]) == -1);
        });
    }
}

TEMPLATE_TEST_CASE("no float NaN is lost on the way to 16 bits, turned or passed by", "", half, bfloat16) {
    const Index count = 65536;
    const rope::CosSinCache<float> all = cache_of<float>(count / 2, {0, 0}, 1.0, 8);
    const rope::CosSinCache<float> one_pair = cache_of<float>(1, {count - 2, 0}, 1.0, 8);
    std::vector<float> x(size(count));
    std::vector<TestType> y(size(count));
    for (const std::uint32_t sign : {0u, 0x8000u})
        for (std::uint32_t upper = 0x7f80u; upper <= 0x7fffu; ++upper) {
            for (std::uint32_t lower = 0; lower < 65536; ++lower)
                x[lower] = support::from_bits<float>((sign | upper) << 16 | lower);
            if (upper == 0x7f80u) x[0] = x[1];  // that was infinity
            support::for_each_isa([&](const char* isa) {
                for (const Layout layout : kLayouts)
                    for (const rope::CosSinCache<float>* cache : {&all, &one_pair}) {
                        rope::apply_copy(layout, rope::view(x.data(), 1, 1, count), rope::view(y.data(), 1, 1, count),
                                         *cache, rope::start_at(cache == &all ? 1 : 0));
                        const Index lost = count_lost_nans(y);
                        if (lost == 0) continue;
                        CAPTURE(isa, layout, upper, cache == &all);
                        REQUIRE(lost == 0);
                    }
            });
        }
}

TEMPLATE_TEST_CASE("what passes by keeps its bits, even those of a NaN", "", float, double, half, bfloat16) {
    support::for_each_isa([&](const char* isa) {
        for (Index pairs = 1; pairs <= kMaxPairs; ++pairs)
            for (const Slice slice : kSlices) {
                const auto& cache = small_cache<support::TableOf<TestType>>(pairs, slice);
                const Index d = cache.head_dim();
                const std::vector<TestType> x(
                    size(3 * d), support::from_bits<TestType>(support::kInfinityBits<TestType> | 1));  // signalling
                for (const Layout layout : kLayouts) {
                    auto y = std::vector<TestType>(x.size()), z = x;
                    rope::apply_copy(layout, rope::view(x.data(), 1, 3, d), rope::view(y.data(), 1, 3, d), cache);
                    rope::apply(layout, rope::view(z.data(), 1, 3, d), cache);
                    CAPTURE(isa, pairs, slice.before, slice.after, layout);
                    for (Index i = 0; i < 3 * d; ++i) {
                        const Index j = i % d;
                        const bool turns = j >= slice.before && j < d - slice.after;
                        for (const auto* list : {&y, &z}) {
                            const TestType& e = (*list)[size(i)];
                            const bool good = turns ? support::is_nan(e) : std::memcmp(&e, &x[0], sizeof(e)) == 0;
                            if (!good) FAIL("element " << i);
                        }
                    }
                }
            }
    });
}

TEMPLATE_TEST_CASE("tables have the same bits whichever set fills them", "", float, double) {
    for (Index pairs = 1; pairs <= 20; ++pairs) {
        // Each pair turns by quarters of a circle, all but nothing, at one position: there its cosine is what the
        // errors of two products leave.
        rope::Frequencies f;
        for (Index i = 0; i < pairs; ++i)
            f.inv_freq.push_back(1.5707963267948966 * static_cast<double>(2 * i + 100001) /
                                 static_cast<double>(1000003 + 13 * i));
        f.attention_factor = 1.25;
        const auto table = [&](const char* isa) {
            const support::ForcedIsa forced(isa);
            const rope::CosSinCache<TestType> cache(f, 300, {}, 1000000);
            return std::vector<TestType>(cache.data(), cache.data() + 300 * 2 * pairs);
        };
        const std::vector<TestType> want = table("portable");
        for (const char* isa : rope::available_isas()) {
            CAPTURE(isa, pairs);
            REQUIRE(support::same_bits(table(isa), want));
        }
    }
}
