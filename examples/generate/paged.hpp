// SPDX-License-Identifier: MIT
// PagedTransformer: keys and values in pages, which rope::pass writes.
#pragma once

#include <Eigen/Core>
#include <rope/rope.hpp>
#include <vector>

#include "model.hpp"
#include "transformer.hpp"

namespace llama {

constexpr Index kPageSize = 16;  // tokens

/// T is the type of the numbers in the pages: float or rope::bfloat16.
template <class T>
class PagedTransformer : public Transformer {
 public:
    PagedTransformer(const Model& model, Index max_positions);

 protected:
    Remembered remember(Index layer, const Matrix& normed, Matrix& query) override;

 private:
    struct Layer {
        std::vector<T> keys, values;  // [pages, kPageSize, n_kv_heads, head_dim]
    };

    /// Takes pages from the free ones until the first `tokens` tokens have slots.
    void take_pages(Index tokens);
    /// Rotates the queries, and writes new_keys_, rotated, and new_values_ into the pages of the layer.
    void write(Layer& layer, Matrix& query);
    /// The pages of one layer, and in them the slots of some tokens.
    template <class Slots>
    rope::Paged<T> paged(std::vector<T>& numbers, const Slots& slots) const;

    const Index pages_;
    std::vector<Layer> layers_;
    std::vector<Index> free_pages_;  // the same in all layers

    // Entry t is the slot of token t. There are slots up to the end of the last page that was taken.
    Eigen::Matrix<Index, Eigen::Dynamic, 1> slots_;
    Index slot_count_ = 0;

    Matrix new_keys_, new_values_;  // of the tokens of the current call, as they are projected
    Matrix keys_, values_;          // of all tokens in the current layer, as they are read from the pages
};

}  // namespace llama
