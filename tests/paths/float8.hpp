// SPDX-License-Identifier: MIT
// 8-bit floats by their definition.
#pragma once

#include <cmath>

namespace support {

/// The number that a code without its sign bit stands for. The code is neither an infinity nor a NaN.
struct E4m3 {
    static double number(int code) { return code < 8 ? std::ldexp(code, -9) : std::ldexp(8 + code % 8, code / 8 - 10); }
};
struct E5m2 {
    static double number(int code) {
        return code < 4 ? std::ldexp(code, -16) : std::ldexp(4 + code % 4, code / 4 - 17);
    }
};

}  // namespace support
