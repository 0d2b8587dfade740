// SPDX-License-Identifier: MIT
// expect: This tensor is written, so its elements must not be const.
#include <rope/rope.hpp>

void user(const float* q, const rope::SinusoidalEmbedding<float>& embedding) {
    embedding.add(rope::embedding_view(q, 1, 1, 8));
}
