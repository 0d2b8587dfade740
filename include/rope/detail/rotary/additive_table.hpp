// SPDX-License-Identifier: MIT
// AdditiveTable, the base of additive encodings, and their tensors.
#pragma once

#include <memory>
#include <type_traits>

#include "../../errors.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/executor.hpp"
#include "../call/arguments.hpp"
#include "../views/any_view.hpp"

ROPE_BEGIN
enum class SinusoidalVariant : unsigned char;  // <rope/additive.hpp>
ROPE_END

ROPE_SOURCE_BEGIN

/// A view of elements X. Headers alone compile the types that a program adds to; <rope/src.hpp> compiles all.
template <class X>
struct Embedded : AnyView {};

ROPE_SOURCE_END

ROPE_DETAIL_BEGIN

inline constexpr BufferNames kEmbeddingNames = {"view", {"batch", "seq", nullptr, "d_model"}};

/// Tensors whose ViewTraits say that they have three axes are read as [batch, seq, d_model] here, where apply
/// reads them as [seq, heads, head_dim].
template <class Traits, class = void>
inline constexpr bool has_three_axes = false;
template <class Traits>
inline constexpr bool has_three_axes<Traits, std::enable_if_t<Traits::tensor_rank == 3>> = true;

template <class Tensor>
inline auto as_embedding(Tensor& x) {
    auto v = as_view(x);
    if constexpr (has_three_axes<ViewTraits<Tensor>>) {
        v.batch = v.seq;
        v.batch_stride = v.seq_stride;
        v.seq = v.heads;
        v.seq_stride = v.head_stride;
        v.heads = 1;
    }
    return v;
}

/// A tensor as a view of its elements. (A refused one is empty, so that the compiler says nothing else.) T is the type of
/// the table.
template <class T, class X>
inline auto embedding_of(X& x) noexcept {
    using View = ViewOf<X>;
    static_assert(!is_no_tensor<X>,
                  "This argument is no tensor that rope knows: pass rope::embedding_view(ptr, batch, seq, d_model), "
                  "rope::view(eigen_matrix, 1), an Eigen Tensor or TensorMap of rank 3 or 4 (with <rope/eigen.hpp> "
                  "included), or specialise rope::ViewTraits for its type.");
    static_assert(has_elements<View>, ROPE_SAYS_ELEMENTS);
    static_assert(has_right_traits<View>, ROPE_SAYS_TRAITS);
    static_assert(is_writable<View>, ROPE_SAYS_CONST);
    static_assert(goes_with<View, T>, ROPE_SAYS_DOUBLE);
    if constexpr (is_accepted<View, true, T>)
        return Embedded<StorageOf<View>>{erased("x", as_embedding(x))};
    else
        return Embedded<T>();
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

/// The table [max_positions, d_model] of an additive encoding.
template <class T>
class AdditiveTable {
 protected:
    ROPE_ABI AdditiveTable() = default;
    ROPE_ABI AdditiveTable(const AdditiveTable&) = default;
    ROPE_ABI AdditiveTable& operator=(const AdditiveTable&) = default;
    ROPE_ABI ~AdditiveTable() = default;

    /// The entries of a position.
    ROPE_API const T* find(Index position) const;
    /// Adds to a tensor, or says why not.
    template <class X>
    ROPE_API Status add_rows(const Embedded<X>& x, const Positions& positions, const AnyExecutor& executor) const;
    ROPE_API Status check_tensor(const AnyView& x, const Positions& positions) const noexcept;

    /// Gets the memory and fills it with sines and cosines.
    ROPE_API void fill_sinusoidal(Index d_model, Index max_positions, SinusoidalVariant variant, double base);
    /// Gets the memory and copies the weights there.
    ROPE_API void copy_weights(const T* weights, Index max_positions, Index d_model);
    /// Copies the weights of another table.
    ROPE_API void copy_table(const AdditiveTable& other);

    std::shared_ptr<T[]> table_;
    Index max_positions_ = 0;
    Index d_model_ = 0;

 private:
    /// Checks the shape and gets the memory, uninitialised.
    void allocate(Index max_positions, Index d_model);
};

ROPE_SOURCE_END
