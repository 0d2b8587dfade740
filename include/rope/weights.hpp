// SPDX-License-Identifier: MIT
// Weights that were stored for one layout, reordered for the other.
#pragma once

#include "config.hpp"
#include "errors.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

/// Rows in memory, head_dim of them for each head: row h * head_dim + f makes feature f of head h.
///
///     W_q, W_k            [heads * head_dim, hidden_size]   heads as many as of queries, of keys; a row is hidden_size
///                                                           elements, or the bytes that a quantised row takes
///     biases, norms       [heads * head_dim]                a row is one element; heads = 1 for a norm shared by heads
///     keys, W transposed  [n, heads, head_dim]              n * heads as heads; a row is one element
///     fused               [heads, 3, head_dim, hidden_size] once for q, once for k: 3 * head_dim as head_dim, and the
///                                                           slice of q, of k (rotary_dim, rotary_offset) within it
///     latent attention    [heads * (nope + rope), ...]      head_dim = nope + rope, rotary_dim = rope, rotary_offset =
///                                                           nope (DeepSeek: 192, 64, 128); its one key: heads = 1
struct HeadRows {
    ROPE_CROSSES_AGGREGATE(HeadRows)
    Index heads = 0;
    Index head_dim = 0;
    Index rotary_dim = 0;  ///< 0: head_dim
    Index rotary_offset = 0;
    Index row_bytes = 0;     ///< 1 .. 2^48, or as memory can hold
    Index stride_bytes = 0;  ///< from row to row; 0: row_bytes
};

/// Rows of `columns` elements of type T (1 for a bias), one after the other, of heads as a model's Config has them. Not
/// for latent attention, whose heads have more rows than its Config's head_dim: see the table above.
///
///     rope::permute_rows(w_k, rope::head_rows<float>(config, kv_heads, hidden_size), from, to);
template <class T>
ROPE_ABI inline HeadRows head_rows(const Config& config, Index heads, Index columns) noexcept;

/// Whether permute_rows (with its data as in and as out) or permute_rows_copy can be called so. Never throws.
ROPE_API Status check_rows(const void* in, const void* out, const HeadRows& rows, Layout from, Layout to) noexcept;

/// Puts the rows of every head in the order of the other layout, in place. Only rows of the rotated slice move, and as
/// bytes: there and back is the identity. The scores of a model do not change if W_q, W_k, their biases, their norms'
/// weights and cached keys all move, and the layout of apply with them. Bytes between rows are not touched. Allocates
/// some 16 bytes per rotated row of one head. Throws std::invalid_argument when check_rows is not ok.
ROPE_API void permute_rows(void* data, const HeadRows& rows, Layout from, Layout to);

/// As permute_rows, from one place to another; rows that do not move are copied. in == out is permute_rows.
ROPE_API void permute_rows_copy(const void* in, void* out, const HeadRows& rows, Layout from, Layout to);

ROPE_END

#include "detail/views/weights.hpp"

#include "detail/base/restore_macros.hpp"
