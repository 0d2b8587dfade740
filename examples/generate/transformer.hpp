// SPDX-License-Identifier: MIT
// Transformer: runs a Llama over tokens and remembers what it has seen.
#pragma once

#include <Eigen/Core>
#include <rope/rope.hpp>
#include <vector>

#include "../stopwatch.hpp"
#include "model.hpp"

namespace llama {

/// The keys and values of one layer: row t belongs to token t. Rows beyond the last token are not set.
struct Remembered {
    const Matrix& keys;
    const Matrix& values;
};

/// The network. Each call computes the new tokens alone, because a derived class remembers the keys and values of every
/// token so far: in matrices (contiguous.hpp) or in pages (paged.hpp). A whole prompt and a single token take the same
/// path: both are a matrix with one row per token.
class Transformer {
 public:
    /// Serves positions 0 .. max_positions - 1. The model must live as long.
    Transformer(const Model& model, Index max_positions);
    virtual ~Transformer() = default;

    /// Runs the tokens at positions position(), position() + 1, ... and returns the scores (logits) of what
    /// may follow the last of them, one per token of the vocabulary. The result is overwritten by the next
    /// call. Throws std::out_of_range when the positions do not suffice.
    const Eigen::VectorXf& forward(const std::vector<int>& tokens);

    /// Tokens seen so far, which is the position of the next one.
    Index position() const { return position_; }

    /// How much of the time in forward went into the library's calls.
    double rope_seconds() const { return rope_time_.seconds(); }

 protected:
    /// Computes the keys and values of the new tokens, whose normed states are the rows of `normed`, and remembers them.
    /// Rotates the queries of these tokens and divides them by the root of head_dim, in place. Returns the keys and values
    /// of all tokens so far, the new ones included; the references are valid until the next call.
    virtual Remembered remember(Index layer, const Matrix& normed, Matrix& query) = 0;

    const Model& model_;
    const rope::CosSinCache<float> cos_sin_;
    Index position_ = 0;
    timing::Stopwatch rope_time_;

 private:
    void attention(Index layer);
    void feed_forward(Index layer);

    // The state of the tokens of the current call, [seq, dim], and what the layers need on the way.
    Matrix x_, normed_, query_, scores_, mixed_, gate_, up_;
    Eigen::VectorXf logits_;
};

}  // namespace llama
