// SPDX-License-Identifier: MIT
// Position builders: where tokens stand in images, videos, prompts with both, packed sequences and context-parallel
// shards.
#pragma once

#include <vector>

#include "axis_positions.hpp"
#include "errors.hpp"
#include "list.hpp"
#include "positions.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

// Each function makes a list of positions: of one number per token, for Positions, or of shape [axes, tokens], for
// AxisPositions and a Rows whose AxisMap has those axes.
//
//     const std::vector<rope::Index> ids = rope::image_grid(height, width);
//     rows.build(rope::AxisPositions(ids.data(), 2, tokens), tokens);
//
// Exact   whole numbers; image_grid_centred is within half an ulp, and mrope_prompt<double> says how it rounds. At most
//         2^40 tokens (2^26 on 32 bits); positions from -2^52 to 2^52, the range of Rows.
// Cost    A pass over the tokens, and the result's memory. packed_positions, which an engine calls in every step, has a
//         second form that writes into the caller's memory.
// Errors  std::invalid_argument for counts and lists, std::out_of_range for positions, before anything is written; and
//         std::bad_alloc from the vectors.

ROPE_BEGIN

// ---- Images and videos ----

/// The tokens around a grid, and the order of its patches.
struct GridOrder {
    ROPE_CROSSES_AGGREGATE(GridOrder)
    Index before = 0;          ///< tokens in front of the grid (class, registers), at position 0 on both axes
    Index after = 0;           ///< tokens behind it, likewise
    bool width_first = false;  ///< the first axis is the width
    Index block = 1;           ///< patches come in blocks of block * block, row by row, and so do the blocks
};

/// Positions of shape [2, before + height * width + after]: the rows of all tokens, then their columns, both from
/// `first` on. Patches come row by row.
///
///     Pixtral           image_grid(height, width)
///     Qwen's ViT        image_grid(height, width, {0, 0, false, 2}) for each frame; 2 is its spatial_merge_size
///     Llama 4's ViT     image_grid(height, width, {0, 1, true}, 1); its class token comes last
///
/// At position 0 nothing rotates. Extents are at least 1 and multiples of block.
ROPE_API std::vector<Index> image_grid(Index height, Index width, const GridOrder& order = {}, Index first = 0);

/// The same with row i of N at 2(i + 0.5)/N - 1, and columns likewise. Source: DINOv3, arXiv:2508.10104, whose class
/// token and 4 registers are image_grid_centred(height, width, {5}).
ROPE_API std::vector<double> image_grid_centred(Index height, Index width, const GridOrder& order = {});

/// Positions of shape [3, frames * height * width]: frames, rows and columns, each from its own first one on.
ROPE_API std::vector<Index> video_grid(Index frames, Index height, Index width, Index first_frame = 0,
                                       Index first_row = 0, Index first_column = 0);

// ---- Prompts for M-RoPE ----

/// A part of a prompt: text, or an image or a video. Extents are as the language model sees them, after patches were
/// merged: height / spatial_merge_size and width / spatial_merge_size.
struct PromptSpan {
    ROPE_CROSSES_AGGREGATE(PromptSpan)
    Index text = 0;                           ///< tokens; the other counts are then 0
    Index frames = 0, height = 0, width = 0;  ///< or all three at least 1
    double second_per_grid = 1.0;             ///< frame i stands i * second_per_grid * tokens_per_second after the
    double tokens_per_second = 1.0;           ///< first. From 0 to 2^32.
    Index audio = 0;  ///< tokens of sound among those of the video: one position each, from the first frame's on
    Index chunk = 0;  ///< positions after which the tokens of picture and sound change places; 0: token by token
};

/// The markers around an image are text, and so is audio that belongs to no video.
ROPE_ABI constexpr PromptSpan text_span(Index tokens) noexcept { return {tokens, 0, 0, 0, 1.0, 1.0, 0, 0}; }
/// Also a frame of a video in a model that writes the times between frames as text (Qwen3-VL).
ROPE_ABI constexpr PromptSpan image_span(Index height, Index width) noexcept {
    return {0, 1, height, width, 1.0, 1.0, 0, 0};
}
/// Qwen2-VL has no times; Qwen2.5-VL has second_per_grid_ts of the video and tokens_per_second of its configuration.
ROPE_ABI constexpr PromptSpan video_span(Index frames, Index height, Index width, double second_per_grid = 1.0,
                                         double tokens_per_second = 1.0) noexcept {
    return {0, frames, height, width, second_per_grid, tokens_per_second, 0, 0};
}
/// A video and its sound (use_audio_in_video), whose tokens alternate. A token of the video that stands t after the
/// first one, and token a of the audio, which stands a after it, come in this order:
///
///     chunk 0   by time: that of the video first if t <= a. Qwen3-Omni, with tokens_per_second 13
///     chunk n   the video's tokens until t >= n, the audio's until a >= n, the video's until t >= 2n, and so on, but at
///               least one of each that is left. Qwen2.5-Omni, with 50: 25 tokens_per_second * 2 seconds_per_chunk
ROPE_ABI constexpr PromptSpan video_with_audio_span(Index frames, Index height, Index width, Index audio,
                                                    double second_per_grid, double tokens_per_second,
                                                    Index chunk = 0) noexcept {
    return {0, frames, height, width, second_per_grid, tokens_per_second, audio, chunk};
}
/// Tokens that share one position: the two markers before a video with audio, and the two behind it, in Qwen2.5-Omni
/// and in vLLM's Qwen3-Omni. In that of transformers and SGLang they are text.
ROPE_ABI constexpr PromptSpan shared_span(Index tokens) noexcept { return video_span(tokens, 1, 1, 0.0); }

/// Where the span after an image or a video begins. The rules differ for videos that are longer than high and wide.
enum class NextSpan : unsigned char {
    after_largest_position,  ///< one after its largest position on any axis
    after_larger_side        ///< max(height, width) after its first position, though a long video goes beyond that
};

/// How published codes place a prompt.
///
///     model                                    code                                          NextSpan
///     Qwen2-VL, Qwen2.5-VL                     transformers 4.57, SGLang, vLLM               after_largest_position
///                                              transformers 5.24                             after_larger_side
///     Ernie 4.5 VL                             SGLang                                        after_largest_position
///                                              transformers 5.24                             after_larger_side
///     Qwen2.5-Omni                             transformers 5.24                             after_largest_position
///     Qwen3-Omni, mrope_prompt<double>         transformers 5.24, SGLang, vLLM               after_largest_position
///     Qwen3-VL, Qwen3.5, GLM-4V, GLM-OCR,      all: each frame is an image_span              either, they agree
///     Cohere Compass, Cosmos 3
///     images alone, as of PaddleOCR-VL         all                                           either, they agree
///
/// Hunyuan VL, Hunyuan V4 VL and MiniCPM-V 4.7 have rules of their own, which these spans do not say.
struct PromptOptions {
    ROPE_CROSSES_AGGREGATE(PromptOptions)
    NextSpan next_span = NextSpan::after_largest_position;
};

/// Where the tokens of a prompt stand, and the positions at which decoding goes on. Number is Index or double.
template <class Number>
struct BasicPromptPositions {
    ROPE_CROSSES_AGGREGATE(BasicPromptPositions)
    std::vector<Number> positions;  ///< of shape [3, tokens]: t, h, w (a fourth axis, as ggml has, is 0: resize it)
    Index tokens = 0;
    /// The number that decoding adds: the token of index n (from the prompt's first) stands at n + delta on all axes,
    /// which is one after the largest position of the prompt for the first of them. Hugging Face's rope_deltas.
    Number delta = 0;
};
using PromptPositions = BasicPromptPositions<Index>;

/// The first token stands at `start`. Text takes one position per token, the same on all axes. An image or a video
/// takes a grid whose three axes begin at the next position. Where the span after it begins is an option: with
/// after_larger_side text behind a long video stands within its times, and decoding goes on after them. After a video
/// with audio the next span begins one after the largest position of the last frame or of the last audio token,
/// whichever of the two comes last.
///
/// mrope_prompt(spans) cuts the time of a frame to a whole number, as Qwen2-VL, Qwen2.5-VL and Qwen2.5-Omni do: at 13
/// per second frames half a second apart stand at 0, 6, 13. mrope_prompt<double>(spans) keeps 0, 6.5, 13, as Qwen3-Omni
/// does; then all that follows, and delta, may be fractions, and `start` may be one. An engine with Qwen3-Omni's
/// positions in integers cuts the numbers of mrope_prompt<double> at the end, not the time of each frame.
///
///     const auto prompt = rope::mrope_prompt<double>(spans);
///     rows.build(rope::AxisPositions(prompt.positions, 3), prompt.tokens);
///     const double next = static_cast<double>(n) + prompt.delta;   // decoding: the token of index n, on three axes
///     rows.build(rope::AxisPositions(&next, 3, 1, 0), 1);          // if it is whole, start_at(n) and a table do it, too
///
/// Times are multiplied in float, from left to right, as Hugging Face does for the Omni models and SGLang for
/// Qwen2.5-VL (transformers 5.24 takes second_per_grid * tokens_per_second first, which is the same for the published
/// 2 and 4 tokens_per_second); sums with them are not rounded to float.
///
/// Throws as the top of this file says, and std::invalid_argument for audio in a prompt with after_larger_side, as no
/// published code has both. Source: Qwen2-VL, arXiv:2409.12191; Qwen2.5-VL, arXiv:2502.13923; Qwen2.5-Omni,
/// arXiv:2503.20215; Qwen3-Omni, arXiv:2509.17765.
template <class Number = Index, class Start = Index>
ROPE_ABI inline BasicPromptPositions<Number> mrope_prompt(const List<PromptSpan>& spans, Start start = 0,
                                                          const PromptOptions& options = {});

// ---- Packed sequences and context-parallel shards ----
//
// cu_seqlens has one entry more than there are sequences: sequence i is tokens cu_seqlens[i] .. cu_seqlens[i + 1] - 1.
// Any list of integers that Positions takes. It begins with 0 and does not fall.
//
// starts: by default every sequence begins at position 0; start_at(n): at n; start_at(list), or the list: at its own.
// With starts that are cu_seqlens without its last entry, the result is each token's index in the pack.

/// The positions of all tokens, sequence after sequence, for one call with batch 1.
ROPE_API std::vector<Index> packed_positions(PositionsArgument&& cu_seqlens, PositionsArgument&& starts = {});
/// Into `to`, which holds as many numbers as there are tokens. Allocates nothing.
ROPE_API void packed_positions(PositionsArgument&& cu_seqlens, PositionsArgument&& starts, Index* to, Index tokens);

/// The positions of the tokens of one rank of `ranks` (1 .. 2^30) that share every sequence in balanced halves: each is
/// cut into 2 * ranks equal parts, and rank r has part r and, after it, part 2 * ranks - 1 - r. So a causal mask leaves
/// all ranks the same work. Every length must be a multiple of 2 * ranks. One sequence of n tokens is {0, n}. Positions
/// of a rank rise within each sequence.
/// Source: Transformer Engine, Megatron-LM.
ROPE_API std::vector<Index> context_parallel_positions(Index rank, Index ranks, PositionsArgument&& cu_seqlens,
                                                       PositionsArgument&& starts = {});
/// The cu_seqlens of a rank's part; they are the same for all ranks.
ROPE_API std::vector<Index> context_parallel_cu_seqlens(Index ranks, PositionsArgument&& cu_seqlens);

ROPE_END

#include "detail/positions/position_builders.hpp"
#include "detail/positions/prompts.hpp"

#include "detail/base/restore_macros.hpp"
