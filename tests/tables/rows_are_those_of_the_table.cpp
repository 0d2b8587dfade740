// SPDX-License-Identifier: MIT
// Rows built for a step have the bits of the table's rows at whole positions, wherever these are and in whatever order,
// and turn data into the same bits; at fractions they keep the table's bound.
#include <rope/core.hpp>
#include <rope/moves.hpp>
#include <rope/rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <rapidcheck.h>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/jobs.hpp"
#include "support/refusal.hpp"

using rope::AxisPositions;
using rope::Config;
using rope::CosSinCache;
using rope::Index;
using rope::Layout;
using rope::Rows;
using support::Real;
using support::refusal;
using support::same_bits;
using support::size;
namespace schedule = rope::schedule;

namespace {

constexpr Index kFar = Index(1) << 52;

struct Model {
    const char* name;
    Config config;
    Index seq_len;
};

/// Pairs that fill vectors and that do not, a slice, magnitudes of every kind, numbers that depend on seq_len.
std::vector<Model> models() {
    std::vector<Model> list(5);
    list[0] = {"plain", {128}, 0};
    list[1] = {"slice", {40, 26, 6}, 0};
    list[1].config.attention_factor = 1.25;
    list[1].config.layout = Layout::half_split;
    list[2] = {"yarn", {64}, 0};
    list[2].config.schedule = schedule::Yarn{4.0, 4096};
    list[2].config.interpolation_factor = 3.0;
    list[3] = {"longrope", {8}, 9000};
    list[3].config.schedule = schedule::LongRope{{1, 1, 1, 1}, {1.5, 2, 3, 4}, 4096, 131072};
    list[4] = {"xpos", {14}, 0};
    list[4].config.schedule = schedule::Xpos{schedule::Xpos::Side::key, 512.0, 100.25};
    return list;
}

template <class T>
std::vector<T> entries_of(const Rows<T>& rows) {
    std::vector<T> list;
    for (Index r = 0; r < rows.rows(); ++r) {
        list.insert(list.end(), rows.cos_row(r), rows.cos_row(r) + rows.pairs());
        list.insert(list.end(), rows.sin_row(r), rows.sin_row(r) + rows.pairs());
    }
    return list;
}
/// The rows of a table at the positions of batch * seq tokens.
template <class T>
std::vector<T> entries_of(const CosSinCache<T>& table, const rope::Positions& positions, Index seq, Index batch) {
    std::vector<T> list;
    for (Index b = 0; b < batch; ++b)
        for (Index s = 0; s < seq; ++s) {
            const T* const row = table.cos_row(positions.at(b, s, seq));
            list.insert(list.end(), row, row + 2 * table.pairs());
        }
    return list;
}
/// The row of any position, from a table of its own.
template <class T>
std::vector<T> row_at(const Config& config, Index position) {
    const CosSinCache<T> table(config, 1, position);
    return std::vector<T>(table.data(), table.data() + 2 * table.pairs());
}

template <class X, class T>
void append_turned(std::string& bytes, const rope::CosSinRows<T>& rows, const rope::Positions& positions, Index batch,
                   Index seq) {
    const std::vector<X> x0 = support::normal<X>(batch * seq * 3 * rows.head_dim(), 7);
    for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
        if (rows.layout() && *rows.layout() != layout) continue;
        std::vector<X> x = x0, copy = x0;
        const auto v = rope::view(x.data(), batch, seq, 3, rows.head_dim());
        rope::apply(layout, v, rows, positions);
        rope::apply_transpose(layout, v.slice_heads(1, 1), rows, positions);
        if (!rows.magnitude_grows()) rope::apply_inverse(layout, v.slice_heads(2, 1), rows, positions);
        rope::apply_copy(layout, v, rope::view(copy.data(), batch, seq, 3, rows.head_dim()), rows, positions);
        for (const std::vector<X>* list : {&x, &copy})
            bytes.append(reinterpret_cast<const char*>(list->data()), list->size() * sizeof(X));
    }
}
/// The bits of what a table makes of data of every type that it serves.
template <class T>
std::string turned(const rope::CosSinRows<T>& rows, rope::PositionsArgument&& given, Index batch, Index seq) {
    const rope::Positions& positions = given;
    std::string bytes;
    append_turned<T>(bytes, rows, positions, batch, seq);
    if constexpr (std::is_same_v<T, float>) {
        append_turned<rope::half>(bytes, rows, positions, batch, seq);
        append_turned<rope::bfloat16>(bytes, rows, positions, batch, seq);
    }
    return bytes;
}

/// The error in ulp of max(|exact|, m * 2^-10), as CosSinCache counts it.
template <class T>
double ulps(T entry, const Real& exact, double m) {
    mpfr_exp_t exponent = std::ilogb(m) - 9;
    if (mpfr_zero_p(exact.get()) == 0) exponent = std::max(exponent, mpfr_get_exp(exact.get()));
    return scaled(abs(exact - Real(static_cast<double>(entry))), std::numeric_limits<T>::digits - exponent).to_double();
}

}  // namespace

TEMPLATE_TEST_CASE("rows have the bits of the table, and so has what they turn", "", float, double) {
    constexpr Index kSeq = 7, kBatch = 3, kFirst = -8300;
    const std::vector<Index> shared = {5, -3, 8191, 8192, 5, -8300, 127};
    std::vector<int> own(size(kBatch * kSeq));
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<int>((i * 2654435761u) % 16600) - 8300;
    const std::vector<short> starts = {-4, 8290, -8193};
    const std::vector<rope::Positions> kinds = {
        {}, rope::start_at(8000), rope::start_at(-130), rope::start_at(starts), shared, own};
    for (const Model& m : models()) {
        CAPTURE(m.name);
        const CosSinCache<TestType> table(m.config, 16600, kFirst, m.seq_len);
        Rows<TestType> rows(m.config, {}, m.seq_len);
        CHECK(rows.pairs() == table.pairs());
        CHECK(rows.head_dim() == table.head_dim());
        CHECK(rows.rotary_offset() == table.rotary_offset());
        CHECK(rows.attention_factor() == table.attention_factor());
        CHECK(rows.magnitude_grows() == table.magnitude_grows());
        CHECK(rows.layout() == table.layout());
        for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
            CAPTURE(kind);
            rows.build(kinds[kind], kSeq, kBatch);
            REQUIRE(rows.rows() == kBatch * kSeq);
            CHECK(same_bits(entries_of(rows), entries_of(table, kinds[kind], kSeq, kBatch)));
            CHECK(turned(rows, {}, kBatch, kSeq) == turned(table, kinds[kind], kBatch, kSeq));
        }
        // Given frequencies and a slice are the same; positions of one axis are ids.
        Rows<TestType> given(rope::frequencies(m.config, m.seq_len), {}, {m.config.head_dim, m.config.rotary_offset});
        given.build(AxisPositions(own.data(), 1, kBatch * kSeq), kSeq, kBatch);
        CHECK(same_bits(entries_of(given), entries_of(rows)));
    }
}

TEMPLATE_TEST_CASE("the position of a row is its number, in every entry", "", float, double) {
    const Config config = models()[2].config;
    const CosSinCache<TestType> table(config, 300);
    Rows<TestType> rows(config);
    // One entry's rows are for any batch.
    rows.build(rope::start_at(100), 6);
    CHECK(turned(rows, {}, 4, 6) == turned(table, rope::start_at(100), 4, 6));
    CHECK(turned(rows, rope::start_at(2), 2, 4) == turned(table, rope::start_at(102), 2, 4));
    CHECK(turned(rows, {5, 0, 5}, 2, 3) == turned(table, {105, 100, 105}, 2, 3));
    // Several entries' rows are for as many.
    const std::vector<int> own = {7, 8, 9, 10, 250, 3, 20, 1};
    rows.build(own, 4, 2);
    CHECK(turned(rows, {}, 2, 4) == turned(table, own, 2, 4));
    CHECK(turned(rows, rope::start_at(1), 2, 2) == turned(table, {8, 9, 3, 20}, 2, 2));
    CHECK(turned(rows, rope::start_at(std::vector<int>{0, 3}), 2, 1) == turned(table, {7, 1}, 2, 1));
    CHECK(turned(rows, {3, 3, 0}, 2, 3) == turned(table, {10, 10, 7, 1, 1, 250}, 2, 3));
    std::vector<TestType> x(3 * 4 * 64, TestType(1));
    for (const Index batch : {1, 3}) {
        const auto v = rope::view(x.data(), batch, 4, 1, 64);
        const std::string text =
            "x.batch is " + std::to_string(batch) + "; its table of rows was made for the tokens of 2 batch entries.";
        CHECK(refusal([&] { rope::apply<Layout::half_split>(v, rows); }).message == text);
        CHECK(rope::check(v, rows).message() == text);
    }
    CHECK(refusal([&] {
              rope::apply<Layout::half_split>(rope::view(x.data(), 2, 4, 1, 64), rows, rope::start_at(1));
          }).message == "positions start at 1 and seq is 4; this table of rows holds positions 0 to 3.");
    CHECK(std::count(x.begin(), x.end(), TestType(1)) == static_cast<std::ptrdiff_t>(x.size()));
}

TEMPLATE_TEST_CASE("far positions have the bits of the table and its bound", "", float, double) {
    const Config config = {32};
    Rows<TestType> rows(config);
    std::vector<Index> ids;
    for (const int power : {13, 22, 31, 40, 52})
        for (const Index near : {-1, 0, 1})
            for (const Index sign : {-1, 1})
                if (power < 52 || near < 1) ids.push_back(sign * ((Index(1) << power) + near));
    const Index tokens = static_cast<Index>(ids.size());
    rows.build(ids, tokens);
    double worst = 0.0;
    for (Index t = 0; t < tokens; ++t) {
        const std::vector<TestType> want = row_at<TestType>(config, ids[size(t)]);
        CHECK(std::memcmp(rows.cos_row(t), want.data(), want.size() * sizeof(TestType)) == 0);
        for (Index i = 0; i < 16; ++i) {
            const auto exact = support::cos_sin(ids[size(t)], support::inverse_frequency(config.base, i, 32, 1.0));
            worst = std::max(worst, ulps(rows.cos_row(t)[i], exact.cos, 1.0));
            worst = std::max(worst, ulps(rows.sin_row(t)[i], exact.sin, 1.0));
        }
    }
    std::printf("%zu-byte entries at positions up to 2^52: %.6f ulp\n", sizeof(TestType), worst);
    CHECK(worst <= (std::is_same_v<TestType, float> ? 0.501 : 2.0));  // that of double is stated up to 2^22
}

TEMPLATE_TEST_CASE("any steps, one after the other", "", float, double) {
    // Random far positions need more blocks of 128 than there are places; neighbours share one; blocks a multiple of
    // 256 apart want the same place.
    const Config config = {6};
    CHECK(rc::check("rows of the table", [&] {
        Rows<TestType> rows(config);
        std::mt19937_64 engine(*rc::gen::arbitrary<std::uint64_t>());
        for (Index steps = *rc::gen::inRange<Index>(1, 5); steps > 0; --steps) {
            const Index tokens = *rc::gen::element<Index>(0, 1, 40, 700), kind = *rc::gen::inRange<Index>(0, 4);
            std::vector<Index> ids(size(tokens));
            for (Index& id : ids) {
                const Index random = static_cast<Index>(engine() >> 11) - kFar;
                id = kind == 0 ? random : kind == 1 ? random >> 22 : kind == 2 ? random >> 43 : (random >> 38) * 32768;
            }
            rows.build(ids, tokens);
            for (Index t = 0; t < tokens; ++t) {
                const std::vector<TestType> want = row_at<TestType>(config, ids[size(t)]);
                RC_ASSERT(std::memcmp(rows.cos_row(t), want.data(), want.size() * sizeof(TestType)) == 0);
            }
        }
    }));
}

TEMPLATE_TEST_CASE("an executor may cut the building anywhere", "", float, double) {
    const Config config = {128};
    constexpr Index kTokens = 3001;
    std::mt19937_64 engine(5);
    Index asked = 0, units = 0;
    const auto on_threads = [&](Index count, auto&& f) {
        ++asked;
        units = count;
        const auto pieces = support::random_pieces(count, 30, engine);
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < 3; ++t)
            threads.emplace_back([&f, &pieces, t] {
                for (std::size_t i = t; i < pieces.size(); i += 3) f(pieces[i].first, pieces[i].second);
            });
        for (std::thread& t : threads) t.join();
    };
    Rows<TestType> alone(config), together(config);
    alone.build(rope::start_at(-77), kTokens);
    together.build(rope::start_at(-77), kTokens, 1, on_threads);
    CHECK(asked == 1);
    const Index bytes = kTokens * 128 * static_cast<Index>(sizeof(TestType));
    CHECK((units >= 64 && units <= bytes / 16384));  // enough for many cores, none too small for a thread
    CHECK(same_bits(entries_of(alone), entries_of(together)));
    together.build(rope::start_at(-77), 1000, 1, on_threads);  // less than 1 MiB
    CHECK(asked == 1);
    asked = 0;
    // Entries at fractions cost far more, so fewer are worth it.
    std::vector<double> fractions(40);
    for (std::size_t i = 0; i < fractions.size(); ++i) fractions[i] = 0.3 * static_cast<double>(i);
    alone.build(AxisPositions(fractions.data(), 1, 40), 40);
    together.build(AxisPositions(fractions.data(), 1, 40), 40, 1, on_threads);
    CHECK(asked == 1);
    CHECK(units == 40);
    CHECK(same_bits(entries_of(alone), entries_of(together)));
}

// Between forbidden entries, because a row before the first lies in no buffer of the library's own.
TEMPLATE_TEST_CASE("pieces beyond the ends of the work are cut off", "", float, double) {
    const Config config = {128};
    constexpr Index kTokens = 3001, kBefore = 3001 * 128;
    const TestType mark = 77;
    std::vector<TestType> memory(size(3 * kBefore), mark);
    Rows<TestType> alone(config), together(config);
    rope::Moves<TestType> moves(config);
    const auto untouched = [&](auto begin, auto end) {
        return std::all_of(begin, end, [&](TestType x) { return x == mark; });
    };
    alone.build(rope::start_at(-77), kTokens);
    together.use_memory(memory.data() + kBefore, kTokens);
    together.build(rope::start_at(-77), kTokens, 1, support::BeyondTheEnds());
    CHECK(same_bits(entries_of(alone), entries_of(together)));
    CHECK(untouched(memory.begin(), memory.begin() + kBefore));
    CHECK(untouched(memory.end() - kBefore, memory.end()));
    moves.use_memory(memory.data() + kBefore, kTokens);
    moves.build(rope::start_at(77), rope::start_at(0), kTokens, 1, support::BeyondTheEnds());
    CHECK(moves.rows() == kTokens);
    CHECK(untouched(memory.begin(), memory.begin() + kBefore));
    CHECK(untouched(memory.end() - kBefore, memory.end()));
}

TEMPLATE_TEST_CASE("entries at fractions keep the table's bound, and 3.0 has the bits of 3", "", float, double) {
    std::mt19937_64 engine(3);
    std::uniform_real_distribution<double> in(-1.0, 1.0);
    double worst = 0.0;
    for (const Model& m : models()) {
        const bool grows = m.config.schedule.index() == rope::Schedule(schedule::Xpos()).index();
        const rope::Frequencies f = rope::frequencies(m.config, m.seq_len);
        const double farthest = grows ? 8000.0 : std::is_same_v<TestType, float> ? 0x1p31 : 0x1p22;
        std::vector<double> x = {0.5,     -0.5,   -0.01,   0.01,        1e-9,        -1e-9,
                                 -1e-300, 127.99, -128.01, 1 - 0x1p-53, farthest / 3};
        while (x.size() < 120) x.push_back(std::ldexp(in(engine), static_cast<int>(engine() % 13)));
        while (x.size() < 160) x.push_back(in(engine)*farthest);
        const Index tokens = static_cast<Index>(x.size());
        std::vector<float> narrow(x.begin(), x.end());
        Rows<TestType> rows(m.config, {}, m.seq_len);
        for (const bool is_narrow : {false, true}) {
            if (is_narrow)
                rows.build(AxisPositions(narrow.data(), 1, tokens), tokens);
            else
                rows.build(AxisPositions(x.data(), 1, tokens), tokens);
            for (Index t = 0; t < tokens; ++t) {
                const Real p(is_narrow ? static_cast<double>(narrow[size(t)]) : x[size(t)]);
                for (std::size_t i = 0; i < f.inv_freq.size(); ++i) {
                    const auto unit = support::cos_sin(p * (Real(f.inv_freq[i]) + Real(f.inv_freq_low[i])));
                    Real magnitude(f.attention_factor);
                    if (grows) {
                        const Real growth = Real(f.log_growth[i]) + Real(f.log_growth_low[i]);
                        magnitude = magnitude * exp(growth * (p - Real(f.centre)));
                    }
                    const double size_of = magnitude.to_double();
                    worst = std::max(worst, ulps(rows.cos_row(t)[i], magnitude * unit.cos, size_of));
                    worst = std::max(worst, ulps(rows.sin_row(t)[i], magnitude * unit.sin, size_of));
                }
            }
        }
        // Whole ones among fractions.
        const std::vector<float> whole = {3.0f, 0.5f, -0.0f, -8000.0f, 127.0f, 0.25f, 4095.0f};
        const std::vector<int> same = {3, 0, 0, -8000, 127, 0, 4095};
        Rows<TestType> of_whole(m.config, {}, m.seq_len);
        rows.build(AxisPositions(whole.data(), 1, 7), 7);
        of_whole.build(same, 7);
        for (const Index t : {0, 2, 3, 4, 6})
            CHECK(std::memcmp(rows.cos_row(t), of_whole.cos_row(t), size(2 * rows.pairs()) * sizeof(TestType)) == 0);
    }
    std::printf("%zu-byte entries at fractions: %.6f ulp\n", sizeof(TestType), worst);
    CHECK(worst <= CosSinCache<TestType>::kMaxUlpError);
}
