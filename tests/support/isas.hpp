// SPDX-License-Identifier: MIT
// Every instruction set that this program has and this machine runs, one after the other.
#pragma once

#include <rope/core.hpp>

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

}  // namespace support
