// SPDX-License-Identifier: MIT
// The rotation written three ways, slow and obvious, to check the fast one against. Needs Eigen.
//
// Nothing here is shared with the tables: cos and sin are the C library's, in long double. Where long double has 64
// bits of mantissa, they are within 2^-57 of the formula at every position below 2^31.
//
//     const Eigen::MatrixXd r = rope::reference::rotation_matrix<rope::Layout::half_split>(config, position);
//     const Eigen::VectorXd rotated = r * head;                        // one head, as apply rotates it in place
#pragma once

#include "config.hpp"
#include "frequencies.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/eigen_core.hpp"

ROPE_BEGIN
namespace reference {

/// The C library's cos and sin, which -ffast-math does not replace.
ROPE_ABI inline long double cos(long double x);
ROPE_ABI inline long double sin(long double x);

/// m*cos(t) and m*sin(t) of t = position * w, w = inv_freq + inv_freq_low, for one pair; m is its magnitude there.
struct CosSin {
    ROPE_CROSSES_AGGREGATE(CosSin)
    long double cos, sin;
};
/// The frequencies are not checked; `pair` is from 0 to inv_freq.size() - 1.
ROPE_ABI inline CosSin cos_sin(const Frequencies& f, Index pair, Index position);

/// The two features of pair i within the rotated slice, 0 .. 2 * pairs - 1: (a, b) is what the rotation turns by t.
struct PairIndex {
    ROPE_CROSSES_AGGREGATE(PairIndex)
    Index a, b;
};
/// `pair` is from 0 to pairs - 1, which is not checked.
ROPE_ABI inline PairIndex pair_index(Layout layout, Index pair, Index pairs) noexcept;

/// The dense [head_dim, head_dim] matrix R with  apply(x) = R x:  for each pair
///
///     | R(a,a)  R(a,b) |       | cos t  -sin t |
///     | R(b,a)  R(b,b) |  = m  | sin t   cos t |
///
/// and 1 on the diagonal for the features that pass through. Entries are within 2^-53 of the formula up to position
/// 4096. The slice says where in the head the rotated features lie; by default they are the head. Throws
/// std::invalid_argument when check(frequencies) is not ok or the slice does not fit.
ROPE_ABI inline Eigen::MatrixXd rotation_matrix(Layout layout, const Frequencies& f, Index position,
                                                HeadSlice slice = {});

/// The same with frequencies(config, seq_len), and throws as it does.
ROPE_ABI inline Eigen::MatrixXd rotation_matrix(Layout layout, const Config& config, Index position, Index seq_len = 0);
/// The same with the layout in angle brackets, as apply has it.
template <Layout layout>
ROPE_ABI inline Eigen::MatrixXd rotation_matrix(const Config& config, Index position, Index seq_len = 0) {
    return rotation_matrix(layout, config, position, seq_len);
}

/// One head rotated as the papers write it: pair i is the complex number x_a + i x_b, times m e^(i t). Features outside
/// the slice pass through. The frequencies are frequencies(config), for sequences within the original context. Throws
/// std::invalid_argument when x does not have head_dim features or check(config) is not ok.
template <Layout layout>
ROPE_ABI inline Eigen::VectorXd rotate_complex(const Eigen::VectorXd& x, const Config& config, Index position);

/// One head rotated as model code writes it: x * cos + rotate(x) * sin, where rotate(x) is (-x_b, x_a) in each pair and
/// cos and sin are spread over the features. Throws as above.
template <Layout layout>
ROPE_ABI inline Eigen::VectorXd rotate_cos_sin(const Eigen::VectorXd& x, const Config& config, Index position);

}  // namespace reference
ROPE_END

#include "detail/testing/reference.hpp"

#include "detail/base/restore_macros.hpp"
