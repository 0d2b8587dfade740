// SPDX-License-Identifier: MIT
// Prompts with videos as published codes place them: where the span after a video begins, videos whose frames stand at
// fractions of positions, videos with audio, and the queries that follow. Each rule is written out here in its own way:
// lists of blocks, joined, where a block begins by what is in the list so far.
#include <rope/core.hpp>
#include <rope/position_builders.hpp>
#include <rope/rows.hpp>

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using rope::mrope_prompt;
using rope::NextSpan;
using rope::PromptOptions;
using rope::PromptSpan;
using rope::shared_span;
using rope::text_span;
using rope::video_span;
using rope::video_with_audio_span;
using support::size;

namespace {

/// Tokens in their order, each with t, h and w.
using Token = std::array<double, 3>;
using Block = std::vector<Token>;

double largest(const Block& block) {
    double most = block.at(0)[0];
    for (const Token& token : block) most = std::max({most, token[0], token[1], token[2]});
    return most;
}

Block line(Index tokens, double begin) {
    Block block;
    for (Index i = 0; i < tokens; ++i) {
        const double p = begin + static_cast<double>(i);
        block.push_back({p, p, p});
    }
    return block;
}

/// The patches of a video; times are cut if they are to be whole.
Block video(const PromptSpan& span, double begin, bool is_whole) {
    Block block;
    for (Index n = 0; n < span.frames * span.height * span.width; ++n) {
        const volatile float frame = static_cast<float>(n / (span.height * span.width));
        const volatile float seconds = frame * static_cast<float>(span.second_per_grid);
        const volatile float time = seconds * static_cast<float>(span.tokens_per_second);
        block.push_back({begin + (is_whole ? std::floor(static_cast<double>(time)) : static_cast<double>(time)),
                         begin + static_cast<double>(n / span.width % span.height),
                         begin + static_cast<double>(n % span.width)});
    }
    return block;
}

/// Where the chunks of a list of times begin, and its end.
std::vector<std::size_t> chunks_of(const std::vector<double>& times, double chunk) {
    std::vector<std::size_t> ends = {0};
    for (std::size_t i = 0; i < times.size(); ++i)
        if (times[i] >= static_cast<double>(ends.size()) * chunk) ends.push_back(i);
    ends.push_back(times.size());
    return ends;
}

/// A whole prompt as a list of blocks.
struct Published {
    std::vector<Block> blocks;
    double begin_of_all;
    bool is_whole;

    double next() const { return blocks.empty() ? begin_of_all : largest(blocks.back()) + 1.0; }

    /// Qwen2-VL in transformers 4 and SGLang, Qwen3-Omni and Qwen2.5-Omni: after the last block, whichever that is.
    void add(const PromptSpan& span) {
        const double begin = next();
        if (span.text > 0) blocks.push_back(line(span.text, begin));
        if (span.frames == 0) return;
        const Block picture = video(span, begin, is_whole), sound = line(span.audio, begin);
        if (sound.empty())
            blocks.push_back(picture);
        else if (span.chunk > 0)
            add_chunks(picture, sound, begin, static_cast<double>(span.chunk));
        else
            add_by_time(picture, sound, video(span, 0.0, false));
    }
    void add_by_time(const Block& picture, const Block& sound, const Block& times) {
        std::size_t v = 0, a = 0;
        while (v < picture.size() && a < sound.size())
            if (times[v][0] <= static_cast<double>(a))
                blocks.push_back({picture[v++]});
            else
                blocks.push_back({sound[a++]});
        if (v < picture.size()) blocks.emplace_back(picture.begin() + static_cast<std::ptrdiff_t>(v), picture.end());
        if (a < sound.size()) blocks.emplace_back(sound.begin() + static_cast<std::ptrdiff_t>(a), sound.end());
    }
    void add_chunks(const Block& picture, const Block& sound, double begin, double chunk) {
        std::vector<std::size_t> ends[2];
        for (const Block* const block : {&picture, &sound}) {
            std::vector<double> times;
            for (const Token& token : *block) times.push_back(token[0] - begin);
            ends[block == &picture ? 0 : 1] = chunks_of(times, chunk);
        }
        for (std::size_t i = 0; i + 1 < std::max(ends[0].size(), ends[1].size()); ++i)
            for (const Block* const block : {&picture, &sound}) {
                const std::vector<std::size_t>& end = ends[block == &picture ? 0 : 1];
                if (i + 1 < end.size())
                    blocks.emplace_back(block->begin() + static_cast<std::ptrdiff_t>(end[i]),
                                        block->begin() + static_cast<std::ptrdiff_t>(end[i + 1]));
            }
    }
};

/// All tokens, axis after axis.
std::vector<double> joined(const std::vector<Block>& blocks) {
    std::vector<double> numbers;
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (const Block& block : blocks)
            for (const Token& token : block) numbers.push_back(token[axis]);
    return numbers;
}

double largest(const std::vector<Block>& blocks) {
    double most = largest(blocks.at(0));
    for (const Block& block : blocks) most = std::max(most, largest(block));
    return most;
}

template <class Number>
void check_prompt(const rope::BasicPromptPositions<Number>& got, const std::vector<Block>& want) {
    REQUIRE(std::vector<double>(got.positions.begin(), got.positions.end()) == joined(want));
    REQUIRE(3 * size(got.tokens) == got.positions.size());
    REQUIRE(static_cast<double>(got.tokens) + static_cast<double>(got.delta) == largest(want) + 1.0);
}

PromptOptions after(NextSpan rule) {
    PromptOptions options;
    options.next_span = rule;
    return options;
}

}  // namespace

TEST_CASE("the span after a video begins by the rule that is asked for") {
    int differing = 0;
    for (const Index frames : {2, 4, 8, 16})
        for (const auto& side : {std::array<Index, 2>{2, 2}, {4, 6}, {9, 3}, {8, 8}, {10, 6}, {12, 20}}) {
            const std::vector<PromptSpan> spans = {text_span(4), video_span(frames, side[0], side[1]), text_span(3),
                                                   video_span(frames, side[1], side[0], 0.5, 2.0), text_span(5)};
            Published by_position = {{}, 0.0, true};
            std::vector<Block> by_side;
            double position = 0.0;
            for (const PromptSpan& span : spans) {
                by_position.add(span);
                by_side.push_back(span.text > 0 ? line(span.text, position) : video(span, position, true));
                position += static_cast<double>(span.text > 0 ? span.text : std::max(side[0], side[1]));
            }
            const auto largest_first = mrope_prompt(spans),
                       side_first = mrope_prompt(spans, 0, after(NextSpan::after_larger_side));
            check_prompt(largest_first, by_position.blocks);
            check_prompt(mrope_prompt(spans, 0, after(NextSpan::after_largest_position)), by_position.blocks);
            check_prompt(side_first, by_side);
            check_prompt(mrope_prompt<double>(spans, 0, after(NextSpan::after_larger_side)), by_side);
            const bool is_longer = frames > std::max(side[0], side[1]);
            CHECK((largest_first.positions != side_first.positions) == is_longer);
            differing += is_longer ? 1 : 0;
        }
    CHECK(differing == 8);
    // Nine frames of 2 x 2: the text stands inside the video's times, and decoding goes on after all of them.
    const auto inside =
        mrope_prompt({text_span(2), video_span(9, 2, 2), text_span(2)}, 0, after(NextSpan::after_larger_side));
    CHECK(inside.positions[37] == 10);
    CHECK(inside.positions[38] == 4);
    CHECK(inside.positions[39] == 5);
    CHECK(inside.tokens + inside.delta == 11);
    // Images, and a frame at a time, know no difference.
    const std::vector<PromptSpan> images = {rope::image_span(2, 7), text_span(1), rope::image_span(3, 1), text_span(2)};
    CHECK(mrope_prompt(images).positions == mrope_prompt(images, 0, after(NextSpan::after_larger_side)).positions);
}

TEST_CASE("Qwen3-Omni's frames stand at fractions, and what follows does, too") {
    // 13 per second, two frames per second: the third frame stands 13 after the first.
    const std::vector<PromptSpan> spans = {text_span(1), video_span(2, 1, 2, 0.5, 13.0), text_span(2)};
    const auto prompt = mrope_prompt<double>(spans);
    CHECK(prompt.positions == std::vector<double>{0, 1, 1, 7.5, 7.5, 8.5, 9.5,  //
                                                  0, 1, 1, 1,   1,   8.5, 9.5,  //
                                                  0, 1, 2, 1,   2,   8.5, 9.5});
    CHECK(prompt.tokens == 7);
    CHECK(prompt.delta == 3.5);
    std::vector<double> t = mrope_prompt<double>({video_span(3, 1, 1, 0.5, 13.0)}).positions;
    t.resize(3);
    CHECK(t == std::vector<double>{0.0, 6.5, 13.0});
    // In whole numbers each time is cut, and the text after it stands one later.
    CHECK(mrope_prompt(spans).positions ==
          std::vector<Index>{0, 1, 1, 7, 7, 8, 9, 0, 1, 1, 1, 1, 8, 9, 0, 1, 2, 1, 2, 8, 9});
    CHECK(mrope_prompt(spans).delta == 3);
    // A conversation goes on where the last turn ended.
    const auto turn = mrope_prompt<double>({text_span(2)}, static_cast<double>(prompt.tokens) + prompt.delta);
    CHECK(turn.positions == std::vector<double>{10.5, 11.5, 10.5, 11.5, 10.5, 11.5});
    CHECK(turn.delta == 10.5);
    CHECK(mrope_prompt<double>({}, -2.5).delta == -2.5);
    // Text alone has the same numbers in both types.
    CHECK(mrope_prompt<double>({text_span(3)}, Index(7)).positions == std::vector<double>{7, 8, 9, 7, 8, 9, 7, 8, 9});
    CHECK(mrope_prompt<double>({text_span(1)}, 7u).delta == 7.0);
}

TEST_CASE("the tokens of a video and its audio alternate as published") {
    // Two frames of 2 patches, half a second apart, in 8 tokens of audio at 13 per second: the second frame at 6.5.
    const auto omni3 = mrope_prompt<double>({text_span(1), video_with_audio_span(2, 1, 2, 8, 0.5, 13.0), text_span(1)});
    CHECK(std::vector<double>(omni3.positions.begin(), omni3.positions.begin() + omni3.tokens) ==
          std::vector<double>{0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 7.5, 7.5, 8, 9});
    CHECK(omni3.positions[size(2 * omni3.tokens + 11)] == 2.0);  // the second patch's column
    CHECK(omni3.delta == 10.0 - 14.0);
    // Qwen2.5-Omni at 25 per second, with chunks of 4 here: frames at 0, 3 and 6, audio 0 .. 8, markers in pairs.
    const auto omni25 = mrope_prompt(
        {text_span(1), shared_span(2), video_with_audio_span(3, 1, 1, 9, 0.12, 25.0, 4), shared_span(2), text_span(1)});
    CHECK(std::vector<Index>(omni25.positions.begin(), omni25.positions.begin() + omni25.tokens) ==
          std::vector<Index>{0, 1, 1, 2, 5, 2, 3, 4, 5, 8, 6, 7, 8, 9, 10, 11, 11, 12});
    CHECK(omni25.delta == 13 - 18);
    // The audio ends before a high frame does: the text stands by the audio, and decoding after all. So in both types.
    const std::vector<PromptSpan> high = {video_with_audio_span(1, 9, 1, 3, 1.0, 13.0), text_span(1)};
    CHECK(mrope_prompt(high).positions[12] == 3);
    CHECK(mrope_prompt(high).delta == 9 - 13);
    CHECK(mrope_prompt<double>(high).positions[12] == 3.0);
    // A frame between the last token of audio and the position after it ends the span.
    const auto between = mrope_prompt<double>({video_with_audio_span(2, 1, 1, 7, 0.5, 13.0), text_span(1)});
    CHECK(std::vector<double>(between.positions.begin() + 7, between.positions.begin() + 10) ==
          std::vector<double>{6, 6.5, 7.5});
    // Without audio a chunk has no meaning.
    CHECK(mrope_prompt({video_with_audio_span(4, 2, 2, 0, 2.0, 25.0, 50)}).positions ==
          mrope_prompt({video_span(4, 2, 2, 2.0, 25.0)}).positions);

    CHECK(rc::check("any videos, block by block", [] {
        std::vector<PromptSpan> spans;
        const bool is_whole = *rc::gen::arbitrary<bool>();
        const double begin = *rc::gen::element(0.0, 3.0, -40.0);
        Published whole = {{}, begin, true}, fractions = {{}, is_whole ? begin : begin + 0.5, false};
        for (Index left = *rc::gen::inRange<Index>(1, 6); left > 0; --left) {
            if (*rc::gen::arbitrary<bool>()) spans.push_back(text_span(*rc::gen::inRange<Index>(1, 4)));
            const double per_second = *rc::gen::element(1.0, 2.0, 13.0, 25.0);
            spans.push_back(video_with_audio_span(*rc::gen::inRange<Index>(1, 12), *rc::gen::inRange<Index>(1, 5),
                                                  *rc::gen::inRange<Index>(1, 5), *rc::gen::inRange<Index>(0, 80),
                                                  *rc::gen::element(0.0, 0.083, 0.5, 2.0 / 3.0, 1.0, 2.0, 4.0, 9.0),
                                                  per_second, *rc::gen::element<Index>(0, 0, 1, 3, 26, 50)));
        }
        for (const PromptSpan& span : spans) whole.add(span), fractions.add(span);
        check_prompt(mrope_prompt(spans, static_cast<Index>(begin)), whole.blocks);
        const auto got = mrope_prompt<double>(spans, fractions.begin_of_all);
        check_prompt(got, fractions.blocks);
        static rope::Rows<float> rows(rope::Config{16}, rope::mrope_sections({2, 3, 3}));
        rows.build(rope::AxisPositions(got.positions, 3), got.tokens);
        RC_ASSERT(rows.rows() == got.tokens);
    }));
}

TEST_CASE("queries after a prompt of fractions") {
    rope::Config config;
    config.head_dim = 32;
    config.base = 1e6;
    const auto prompt = mrope_prompt<double>({text_span(3), video_span(2, 2, 3, 0.5, 13.0), text_span(2)});
    const double after_it = static_cast<double>(prompt.tokens) + prompt.delta;
    REQUIRE(after_it == 12.5);
    rope::Rows<double> rows(config, rope::mrope_interleaved({6, 5, 5}));
    // Three tokens of decoding, each at a position that is the same on all axes: an axis stride of 0.
    const std::vector<double> next = {after_it, after_it + 1.0, after_it + 2.0};
    REQUIRE_NOTHROW(rows.build(rope::AxisPositions(next.data(), 3, 3, 0), 3));
    for (Index token = 0; token < 3; ++token)
        for (Index i = 0; i < 16; ++i) {
            const double angle = next[size(token)] * std::pow(1e6, -2.0 * static_cast<double>(i) / 32.0);
            CHECK(std::fabs(rows.cos_row(token)[i] - std::cos(angle)) < 1e-14);
            CHECK(std::fabs(rows.sin_row(token)[i] - std::sin(angle)) < 1e-14);
        }
    // The prompt itself, and a whole position after it, which is the row of a table.
    REQUIRE_NOTHROW(rows.build(rope::AxisPositions(prompt.positions, 3), prompt.tokens));
    const rope::AxisMap map = rope::mrope_interleaved({6, 5, 5});
    for (Index token = 0; token < prompt.tokens; ++token)
        for (Index i = 0; i < 16; ++i) {
            const Index axis = map.axis_of[size(i)];
            const double angle = prompt.positions[size(axis * prompt.tokens + token)] *
                                 std::pow(1e6, -2.0 * static_cast<double>(i) / 32.0);
            CHECK(std::fabs(rows.cos_row(token)[i] - std::cos(angle)) < 1e-14);
        }
    const double whole = 19.0;
    REQUIRE_NOTHROW(rows.build(rope::AxisPositions(&whole, 3, 1, 0), 1));
    const rope::CosSinCache<double> table(config, 20);
    CHECK(std::equal(table.cos_row(19), table.cos_row(19) + 16, rows.cos_row(0)));
}
