// SPDX-License-Identifier: MIT
// From the arguments of a call to checked tasks.
#pragma once

#include <type_traits>

#include "../cos_sin_rows.hpp"
#include "../errors.hpp"
#include "../positions.hpp"
#include "../tensor_view.hpp"
#include "arithmetic.hpp"
#include "checks.hpp"
#include "job.hpp"
#include "quick_checks.hpp"
#include "rotate.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

enum class Direction : unsigned char { forward, inverse, transpose };

/// A view of the same bits under the library's own name for them, so that kernels exist once per storage type.
template <class Storage, class T>
ROPE_INLINE TensorView<Storage> stored(const TensorView<T>& v) noexcept {
    return {reinterpret_cast<Storage*>(v.data),
            alone(v.batch),
            alone(v.seq),
            alone(v.heads),
            alone(v.head_dim),
            alone(v.batch_stride),
            alone(v.seq_stride),
            alone(v.head_stride),
            alone(v.feature_stride)};
}

/// One tensor of a call with its table. In and Out are storage types.
template <class In, class Out, class T>
struct ROPE_ABI Argument {
    TensorView<const In> in;
    TensorView<Out> out;
    const CosSinRows<T>& rows;
    const char* in_name;
    const char* out_name;
    bool in_place;
};

template <class Element, class T>
ROPE_ABI constexpr void require_element_for_table() noexcept {
    using Storage = typename ElementTraits<std::remove_const_t<Element>>::storage;
    static_assert(!std::is_void_v<Storage>,
                  "Elements must be float, double, rope::half or rope::bfloat16, or a type for which "
                  "rope::ElementTraits names one of these.");
    if constexpr (!std::is_void_v<Storage>) {
        static_assert(sizeof(Storage) == sizeof(Element) && std::is_trivially_copyable_v<Element>,
                      "A type and its rope::ElementTraits storage must have the same size and bits.");
        static_assert(
            std::is_same_v<Storage, double> == std::is_same_v<T, double>,
            "double data needs a table of double (CosSinCache<double>); float, half and bfloat16 data one of float.");
    }
}

template <class Element>
ROPE_ABI constexpr void require_writable() noexcept {
    static_assert(!std::is_const_v<Element>, "This tensor is written, so its elements must not be const.");
}

template <class X, class T>
ROPE_INLINE auto in_place(const char* name, X& x, const CosSinRows<T>& rows) noexcept {
    const auto v = as_view(x);
    using Element = std::remove_reference_t<decltype(*v.data)>;
    require_writable<Element>();
    require_element_for_table<Element, T>();
    using Storage = typename ElementTraits<Element>::storage;
    return Argument<Storage, Storage, T>{stored<const Storage>(v), stored<Storage>(v), rows, name, name, true};
}

template <class X, class Y, class T>
ROPE_INLINE auto out_of_place(X& in, Y& out, const CosSinRows<T>& rows) noexcept {
    const auto x = as_view(in);
    const auto y = as_view(out);
    using In = std::remove_const_t<std::remove_reference_t<decltype(*x.data)>>;
    using Out = std::remove_reference_t<decltype(*y.data)>;
    require_writable<Out>();
    require_element_for_table<In, T>();
    require_element_for_table<Out, T>();
    using InStorage = typename ElementTraits<In>::storage;
    using OutStorage = typename ElementTraits<Out>::storage;
    return Argument<InStorage, OutStorage, T>{
        stored<const InStorage>(x), stored<OutStorage>(y), rows, "in", "out", false};
}

template <Layout layout>
ROPE_INLINE constexpr Uses uses_of(Direction direction) noexcept {
    const int of_layout = layout == Layout::interleaved ? kInterleaved : kHalfSplit;
    return static_cast<Uses>(of_layout | (direction == Direction::inverse ? kInverse : 0));
}

/// Of apply with one of these layouts; of none, when the layout is not known.
template <Layout... layout>
ROPE_INLINE constexpr Uses uses_of_any() noexcept {
    return static_cast<Uses>((0 | ... | uses_of<layout>(Direction::forward)));
}

template <class... Arguments>
ROPE_INLINE Status check_tensors(const Positions& positions, Uses uses, const Arguments&... arguments) noexcept {
    if (isa_is_chosen() && is_plainly_fine(positions, uses, checked(arguments)...)) return Status();
    return check_call(positions, uses, arguments...);
}

/// The axis along which elements are neighbours in both views, if it is not the features.
template <class In, class Out>
ROPE_INLINE Axis lanes_of(const TensorView<In>& in, const TensorView<Out>& out) noexcept {
    if (in.feature_stride == 1 && out.feature_stride == 1) return kNoAxis;
    // The stride of an axis of one element says nothing.
    const bool tokens = in.seq > 1 && in.seq_stride == 1 && out.seq_stride == 1;
    const bool heads = in.heads > 1 && in.head_stride == 1 && out.head_stride == 1;
    return tokens ? kSeqAxis : heads ? kHeadAxis : kNoAxis;
}

template <Layout layout, class In, class Out, class T>
ROPE_INLINE Job<RotateTask<In, Out, T>> rotate_job(Direction direction, const Positions& positions, IsaId isa,
                                                   const Argument<In, Out, T>& a) noexcept {
    const CosSinRows<T>& rows = a.rows;
    const double m = rows.attention_factor();
    const T scale = direction == Direction::inverse ? static_cast<T>(1.0 / (m * m)) : T(1);
    const Index heads = count_heads(a.out);
    const Index bytes = bytes_of(a.out, heads);
    const bool in_place = static_cast<const void*>(a.in.data) == static_cast<const void*>(a.out.data);
    return {{a.in, a.out, RowsAccess::source(rows), rows.pairs(),      //
             rows.rotary_offset(), pair_shape<layout>(rows.pairs()),   //
             scale, direction == Direction::forward ? scale : -scale,  //
             positions, choose_order(a.out, bytes, lanes_of(a.in, a.out)), in_place},
            rotate_kernel<layout, In, Out, T>(isa),
            heads,
            bytes};
}

/// Checks everything, then hands the tensors, one or two, to the executor.
template <Layout layout, class Executor, class... Arguments>
ROPE_INLINE void run(Direction direction, const Positions& positions, Executor& executor,
                     const Arguments&... arguments) {
    if (!proceed(check_tensors(positions, uses_of<layout>(direction), arguments...))) return;
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    execute(executor, rotate_job<layout>(direction, positions, isa, arguments)...);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
