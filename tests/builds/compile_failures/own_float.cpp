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

void user(Own* q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache);
}
