// SPDX-License-Identifier: MIT
// A count of every allocation of the program, and a way to make them fail, for programs that link
// support/count_allocations.cpp.
#pragma once

#include <atomic>

namespace support {
extern std::atomic<long> allocations;         ///< so far
extern std::atomic<long> alive;               ///< not yet freed
extern std::atomic<long> until_none_is_left;  ///< so many succeed from now on, and no other; negative: all do
}  // namespace support
