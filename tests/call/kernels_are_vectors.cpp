// SPDX-License-Identifier: MIT
// Kernels are vectors by plain -O2: no function of an instruction set computes with floats one by one alone, but for
// those that are meant to.
#include <rope/additive.hpp>
#include <rope/core.hpp>
#include <rope/gradients.hpp>
#include <rope/heads.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/disassembly.hpp"

namespace {

using rope::Index;
using support::Function;

/// A call of each kind, so that this program has all kernels.
template <class T>
void use_all_kernels() {
    constexpr Index d = 64;
    const rope::CosSinCache<T> table(rope::Config{d}, 4);
    std::vector<T> x(2 * d), y(2 * d);
    const auto q = rope::view(x.data(), 1, 2, d), k = rope::view(y.data(), 1, 2, d);
    rope::apply(rope::Layout::half_split, q, k, table);
    rope::apply(rope::Layout::interleaved, q, k, table);
    rope::SinusoidalEmbedding<T>(2 * d, 4).add(q);
    rope::pass<rope::Layout::half_split>(table, rope::heads(q).rms_norm(1e-6).rotate().to(k));
    if constexpr (sizeof(T) == sizeof(float)) {
        std::vector<signed char> signed_codes(2 * d);
        std::vector<unsigned char> codes(2 * 68), powers(2);
        std::vector<float> of_head(2), zero_of_head(2);
        const auto bytes = rope::view(codes.data(), 1, 2, d), half_bytes = rope::view(codes.data(), 1, 2, d / 2);
        const auto scales = rope::view(of_head.data(), 1, 2, 1), zeros = rope::view(zero_of_head.data(), 1, 2, 1);
        for (const rope::Destination& to :
             {rope::int8(rope::view(signed_codes.data(), 1, 2, d), scales), rope::uint8(bytes, scales, zeros),
              rope::uint4(half_bytes, scales, zeros), rope::fp8_e4m3(bytes), rope::fp8_e5m2(bytes),
              rope::fp8_e4m3(bytes, scales), rope::fp8_e4m3(bytes, rope::view(powers.data(), 1, 2, 1)),
              rope::q8_0(rope::view(codes.data(), 1, 2, 68)), rope::q4_0(rope::view(codes.data(), 1, 2, 36))}) {
            rope::pass<rope::Layout::half_split>(table, rope::heads(q).to(to));
            rope::dequantise(to, k);
        }
    }
}

/// For any stride; for codes that floats cannot tell; for minima by a set that has no fma.
bool is_meant_to_be_scalar(const std::string& name) {
    for (const char* part : {"rotate_by_pairs", "add_one_by_one", "nearest_code", "read_one_by_one"})
        if (name.find(part) != std::string::npos) return true;
    return false;
}

/// Whether a function has vectors as wide as its set's.
bool has_vectors(const Function& f, const std::string& isa) {
    if (isa == "avx512") return f.has_widest_registers;
    if (isa == "avx2") return f.has_wide_registers;
    return f.has_packed_products || f.has_packed_sums || f.has_packed_integers;
}

}  // namespace

TEST_CASE("no kernel computes number by number") {
    use_all_kernels<float>();
    use_all_kernels<double>();
    const std::vector<Function> functions = support::functions_of_this_program();
    for (const std::string isa : {"avx512", "avx2", "sse2"}) {
        int kernels = 0;
        for (const Function& f : functions) {
            if (!support::is_of(f.name, isa)) continue;
            kernels += has_vectors(f, isa);
            INFO(f.name);
            CHECK((has_vectors(f, isa) || !f.has_scalar_arithmetic || is_meant_to_be_scalar(f.name)));
        }
        INFO(isa);
#if defined(__FMA__)  // then there is no sse2
        if (isa == "sse2") continue;
#endif
        CHECK(kernels > 40);
    }
}
