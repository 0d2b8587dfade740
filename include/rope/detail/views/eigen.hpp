// SPDX-License-Identifier: MIT
// Definitions of eigen.hpp: views of matrices and tensors.
#pragma once

#include <cstddef>
#include <type_traits>

#include "../../eigen.hpp"
#include "../../errors.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/eigen_core.hpp"

#include <unsupported/Eigen/CXX11/Tensor>

ROPE_BEGIN

template <>
struct ElementTraits<Eigen::half> {
    using storage = half;
};
template <>
struct ElementTraits<Eigen::bfloat16> {
    using storage = bfloat16;
};

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

/// Whether a matrix type may hold its elements itself. A Ref to const copies a matrix whose strides it cannot express.
template <class Matrix>
inline constexpr bool may_own_data = std::is_base_of_v<Eigen::PlainObjectBase<Matrix>, Matrix>;
template <class Plain, int options, class Stride>
inline constexpr bool may_own_data<Eigen::Ref<const Plain, options, Stride>> = true;

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

template <class Derived,
          std::enable_if_t<std::is_base_of_v<Eigen::EigenBase<std::decay_t<Derived>>, std::decay_t<Derived>>, int>>
ROPE_ABI inline auto view(Derived&& matrix, Index heads) {
    using Matrix = std::decay_t<Derived>;
    constexpr bool is_in_memory = (int(Matrix::Flags) & int(Eigen::DirectAccessBit)) != 0;
    constexpr bool lasts = !is_in_memory || std::is_lvalue_reference_v<Derived&&> || !detail::may_own_data<Matrix>;
    static_assert(is_in_memory, "rope::view needs a matrix that lies in memory, not an expression: evaluate it first.");
    static_assert(lasts, "rope::view does not own data: this matrix is a temporary and would be gone. Give it a name.");
    if constexpr (is_in_memory && lasts) {
        using Element = std::remove_reference_t<decltype(*matrix.data())>;
        if (heads < 1 || matrix.cols() % heads != 0)
            detail::refuse(
                detail::invalid("heads is {}; it must be at least 1 and divide the {} {column|columns} of the matrix.",
                                {heads, matrix.cols()}));
        TensorView<Element> v;
        v.data = matrix.data();
        v.batch = 1;
        v.seq = matrix.rows();
        v.heads = heads;
        v.head_dim = matrix.cols() / heads;
        v.seq_stride = matrix.rowStride();
        v.feature_stride = matrix.colStride();
        const Index step = detail::clamped_product(v.head_dim, detail::absolute(v.feature_stride));
        v.head_stride = v.feature_stride < 0 ? -step : step;
        return v;
    } else {
        return detail::Refused();
    }
}

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

/// Rank 3 is [seq, heads, head_dim], rank 4 is [batch, seq, heads, head_dim], in Eigen's index order; the storage order
/// only changes the strides. tensor_rank tells additive encodings that three axes are [batch, seq, d_model] to them.
template <class Element, class Tensor>
struct TensorTraits {
    static constexpr int tensor_rank = Tensor::NumDimensions;
    static TensorView<Element> view(Tensor& tensor) noexcept {
        constexpr int rank = tensor_rank;
        static_assert(rank == 3 || rank == 4,
                      "rope takes Eigen tensors of rank 3 [seq, heads, head_dim] or 4 [batch, seq, heads, head_dim].");
        constexpr bool row_major = int(Tensor::Layout) == int(Eigen::RowMajor);
        Index extents[4] = {1, 1, 1, 1};
        Index strides[4] = {0, 0, 0, 1};
        for (int axis = 0; axis < rank; ++axis)
            extents[4 - rank + axis] = static_cast<Index>(tensor.dimensions()[static_cast<std::size_t>(axis)]);
        Index stride = 1;
        for (int step = 0; step < rank; ++step) {
            const int axis = row_major ? 3 - step : 4 - rank + step;
            strides[axis] = stride;
            stride = clamped_product(stride, extents[axis]);
        }
        return {static_cast<Element*>(tensor.data()),
                extents[0],
                extents[1],
                extents[2],
                extents[3],
                strides[0],
                strides[1],
                strides[2],
                strides[3]};
    }
};

template <class Plain>
using ElementOfMap = std::conditional_t<std::is_const_v<Plain>, const typename Plain::Scalar, typename Plain::Scalar>;

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

template <class T, int rank, int options, class IndexType>
struct ViewTraits<Eigen::Tensor<T, rank, options, IndexType>>
    : detail::TensorTraits<T, Eigen::Tensor<T, rank, options, IndexType>> {};
template <class T, int rank, int options, class IndexType>
struct ViewTraits<const Eigen::Tensor<T, rank, options, IndexType>>
    : detail::TensorTraits<const T, const Eigen::Tensor<T, rank, options, IndexType>> {};
template <class Plain, int options, template <class> class Pointer>
struct ViewTraits<Eigen::TensorMap<Plain, options, Pointer>>
    : detail::TensorTraits<detail::ElementOfMap<Plain>, const Eigen::TensorMap<Plain, options, Pointer>> {};
/// A const map of mutable data may be written through, as a const pointer variable may.
template <class Plain, int options, template <class> class Pointer>
struct ViewTraits<const Eigen::TensorMap<Plain, options, Pointer>>
    : ViewTraits<Eigen::TensorMap<Plain, options, Pointer>> {};

ROPE_END
