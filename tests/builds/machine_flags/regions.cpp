// SPDX-License-Identifier: MIT
// The machine's name outside of all regions, against region.hpp.
#include <rope/types.hpp>

constexpr char kOutside[] = ROPE_STRING(ROPE_MACHINE);
constexpr bool is_same(const char* a, const char* b) { return *a == *b && (*a == 0 || is_same(a + 1, b + 1)); }

#define ROPE_FOR_EACH_ISA ROPE_TEST_REGION
#include <rope/detail/simd/isa_list.hpp>
