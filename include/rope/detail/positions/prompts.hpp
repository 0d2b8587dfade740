// SPDX-License-Identifier: MIT
// Definitions of position_builders.hpp: prompts of text, images and videos, and the order of a video and its audio.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "../../errors.hpp"
#include "../../list.hpp"
#include "../../position_builders.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../base/bits.hpp"
#include "position_builders.hpp"
#include "position_numbers.hpp"

ROPE_DETAIL_BEGIN

template <class Number, class Start>
constexpr Number start_as(Start given) noexcept {
    if constexpr (std::is_floating_point_v<Start>)
        return static_cast<Number>(given);
    else
        return static_cast<Number>(clamped_position(given));
}

constexpr bool is_text(const PromptSpan& span) noexcept {
    return span.frames == 0 && span.height == 0 && span.width == 0;
}
/// Tokens with one position for each: all of a text, or a video's audio.
constexpr Index line_of(const PromptSpan& span) noexcept { return is_text(span) ? span.text : span.audio; }
constexpr Index tokens_of(const PromptSpan& span) noexcept {
    return span.frames * span.height * span.width + line_of(span);
}
/// How much later than the first a frame is, not yet cut to a whole number.
inline float frame_time(const PromptSpan& span, Index frame) noexcept {
    return nearest_product(nearest_product(static_cast<float>(frame), static_cast<float>(span.second_per_grid)),
                           static_cast<float>(span.tokens_per_second));
}
/// How far the largest position of a video is from the first one, or three times 2^52 if its times go beyond 2^52.
template <class Number>
Number last_of_video(const PromptSpan& span) noexcept {
    const float last = frame_time(span, span.frames - 1);
    if (last >= static_cast<float>(kMaxPosition)) return static_cast<Number>(3 * kMaxPosition);
    return std::max(
        {static_cast<Number>(last), static_cast<Number>(span.height - 1), static_cast<Number>(span.width - 1)});
}
template <class Number>
Number last_of(const PromptSpan& span) noexcept {
    const Number last = static_cast<Number>(line_of(span) - 1);
    return is_text(span) ? last : std::max(last, last_of_video<Number>(span));
}
/// Whether the last token is one of a text or of a video's audio.
inline bool ends_with_line(const PromptSpan& span) noexcept {
    if (is_text(span) || span.audio == 0) return is_text(span);
    const double last = static_cast<double>(frame_time(span, span.frames - 1));
    if (span.chunk == 0) return last <= static_cast<double>(span.audio - 1);
    // The last chunks of audio and video, counted from 0. A token of the video ends one chunk at most.
    const Index chunk_of_audio = (span.audio - 1) / span.chunk;
    return span.frames - 1 <= chunk_of_audio / (span.height * span.width) ||
           last < static_cast<double>((chunk_of_audio + 1) * span.chunk);
}
/// How far the next span begins after this one.
template <class Number>
Number step_of(const PromptSpan& span, NextSpan rule) noexcept {
    if (ends_with_line(span)) return static_cast<Number>(line_of(span));
    if (rule == NextSpan::after_larger_side) return static_cast<Number>(std::max(span.height, span.width));
    return last_of_video<Number>(span) + 1;
}

inline Status check_span(const PromptSpan& span, std::size_t i, Index room, NextSpan rule) noexcept {
    const auto is_factor = [](double x) { return is_finite(x) && x >= 0.0 && x <= 4294967296.0; };
    const auto is_count = [](Index n) { return n >= 0 && n <= kMaxTokens; };
    const auto [text, frames, height, width, second_per_grid, tokens_per_second, audio, chunk] = span;
    if (is_text(span) ? text < 0 : text != 0 || frames < 1 || height < 1 || width < 1)
        return invalid(
            "spans[{}] has text {}, frames {}, height {} and width {}; in a text, text must be at least 0 and the "
            "others must be 0, and in an image or a video text must be 0 and the others at least 1: write "
            "text_span(tokens), image_span(height, width) or video_span(frames, height, width).",
            {i, text, frames, height, width});
    if (!is_factor(second_per_grid) || !is_factor(tokens_per_second))
        return invalid("spans[{}] has second_per_grid {} and tokens_per_second {}; they must be from 0 to 2^32.",
                       {i, second_per_grid, tokens_per_second});
    if (!is_count(audio) || !is_count(chunk) || (is_text(span) && (audio != 0 || chunk != 0)))
        return invalid("spans[{}] has audio {} and chunk {}; both must be from 0 to {} in a video, and 0 in text.",
                       {i, audio, chunk, kMaxTokensText});
    if (audio != 0 && rule == NextSpan::after_larger_side)
        return invalid(
            "spans[{}] has audio {}; after_larger_side is for videos without audio: write after_largest_position.",
            {i, audio});
    const Index left = room - audio;
    if (is_text(span) ? text > room
                      : left < 0 || frames > left || height > left / frames || width > left / frames / height)
        return invalid("spans[0] to spans[{}] have more than {} tokens in all.", {i, kMaxTokensText});
    return Status();
}

/// Checks the spans, and finds how many tokens there are and the largest position; start - 1 if there are none.
template <class Number>
Status measure_prompt(const List<PromptSpan>& spans, Number start, NextSpan rule, Index& tokens,
                      Number& largest) noexcept {
    if (!positions_fit(start, Number(0)))
        return out_of_range("start is {}; it must lie between -2^52 and 2^52.", {start});
    if (rule != NextSpan::after_largest_position && rule != NextSpan::after_larger_side)
        return invalid("next_span is {}; it must be after_largest_position (0) or after_larger_side (1).",
                       {static_cast<Index>(rule)});
    tokens = 0;
    largest = start - 1;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        if (const Status s = check_span(spans[i], i, kMaxTokens - tokens, rule); !s.ok()) return s;
        const Number last = last_of<Number>(spans[i]);
        if (!positions_fit(start, last))
            return out_of_range("spans[{}] begins at position {} and would go beyond 2^52.", {i, start});
        tokens += tokens_of(spans[i]);
        largest = std::max(largest, start + last);
        start += step_of<Number>(spans[i], rule);
    }
    return Status();
}

/// Writes the tokens of a span that begins at `start` to to[0 ..], to[axis ..] and to[2 * axis ..], and moves `to`
/// behind them.
template <class Number>
void write_span(const PromptSpan& span, Number start, Number*& to, Index axis) noexcept {
    const auto put = [&to, axis](Number t, Number h, Number w) {
        to[0] = t;
        to[axis] = h;
        to[2 * axis] = w;
        ++to;
    };
    Index in_line = 0;
    const auto put_line_until = [&](double end) {
        for (; in_line < line_of(span) && static_cast<double>(in_line) < end; ++in_line) {
            const Number position = start + static_cast<Number>(in_line);
            put(position, position, position);
        }
    };
    const double chunk = static_cast<double>(span.chunk);
    double chunk_end = chunk;
    for (Index frame = 0; frame < span.frames; ++frame) {
        const float time = frame_time(span, frame);
        const Number t = start + static_cast<Number>(time);
        if (span.chunk == 0) put_line_until(static_cast<double>(time));
        for_each_patch(span.height, span.width, [&](Index y, Index x) {
            if (span.chunk != 0 && static_cast<double>(time) >= chunk_end) {
                put_line_until(chunk_end);
                chunk_end += chunk;
            }
            put(t, start + static_cast<Number>(y), start + static_cast<Number>(x));
        });
    }
    put_line_until(static_cast<double>(line_of(span)));
}

ROPE_DETAIL_END

ROPE_BEGIN

template <class Number, class Start>
ROPE_ABI inline BasicPromptPositions<Number> mrope_prompt(const List<PromptSpan>& spans, Start given,
                                                          const PromptOptions& options) {
    static_assert(std::is_same_v<Number, Index> || std::is_same_v<Number, double>,
                  "rope::mrope_prompt makes positions of type rope::Index or double.");
    static_assert(std::is_same_v<Number, double> || !std::is_floating_point_v<Start>,
                  "rope::mrope_prompt makes whole positions, and this start may be a fraction: write "
                  "rope::mrope_prompt<double>(spans, start).");
    const Number start = detail::start_as<Number>(given);
    Index tokens = 0;
    Number largest = 0;
    detail::ok_or_raise(detail::measure_prompt(spans, start, options.next_span, tokens, largest));
    BasicPromptPositions<Number> result = {std::vector<Number>(static_cast<std::size_t>(3 * tokens)), tokens,
                                           largest + 1 - static_cast<Number>(tokens)};
    Number* to = result.positions.data();
    Number next = start;
    for (const PromptSpan& span : spans) {
        detail::write_span(span, next, to, tokens);
        next += detail::step_of<Number>(span, options.next_span);
    }
    return result;
}

ROPE_END
