// SPDX-License-Identifier: MIT
#include "contiguous.hpp"

#include <rope/rope.hpp>

#include <cmath>
#include <cstddef>

namespace llama {

ContiguousTransformer::ContiguousTransformer(const Model& model, Index max_positions)
    : Transformer(model, max_positions) {
    for (Index layer = 0; layer < model.shape.n_layers; ++layer) {
        keys_.emplace_back(max_positions, model.shape.kv_dim());
        values_.emplace_back(max_positions, model.shape.kv_dim());
    }
}

// The one call of the library: queries and new keys, each seen as [seq, heads, head_dim] with its own number of
// heads, turn in place, the keys inside the cache itself.
const Matrix& ContiguousTransformer::rotate(Matrix& query, Matrix& keys) {
    auto new_keys = keys.middleRows(position_, query.rows());
    rope::apply(*model_.rotation.layout, rope::view(query, model_.shape.n_heads),
                rope::view(new_keys, model_.shape.n_kv_heads), cos_sin_, rope::start_at(position_));
    return keys;
}

Remembered ContiguousTransformer::remember(Index layer, const Matrix& normed, Matrix& query) {
    const Index seq = normed.rows(), kv_dim = model_.shape.kv_dim();
    Matrix& keys = keys_[static_cast<std::size_t>(layer)];
    Matrix& values = values_[static_cast<std::size_t>(layer)];
    keys.middleRows(position_, seq).noalias() = normed * layer_of(model_.wk, layer, kv_dim).transpose();
    values.middleRows(position_, seq).noalias() = normed * layer_of(model_.wv, layer, kv_dim).transpose();

    const Matrix* rotated = nullptr;
    rope_time_.time([&] { rotated = &rotate(query, keys); });
    query /= std::sqrt(static_cast<float>(model_.shape.head_dim()));
    return {*rotated, values};
}

}  // namespace llama
