// SPDX-License-Identifier: MIT
// ContiguousTransformer: keys and values of all tokens in one matrix for each layer.
#pragma once

#include <vector>

#include "model.hpp"
#include "transformer.hpp"

namespace llama {

class ContiguousTransformer : public Transformer {
 public:
    ContiguousTransformer(const Model& model, Index max_positions);

 protected:
    Remembered remember(Index layer, const Matrix& normed, Matrix& query) override;

    /// Rotates the queries of the new tokens in place, and returns the rotated keys of all tokens so far. `keys` is one of
    /// keys_; its last rows, as many as there are queries, are not rotated yet.
    virtual const Matrix& rotate(Matrix& query, Matrix& keys);

    // One matrix per layer, [max_positions, kv_dim]. Keys are stored rotated: a key is turned by its own
    // position once, and a later query, turned by its position, meets it at the right angle.
    std::vector<Matrix> keys_, values_;
};

}  // namespace llama
