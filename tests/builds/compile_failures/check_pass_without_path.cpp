// SPDX-License-Identifier: MIT
// expect: rope::check_pass takes what rope::pass takes
#include <rope/heads.hpp>

rope::Status user(const rope::CosSinCache<float>& cache) {
    return rope::check_pass<rope::Layout::half_split>(cache, rope::start_at(0));
}
