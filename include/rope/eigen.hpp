// SPDX-License-Identifier: MIT
// Eigen's matrices and tensors as TensorViews, and tables as Eigen maps. Needs Eigen 3.4.
//
//     Eigen::MatrixXf q(seq, heads * head_dim);
//     rope::apply<rope::Layout::half_split>(rope::view(q, heads), cache, rope::start_at(n));
#pragma once

#include <type_traits>

#include "cos_sin_cache.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/containers.hpp"
#include "detail/base/eigen_core.hpp"

ROPE_BEGIN

/// A matrix whose rows are tokens and whose columns are heads * head_dim features, in any storage order and with any
/// strides: Matrix, Map, Ref, Block, transpose(). head_dim is cols / heads.
///
/// The elements are const when the matrix is; note that Eigen passes constness of a Map on to its data. Temporaries
/// that may own their elements are refused: a temporary matrix, and a temporary Eigen::Ref<const ...>, which copies a
/// matrix that does not fit it. As a named parameter of a function, a Ref is fine. Throws std::invalid_argument when
/// heads is below 1 or does not divide the columns.
template <class Derived,
          std::enable_if_t<std::is_base_of_v<Eigen::EigenBase<std::decay_t<Derived>>, std::decay_t<Derived>>, int> = 0>
ROPE_ABI inline auto view(Derived&& matrix, Index heads);

// Every operation takes Eigen's Tensor and TensorMap as they are: of rank 3 [seq, heads, head_dim], of rank 4 [batch,
// seq, heads, head_dim], in the order of Eigen's indices, whatever the storage order. (For the additive encodings three
// axes are [batch, seq, d_model].) A const TensorMap of mutable data may be written through, as a const pointer
// variable may. Eigen::half and Eigen::bfloat16 are elements, stored as rope::half and rope::bfloat16.

/// A table of a cache as an Eigen array of [max_positions, pairs], row 0 being first_position. Valid as long
/// as a copy of the cache lives.
template <class T>
using TableMap = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                            Eigen::OuterStride<>>;

/// Entry (r, i) is m*cos of pair i at position first_position + r. The map refers to the table.
template <class T>
ROPE_ABI inline TableMap<T> cos_table(const CosSinCache<T>& cache ROPE_LIFETIMEBOUND) {
    return TableMap<T>(cache.data(), cache.max_positions(), cache.pairs(), Eigen::OuterStride<>(cache.rotary_dim()));
}
/// The same for m*sin.
template <class T>
ROPE_ABI inline TableMap<T> sin_table(const CosSinCache<T>& cache ROPE_LIFETIMEBOUND) {
    return TableMap<T>(cache.data() + cache.pairs(), cache.max_positions(), cache.pairs(),
                       Eigen::OuterStride<>(cache.rotary_dim()));
}

ROPE_END

#include "detail/views/eigen.hpp"

#include "detail/base/restore_macros.hpp"
