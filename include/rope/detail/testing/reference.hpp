// SPDX-License-Identifier: MIT
// Definitions of reference.hpp.
#pragma once

#include <math.h>  // NOLINT(modernize-deprecated-headers): ::cosl and ::sinl, which have addresses

#include <complex>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../reference.hpp"
#include "../../types.hpp"
#include "../angles/frequencies.hpp"
#include "../base/eigen_core.hpp"

ROPE_BEGIN

namespace reference {

/// The C library's cos and sin, called through a pointer that the compiler cannot see through: under -ffast-math g++
/// would put the processor's own instructions in their place, which are wrong by 2^-66 of the angle.
ROPE_ABI inline long double cos(long double x) {
    long double (*volatile function)(long double) = &::cosl;
    return function(x);
}
ROPE_ABI inline long double sin(long double x) {
    long double (*volatile function)(long double) = &::sinl;
    return function(x);
}

ROPE_ABI inline CosSin cos_sin(const Frequencies& f, Index pair, Index position) {
    const std::size_t i = static_cast<std::size_t>(pair);
    const long double w = static_cast<long double>(f.inv_freq[i]);
    const long double low = f.inv_freq_low.empty() ? 0.0L : static_cast<long double>(f.inv_freq_low[i]);
    // position * w would round to 64 bits and be wrong by 2^-33 radians at position 2^31. The upper 24 bits of w
    // times the position are exact; the rest is a second, small angle.
    const long double upper = static_cast<long double>(static_cast<float>(f.inv_freq[i]));
    const long double p = static_cast<long double>(position);
    const long double t1 = p * upper;
    const long double t2 = p * ((w - upper) + low);
    const long double growth = f.log_growth.empty() ? 0.0L : static_cast<long double>(f.log_growth[i]);
    const long double growth_low = f.log_growth_low.empty() ? 0.0L : static_cast<long double>(f.log_growth_low[i]);
    const long double from_centre = p - static_cast<long double>(f.centre);
    const long double m = static_cast<long double>(f.attention_factor) * expl((growth + growth_low) * from_centre);
    return {m * (cos(t1) * cos(t2) - sin(t1) * sin(t2)), m * (sin(t1) * cos(t2) + cos(t1) * sin(t2))};
}

ROPE_ABI inline PairIndex pair_index(Layout layout, Index pair, Index pairs) noexcept {
    if (layout == Layout::interleaved) return {2 * pair, 2 * pair + 1};
    return {pair, pair + pairs};
}

namespace detail_reference {

/// Eigen counts with the bits of a pointer, which may be fewer than the bits of an Index. (A template, because on other
/// machines this is no conversion.)
template <class T>
ROPE_ABI constexpr Eigen::Index eigen_index(T i) noexcept {
    return static_cast<Eigen::Index>(i);
}

}  // namespace detail_reference

ROPE_ABI inline Eigen::MatrixXd rotation_matrix(Layout layout, const Frequencies& f, Index position, HeadSlice slice) {
    detail::ok_or_raise(check(f));
    const Index pairs = static_cast<Index>(f.inv_freq.size());
    detail::ok_or_raise(detail::check_slice(slice, pairs));

    using detail_reference::eigen_index;
    Eigen::MatrixXd r = Eigen::MatrixXd::Identity(eigen_index(slice.head_dim), eigen_index(slice.head_dim));
    for (Index i = 0; i < pairs; ++i) {
        const CosSin t = cos_sin(f, i, position);
        const Eigen::Index a = eigen_index(slice.rotary_offset + pair_index(layout, i, pairs).a);
        const Eigen::Index b = eigen_index(slice.rotary_offset + pair_index(layout, i, pairs).b);
        r(a, a) = static_cast<double>(t.cos);
        r(a, b) = static_cast<double>(-t.sin);
        r(b, a) = static_cast<double>(t.sin);
        r(b, b) = static_cast<double>(t.cos);
    }
    return r;
}

ROPE_ABI inline Eigen::MatrixXd rotation_matrix(Layout layout, const Config& config, Index position, Index seq_len) {
    const Frequencies f = frequencies(config, seq_len);
    return rotation_matrix(layout, f, position, {config.head_dim, config.rotary_offset});
}

namespace detail_reference {

/// Requires a head of head_dim features.
ROPE_ABI inline void expect_head_dim(const Eigen::VectorXd& x, const Config& config) {
    rope::detail::ok_or_raise(check(config));
    if (x.size() != config.head_dim)
        rope::detail::refuse(rope::detail::invalid("x has {} {feature|features}; it must have head_dim ({}) of them.",
                                                   {x.size(), config.head_dim}));
}

}  // namespace detail_reference

template <Layout layout>
ROPE_ABI inline Eigen::VectorXd rotate_complex(const Eigen::VectorXd& x, const Config& config, Index position) {
    detail_reference::expect_head_dim(x, config);
    const Frequencies f = frequencies(config);
    const Index pairs = static_cast<Index>(f.inv_freq.size());
    Eigen::VectorXd y = x;
    for (Index i = 0; i < pairs; ++i) {
        const Index a = config.rotary_offset + pair_index(layout, i, pairs).a;
        const Index b = config.rotary_offset + pair_index(layout, i, pairs).b;
        const CosSin t = cos_sin(f, i, position);
        const std::complex<long double> z =
            std::complex<long double>(static_cast<long double>(x[a]), static_cast<long double>(x[b])) *
            std::complex<long double>(t.cos, t.sin);
        y[a] = static_cast<double>(z.real());
        y[b] = static_cast<double>(z.imag());
    }
    return y;
}

template <Layout layout>
ROPE_ABI inline Eigen::VectorXd rotate_cos_sin(const Eigen::VectorXd& x, const Config& config, Index position) {
    detail_reference::expect_head_dim(x, config);
    const Frequencies f = frequencies(config);
    const Index pairs = static_cast<Index>(f.inv_freq.size());
    Eigen::VectorXd rotated = Eigen::VectorXd::Zero(x.size());
    Eigen::VectorXd cos = Eigen::VectorXd::Ones(x.size());
    Eigen::VectorXd sin = Eigen::VectorXd::Zero(x.size());
    for (Index i = 0; i < pairs; ++i) {
        const Index a = config.rotary_offset + pair_index(layout, i, pairs).a;
        const Index b = config.rotary_offset + pair_index(layout, i, pairs).b;
        const CosSin t = cos_sin(f, i, position);
        rotated[a] = -x[b];
        rotated[b] = x[a];
        cos[a] = cos[b] = static_cast<double>(t.cos);
        sin[a] = sin[b] = static_cast<double>(t.sin);
    }
    return x.cwiseProduct(cos) + rotated.cwiseProduct(sin);
}

}  // namespace reference

ROPE_END
