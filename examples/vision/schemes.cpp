// SPDX-License-Identifier: MIT
#include "schemes.hpp"

#include <rope/position_builders.hpp>

#include <cmath>
#include <numeric>

namespace vision {
namespace {

constexpr double kPi = 3.14159265358979323846;

rope::Frequencies frequencies(double base, double interpolation_factor, const rope::Schedule& schedule) {
    rope::Config config;
    config.head_dim = kHeadDim;
    config.base = base;
    config.interpolation_factor = interpolation_factor;
    config.schedule = schedule;
    return rope::frequencies(config);
}

/// What a mixed model's training begins with: two waves of each length, at right angles, the first of them `angle` from
/// the x axis (drawn for each head; here one for all). Numbers for x come first, then those for y.
rope::Frequencies mixed_frequencies(double base, double angle) {
    rope::Frequencies f;
    for (const double axis : {0.0, 0.5 * kPi})
        for (const double direction : {angle, angle + 0.5 * kPi})
            for (Index j = 0; j < kHeadDim / 4; ++j)
                f.inv_freq.push_back(std::pow(base, -static_cast<double>(4 * j) / static_cast<double>(kHeadDim)) *
                                     std::cos(direction - axis));
    return f;
}

std::vector<double> as_doubles(const std::vector<Index>& list) { return {list.begin(), list.end()}; }

}  // namespace

std::vector<Scheme> schemes() {
    using rope::Layout;
    const rope::AxisMap halves = rope::mrope_sections({kHeadDim / 4, kHeadDim / 4});
    const rope::schedule::Axial axial = {2};

    // The image as a line of text: one number after the other, row after row.
    const Scheme raster = {"1-D raster",
                           Layout::half_split,
                           frequencies(1e4, 1.0, {}),
                           {},
                           [](Grid grid) {
                               std::vector<double> list(static_cast<std::size_t>(grid.tokens()));
                               std::iota(list.begin(), list.end(), 0.0);
                               return list;
                           },
                           true};
    // Qwen's vision tower: half of the pairs follow the row and half the column, with the same frequencies.
    const Scheme two_axes = {"2-D axial", Layout::half_split, frequencies(1e4, 1.0, axial), halves,
                             [](Grid grid) { return as_doubles(rope::image_grid(grid.height, grid.width)); }};
    // Qwen3-VL's language model: pairs follow time, row and column by turns. An image is a single moment.
    const Scheme mrope = {"M-RoPE interleaved", Layout::half_split, frequencies(5e6, 1.0, {}),
                          rope::mrope_interleaved({24, 20, 20}),
                          [](Grid grid) { return as_doubles(rope::video_grid(1, grid.height, grid.width)); }};
    // rope-vit: every pair follows both axes, so that its wave has a direction of its own.
    const Scheme mixed = {"rope-vit mixed", Layout::interleaved, mixed_frequencies(10.0, kPi / 6.0),
                          rope::mixed_axes(2), [](Grid grid) {
                              return as_doubles(rope::image_grid(grid.height, grid.width, {0, 0, true, 1}));
                          }};
    // DINOv3: the image reaches from -1 to 1, whatever its resolution.
    const Scheme fractional = {"DINOv3 fractional",
                               Layout::half_split,
                               frequencies(100.0, 0.5 / kPi, axial),
                               halves,
                               [](Grid grid) { return rope::image_grid_centred(grid.height, grid.width); },
                               false,
                               true};
    return {raster, two_axes, mrope, mixed, fractional};
}

}  // namespace vision
