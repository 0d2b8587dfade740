// SPDX-License-Identifier: MIT
// Grids, prompts, packs and shards that cannot be are refused by a sentence, whatever the numbers are, and nothing is
// written.
#include <rope/core.hpp>
#include <rope/position_builders.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"

using rope::GridOrder;
using rope::image_span;
using rope::Index;
using rope::PromptSpan;
using rope::text_span;
using rope::video_span;
using support::invalid;
using support::out_of_range;
using support::refusal;

namespace {

using List = std::vector<Index>;

constexpr Index kMost = std::numeric_limits<Index>::max();
constexpr Index kLeast = std::numeric_limits<Index>::min();
constexpr Index kFar = Index(1) << 52;

}  // namespace

TEST_CASE("grids that cannot be are refused") {
    const auto image = [](Index height, Index width, const GridOrder& order = {}) {
        const std::string text = invalid([&] { (void)rope::image_grid(height, width, order); });
        CHECK(text == invalid([&] { (void)rope::image_grid_centred(height, width, order); }));
        return text;
    };
    CHECK(image(0, 2) == "height is 0; it must be from 1 to 2^40.");
    CHECK(image(2, -1) == "width is -1; it must be from 1 to 2^40.");
    CHECK(image(kMost, kMost) == "height is 9223372036854775807; it must be from 1 to 2^40.");
    CHECK(image(kLeast, 1) == "height is -9223372036854775808; it must be from 1 to 2^40.");
    CHECK(image(4, 6, {0, 0, false, 4}) == "block is 4; it must be at least 1 and divide height (4) and width (6).");
    CHECK(image(6, 4, {0, 0, false, 4}) == "block is 4; it must be at least 1 and divide height (6) and width (4).");
    CHECK(image(4, 4, {0, 0, false, 0}) == "block is 0; it must be at least 1 and divide height (4) and width (4).");
    CHECK(image(1, 1, {-1}) == "before is -1; it must be from 0 to 2^40.");
    CHECK(image(1, 1, {0, kMost}) == "after is 9223372036854775807; it must be from 0 to 2^40.");
    CHECK(image(Index(1) << 21, Index(1) << 20) ==
          "The grid has 2097152 * 1048576 patches, 0 tokens before them and 0 after; there are at most 2^40 in all.");
    CHECK(image(Index(1) << 20, Index(1) << 20, {0, 1}) ==
          "The grid has 1048576 * 1048576 patches, 0 tokens before them and 1 after; there are at most 2^40 in all.");
    CHECK(image(Index(1) << 40, Index(1) << 40, {Index(1) << 40, Index(1) << 40}).find("The grid has ") == 0);

    const auto first = [](Index height, Index width, Index at) {
        return out_of_range([&] { (void)rope::image_grid(height, width, {}, at); });
    };
    const std::string range = " positions from there must lie between -2^52 and 2^52.";
    CHECK(first(2, 3, kFar - 1) == "first is 4503599627370495; the 3" + range);
    CHECK(first(1, 1, -kFar - 1) ==
          "first is -4503599627370497; the 1 position from there must lie between -2^52 and 2^52.");
    CHECK(first(5, 1, kMost) == "first is 9223372036854775807; the 5" + range);
    CHECK(rope::image_grid(2, 3, {}, kFar - 2).back() == kFar);

    CHECK(invalid([] { (void)rope::video_grid(0, 1, 1); }) == "frames is 0; it must be from 1 to 2^40.");
    CHECK(invalid([] { (void)rope::video_grid(1, kLeast, 1); }).find("height is -9") == 0);
    CHECK(invalid([] { (void)rope::video_grid(1, 1, kMost); }).find("width is 9") == 0);
    CHECK(invalid([] { (void)rope::video_grid(1 << 20, 1 << 20, 2); }) ==
          "The grid has 1048576 * 1048576 * 2 patches; there are at most 2^40 in all.");
    CHECK(out_of_range([] { (void)rope::video_grid(2, 1, 1, kFar); }) ==
          "first_frame is 4503599627370496; the 2" + range);
    CHECK(out_of_range([] { (void)rope::video_grid(2, 1, 1, 0, kLeast); }).find("first_row is -9") == 0);
    CHECK(out_of_range([] { (void)rope::video_grid(2, 1, 3, 0, 0, kFar - 1); }).find("first_column is 45") == 0);
}

TEST_CASE("prompts that cannot be are refused") {
    const auto prompt = [](const PromptSpan& span) {
        return invalid([&] { (void)rope::mrope_prompt({text_span(3), span}); });
    };
    const std::string counts =
        "; in a text, text must be at least 0 and the others must be 0, and in an image or a video text must be 0 and "
        "the others at least 1: write text_span(tokens), "
        "image_span(height, width) or video_span(frames, height, width).";
    CHECK(prompt(text_span(-1)) == "spans[1] has text -1, frames 0, height 0 and width 0" + counts);
    CHECK(prompt(image_span(0, 4)) == "spans[1] has text 0, frames 1, height 0 and width 4" + counts);
    CHECK(prompt(image_span(4, kLeast)).find("spans[1] has text 0, frames 1, height 4 and width -9") == 0);
    CHECK(prompt(video_span(0, 2, 2)) == "spans[1] has text 0, frames 0, height 2 and width 2" + counts);
    CHECK(prompt({5, 1, 2, 2}) == "spans[1] has text 5, frames 1, height 2 and width 2" + counts);
    CHECK(prompt({-5, 1, 2, 2}) == "spans[1] has text -5, frames 1, height 2 and width 2" + counts);
    CHECK(prompt(video_span(2, 2, 2, -0.5, 2.0)) ==
          "spans[1] has second_per_grid -0.5 and tokens_per_second 2; they must be from 0 to 2^32.");
    for (const double bad : {support::nan_value(), support::infinity(), -support::infinity(), 1e300, 4294967297.0}) {
        CHECK(prompt(video_span(2, 2, 2, bad, 2.0)).find("spans[1] has second_per_grid ") == 0);
        CHECK(prompt(video_span(2, 2, 2, 2.0, bad)).find("spans[1] has second_per_grid 2 and tokens_") == 0);
    }
    // A number that names no rule.
    CHECK(support::invalid([] {
              (void)rope::mrope_prompt({rope::text_span(1)}, 0, {static_cast<rope::NextSpan>(2)});
          }) == "next_span is 2; it must be after_largest_position (0) or after_larger_side (1).");
    const std::string many = "spans[0] to spans[1] have more than 2^40 tokens in all.";
    CHECK(prompt(text_span((Index(1) << 40) - 2)) == many);
    CHECK(prompt(text_span(kMost)) == many);
    CHECK(prompt(image_span(kMost, kMost)) == many);
    CHECK(prompt(video_span(kMost, kMost, kMost)) == many);
    CHECK(prompt(video_span(Index(1) << 20, Index(1) << 10, Index(1) << 10)) == many);

    // Audio lies in a video, is counted with its tokens, and knows one rule for what follows.
    const std::string audio = "; both must be from 0 to 2^40 in a video, and 0 in text.";
    CHECK(prompt(rope::video_with_audio_span(1, 1, 1, -1, 1.0, 25.0)) == "spans[1] has audio -1 and chunk 0" + audio);
    CHECK(prompt(rope::video_with_audio_span(1, 1, 1, 5, 1.0, 25.0, -50)) ==
          "spans[1] has audio 5 and chunk -50" + audio);
    CHECK(prompt(rope::video_with_audio_span(1, 1, 1, kMost, 1.0, 25.0)).find("spans[1] has audio 9") == 0);
    CHECK(prompt({4, 0, 0, 0, 1.0, 1.0, 5, 0}) == "spans[1] has audio 5 and chunk 0" + audio);
    CHECK(prompt({4, 0, 0, 0, 1.0, 1.0, 0, 2}) == "spans[1] has audio 0 and chunk 2" + audio);
    CHECK(prompt(rope::video_with_audio_span(2, 1, 1, (Index(1) << 40) - 4, 1.0, 25.0)) == many);
    CHECK(prompt(rope::video_with_audio_span(1, 1, 1, Index(1) << 40, 1.0, 25.0)) == many);
    rope::PromptOptions options;
    options.next_span = rope::NextSpan::after_larger_side;
    CHECK(invalid([&] {
              (void)rope::mrope_prompt({rope::video_with_audio_span(1, 1, 1, 5, 1.0, 25.0)}, 0, options);
          }) == "spans[0] has audio 5; after_larger_side is for videos without audio: write after_largest_position.");

    CHECK(out_of_range([] { (void)rope::mrope_prompt<double>({}, 4503599627370497.0); }) ==
          "start is 4503599627370497; it must lie between -2^52 and 2^52.");
    CHECK(out_of_range([] { (void)rope::mrope_prompt<double>({}, support::nan_value()); }).find("start is nan; ") == 0);
    CHECK(out_of_range([] { (void)rope::mrope_prompt<double>({}, -support::infinity()); }).find("start is -inf") == 0);
    CHECK(out_of_range([] { (void)rope::mrope_prompt<double>({text_span(3)}, 4503599627370494.5); }) ==
          "spans[0] begins at position 4503599627370494.5 and would go beyond 2^52.");
    CHECK(out_of_range([] {
              (void)rope::mrope_prompt<double>({video_span(3, 1, 1, 4294967296.0, 4294967296.0)}, -4503599627370496.0);
          }).find("spans[0] begins at ") == 0);
    CHECK(out_of_range([] {
              (void)rope::mrope_prompt({rope::video_with_audio_span(1, 1, 1, 5, 1.0, 25.0)}, kFar - 3);
          }).find("spans[0] begins at ") == 0);
    CHECK(out_of_range([] { (void)rope::mrope_prompt({}, ~std::uint64_t(0)); }).find("start is 9223372036854775807;") ==
          0);
    CHECK(out_of_range([] { (void)rope::mrope_prompt({}, kFar + 1); }) ==
          "start is 4503599627370497; it must lie between -2^52 and 2^52.");
    CHECK(out_of_range([] { (void)rope::mrope_prompt({}, kLeast); }).find("start is -9") == 0);
    const auto beyond = [](const std::vector<PromptSpan>& spans, Index start) {
        return out_of_range([&] { (void)rope::mrope_prompt(spans, start); });
    };
    CHECK(beyond({text_span(3)}, kFar - 1) == "spans[0] begins at position 4503599627370495 and would go beyond 2^52.");
    CHECK(beyond({text_span(3), image_span(1, 4)}, kFar - 5) ==
          "spans[1] begins at position 4503599627370494 and would go beyond 2^52.");
    CHECK(beyond({video_span(3, 1, 1, 4294967296.0, 4294967296.0)}, 0).find("spans[0] begins at position 0") == 0);
    CHECK(beyond({video_span(3, 1, 1, 4294967296.0, 4294967296.0)}, -kFar).find("spans[0] begins at ") == 0);
    CHECK(beyond({video_span(2, 1, 1, 4294967296.0, 1048576.0)}, 1).find("spans[0] begins at position 1 ") == 0);
    // The last that fit.
    CHECK(rope::mrope_prompt({text_span(3)}, kFar - 2).positions.back() == kFar);
    const auto last = rope::mrope_prompt({video_span(2, 1, 1, 4294967296.0, 1048575.0), text_span(1)}, 4294967295);
    CHECK(last.positions[1] == kFar - 1);
    CHECK(last.positions[2] == kFar);
    CHECK(last.tokens + last.delta == kFar + 1);
}

TEST_CASE("packs and shards that cannot be are refused, and nothing is written") {
    List memory(8, -77);
    const List untouched = memory;
    const auto packed = [&](rope::PositionsArgument&& given, rope::PositionsArgument&& given_starts = {}) {
        const rope::Positions& cu_seqlens = given;
        const rope::Positions& starts = given_starts;
        const std::string text = invalid([&] { (void)rope::packed_positions(cu_seqlens, starts); });
        CHECK(text == invalid([&] { rope::packed_positions(cu_seqlens, starts, memory.data(), 8); }));
        CHECK(text == invalid([&] { (void)rope::context_parallel_positions(0, 1, cu_seqlens, starts); }));
        CHECK(memory == untouched);
        return text;
    };
    const std::string empty = "cu_seqlens has 0 entries; it must have one more than there are sequences.";
    CHECK(packed(List()) == empty);
    CHECK(packed({}) == empty);  // no list at all
    CHECK(packed(rope::start_at(8)) == empty);
    CHECK(packed(rope::ids(static_cast<const int*>(nullptr), 3)) ==
          "cu_seqlens is a null pointer; it must point to 3 numbers.");
    CHECK(packed({1, 4}) == "cu_seqlens[0] is 1; it must be 0.");
    CHECK(packed({-1, 4}) == "cu_seqlens[0] is -1; it must be 0.");
    CHECK(packed({0, 8, 6}) == "cu_seqlens[2] is 6; it must be from cu_seqlens[1] (8) to 2^40.");
    CHECK(packed({0, 4, -1}) == "cu_seqlens[2] is -1; it must be from cu_seqlens[1] (4) to 2^40.");
    CHECK(packed({Index(0), kMost}) ==
          "cu_seqlens[1] is 9223372036854775807; it must be from cu_seqlens[0] (0) to 2^40.");
    CHECK(packed(std::vector<std::uint64_t>{0, ~std::uint64_t(0)}).find("cu_seqlens[1] is 9223372036854775807") == 0);
    CHECK(packed({0, 4, 8}, {1, 2, 3}) == "starts has 3 entries; there must be one per sequence (2).");
    CHECK(packed({0, 4, 8}, List()) == "starts has 0 entries; there must be one per sequence (2).");
    CHECK(packed({0, 4, 8}, rope::ids(static_cast<const int*>(nullptr), 2)) ==
          "starts is a null pointer; it must point to 2 numbers.");

    const auto far = [&](rope::PositionsArgument&& given) {
        const rope::Positions& starts = given;
        const auto text = out_of_range([&] { (void)rope::packed_positions({0, 4, 8}, starts); });
        CHECK(text == out_of_range([&] { rope::packed_positions({0, 4, 8}, starts, memory.data(), 8); }));
        CHECK(text == out_of_range([&] { (void)rope::context_parallel_positions(1, 2, {0, 4, 8}, starts); }));
        CHECK(memory == untouched);
        return text;
    };
    CHECK(far({Index(0), kFar - 2}) ==
          "Sequence 1 starts at position 4503599627370494; its 4 positions must lie between -2^52 and 2^52.");
    CHECK(far({-kFar - 1, Index(0)}).find("Sequence 0 starts at position -4503599627370497") == 0);
    CHECK(far({kLeast, kMost}).find("Sequence 0 ") == 0);
    CHECK(far(rope::start_at(kMost)).find("Sequence 0 starts at position 9223372036854775807") == 0);
    CHECK(far(std::vector<std::uint64_t>{0, ~std::uint64_t(0)}).find("Sequence 1 starts at position 922") == 0);

    CHECK(invalid([&] {
              rope::packed_positions({0, 4, 8}, {}, memory.data(), 7);
          }) == "tokens is 7; cu_seqlens makes it 8.");
    CHECK(invalid([&] {
              rope::packed_positions({0, 4}, {}, memory.data(), 8);
          }) == "tokens is 8; cu_seqlens makes it 4.");
    CHECK(invalid([&] {
              rope::packed_positions({0, 4}, {}, nullptr, 4);
          }) == "to is a null pointer; it must point to 4 numbers.");
    CHECK(memory == untouched);

    const auto shard = [&](Index rank, Index ranks, rope::PositionsArgument&& cu_seqlens) {
        return invalid([&] { (void)rope::context_parallel_positions(rank, ranks, std::move(cu_seqlens)); });
    };
    CHECK(shard(0, 0, {0, 4}) == "ranks is 0; it must be from 1 to 2^30.");
    CHECK(shard(0, kMost, {0, 4}) == "ranks is 9223372036854775807; it must be from 1 to 2^30.");
    CHECK(shard(2, 2, {0, 4}) == "rank is 2; it must be from 0 to 1.");
    CHECK(shard(-1, 2, {0, 4}) == "rank is -1; it must be from 0 to 1.");
    CHECK(shard(0, 2, {0, 8, 14}) == "Sequence 1 has 6 tokens; 2 ranks need a multiple of 4.");
    CHECK(shard(0, 1, {0, 5}) == "Sequence 0 has 5 tokens; 1 rank needs a multiple of 2.");
    CHECK(invalid([] {
              (void)rope::context_parallel_cu_seqlens(3, {0, 12, 16});
          }) == "Sequence 1 has 4 tokens; 3 ranks need a multiple of 6.");
    CHECK(invalid([] { (void)rope::context_parallel_cu_seqlens(-1, {0, 4}); }).find("ranks is -1") == 0);
    CHECK(invalid([] { (void)rope::context_parallel_cu_seqlens(2, {4}); }) == "cu_seqlens[0] is 4; it must be 0.");
}
