// SPDX-License-Identifier: MIT
// A loss of rotated queries and keys, its gradient with respect to them, and central differences of it.
#pragma once

#include <rope/gradients.hpp>
#include <rope/rows.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

namespace gradients {

using rope::Index;
using support::size;

/// What the angles are made from.
struct Rotation {
    rope::Frequencies frequencies;
    rope::AxisMap map;
    rope::HeadSlice slice;
    std::vector<double> positions;  // [map.axes, batch * seq]
};

/// Two tensors that share the rotation.
struct Shape {
    rope::Layout layout = rope::Layout::half_split;
    Index batch = 2, seq = 3, q_heads = 3, k_heads = 2, head_dim = 12;
    Index tokens() const { return batch * seq; }
};

/// The loss of one number: of another weight at each place, and not linear.
inline double loss_of(double y, std::size_t i) {
    const double w = std::cos(0.7 * static_cast<double>(i)), v = 0.3 * std::sin(static_cast<double>(i));
    return w * y + v * y * y;
}
inline double slope_of(double y, std::size_t i) {
    const double w = std::cos(0.7 * static_cast<double>(i)), v = 0.3 * std::sin(static_cast<double>(i));
    return w + 2.0 * v * y;
}
inline double loss_of(const std::vector<double>& y) {
    double sum = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += loss_of(y[i], i);
    return sum;
}
inline std::vector<double> slopes_of(const std::vector<double>& y) {
    std::vector<double> g(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) g[i] = slope_of(y[i], i);
    return g;
}

/// f(layout as a constant)
template <class F>
auto with_layout(rope::Layout layout, F&& f) {
    return layout == rope::Layout::interleaved ? f(std::integral_constant<rope::Layout, rope::Layout::interleaved>())
                                               : f(std::integral_constant<rope::Layout, rope::Layout::half_split>());
}

/// x, [batch, seq, heads, head_dim], rotated.
inline std::vector<double> rotated(const Shape& shape, const Rotation& by, const std::vector<double>& x, Index heads) {
    rope::Rows<double> rows(by.frequencies, by.map, by.slice);
    rows.build(rope::AxisPositions(by.positions, by.map.axes), shape.seq, shape.batch);
    std::vector<double> y(x.size());
    rope::apply_copy(shape.layout, rope::view(x, shape.batch, shape.seq, heads, shape.head_dim),
                     rope::view(y, shape.batch, shape.seq, heads, shape.head_dim), rows);
    return y;
}

/// The central difference of a loss by one of its parameters, of fourth order.
template <class Loss>
double difference(double& parameter, const Loss& loss) {
    const double before = parameter, step = 1e-4;
    const auto at = [&](double times) {
        parameter = before + times * step;
        const double result = loss();
        parameter = before;
        return result;
    };
    return (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * step);
}

/// Gradients against central differences by each of the parameters.
template <class Loss>
void check_gradients(const char* name, std::vector<double>& parameters, const std::vector<double>& gradients,
                     const Loss& loss) {
    REQUIRE(parameters.size() == gradients.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        INFO(name << " " << i);
        const double expected = difference(parameters[i], loss);
        CHECK(std::fabs(gradients[i] - expected) <= 1e-7 * std::max(1.0, std::fabs(expected)));
    }
}

}  // namespace gradients
