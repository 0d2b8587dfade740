// SPDX-License-Identifier: MIT
// The oracle: the real formula in 256-bit arithmetic. It shares nothing with the library, so a mistake in the
// library cannot cancel against itself here.
#pragma once

#include <cstdint>
#define MPFR_USE_INTMAX_T
#include <mpfr.h>

#include <utility>

namespace support {

/// A real number of 256 bits, every operation rounded to nearest.
class Real {
 public:
    static constexpr mpfr_prec_t kBits = 256;

    Real() {
        mpfr_init2(x_, kBits);
        mpfr_set_zero(x_, 1);
    }
    Real(double x) : Real() { mpfr_set_d(x_, x, MPFR_RNDN); }
    Real(const Real& other) : Real() { mpfr_set(x_, other.x_, MPFR_RNDN); }
    Real(Real&& other) noexcept : Real() { mpfr_swap(x_, other.x_); }
    Real& operator=(Real other) noexcept {
        mpfr_swap(x_, other.x_);
        return *this;
    }
    ~Real() { mpfr_clear(x_); }

    static Real integer(std::intmax_t n) {
        Real r;
        mpfr_set_sj(r.x_, n, MPFR_RNDN);
        return r;
    }
    static Real unsigned_integer(std::uintmax_t n) {
        Real r;
        mpfr_set_uj(r.x_, n, MPFR_RNDN);
        return r;
    }
    static Real two_pi() {
        Real r;
        mpfr_const_pi(r.x_, MPFR_RNDN);
        mpfr_mul_2si(r.x_, r.x_, 1, MPFR_RNDN);
        return r;
    }

    /// For loops in which a temporary per operation would cost too much.
    mpfr_ptr get() { return x_; }
    mpfr_srcptr get() const { return x_; }

    /// The nearest double or float, rounded once.
    double to_double() const { return mpfr_get_d(x_, MPFR_RNDN); }
    float to_float() const { return mpfr_get_flt(x_, MPFR_RNDN); }

    friend Real operator+(const Real& a, const Real& b) { return binary(mpfr_add, a, b); }
    friend Real operator-(const Real& a, const Real& b) { return binary(mpfr_sub, a, b); }
    friend Real operator*(const Real& a, const Real& b) { return binary(mpfr_mul, a, b); }
    friend Real operator/(const Real& a, const Real& b) { return binary(mpfr_div, a, b); }
    friend Real pow(const Real& a, const Real& b) { return binary(mpfr_pow, a, b); }
    friend Real exp(const Real& a) { return unary(mpfr_exp, a); }
    friend Real log(const Real& a) { return unary(mpfr_log, a); }
    friend Real cos(const Real& a) { return unary(mpfr_cos, a); }
    friend Real sin(const Real& a) { return unary(mpfr_sin, a); }
    friend Real abs(const Real& a) { return unary(mpfr_abs, a); }

    friend Real floor(const Real& a) {
        Real r;
        mpfr_floor(r.x_, a.x_);
        return r;
    }
    /// a * 2^exponent.
    friend Real scaled(const Real& a, long exponent) {
        Real r;
        mpfr_mul_2si(r.x_, a.x_, exponent, MPFR_RNDN);
        return r;
    }

    // A NaN compares false with everything, whatever flags the test is compiled with.
    friend bool operator<=(const Real& a, const Real& b) { return mpfr_lessequal_p(a.x_, b.x_) != 0; }
    friend bool operator<(const Real& a, const Real& b) { return mpfr_less_p(a.x_, b.x_) != 0; }
    friend bool operator==(const Real& a, const Real& b) { return mpfr_equal_p(a.x_, b.x_) != 0; }

 private:
    template <class F>
    static Real binary(F f, const Real& a, const Real& b) {
        Real r;
        f(r.x_, a.x_, b.x_, MPFR_RNDN);
        return r;
    }
    template <class F>
    static Real unary(F f, const Real& a) {
        Real r;
        f(r.x_, a.x_, MPFR_RNDN);
        return r;
    }

    mpfr_t x_;
};

/// The smallest or largest of two, and powers of two for bounds.
inline const Real& max(const Real& a, const Real& b) { return a < b ? b : a; }
inline Real power_of_two(long exponent) { return scaled(Real(1.0), exponent); }

/// base^(-2 pair / rotary_dim) / factor, in radians per position.
inline Real inverse_frequency(double base, std::intmax_t pair, std::intmax_t rotary_dim, double factor) {
    const Real exponent = Real::integer(-2 * pair) / Real::integer(rotary_dim);
    return pow(Real(base), exponent) / Real(factor);
}

/// cos and sin of position * frequency. Right to 2^-190 for every 64-bit position and frequencies up to 1.
struct RealCosSin {
    Real cos, sin;
};
inline RealCosSin cos_sin(const Real& angle) {
    RealCosSin result;
    mpfr_sin_cos(result.sin.get(), result.cos.get(), angle.get(), MPFR_RNDN);
    return result;
}
inline RealCosSin cos_sin(std::intmax_t position, const Real& frequency) {
    return cos_sin(Real::integer(position) * frequency);
}

}  // namespace support
