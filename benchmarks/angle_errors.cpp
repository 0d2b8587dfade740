// SPDX-License-Identifier: MIT
// The largest error of a cosine or sine, by the way in which an engine computes the angle. No time is
// measured, so the table is the same on every machine (but for the last digits of its C library).
#include <rope/core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

using rope::Index;

constexpr Index kPairs = 64, kPositions = 64;  // head_dim 128; the positions up to the one that is named

/// Floats, so that each way rounds: g++ 12 leaves out the two roundings of {double(float(a)), double(float(b))}.
struct CosSin {
    float cos, sin;
};
/// The numbers that a way computes for pair i at position p.
using Way = std::function<CosSin(Index p, Index i)>;

CosSin of_angle(float angle) { return {std::cos(angle), std::sin(angle)}; }
float as_bfloat16(float x) { return rope::to_float(rope::to_bfloat16(x)); }

/// Against the exact ones, to more digits than any way has.
double largest_error(double base, Index last, const Way& way) {
    double largest = 0.0;
    for (Index p = last - kPositions + 1; p <= last; ++p)
        for (Index i = 0; i < kPairs; ++i) {
            const long double angle = static_cast<long double>(p) *
                                      std::pow(static_cast<long double>(base), -static_cast<long double>(i) / kPairs);
            const CosSin got = way(p, i);
            const long double of_cos = std::abs(std::cos(angle) - static_cast<long double>(got.cos)),
                              of_sin = std::abs(std::sin(angle) - static_cast<long double>(got.sin));
            largest = std::max({largest, static_cast<double>(of_cos), static_cast<double>(of_sin)});
        }
    return largest;
}

/// Rows of a table, looked up.
Way from(const rope::CosSinCache<float>& table) {
    return [table](Index p, Index i) { return CosSin{table.cos_row(p)[i], table.sin_row(p)[i]}; };
}

void print(double base) {
    constexpr Index lasts[] = {2048, 32768, 131072, 1000000};
    std::printf("\n| base %.0f | position 2048 | 32768 | 131072 | 10^6 |\n|---|---|---|---|---|\n", base);
    rope::Config config;
    config.head_dim = 2 * kPairs;
    config.base = base;
    const float step = std::pow(static_cast<float>(base), -1.0f / kPairs);
    const auto frequency = [base](Index i) { return std::pow(base, -static_cast<double>(i) / kPairs); };
    const auto line = [&](const char* name, const std::function<Way(Index)>& way_up_to) {
        std::printf("| %s |", name);
        for (const Index last : lasts) std::printf(" %.1e |", largest_error(base, last, way_up_to(last)));
        std::printf("\n");
    };
    line("position, frequency and product in bfloat16", [&](Index) {
        return [&](Index p, Index i) {
            return of_angle(as_bfloat16(as_bfloat16(float(p)) * as_bfloat16(float(frequency(i)))));
        };
    });
    line("each angle the one before it times a factor, in float (ggml)", [&](Index) {
        return [&](Index p, Index i) {
            float angle = static_cast<float>(p);
            for (Index k = 0; k < i; ++k) angle *= step;
            return of_angle(angle);
        };
    });
    line("position times frequency in float (PyTorch)", [&](Index last) {
        return from(rope::CosSinCache<float>::float32_chain(config, kPositions, last - kPositions + 1));
    });
    line("in double, rounded to float", [&](Index) {
        return [&](Index p, Index i) {
            const double angle = static_cast<double>(p) * frequency(i);
            return CosSin{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
        };
    });
    line("this library",
         [&](Index last) { return from(rope::CosSinCache<float>(config, kPositions, last - kPositions + 1)); });
}

}  // namespace

int main() {
    std::printf("Largest error of a cosine or sine, head_dim %d, the %d positions up to the one named\n",
                static_cast<int>(2 * kPairs), static_cast<int>(kPositions));
    print(10000.0);
    print(500000.0);
}
