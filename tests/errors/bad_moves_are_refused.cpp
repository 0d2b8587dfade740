// SPDX-License-Identifier: MIT
// Moves that cannot be are refused by a sentence that names what is wrong, and nothing is written: neither the keys nor
// the rows that were built before.
#include <rope/reposition.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::AxisPositions;
using rope::Config;
using rope::Frequencies;
using rope::Index;
using rope::Layout;
using rope::Moves;
using support::invalid;
using support::out_of_range;
using support::refusal;
using support::same_bits;
namespace schedule = rope::schedule;

namespace {

constexpr Index kDim = 8, kSeq = 4;
constexpr Layout kLayout = Layout::half_split;

Config with_schedule(const rope::Schedule& s) {
    Config config = {kDim};
    config.schedule = s;
    return config;
}

}  // namespace

TEST_CASE("schedules that do not go together") {
    const auto between = [](const Config& a, const Config& b) {
        return invalid([&] { Moves<float> moves(a, 0, b, 0); });
    };
    const std::string reason = " in the new one; a move cannot change which features rotate together.";
    CHECK(between({8}, {16}) == "head_dim is 8 in the old Config and 16" + reason);
    CHECK(between({16, 4}, {16, 8}) == "rotary_dim is 4 in the old Config and 8" + reason);
    CHECK(between({16, 4}, {16}) == "rotary_dim is 4 in the old Config and 16" + reason);
    CHECK(between({16, 4, 2}, {16, 4}) == "rotary_offset is 2 in the old Config and 0" + reason);
    Config a = {kDim}, b = {kDim};
    a.layout = Layout::half_split;
    b.layout = Layout::interleaved;
    CHECK(between(a, b) == "layout is half_split in the old Config and interleaved" + reason);
    a.layout = {};
    Moves<float> interleaved(a, 0, b, 0), also(b, 0, a, 0), one(b);
    CHECK(interleaved.layout() == Layout::interleaved);
    CHECK(also.layout() == Layout::interleaved);
    CHECK(one.layout() == Layout::interleaved);

    // What is wrong with one of them is said first.
    Config bad = {kDim};
    bad.base = -1.0;
    CHECK(between(bad, {16}).find("base is -1;") == 0);
    CHECK(between({16}, bad).find("base is -1;") == 0);
    CHECK(invalid([&] { Moves<double> moves(bad); }).find("base is -1;") == 0);
    CHECK(invalid([&] { Moves<double> moves(Config{kDim}, {}, -1); }) == "seq_len is -1; it must be from 0 to 2^40.");
    CHECK(invalid([&] { Moves<double> moves(Config{kDim}, 0, Config{kDim}, -1); }) ==
          "seq_len is -1; it must be from 0 to 2^40.");

    const Frequencies four = rope::frequencies({8}), two = rope::frequencies({4});
    CHECK(invalid([&] { Moves<float> moves(four, two); }) ==
          "inv_freq has 4 entries in the old frequencies and 2 in the new ones; a move cannot change which features "
          "rotate together.");
    Frequencies large = four, small = four;
    large.attention_factor = 0x1p17;
    small.attention_factor = 0x1p-16;
    CHECK(invalid([&] { Moves<float> moves(small, large); }) ==
          "attention_factor is 1.52587890625e-05 in the old frequencies and 131072 in the new ones; that must be 2^-32 "
          "to 2^32 times as much.");
    CHECK(invalid([&] { Moves<float> moves(large, small); }).find("attention_factor is 131072 in the old") == 0);
    large.attention_factor = 0x1p16;
    CHECK(refusal([&] { Moves<float> moves(small, large), back(large, small); }).code == rope::StatusCode::ok);
    Frequencies none;
    CHECK(invalid([&] { Moves<float> moves(none); }).find("inv_freq has 0 entries;") == 0);
    CHECK(invalid([&] { Moves<float> moves(none, four); }).find("inv_freq has 0 entries;") == 0);
    CHECK(invalid([&] { Moves<float> moves(four, none); }).find("inv_freq has 0 entries;") == 0);
    CHECK(invalid([&] { Moves<float> moves(four, {}, {8, 2}); }).find("rotary_offset is 2;") == 0);
    CHECK(invalid([&] { Moves<float> moves(four, four, {}, {7}); }).find("head_dim is 7; it must be at least 8") == 0);
}

TEST_CASE("maps that do not go with the frequencies") {
    const Frequencies four = rope::frequencies({8});
    CHECK(invalid([&] {
              Moves<float> moves(Config{kDim}, rope::mrope_sections({2, 1}));
          }).find("The sections of the map (or its axis_of) have 3 pairs") == 0);
    const std::string numbers = "map is mixed; frequencies of mixed axes are numbers: give Frequencies.";
    CHECK(invalid([&] { Moves<float> moves(Config{kDim}, rope::mixed_axes(2)); }) == numbers);
    CHECK(invalid([&] { Moves<float> moves(Config{kDim}, 0, Config{kDim}, 0, rope::mixed_axes(2)); }) == numbers);
    CHECK(invalid([&] { Moves<float> moves(four, rope::mixed_axes(3)); }).find("inv_freq has 4 entries;") == 0);
    const Frequencies grows = rope::frequencies(with_schedule(schedule::Xpos()));
    const std::string growth = "log_growth has 4 entries; with mixed axes it must be empty.";
    CHECK(invalid([&] { Moves<float> moves(grows, rope::mixed_axes(2)); }) == growth);
    CHECK(invalid([&] { Moves<float> moves(grows, four, rope::mixed_axes(2)); }) == growth);
    CHECK(invalid([&] { Moves<float> moves(four, grows, rope::mixed_axes(2)); }) == growth);
}

TEMPLATE_TEST_CASE("positions that cannot be, and the rows there were stay", "", float, double) {
    using List = std::vector<Index>;
    constexpr Index far = Index(1) << 52;
    const auto says = [](Moves<TestType>& moves, auto&&... arguments) {
        const std::vector<TestType> before(moves.cos_row(0), moves.cos_row(0) + 2 * moves.pairs());
        const Index rows = moves.rows();
        const support::Refusal r = refusal([&] { moves.build(arguments...); });
        CHECK(moves.rows() == rows);
        CHECK(same_bits(before, std::vector<TestType>(moves.cos_row(0), moves.cos_row(0) + 2 * moves.pairs())));
        return (r.code == rope::StatusCode::invalid_argument ? "invalid: "
                : r.code == rope::StatusCode::out_of_range   ? "out of range: "
                                                             : "out of memory: ") +
               r.message;
    };
    Moves<TestType> moves(Config{kDim});
    CHECK(moves.rows() == 0);
    CHECK(out_of_range([&] { (void)moves.cos_row(0); }) ==
          "row is 0; it must be at least 0 and below the number of rows (0).");
    CHECK_NOTHROW(moves.build(rope::start_at(1), rope::start_at(2), kSeq));
    CHECK(out_of_range([&] { (void)moves.sin_row(4); }) ==
          "row is 4; it must be at least 0 and below the number of rows (4).");
    CHECK(out_of_range([&] { (void)moves.cos_row(-1); }) ==
          "row is -1; it must be at least 0 and below the number of rows (4).");

    const List four = {1, 2, 3, 4}, three = {1, 2, 3};
    CHECK(says(moves, three, four, kSeq) ==
          "invalid: old_positions has 3 ids; there must be one for each token, seq (4) of them.");
    CHECK(says(moves, four, three, kSeq) ==
          "invalid: new_positions has 3 ids; there must be one for each token, seq (4) of them.");
    CHECK(says(moves, four, rope::start_at(three), kSeq, 2) ==
          "invalid: new_positions has 3 starts; there must be one per batch entry (2).");
    CHECK(says(moves, rope::ids(static_cast<const int*>(nullptr), 4), four, kSeq) ==
          "invalid: old_positions is a null pointer; it must point to 4 integers.");
    CHECK(says(moves, four, List{1, far + 1, 3, 4}, kSeq) ==
          "out of range: new_positions[1] is 4503599627370497; this schedule holds positions -4503599627370496 to "
          "4503599627370496.");
    CHECK(
        says(moves, List{1, 2, -far - 1, 4}, four, kSeq).find("out of range: old_positions[2] is -4503599627370497;") ==
        0);
    CHECK(says(moves, rope::start_at(std::numeric_limits<Index>::max()), four, kSeq)
              .find("out of range: old_positions start at ") == 0);
    CHECK(says(moves, std::vector<std::uint64_t>{1, 2, 3, ~std::uint64_t(0)}, four, kSeq)
              .find("out of range: old_positions[3] is ") == 0);
    CHECK(says(moves, four, four, -1) == "invalid: seq is -1; it must be from 0 to 2^40.");
    CHECK(says(moves, four, four, (Index(1) << 40) + 1).find("invalid: seq is ") == 0);
    CHECK(says(moves, four, four, kSeq, -1) ==
          "invalid: batch is -1; it must not be negative, and batch * seq at most 2^40.");
    CHECK(says(moves, four, four, kSeq, Index(1) << 39).find("invalid: batch is ") == 0);
    CHECK(says(moves, rope::start_at(0), rope::start_at(0), Index(1) << 40)
              .find("out of memory: There is no memory for 1099511627776 rows of ") == 0);
    CHECK(says(moves, 2 * far + 1) == "out of range: delta is 9007199254740993; it must be from -2^53 to 2^53.");
    CHECK(says(moves, -2 * far - 1) == "out of range: delta is -9007199254740993; it must be from -2^53 to 2^53.");
    CHECK(refusal([&] { moves.build(2 * far), moves.build(-2 * far); }).code == rope::StatusCode::ok);

    // Several axes.
    Moves<TestType> axes(Config{kDim}, rope::mrope_sections({2, 1, 1}));
    std::vector<double> old_at(12, 1.0), new_at(12, 2.0);
    const AxisPositions old_good(old_at.data(), 3, kSeq), new_good(new_at.data(), 3, kSeq);
    CHECK_NOTHROW(axes.build(old_good, new_good, kSeq));
    CHECK(says(axes, AxisPositions(old_at.data(), 2, kSeq), new_good, kSeq) ==
          "invalid: old_positions has 2 axes; the map has 3.");
    CHECK(says(axes, old_good, AxisPositions(new_at.data(), 3, 3), kSeq) ==
          "invalid: new_positions has 3 tokens; there must be batch * seq (4) of them.");
    CHECK(says(axes, old_good, AxisPositions(static_cast<const float*>(nullptr), 3, kSeq), kSeq) ==
          "invalid: new_positions is a null pointer; it must point to 3 * 4 numbers.");
    new_at[6] = 4503599627370500.0;
    CHECK(says(axes, old_good, new_good, kSeq) ==
          "out of range: new_positions[1][2] is 4503599627370500; it must be from -2^52 to 2^52.");
    old_at[11] = support::nan_value();
    CHECK(says(axes, old_good, new_good, kSeq) ==
          "out of range: old_positions[2][3] is nan; it must be from -2^52 to 2^52.");

    // Between two schedules, and beyond the sequence that their numbers are for.
    Moves<TestType> longer(with_schedule(schedule::DynamicNtk{2.0, 64}), 0,
                           with_schedule(schedule::DynamicNtk{2.0, 64}), 100);
    CHECK_NOTHROW(longer.build(rope::start_at(60), rope::start_at(96), kSeq));
    CHECK(says(longer, -5) ==
          "invalid: delta is -5; between two schedules a move depends on the position: give old and new positions.");
    CHECK(says(longer, List{1, 2, 3, 64}, four, kSeq) ==
          "out of range: old_positions[3] is 64; this schedule holds positions -4503599627370496 to 63. (Name the "
          "longest sequence as seq_len.)");
    CHECK(says(longer, rope::start_at(60), rope::start_at(97), kSeq)
              .find("out of range: new_positions start at 97 and seq is 4;") == 0);
    Moves<TestType> within(with_schedule(schedule::DynamicNtk{2.0, 64}));
    CHECK_NOTHROW(within.build(rope::start_at(60), rope::start_at(0), kSeq));
    CHECK(says(within, rope::start_at(60), rope::start_at(61), kSeq).find("out of range: new_positions start at 61") ==
          0);

    // Magnitudes.
    const Config xpos = with_schedule(schedule::Xpos{schedule::Xpos::Side::key, 512.0, 0.0});
    Moves<TestType> grows(xpos), grows_more(xpos, 0, xpos, 0);
    CHECK_NOTHROW(grows.build(26000));
    CHECK(says(grows, 27000).find("out of range: the magnitude of pair 0 would change by up to e^66.0") == 0);
    CHECK_NOTHROW(grows.build(four, List{26000, 2, 3, 4}, kSeq));
    CHECK(says(grows, four, List{1, 2, 3, 27000}, kSeq).find(" (xPos); it must stay within e^-64 .. e^64.") !=
          std::string::npos);
    CHECK_NOTHROW(grows_more.build(List{1, 2, 3, 13000}, List{1, 2, 13000, 4}, kSeq));
    CHECK(says(grows_more, List{1, 2, 3, 13000}, List{1, 2, 4, 14000}, kSeq)
              .find("out of range: the magnitude of pair 0 ") == 0);
}

TEST_CASE("deltas that cannot be, and the rows there were stay") {
    constexpr Index far = Index(1) << 53;
    Moves<float> moves(Config{kDim}), two(Config{kDim}, 0, Config{kDim}, 0);
    Moves<float> grows(with_schedule(schedule::Xpos()));
    const std::vector<Index> four = {1, -2, 3, -4}, three = {1, 2, 3};
    moves.build(four, kSeq);
    const std::vector<float> before(moves.cos_row(0), moves.cos_row(0) + 4 * kDim);
    CHECK(invalid([&] { moves.build(three, kSeq); }) ==
          "deltas has 3 entries; there must be one for each token, seq (4) of them.");
    CHECK(invalid([&] { moves.build(three, kSeq, 2); }) ==
          "deltas has 3 entries; there must be seq (4) or batch * seq (8) of them.");
    CHECK(invalid([&] {
              moves.build({1, 2, 3, 4, 5}, kSeq, 2);
          }) == "deltas has 5 entries; there must be seq (4) or batch * seq (8) of them.");
    CHECK(invalid([&] { moves.build(rope::ids(static_cast<const int*>(nullptr), 4), kSeq); }) ==
          "deltas is a null pointer; it must point to 4 integers.");
    CHECK(invalid([&] { moves.build(rope::start_at(3), kSeq); }) ==
          "deltas are given by start_at; they must be a list with a number for each token.");
    CHECK(invalid([&] { moves.build(rope::start_at(four), 1, 4); }) ==
          "deltas are given by start_at; they must be a list with a number for each token.");
    CHECK(out_of_range([&] {
              moves.build({Index(1), far + 1, Index(3), Index(4)}, kSeq);
          }) == "deltas[1] is 9007199254740993; it must be from -2^53 to 2^53.");
    CHECK(out_of_range([&] {
              moves.build({Index(1), Index(3), -far - 1}, 3);
          }) == "deltas[2] is -9007199254740993; it must be from -2^53 to 2^53.");
    CHECK(out_of_range([&] { moves.build(std::vector<std::uint64_t>{~std::uint64_t(0)}, 1); }) ==
          "deltas[0] is 9223372036854775807 or more; it must be from -2^53 to 2^53.");
    CHECK(invalid([&] { moves.build(four, -1); }) == "seq is -1; it must be from 0 to 2^40.");
    CHECK(invalid([&] { moves.build(four, kSeq, -1); }) ==
          "batch is -1; it must not be negative, and batch * seq at most 2^40.");
    CHECK(invalid([&] { two.build(four, kSeq); }) ==
          "deltas are given; between two schedules a move depends on the position: give old and new positions.");
    CHECK(out_of_range([&] { grows.build({1, 1 << 30}, 2); }).find("the magnitude of pair ") == 0);
    CHECK(moves.rows() == 4);
    CHECK(same_bits(before, std::vector<float>(moves.cos_row(0), moves.cos_row(0) + 4 * kDim)));
}

TEST_CASE("keys that the moves are not for, and nothing is written") {
    const auto original = support::normal<float>(2 * kSeq * 3 * kDim, 1);
    auto k = original;
    const auto view = rope::view(k.data(), 2, kSeq, 3, kDim);
    const auto says = [&](auto&&... arguments) {
        const support::Refusal r = refusal([&] { rope::reposition<kLayout>(arguments...); });
        const support::Refusal named = refusal([&] { rope::reposition(kLayout, arguments...); });
        CHECK(r.message == named.message);
        CHECK(same_bits(k, original));
        return r.message;
    };
    Config config = {kDim};
    config.attention_factor = 1.5;
    Moves<float> moves(config);
    CHECK(says(view, moves) == "k.seq is 4; these moves were built for 0 tokens.");
    moves.build(rope::start_at(0), rope::start_at(5), kSeq + 1);
    CHECK(says(view, moves) == "k.seq is 4; these moves were built for 5 tokens.");
    moves.build(rope::start_at(0), rope::start_at(5), kSeq, 3);
    CHECK(says(view, moves) == "k.batch is 2; its table of moves was made for the tokens of 3 batch entries.");
    moves.build(5);
    CHECK(says(view.slice_features(0, 6), moves) ==
          "k.head_dim is 6; its table of moves was made for a head_dim of 8.");
    auto overlapping = view;
    overlapping.head_stride = 0;
    CHECK(says(overlapping, moves).find("k overlaps itself: heads has stride 0") == 0);
    CHECK(says(rope::view(static_cast<float*>(nullptr), kSeq, 3, kDim), moves).find("k.data is null;") == 0);

    const std::vector<int> ids = {1, 2, 3, 4}, few = {1, 2};
    CHECK(says(view, config, few, ids) == "old_positions has 2 ids; there must be seq (4) or batch * seq (8) of them.");
    CHECK(says(view, config, ids, few) == "new_positions has 2 ids; there must be seq (4) or batch * seq (8) of them.");
    CHECK(says(view, config, ids, Config{kDim + 2}, ids).find("head_dim is 8 in the old Config and 10") == 0);
    CHECK(says(view, Config{kDim + 2}, 5).find("k.head_dim is 8;") == 0);
    CHECK(says(view, Config{}, 5).find("head_dim is 0;") == 0);
    CHECK(says(overlapping, config, ids, ids).find("k overlaps itself:") == 0);
    Config layout = config;
    layout.layout = Layout::interleaved;
    CHECK(says(view, layout, 5) ==
          "layout is half_split; the table of moves of k was made from a Config whose layout is interleaved.");
    CHECK(says(view, with_schedule(schedule::DynamicNtk{2.0, 64}), ids, rope::start_at(61))
              .find("new_positions start at 61") == 0);
    CHECK(refusal([&] { rope::reposition(static_cast<Layout>(7), view, moves); }).message ==
          "layout is 7; it must be Layout::interleaved (0) or Layout::half_split (1).");
    CHECK(same_bits(k, original));

    // Nothing to do is fine.
    rope::reposition<kLayout>(rope::view(static_cast<float*>(nullptr), 0, kSeq, 3, kDim), config, ids, ids);
    rope::reposition<kLayout>(rope::view(static_cast<float*>(nullptr), 2, 0, 3, kDim), config, {}, {});
    rope::reposition<kLayout>(view.slice_tokens(0, 0), moves);
    CHECK(same_bits(k, original));
    // And moves by a delta are for any number of tokens.
    rope::reposition<kLayout>(view, moves);
    CHECK_FALSE(same_bits(k, original));
}

TEST_CASE("moves in the caller's memory are those of its own, and no more of them") {
    const Config config = {kDim};
    Moves<float> own(config), given(config);
    std::vector<float> memory(kSeq * kDim, 7.0f);
    const std::vector<Index> from = {9, 1, 5, 200}, to = {0, 70000, 6, 199};
    given.use_memory(memory.data(), kSeq);
    own.build(from, to, kSeq);
    given.build(from, to, kSeq);
    REQUIRE(given.rows() == kSeq);
    CHECK(given.cos_row(0) == memory.data());
    CHECK(same_bits(memory, std::vector<float>(own.cos_row(0), own.cos_row(0) + kSeq * kDim)));
    CHECK(invalid([&] { given.build({}, {}, kSeq + 1); }) ==
          "batch * seq is 5; the memory given to use_memory holds 4 rows.");
    given.use_memory(nullptr, 0);
    CHECK(given.rows() == 0);
    given.build({}, {}, kSeq + 1);
    CHECK(given.rows() == kSeq + 1);
}
