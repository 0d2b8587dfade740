// SPDX-License-Identifier: MIT
// write_rows: rows that any number of threads write from one table turn as the table does, bit for bit; on several axes
// they are the rows that Rows builds. Nothing is allocated, and what is refused writes nothing.
#include <rope/apply.hpp>
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/cos_sin_cache.hpp>
#include <rope/part.hpp>
#include <rope/rows.hpp>
#include <rope/write_rows.hpp>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::Layout;
using support::refusal;
using support::same_bits;
using support::size;

namespace {

constexpr Index kPositions = 5000, kFirst = -7;

rope::Config config_of(Index pairs) {
    rope::Config config;
    config.head_dim = 2 * pairs + 5;
    config.rotary_dim = 2 * pairs;
    config.rotary_offset = 3;
    config.attention_factor = 1.25;
    return config;
}

/// Rows of a table turn as the table does, whatever positions are.
template <class T, class Table>
void check_table(const Table& table) {
    const Index batch = 2, seq = 9, pairs = table.pairs(), width = 2 * pairs;
    const std::vector<T> x = support::normal<T>(batch * seq * 3 * table.head_dim(), 3);
    const std::vector<std::int32_t> ids = {4, 4000, 0, -7, 9, 9, 4992, 17, 1}, starts = {-3, 4980};
    const std::vector<std::int32_t> all = {4, 3, 0, -7, 9, 9, 4992, 17, 1, 0, 1, 2, 3, 4, 4, 3, 2, 1};
    for (const rope::Positions& positions :
         {rope::start_at(40), rope::Positions(ids), rope::start_at(starts), rope::Positions(all)})
        support::for_each_isa([&](const char* isa) {
            CAPTURE(isa, pairs);
            std::vector<T> memory(size(batch * seq * width) + 1, T(7));
            const rope::CosSinView<T> view = rope::write_rows(table, positions, seq, batch, memory.data());
            REQUIRE(memory.back() == T(7));
            REQUIRE(view.cos == memory.data());
            const rope::WrappedRows<T> rows(view, {table.head_dim(), table.rotary_offset()}, table.attention_factor());
            for (const Layout layout : {Layout::interleaved, Layout::half_split})
                for (const Index heads : {1, 3}) {
                    std::vector<T> want = x, got = x;
                    rope::apply(layout, rope::view(want.data(), batch, seq, heads, table.head_dim()), table, positions);
                    rope::apply(layout, rope::view(got.data(), batch, seq, heads, table.head_dim()), rows);
                    REQUIRE(same_bits(want, got));
                }
            // In parts, by as many threads, into memory of which each writes its own share.
            for (const Index parts : {1, 2, 3, 5, 16}) {
                std::vector<T> shared(memory.size(), T(7));
                std::vector<std::thread> threads;
                for (Index i = 0; i < parts; ++i)
                    threads.emplace_back([&, i] {
                        rope::write_rows(table, positions, seq, batch, shared.data(), rope::part(i, parts));
                    });
                for (std::thread& thread : threads) thread.join();
                REQUIRE(same_bits(shared, memory));
            }
        });
}

}  // namespace

TEMPLATE_TEST_CASE("rows from a table turn as the table does", "", float, double) {
    for (const Index pairs : {1, 13, 64, 1030}) {
        check_table<TestType>(rope::CosSinCache<TestType>(config_of(pairs), kPositions, kFirst));
        check_table<TestType>(rope::CompactCosSinCache<TestType>(config_of(pairs), kPositions, kFirst));
    }
}

TEST_CASE("rows on several axes are those that Rows builds") {
    const Index tokens = 6;
    const std::vector<Index> ids = {0, 1, 2, 3, 4000, 4000, 5, 5, 5, 9, 2, 1, 8, 7, 0, 3, 3, 1, 1, 2, 3, 4, 5, 6};
    for (const rope::AxisMap& map :
         {rope::AxisMap(), rope::mrope_sections({16, 30, 24}), rope::mrope_interleaved({24, 23, 23}),
          rope::mrope_alternating({25, 25, 20}), rope::mrope_interleaved({26, 22, 22}, rope::LeftOver::fourth_axis)}) {
        const rope::CosSinCache<float> table(config_of(70), kPositions);
        const rope::AxisPositions positions(ids.data(), map.axes, tokens);
        const rope::CompactCosSinCache<float> compact(config_of(70), kPositions);
        rope::Rows<float> rows(config_of(70), map);
        rows.build(positions, tokens);
        support::for_each_isa([&](const char* isa) {
            CAPTURE(isa, map.axes);
            std::vector<float> memory(size(tokens * 140));
            rope::write_rows(table, positions, map, tokens, 1, memory.data());
            for (Index t = 0; t < tokens; ++t)
                for (Index i = 0; i < 70; ++i) {
                    REQUIRE(memory[size(t * 140 + i)] == rows.cos_row(t)[i]);
                    REQUIRE(memory[size(t * 140 + 70 + i)] == rows.sin_row(t)[i]);
                }
            // Of a table that combines rows: each pair from the row of its axis alone.
            rope::write_rows(compact, positions, map, tokens, 1, memory.data());
            for (Index axis = 0; axis < map.axes; ++axis) {
                std::vector<float> alone(memory.size());
                rope::write_rows(compact, rope::ids(ids.data() + axis * tokens, tokens), tokens, 1, alone.data());
                for (Index t = 0; t < tokens; ++t)
                    for (Index i = 0; i < 140; ++i)
                        if (map.axis_of.empty() || map.axis_of[size(i % 70)] == axis)
                            REQUIRE(memory[size(t * 140 + i)] == alone[size(t * 140 + i)]);
            }
        });
    }
}

TEST_CASE("rows are written without allocation") {
    const rope::CompactCosSinCache<float> table(config_of(64), kPositions);
    std::vector<float> memory(size(40 * 128));
    const rope::AxisMap map = rope::mrope_sections({16, 24, 24});
    const std::vector<std::int32_t> ids(120, 7);
    rope::write_rows(table, rope::start_at(1), 1, 1, memory.data());  // chooses the instruction set
    const long before = support::allocations;
    rope::write_rows(table, rope::start_at(1), 40, 1, memory.data());
    rope::write_rows(table, rope::AxisPositions(ids.data(), 3, 40), map, 40, 1, memory.data());
    CHECK(support::allocations == before);
}

TEST_CASE("rows that cannot be written are refused, and nothing is written") {
    const rope::CosSinCache<float> table(config_of(4), 10);
    std::vector<float> memory(80, 7.0f);
    float* const to = memory.data();
    const auto message = [&](const auto&... arguments) {
        const std::string text = refusal([&] { rope::write_rows(table, arguments...); }).message;
        CHECK(memory == std::vector<float>(80, 7.0f));
        return text;
    };
    CHECK(message(rope::start_at(8), 3, 1, to) ==
          "positions start at 8 and seq is 3; this cache holds positions 0 to 9.");
    CHECK(message(rope::start_at(0), -1, 1, to) == "seq is -1; it must be from 0 to 2^40.");
    CHECK(message(rope::start_at(0), 1, -1, to) ==
          "batch is -1; it must not be negative, and batch * seq at most 2^40.");
    CHECK(message(rope::start_at(0), 2, 1, static_cast<float*>(nullptr)) ==
          "to is a null pointer; it must have room for 16 numbers.");
    const std::vector<Index> ids = {1, 2, 10};
    CHECK(message(rope::Positions(ids), 3, 1, to) == "positions[2] is 10; this cache holds positions 0 to 9.");
    CHECK(message(rope::Positions(ids), 2, 1, to) ==
          "positions has 3 ids; there must be one for each token, seq (2) of them.");
    const rope::AxisMap map = rope::mrope_sections({1, 1, 2});
    CHECK(message(rope::AxisPositions(ids.data(), 3, 1), map, 1, 1, to) ==
          "positions[2][0] is 10; this cache holds positions 0 to 9.");
    CHECK(message(rope::AxisPositions(ids.data(), 1, 3), map, 3, 1, to) == "positions has 1 axis; the map has 3.");
    CHECK(message(rope::AxisPositions(ids.data(), 3, 1), rope::mrope_sections({1, 1}), 1, 1, to) ==
          "The sections of the map (or its axis_of) have 2 pairs; they must add up to 4, one pair for two features "
          "that rotate.");
    CHECK(message(rope::AxisPositions(ids.data(), 2, 1), rope::mixed_axes(2), 1, 1, to) ==
          "map is mixed; rows of a table are for pairs that follow one axis each (Rows take mixed axes).");
    const std::vector<double> fractions = {0.5, 1.0, 2.0};
    CHECK(message(rope::AxisPositions(fractions.data(), 3, 1), map, 1, 1, to) ==
          "positions are of a type with fractions; a table has rows of whole positions (Rows take fractions).");
    std::vector<float> of_two(size(2 * 3 * 8), 1.0f);
    const rope::WrappedRows<float> wrapped({of_two.data(), of_two.data() + 4, 3, 4, 2, 8});
    CHECK(refusal([&] { rope::write_rows(wrapped, rope::start_at(0), 3, 1, to); }).message ==
          "to.batch is 1; its wrapped table was made for the tokens of 2 batch entries.");
}
