// SPDX-License-Identifier: MIT
// Small models made by hand, and tokens to turn with them.
#pragma once

#include <rope/core.hpp>
#include <rope/model_config.hpp>

#include <cstring>
#include <utility>
#include <vector>

#include "data.hpp"

namespace support {

inline rope::Config config_of(Index head_dim, double base, rope::Layout layout = rope::Layout::half_split) {
    rope::Config config;
    config.head_dim = head_dim;
    config.base = base;
    config.layout = layout;
    return config;
}

inline rope::ModelConfig model_of(std::vector<rope::Config> configs, std::vector<Index> config_of_layer,
                                  Index max_position_embeddings) {
    rope::ModelConfig model;
    model.max_position_embeddings = max_position_embeddings;
    model.configs = std::move(configs);
    for (const Index c : config_of_layer)
        model.layer_types.push_back(c < 0 ? rope::LayerType::no_attention : rope::LayerType::full_attention);
    model.heads.resize(config_of_layer.size(), {4, 2, 2});
    model.config_of_layer = std::move(config_of_layer);
    return model;
}

/// Whether two tables are the same in every bit and in what they say of themselves.
template <class T>
bool same_table(const rope::CosSinCache<T>& a, const rope::CosSinCache<T>& b) {
    return a.max_positions() == b.max_positions() && a.pairs() == b.pairs() && a.head_dim() == b.head_dim() &&
           a.rotary_offset() == b.rotary_offset() && a.first_position() == 0 && b.first_position() == 0 &&
           a.attention_factor() == b.attention_factor() && a.layout() == b.layout() &&
           a.magnitude_grows() == b.magnitude_grows() && std::memcmp(a.data(), b.data(), b.bytes()) == 0;
}

/// q and k of some tokens.
template <class X>
struct Tokens {
    static constexpr Index kSeq = 5, kHeads = 4, kKeyHeads = 2;
    Index head_dim;
    std::vector<X> q = normal<X>(kSeq * kHeads * head_dim, 1);
    std::vector<X> k = normal<X>(kSeq * kKeyHeads * head_dim, 2);

    explicit Tokens(Index d) : head_dim(d) {}
    rope::TensorView<X> q_view() { return rope::view(q.data(), kSeq, kHeads, head_dim); }
    rope::TensorView<X> k_view() { return rope::view(k.data(), kSeq, kKeyHeads, head_dim); }
    bool operator==(const Tokens& other) const { return same_bits(q, other.q) && same_bits(k, other.k); }
};

}  // namespace support
