// SPDX-License-Identifier: MIT
// What the compiler makes of the AVX-512 kernels, on any x86-64 machine, for none of them runs: fma on whole registers,
// and inner loops that keep what they use in registers. Compiled with plain -O2, as users do.
#include <rope/core.hpp>

#include <cstddef>
#include <cstdint>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/disassembly.hpp"

// Kernels that stand in the program, though nothing here calls apply.
namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
#define ROPE_TEST_KERNEL(layout, X, T) \
    template const RotateKernels<X, X, T>& avx512::rotate_kernels<Layout::layout, X, X, T>(Index, bool) noexcept;
ROPE_TEST_KERNEL(half_split, float, float)
ROPE_TEST_KERNEL(half_split, double, double)
ROPE_TEST_KERNEL(half_split, half, float)
ROPE_TEST_KERNEL(half_split, bfloat16, float)
ROPE_TEST_KERNEL(interleaved, float, float)
ROPE_TEST_KERNEL(interleaved, double, double)
ROPE_TEST_KERNEL(interleaved, half, float)
ROPE_TEST_KERNEL(interleaved, bfloat16, float)
#undef ROPE_TEST_KERNEL
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

namespace {

struct Line {
    std::uintptr_t address;
    std::string text;
};
struct Kernel {
    std::string name;
    std::vector<Line> lines;
    bool turns_one_group;
};

/// The functions of this program that turn blocks by AVX-512.
std::vector<Kernel> kernels() {
    std::istringstream all(
        support::output_of("objdump -d -C --no-show-raw-insn '" + support::this_program() + "' 2>/dev/null"));
    std::vector<Kernel> found;
    bool is_inside = false;
    for (std::string line; std::getline(all, line);) {
        if (line.empty()) is_inside = false;
        const bool one_group = line.find("avx512::rotate_fixed_size") != std::string::npos;
        if (line.find(">:") != std::string::npos &&
            (one_group || line.find("avx512::rotate_by_blocks") != std::string::npos)) {
            found.push_back({line, {}, one_group});
            is_inside = true;
        } else if (is_inside && line.find(':') != std::string::npos) {
            found.back().lines.push_back({std::stoull(line, nullptr, 16), line.substr(line.find(':') + 1)});
        }
    }
    return found;
}

/// The innermost loops, as those over heads are: what they jump to lies behind them, and is rare.
std::vector<std::vector<Line>> inner_loops(const Kernel& kernel) {
    static const std::regex jump("^\\s*j[a-z]+\\s+([0-9a-f]+)");
    struct Jump {
        std::size_t line;
        std::uintptr_t target;
    };
    std::vector<Jump> jumps;
    for (std::size_t i = 0; i < kernel.lines.size(); ++i) {
        std::smatch match;
        if (std::regex_search(kernel.lines[i].text, match, jump))
            jumps.push_back({i, std::stoull(match[1], nullptr, 16)});
    }
    std::vector<std::vector<Line>> loops;
    for (const Jump& back : jumps) {
        std::size_t begin = 0;
        while (begin < back.line && kernel.lines[begin].address != back.target) ++begin;
        bool is_inner = begin < back.line;
        for (const Jump& other : jumps)
            if (other.line >= begin && other.line < back.line && other.target <= kernel.lines[back.line].address)
                is_inner = false;
        if (is_inner)
            loops.emplace_back(kernel.lines.begin() + static_cast<std::ptrdiff_t>(begin),
                               kernel.lines.begin() + static_cast<std::ptrdiff_t>(back.line + 1));
    }
    return loops;
}

}  // namespace

TEST_CASE("AVX-512 kernels are made of fma on whole registers, and loops without the stack") {
    const std::vector<Kernel> all = kernels();
    CHECK(all.size() == 2 * 10);  // bfloat16 with the instruction for it, and without
    const std::regex fma("vf(m|nm)(add|sub|addsub|subadd)[123]{3}p[sd].*%zmm");
    const std::regex to_stack("%zmm[0-9]+,[^,]*\\(%rsp");
    const std::regex stack("%zmm.*\\(%rsp|\\(%rsp.*%zmm");
    for (const Kernel& kernel : all) {
        CAPTURE(kernel.name);
        std::size_t turning = 0;
        const bool converts = kernel.name.find("ByConversion") != std::string::npos;
        for (const std::vector<Line>& loop : inner_loops(kernel)) {
            std::size_t products = 0, conversions = 0;
            for (const Line& line : loop) {
                if (std::regex_search(line.text, fma)) ++products;
                if (line.text.find("vcvtne2ps2bf16") != std::string::npos) ++conversions;
            }
            if (products == 0) continue;
            ++turning;
            CHECK(conversions == (converts ? products / 2 : 0));
            // Sixteen blocks of doubled cosines and sines are as many as there are registers: some are read.
            const bool is_full = products >= 16 && kernel.name.find("InterleavedBlock") != std::string::npos;
            for (const Line& line : loop) {
                CAPTURE(line.text);
                CHECK_FALSE(std::regex_search(line.text, is_full ? to_stack : stack));
            }
        }
        if (kernel.turns_one_group)
            CHECK(turning == 1);
        else
            CHECK(turning >= 2);  // all blocks of the widest group at once; one block
    }
}

TEST_CASE("AVX-512 kernels for heads of one group of blocks read nothing from the stack") {
    const std::regex stack("\\(%r[sb]p");
    for (const Kernel& kernel : kernels()) {
        // But for doubled cosines and sines, of which sixteen blocks have more than there are registers.
        const bool is_full = kernel.name.find("InterleavedBlock") != std::string::npos &&
                             kernel.name.find("double, double, double") != std::string::npos;
        if (!kernel.turns_one_group || is_full) continue;
        CAPTURE(kernel.name);
        CHECK_FALSE(kernel.lines.empty());
        for (const Line& line : kernel.lines) {
            CAPTURE(line.text);
            CHECK_FALSE(std::regex_search(line.text, stack));
        }
    }
}

TEST_CASE("AVX-512 kernels that keep registers on the stack have rounded it to whole lines of the cache") {
    const std::regex stack("%zmm.*\\(%r[sb]p|\\(%r[sb]p.*%zmm");
    const std::regex rounding("and\\s+\\$0xf+(c0|80|00),%rsp");
    std::size_t with_stack = 0;
    for (const Kernel& kernel : kernels()) {
        CAPTURE(kernel.name);
        bool keeps_some = false, is_rounded = false;
        for (const Line& line : kernel.lines) {
            keeps_some = keeps_some || std::regex_search(line.text, stack);
            is_rounded = is_rounded || std::regex_search(line.text, rounding);
        }
        if (keeps_some) ++with_stack;
        CHECK((!keeps_some || is_rounded));
    }
    CHECK(with_stack >= 1);  // sixteen blocks of interleaved doubles
}
