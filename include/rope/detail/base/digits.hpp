// SPDX-License-Identifier: MIT
// Writes a double as text, without a locale or allocation.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../version.hpp"

ROPE_DETAIL_BEGIN

/// Copies a number, with a point for the decimal mark of a locale, which may have several bytes.
inline void copy_with_point(const char* from, char* to) noexcept {
    for (; *from != '\0'; ++from)
        if (std::strchr("0123456789+-e", *from) != nullptr)
            *to++ = *from;
        else if (to[-1] != '.')
            *to++ = '.';
    *to = '\0';
}

/// write_number where the standard library has no to_chars for doubles (libc++, libstdc++ before GCC 11). A number that
/// is read back from fewer digits is written as printf's %.15g writes it.
ROPE_COLD void write_by_snprintf(double x, int most, char* to) noexcept {
    char text[48];
    int digits = most > 0 ? most : 15;
    do std::snprintf(text, sizeof(text), "%.*g", digits, x);
    while (most == 0 && digits++ < 17 && std::strtod(text, nullptr) != x);
    copy_with_point(text, to);
}

/// Writes a finite number and a terminating zero to `to`, which has room for 32 characters. `most` = 0 writes the
/// shortest text that is read back as x; else at most `most` digits (1 to 17), as printf's %g does.
ROPE_COLD void write_number(double x, int most, char* to) noexcept {
#if defined(__cpp_lib_to_chars)
    char* const last = to + 31;
    *(most > 0 ? std::to_chars(to, last, x, std::chars_format::general, most) : std::to_chars(to, last, x)).ptr = '\0';
#else
    write_by_snprintf(x, most, to);
#endif
}

ROPE_DETAIL_END
