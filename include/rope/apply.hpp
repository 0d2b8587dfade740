// SPDX-License-Identifier: MIT
// apply: rotates queries and keys.
#pragma once

#include <utility>

#include "cos_sin_cache.hpp"
#include "cos_sin_rows.hpp"
#include "errors.hpp"
#include "positions.hpp"
#include "tensor_view.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/other_calls.hpp"
#include "detail/call/rotate_call.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "detail/call/run.hpp"
#endif

// Every function below takes
//
//   Layout      which features form a pair: apply<Layout::half_split>(...), or as a first argument when it is known
//               only at run time: apply(layout, ...).
//   tensors     x, q, k, in, out: a TensorView, or a tensor for which ViewTraits makes one (Eigen Tensor and
//               TensorMap). Elements float, half and bfloat16 take rows of float (CosSinCache<float>, ...), double
//               rows of double. head_dim must be the table's; q and k share batch and seq and have their own numbers
//               of heads.
//   cache       the table that holds every position of the call. q and k may each have their own.
//   positions   see PositionsArgument; by default 0, 1, 2, ... A list in braces needs the layout in angle brackets.
//   executor    any callable executor(count, f) that calls f(begin, end) for pieces that cover 0 .. count - 1 once
//               each, in any order, on any threads, and returns when all are done. Default: the calling thread. It
//               is asked for calls that write at least 1 MiB; smaller ones are over before another thread has begun
//               (<rope/part.hpp> has at_every_size, and part for threads that all make the call).
//               It counts pieces of some 16 KiB or more: whole tokens where there are many, heads where there are few,
//               a multiple of 16 tokens where tokens are contiguous. Pieces outside 0 .. count - 1 change nothing.
//
// Only the features [rotary_offset, rotary_offset + rotary_dim) of each head rotate. In place the others are not
// touched; out of place they are copied.
//
// Results      a' = fma(a, c, -(b*s)), b' = fma(b, c, a*s), computed in the table's type and rounded once more if the
//              elements are narrower. Error of a', the table's included: at most 1.01 u |a*c| + 2.01 u |b*s| + half
//              an ulp of the result + 2^-149, where u = 2^-24, and m * 2^-10 stands for a |c| or |s| that is less.
//              Likewise b', unless a product or a result overflows. In double u = 2^-53, the smallest step is 2^-1074,
//              and 0.5 u (|a*c| + |b*s|) is added. Where the instruction set in use has no fma (see isa.hpp), 2.01 u
//              on both terms. The bits of a result do not depend on where the element lies, on the layout, on strides,
//              batch or other heads, nor on how the work is cut; and on the instruction set only by whether it has fma.
//              NaN and infinity stay in their pair; a NaN's sign and payload may be any. (A process that flushes
//              subnormals to zero, as one linked with -ffast-math does, loses subnormal results.)
// Aliasing     A written view has distinct addresses for distinct elements. in and out are the same view, or share
//              nothing; q and k share nothing (slices of one fused buffer are recognised); no list of positions lies
//              in one that is written. None of them is memory of the table, which is not checked.
// Memory       No allocation. At most 24 KiB of the stack in double and 16 KiB else, executors not counted. No byte
//              outside the views is read or written, and nothing is written unless every check has passed. Data need
//              not be aligned beyond its element type. A null pointer is fine where there is nothing to touch.
// Threads      Calls on disjoint data may run at the same time and share caches.
// Errors       std::invalid_argument for shapes, strides, pointers and counts, and in the first call for an
//              environment variable ROPE_ISA that names no instruction set there is; std::out_of_range for a position
//              that the table does not hold. Nothing is allocated, so nothing runs out of memory (see errors.hpp for
//              other functions). Without exceptions: see set_error_handler.
// Source       Su et al., "RoFormer", arXiv:2104.09864, equation 34.

ROPE_BEGIN

// ---- Rotate: pair i of a token at position p rotates by p * w_i and is multiplied by m. ----

/// Rotates x in place.
template <Layout layout, class X, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply(X&& x, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
                                                 Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::forward, positions, executor, detail::in_place("x", x, cache));
}

/// Rotates q and k in place, with one table. Neither is written unless both pass every check.
template <Layout layout, class Q, class K, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply(Q&& q, K&& k, const CosSinRows<T>& cache,
                                                 PositionsArgument&& positions = {},
                                                 Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::forward, positions, executor, detail::in_place("q", q, cache),
                               detail::in_place("k", k, cache));
}

/// Rotates q and k in place, each with its own table, as xPos needs.
template <Layout layout, class Q, class K, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply(Q&& q, K&& k, const CosSinRows<T>& q_cache,
                                                 const CosSinRows<T>& k_cache, PositionsArgument&& positions = {},
                                                 Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::forward, positions, executor, detail::in_place("q", q, q_cache),
                               detail::in_place("k", k, k_cache));
}

/// Out of place. `out` has the extents of `in`; its type and strides are its own.
template <Layout layout, class In, class Out, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply_copy(
    In&& in, Out&& out, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::forward, positions, executor, detail::out_of_place(in, out, cache));
}

// ---- Undo: rotates back by p * w_i and divides by m. With m other than 1, 1/m^2 rounded to T multiplies the table's
//      entries first, which adds 2 u |a*c| + 2 u |b*s| to the bound above, with the c and s of the inverse. ----

/// Undoes the rotation of x in place.
template <Layout layout, class X, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply_inverse(
    X&& x, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::inverse, positions, executor, detail::in_place("x", x, cache));
}

/// Undoes the rotation of q and k in place, with one table.
template <Layout layout, class Q, class K, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply_inverse(
    Q&& q, K&& k, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::inverse, positions, executor, detail::in_place("q", q, cache),
                               detail::in_place("k", k, cache));
}

/// Undoes the rotation of q and k in place, each with its own table.
template <Layout layout, class Q, class K, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply_inverse(
    Q&& q, K&& k, const CosSinRows<T>& q_cache, const CosSinRows<T>& k_cache, PositionsArgument&& positions = {},
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::inverse, positions, executor, detail::in_place("q", q, q_cache),
                               detail::in_place("k", k, k_cache));
}

/// Out of place, as apply_copy. Not for xPos, whose tables have no inverse.
template <Layout layout, class In, class Out, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply_inverse_copy(
    In&& in, Out&& out, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::inverse, positions, executor, detail::out_of_place(in, out, cache));
}

// ---- Transpose: rotates back by p * w_i and multiplies by m. The gradient with respect to x, given the gradient with
//      respect to apply's result. ----

/// Propagates the gradient x back through apply, in place.
template <Layout layout, class X, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply_transpose(
    X&& x, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::transpose, positions, executor, detail::in_place("x", x, cache));
}

/// Propagates the gradients q and k back through apply, in place, with one table.
template <Layout layout, class Q, class K, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply_transpose(
    Q&& q, K&& k, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::transpose, positions, executor, detail::in_place("q", q, cache),
                               detail::in_place("k", k, cache));
}

/// Propagates the gradients q and k back through apply, in place, each with its own table.
template <Layout layout, class Q, class K, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply_transpose(
    Q&& q, K&& k, const CosSinRows<T>& q_cache, const CosSinRows<T>& k_cache, PositionsArgument&& positions = {},
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::transpose, positions, executor, detail::in_place("q", q, q_cache),
                               detail::in_place("k", k, k_cache));
}

/// Out of place, as apply_copy.
template <Layout layout, class In, class Out, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> apply_transpose_copy(
    In&& in, Out&& out, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>) {
    return detail::run<layout>(detail::Direction::transpose, positions, executor, detail::out_of_place(in, out, cache));
}

// ---- Ask first: would the call with these arguments be accepted? Answers for apply, apply_inverse and
//      apply_transpose alike, and check_copy for the _copy forms; check<Layout::half_split>(...) also for a table that
//      is made for one layout. (xPos has no apply_inverse, even where the answer is ok.) Never throws; see Status. ----

/// Checks a call on x.
template <Layout... layout, class X, class T, class Executor = detail::CallingThread>
ROPE_ABI inline Status check(X&& x, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
                             Executor&& = {}) noexcept {
    return detail::check_tensors<layout...>(positions, detail::in_place("x", x, cache));
}

/// Checks a call on q and k with one table.
template <Layout... layout, class Q, class K, class T, class Executor = detail::CallingThread>
ROPE_ABI inline Status check(Q&& q, K&& k, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
                             Executor&& = {}) noexcept {
    return detail::check_tensors<layout...>(positions, detail::in_place("q", q, cache),
                                            detail::in_place("k", k, cache));
}

/// Checks a call on q and k, each with its own table.
template <Layout... layout, class Q, class K, class T, class Executor = detail::CallingThread>
ROPE_ABI inline Status check(Q&& q, K&& k, const CosSinRows<T>& q_cache, const CosSinRows<T>& k_cache,
                             PositionsArgument&& positions = {}, Executor&& = {}) noexcept {
    return detail::check_tensors<layout...>(positions, detail::in_place("q", q, q_cache),
                                            detail::in_place("k", k, k_cache));
}

/// Checks a call out of place.
template <Layout... layout, class In, class Out, class T, class Executor = detail::CallingThread>
ROPE_ABI inline Status check_copy(In&& in, Out&& out, const CosSinRows<T>& cache, PositionsArgument&& positions = {},
                                  Executor&& = {}) noexcept {
    return detail::check_tensors<layout...>(positions, detail::out_of_place(in, out, cache));
}

// ---- All other calls are refused by the compiler, with a sentence. ----

ROPE_REFUSE_OTHER_CALLS(Status, check, refuse_arguments)
ROPE_REFUSE_OTHER_CALLS(Status, check_copy, refuse_arguments)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, apply, refuse_arguments)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, apply_copy, refuse_arguments)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, apply_inverse, refuse_arguments)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, apply_inverse_copy, refuse_arguments)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, apply_transpose, refuse_arguments)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, apply_transpose_copy, refuse_arguments)

// ---- The layout as a first argument, when it is known only at run time. ----

ROPE_WITH_RUN_TIME_LAYOUT(apply)
ROPE_WITH_RUN_TIME_LAYOUT(apply_copy)
ROPE_WITH_RUN_TIME_LAYOUT(apply_inverse)
ROPE_WITH_RUN_TIME_LAYOUT(apply_inverse_copy)
ROPE_WITH_RUN_TIME_LAYOUT(apply_transpose)
ROPE_WITH_RUN_TIME_LAYOUT(apply_transpose_copy)

ROPE_END

#include "detail/base/restore_macros.hpp"
