// SPDX-License-Identifier: MIT
// A program that includes every public header after the macros of others, and what it writes where these stand in the
// way of the library's names.

// All of the standard library first: libstdc++ takes min and max away where it is first included, and does not compile
// after them later.
#if __has_include(<bits/stdc++.h>)
#    include <bits/stdc++.h>
#endif

#include "macros_of_others.hpp"

#include "every_header.hpp"  // made by ../public_headers.cmake

// The macros are as they were.
static_assert(min(2, 1) == 1 && max(1, 2) == 2 && Success == 0);
static_assert(sizeof(Status) == sizeof(int));
#if !defined(check) || !defined(require)
#    error "A macro of the program is gone."
#endif

rope::CheckResult first_refusal(const rope::Config& config, float* x, const rope::CosSinCache<float>& cache);
rope::CheckResult first_refusal(const rope::Config& config, float* x, const rope::CosSinCache<float>& cache) {
    check(x != nullptr);
    if (rope::CheckResult of_config = rope::validate(config); !of_config.ok()) return of_config;
    if (rope::CheckResult of_config = (rope::check)(config); !of_config.ok()) return of_config;
    const rope::SinusoidalEmbedding<float> sinusoidal(16, 4096);
    if (rope::CheckResult of_sum = (sinusoidal.check)(rope::view(x, 1, 1, 4096)); !of_sum.ok()) return of_sum;
    return rope::validate(rope::view(x, 1, 32, 128), cache, rope::start_at(7));
}

rope::CheckResult first_refusal(const rope::testing::Model& model, const rope::testing::Options& options);
rope::CheckResult first_refusal(const rope::testing::Model& model, const rope::testing::Options& options) {
    return rope::validate(model, options);
}
