// SPDX-License-Identifier: MIT
// What a refused call says, and two numbers that are refused everywhere.
#pragma once

#include <rope/core.hpp>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "catch.hpp"

namespace support {

/// What a call says when it refuses, and of which kind the exception was.
struct Refusal {
    std::string message;
    rope::StatusCode code;
};
template <class Call>
Refusal refusal(Call&& call) {
    try {
        call();
    } catch (const std::invalid_argument& e) {
        return {e.what(), rope::StatusCode::invalid_argument};
    } catch (const std::out_of_range& e) {
        return {e.what(), rope::StatusCode::out_of_range};
    } catch (const std::bad_alloc& e) {
        return {e.what(), rope::StatusCode::out_of_memory};
    }
    return {"(accepted)", rope::StatusCode::ok};
}

/// What a call says, which must be an std::invalid_argument, or an std::out_of_range.
template <class Call>
std::string invalid(Call&& call) {
    const Refusal r = refusal(call);
    CHECK(r.code == rope::StatusCode::invalid_argument);
    return r.message;
}
template <class Call>
std::string out_of_range(Call&& call) {
    const Refusal r = refusal(call);
    CHECK(r.code == rope::StatusCode::out_of_range);
    return r.message;
}

/// Bit patterns: under -ffast-math the compiler may assume that these do not exist.
inline double nan_value() { return rope::detail::bit_cast<double>(std::uint64_t(0x7ff8000000000000)); }
inline double infinity() { return rope::detail::bit_cast<double>(std::uint64_t(0x7ff0000000000000)); }

}  // namespace support
