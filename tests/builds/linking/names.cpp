// SPDX-License-Identifier: MIT
// Defines the functions of names.hpp for UNIT, and calls those of all units. ROPE_TEST_WHOLE: the classes are whole, and
// there are all of them; in the other units they are only declared, as in a header of a program.
#include "names.hpp"

#define ROPE_TEST_DEFINE(Class) \
    const void* UNIT::take(const Class& x) { return &reinterpret_cast<const char&>(x); }
ROPE_TEST_HANDED_ON(ROPE_TEST_DEFINE)
#ifdef ROPE_TEST_WHOLE
ROPE_TEST_OTHERS(ROPE_TEST_DEFINE)
#endif

// An object of which nothing but the address is asked for: none needs to be made.
alignas(64) static char memory[1 << 16];
#define ROPE_TEST_CALL_WHOLE(Class)                                   \
    count += plain::take(reinterpret_cast<Class&>(memory)) == memory; \
    count += avx2::take(reinterpret_cast<Class&>(memory)) == memory;
#define ROPE_TEST_CALL(Class)                                          \
    ROPE_TEST_CALL_WHOLE(Class)                                        \
    count += native::take(reinterpret_cast<Class&>(memory)) == memory; \
    count += v2::take(reinterpret_cast<Class&>(memory)) == memory;     \
    count += noexcept_unit::take(reinterpret_cast<Class&>(memory)) == memory;

int UNIT::call_all() {
    int count = 0;
    ROPE_TEST_HANDED_ON(ROPE_TEST_CALL)
#ifdef ROPE_TEST_WHOLE
    ROPE_TEST_OTHERS(ROPE_TEST_CALL_WHOLE)
#endif
    return count;
}

#ifdef ROPE_TEST_MAIN
#    include <cstdio>

int main() {
    std::printf("%d\n",
                plain::call_all() + avx2::call_all() + native::call_all() + v2::call_all() + noexcept_unit::call_all());
}
#endif
