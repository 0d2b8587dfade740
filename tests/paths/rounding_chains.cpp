// SPDX-License-Identifier: MIT
// The chains of norm and rotation that models' own code computes in bfloat16, said as paths, against an emulation that
// shares nothing with the library; and the error of the default chain.
#include <rope/heads.hpp>

#include <rope/detail/simd/isa_choice.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using support::size;

namespace {

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kTokens = 96, kHeads = 4, kDim = 128, kStart = 20000;
constexpr double kEps = 1e-6;

/// The nearest bfloat16, ties to even, as a float.
float bf(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    std::memcpy(&x, &bits, 4);
    return x;
}
float same(float x) { return x; }
using Round = float (*)(float);

/// A chain: where it rounds.
struct Chain {
    Round normed;    // x * r
    Round weighted;  // ... * w
    Round rows;      // cos and sin
    Round each;      // products and sums of the rotation
    bool adds_one;
};

const std::vector<rope::bfloat16>& input() {
    static const auto x = support::normal<rope::bfloat16>(kTokens * kHeads * kDim, 5);
    return x;
}
const std::vector<rope::bfloat16>& weight() {
    static const auto w = support::normal<rope::bfloat16>(kDim, 6);
    return w;
}
rope::Config config() {
    rope::Config c;
    c.head_dim = kDim;
    c.base = 1e6;
    return c;
}

/// Element i of a head, in long double where nothing rounds.
std::vector<float> emulated(const Chain& chain) {
    std::vector<float> y(input().size());
    for (Index token = 0; token < kTokens; ++token)
        for (Index h = 0; h < kHeads; ++h) {
            const std::size_t at = size((token * kHeads + h) * kDim);
            long double squares = 0.0L;
            for (Index i = 0; i < kDim; ++i) {
                const long double x = support::to_double(input()[at + size(i)]);
                squares += x * x;
            }
            const float r = static_cast<float>(1.0L / std::sqrt(squares / kDim + static_cast<long double>(kEps)));
            float n[kDim];
            for (Index i = 0; i < kDim; ++i) {
                const float x = static_cast<float>(support::to_double(input()[at + size(i)]));
                const float w = static_cast<float>(support::to_double(weight()[size(i)]));
                const volatile float normed = x * r;
                const volatile float with_weight = chain.normed(normed) * (chain.adds_one ? 1.0f + w : w);
                n[i] = chain.weighted(with_weight);
            }
            for (Index i = 0; i < kDim / 2; ++i) {
                const long double w = std::pow(1e6L, -2.0L * static_cast<long double>(i) / kDim);
                const long double angle = static_cast<long double>(kStart + token) * w;
                const float c = chain.rows(static_cast<float>(std::cos(angle)));
                const float s = chain.rows(static_cast<float>(std::sin(angle)));
                const float a = n[i], b = n[i + kDim / 2];
                if (chain.each == &bf) {
                    const volatile float ac = a * c, bs = b * s, bc = b * c, as = a * s;
                    const volatile float first = bf(ac) - bf(bs), second = bf(bc) + bf(as);
                    y[at + size(i)] = bf(first);
                    y[at + size(i + kDim / 2)] = bf(second);
                } else {  // the rotation of the library, whose fma is that of the machine
                    const volatile float bs = b * s, as = a * s, ac = a * c, bc = b * c;
                    const bool fused = rope::detail::active_isa_has_fma();
                    y[at + size(i)] = bf(fused ? std::fma(a, c, -bs) : ac - bs);
                    y[at + size(i + kDim / 2)] = bf(fused ? std::fma(b, c, as) : bc + as);
                }
            }
        }
    return y;
}

std::vector<float> of_path(const std::function<void(rope::Path&)>& steps) {
    const rope::CosSinCache<float> table(config(), kTokens, kStart);
    std::vector<rope::bfloat16> y(input().size());
    rope::Path path = rope::heads(rope::view(input().data(), kTokens, kHeads, kDim));
    steps(path);
    rope::pass<kLayout>(table, rope::start_at(kStart), path.to(rope::view(y.data(), kTokens, kHeads, kDim)));
    std::vector<float> result(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) result[i] = static_cast<float>(support::to_double(y[i]));
    return result;
}

std::size_t differences(const std::vector<float>& a, const std::vector<float>& b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1U : 0U;
    return count;
}

/// What is computed without any rounding.
std::vector<long double> exact(bool adds_one) {
    std::vector<long double> y(input().size());
    for (std::size_t at = 0; at < y.size(); at += size(kDim)) {
        const Index token = static_cast<Index>(at) / (kHeads * kDim);
        long double squares = 0.0L, n[kDim];
        for (Index i = 0; i < kDim; ++i) {
            n[i] = support::to_double(input()[at + size(i)]);
            squares += n[i] * n[i];
        }
        for (Index i = 0; i < kDim; ++i)
            n[i] *= (support::to_double(weight()[size(i)]) + (adds_one ? 1.0L : 0.0L)) /
                    std::sqrt(squares / kDim + static_cast<long double>(kEps));
        for (Index i = 0; i < kDim / 2; ++i) {
            const long double angle =
                static_cast<long double>(kStart + token) * std::pow(1e6L, -2.0L * static_cast<long double>(i) / kDim);
            y[at + size(i)] = n[i] * std::cos(angle) - n[i + kDim / 2] * std::sin(angle);
            y[at + size(i + kDim / 2)] = n[i + kDim / 2] * std::cos(angle) + n[i] * std::sin(angle);
        }
    }
    return y;
}
double relative_error(const std::vector<float>& y, const std::vector<long double>& right) {
    long double squares = 0.0L, all = 0.0L;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const long double d = static_cast<long double>(y[i]) - right[i];
        squares += d * d;
        all += right[i] * right[i];
    }
    return static_cast<double>(std::sqrt(squares / all));
}
/// Prints an error and compares it with README.md's.
void check_error(const char* chain, const std::vector<float>& y, const std::vector<long double>& right, double stated) {
    const double error = relative_error(y, right);
    CHECK(std::fabs(error / stated - 1.0) < 0.01);
    std::printf("%-52s relative L2 error %.2e\n", chain, error);
}

}  // namespace

TEST_CASE("chains of models, bit for bit, and their errors") {
    using rope::NormOptions;
    using rope::NormRounding;
    using rope::NormSpan;
    using rope::RotateRounding;
    const auto* const w = weight().data();
    const NormOptions twice = {NormSpan::head, NormRounding::normalised, false};
    const NormOptions one = {NormSpan::head, NormRounding::none, true};
    const struct {
        const char* name;
        Chain chain;
        std::function<void(rope::Path&)> steps;
        double error;  // as README.md has it
    } chains[] = {
        {"a, all in bfloat16: Qwen3 in transformers",
         {bf, bf, bf, bf, false},
         [&](rope::Path& p) { p.rms_norm(w, kEps, twice).rotate(RotateRounding::all); },
         3.61e-3},
        {"c, rotation in bfloat16: Gemma 3",
         {same, bf, bf, bf, true},
         [&](rope::Path& p) { p.rms_norm(w, kEps, one).round().rotate(RotateRounding::all); },
         3.18e-3},
        {"a, float tables and rotation",
         {bf, bf, same, same, false},
         [&](rope::Path& p) { p.rms_norm(w, kEps, twice).rotate(); },
         2.89e-3},
        {"b rounded, bfloat16 tables, float rotation: Cohere",
         {same, bf, bf, same, false},
         [&](rope::Path& p) { p.rms_norm(w, kEps).round().rotate(RotateRounding::rows); },
         2.69e-3},
        {"b rounded, float tables and rotation: OLMo 2",
         {same, bf, same, same, false},
         [&](rope::Path& p) { p.rms_norm(w, kEps).round().rotate(); },
         2.36e-3},
        {"all in float, rounded once: the default",
         {same, same, same, same, false},
         [&](rope::Path& p) { p.rms_norm(w, kEps).rotate(); },
         1.67e-3},
    };
    for (const auto& c : chains) {
        INFO(c.name);
        const std::vector<float> y = of_path(c.steps);
        CHECK(differences(y, emulated(c.chain)) == 0);
        check_error(c.name, y, exact(c.chain.adds_one), c.error);
    }
}

TEST_CASE("the default chain is as good as rounding the exact result") {
    std::vector<float> best(input().size());
    const std::vector<long double> right = exact(false);
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = bf(static_cast<float>(right[i]));
    const std::vector<float> ours = of_path([](rope::Path& p) { p.rms_norm(weight().data(), kEps).rotate(); });
    CHECK(relative_error(ours, right) <= 1.02 * relative_error(best, right));
}

TEST_CASE("root: r is rounded first, then the product (DeepSeek-V4's queries)") {
    const std::vector<float> y = of_path([](rope::Path& p) {
        p.rms_norm(kEps, {rope::NormSpan::head, rope::NormRounding::root, false});
    });
    std::vector<long double> right(y.size());
    for (std::size_t at = 0; at < y.size(); at += size(kDim)) {
        long double squares = 0.0L;
        for (Index i = 0; i < kDim; ++i) {
            const long double x = support::to_double(input()[at + size(i)]);
            squares += x * x;
        }
        const long double root = 1.0L / std::sqrt(squares / kDim + static_cast<long double>(kEps));
        const float r = bf(static_cast<float>(root));
        for (Index i = 0; i < kDim; ++i) {
            const volatile float product = static_cast<float>(support::to_double(input()[at + size(i)])) * r;
            REQUIRE(y[at + size(i)] == bf(product));
            right[at + size(i)] = support::to_double(input()[at + size(i)]) * root;
        }
    }
    check_error("d, root rounded, no weight: DeepSeek-V4's queries", y, right, 2.33e-3);
}
