// SPDX-License-Identifier: MIT
#include "paged.hpp"

#include <cmath>
#include <cstddef>

namespace llama {

template <class T>
PagedTransformer<T>::PagedTransformer(const Model& model, Index max_positions)
    : Transformer(model, max_positions), pages_((max_positions + kPageSize - 1) / kPageSize) {
    const auto size = static_cast<std::size_t>(pages_ * kPageSize * model.shape.kv_dim());
    for (Index layer = 0; layer < model.shape.n_layers; ++layer)
        layers_.push_back({std::vector<T>(size), std::vector<T>(size)});
    for (Index page = 0; page < pages_; ++page) free_pages_.push_back(page);
    slots_.resize(pages_ * kPageSize);
    keys_.resize(max_positions, model.shape.kv_dim());
    values_.resize(max_positions, model.shape.kv_dim());
}

// The free pages are a stack, so the text lies in the pages from the last one to the first.
template <class T>
void PagedTransformer<T>::take_pages(Index tokens) {
    while (slot_count_ < tokens) {
        const Index page = free_pages_.back();
        free_pages_.pop_back();
        for (Index place = 0; place < kPageSize; ++place) slots_[slot_count_++] = page * kPageSize + place;
    }
}

template <class T>
template <class Slots>
rope::Paged<T> PagedTransformer<T>::paged(std::vector<T>& numbers, const Slots& slots) const {
    return rope::paged(numbers, pages_, kPageSize, model_.shape.n_kv_heads, model_.shape.head_dim(), slots);
}

// The one call of the library: queries are rotated and scaled where they are. Keys are rotated on their way into the
// pages, and values are only copied. Numbers are rounded to T once, when they are written.
template <class T>
void PagedTransformer<T>::write(Layer& layer, Matrix& query) {
    const Shape& shape = model_.shape;
    const auto slots = slots_.segment(position_, query.rows());
    const double scale = 1.0 / std::sqrt(static_cast<double>(shape.head_dim()));

    rope::pass(*model_.rotation.layout, cos_sin_, rope::start_at(position_),
               rope::heads(rope::view(query, shape.n_heads)).rotate().multiply(scale),
               rope::heads(rope::view(new_keys_, shape.n_kv_heads)).rotate().to(paged(layer.keys, slots)),
               rope::heads(rope::view(new_values_, shape.n_kv_heads)).to(paged(layer.values, slots)));
}

template <class T>
Remembered PagedTransformer<T>::remember(Index layer, const Matrix& normed, Matrix& query) {
    const Shape& shape = model_.shape;
    const Index tokens = position_ + normed.rows();
    Layer& pages = layers_[static_cast<std::size_t>(layer)];
    take_pages(tokens);

    new_keys_.noalias() = normed * layer_of(model_.wk, layer, shape.kv_dim()).transpose();
    new_values_.noalias() = normed * layer_of(model_.wv, layer, shape.kv_dim()).transpose();
    rope_time_.time([&] { write(pages, query); });

    // Attention of this engine reads matrices of floats, so the pages are read back in the order of the text.
    const auto slots = slots_.head(tokens);
    rope::dequantise(paged(pages.keys, slots), rope::view(keys_.topRows(tokens), shape.n_kv_heads));
    rope::dequantise(paged(pages.values, slots), rope::view(values_.topRows(tokens), shape.n_kv_heads));
    return {keys_, values_};
}

template class PagedTransformer<float>;
template class PagedTransformer<rope::bfloat16>;

}  // namespace llama
