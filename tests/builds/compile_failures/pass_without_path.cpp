// SPDX-License-Identifier: MIT
// expect: rope::pass takes rows, positions or none, and one or more paths
#include <rope/heads.hpp>

void user(const rope::CosSinCache<float>& cache) { rope::pass<rope::Layout::half_split>(cache, rope::start_at(0)); }
