// SPDX-License-Identifier: MIT
// A count of every allocation of the program, for programs that link support/count_allocations.cpp.
#pragma once

#include <atomic>

namespace support {
extern std::atomic<long> allocations;
}
