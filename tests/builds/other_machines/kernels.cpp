// SPDX-License-Identifier: MIT
// A user's unit with kernels of every element type and both layouts.
#include <rope/additive.hpp>
#include <rope/core.hpp>

template <class X, class T>
void turn(X* x, const rope::CosSinCache<T>& cache, rope::Index position) {
    rope::apply<rope::Layout::half_split>(rope::view(x, 1, 32, 128), cache, rope::start_at(position));
    rope::apply<rope::Layout::interleaved>(rope::view(x, 1, 32, 128), cache, rope::start_at(position));
}
template void turn(float* x, const rope::CosSinCache<float>& cache, rope::Index position);
template void turn(double* x, const rope::CosSinCache<double>& cache, rope::Index position);
template void turn(rope::half* x, const rope::CosSinCache<float>& cache, rope::Index position);
template void turn(rope::bfloat16* x, const rope::CosSinCache<float>& cache, rope::Index position);

void add(float* x, const rope::SinusoidalEmbedding<float>& embedding, rope::Index position);
void add(float* x, const rope::SinusoidalEmbedding<float>& embedding, rope::Index position) {
    embedding.add(rope::view(x, 1, 1, 4096), rope::start_at(position));
}
