// SPDX-License-Identifier: MIT
// From the arguments of a call to checked tasks.
#pragma once

#include <type_traits>

#include "../cos_sin_cache.hpp"
#include "../errors.hpp"
#include "../positions.hpp"
#include "../tensor_view.hpp"
#include "checks.hpp"
#include "rotate.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

enum class Direction : unsigned char { forward, inverse, transpose };

/// A layout read from a file may be neither.
ROPE_ABI inline Status check_layout(Layout layout) noexcept {
    if (layout == Layout::interleaved || layout == Layout::half_split) return Status();
    return invalid("layout is ", static_cast<int>(layout),
                   "; it must be Layout::interleaved (0) or Layout::half_split (1).");
}

/// The default executor.
struct CallingThread {
    template <class F>
    ROPE_ABI void operator()(Index count, F&& f) const {
        f(Index(0), count);
    }
};

/// One tensor of a call with its table.
template <class In, class Out, class T>
struct Argument {
    TensorView<const In> in;
    TensorView<Out> out;
    const CosSinCache<T>& cache;
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
        static_assert(std::is_same_v<Storage, double> == std::is_same_v<T, double>,
                      "double data needs a CosSinCache<double>; float, half and bfloat16 data a CosSinCache<float>.");
    }
}

template <class Element>
ROPE_ABI constexpr void require_writable() noexcept {
    static_assert(!std::is_const_v<Element>, "This tensor is written, so its elements must not be const.");
}

template <class X, class T>
ROPE_ABI inline auto in_place(const char* name, X& x, const CosSinCache<T>& cache) noexcept {
    const auto v = as_view(x);
    using Element = std::remove_reference_t<decltype(*v.data)>;
    require_writable<Element>();
    require_element_for_table<Element, T>();
    return Argument<Element, Element, T>{v, v, cache, name, name, true};
}

template <class X, class Y, class T>
ROPE_ABI inline auto out_of_place(X& in, Y& out, const CosSinCache<T>& cache) noexcept {
    const auto x = as_view(in);
    const auto y = as_view(out);
    using In = std::remove_const_t<std::remove_reference_t<decltype(*x.data)>>;
    using Out = std::remove_reference_t<decltype(*y.data)>;
    require_writable<Out>();
    require_element_for_table<In, T>();
    require_element_for_table<Out, T>();
    return Argument<In, Out, T>{x, y, cache, "in", "out", false};
}

template <class... Arguments>
ROPE_ABI inline Status check_tensors(const Positions& positions, const Arguments&... arguments) noexcept {
    const CheckedTensor tensors[] = {
        {erased(arguments.in_name, arguments.in),
         erased(arguments.out_name, arguments.out),
         {arguments.cache.head_dim(), arguments.cache.first_position(), arguments.cache.max_positions()},
         arguments.in_place}...};
    return check_call(tensors, static_cast<int>(sizeof...(Arguments)), positions);
}

/// A view of the same bits under the library's own name for them, so that kernels exist once per storage type.
template <class Storage, class T>
ROPE_ABI inline TensorView<Storage> stored(const TensorView<T>& v) noexcept {
    return {reinterpret_cast<Storage*>(v.data),
            v.batch,
            v.seq,
            v.heads,
            v.head_dim,
            v.batch_stride,
            v.seq_stride,
            v.head_stride,
            v.feature_stride};
}

template <class In, class Out, class T>
ROPE_ABI inline auto make_task(Direction direction, const Positions& positions, const Argument<In, Out, T>& a) {
    using InStorage = typename ElementTraits<In>::storage;
    using OutStorage = typename ElementTraits<Out>::storage;
    const CosSinCache<T>& cache = a.cache;
    const double m = cache.attention_factor();
    const T scale = direction == Direction::inverse ? static_cast<T>(1.0 / (m * m)) : T(1);
    return Task<InStorage, OutStorage, T>{stored<const InStorage>(a.in),
                                          stored<OutStorage>(a.out),
                                          cache.data(),
                                          cache.first_position(),
                                          cache.pairs(),
                                          cache.rotary_offset(),
                                          scale,
                                          direction == Direction::forward ? scale : -scale,
                                          positions};
}

/// Checks everything, then hands all heads of all tensors to the executor as one range.
template <Layout layout, class Executor, class In, class Out, class T>
ROPE_ABI inline void run(Direction direction, const Positions& positions, Executor& executor,
                         const Argument<In, Out, T>& x) {
    if (!proceed(check_tensors(positions, x))) return;
    const auto task = make_task(direction, positions, x);
    const Index count = count_heads(task);
    if (count == 0) return;
    executor(count, [&task](Index begin, Index end) { rotate_heads<layout>(task, begin, end); });
}

template <Layout layout, class Executor, class Q, class K, class T>
ROPE_ABI inline void run(Direction direction, const Positions& positions, Executor& executor,
                         const Argument<Q, Q, T>& q, const Argument<K, K, T>& k) {
    if (!proceed(check_tensors(positions, q, k))) return;
    const auto q_task = make_task(direction, positions, q);
    const auto k_task = make_task(direction, positions, k);
    const Index q_count = count_heads(q_task);
    const Index count = q_count + count_heads(k_task);
    if (count == 0) return;
    executor(count, [&](Index begin, Index end) {
        if (begin < q_count) rotate_heads<layout>(q_task, begin, end < q_count ? end : q_count);
        if (end > q_count) rotate_heads<layout>(k_task, begin > q_count ? begin - q_count : 0, end - q_count);
    });
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
