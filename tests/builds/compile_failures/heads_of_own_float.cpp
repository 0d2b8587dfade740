// SPDX-License-Identifier: MIT
// expect: Types of your own may stand for rope::half and rope::bfloat16
#include <rope/rope.hpp>

#include <cstdint>

struct Own {
    std::uint32_t bits;
};
template <>
struct rope::ElementTraits<Own> {
    using storage = float;
};

void user(const Own* k) {
    const rope::Path path = rope::heads(rope::view(k, 1, 1, 8));
    static_cast<void>(path);
}
