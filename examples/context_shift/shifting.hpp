// SPDX-License-Identifier: MIT
// Two Transformers that can forget tokens: one moves the cached keys, the other never rotated them.
#pragma once

#include <rope/rope.hpp>

#include <vector>

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

/// The same in pages of ggml's q8_0, 8 bits for a number, behind a Hadamard transform. What moves is 8 bits, too.
class QuantisedKeys : public ShiftingTransformer {
 public:
    /// Throws std::runtime_error if the keys of a token are not whole blocks of q8_0.
    QuantisedKeys(const Model& model, Index max_positions);

    void drop(Index first, Index count) override;

 protected:
    const Matrix& rotate(Matrix& query, Matrix& keys) override;

 private:
    rope::Destination cache(Index layer, Index first, Index count);

    // A block of q8_0 has 32 numbers, and a head of this model has 8. So the cache keeps all keys of a token as one head, in
    // which the frequencies of a head repeat. In the interleaved layout its pairs are the pairs of the heads.
    Index width_, block_bytes_;
    rope::CosSinCache<float> of_token_;
    rope::Moves<float> moves_;
    std::vector<int> slots_, free_slots_;            // of the tokens, in their order; of no token
    std::vector<std::vector<unsigned char>> pages_;  // of each layer
    Matrix read_;                                    // of one layer at a time
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
