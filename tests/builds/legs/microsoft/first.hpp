// SPDX-License-Identifier: MIT
// Read before every other file; see README.md.
#pragma once
#pragma clang system_header

// Attributes are no macro for clang; these stand where only GCC's dialect takes one.
#include <_mingw.h>
#undef __attribute__
#undef __MINGW_ATTRIB_NORETURN
#define __MINGW_ATTRIB_NORETURN
#undef __MINGW_NOTHROW
#define __MINGW_NOTHROW
#undef __MINGW_ATTRIB_DEPRECATED
#define __MINGW_ATTRIB_DEPRECATED
#undef __MINGW_ATTRIB_DEPRECATED_STR
#define __MINGW_ATTRIB_DEPRECATED_STR(text)
#undef __MINGW_ATTRIB_DEPRECATED_MSVC2005
#define __MINGW_ATTRIB_DEPRECATED_MSVC2005
#undef _CRT_DEPRECATE_TEXT
#define _CRT_DEPRECATE_TEXT(text)
#undef __MINGW_ATTRIB_DEPRECATED_SEC_WARN
#define __MINGW_ATTRIB_DEPRECATED_SEC_WARN

// libc++ takes these functions from Microsoft's <math.h>; MinGW's has macros.
#define ROPE_OF_NUMBER(name)        \
    template <class T>              \
    inline bool name(T x) {         \
        return __builtin_##name(x); \
    }
ROPE_OF_NUMBER(isfinite)
ROPE_OF_NUMBER(isinf)
ROPE_OF_NUMBER(isnan)
ROPE_OF_NUMBER(isnormal)
ROPE_OF_NUMBER(signbit)
#undef ROPE_OF_NUMBER
#define ROPE_OF_TWO(name)              \
    template <class T, class U>        \
    inline bool name(T x, U y) {       \
        return __builtin_##name(x, y); \
    }
ROPE_OF_TWO(isgreater)
ROPE_OF_TWO(isgreaterequal)
ROPE_OF_TWO(isless)
ROPE_OF_TWO(islessequal)
ROPE_OF_TWO(islessgreater)
ROPE_OF_TWO(isunordered)
#undef ROPE_OF_TWO
template <class T>
inline int fpclassify(T) {
    return 0;
}
extern "C" void* aligned_alloc(unsigned long long alignment, unsigned long long size);

// As Microsoft's headers say of these and others.
extern "C" __declspec(deprecated) char* __cdecl getenv(const char* name);
extern "C" __declspec(deprecated) char* __cdecl strncpy(char* to, const char* from, size_t count);
extern "C" __declspec(deprecated) char* __cdecl strcpy(char* to, const char* from);
