// SPDX-License-Identifier: MIT
// A rotation that <rope/testing.hpp> can measure, made to be spoiled.
#pragma once

#include <rope/core.hpp>

#include <cmath>
#include <functional>

#include "data.hpp"

namespace support {

constexpr rope::Layout kLayouts[] = {rope::Layout::interleaved, rope::Layout::half_split};

/// A config in which every known mistake makes a difference.
inline rope::Config telling_config() {
    rope::Config c;
    c.head_dim = 24;
    c.rotary_dim = 16;
    c.rotary_offset = 5;
    c.base = 500000.0;
    c.interpolation_factor = 4.0;
    c.attention_factor = 1.25;
    return c;
}

/// A rotation in double, rounded once to T, whose every step can be replaced by a mistaken one.
struct Loop {
    rope::Layout layout;
    Index head_dim, rotary_dim, offset;
    double m;
    std::function<double(Index i)> frequency;
    std::function<double(Index position, double w)> angle = [](Index p, double w) {
        return static_cast<double>(p) * w;
    };
    std::function<Index(Index token, const Index* positions)> position = [](Index token, const Index* p) {
        return p[token];
    };
    std::function<void(double& a, double& b, double c, double s)> turn = [](double& a, double& b, double c, double s) {
        const double before = a;
        a = a * c - b * s;
        b = b * c + before * s;
    };

    Loop(rope::Layout l, const rope::Config& config)
        : layout(l),
          head_dim(config.head_dim),
          rotary_dim(config.rotary_dim != 0 ? config.rotary_dim : config.head_dim),
          offset(config.rotary_offset),
          m(config.attention_factor),
          frequency(powers(config.base, rotary_dim, config.interpolation_factor)) {}
    static std::function<double(Index)> powers(double base, Index dim, double factor) {
        return
            [=](Index i) { return std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim)) / factor; };
    }

    template <class T>
    void operator()(T* x, Index seq, Index heads, const Index* positions) const {
        for (Index t = 0; t < seq; ++t)
            for (Index h = 0; h < heads; ++h)
                for (Index i = 0; i < rotary_dim / 2; ++i) {
                    T* const slice = x + (t * heads + h) * head_dim + offset;
                    T& at_a = layout == rope::Layout::interleaved ? slice[2 * i] : slice[i];
                    T& at_b = layout == rope::Layout::interleaved ? slice[2 * i + 1] : slice[i + rotary_dim / 2];
                    const double theta = angle(position(t, positions), frequency(i));
                    double a = to_double(at_a);
                    double b = to_double(at_b);
                    turn(a, b, m * std::cos(theta), m * std::sin(theta));
                    at_a = from_double<T>(a);
                    at_b = from_double<T>(b);
                }
    }
};

}  // namespace support
