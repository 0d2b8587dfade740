// SPDX-License-Identifier: MIT
// Prints two lines per instruction set, of names and hashes of bits that a fixed workload gives: those that are the same in
// all sets, and those of the set's class, with fma or without. Compiled in many ways by same_bits.cmake, which compares
// what they print.
#include "support/path_workload.hpp"
#include "support/workload.hpp"

#include <cstdio>
#include <string>

namespace {

std::string entry(const std::string& name, std::uint64_t hash) {
    char text[32];
    std::snprintf(text, sizeof(text), " %016llx", static_cast<unsigned long long>(hash));
    return " " + name + text;
}

}  // namespace

int main() {
    for (const char* isa : rope::available_isas()) {
        rope::force_isa(isa);
        std::string of_all, of_class;
        of_class += entry("float", support::workload_hash<float, float>());
        of_class += entry("double", support::workload_hash<double, double>());
        of_class += entry("half", support::workload_hash<rope::half, float>());
        of_class += entry("bfloat16", support::workload_hash<rope::bfloat16, float>());
        support::run_path_workload([&](bool has_class, const std::string& name, std::uint64_t hash) {
            (has_class ? of_class : of_all) += entry(name, hash);
        });
        const char* const name = rope::detail::active_isa_has_fma() ? "fma" : "plain";
        std::printf("any %s:%s\n%s %s:%s\n", isa, of_all.c_str(), name, isa, of_class.c_str());
    }
}
