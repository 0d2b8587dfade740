// SPDX-License-Identifier: MIT
#include "shifting.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

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

namespace {

constexpr Index kPageSize = 16, kBlock = 32, kBytesOfBlock = 34;

rope::Frequencies of_token(const Model& model) {
    rope::Frequencies f = rope::frequencies(model.rotation);
    const rope::List<double> of_head = f.inv_freq;
    f.inv_freq_low.clear();
    for (Index h = 1; h < model.shape.n_kv_heads; ++h)
        f.inv_freq.insert(f.inv_freq.end(), of_head.begin(), of_head.end());
    return f;
}
Index checked_width(const Model& model) {
    const Index width = model.shape.kv_dim();
    if (width % kBlock != 0)
        throw std::runtime_error("The keys of a token have " + std::to_string(width) +
                                 " numbers; --cache q8_0 needs a multiple of 32.");
    return width;
}

}  // namespace

QuantisedKeys::QuantisedKeys(const Model& model, Index max_positions)
    : ShiftingTransformer(model, max_positions),
      width_(checked_width(model)),
      block_bytes_(width_ / kBlock * kBytesOfBlock),
      of_token_(of_token(model), max_positions),
      moves_(of_token(model)),
      read_(max_positions, width_) {
    const Index places = (max_positions + kPageSize - 1) / kPageSize * kPageSize;
    pages_.assign(static_cast<std::size_t>(model.shape.n_layers),
                  std::vector<unsigned char>(static_cast<std::size_t>(places * block_bytes_)));
    for (Index slot = 0; slot < places; ++slot) free_slots_.push_back(static_cast<int>(slot));  // the last one first
}

/// The keys of tokens first .. first + count - 1.
rope::Destination QuantisedKeys::cache(Index layer, Index first, Index count) {
    std::vector<unsigned char>& pages = pages_[static_cast<std::size_t>(layer)];
    const Index page_bytes = kPageSize * block_bytes_;
    return rope::q8_0(
        rope::paged(pages.data(), static_cast<Index>(pages.size()) / page_bytes, kPageSize, 1, block_bytes_)
            .with_slots(slots_.data() + first, count));
}

const Matrix& QuantisedKeys::rotate(Matrix& query, Matrix& keys) {
    rope::apply(*model_.rotation.layout, rope::view(query, model_.shape.n_heads), cos_sin_, rope::start_at(position_));
    const Index layer = &keys - keys_.data(), fresh = query.rows(), seen = position_ + fresh;
    while (static_cast<Index>(slots_.size()) < seen) {
        slots_.push_back(free_slots_.back());
        free_slots_.pop_back();
    }
    rope::pass<rope::Layout::interleaved>(of_token_, rope::start_at(position_),
                                          rope::heads(rope::view(keys.middleRows(position_, fresh), 1))
                                              .rotate()
                                              .hadamard()
                                              .to(cache(layer, position_, fresh)));
    rope::pass(rope::heads(cache(layer, 0, seen)).hadamard().to(rope::view(read_.topRows(seen), 1)));
    return read_;
}

void QuantisedKeys::drop(Index first, Index count) {
    ShiftingTransformer::drop(first, count);
    const auto begin = slots_.begin() + first, end = begin + count;
    free_slots_.insert(free_slots_.end(), begin, end);
    slots_.erase(begin, end);
    moves_.build(-count);
    for (Index layer = 0; layer < model_.shape.n_layers; ++layer)
        rope::reposition<rope::Layout::interleaved>(rope::under_hadamard(cache(layer, first, position_ - first)),
                                                    moves_);
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
