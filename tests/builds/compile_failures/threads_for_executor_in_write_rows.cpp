// SPDX-License-Identifier: MIT
// expect: An executor is a callable, [](rope::Index count, auto&& f) { ... }
#include <rope/write_rows.hpp>

void user(float* to, const rope::CosSinCache<float>& cache) { rope::write_rows(cache, rope::start_at(0), 4, 1, to, 4); }
