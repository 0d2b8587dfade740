// SPDX-License-Identifier: MIT
// Attention by parts, for a ring, and by its definition, to compare with. Nothing here knows of ranks.
#pragma once

#include <rope/rope.hpp>

#include <vector>

constexpr rope::Index kHeads = 4, kKvHeads = 2, kHeadDim = 64;
constexpr rope::Index kWidth = kHeads * kHeadDim, kKvWidth = kKvHeads * kHeadDim;
constexpr rope::Layout kLayout = rope::Layout::half_split;

using List = std::vector<rope::Index>;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;  // [tokens, heads * head_dim]

rope::Config config();

struct Tokens {
    Matrix q, kv;  // keys and, right of them, values, so that both travel in one piece

    auto keys() { return kv.leftCols(kKvWidth); }
};

/// The tokens of these indices in the pack. A token's numbers are drawn from its index, whoever asks.
Tokens make_tokens(const List& indices);

/// What queries have gathered so far, by a softmax that looks at every score once.
class Gathered {
 public:
    explicit Gathered(rope::Index queries);

    /// What query `t` sees of a block: its first `seen` tokens, at least 1.
    void add(rope::Index t, const Matrix& q, const Matrix& kv, rope::Index begin, rope::Index seen);

    /// When all was seen.
    Matrix result() const;

 private:
    Matrix out_, sum_, largest_;  // weights are exp(score - largest_), and out_ is to be divided by their sum_
};

/// What it should be.
struct Plain {
    Matrix q, k;  // turned
    Eigen::MatrixXd out;
};

/// One process: each sequence by itself at positions 0, 1, 2, ..., turned from a table; attention in double.
Plain plain_attention(const List& cu_seqlens);
