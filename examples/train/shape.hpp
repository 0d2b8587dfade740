// SPDX-License-Identifier: MIT
// Shape: which network is trained.
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace train {

using Eigen::Index;

/// How tokens know where they stand.
enum class Encoding : unsigned char {
    none,                ///< only the causal mask tells positions apart
    sinusoidal,          ///< sines and cosines are added to the embeddings (Vaswani et al., arXiv:1706.03762)
    learned,             ///< a trained row per position is added to the embeddings (GPT-2)
    t5,                  ///< a trained number per head and bucket of distances is added to scores (arXiv:1910.10683)
    alibi,               ///< scores fall linearly with the distance (arXiv:2108.12409)
    rotary,              ///< queries and keys rotate, half-split pairs (arXiv:2104.09864)
    rotary_interleaved,  ///< the same with interleaved pairs
    rotary_learned,      ///< half-split pairs with trained frequencies, w_i = base^(-2i/d) exp(a_i)
};
constexpr bool rotates(Encoding e) {
    return e == Encoding::rotary || e == Encoding::rotary_interleaved || e == Encoding::rotary_learned;
}
constexpr bool has_score_bias(Encoding e) { return e == Encoding::t5 || e == Encoding::alibi; }

enum class Attention : unsigned char {
    softmax,
    favor,  ///< linear attention, random features of the softmax kernel (Performer, arXiv:2009.14794)
    elu,    ///< linear attention, elu + 1 (arXiv:2006.16236)
};

/// Where linear attention rotates.
enum class RotateAt : unsigned char {
    before,  ///< queries and keys, before the features are made of them
    after,   ///< the features, in the numerator only (arXiv:2104.09864, equation 19)
};

struct Shape {
    Index dim = 128;      ///< features of a token
    Index layers = 2;     //
    Index heads = 4;      ///< divides dim
    Index context = 256;  ///< tokens of a sequence in training
    Encoding encoding = Encoding::rotary;
    Attention attention = Attention::softmax;
    RotateAt rotate_at = RotateAt::before;
    Index rotary_dim = 0;    ///< features of a head that rotate; 0: all of them
    double base = 10000.0;   ///< of rotary frequencies
    Index window = 0;        ///< local attention: a token sees so many, itself included; 0: all before it
    Index features = 256;    ///< random features per head of favor
    std::uint64_t seed = 1;  ///< of the first weights and of the random features

    Index head_dim() const { return dim / heads; }
    Index hidden() const { return 4 * dim; }
    /// Features that linear attention makes of a head.
    Index feature_dim() const { return attention == Attention::favor ? features : head_dim(); }
    /// Features of what rotates.
    Index rotated_dim() const { return is_linear() && rotate_at == RotateAt::after ? feature_dim() : head_dim(); }
    Index pairs() const { return (rotary_dim > 0 ? rotary_dim : rotated_dim()) / 2; }
    bool is_linear() const { return attention != Attention::softmax; }
};

constexpr Index kBytes = 256;  ///< the vocabulary

/// Activations and weights are row-major: row t is token t, row i of a weight makes output feature i, y = x * weight^T.
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

}  // namespace train
