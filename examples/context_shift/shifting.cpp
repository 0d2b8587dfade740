// SPDX-License-Identifier: MIT
#include "shifting.hpp"

#include <algorithm>

namespace llama {
namespace {

/// Rows first + count .. end - 1 move up by count rows.
void close_gap(Matrix& matrix, Index first, Index count, Index end) {
    float* const rows = matrix.data();
    const Index cols = matrix.cols();
    std::copy(rows + (first + count) * cols, rows + end * cols, rows + first * cols);
}

}  // namespace

void ShiftingTransformer::drop(Index first, Index count) {
    for (Matrix& keys : keys_) close_gap(keys, first, count, position_);
    for (Matrix& values : values_) close_gap(values, first, count, position_);
    position_ -= count;
}

void MovedKeys::drop(Index first, Index count) {
    ShiftingTransformer::drop(first, count);
    moves_.build(-count);
    for (Matrix& keys : keys_)
        rope::reposition(*model_.rotation.layout,
                         rope::view(keys.middleRows(first, position_ - first), model_.shape.n_kv_heads), moves_);
}

const Matrix& UnrotatedKeys::rotate(Matrix& query, Matrix& keys) {
    const rope::Layout layout = *model_.rotation.layout;
    const Index seen = position_ + query.rows(), n_kv_heads = model_.shape.n_kv_heads;
    rope::apply(layout, rope::view(query, model_.shape.n_heads), cos_sin_, rope::start_at(position_));
    rope::apply_copy(layout, rope::view(keys.topRows(seen), n_kv_heads), rope::view(rotated_.topRows(seen), n_kv_heads),
                     cos_sin_);
    return rotated_;
}

}  // namespace llama
