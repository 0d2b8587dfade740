// SPDX-License-Identifier: MIT
// From the arguments of a call to checked tasks.
#pragma once

#include <type_traits>
#include <utility>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../kernels/rotate.hpp"
#include "../views/any_view.hpp"
#include "checks.hpp"
#include "job.hpp"
#include "loop.hpp"
#include "plain_calls.hpp"
#include "quick_checks.hpp"
#include "rotate_task.hpp"

#include "../base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

enum class Direction : unsigned char { forward, inverse, transpose };

/// One tensor of a call with its table, in place or out of place, checked and rotated by storage types (In, Out) in
/// place of its own element type.
template <class Storage, class T>
struct ROPE_ABI ErasedInPlace {
    using In = Storage;
    using Out = Storage;
    using Table = T;
    static constexpr bool kOutOfPlace = false;
    AnyView out;
    const CosSinRows<T>& rows;

    ROPE_INLINE const AnyView& in() const noexcept { return out; }
    ROPE_INLINE CheckedTensor checked() const noexcept { return {out, out, shape_of(rows), nullptr}; }
};
template <class In_, class Out_, class T>
struct ROPE_ABI ErasedOutOfPlace {
    using In = In_;
    using Out = Out_;
    using Table = T;
    static constexpr bool kOutOfPlace = true;
    AnyView source, out;
    const CosSinRows<T>& rows;

    ROPE_INLINE const AnyView& in() const noexcept { return source; }
    ROPE_INLINE CheckedTensor checked() const noexcept { return {source, out, shape_of(rows), &kDisjointTests}; }
};

/// One tensor of a call with its table, as given. A View is a TensorView, or a reference to the caller's own.
template <class View, class T>
struct ROPE_ABI InPlace {
    View x;
    const char* name;
    const CosSinRows<T>& rows;

    using Storage = typename ElementTraits<std::remove_reference_t<decltype(*x.data)>>::storage;
    ROPE_INLINE ErasedInPlace<Storage, T> erased() const noexcept { return {detail::erased(name, x), rows}; }
};
template <class InView, class OutView, class T>
struct ROPE_ABI OutOfPlace {
    InView in;
    OutView out;
    const CosSinRows<T>& rows;

    using In = typename ElementTraits<std::remove_const_t<std::remove_reference_t<decltype(*in.data)>>>::storage;
    using Out = typename ElementTraits<std::remove_reference_t<decltype(*out.data)>>::storage;
    ROPE_INLINE ErasedOutOfPlace<In, Out, T> erased() const noexcept {
        return {detail::erased("in", in), detail::erased("out", out), rows};
    }
};

// Conditions that the compiler checks, each with a sentence of its own. They are asserted in the functions that apply
// and the others call directly, which then return Refused: so a mistake is a dozen lines of compiler output, and the
// first of them names the remedy.

template <class View>
using StorageOf = typename ElementTraits<std::remove_const_t<ElementOf<View>>>::storage;

/// Whether the elements of a view have a known type. (True of a refused view, here and below.)
template <class View>
inline constexpr bool has_elements = is_refused<View> || !std::is_void_v<StorageOf<View>>;

template <class View>
inline constexpr bool is_writable = is_refused<View> || !std::is_const_v<ElementOf<View>>;

/// Whether elements and table are both double, or neither.
template <class View, class T>
inline constexpr bool goes_with =
    is_refused<View> || !has_elements<View> || std::is_same_v<StorageOf<View>, double> == std::is_same_v<T, double>;

/// Whether a user's own ElementTraits are valid.
template <class View, bool = is_refused<View> || !has_elements<View>>
inline constexpr bool has_right_traits = true;
template <class View>
inline constexpr bool has_right_traits<View, false> =
    sizeof(StorageOf<View>) == sizeof(ElementOf<View>) && std::is_trivially_copyable_v<ElementOf<View>> &&
    (sizeof(StorageOf<View>) == 2 || std::is_same_v<StorageOf<View>, std::remove_const_t<ElementOf<View>>>);

template <class View, bool is_written, class T>
inline constexpr bool is_accepted = !is_refused<View> && has_elements<View> && has_right_traits<View> &&
                                    goes_with<View, T> && (!is_written || is_writable<View>);

template <class X, class T>
ROPE_INLINE auto in_place(const char* name, X& x, const CosSinRows<T>& rows) noexcept {
    using View = ViewOf<X>;
    static_assert(!is_no_tensor<X>,
                  "This argument is no tensor that rope knows: pass rope::view(ptr, seq, heads, head_dim), "
                  "rope::view(eigen_matrix, heads), an Eigen Tensor or TensorMap of rank 3 or 4 (with "
                  "<rope/eigen.hpp> included), or specialise rope::ViewTraits for its type.");
    static_assert(
        has_elements<View>,
        "Elements must be float, double, rope::half or rope::bfloat16, or a type for which "
        "rope::ElementTraits names one of these (for 16-bit integers that hold such bits: rope::as_half(ptr), "
        "rope::as_bfloat16(ptr)).");
    static_assert(
        has_right_traits<View>,
        "Types of your own may stand for rope::half and rope::bfloat16, which are read as bytes, if they have "
        "their size and are trivially copyable; float and double are read as themselves.");
    static_assert(is_writable<View>, "This tensor is written, so its elements must not be const.");
    static_assert(goes_with<View, T>,
                  "double data needs a table of double (CosSinCache<double>); float, half and bfloat16 data one of "
                  "float.");
    if constexpr (is_accepted<View, true, T>) {
        return InPlace<View, T>{as_view(x), name, rows};
    } else {
        return Refused();
    }
}

template <class X, class Y, class T>
ROPE_INLINE auto out_of_place(X& in, Y& out, const CosSinRows<T>& rows) noexcept {
    using In = ViewOf<X>;
    using Out = ViewOf<Y>;
    static_assert(!is_no_tensor<X> && !is_no_tensor<Y>,
                  "This argument is no tensor that rope knows: pass rope::view(ptr, seq, heads, head_dim), "
                  "rope::view(eigen_matrix, heads), an Eigen Tensor or TensorMap of rank 3 or 4 (with "
                  "<rope/eigen.hpp> included), or specialise rope::ViewTraits for its type.");
    static_assert(
        has_elements<In> && has_elements<Out>,
        "Elements must be float, double, rope::half or rope::bfloat16, or a type for which "
        "rope::ElementTraits names one of these (for 16-bit integers that hold such bits: rope::as_half(ptr), "
        "rope::as_bfloat16(ptr)).");
    static_assert(
        has_right_traits<In> && has_right_traits<Out>,
        "Types of your own may stand for rope::half and rope::bfloat16, which are read as bytes, if they have "
        "their size and are trivially copyable; float and double are read as themselves.");
    static_assert(is_writable<Out>, "This tensor is written, so its elements must not be const.");
    static_assert(goes_with<In, T> && goes_with<Out, T>,
                  "double data needs a table of double (CosSinCache<double>); float, half and bfloat16 data one of "
                  "float.");
    if constexpr (is_accepted<In, false, T> && is_accepted<Out, true, T>) {
        return OutOfPlace<In, Out, T>{as_view(in), as_view(out), rows};
    } else {
        return Refused();
    }
}

template <Layout layout>
ROPE_INLINE constexpr Capabilities capabilities_of(Direction direction) noexcept {
    const int of_layout = layout == Layout::interleaved ? kInterleaved : kHalfSplit;
    return static_cast<Capabilities>(of_layout | (direction == Direction::inverse ? kInverse : 0));
}

/// Capabilities that apply needs with these layouts; none, if the layout is not known.
template <Layout... layout>
ROPE_INLINE constexpr Capabilities capabilities_of_any() noexcept {
    return static_cast<Capabilities>((0 | ... | capabilities_of<layout>(Direction::forward)));
}

template <class... Tensors>
ROPE_INLINE Status check_erased(const Positions& positions, Capabilities uses, const Tensors&... checked) noexcept {
    if (isa_is_chosen() && is_plainly_fine(positions, uses, checked...)) return Status();
    return check_call(positions, uses, checked...);
}

/// Whether a call with these tensors would be accepted.
template <class... Arguments>
ROPE_INLINE Status check_tensors(const Positions& positions, Capabilities uses,
                                 const Arguments&... arguments) noexcept {
    if constexpr ((is_refused<Arguments> || ...))
        return Status();
    else
        return check_erased(positions, uses, arguments.erased().checked()...);
}

/// The axis along which vectors run: contiguous in both views or, out of place and with at least kMinLanes tokens or
/// batch entries, in one. The feature axis if there is none.
template <bool is_out_of_place>
ROPE_INLINE Axis lanes_of(const AnyView& in, const AnyView& out) noexcept {
    if (in.strides[kFeatureAxis] == 1 && out.strides[kFeatureAxis] == 1) return kFeatureAxis;
    // An axis of one element may have any stride.
    for (const Axis axis : {kSeqAxis, kHeadAxis, kBatchAxis})
        if (in.extents[axis] > 1 && in.strides[axis] == 1 && out.strides[axis] == 1) return axis;
    if constexpr (!is_out_of_place) return kFeatureAxis;
    const bool are_few = in.extents[kSeqAxis] < kMinLanes && in.extents[kBatchAxis] < kMinLanes;
    for (const Axis axis : {kSeqAxis, kBatchAxis})
        if (!are_few && in.extents[axis] > 1 && (in.strides[axis] == 1 || out.strides[axis] == 1)) return axis;
    return kFeatureAxis;
}

template <Layout layout, class Argument>
ROPE_INLINE auto rotate_job(Direction direction, const Positions& positions, IsaId isa, const Argument& a) noexcept {
    using In = typename Argument::In;
    using Out = typename Argument::Out;
    using T = typename Argument::Table;
    T cos_scale = 1, sin_scale = 1;
    if (direction != Direction::forward) {
        const double m = a.rows.attention_factor();
        cos_scale = direction == Direction::inverse ? static_cast<T>(1.0 / (m * m)) : T(1);
        sin_scale = -cos_scale;
    }
    const AnyView& in = a.in();
    const AnyView& out = a.out;
    const Index heads = count_heads(out), pairs = a.rows.pairs();
    const Index bytes = bytes_of(out, heads);
    const bool is_contiguous = in.strides[kFeatureAxis] == 1 && out.strides[kFeatureAxis] == 1;
    return Job<RotateTask<In, Out, T>>{
        {in, out, RowsAccess::source(a.rows), pairs, a.rows.rotary_offset(), positions, cos_scale, sin_scale, layout,
         choose_order(out, bytes, lanes_of<Argument::kOutOfPlace>(in, out), Argument::kOutOfPlace),
         rotate_kernels<layout, In, Out, T>(isa, pairs, is_contiguous)},
        &rotate_all<Argument::kOutOfPlace, In, Out, T>,
        heads,
        bytes};
}

/// Checks everything, then hands the tensors, one or two, to the executor.
template <Layout layout, class Executor, class... Erased>
ROPE_INLINE void run_erased(Direction direction, const Positions& positions, Executor& executor,
                            const Erased&... tensors) {
    if (!ok_or_raise(check_erased(positions, capabilities_of<layout>(direction), tensors.checked()...))) return;
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    execute(executor, rotate_job<layout>(direction, positions, isa, tensors)...);
}
template <Layout layout, class Executor, class... Arguments>
ROPE_NOINLINE void run_any(Direction direction, const Positions& positions, Executor& executor,
                           const Arguments&... arguments) {
    run_erased<layout>(direction, positions, executor, arguments.erased()...);
}

/// Rotates the tensors of a plain call; false if the call is not plain, and nothing has been done.
template <Layout layout, class X, class View, class T>
ROPE_INLINE bool rotate_plain(IsaId isa, const Positions& positions, const View& x,
                              const CosSinRows<T>& rows) noexcept {
    PlainCall<X, T> call;
    if (isa == 0 || !is_plain_call<X>(x, layout, rows, positions, call)) return false;
    rotate(rotate_kernels<layout, X, X, T>(isa, call.shape.pairs, true), call);
    return true;
}
template <Layout layout, class View, class T>
ROPE_INLINE bool rotate_plain(const Positions& positions, const InPlace<View, T>& x) noexcept {
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    return rotate_plain<layout, typename InPlace<View, T>::Storage>(isa, positions, x.x, x.rows);
}
template <Layout layout, class Q, class K, class T>
ROPE_INLINE bool rotate_plain(const Positions& positions, const InPlace<Q, T>& q, const InPlace<K, T>& k) noexcept {
    using X = typename InPlace<Q, T>::Storage;
    using Y = typename InPlace<K, T>::Storage;
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    std::remove_const_t<std::remove_reference_t<Q>> both;
    if (&q.rows == &k.rows && are_one_view(q.x, k.x, both) && rotate_plain<layout, X>(isa, positions, both, q.rows))
        return true;
    PlainCall<X, T> of_q;
    PlainCall<Y, T> of_k;
    if (isa == 0 || !is_plain_call<X>(q.x, layout, q.rows, positions, of_q) ||
        !is_plain_call<Y>(k.x, layout, k.rows, positions, of_k) || !are_plain_together(of_q, of_k))
        return false;
    rotate(rotate_kernels<layout, X, X, T>(isa, of_q.shape.pairs, true), of_q);
    rotate(rotate_kernels<layout, Y, Y, T>(isa, of_k.shape.pairs, true), of_k);
    return true;
}
template <Layout layout, class In, class Out, class T>
ROPE_INLINE bool rotate_plain(const Positions&, const OutOfPlace<In, Out, T>&) noexcept {
    return false;
}

template <Layout layout, class Executor, class... Arguments>
ROPE_INLINE void run(Direction direction, const Positions& positions, Executor& executor,
                     const Arguments&... arguments) {
    if constexpr (!(is_refused<Arguments> || ...)) {
        if (direction == Direction::forward && rotate_plain<layout>(positions, arguments...)) return;
        run_any<layout>(direction, positions, executor, arguments...);
    }
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../base/restore_macros.hpp"
