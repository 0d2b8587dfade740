// SPDX-License-Identifier: MIT
// ggml's operators in ggml's words: parameters, tensors, row ids. No header of ggml is needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cos_sin_cache.hpp"
#include "destinations.hpp"
#include "errors.hpp"
#include "part.hpp"
#include "types.hpp"
#include "wrapped_rows.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/executor.hpp"

ROPE_BEGIN

/// Translates ggml's parameters to this library's and makes one call: rope is the whole of GGML_OP_ROPE and
/// GGML_OP_ROPE_BACK. guide/ggml.md has the operator, one for all that is done to q, k and v, and the time and memory
/// of tables. Source: ggml 0.21, ggml.c (ggml_rope_impl), ggml-cpu/ops.cpp (ggml_rope_cache_init and others).
namespace ggml {

/// The parameters of the operator, in the order of op_params. An aggregate: set the fields that differ.
///
///     f_i    = freq_base^(-2 e_i / n_dims) / freq_factors[i]
///     w_i    = f_i * (freq_scale * (1 - keep_i) + keep_i)
///     keep_i = ext_factor * (1 - clamp((i - low) / span, 0, 1))
///     low    = max(0, floor(c(beta_fast))), high = min(n_dims - 1, ceil(c(beta_slow))), span = max(0.001, high - low)
///     c(b)   = n_dims ln(n_ctx_orig / (2 pi b)) / (2 ln freq_base)
///     m      = attn_factor, if ext_factor is not 0 times 1 - 0.1 ln(freq_scale)
///
/// e_i is i; in mode vision it counts from the beginning of the pair's section, and there are n_dims pairs, else
/// n_dims / 2. With s = i mod the sum of all sections, the axis of pair i is the one in whose section s lies; in mode
/// 40 s mod 3 where s is below 3 * sections[s mod 3], else axis 3. w_i has an error of 2^-90, relative to its larger
/// term; m and c are computed in double.
struct RopeParams {
    ROPE_CROSSES_AGGREGATE(RopeParams)
    std::int32_t n_dims = 0;        ///< even, at least 2: features that rotate; in mode vision half of them
    std::int32_t mode = 0;          ///< 0 normal, 2 NeoX, 8 mrope, 24 vision, 40 imrope (0: pairs are interleaved)
    std::int32_t n_ctx_orig = 0;    ///< at least 0; read, as the betas are, where ext_factor is not 0
    float freq_base = 10000.0f;     ///< finite and above 0; not 1 where ext_factor is not 0
    float freq_scale = 1.0f;        ///< finite; 0: nothing rotates; above 0 where ext_factor is not 0
    float ext_factor = 0.0f;        ///< finite
    float attn_factor = 1.0f;       ///< m is from 2^-32 to 2^32
    float beta_fast = 0.0f;         ///< at least 0; above 0 where n_ctx_orig is 0
    float beta_slow = 0.0f;         ///< likewise
    std::int32_t sections[4] = {};  ///< pairs by axis, in modes 8, 24 and 40: at least 0, one of the first three above
    std::int32_t n_offs = 0;        ///< even: the first feature that rotates; in mode vision 0
};
/// The parameters of a tensor whose op is GGML_OP_ROPE or GGML_OP_ROPE_BACK: 16 numbers, n_past, n_dims, mode, n_ctx,
/// n_ctx_orig, the bits of six floats (freq_base to beta_slow), four sections, n_offs (0 in versions that have none).
ROPE_API RopeParams rope_params(const std::int32_t* op_params) noexcept;

/// A tensor: ggml_type as a number, extents, strides in bytes, data. Of heads, [head_dim, heads, tokens, batch].
struct Tensor {
    ROPE_CROSSES_AGGREGATE(Tensor)
    int type = 0;
    std::int64_t ne[4] = {};
    std::size_t nb[4] = {};
    void* data = nullptr;
};
/// From any struct with the members type, ne, nb and data, such as ggml_tensor. Null: no tensor.
template <class T>
ROPE_ABI inline Tensor tensor(const T* t) noexcept {
    if (t == nullptr) return {};
    const auto& n = t->ne;
    const auto& b = t->nb;
    return {static_cast<int>(t->type), {n[0], n[1], n[2], n[3]}, {b[0], b[1], b[2], b[3]}, t->data};
}

/// interleaved in mode 0, else half_split. Any other number is refused by the functions below.
ROPE_ABI inline Layout layout(const RopeParams& params) noexcept {
    return params.mode == 0 ? Layout::interleaved : Layout::half_split;
}

// The functions below throw std::invalid_argument for parameters outside the ranges above, tensors of other types or
// shapes than stated, strides that are not whole elements, and null pointers; std::bad_alloc when there is no memory
// for a table. Without tensor, freq_factors are ones; else they are F32, one for each pair, finite and not 0, and may
// change between calls. `positions` are I32, contiguous, any numbers: one for each token; in modes 8, 24 and 40 four
// (t, h, w, e), all tokens on the first axis, then all on the next.
// All threads share tables. Up to 128 MiB (2^18 positions of 64 pairs) a call has the one of shared_table. A call with
// a position beyond has a CompactCosSinCache for every int32, 50 MB for 64 pairs, kept for the last 16 descriptions
// (parameters, factors, head_dim) that needed one. Finding a table takes 0.2 to 0.4 us for the last 64 descriptions,
// else 0.2 ms.

/// The table for a pass over near positions, in modes 0 and 2 and from 0 on. Throws std::out_of_range for others.
ROPE_API CosSinCache<float> table(const RopeParams& params, Index head_dim, const Tensor& positions,
                                  const Tensor& freq_factors = {});

/// A row for each token, in every mode and at every position: `memory` has room for tokens * rotary_dim floats
/// (rotary_dim is n_dims, in mode vision 2 * n_dims). With rope::part each thread writes its part, and a barrier of
/// the caller's stands before the first use.
template <class Executor = detail::CallingThread>
ROPE_ABI inline WrappedRows<float> rows(const RopeParams& params, Index head_dim, const Tensor& positions,
                                        const Tensor& freq_factors, float* memory, Executor&& executor = {});

/// The operator: dst is src, rotated, the other features copied; !is_forward rotates back, and keeps m, as
/// apply_transpose. src and dst are F32 or F16 both, of one shape, any strides in whole elements; in place they are
/// the same. All batch entries have the same positions. With rope::no_throw it returns a Status, out_of_memory too.
///
/// Results   As apply states; in a call with a far position (above) as for entries that are off by 2.01 * 2^-23 * m, or
///           1.5 * 2^-23 * m if m is a power of two. Their bits do not depend on nth.
/// Threads   rope::part(ith, nth). One axis and no negative position: by heads, from a table. Else by tokens: each
///           thread writes rows of its own tokens to 16 KiB of its stack, so the operator needs no work memory and no
///           barrier; then at most 4096 features rotate.
/// Memory    At most 32 KiB of the stack. Only calls that make a table or meet a new description allocate.
template <class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> rope(const RopeParams& params, const Tensor& src, const Tensor& dst,
                                                const Tensor& positions, const Tensor& freq_factors, bool is_forward,
                                                Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);

/// Heads [head_dim, heads, tokens, batch] as source or destination of a path: rope::heads(rope::ggml::heads(t)), and
/// Path::to. Types F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, MXFP4.
ROPE_API Destination heads(const Tensor& t);
/// Rows of a cache [heads * head_dim, rows], as GGML_OP_SET_ROWS writes them: row_ids, I32 or I64, name the row of each
/// token; -1 skips one. Heads of blocks are whole blocks of 32.
ROPE_API Destination cache(const Tensor& rows, Index head_dim, const Tensor& row_ids);

}  // namespace ggml

ROPE_END

#include "detail/engines/ggml.hpp"

#include "detail/base/restore_macros.hpp"
