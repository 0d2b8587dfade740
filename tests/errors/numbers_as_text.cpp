// SPDX-License-Identifier: MIT
// Doubles in sentences are written as std::to_chars writes them: the shortest text that is read back, or as many digits as
// are asked for.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "support/catch.hpp"

#include <rope/detail/base/digits.hpp>

namespace {

std::string written(double x, int most) {
    char text[32];
    rope::detail::write_number(x, most, text);
    return text;
}

/// How many of these texts are others than the standard library's.
int differences(double x) {
    if (!rope::detail::is_finite(x)) return 0;
    char text[64];
    int count = written(x, 0) != std::string(text, std::to_chars(text, text + sizeof(text), x).ptr);
    for (const int most : {1, 2, 6, 17}) {
        const auto end = std::to_chars(text, text + sizeof(text), x, std::chars_format::general, most).ptr;
        count += written(x, most) != std::string(text, end);
    }
    if (count > 0) UNSCOPED_INFO("of " << written(x, 17));
    return count;
}

}  // namespace

TEST_CASE("numbers are written as std::to_chars writes them") {
    using Limits = std::numeric_limits<double>;
    for (const double x :
         {0.0, -0.0, 1.0, -0.1, 9.5, 0.5, 2.5, 0.99999999, 1e5, 1e-5, 1e21, 1e22, 1e23, 123456789012345683968.0,
          Limits::denorm_min(), Limits::min(), Limits::max(), Limits::epsilon()})
        CHECK(differences(x) == 0);
    CHECK(written(0.1 + 0.2, 0) == "0.30000000000000004");
    CHECK(written(-1e22, 0) == "-1e+22");
    CHECK(written(10000.0, 0) == "10000");
    CHECK(written(2.0 / 3.0, 6) == "0.666667");
    CHECK(written(0.00012345, 0) == "0.00012345");

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
        count += differences(static_cast<double>(static_cast<float>(bits % 1000003) / 1e6f));
    }
    CHECK(count == 0);
}
