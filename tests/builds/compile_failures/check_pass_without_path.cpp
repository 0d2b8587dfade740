// SPDX-License-Identifier: MIT
// expect: rope::pass takes rows, positions, and one or more paths
#include <rope/heads.hpp>

rope::Status user(const rope::CosSinCache<float>& cache) {
    return rope::check_pass<rope::Layout::half_split>(cache, rope::start_at(0));
}
