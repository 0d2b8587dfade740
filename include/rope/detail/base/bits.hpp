// SPDX-License-Identifier: MIT
// Tests of floating-point numbers by their bits, which -ffast-math cannot optimise away.
#pragma once

#include <cstdint>
#include <cstring>

#include "../../version.hpp"

ROPE_DETAIL_BEGIN

template <class To, class From>
inline To bit_cast(const From& from) noexcept {
    static_assert(sizeof(To) == sizeof(From), "bit_cast needs types of one size");
    To to;
    std::memcpy(&to, &from, sizeof(To));
    return to;
}

/// Neither infinite nor NaN. std::isfinite is the constant `true` under -ffast-math; this is not.
inline bool is_finite(double x) noexcept { return (bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) != 0x7ff; }

/// Finite and above zero.
inline bool is_positive(double x) noexcept { return is_finite(x) && x > 0.0; }

ROPE_DETAIL_END
