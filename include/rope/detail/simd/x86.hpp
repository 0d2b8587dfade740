// SPDX-License-Identifier: MIT
// The sets that this machine, an x86-64, runs beyond SSE2. Compiled with the flags of the translation unit, so that every
// machine can ask. The processor is asked itself: the compilers' __builtin_cpu_supports reads a table that their runtime
// fills, and that of `zig c++` leaves it empty.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../base/arithmetic.hpp"
#include "system.hpp"

ROPE_DETAIL_BEGIN

/// The registers after the instruction cpuid.
struct CpuidRegisters {
    std::uint32_t a = 0, b = 0, c = 0, d = 0;
};
struct X86Sets {
    bool avx2 = false, avx512 = false;
    bool avx512_bf16 = false;  // the instruction for bfloat16, beside avx512
};

/// Whether all these bits of x, counted from 0, are ones.
template <class... Bits>
constexpr bool has_bits(std::uint32_t x, Bits... bits) noexcept {
    return (... && ((x >> bits & 1u) != 0));
}

/// The sets of a machine with the functions cpuid(leaf, subleaf) and saved_state(), the register XCR0: the registers that
/// the system saves when it switches threads. All that a compiler uses in a region of a set is asked, as a hypervisor may
/// hide any of it. (Intel's manual, volume 2A, CPUID; volume 1, 13.3 and 14.3.)
template <class Machine>
ROPE_COLD X86Sets find_x86_sets(const Machine& machine) noexcept {
    X86Sets sets;
    const std::uint32_t leaves = machine.cpuid(0, 0).a;
    if (leaves < 7) return sets;
    const std::uint32_t features = machine.cpuid(1, 0).c;
    // SSE3, SSSE3, FMA, SSE4.1, SSE4.2, POPCNT, XSAVE, OSXSAVE (which allows xgetbv), AVX, F16C
    if (!has_bits(features, 0, 9, 12, 19, 20, 23, 26, 27, 28, 29)) return sets;
    const std::uint32_t state = machine.saved_state();
    const CpuidRegisters more = machine.cpuid(7, 0);
    sets.avx2 = has_bits(more.b, 5) && has_bits(state, 1, 2);  // the registers xmm and the upper halves of ymm
    // F, DQ, BW, VL; the registers k, the upper halves of zmm0 to zmm15, and zmm16 to zmm31
    sets.avx512 = sets.avx2 && has_bits(more.b, 16, 17, 30, 31) && has_bits(state, 5, 6, 7);
    sets.avx512_bf16 = sets.avx512 && more.a >= 1 && has_bits(machine.cpuid(7, 1).a, 5);
    return sets;
}

#if ROPE_IS_X86_64 && ROPE_HAS_ASM && !ROPE_FOR_DEVICE

/// This machine. (<cpuid.h> has the same, as macros with names of Microsoft's functions.)
struct ThisX86 {
    ROPE_NOINLINE static CpuidRegisters cpuid(std::uint32_t leaf, std::uint32_t subleaf) noexcept {
        CpuidRegisters r;
        __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "0"(leaf), "2"(subleaf));
        return r;
    }
    static std::uint32_t saved_state() noexcept {
        std::uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        // macOS saves AVX-512's registers from a thread's first use of them on, and shows the bits from then on. Before Darwin
        // 21.3 a signal may change the registers k (https://github.com/golang/go/issues/49233).
        if (system_has("hw.optional.avx512f") && darwin_is_at_least(21, 3)) low |= 7u << 5;
        return low;
    }
};

/// Asked once: on virtual machines cpuid takes as long as a call of the library.
inline const X86Sets& this_x86() noexcept {
    static const X86Sets sets = find_x86_sets(ThisX86());
    return sets;
}
inline bool machine_has_avx2() noexcept { return this_x86().avx2; }
inline bool machine_has_avx512() noexcept { return this_x86().avx512; }
inline bool machine_has_avx512_bf16() noexcept { return this_x86().avx512_bf16; }

#endif

ROPE_DETAIL_END
