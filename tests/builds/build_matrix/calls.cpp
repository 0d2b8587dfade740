// SPDX-License-Identifier: MIT
// A unit that calls and prints nothing: what its object needs from elsewhere is looked at by build_matrix.cmake. It
// is the other half of the unity build, too.
#include <rope/core.hpp>

void turn(float* q, rope::Index seq, const rope::CosSinCache<float>& cache);
void turn(float* q, rope::Index seq, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, seq, 32, 128), cache);
    rope::apply(rope::Layout::interleaved, rope::view(q, seq, 32, 128), cache, rope::start_at(7));
}

rope::CosSinCache<float> make(const rope::Config& config);
rope::CosSinCache<float> make(const rope::Config& config) { return rope::CosSinCache<float>(config, 4096); }
