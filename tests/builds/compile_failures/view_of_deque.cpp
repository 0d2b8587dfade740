// SPDX-License-Identifier: MIT
// expect: rope::view takes (ptr, seq, heads, head_dim)
#include <rope/rope.hpp>

#include <deque>

void user(std::deque<float>& q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache);
}
