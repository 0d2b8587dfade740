// SPDX-License-Identifier: MIT
// Shared by tests of rope.h that rotate: a tensor of heads, of which a part is rotated, and its table, in both languages.
#pragma once

#include <rope/rope.h>
#include <rope/config.hpp>
#include <rope/cos_sin_cache.hpp>
#include <rope/types.hpp>

#include "c/c_interface.hpp"

namespace c_test {

inline constexpr Index kBatch = 2, kSeq = 3, kHeads = 4, kDim = 64, kTokens = kBatch * kSeq;

/// A rope_config or a Config with the members that both have.
template <class C>
C partly_rotated(C c) {
    c.head_dim = kDim;
    c.rotary_dim = 48;
    c.rotary_offset = 8;
    c.attention_factor = 1.25;
    return c;
}
inline rope::Config config_in_cpp() { return partly_rotated(rope::Config()); }
inline rope_config config_in_c() { return partly_rotated(make<rope_config>()); }

template <class T>
const rope::CosSinCache<T>& expected_table() {
    static const rope::CosSinCache<T> made_table(config_in_cpp(), 300);
    return made_table;
}
template <class T>
const rope_rows* given_table() {
    static const auto made_table = table(config_in_c(), 300, type_of<T>);
    return made_table.get();
}

}  // namespace c_test
