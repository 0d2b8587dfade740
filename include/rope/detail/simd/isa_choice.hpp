// SPDX-License-Identifier: MIT
// Definitions of isa.hpp: the choice of an instruction set, made once per process.
#pragma once

// <cmath>, tail_mask.hpp and what asks the machine are for isa_list.hpp, which is included within namespaces below: what
// it includes must have been included before.
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "../../errors.hpp"
#include "../../isa.hpp"
#include "../../types.hpp"
#include "../base/message.hpp"
#include "arm.hpp"
#include "tail_mask.hpp"
#include "x86.hpp"

ROPE_BEGIN

namespace detail {

/// The choice of the process, shared libraries with hidden symbols included; 0 before it is made. Its type is IsaId.
ROPE_VISIBLE inline std::atomic<std::uint64_t> chosen_isa{0};

inline namespace ROPE_DETAIL_NAMESPACE {

/// An instruction set as a number that is the same in every translation unit: the letters of its name, at most eight.
using IsaId = std::uint64_t;
constexpr IsaId isa_id(const char* name) noexcept {
    IsaId id = 0;
    while (*name != '\0') id = id << 8 | static_cast<unsigned char>(*name++);
    return id;
}
#define ROPE_ISA_ENTRY(name, has_fma, is_available)                                        \
    static_assert(sizeof(#name) <= sizeof(IsaId) + 1, "An IsaId has room for 8 letters."); \
    namespace name {                                                                       \
    inline constexpr IsaId kIsaId = isa_id(#name);                                         \
    inline constexpr bool kHasFma = has_fma;                                               \
    }
#include "isa_list.hpp"

/// The instruction sets of this translation unit that this machine runs.
ROPE_COLD IsaNames find_available_isas() noexcept {
    IsaNames names;
#define ROPE_ISA_ENTRY(name, has_fma, is_available) \
    if (is_available) names.push_back(#name);
#include "isa_list.hpp"
    return names;
}

ROPE_COLD Status check_isa(const char* source, const char* name) noexcept {
    const IsaNames names = find_available_isas();
    for (const char* available : names)
        if (std::strcmp(name, available) == 0) return Status();
    char cut[33] = {};  // so that the list has room beside any name
    for (std::size_t i = 0; i + 1 < sizeof(cut) && name[i] != '\0'; ++i) cut[i] = name[i];
    const char* const rest = std::strlen(name) < sizeof(cut) ? "" : "...";
    Message sentence("{} is \"{}{}\"; it must be one of the instruction sets available here: ", {source, cut, rest});
    for (Index i = 0; i < names.size(); ++i) {
        if (i > 0) sentence.append(", ");
        sentence.append(names[i]);
    }
    sentence.append(".");
    return Status(StatusCode::invalid_argument, sentence);
}

ROPE_DEPRECATED_BEGIN
ROPE_COLD const char* environment_variable(const char* name) noexcept { return std::getenv(name); }
ROPE_DEPRECATED_END

/// The choice of ROPE_ISA and the machine; `isa` is set where the Status is ok.
ROPE_COLD Status find_choice(IsaId& isa) noexcept {
    const char* const name = environment_variable("ROPE_ISA");
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

/// The name of an instruction set that this translation unit has.
inline const char* isa_name(IsaId isa) noexcept {
#define ROPE_ISA_CHOICE(set) #set
#include "isa_list.hpp"
}

/// Whether the instruction set in use has fma.
inline bool active_isa_has_fma() noexcept {
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
#define ROPE_ISA_CHOICE(set) set::kHasFma
#include "isa_list.hpp"
}

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

#if ROPE_HAS_DEFINITIONS
ROPE_API IsaNames available_isas() noexcept { return detail::find_available_isas(); }

ROPE_API const char* active_isa() {
    if (!detail::isa_is_chosen()) detail::ok_or_raise(detail::choose_isa());
    return detail::isa_name(detail::chosen_isa.load(std::memory_order_relaxed));
}

ROPE_API void force_isa(const char* name) {
    if (name == nullptr) {
        detail::IsaId isa = 0;
        detail::ok_or_raise(detail::find_choice(isa));
        detail::chosen_isa.store(isa, std::memory_order_relaxed);
    } else {
        detail::ok_or_raise(detail::check_isa("name, the argument of force_isa,", name));
        detail::chosen_isa.store(detail::isa_id(name), std::memory_order_relaxed);
    }
}

#endif

ROPE_END
