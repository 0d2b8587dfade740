// SPDX-License-Identifier: MIT
// expect: double data needs a table of double (CosSinCache<double>) or an embedding of double
#include <rope/rope.hpp>

void user(double* q, const rope::SinusoidalEmbedding<float>& embedding) {
    embedding.add(rope::embedding_view(q, 1, 1, 8));
}
