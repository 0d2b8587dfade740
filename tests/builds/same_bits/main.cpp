// SPDX-License-Identifier: MIT
// Prints a line per instruction set: whether it has fma, and for each element type a hash of the bits that a fixed
// workload gives. Compiled in many ways by same_bits.cmake, which compares what they print.
#include "../../support/workload.hpp"

#include <cstdio>

namespace {

template <class T, class Table>
void print_hash(const char* name) {
    std::printf(" %s %016llx", name, static_cast<unsigned long long>(support::workload_hash<T, Table>()));
}

}  // namespace

int main() {
    for (const char* isa : rope::available_isas()) {
        rope::force_isa(isa);
        std::printf("%s %s:", rope::detail::active_isa_has_fma() ? "fma" : "plain", isa);
        print_hash<float, float>("float");
        print_hash<double, double>("double");
        print_hash<rope::half, float>("half");
        print_hash<rope::bfloat16, float>("bfloat16");
        std::printf("\n");
    }
}
