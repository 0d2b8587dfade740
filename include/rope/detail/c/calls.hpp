// SPDX-License-Identifier: MIT
// rope.h: the functions that rotate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../positions.hpp"
#include "../../rope.h"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../call/rotate_call.hpp"
#include "../views/any_view.hpp"
#include "answers.hpp"
#include "arguments.hpp"
#include "handles.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "../call/rotate_tensors.hpp"
#endif

ROPE_DETAIL_BEGIN

// ---- Every call ----

/// Requires data of 64 bits for rows of double, and data of up to 32 bits for rows of float.
ROPE_INLINE Status check_type(const char* shape_name, const AnyView& v, const rope_rows& rows) noexcept {
    if ((v.type == ElementType::f64) == (rows.doubles != nullptr)) return Status();
    return rows.doubles != nullptr
               ? invalid("{}.type is {}; with rows of double it must be ROPE_FLOAT64 (1).",
                         {shape_name, static_cast<int>(v.type)})
               : invalid(
                     "{}.type is ROPE_FLOAT64 (1); with rows of float it must be ROPE_FLOAT32 (0), ROPE_FLOAT16 (2) "
                     "or ROPE_BFLOAT16 (3).",
                     {shape_name});
}
inline Status read_rotated(const char* name, const char* shape_name, const rope_tensor* shape, const void* data,
                           const rope_rows& rows, AnyView& view) noexcept {
    if (const Status s = read_tensor(name, shape_name, shape, data, false, view); !s.ok()) return s;
    return check_type(shape_name, view, rows);
}

/// Rotates, or says only whether it would. The call knows which.
inline Status rotate_or_check(const Call& call, const rope_rows& rows, RotatedTensors tensors) {
    Layout layout = Layout::interleaved;
    if (const Status s = call.find_layout(rows, layout); !s.ok()) return s;
    if (!call.only_checks) return rotate_tensors(call.direction, layout, call.positions, call.threads.any(), tensors);
    return check_rotation(call.direction, &layout, call.positions, tensors);
}

ROPE_NOINLINE Status apply_any(const rope_rows* rows, const rope_call* given, const void* ids, void* x,
                               const rope_tensor* x_shape) {
    if (const Status s = check_handle("rows", rows); !s.ok()) return s;
    Call call;
    if (const Status s = call.read(given, ids); !s.ok()) return s;
    AnyView v;
    if (const Status s = read_rotated("x", "x_shape", x_shape, x, *rows, v); !s.ok()) return s;
    return rotate_or_check(call, *rows, {{v, v, false, rows->floats, rows->doubles}});
}
ROPE_NOINLINE Status apply_any(const rope_rows* rows, const rope_rows* k_rows, const rope_call* given, const void* ids,
                               void* q, const rope_tensor* q_shape, void* k, const rope_tensor* k_shape) {
    if (const Status s = check_handle("rows", rows); !s.ok()) return s;
    if (k_rows == nullptr) k_rows = rows;
    if (const Status s = check_handle("k_rows", k_rows); !s.ok()) return s;
    if ((k_rows->doubles == nullptr) != (rows->doubles == nullptr))
        return invalid("k_rows are of another type than rows; they must be as these, of float or of double.");
    Call call;
    if (const Status s = call.read(given, ids); !s.ok()) return s;
    AnyView of_q, of_k;
    if (const Status s = read_rotated("q", "q_shape", q_shape, q, *rows, of_q); !s.ok()) return s;
    if (const Status s = read_rotated("k", "k_shape", k_shape, k, *rows, of_k); !s.ok()) return s;
    return rotate_or_check(
        call, *rows,
        {{of_q, of_q, false, rows->floats, rows->doubles}, {of_k, of_k, false, k_rows->floats, k_rows->doubles}});
}

ROPE_NOINLINE std::int32_t apply_other(const rope_rows* rows, const rope_call* call, const void* ids, void* x,
                                       const rope_tensor* x_shape, char* message, std::size_t room) noexcept {
    return answer(message, room, [&] { return apply_any(rows, call, ids, x, x_shape); });
}
ROPE_NOINLINE std::int32_t apply_other(const rope_rows* rows, const rope_rows* k_rows, const rope_call* call,
                                       const void* ids, void* q, const rope_tensor* q_shape, void* k,
                                       const rope_tensor* k_shape, char* message, std::size_t room) noexcept {
    return answer(message, room, [&] { return apply_any(rows, k_rows, call, ids, q, q_shape, k, k_shape); });
}

// ---- Usual calls, at once: forward, float, half or bfloat16, from a start on or at ids, by the calling thread ----

// Each of the functions below takes all arguments of the call in their order, so that it is reached by a jump. None returns
// a Status, whose 300 bytes would be copied.

/// Whether a call is usual, but for its tensors.
ROPE_INLINE bool is_usual(const rope_rows* rows, const rope_call* call, const void* ids) noexcept {
    if (rows == nullptr || call == nullptr || call->size != sizeof(rope_call)) return false;
    static_assert(offsetof(rope_call, only_checks) - offsetof(rope_call, direction) == 3 * sizeof(std::int32_t));
    std::uint64_t numbers[2];  // direction, positions, ids_type, only_checks
    std::memcpy(numbers, &call->direction, sizeof(numbers));
    const auto bits = [](auto x) -> std::uint64_t { return reinterpret_cast<std::uintptr_t>(x); };
    const std::uint64_t others = bits(call->executor) | static_cast<std::uint64_t>(call->parts | call->part);
    if ((numbers[0] | numbers[1] | others | bits(ids) | static_cast<std::uint64_t>(call->ids_count)) != 0) {
        const bool are_listed = call->positions == ROPE_IDS && call->start == 0 &&
                                (call->ids_type == ROPE_INT32 || call->ids_type == ROPE_INT64);
        if (!are_listed || others != 0 || (call->direction | call->only_checks) != 0) return false;
    }
    return rows->handle == HandleKind::rows && rows->floats != nullptr;
}
ROPE_INLINE Positions usual_positions(const rope_call& call, const void* ids) noexcept {
    return call.positions == ROPE_START ? Positions::from_start(call.start) : listed_positions(call, ids);
}
ROPE_INLINE bool is_known(const rope_tensor* shape) noexcept {
    return shape != nullptr && shape->size == sizeof(rope_tensor);
}
#if ROPE_HAS_DEFINITIONS
/// Sets a view, unless a product of its extents may exceed 2^63.
template <class X>
ROPE_INLINE bool read_view(void* data, const rope_tensor& t, TensorView<X>& v) noexcept {
    static_assert(offsetof(rope_tensor, feature_stride) - offsetof(rope_tensor, batch) == 7 * sizeof(Index));
    v.data = static_cast<X*>(data);
    std::memcpy(&v.batch, &t.batch, 8 * sizeof(Index));
    if ((t.batch_stride | t.seq_stride | t.head_stride | t.feature_stride) != 0) return true;
    v.feature_stride = 1;
    v.head_stride = t.head_dim;
    if (static_cast<std::uint64_t>(t.seq | t.heads | t.head_dim) >> 20 != 0) return false;
    v.seq_stride = t.heads * v.head_stride;
    v.batch_stride = t.seq * v.seq_stride;
    return true;
}
template <Layout layout, class X>
ROPE_NOINLINE std::int32_t apply_usual(const rope_rows* rows, const rope_call* call, const void* ids, void* x,
                                       const rope_tensor* x_shape, char* message, std::size_t room) noexcept {
    TensorView<X> v;
    if (!read_view(x, *x_shape, v)) return apply_other(rows, call, ids, x, x_shape, message, room);
    const Status s = rotate<layout>(Direction::forward, usual_positions(*call, ids), kCallingThread,
                                    InPlace<const TensorView<X>&, float>{v, "x", *rows->floats});
    return s.ok() ? ROPE_OK : reply({message, room}, s);
}
template <Layout layout, class X>
ROPE_NOINLINE std::int32_t apply_usual(const rope_rows* rows, const rope_rows* k_rows, const rope_call* call,
                                       const void* ids, void* q, const rope_tensor* q_shape, void* k,
                                       const rope_tensor* k_shape, char* message, std::size_t room) noexcept {
    TensorView<X> of_q, of_k;
    if (!read_view(q, *q_shape, of_q) || !read_view(k, *k_shape, of_k))
        return apply_other(rows, k_rows, call, ids, q, q_shape, k, k_shape, message, room);
    const Status s = rotate<layout>(Direction::forward, usual_positions(*call, ids), kCallingThread,
                                    InPlace<const TensorView<X>&, float>{of_q, "q", *rows->floats},
                                    InPlace<const TensorView<X>&, float>{of_k, "k", *rows->floats});
    return s.ok() ? ROPE_OK : reply({message, room}, s);
}
/// Chooses apply_usual for a layout, or for that of the rows where it is 0, and for a type of elements. Others have null.
template <class... Arguments>
ROPE_INLINE auto usual_function(std::int32_t layout, std::int32_t type, const rope_rows& rows) noexcept {
    using Function = std::int32_t (*)(Arguments...) noexcept;
    static constexpr Function kFunctions[2][4] = {
        {&apply_usual<Layout::interleaved, float>, nullptr, &apply_usual<Layout::interleaved, half>,
         &apply_usual<Layout::interleaved, bfloat16>},
        {&apply_usual<Layout::half_split, float>, nullptr, &apply_usual<Layout::half_split, half>,
         &apply_usual<Layout::half_split, bfloat16>}};
    const auto row = static_cast<std::uint32_t>(layout == 0 ? rows.layout : layout) - ROPE_INTERLEAVED;
    const auto column = static_cast<std::uint32_t>(type);
    return row < 2 && column < 4 ? kFunctions[row][column] : nullptr;
}
#else
template <class... Arguments>
auto usual_function(std::int32_t, std::int32_t, const rope_rows&) noexcept {
    return static_cast<std::int32_t (*)(Arguments...) noexcept>(nullptr);
}
#endif

extern "C" {

ROPE_C_API int32_t rope_apply(const rope_rows* rows, const rope_call* call, const void* ids, void* x,
                              const rope_tensor* x_shape, char* message, size_t room) {
    if (is_known(x_shape) && is_usual(rows, call, ids)) {
        const auto apply = usual_function<const rope_rows*, const rope_call*, const void*, void*, const rope_tensor*,
                                          char*, std::size_t>(call->layout, x_shape->type, *rows);
        if (apply != nullptr) return apply(rows, call, ids, x, x_shape, message, room);
    }
    return apply_other(rows, call, ids, x, x_shape, message, room);
}

ROPE_C_API int32_t rope_apply_qk(const rope_rows* rows, const rope_rows* k_rows, const rope_call* call, const void* ids,
                                 void* q, const rope_tensor* q_shape, void* k, const rope_tensor* k_shape,
                                 char* message, size_t room) {
    if (is_known(q_shape) && is_known(k_shape) && q_shape->type == k_shape->type && k_rows == nullptr &&
        is_usual(rows, call, ids)) {
        const auto apply =
            usual_function<const rope_rows*, const rope_rows*, const rope_call*, const void*, void*, const rope_tensor*,
                           void*, const rope_tensor*, char*, std::size_t>(call->layout, q_shape->type, *rows);
        if (apply != nullptr) return apply(rows, k_rows, call, ids, q, q_shape, k, k_shape, message, room);
    }
    return apply_other(rows, k_rows, call, ids, q, q_shape, k, k_shape, message, room);
}

ROPE_C_API int32_t rope_apply_copy(const rope_rows* rows, const rope_call* call, const void* ids, const void* in,
                                   const rope_tensor* in_shape, void* out, const rope_tensor* out_shape, char* message,
                                   size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("rows", rows); !s.ok()) return s;
        Call c;
        if (const Status s = c.read(call, ids); !s.ok()) return s;
        AnyView from, to;
        if (const Status s = read_rotated("in", "in_shape", in_shape, in, *rows, from); !s.ok()) return s;
        if (const Status s = read_rotated("out", "out_shape", out_shape, out, *rows, to); !s.ok()) return s;
        return rotate_or_check(c, *rows, {{from, to, true, rows->floats, rows->doubles}});
    });
}

}  // extern "C"

ROPE_DETAIL_END
