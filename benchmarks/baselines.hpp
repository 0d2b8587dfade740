// SPDX-License-Identifier: MIT
// Rotary embedding as it is commonly written, to compare with. All of them turn pairs of Layout::half_split, in
// float, for tokens at positions start, start + 1, ... of a contiguous [seq, heads, head_dim] buffer.
//
// They are compiled in a unit of their own, with the flags that suit them best (see CMakeLists.txt). This header has no
// function bodies, so that no linker can mix code made for different machines.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace bench {

struct Problem {
    std::ptrdiff_t seq, heads, head_dim, start;
    double base;
};

/// run(x) turns x and returns where the result is: x, or memory of its own that lives until the next call.
struct Baseline {
    const char* name;
    std::function<const float*(float*)> run;
};

/// The commonly written ones, what they need beforehand being made here.
std::vector<Baseline> baselines(const Problem& problem);

/// A table of cos and sin, rows as in CosSinCache, from the C library in double.
void fill_by_library(const std::vector<double>& inv_freq, std::ptrdiff_t max_positions, float* out);

/// cos and sin of all positions from 0 on, head_dim / 2 each, at this distance from one position to the next.
struct Rows {
    const float* cos;
    const float* sin;
    std::ptrdiff_t stride;
};

/// The plain loop out of place, in either layout.
void copy_half_split(const float* x, float* y, const Rows& rows, const Problem& problem);
void copy_interleaved(const float* x, float* y, const Rows& rows, const Problem& problem);

}  // namespace bench
