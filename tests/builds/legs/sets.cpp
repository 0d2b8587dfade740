// SPDX-License-Identifier: MIT
// Prints the instruction sets of a build on its machine, best first, each with its class of bits.
#include <cstdio>

#include "../../support/isas.hpp"

int main() {
    support::for_each_isa(
        [](const char* name) { std::printf("%s %s\n", rope::detail::active_isa_has_fma() ? "fma" : "plain", name); });
}
