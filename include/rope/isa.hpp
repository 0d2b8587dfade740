// SPDX-License-Identifier: MIT
// The instruction set that the kernels use.
#pragma once

#include "types.hpp"
#include "version.hpp"

#include "detail/base/hide_macros.hpp"

// Every kernel exists once per instruction set, in every translation unit that calls it (or in the one that includes
// <rope/src.hpp>). The first table
// that is built, or the first call that needs a kernel, chooses once per process: the environment variable ROPE_ISA if
// it is set and not empty, else the best instruction set that the machine has. A name that is not available is no
// choice: tables are built by plain loops, with the same bits, and calls throw. The instruction sets, best first on
// each machine, spelled exactly so:
//
//     avx512      x86-64 with AVX-512 F, BW, DQ and VL; avx2 rotates heads that are no whole vectors, and tokens of
//                 one head each
//     avx2        x86-64 with AVX2, FMA and F16C
//     sse2        every x86-64
//     neon        every aarch64 with bytes in little-endian order
//     portable    plain loops, which the compiler may vectorise with the translation unit's own flags
//
// A translation unit whose flags allow fma does not have sse2: it knows no such name, and where another translation
// unit has chosen sse2, it uses its portable loops. So ROPE_ISA=sse2 is refused if such a translation unit makes the
// first call.
//
// With fma a result has the same bits in every instruction set and on every machine; without, likewise (see apply.hpp).
// The portable loops have fma where the translation unit's flags allow it. On x86 with 32 bits these bits need -msse2
// -mfpmath=sse: the registers of the x87, which hold more than a float or a double, round at other places, within the
// stated errors.

ROPE_BEGIN

/// Names of instruction sets, best first: a range of const char*, which live as long as the program. At most 16; the
/// list of available_isas() is never empty.
class IsaNames {
 public:
    ROPE_ABI IsaNames() = default;
    ROPE_CROSSES(IsaNames)
    /// The names, zero-terminated, from the first to behind the last; they live as long as the program.
    ROPE_ABI const char* const* begin() const noexcept { return names_; }
    ROPE_ABI const char* const* end() const noexcept { return names_ + count_; }
    /// How many there are.
    ROPE_ABI Index size() const noexcept { return count_; }
    /// Name i, from 0 to size() - 1; not checked.
    ROPE_ABI const char* operator[](Index i) const noexcept { return names_[i]; }
    /// Adds a name, which must live as long as this list; a 17th name is left out.
    ROPE_ABI void push_back(const char* name) noexcept {
        if (count_ < kMost) names_[count_++] = name;
    }

 private:
    static constexpr Index kMost = 16;
    const char* names_[kMost] = {};
    Index count_ = 0;
};

/// The instruction sets that this translation unit has and this machine runs, best first; "portable" is always among
/// them.
ROPE_API IsaNames available_isas() noexcept;

/// The instruction set that calls from this translation unit use. Throws std::invalid_argument when the choice has not
/// been made yet and ROPE_ISA names none that is available.
ROPE_API const char* active_isa();

/// For tests and benchmarks: from now on all calls of the process use this instruction set; nullptr: back to the choice
/// made by ROPE_ISA and the machine. Throws std::invalid_argument when it is not available. Calls that run meanwhile in
/// other threads finish with the instruction set they began with.
ROPE_API void force_isa(const char* name);

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/simd/isa_choice.hpp"
#endif

#include "detail/base/restore_macros.hpp"
