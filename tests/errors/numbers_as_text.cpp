// SPDX-License-Identifier: MIT
// Doubles in sentences are the shortest text that is read back, or have as many digits as are asked for; also where the
// standard library has no std::to_chars for them, and with the decimal mark of any locale.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "support/catch.hpp"

#include <rope/detail/base/bits.hpp>
#include <rope/detail/base/digits.hpp>

namespace {

template <class Write>
std::string written(const Write& write, double x, int most) {
    char text[32];
    write(x, most, text);
    return text;
}
std::string by_library(double x, int most) { return written(rope::detail::write_number, x, most); }
std::string by_snprintf(double x, int most) { return written(rope::detail::write_by_snprintf, x, most); }

/// How many texts of snprintf are not read back as x, or are others than those of std::to_chars.
int differences(double x) {
    if (!rope::detail::is_finite(x)) return 0;
    int count = rope::detail::bit_cast<std::uint64_t>(std::strtod(by_snprintf(x, 0).c_str(), nullptr)) !=
                rope::detail::bit_cast<std::uint64_t>(x);
    for (const int most : {1, 2, 6, 17}) count += by_snprintf(x, most) != by_library(x, most);
    if (count > 0) UNSCOPED_INFO("of " << by_library(x, 17));
    return count;
}

}  // namespace

TEST_CASE("numbers in sentences, by std::to_chars and without it") {
    for (const auto write : {by_library, by_snprintf}) {
        CHECK(write(0.1 + 0.2, 0) == "0.30000000000000004");
        CHECK(write(0.1, 0) == "0.1");
        CHECK(write(-1e22, 0) == "-1e+22");
        CHECK(write(10000.0, 0) == "10000");
        CHECK(write(2.0 / 3.0, 6) == "0.666667");
        CHECK(write(0.00012345, 0) == "0.00012345");
        CHECK(write(1e-5, 0) == "1e-05");
        CHECK(write(-0.0, 0) == "-0");
        CHECK(write(std::numeric_limits<double>::max(), 0) == "1.7976931348623157e+308");
        CHECK(write(-std::numeric_limits<double>::min(), 0) == "-2.2250738585072014e-308");
    }
    CHECK(by_library(std::numeric_limits<double>::denorm_min(), 0) == "5e-324");

    int count = 0;
    for (int exponent = -1074; exponent < 1024; ++exponent) count += differences(std::ldexp(1.0, exponent));
    for (int exponent = -323; exponent < 309; ++exponent) {
        const double power = std::pow(10.0, exponent);
        count += differences(power) + differences(std::nextafter(power, 0.0)) + differences(5.0 * power);
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t bits = random();
        count += differences(rope::detail::bit_cast<double>(bits));  // of any size
        count += differences(static_cast<double>(bits >> (bits & 63)));
        count += differences(static_cast<double>(bits % 1000003) / 1000.0);
    }
    CHECK(count == 0);
}

TEST_CASE("the decimal mark of a locale becomes a point") {
    char text[32];
    for (const char* const from : {"-12,5e-05", "-12.5e-05",
                                   "-12\xd9\xab"
                                   "5e-05"}) {
        rope::detail::copy_with_point(from, text);
        CHECK(std::string(text) == "-12.5e-05");
    }
}
