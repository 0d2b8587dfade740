// SPDX-License-Identifier: MIT
// Writes a double as text, without a locale, allocation or arithmetic on doubles. std::to_chars writes the same text,
// but some standard libraries lack it for doubles (libc++ of Emscripten and of older systems of Apple).
#pragma once

#include <cstdint>

#include "bits.hpp"

ROPE_DETAIL_BEGIN

/// A natural number of at most 1216 bits. A double's numerator and denominator, times 10, have some 1140.
class BigNatural {
 public:
    explicit BigNatural(std::uint64_t x) noexcept
        : words_{static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32)} {}
    ROPE_COLD void multiply(std::uint32_t by) noexcept {
        std::uint64_t carry = 0;
        for (std::uint32_t& word : words_) {
            carry += std::uint64_t{word} * by;
            word = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
    }
    ROPE_COLD void double_times(int count) noexcept {
        for (; count >= 31; count -= 31) multiply(std::uint32_t(1) << 31);
        multiply(std::uint32_t(1) << count);
    }
    /// Subtracts x, which must not be larger.
    ROPE_COLD void subtract(const BigNatural& x) noexcept {
        std::uint64_t borrow = 0;
        for (int i = 0; i < kWords; ++i) {
            borrow = std::uint64_t{words_[i]} - x.words_[i] - borrow;
            words_[i] = static_cast<std::uint32_t>(borrow);
            borrow >>= 63;
        }
    }
    /// The sign of a + b - c.
    ROPE_COLD static int compare_sum(const BigNatural& a, const BigNatural& b, const BigNatural& c) noexcept {
        std::uint64_t carry = 0;
        int order = 0;
        for (int i = 0; i < kWords; ++i) {
            carry += std::uint64_t{a.words_[i]} + b.words_[i];
            const std::uint32_t word = static_cast<std::uint32_t>(carry);
            if (word != c.words_[i]) order = word < c.words_[i] ? -1 : 1;
            carry >>= 32;
        }
        return order;
    }

 private:
    static constexpr int kWords = 38;
    std::uint32_t words_[kWords];
};

/// 0.d1 d2 d3 ... * 10^point. The last digit is not 0.
struct Digits {
    char digit[24];  // '0' to '9'
    int count, point;
};

/// The digits of a finite number above 0. `most` from 1 to 24 gives as many digits, the last one rounded to nearest,
/// ties to even. `most` = 0 gives the shortest digits that no other double is nearer to, and the nearest to x among
/// these. Source: R. G. Burger and R. K. Dybvig, "Printing floating-point numbers quickly and accurately", 1996, the
/// free-format algorithm.
ROPE_COLD Digits digits_of(double x, int most) noexcept {
    const std::uint64_t bits = bit_cast<std::uint64_t>(x), fraction = bits << 12 >> 12;
    const int biased = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t mantissa = biased == 0 ? fraction : fraction | std::uint64_t(1) << 52;
    const int exponent = (biased == 0 ? 1 : biased) - 1075;  // x is mantissa * 2^exponent
    // x = rest / whole. The half distances to the next doubles are above / whole and below / whole.
    const bool is_power = fraction == 0 && biased > 1;  // the double below it is nearer than the one above
    BigNatural rest(mantissa), whole(1), above(1), below(1);
    const BigNatural nothing(0);
    rest.double_times((exponent > 0 ? exponent : 0) + (is_power ? 2 : 1));
    above.double_times((exponent > 0 ? exponent : 0) + (is_power ? 1 : 0));
    below.double_times(exponent > 0 ? exponent : 0);
    whole.double_times((exponent < 0 ? -exponent : 0) + (is_power ? 2 : 1));
    // A number halfway between two doubles is read as x if the mantissa is even.
    const int in_the_middle = mantissa % 2 == 0 ? 0 : 1;
    const auto reaches_next = [&] {  // x, or the largest number that is rounded to it, is at least 1
        return most > 0 ? BigNatural::compare_sum(rest, nothing, whole) >= 0
                        : BigNatural::compare_sum(rest, above, whole) >= in_the_middle;
    };
    const auto times_ten = [&] {
        rest.multiply(10);
        above.multiply(10);
        below.multiply(10);
    };
    Digits result = {};
    for (; reaches_next(); ++result.point) whole.multiply(10);
    for (times_ten(); !reaches_next(); --result.point) times_ten();
    for (bool is_last = false; !is_last; times_ten()) {
        char digit = '0';
        for (; BigNatural::compare_sum(rest, nothing, whole) >= 0; ++digit) rest.subtract(whole);
        bool is_up = false;
        const int half = BigNatural::compare_sum(rest, rest, whole);
        const bool is_nearer_up = half > 0 || (half == 0 && digit % 2 != 0);
        if (most > 0) {
            is_last = result.count + 1 == most;
            is_up = is_last && is_nearer_up;
        } else {
            const bool down_is_x = BigNatural::compare_sum(rest, nothing, below) <= -in_the_middle;
            const bool up_is_x = BigNatural::compare_sum(rest, above, whole) >= in_the_middle;
            is_last = down_is_x || up_is_x;
            is_up = up_is_x && (!down_is_x || is_nearer_up);
        }
        result.digit[result.count++] = digit;
        if (is_up) ++result.digit[result.count - 1];
    }
    // Propagates the carry (9.99 rounded up), then removes trailing zeros.
    for (int i = result.count - 1; i > 0 && result.digit[i] > '9'; --i) {
        result.digit[i] = '0';
        ++result.digit[i - 1];
    }
    if (result.digit[0] > '9') {
        result.digit[0] = '1';
        ++result.point;
    }
    while (result.count > 1 && result.digit[result.count - 1] == '0') --result.count;
    return result;
}

/// Writes a finite number and a terminating zero to `to`, which has room for 32 characters. `most` = 0 writes the
/// shortest text that is read back as x, as std::to_chars(first, last, x) does; else at most `most` digits (1 to 17),
/// as printf's %g does.
ROPE_COLD void write_number(double x, int most, char* to) noexcept {
    const std::uint64_t bits = bit_cast<std::uint64_t>(x);
    if (bits >> 63 != 0) *to++ = '-';
    if (bits << 1 == 0) {
        *to++ = '0';
        *to = '\0';
        return;
    }
    Digits d = digits_of(bit_cast<double>(bits << 1 >> 1), most);
    const int exponent = d.point - 1, size = exponent < 0 ? -exponent : exponent;
    const int scientific_size = d.count + (d.count > 1 ? 1 : 0) + (size > 99 ? 5 : 4);
    const int fixed_size = d.point <= 0 ? 2 - d.point + d.count : d.point >= d.count ? d.point : d.count + 1;
    const bool is_fixed = most > 0 ? exponent >= -4 && exponent < most : fixed_size <= scientific_size;
    if (!is_fixed) {
        *to++ = d.digit[0];
        if (d.count > 1) *to++ = '.';
        for (int i = 1; i < d.count; ++i) *to++ = d.digit[i];
        *to++ = 'e';
        *to++ = exponent < 0 ? '-' : '+';
        if (size > 99) *to++ = static_cast<char>('0' + size / 100);
        *to++ = static_cast<char>('0' + size / 10 % 10);
        *to++ = static_cast<char>('0' + size % 10);
    } else {
        // A whole number gets all its digits, not zeros behind the shortest ones.
        if (most == 0 && d.point > d.count) d = digits_of(bit_cast<double>(bits << 1 >> 1), d.point);
        for (int i = d.point < 1 ? d.point - 1 : 0; i < d.count || i < d.point; ++i) {
            if (i == d.point && i > 0) *to++ = '.';
            *to++ = i >= 0 && i < d.count ? d.digit[i] : '0';
            if (d.point < 1 && i == d.point - 1) *to++ = '.';
        }
    }
    *to = '\0';
}

ROPE_DETAIL_END
