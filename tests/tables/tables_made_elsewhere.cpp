// SPDX-License-Identifier: MIT
// Cos and sin that others made turn as a CosSinCache with the same numbers does, bit for bit, in whatever form they
// come: one array each or one for both, repeated or not, with gaps, for each batch entry, in 16 bits. What lies beside
// the numbers is not read, and what is repeated only to be compared, once.
#include <rope/core.hpp>
#include <rope/eigen.hpp>
#include <rope/rows.hpp>
#include <rope/wrapped_rows.hpp>

#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/guarded.hpp"
#include "support/isas.hpp"
#include "support/refusal.hpp"

using rope::bfloat16;
using rope::CosSinCache;
using rope::CosSinView;
using rope::half;
using rope::Index;
using rope::Layout;
using rope::WrappedRows;
using support::Guard;
using support::GuardedMemory;
using support::refusal;
using support::same_bits;
using support::size;

namespace {

constexpr Index kPositions = 23;
constexpr Layout kLayouts[] = {Layout::interleaved, Layout::half_split};
const std::vector<int> kIds = {3, 0, 22, 7, 7, 11, 0, 1, 21, 5};  // of [2, 5] tokens

rope::Config config_of(Index pairs, Index before, Index after) {
    rope::Config config;
    config.head_dim = before + 2 * pairs + after;
    config.rotary_dim = 2 * pairs;
    config.rotary_offset = before;
    config.attention_factor = 1.25;
    return config;
}
template <class T>
CosSinCache<T> cache_of(Index pairs, Index before = 0, Index after = 0) {
    return CosSinCache<T>(config_of(pairs, before, after), kPositions);
}

/// The numbers of a cache in another form, with copies in rows of full width; NaN wherever the view does not reach.
template <class Number>
struct Table {
    std::vector<Number> cos, sin;  // sin is empty where one array holds both
    CosSinView<Number> view;
};

/// A view without its pointers, completed: row r of batch entry b is row number_of(b, r) of the cache. The sines are in
/// an array of their own, or begin `sines` numbers after the cosines.
template <class Number, class T, class RowNumber>
Table<Number> table_of(const CosSinCache<T>& cache, CosSinView<Number> view, const RowNumber& number_of,
                       Index sines = 0) {
    const Index stride = view.row_stride != 0 ? view.row_stride : view.pairs * view.pair_stride;
    Table<Number> table;
    table.cos.assign(size(view.batch * view.rows * stride), support::from_double<Number>(support::nan_value()));
    if (sines == 0) table.sin = table.cos;
    Number* const cos = table.cos.data();
    Number* const sin = sines == 0 ? table.sin.data() : cos + sines;
    const bool has_copies = sines == 0 && stride == 2 * view.pairs && view.pair_stride <= 2;
    const Index copy = !has_copies ? 0 : view.pair_stride == 1 ? view.pairs : 1;
    for (Index b = 0; b < view.batch; ++b)
        for (Index r = 0; r < view.rows; ++r)
            for (Index i = 0; i < view.pairs; ++i) {
                const Index k = (b * view.rows + r) * stride + i * view.pair_stride, row = number_of(b, r);
                cos[k] = cos[k + copy] = support::from_double<Number>(double(cache.cos_row(row)[i]));
                sin[k] = sin[k + copy] = support::from_double<Number>(double(cache.sin_row(row)[i]));
            }
    view.cos = cos;
    view.sin = sin;
    table.view = view;
    return table;
}

/// Every form of a table; those of batch 2 are for calls with two entries.
template <class Number, class T>
std::vector<std::pair<std::string, Table<Number>>> forms(const CosSinCache<T>& cache) {
    const Index p = cache.pairs(), n = kPositions;
    std::vector<std::pair<std::string, Table<Number>>> list;
    const auto by_position = [](Index, Index r) { return r; };
    const auto add = [&](const char* name, CosSinView<Number> view, Index sines = 0) {
        list.emplace_back(name, table_of(cache, view, by_position, sines));
    };
    add("[positions, P]", {nullptr, nullptr, n, p});
    add("[positions, P], the stride given", {nullptr, nullptr, n, p, 1, p});
    add("[positions, 2P], halves repeated", {nullptr, nullptr, n, p, 1, 2 * p});
    add("[positions, P], with gaps", {nullptr, nullptr, n, p, 1, p + 5});
    add("[2, positions, 2P], halves repeated", {nullptr, nullptr, n, p, 2, 2 * p});
    add("[positions, 2P], neighbours repeated", {nullptr, nullptr, n, p, 1, 2 * p, 2});
    add("[2, positions, 3P], every third, with gaps", {nullptr, nullptr, n, p, 2, 3 * p + 1, 3});
    add("[positions, 2P], cosines then sines", {nullptr, nullptr, n, p, 1, 2 * p}, p);
    add("[positions, P] complex", {nullptr, nullptr, n, p, 1, 2 * p, 2}, 1);
    return list;
}

/// All that can be done with [2, 5, 3, head_dim] numbers, one after the other.
template <class X, class T>
std::vector<X> all_operations(Layout layout, const rope::CosSinRows<T>& rows) {
    const Index d = rows.head_dim();
    const std::vector<X> x = support::normal<X>(2 * 5 * 3 * d, 1);
    std::vector<X> all;
    const auto run = [&](auto&& call) {
        std::vector<X> y = x;
        call(rope::view(y.data(), 2, 5, 3, d));
        all.insert(all.end(), y.begin(), y.end());
    };
    const auto in = rope::view(x.data(), 2, 5, 3, d);
    run([&](auto v) { rope::apply(layout, v, rows); });
    run([&](auto v) { rope::apply(layout, v, rows, rope::start_at(18)); });
    run([&](auto v) { rope::apply(layout, v, rows, rope::start_at(std::vector<int>{4, 18})); });
    run([&](auto v) { rope::apply(layout, v, rows, kIds); });
    run([&](auto v) { rope::apply_copy(layout, in, v, rows, kIds); });
    run([&](auto v) { rope::apply_inverse(layout, v, rows, kIds); });
    run([&](auto v) { rope::apply_transpose(layout, v, rows, kIds); });
    return all;
}

template <class Number, class T>
WrappedRows<T> wrapped_as(const Table<Number>& table, const CosSinCache<T>& cache, std::vector<T>& memory) {
    const rope::HeadSlice slice = {cache.head_dim(), cache.rotary_offset()};
    if constexpr (std::is_same_v<Number, T>)
        if (table.view.pair_stride == 1) return WrappedRows<T>(table.view, slice, cache.attention_factor());
    memory.assign(size(table.view.batch * kPositions * 2 * cache.pairs()), T(77));
    return WrappedRows<T>(rope::copy_cos_sin(table.view, memory.data()), slice, cache.attention_factor());
}

}  // namespace

TEMPLATE_TEST_CASE("every form gives the bits of a CosSinCache with these numbers", "", float, double, half, bfloat16) {
    using T = support::TableOf<TestType>;
    for (const auto& [pairs, before, after] : {std::tuple<Index, Index, Index>{1, 0, 0}, {4, 0, 6}, {13, 3, 2}}) {
        const CosSinCache<T> cache = cache_of<T>(pairs, before, after);
        for (const Layout layout : kLayouts)
            for (const auto& [name, table] : forms<T>(cache)) {
                CAPTURE(pairs, layout, name);
                std::vector<T> memory;
                const WrappedRows<T> rows = wrapped_as(table, cache, memory);
                CHECK(rows.pairs() == pairs);
                CHECK(rows.head_dim() == cache.head_dim());
                CHECK(rows.attention_factor() == 1.25);
                CHECK_FALSE(rows.layout().has_value());
                support::for_each_isa([&, &name = name](const char* isa) {
                    CAPTURE(isa, name);
                    CHECK(same_bits(all_operations<TestType>(layout, rows), all_operations<TestType>(layout, cache)));
                });
            }
    }
}

TEMPLATE_TEST_CASE("every entry of a batch has the rows of its own tokens", "", float, double) {
    const CosSinCache<TestType> cache = cache_of<TestType>(5);
    const auto of_token = [](Index b, Index r) { return Index(kIds[size(b * 5 + r)]); };
    std::vector<TestType> memory(2 * 5 * 10);
    const std::vector<TestType> x = support::normal<TestType>(2 * 5 * 3 * 10, 2);
    const auto turned = [&](const rope::CosSinRows<TestType>& rows, rope::PositionsArgument&& given) {
        const rope::Positions& positions = given;
        std::vector<TestType> y = x;
        rope::apply<Layout::half_split>(rope::view(y.data(), 2, 5, 3, 10), rows, positions);
        return y;
    };
    const auto table = table_of<TestType>(cache, {nullptr, nullptr, 5, 5, 2, 11}, of_token);
    const WrappedRows<TestType> rows(table.view), copied(rope::copy_cos_sin(table.view, memory.data()));
    for (const auto* r : {&rows, &copied}) {
        CHECK(same_bits(turned(*r, {}), turned(cache, kIds)));
        // Ids and starts count from the first row of the entry.
        CHECK(same_bits(turned(*r, {4, 3, 2, 1, 0, 0, 0, 4, 4, 1}), turned(cache, {7, 7, 22, 0, 3, 11, 11, 5, 5, 0})));
        CHECK(same_bits(turned(*r, {4, 3, 2, 1, 0}), turned(cache, {7, 7, 22, 0, 3, 5, 21, 1, 0, 11})));
        // Fewer tokens have the first rows of their entries.
        std::vector<TestType> a(x.begin(), x.begin() + 2 * 2 * 3 * 10), b = a, y = x;
        rope::apply<Layout::half_split>(rope::view(a.data(), 2, 2, 3, 10), *r);
        rope::apply<Layout::half_split>(rope::view(b.data(), 2, 2, 3, 10), cache, {3, 0, 11, 0});
        CHECK(same_bits(a, b));
        CHECK(refusal([&] { rope::apply<Layout::half_split>(rope::view(y.data(), 1, 5, 6, 10), *r); }).message ==
              "x.batch is 1; its wrapped table was made for the tokens of 2 batch entries.");
        const support::Refusal past = refusal([&] {
            rope::apply<Layout::half_split>(rope::view(y.data(), 2, 5, 3, 10), *r, {4, 3, 2, 5, 0});
        });
        CHECK(past.code == rope::StatusCode::out_of_range);
        CHECK(past.message == "positions[3] is 5; this wrapped table holds positions 0 to 4.");
        CHECK(same_bits(x, y));
    }
    // The rows of one entry serve any number of entries.
    const auto shared = table_of<TestType>(cache, {nullptr, nullptr, 5, 5, 1}, of_token);
    CHECK(same_bits(turned(WrappedRows<TestType>(shared.view), {}), turned(cache, {3, 0, 22, 7, 7})));

    // The memory that Rows built into is such a table.
    rope::Rows<TestType> built(config_of(5, 0, 0));
    built.use_memory(memory.data(), 10);
    built.build(kIds, 5, 2);
    const WrappedRows<TestType> same({memory.data(), memory.data() + 5, 5, 5, 2, 10});
    CHECK(same_bits(turned(same, {}), turned(cache, kIds)));
}

TEMPLATE_TEST_CASE("16-bit tables give the bits of a float table with their values", "", half, bfloat16) {
    const CosSinCache<float> cache = cache_of<float>(7, 2, 1);
    const auto short_numbers = forms<TestType>(cache).front().second;
    std::vector<float> cos, sin;
    for (const TestType x : short_numbers.cos) cos.push_back(static_cast<float>(support::to_double(x)));
    for (const TestType x : short_numbers.sin) sin.push_back(static_cast<float>(support::to_double(x)));
    const WrappedRows<float> same({cos.data(), sin.data(), kPositions, 7}, {17, 2}, 1.25);
    for (const Layout layout : kLayouts)
        for (const auto& [name, table] : forms<TestType>(cache)) {
            CAPTURE(layout, name);
            std::vector<float> copied;
            const WrappedRows<float> rows = wrapped_as(table, cache, copied);
            CHECK(same_bits(all_operations<float>(layout, rows), all_operations<float>(layout, same)));
            CHECK(same_bits(all_operations<TestType>(layout, rows), all_operations<TestType>(layout, same)));
        }
}

TEST_CASE("copies are exact, and doubles rounded to float once") {
    std::vector<float> to(2);
    const half h[] = {{0x3555}, {0x8001}};      // near 1/3, and the smallest there is
    const bfloat16 b[] = {{0xbeab}, {0x0001}};  // likewise
    rope::copy_cos_sin(CosSinView<half>{h, h + 1, 1, 1}, to.data());
    CHECK(to == std::vector<float>{0x1.554p-2f, -0x1p-24f});
    rope::copy_cos_sin(CosSinView<bfloat16>{b, b + 1, 1, 1}, to.data());
    CHECK(support::same_bits(to, {-0x1.56p-2f, 0x1p-133f}));
    const double just_above_the_tie = 1.0 + 0x1p-24 + 0x1p-52, tie = 1.0 + 0x1p-24;
    rope::copy_cos_sin(CosSinView<double>{&just_above_the_tie, &tie, 1, 1}, to.data());
    CHECK(to == std::vector<float>{1.0f + 0x1p-23f, 1.0f});
    std::vector<double> wide(2);
    rope::copy_cos_sin(CosSinView<float>{&to[1], &to[0], 1, 1}, wide.data());
    CHECK(wide == std::vector<double>{1.0, 1.0 + 0x1p-23});
}

TEST_CASE("any strides") {
    const bool ok = rc::check("a table with random strides", [] {
        const Index pairs = *rc::gen::inRange<Index>(1, 40), rows = *rc::gen::inRange<Index>(1, 6);
        const Index batch = *rc::gen::inRange<Index>(1, 4), pair_stride = *rc::gen::inRange<Index>(1, 4);
        const Index least = (pairs - 1) * pair_stride + 1;
        const Index row_stride = *rc::gen::element(Index(0), least, least + 1, 2 * least + 3);
        const CosSinCache<float> cache = cache_of<float>(pairs);
        const auto number = [rows](Index b, Index r) { return b * rows + r; };
        const auto table =
            table_of<float>(cache, {nullptr, nullptr, rows, pairs, batch, row_stride, pair_stride}, number);
        std::vector<float> memory;
        if (pair_stride > 1) memory.resize(size(batch * rows * 2 * pairs));
        const WrappedRows<float> wrapped(pair_stride == 1 ? table.view : rope::copy_cos_sin(table.view, memory.data()));
        std::vector<float> x = support::normal<float>(batch * rows * 2 * pairs, 1), y = x;
        std::vector<Index> ids;
        for (Index k = 0; k < batch * rows; ++k) ids.push_back(k);
        rope::apply<Layout::half_split>(rope::view(x.data(), batch, rows, 1, 2 * pairs), wrapped);
        rope::apply<Layout::half_split>(rope::view(y.data(), batch, rows, 1, 2 * pairs), cache, ids);
        RC_ASSERT(same_bits(x, y));
    });
    CHECK(ok);
}

TEMPLATE_TEST_CASE("the inverse divides by the magnitude that is named", "", float, double) {
    const CosSinCache<TestType> cache = cache_of<TestType>(8);  // its entries contain 1.25
    const CosSinView<TestType> view = {cache.data(), cache.data() + 8, kPositions, 8, 1, 16};
    const std::vector<TestType> x = support::normal<TestType>(2 * 5 * 16, 4);
    const auto there_and_back = [&](const WrappedRows<TestType>& rows) {
        std::vector<TestType> y = x;
        rope::apply<Layout::half_split>(rope::view(y.data(), 2, 5, 1, 16), rows, kIds);
        rope::apply_inverse<Layout::half_split>(rope::view(y.data(), 2, 5, 1, 16), rows, kIds);
        return y;
    };
    const double u = std::is_same_v<TestType, float> ? 0x1p-24 : 0x1p-53;
    const auto named = there_and_back(WrappedRows<TestType>(view, {}, 1.25));
    const auto unnamed = there_and_back(WrappedRows<TestType>(view));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t other = i / 16 * 16 + (i % 16 + 8) % 16;
        const double length = std::hypot(double(x[i]), double(x[other]));
        REQUIRE(std::fabs(double(named[i]) - double(x[i])) <= 20.0 * u * length);
        REQUIRE(std::fabs(double(unnamed[i]) - 1.25 * 1.25 * double(x[i])) <= 20.0 * u * length);
    }
}

TEMPLATE_TEST_CASE("no number beside those of the view is read", "", float, double) {
    constexpr Index kMaxPairs = 4 * 16 + 3, kRows = 3;  // 16: floats in the widest vector of any set
    GuardedMemory cos_memory(size(kRows * 2 * kMaxPairs) * sizeof(TestType)),
        sin_memory(size(kRows * 2 * kMaxPairs) * sizeof(TestType));
    for (Index pairs = 1; pairs <= kMaxPairs; ++pairs) {
        const CosSinCache<TestType> cache = cache_of<TestType>(pairs);
        const std::vector<TestType> x = support::normal<TestType>(kRows * 2 * 2 * pairs, 5);
        // As they are; halves repeated, of which the last one is not even there; neighbours repeated, likewise.
        const std::pair<Index, Index> strides[] = {{pairs, 1}, {2 * pairs, 1}, {2 * pairs, 2}};
        for (const auto& [row_stride, pair_stride] : strides)
            for (const Guard guard : {Guard::before, Guard::after}) {
                CAPTURE(pairs, row_stride, pair_stride, guard == Guard::after);
                auto table = table_of<TestType>(cache, {nullptr, nullptr, kRows, pairs, 1, row_stride, pair_stride},
                                                [](Index, Index r) { return r; });
                table.view.compares_copies = false;
                const std::size_t there = size((kRows - 1) * row_stride + (pairs - 1) * pair_stride + 1);
                table.view.cos = cos_memory.put(table.cos.data(), there, guard);
                table.view.sin = sin_memory.put(table.sin.data(), there, guard);
                std::vector<TestType> memory(size(kRows * 2 * pairs));
                const CosSinView<TestType> copy = rope::copy_cos_sin(table.view, memory.data());
                const WrappedRows<TestType> rows(pair_stride == 1 ? table.view : copy);
                for (const Layout layout : kLayouts)
                    support::for_each_isa([&](const char* isa) {
                        CAPTURE(isa, layout);
                        std::vector<TestType> y = x, want = x, z = x, z_want = x;
                        rope::apply(layout, rope::view(y.data(), kRows, 2, 2 * pairs), rows);
                        rope::apply(layout, rope::view(want.data(), kRows, 2, 2 * pairs), cache);
                        REQUIRE(same_bits(y, want));
                        // Tokens that are neighbours in memory, whose rows are read number by number.
                        const auto columns = [&, n = kRows, d = 2 * pairs](std::vector<TestType>& v) {
                            return rope::TensorView<TestType>{v.data(), 1, n, 2, d, 0, 1, n * d, n};
                        };
                        rope::apply(layout, columns(z), rows);
                        rope::apply(layout, columns(z_want), cache);
                        REQUIRE(same_bits(z, z_want));
                    });
            }
    }
}

namespace {

template <class T>
void nan_stays(std::uint32_t bits) {
    constexpr Index kPairs = 37;
    std::vector<float> cos(kPairs, 0.6f), sin(kPairs, 0.8f);
    const Index bad = 5;  // in a whole vector of every set, and 36 in the last one of a row
    for (const Index i : {bad, kPairs - 1}) {
        std::memcpy(&cos[size(i)], &bits, sizeof(bits));
        std::memcpy(&sin[size(i)], &bits, sizeof(bits));
    }
    const WrappedRows<float> table(CosSinView<float>{cos.data(), sin.data(), 1, kPairs});
    for (const Layout layout : kLayouts)
        for (const Index heads : {1, 3}) {
            std::vector<T> x(size(heads * 2 * kPairs), static_cast<T>(1.0f));
            rope::apply(layout, rope::view(x.data(), 1, heads, 2 * kPairs), table);
            for (Index i = 0; i < heads * 2 * kPairs; ++i) {
                const Index feature = i % (2 * kPairs);
                const Index pair = layout == Layout::interleaved ? feature / 2 : feature % kPairs;
                CAPTURE(sizeof(T), bits, heads, i, static_cast<int>(layout));
                CHECK(std::isnan(static_cast<float>(x[size(i)])) == (pair == bad || pair == kPairs - 1));
            }
        }
}

}  // namespace

TEST_CASE("a NaN in a table is one in what it turns, and nowhere else") {
    support::for_each_isa([](const char* isa) {
        CAPTURE(isa);
        for (const std::uint32_t bits : {0x7fffffffu, 0x7f800001u, 0xffffffffu, 0x7fc00000u}) {
            nan_stays<float>(bits);
            nan_stays<Eigen::half>(bits);
            nan_stays<Eigen::bfloat16>(bits);
        }
    });
}
