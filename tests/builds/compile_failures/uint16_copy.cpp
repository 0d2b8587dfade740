// SPDX-License-Identifier: MIT
// expect: for 16-bit integers that hold such bits: rope::as_half(ptr), rope::as_bfloat16(ptr)
#include <rope/rope.hpp>

#include <cstdint>

void user(const float* q, std::uint16_t* out, const rope::CosSinCache<float>& cache) {
    rope::apply_copy<rope::Layout::half_split>(rope::view(q, 1, 1, 8), rope::view(out, 1, 1, 8), cache);
}
