// SPDX-License-Identifier: MIT
// The instruction sets of x86 processors, from the registers that cpuid has on them, and of this machine, from what Linux
// says. Each bit that a set needs is missing once, alone.
#include <rope/detail/simd/x86.hpp>

#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

using rope::detail::CpuidRegisters;
using rope::detail::X86Sets;

/// A machine of registers. What is asked but cannot be is remembered: `mistakes`.
struct Processor {
    const char* name;
    std::uint32_t leaves, leaf_1_c, leaf_7_a, leaf_7_b, leaf_7_1_a, state;
    const char* sets;
    mutable std::string mistakes = {};

    CpuidRegisters cpuid(std::uint32_t leaf, std::uint32_t subleaf) const {
        CpuidRegisters r;
        // Beyond the last leaf, Intel's processors have the registers of the last one; here, ones.
        if (leaf > leaves || (leaf == 7 && subleaf > leaf_7_a)) {
            mistakes += "cpuid of leaf " + std::to_string(leaf) + ", " + std::to_string(subleaf) + "; ";
            r.a = r.b = r.c = r.d = ~0u;
        } else if (leaf == 0) {
            r.a = leaves;
        } else if (leaf == 1) {
            r.c = leaf_1_c;
        } else if (leaf == 7 && subleaf == 0) {
            r.a = leaf_7_a;
            r.b = leaf_7_b;
        } else if (leaf == 7 && subleaf == 1) {
            r.a = leaf_7_1_a;
        }
        return r;
    }
    std::uint32_t saved_state() const {
        if ((leaf_1_c & 1u << 27) == 0) mistakes += "xgetbv, which the system has not allowed; ";
        return state;
    }
};

std::string names(const X86Sets& sets) {
    return std::string(sets.avx2 ? "avx2 " : "") + (sets.avx512 ? "avx512 " : "") + (sets.avx512_bf16 ? "bf16 " : "");
}
std::string sets_of(const Processor& p) { return names(rope::detail::find_x86_sets(p)); }

/// Leaf 0 eax, leaf 1 ecx, leaf 7 eax and ebx, leaf 7.1 eax, and the state that the processor can save (leaf 13 eax),
/// as published in the dumps of https://github.com/InstLatx64/InstLatx64.
const std::vector<Processor> kProcessors = {
    {"Core 2", 0x0a, 0x0008e3bd, 0, 0x00000000, 0x00000000, 0x00000000, ""},
    {"Nehalem", 0x0b, 0x0098e3fd, 0, 0x00000000, 0x00000000, 0x00000000, ""},
    {"Sandy Bridge", 0x0d, 0x1fbae3ff, 0, 0x00000000, 0x00000000, 0x00000007, ""},
    {"Ivy Bridge", 0x0d, 0x7f9ae3bf, 0, 0x00000281, 0x00000000, 0x00000007, ""},
    {"Celeron G1610, without AVX", 0x0d, 0x0d9ae3bf, 0, 0x00000281, 0x00000000, 0x00000003, ""},
    {"Haswell", 0x0d, 0x7ffafbff, 0, 0x000027ab, 0x00000000, 0x00000007, "avx2 "},
    {"Skylake", 0x16, 0x7ffafbbf, 0, 0x029c6fbf, 0x00000000, 0x0000001f, "avx2 "},
    {"Pentium G4400, without AVX", 0x16, 0x4ffaebbf, 0, 0x02942603, 0x00000000, 0x00000003, ""},
    {"Knights Landing, without BW, DQ, VL", 0x0d, 0x7ff8f39f, 0, 0x1c0d23ab, 0x00000000, 0x000000e7, "avx2 "},
    {"Skylake-SP", 0x16, 0x7ffefbff, 0, 0xd39ffffb, 0x00000000, 0x000002ff, "avx2 avx512 "},
    {"Ice Lake", 0x1b, 0x7ffafbbf, 0, 0xf2bf27ef, 0x00000000, 0x000002e7, "avx2 avx512 "},
    {"Tiger Lake", 0x1b, 0x7ffafbbf, 0, 0xf3bfa7eb, 0x00000000, 0x000002e7, "avx2 avx512 "},
    {"Alder Lake", 0x20, 0x7ffafbbf, 2, 0x239c27eb, 0x00400810, 0x00000207, "avx2 "},
    {"Alder Lake with AVX-512", 0x20, 0x7ffafbff, 1, 0xf3bfa7eb, 0x00401c30, 0x000002e7, "avx2 avx512 bf16 "},
    {"Sapphire Rapids, with AMX", 0x20, 0x7ffefbff, 2, 0xf3bfbffb, 0x00001c30, 0x000602e7, "avx2 avx512 bf16 "},
    {"Granite Rapids, with AVX10", 0x24, 0x7ffefbff, 2, 0xf3bfbffb, 0x40201d30, 0x000602e7, "avx2 avx512 bf16 "},
    {"Lunar Lake", 0x23, 0x7ffafbff, 2, 0x239ca7eb, 0x44c009d7, 0x00000207, "avx2 "},
    {"Panther Lake", 0x28, 0x7ffafbff, 2, 0x239ca7eb, 0x4cce09d7, 0x00000207, "avx2 "},
    {"Goldmont", 0x15, 0x4ff8ebbf, 0, 0x2294e283, 0x00000000, 0x0000001b, ""},
    {"Bulldozer", 0x0d, 0x1e98220b, 0, 0x00000000, 0x00000000, 0x00000007, ""},
    {"Piledriver", 0x0d, 0x3e98320b, 0, 0x00000008, 0x00000000, 0x00000007, ""},
    {"Excavator", 0x0d, 0x7ed8320b, 0, 0x000001a9, 0x00000000, 0x00000007, "avx2 "},
    {"Zen 1", 0x0d, 0x7ed8320b, 0, 0x209c01a9, 0x00000000, 0x00000007, "avx2 "},
    {"Zen 3", 0x10, 0x7ed8320b, 0, 0x219c97a9, 0x00000000, 0x00000207, "avx2 "},
    {"Zen 4", 0x10, 0x7ef8320b, 1, 0xf1bf97a9, 0x00000020, 0x000002e7, "avx2 avx512 bf16 "},
    {"Zen 5", 0x10, 0x7ed8320b, 1, 0xf1bf97ab, 0x00000030, 0x000002e7, "avx2 avx512 bf16 "},
    {"KX-7000", 0x1f, 0x7ffa73eb, 0, 0x200c25ab, 0x00000000, 0x00000207, "avx2 "},
    {"Centaur CNS", 0x0d, 0x7fda73ab, 0, 0xf1bf67ab, 0x00000000, 0x000002ff, "avx2 avx512 "}};

/// A bit, and the sets of a machine with all bits that are left without it.
struct Needed {
    const char* name;
    std::uint32_t Processor::*where;
    int bit;
    const char* left;
};
const std::vector<Needed> kNeeded = {{"SSE3", &Processor::leaf_1_c, 0, ""},
                                     {"SSSE3", &Processor::leaf_1_c, 9, ""},
                                     {"FMA", &Processor::leaf_1_c, 12, ""},
                                     {"SSE4.1", &Processor::leaf_1_c, 19, ""},
                                     {"SSE4.2", &Processor::leaf_1_c, 20, ""},
                                     {"POPCNT", &Processor::leaf_1_c, 23, ""},
                                     {"XSAVE", &Processor::leaf_1_c, 26, ""},
                                     {"OSXSAVE", &Processor::leaf_1_c, 27, ""},
                                     {"AVX", &Processor::leaf_1_c, 28, ""},
                                     {"F16C", &Processor::leaf_1_c, 29, ""},
                                     {"AVX2", &Processor::leaf_7_b, 5, ""},
                                     {"AVX512F", &Processor::leaf_7_b, 16, "avx2 "},
                                     {"AVX512DQ", &Processor::leaf_7_b, 17, "avx2 "},
                                     {"AVX512BW", &Processor::leaf_7_b, 30, "avx2 "},
                                     {"AVX512VL", &Processor::leaf_7_b, 31, "avx2 "},
                                     {"AVX512_BF16", &Processor::leaf_7_1_a, 5, "avx2 avx512 "},
                                     {"state of xmm", &Processor::state, 1, ""},
                                     {"state of ymm", &Processor::state, 2, ""},
                                     {"state of k", &Processor::state, 5, "avx2 "},
                                     {"state of zmm's upper halves", &Processor::state, 6, "avx2 "},
                                     {"state of zmm16 to zmm31", &Processor::state, 7, "avx2 "}};

}  // namespace

TEST_CASE("processors have the sets that are theirs") {
    for (const Processor& p : kProcessors) {
        CAPTURE(p.name);
        CHECK(sets_of(p) == p.sets);
        CHECK(p.mistakes == "");
    }
}

TEST_CASE("a set needs each of its bits, and no other") {
    constexpr std::uint32_t Processor::*registers[] = {&Processor::leaf_1_c, &Processor::leaf_7_b,
                                                       &Processor::leaf_7_1_a, &Processor::state};
    for (const bool others : {false, true}) {  // bits that no set needs, AVX10's and APX's among them
        const std::uint32_t start = others ? ~0u : 0u;
        Processor all = {"all bits", 0x24, start, 1, start, start, start, ""};
        for (const Needed& n : kNeeded) all.*n.where |= 1u << n.bit;
        REQUIRE(sets_of(all) == "avx2 avx512 bf16 ");
        for (std::uint32_t Processor::*const where : registers)
            for (int bit = 0; bit < 32; ++bit) {
                Processor p = all;
                p.*where ^= 1u << bit;
                std::string left = "avx2 avx512 bf16 ", name = "no other";
                for (const Needed& n : kNeeded)
                    if (n.where == where && n.bit == bit) {
                        left = n.left;
                        name = n.name;
                    }
                CAPTURE(name, bit, others);
                CHECK(sets_of(p) == left);
                CHECK(p.mistakes == "");
            }
    }
}

TEST_CASE("leaves that a processor does not have are not read") {
    Processor p = kProcessors.back();
    p.leaves = 6;  // as Windows NT and some firmware leave it: "limit CPUID maxval"
    CHECK(sets_of(p) == "");
    CHECK(p.mistakes == "");
    p = kProcessors.back();
    p.leaf_7_a = 0;
    p.leaf_7_1_a = ~0u;
    CHECK(sets_of(p) == "avx2 avx512 ");
    CHECK(p.mistakes == "");
}

TEST_CASE("versions of a system are compared number by number") {
    using rope::detail::is_at_least;
    for (const char* text : {"21.3.0", "21.3", "21.10.1", "22.0.0", "100"}) CHECK(is_at_least(text, 21, 3));
    for (const char* text : {"21.2.9", "21", "9.8.0", "2.13", "", "unknown"}) CHECK(!is_at_least(text, 21, 3));
}

#if defined(__x86_64__) && defined(__linux__)
TEST_CASE("this machine has the sets that Linux says") {
    std::ifstream file("/proc/cpuinfo");
    std::set<std::string> flags;
    for (std::string line; flags.empty() && std::getline(file, line);)
        if (line.rfind("flags", 0) == 0) {
            std::istringstream words(line.substr(line.find(':') + 1));
            for (std::string word; words >> word;) flags.insert(word);
        }
    REQUIRE(!flags.empty());
    const auto has = [&](const char* flag) { return flags.count(flag) != 0; };
    X86Sets expected;
    expected.avx2 = has("avx2") && has("fma") && has("f16c");
    expected.avx512 = expected.avx2 && has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
    expected.avx512_bf16 = expected.avx512 && has("avx512_bf16");
    CHECK(names(rope::detail::this_x86()) == names(expected));
}
#endif
