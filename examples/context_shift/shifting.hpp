// SPDX-License-Identifier: MIT
// Two Transformers that can forget tokens: one moves the cached keys, the other never rotated them.
#pragma once

#include <rope/rope.hpp>

#include "contiguous.hpp"
#include "model.hpp"

namespace llama {

class ShiftingTransformer : public ContiguousTransformer {
 public:
    using ContiguousTransformer::ContiguousTransformer;

    /// Forgets tokens first .. first + count - 1. Those after them take their places: what stood at position p stands
    /// at p - count, and position() is so much less.
    virtual void drop(Index first, Index count);
};

/// Keys are rotated once, by the position at which they come in. When that changes, the cached key turns by the
/// difference: the program's subject.
class MovedKeys : public ShiftingTransformer {
 public:
    MovedKeys(const Model& model, Index max_positions)
        : ShiftingTransformer(model, max_positions), moves_(model.rotation) {}

    void drop(Index first, Index count) override;

 private:
    rope::Moves<float> moves_;
};

/// Keys stay as they were projected, and each step rotates copies of them all by the positions they have by then:
/// nothing to move and nothing rounded twice, but as many rotations at every step as there are tokens.
class UnrotatedKeys : public ShiftingTransformer {
 public:
    UnrotatedKeys(const Model& model, Index max_positions)
        : ShiftingTransformer(model, max_positions), rotated_(max_positions, model.shape.kv_dim()) {}

 protected:
    const Matrix& rotate(Matrix& query, Matrix& keys) override;

 private:
    Matrix rotated_;  // of one layer at a time
};

}  // namespace llama
