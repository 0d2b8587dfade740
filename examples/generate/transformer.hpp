// SPDX-License-Identifier: MIT
// Transformer: runs a Llama over tokens and remembers what it has seen.
#pragma once

#include <Eigen/Core>
#include <rope/rope.hpp>
#include <vector>

#include "model.hpp"
#include "stopwatch.hpp"

namespace llama {

/// Holds the keys and values of every token so far, so that each call computes the new tokens alone. A whole
/// prompt and a single token take the same path: both are a matrix with one row per token.
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

    /// How much of the time in forward went into rotating queries and keys.
    double rope_seconds() const { return rope_time_.seconds(); }

 protected:
    /// Turns the queries of the new tokens in place, and returns the keys to meet them: those of all tokens so far,
    /// turned. `keys` is one of keys_; the new ones in it, as many as there are queries, are not turned yet.
    virtual const Matrix& rotate(Matrix& query, Matrix& keys);

    const Model& model_;
    const rope::CosSinCache<float> cos_sin_;

    // One matrix per layer, [max_positions, kv_dim]. Keys are stored rotated: a key is turned by its own
    // position once, and a later query, turned by its position, meets it at the right angle.
    std::vector<Matrix> keys_, values_;
    Index position_ = 0;

 private:
    void attention(Index layer);
    void feed_forward(Index layer);

    // The state of the tokens of the current call, [seq, dim], and what the layers need on the way.
    Matrix x_, normed_, query_, scores_, mixed_, gate_, up_;
    Eigen::VectorXf logits_;
    Stopwatch rope_time_;
};

}  // namespace llama
