// SPDX-License-Identifier: MIT
// expect: double data needs an embedding of T = double
#include <rope/rope.hpp>

void user(double* q, const rope::SinusoidalEmbedding<float>& embedding) {
    embedding.add(rope::embedding_view(q, 1, 1, 8));
}
