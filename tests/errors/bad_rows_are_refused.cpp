// SPDX-License-Identifier: MIT
// Rows and axis maps refuse what they cannot serve with a sentence that names it. A refused step writes nothing and
// leaves the rows there were; nothing outside the caller's memory is written in any step.
#include <rope/core.hpp>
#include <rope/rows.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::AxisMap;
using rope::AxisPositions;
using rope::Config;
using rope::Frequencies;
using rope::Index;
using rope::Layout;
using rope::Rows;
using support::refusal;
using support::same_bits;
using support::size;
namespace schedule = rope::schedule;

namespace {

constexpr Index kFar = Index(1) << 52, kMost = std::numeric_limits<Index>::max();

template <class T>
std::vector<T> entries_of(const Rows<T>& rows) {
    std::vector<T> list;
    for (Index r = 0; r < rows.rows(); ++r)
        list.insert(list.end(), rows.cos_row(r), rows.cos_row(r) + rows.rotary_dim());
    return list;
}

/// Refused with this sentence, and the rows are still those there were.
template <class T, class Build>
void refuses(Rows<T>& rows, rope::StatusCode code, const std::string& sentence, const Build& build) {
    const std::vector<T> before = entries_of(rows);
    const support::Refusal r = refusal([&] { build(rows); });
    CHECK(r.message == sentence);
    CHECK(r.code == code);
    CHECK(rows.rows() * rows.rotary_dim() == static_cast<Index>(before.size()));
    CHECK(same_bits(entries_of(rows), before));
}
constexpr auto kInvalid = rope::StatusCode::invalid_argument;
constexpr auto kOutOfRange = rope::StatusCode::out_of_range;

}  // namespace

TEMPLATE_TEST_CASE("counts, lists and positions are checked before anything is written", "", float, double) {
    Rows<TestType> rows(Config{8}, rope::mrope_sections({2, 1, 1}));
    rows.build(rope::start_at(3), 4, 2);
    const std::vector<Index> list = {1, 2, 3, 4};
    const std::vector<Index> far = {0, 0, kFar, kFar + 1};
    const auto says = [&](const std::string& sentence, rope::PositionsArgument&& given, Index seq, Index batch,
                          rope::StatusCode code = kInvalid) {
        const rope::Positions& p = given;
        refuses(rows, code, sentence, [&](auto& r) { r.build(p, seq, batch); });
    };
    says("seq is -1; it must be from 0 to 2^40.", {}, -1, 1);
    says("seq is 1099511627777; it must be from 0 to 2^40.", {}, (Index(1) << 40) + 1, 1);
    says("batch is -1; it must not be negative, and batch * seq at most 2^40.", {}, 4, -1);
    says("batch is -3; it must not be negative, and batch * seq at most 2^40.", {}, 0, -3);
    says("batch is 9223372036854775807; it must not be negative, and batch * seq at most 2^40.", {}, 4, kMost);
    says("batch is 274877906945; it must not be negative, and batch * seq at most 2^40.", {}, 4, (Index(1) << 38) + 1);
    says("positions has 4 ids; there must be seq (3) or batch * seq (6) of them.", list, 3, 2);
    says("positions has 4 starts; there must be one per batch entry (2).", rope::start_at(list), 3, 2);
    says("positions is a null pointer; it must point to 4 integers.", rope::ids(static_cast<int*>(nullptr), 4), 4, 1);
    const std::string range = "; this schedule holds positions -4503599627370496 to 4503599627370496.";
    says("positions[3] is 4503599627370497" + range, far, 4, 1, kOutOfRange);
    says("positions start at 4503599627370496 and seq is 2" + range, rope::start_at(kFar), 2, 1, kOutOfRange);
    says("positions start at -4503599627370497 and seq is 2" + range, rope::start_at(-kFar - 1), 2, 1, kOutOfRange);
    Rows<TestType> wide(Config{8192});  // so that no machine has so much memory, or says so
    wide.build({}, 2);
    refuses(
        wide, rope::StatusCode::out_of_memory,
        "There is no memory for 1099511627776 rows of 8192 entries of " + std::to_string(sizeof(TestType)) + " bytes.",
        [](auto& r) { r.build({}, Index(1) << 30, 1 << 10); });

    const auto says_of_axes = [&](const std::string& sentence, const AxisPositions& p, Index seq,
                                  rope::StatusCode code = kInvalid) {
        refuses(rows, code, sentence, [&](auto& r) { r.build(p, seq); });
    };
    std::vector<double> x(12, 1.5);
    says_of_axes("seq is -1; it must be from 0 to 2^40.", AxisPositions(x.data(), 3, 4), -1);
    // Made by a builder, and given as if they were of one axis.
    const std::vector<Index> on_axes(12, 7);
    says(
        "positions has 12 ids; there must be one for each token, seq (4) of them. (Positions on 3 axes are "
        "AxisPositions.)",
        on_axes, 4, 1);
    rows.build(AxisPositions(on_axes, 3), 4);
    CHECK(refusal([&] { AxisPositions(on_axes, 5); }).message ==
          "The list has 12 positions; there must be as many for each of 5 axes, of which there is at least one.");
    CHECK(refusal([&] { AxisPositions(on_axes, 0); }).code == kInvalid);
    says_of_axes("positions has 2 axes; the map has 3.", AxisPositions(x.data(), 2, 4), 4);
    says_of_axes("positions has 4 tokens; there must be batch * seq (3) of them.", AxisPositions(x.data(), 3, 4), 3);
    says_of_axes("positions is a null pointer; it must point to 3 * 4 numbers.",
                 AxisPositions(static_cast<float*>(nullptr), 3, 4), 4);
    const std::string must = "; it must be from -2^52 to 2^52.";
    x[6] = support::nan_value();
    says_of_axes("positions[1][2] is nan" + must, AxisPositions(x.data(), 3, 4), 4, kOutOfRange);
    x[6] = -support::infinity();
    says_of_axes("positions[1][2] is -inf" + must, AxisPositions(x.data(), 3, 4), 4, kOutOfRange);
    x[6] = 0x1.0000000000001p52;
    says_of_axes("positions[1][2] is 4503599627370497" + must, AxisPositions(x.data(), 3, 4), 4, kOutOfRange);
    x[6] = -0x1p52;
    rows.build(AxisPositions(x.data(), 3, 4), 4);
    std::vector<std::uint64_t> huge(3, 0);
    huge[2] = std::numeric_limits<std::uint64_t>::max();
    says_of_axes("positions[2][0] is 9223372036854775808" + must, AxisPositions(huge.data(), 3, 1), 1, kOutOfRange);
    std::vector<std::int64_t> low(3, -kFar);
    rows.build(AxisPositions(low.data(), 3, 1), 1);
    low[1] -= 1;
    says_of_axes("positions[1][0] is -4503599627370497" + must, AxisPositions(low.data(), 3, 1), 1, kOutOfRange);

    CHECK(refusal([&] { (void)rows.cos_row(1); }).message ==
          "row is 1; it must be at least 0 and below the number of rows (1).");
    CHECK(refusal([&] { (void)rows.sin_row(-1); }).message ==
          "row is -1; it must be at least 0 and below the number of rows (1).");
    CHECK(refusal([&] { (void)rows.sin_row(-1); }).code == kOutOfRange);
}

TEMPLATE_TEST_CASE("positions that a schedule's numbers do not serve are refused", "", float, double) {
    Config config = {8};
    config.schedule = schedule::LongRope{{1, 1, 1, 1}, {2, 2, 2, 2}, 100, 400};
    const std::string hint =
        "; this schedule holds positions -4503599627370496 to 99. (Name the longest sequence as seq_len.)";
    Rows<TestType> rows(config), longer(config, {}, 101);
    rows.build(rope::start_at(-5000), 5100);
    refuses(rows, kOutOfRange, "positions[1] is 100" + hint, [](auto& r) { r.build({3, 100, 7}, 3); });
    refuses(rows, kOutOfRange, "positions start at 100 and seq is 2" + hint,
            [](auto& r) { r.build(rope::start_at(100), 2); });
    refuses(rows, kOutOfRange, "positions[1] is 101, the start of 2 tokens" + hint, [](auto& r) {
        r.build(rope::start_at(std::vector<int>{0, 101}), 2, 2);
    });
    const double x = 99.5;
    refuses(rows, kOutOfRange,
            "positions[0][0] is 99.5; it must be from -2^52 to 99. (Name the longest sequence as seq_len.)",
            [&](auto& r) { r.build(AxisPositions(&x, 1, 1), 1); });
    rows.build({99}, 1);
    longer.build({100, 5000}, 2);
    config.schedule = schedule::DynamicNtk{2.0, 100};
    Rows<TestType> dynamic(config, {}, 300);
    dynamic.build({299}, 1);
    refuses(
        dynamic, kOutOfRange,
        "positions[0] is 300; this schedule holds positions -4503599627370496 to 299. (Name the longest sequence as "
        "seq_len.)",
        [](auto& r) { r.build({300}, 1); });

    // A magnitude that grows; the largest log_growth is that of pair 0, which follows axis 1 here.
    const Frequencies f = {{1.0, 0.5}, {}, 1.0, {0.5, 0.25}, {}, 10.0};
    Rows<TestType> grows(f, AxisMap{2, {1, 0}});
    grows.build({-118, 138}, 2);
    for (const Index p : {-119, 139})
        refuses(grows, kOutOfRange,
                "the magnitude of pair 0 would change by up to e^64.5 (xPos); it must stay within e^-64 .. e^64.",
                [&](auto& r) { r.build({p}, 1); });
    refuses(grows, kOutOfRange,
            "the magnitude of pair 0 would change by up to e^64.5 (xPos); it must stay within e^-64 .. e^64.",
            [](auto& r) { r.build({}, Index(1) << 40); });  // found at once, not at the end
    std::vector<TestType> data(4, 1);
    grows.build({}, 1);
    CHECK(refusal([&] { rope::apply_inverse<Layout::interleaved>(rope::view(data.data(), 1, 1, 4), grows); }).message ==
          "the table of rows of x has a magnitude that grows with the position (xPos); its inverse is apply_transpose "
          "with the table of the other side, queries or keys.");
}

TEMPLATE_TEST_CASE("what rows cannot be made of is refused", "", float, double) {
    const auto says = [](auto&&... arguments) { return refusal([&] { Rows<TestType> rows(arguments...); }).message; };
    const Frequencies four = {{1.0, 0.5, 0.25, 0.125}, {}, 1.0};
    CHECK(says(Config{7}) ==
          "head_dim is 7; it must be even, because all of it rotates where rotary_dim is 0. For a part of it, set "
          "rotary_dim.");
    CHECK(says(Config{8}, AxisMap(), Index(-1)) == "seq_len is -1; it must be from 0 to 2^40.");
    CHECK(says(Frequencies{{support::nan_value()}, {}, 1.0}) ==
          "inv_freq[0] is nan; a frequency must be finite and of magnitude at most 2^32 radians per position.");
    CHECK(says(four, AxisMap(), rope::HeadSlice{6, 0}) ==
          "head_dim is 6; it must be at least 8, the features that 4 pairs of frequencies rotate.");
    CHECK(says(Config{8}, rope::mrope_sections({2, 3})) ==
          "The sections of the map (or its axis_of) have 5 pairs; they must add up to 4, one pair for two features "
          "that rotate.");
    CHECK(says(four, AxisMap{0}) == "axes is 0; it must be from 1 to 8.");
    CHECK(says(four, AxisMap{9}) == "axes is 9; it must be from 1 to 8.");
    CHECK(says(four, AxisMap{2, {0, 1, 2, 0}}) == "axis_of[2] is 2; it must be below axes (2).");
    CHECK(says(four, rope::mixed_axes(3)) ==
          "inv_freq has 4 entries; with mixed axes it must have as many for each of the 3 axes.");
    CHECK(says(four, AxisMap{2, {0, 0, 1, 1}, true}) == "axis_of has 4 entries; with mixed axes it must be empty.");
    CHECK(says(Config{8}, rope::mixed_axes(2)) ==
          "map is mixed; frequencies of mixed axes are numbers: give Frequencies.");
    CHECK(says(Frequencies{{1.0, 0.5}, {}, 1.0, {0.0, 0.0}}, rope::mixed_axes(2)) ==
          "log_growth has 2 entries; with mixed axes it must be empty.");
    CHECK(says(four, rope::mixed_axes(2)) == "(accepted)");
    CHECK(says(four, AxisMap{8}) == "(accepted)");  // all follow the first of eight
}

TEST_CASE("sections and axes are checked") {
    const auto of_maps = [](const std::vector<Index>& sections) {
        const std::string text = refusal([&] { rope::mrope_sections(sections); }).message;
        if (sections.size() == 3) {
            CHECK(refusal([&] { rope::mrope_interleaved(sections); }).message == text);
            CHECK(refusal([&] { rope::mrope_alternating(sections); }).message == text);
            CHECK(refusal([&] { rope::mrope_apportioned(sections); }).message == text);
        }
        return text;
    };
    const std::string from_1 = "; it must have from 1 to 8, which are numbers of pairs, one per axis.";
    CHECK(of_maps({}) == "sections has 0 entries" + from_1);
    CHECK(of_maps({1, 1, 1, 1, 1, 1, 1, 1, 1}) == "sections has 9 entries" + from_1);
    CHECK(of_maps({0, 0, 0}) == "sections are all 0; there must be at least one pair.");
    const std::string must = "; sections must not be negative, and there are at most 524288 pairs in all.";
    CHECK(of_maps({1, -1, 3}) == "sections[1] is -1" + must);
    CHECK(of_maps({1, 1, kMost}) == "sections[2] is 9223372036854775807" + must);
    CHECK(of_maps({262144, 262144, 1}) == "sections[2] is 1" + must);
    CHECK(refusal([] {
              rope::mrope_interleaved({1, 1});
          }).message == "sections has 2 entries; it must have 3: pairs that follow time, height and width.");
    CHECK(refusal([] {
              rope::mrope_interleaved({1, 1, 1}, static_cast<rope::LeftOver>(2));
          }).message == "left_over is 2; it must be LeftOver::first_axis (0) or LeftOver::fourth_axis (1).");
    CHECK(refusal([] {
              rope::mrope_alternating({3, 2, 1});
          }).message == "sections[1] is 2; h and w alternate, so it must be sections[0] (3).");
    CHECK(refusal([] {
              rope::mrope_apportioned({0, 2, 1});
          }).message == "sections[0] is 0; the last pair follows time, so it must be at least 1.");
    CHECK(refusal([] { rope::mixed_axes(0); }).message == "axes is 0; it must be from 1 to 8.");
    CHECK(refusal([] { rope::dealt_out({{1.0}, {}, 1.0}, 9); }).message == "axes is 9; it must be from 1 to 8.");
    CHECK(refusal([] { rope::dealt_out({}, 2); }).message ==
          "inv_freq has 0 entries; it must have one per pair, from 1 to 524288.");
}

TEMPLATE_TEST_CASE("rows in the caller's memory", "", float, double) {
    const Config config = {20, 12, 4};
    Rows<TestType> rows(config), own(config);
    std::vector<TestType> memory(12 * 10 + 2, TestType(-7));
    rows.use_memory(memory.data() + 1, 10);
    CHECK(rows.rows() == 0);
    for (const Index tokens : {10, 3, 0, 7}) {
        std::fill(memory.begin(), memory.end(), TestType(-7));
        rows.build(rope::start_at(-5), tokens);
        own.build(rope::start_at(-5), tokens);
        CHECK(same_bits(entries_of(rows), entries_of(own)));
        CHECK((tokens == 0 || rows.cos_row(0) == memory.data() + 1));
        const auto end = memory.begin() + 1 + 12 * tokens;
        CHECK(memory[0] == TestType(-7));
        CHECK(std::count(end, memory.end(), TestType(-7)) == memory.end() - end);
    }
    const std::vector<TestType> before = memory;
    refuses(rows, kInvalid, "batch * seq is 11; the memory given to use_memory holds 10 rows.",
            [](auto& r) { r.build({}, 11); });
    refuses(rows, kInvalid, "batch * seq is 12; the memory given to use_memory holds 10 rows.",
            [](auto& r) { r.build({}, 4, 3); });
    CHECK(memory == before);
    rows.use_memory(nullptr, 10);
    CHECK(rows.rows() == 0);
    rows.build({}, 11);
    CHECK(rows.rows() == 11);
    CHECK(memory == before);
}

TEMPLATE_TEST_CASE("no rows, and steps without tokens", "", float, double) {
    Rows<TestType> rows(Config{8});
    std::vector<TestType> x(6 * 8, 1);
    const auto turn = [&](Index batch, Index seq) {
        return refusal([&] { rope::apply<Layout::half_split>(rope::view(x.data(), batch, seq, 1, 8), rows); }).message;
    };
    const std::string none = "positions are those of 2 tokens; this table of rows holds none (yet).";
    CHECK(rows.rows() == 0);
    CHECK(turn(3, 2) == none);
    CHECK(turn(3, 0) == "(accepted)");
    rows.build({}, 0, 3);
    CHECK(rows.rows() == 0);
    CHECK(turn(3, 2) == none);
    CHECK(turn(3, 0) == "(accepted)");
    CHECK(turn(2, 0) == "x.batch is 2; its table of rows was made for the tokens of 3 batch entries.");
    rows.build(AxisPositions(static_cast<float*>(nullptr), 1, 0), 0);
    CHECK(turn(2, 0) == "(accepted)");
    CHECK(refusal([&] { (void)rows.cos_row(0); }).message ==
          "row is 0; it must be at least 0 and below the number of rows (0).");
    // An executor that fails leaves no rows that might be half of two steps.
    rows.build({}, 2);
    CHECK_THROWS_AS(rows.build({}, 1 << 18, 1, [](Index, auto&&) { throw std::runtime_error("no threads"); }),
                    std::runtime_error);
    CHECK(rows.rows() == 0);
    rows.build({}, 2);
    CHECK(std::count(x.begin(), x.end(), TestType(1)) == 48);
    CHECK(turn(3, 2) == "(accepted)");
}
