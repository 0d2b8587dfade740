// SPDX-License-Identifier: MIT
// The instruction set that the kernels use.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "errors.hpp"
#include "types.hpp"

#include "detail/base/arithmetic.hpp"

// Every kernel exists once per instruction set, in every translation unit that includes the library. The first table
// that is built, or the first call that needs a kernel, chooses once per process: the environment variable ROPE_ISA if
// it is set and not empty, else the best instruction set that the machine has. A name that is not available is no
// choice: tables are built by plain loops, with the same bits, and calls throw. The instruction sets, best first,
// spelled exactly so:
//
//     avx512      x86-64 with AVX-512 F, BW, DQ and VL; avx2 for heads that are no whole vectors, runs of single heads
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

#include "detail/simd/isa_list.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// Names of instruction sets, best first: a range of const char*.
class IsaNames {
 public:
    ROPE_ABI IsaNames() = default;
    ROPE_CROSSES(IsaNames)
    ROPE_ABI const char* const* begin() const noexcept { return names_; }
    ROPE_ABI const char* const* end() const noexcept { return names_ + count_; }
    ROPE_ABI Index size() const noexcept { return count_; }
    ROPE_ABI const char* operator[](Index i) const noexcept { return names_[i]; }
    ROPE_ABI void push_back(const char* name) noexcept {
        if (count_ < kMost) names_[count_++] = name;
    }

 private:
    static constexpr Index kMost = 16;
    const char* names_[kMost] = {};
    Index count_ = 0;
};

namespace detail {

/// An instruction set as a number that is the same in every translation unit: the letters of its name, at most eight.
using IsaId = std::uint64_t;
ROPE_ABI constexpr IsaId isa_id(const char* name) noexcept {
    IsaId id = 0;
    while (*name != '\0') id = id << 8 | static_cast<unsigned char>(*name++);
    return id;
}

/// The choice of the process, shared libraries with hidden symbols included; 0 before it is made.
ROPE_VISIBLE inline std::atomic<IsaId> chosen_isa{0};

/// The instruction sets of this translation unit that this machine runs.
ROPE_COLD IsaNames find_available_isas() noexcept {
    IsaNames names;
#define ROPE_ISA_ENTRY(name)                                                               \
    static_assert(sizeof(#name) <= sizeof(IsaId) + 1, "An IsaId has room for 8 letters."); \
    if (name::is_available()) names.push_back(#name);
#include "detail/simd/isa_list.hpp"
    return names;
}

ROPE_COLD Status check_isa(const char* source, const char* name) noexcept {
    const IsaNames names = find_available_isas();
    for (const char* available : names)
        if (std::strcmp(name, available) == 0) return Status();
    char cut[33] = {};  // so that the list has room beside any name
    std::strncpy(cut, name, sizeof(cut) - 1);
    const char* const rest = std::strlen(name) < sizeof(cut) ? "" : "...";
    Message sentence("{} is \"{}{}\"; it must be one of the instruction sets available here: ", {source, cut, rest});
    for (Index i = 0; i < names.size(); ++i) {
        if (i > 0) sentence.append(", ");
        sentence.append(names[i]);
    }
    sentence.append(".");
    return Status(StatusCode::invalid_argument, sentence);
}

/// The choice of ROPE_ISA and the machine; `isa` is set where the Status is ok.
ROPE_COLD Status find_choice(IsaId& isa) noexcept {
    const char* const name = std::getenv("ROPE_ISA");
    if (name == nullptr || name[0] == '\0') {
        isa = isa_id(find_available_isas()[0]);
        return Status();
    }
    isa = isa_id(name);
    return check_isa("The environment variable ROPE_ISA", name);
}

/// Makes the choice, unless somebody has made it meanwhile.
ROPE_COLD Status choose_isa() noexcept {
    IsaId isa = 0, none = 0;
    const Status status = find_choice(isa);
    if (status.ok()) chosen_isa.compare_exchange_strong(none, isa, std::memory_order_relaxed);
    return status;
}

/// Ok from the first call on that was ok.
ROPE_INLINE bool isa_is_chosen() noexcept { return chosen_isa.load(std::memory_order_relaxed) != 0; }

/// Whether the instruction set in use has fma.
ROPE_ABI inline bool active_isa_has_fma() noexcept {
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
#define ROPE_ISA_ENTRY(name) \
    if (isa == isa_id(#name)) return name::kHasFma;
#include "detail/simd/isa_list.hpp"
    return portable::kHasFma;
}

}  // namespace detail

/// The instruction sets that this translation unit has and this machine runs, best first; "portable" is always among
/// them.
ROPE_ABI inline IsaNames available_isas() noexcept { return detail::find_available_isas(); }

/// The instruction set that calls from this translation unit use. Throws std::invalid_argument when the choice has not
/// been made yet and ROPE_ISA names none that is available.
ROPE_ABI inline const char* active_isa() {
    if (!detail::isa_is_chosen() && !detail::ok_or_raise(detail::choose_isa())) return "";
    const detail::IsaId isa = detail::chosen_isa.load(std::memory_order_relaxed);
#define ROPE_ISA_ENTRY(name) \
    if (isa == detail::isa_id(#name)) return #name;
#include "detail/simd/isa_list.hpp"
    return "portable";
}

/// For tests and benchmarks: from now on all calls of the process use this instruction set; nullptr: back to the choice
/// made by ROPE_ISA and the machine. Throws std::invalid_argument when it is not available. Calls that run meanwhile in
/// other threads finish with the instruction set they began with.
ROPE_ABI inline void force_isa(const char* name) {
    if (name == nullptr) {
        detail::IsaId isa = 0;
        if (detail::ok_or_raise(detail::find_choice(isa))) detail::chosen_isa.store(isa, std::memory_order_relaxed);
    } else if (detail::ok_or_raise(detail::check_isa("name, the argument of force_isa,", name))) {
        detail::chosen_isa.store(detail::isa_id(name), std::memory_order_relaxed);
    }
}

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
