// SPDX-License-Identifier: MIT
// Questions about the processor that only the system can answer.
#pragma once

#include <cstddef>

#include "../../types.hpp"

// Two functions are declared here: the systems' headers of them have hundreds of macros, and need others read before.
#if defined(__APPLE__)
extern "C" int sysctlbyname(const char* name, void* value, std::size_t* size, void* new_value, std::size_t new_size);
#elif defined(_WIN32) && defined(__aarch64__)
#    if defined(__clang__)
#        pragma clang diagnostic push
#        pragma clang diagnostic ignored "-Wdll-attribute-on-redeclaration"  // MinGW's header declares it without
#    endif
extern "C" __declspec(dllimport) int __stdcall IsProcessorFeaturePresent(unsigned long feature);
#    if defined(__clang__)
#        pragma clang diagnostic pop
#    endif
#elif !defined(__x86_64__) && !defined(__i386__) && (defined(__linux__) || defined(__FreeBSD__))
#    if __has_include(<sys/auxv.h>)
#        include <sys/auxv.h>
#        define ROPE_HAS_AUXV 1
#    endif
#endif

ROPE_DETAIL_BEGIN

/// macOS and iOS: whether the system says 1 of a name such as "hw.optional.arm.FEAT_BF16". Elsewhere false.
ROPE_COLD bool system_has(const char* name) noexcept {
#if defined(__APPLE__)
    int has = 0;
    std::size_t size = sizeof(has);
    return ::sysctlbyname(name, &has, &size, nullptr, 0) == 0 && has != 0;
#else
    static_cast<void>(name);
    return false;
#endif
}

/// Whether the version `text`, such as "21.3.0", is this one or a later one.
constexpr bool is_at_least(const char* text, int version, int subversion) noexcept {
    int has[2] = {};
    for (int& number : has) {
        for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
        if (*text == '.') ++text;
    }
    return has[0] != version ? has[0] > version : has[1] >= subversion;
}
/// macOS: whether the kernel has this version or a later one. Elsewhere false.
ROPE_COLD bool darwin_is_at_least(int version, int subversion) noexcept {
    char text[32] = {};
#if defined(__APPLE__)
    std::size_t size = sizeof(text) - 1;
    if (::sysctlbyname("kern.osrelease", text, &size, nullptr, 0) != 0) return false;
#endif
    return is_at_least(text, version, subversion);  // nothing is version 0
}

/// Linux and FreeBSD, but for x86: the bits of AT_HWCAP (16) or AT_HWCAP2 (26), whose meaning depends on the architecture.
/// Elsewhere 0.
ROPE_COLD unsigned long hardware_capabilities(unsigned long kind) noexcept {
#if defined(ROPE_HAS_AUXV) && defined(__linux__)
    return ::getauxval(kind);
#elif defined(ROPE_HAS_AUXV)
    unsigned long bits = 0;  // FreeBSD's numbers are 25 and 26
    return ::elf_aux_info(kind == 16 ? 25 : static_cast<int>(kind), &bits, sizeof(bits)) == 0 ? bits : 0;
#else
    static_cast<void>(kind);
    return 0;
#endif
}

/// Windows on Arm: one of the PF_ numbers of IsProcessorFeaturePresent. Elsewhere false.
ROPE_COLD bool windows_has(unsigned long feature) noexcept {
#if defined(_WIN32) && defined(__aarch64__)
    return ::IsProcessorFeaturePresent(feature) != 0;
#else
    static_cast<void>(feature);
    return false;
#endif
}

ROPE_DETAIL_END
#undef ROPE_HAS_AUXV
