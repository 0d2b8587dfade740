// SPDX-License-Identifier: MIT
// Every instruction set that this program has and this machine runs, one after the other.
#pragma once

#include <rope/core.hpp>

#include <rope/detail/simd/isa_choice.hpp>

namespace support {

/// The set `name` until the end of the scope, then the choice of the process again.
class ForcedIsa {
 public:
    explicit ForcedIsa(const char* name) { rope::force_isa(name); }
    ~ForcedIsa() { rope::force_isa(nullptr); }
    ForcedIsa(const ForcedIsa&) = delete;
    ForcedIsa& operator=(const ForcedIsa&) = delete;
};

/// f(name) with every set in force.
template <class F>
void for_each_isa(F&& f) {
    for (const char* name : rope::available_isas()) {
        const ForcedIsa forced(name);
        f(name);
    }
}

/// f(name) with the best set of each class of bits in force: with fma, and without. For what goes over millions of
/// positions; that every set has the bits of its class is tested elsewhere.
template <class F>
void for_each_class_of_bits(F&& f) {
    bool done[2] = {};
    for_each_isa([&](const char* name) {
        bool& is_done = done[rope::detail::active_isa_has_fma()];
        if (!is_done) f(name);
        is_done = true;
    });
}

}  // namespace support
