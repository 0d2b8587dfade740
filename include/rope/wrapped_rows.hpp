// SPDX-License-Identifier: MIT
// WrappedRows: cos and sin that other programs made, as rows that apply takes.
#pragma once

#include <type_traits>

#include "config.hpp"
#include "cos_sin_rows.hpp"
#include "errors.hpp"
#include "fwd.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

/// Where cosines and sines lie: pair i in row r of batch entry b has cos[k] and sin[k], with
/// k = (b * rows + r) * row_stride + i * pair_stride; if heads have rows of their own, head h of them with
/// k = b * entry + r * row_stride + h * head_stride + i * pair_stride, where `entry` is the larger of rows * row_stride and
/// heads * head_stride. Plain data that owns nothing. With P pairs:
///
///     [positions, P] each                                     {cos, sin, positions, P}
///     [batch, tokens, P] each, one row per token              {cos, sin, tokens, P, batch}
///     [batch, tokens, 2P] each, the second half of every row
///     repeating the first (Hugging Face)                      {cos, sin, tokens, P, batch, 2 * P}
///     [rows, 2P], cosines then sines (CosSinCache::data(),
///     Rows::use_memory, vLLM)                                 {data, data + P, rows, P, 1, 2 * P}
///     [batch, tokens, 2P] each, c0 c0 c1 c1 ...               {cos, sin, tokens, P, batch, 2 * P, 2}
///     [positions, P] complex numbers (freqs_cis of Llama)     {data, data + 1, positions, P, 1, 2 * P, 2}
///     [batch, tokens, H, P] each, rows of each of H heads     {cos, sin, tokens, P, batch, H * P, 1, true, H, P}
///     [batch, H, tokens, P] each                              {cos, sin, tokens, P, batch, P, 1, true, H, tokens * P}
///
/// Calls read only one copy of repeated numbers. WrappedRows takes all forms with a pair_stride of 1 as they are, in
/// float or double; the others and 16-bit numbers go through copy_cos_sin.
///
/// If cosines and sines are separate arrays with rows of 2P numbers (row_stride 2 * pairs, pair_stride 1 or 2), each
/// number must appear twice: the two features of a pair rotate by one angle. check, WrappedRows and copy_cos_sin
/// compare the copies of all rows, once, and refuse a table where two differ by more than a rounding, such as rows of
/// an image in the first half and columns in the second (V-JEPA 2): such a table describes no rotation of pairs. That
/// reads both arrays once; an operator that wraps a long table in every call sets compares_copies to false. Calls
/// compare nothing.
template <class Number>
struct CosSinView {
    ROPE_CROSSES_AGGREGATE(CosSinView)
    const Number* cos = nullptr;
    const Number* sin = nullptr;
    Index rows = 0;         ///< of a batch entry: positions, or its tokens
    Index pairs = 0;        ///< that rotate: rotary_dim / 2
    Index batch = 1;        ///< 1: the rows are shared by all batch entries of a call
    Index row_stride = 0;   ///< numbers from a row to the next; 0, without heads: pairs * pair_stride
    Index pair_stride = 1;  ///< numbers from a pair to the next
    /// Whether copies are compared where the strides above say that there are some. False: only the numbers of the pairs
    /// are ever read, whatever lies between them.
    bool compares_copies = true;
    /// Heads with rows of their own, head_stride numbers apart: head h of a call, which has a multiple of `heads`,
    /// rotates by those of head h % heads. 0: all heads share rows.
    Index heads = 0;
    Index head_stride = 0;
};

/// Whether a view can be used as a table: counts, strides, pointers and copies. Never throws.
template <class Number>
ROPE_ABI inline Status check(const CosSinView<Number>& v) noexcept;

/// Rows of cos and sin in the caller's memory, which apply and the other operations read in place: nothing is copied,
/// so the numbers may change between calls, and must live as long as calls are made. (Copies of repeated numbers are
/// compared when the rows are wrapped, and not again.)
///
///     rope::WrappedRows<float> rows({cos, sin, tokens, 64, batch, 128});  // Hugging Face, head_dim 128
///     rope::apply<rope::Layout::half_split>(q, k, rows);
///
/// For apply, the position of a row is its number in its batch entry: token s has row s by default, start_at(n) gives
/// it row n + s, and ids pick rows. A view of several batch entries is for calls with as many.
///
/// T is float, for data in float, half and bfloat16, or double, for data in double. Pointers need the alignment of T.
/// A few words of memory; copies are cheap, and any number of threads may use one.
///
/// Results are as apply states, c and s being the numbers given; the accuracy of these is their maker's affair.
///
/// The numbers contain their magnitude already. attention_factor only names it, for apply_inverse, which divides by it;
/// a magnitude that depends on the position (xPos) has no such name, and its inverse is apply_transpose with the table
/// of the other side, queries or keys.
template <class T>
class WrappedRows : public CosSinRows<T> {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "Rows are float (they serve float, half and bfloat16 data) or double; copy_cos_sin converts others.");

 public:
    /// The slice says where in the head the rotated features lie; by default they are the head. Throws
    /// std::invalid_argument when check(view) is not ok, for a pair_stride other than 1, for a slice that does not fit
    /// 2 * pairs features, and for an attention_factor outside 2^-32 .. 2^32.
    ROPE_API explicit WrappedRows(const CosSinView<T>& view, HeadSlice slice = {}, double attention_factor = 1.0);
};

/// Copies cosines and sines of any form into rows of this library's own, cosines then sines, which WrappedRows takes:
///
///     std::vector<float> memory(positions * 2 * P);
///     rope::WrappedRows<float> rows(rope::copy_cos_sin(view, memory.data()));
///
/// `to` has room for batch * rows * 2 * pairs numbers, times heads if these have rows of their own, float or double.
/// The numbers of the view are float, double, half, bfloat16, or a type for which ElementTraits names one of these. The
/// copy is exact, except that doubles are rounded to float. Returns the view of the copy. Takes one to three
/// nanoseconds per number; allocates nothing. Throws std::invalid_argument, before anything is written, when
/// check(view) is not ok, when `to` is null, and when it overlaps the view.
template <class T, class Number>
ROPE_ABI inline CosSinView<T> copy_cos_sin(const CosSinView<Number>& from, T* to);

ROPE_END

#include "detail/tables/wrapped_rows.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "detail/tables/build_wrapped_rows.hpp"
#endif

#include "detail/base/restore_macros.hpp"
