// SPDX-License-Identifier: MIT
// Every step, and every pair of steps in both orders, against loops in long double: in float within some roundings of the
// largest numbers, in double within as many of its own.
#include <rope/heads.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using support::size;

namespace {

constexpr Index kSeq = 3, kHeads = 2, kDim = 32, kToken = kHeads * kDim, kStart = 7;
constexpr double kEps = 0.01, kBase = 100.0;
using Real = long double;
using Token = std::vector<Real>;  // [heads, head_dim]

/// A step as a path has it, and as long double: of token t, in place.
template <class T>
struct Step {
    std::string name;
    bool rotates;
    std::function<void(rope::Path&)> add;
    std::function<void(Token&, Index t)> exact;
};

/// f(head), which begins at that number.
template <class F>
void for_each_head(Token& x, const F& f) {
    for (Index h = 0; h < kHeads; ++h) f(x.data() + h * kDim, h);
}
void norm(Real* x, Index count, bool has_mean, bool of_sum, const std::function<Real(Index)>& w) {
    Real mean = 0.0L, squares = 0.0L;
    for (Index i = 0; i < count; ++i) mean += has_mean ? x[i] / static_cast<Real>(count) : 0.0L;
    for (Index i = 0; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const Real r = 1.0L / std::sqrt(squares / static_cast<Real>(of_sum ? 1 : count) + static_cast<Real>(kEps));
    for (Index i = 0; i < count; ++i) x[i] = (x[i] - mean) * r * w(i);
}
/// Pairs (i, i + half); sign -1 rotates back. Left interleaved if is_moved.
void rotate(Token& x, Index t, Real sign, bool is_moved) {
    for_each_head(x, [&](Real* head, Index) {
        const std::vector<Real> old(head, head + kDim);
        for (Index i = 0; i < kDim / 2; ++i) {
            const Real angle = sign * static_cast<Real>(kStart + t) *
                               std::pow(static_cast<Real>(kBase), -2.0L * static_cast<Real>(i) / kDim);
            const Real a = old[size(i)], b = old[size(i + kDim / 2)];
            head[is_moved ? 2 * i : i] = a * std::cos(angle) - b * std::sin(angle);
            head[is_moved ? 2 * i + 1 : i + kDim / 2] = b * std::cos(angle) + a * std::sin(angle);
        }
    });
}

template <class T>
std::vector<Step<T>> steps_of(const std::vector<T>& w, const std::vector<T>& of_heads,
                              const std::vector<T>& of_tokens) {
    const auto real = [](T x) { return static_cast<Real>(x); };
    const auto each = [](const auto& f) {
        return [f](Token& x, Index t) {
            for (Index i = 0; i < kToken; ++i) x[size(i)] = f(x[size(i)], i, t);
        };
    };
    const auto norm_of_heads = [](bool has_mean, bool of_sum, const auto& weight) {
        return [=](Token& x, Index) {
            for_each_head(x, [&](Real* head, Index h) {
                norm(head, kDim, has_mean, of_sum, [&](Index i) { return weight(h, i); });
            });
        };
    };
    const auto by_w = [&w, real](Index, Index i) { return real(w[size(i)]); };
    return {
        {"add", false, [&](rope::Path& p) { p.add(w); },
         each([&w, real](Real x, Index i, Index) { return x + real(w[size(i % kDim)]); })},
        {"clamp", false, [](rope::Path& p) { p.clamp(0.75); },
         each([](Real x, Index, Index) { return std::min(0.75L, std::max(-0.75L, x)); })},
        {"multiply", false, [](rope::Path& p) { p.multiply(0.375); },
         each([](Real x, Index, Index) { return x * 0.375L; })},
        {"multiply by token", false, [&](rope::Path& p) { p.multiply(rope::view(of_tokens.data(), 1, kSeq, 1, 1)); },
         each([&of_tokens, real](Real x, Index, Index t) { return x * real(of_tokens[size(t)]); })},
        {"rms_norm", false, [&](rope::Path& p) { p.rms_norm(w, kEps); }, norm_of_heads(false, false, by_w)},
        {"rms_norm by 1 + w of each head", false,
         [&](rope::Path& p) {
             p.rms_norm(rope::view(of_heads.data(), 1, 1, kHeads, kDim), kEps,
                        {rope::NormSpan::head, rope::NormRounding::none, true});
         },
         norm_of_heads(false, false,
                       [&of_heads, real](Index h, Index i) { return 1.0L + real(of_heads[size(h * kDim + i)]); })},
        {"rms_norm over a token", false, [](rope::Path& p) { p.rms_norm(kEps, {rope::NormSpan::token}); },
         [](Token& x, Index) { norm(x.data(), kToken, false, false, [](Index) { return 1.0L; }); }},
        {"l2_norm", false, [](rope::Path& p) { p.l2_norm(nullptr, kEps); },
         norm_of_heads(false, true, [](Index, Index) { return 1.0L; })},
        {"layer_norm", false, [&](rope::Path& p) { p.layer_norm(w, nullptr, kEps); }, norm_of_heads(true, false, by_w)},
        {"layer_norm over a token", false,
         [](rope::Path& p) { p.layer_norm(nullptr, nullptr, kEps, {rope::NormSpan::token}); },
         [](Token& x, Index) { norm(x.data(), kToken, true, false, [](Index) { return 1.0L; }); }},
        {"hadamard of 8", false, [](rope::Path& p) { p.hadamard(8); },
         [](Token& x, Index) {
             const Token old = x;
             for (std::size_t i = 0; i < x.size(); ++i) {
                 x[i] = 0.0L;
                 for (std::size_t k = 0; k < 8; ++k) {  // the sign is that of the bits that both have
                     const std::size_t bits = i % 8 & k;
                     const bool is_odd = ((bits ^ bits >> 1 ^ bits >> 2) & 1) != 0;
                     x[i] += (is_odd ? -1.0L : 1.0L) * old[i / 8 * 8 + k] / std::sqrt(8.0L);
                 }
             }
         }},
        {"rotate", true, [](rope::Path& p) { p.rotate(); }, [](Token& x, Index t) { rotate(x, t, 1.0L, false); }},
        {"rotate_back", true, [](rope::Path& p) { p.rotate_back(); },
         [](Token& x, Index t) { rotate(x, t, -1.0L, false); }},
        {"rotate_into", true, [](rope::Path& p) { p.rotate_into(rope::Layout::interleaved); },
         [](Token& x, Index t) { rotate(x, t, 1.0L, true); }},
    };
}

}  // namespace

TEMPLATE_TEST_CASE("steps and pairs of steps", "", float, double) {
    rope::Config config;
    config.head_dim = kDim;
    config.base = kBase;
    const rope::CosSinCache<TestType> cache(config, kSeq, kStart);
    const std::vector<TestType> x = support::normal<TestType>(kSeq * kToken, 1), w = support::normal<TestType>(kDim, 2);
    const std::vector<TestType> of_heads = support::normal<TestType>(kToken, 3),
                                of_tokens = {TestType(0.5), TestType(-3), TestType(7)};
    const std::vector<Step<TestType>> steps = steps_of(w, of_heads, of_tokens);
    int tried = 0;
    const auto check = [&](const std::vector<const Step<TestType>*>& path) {
        rope::Path p = rope::heads(rope::view(x.data(), kSeq, kHeads, kDim));
        std::string name;
        for (const Step<TestType>* step : path) {
            step->add(p);
            name += step->name + ", ";
        }
        INFO(name);
        std::vector<TestType> y(x.size());
        rope::pass<rope::Layout::half_split>(cache, rope::start_at(kStart),
                                             p.to(rope::view(y.data(), kSeq, kHeads, kDim)));
        for (Index t = 0; t < kSeq; ++t) {
            Token exact(x.begin() + t * kToken, x.begin() + (t + 1) * kToken);
            Real most = 1.0L;  // also of what lies between the steps
            for (const Step<TestType>* step : path) {
                step->exact(exact, t);
                for (const Real value : exact) most = std::max(most, std::fabs(value));
            }
            const Real bound = 12.0L * most * static_cast<Real>(std::numeric_limits<TestType>::epsilon());
            for (Index i = 0; i < kToken; ++i)
                REQUIRE(std::fabs(static_cast<Real>(y[size(t * kToken + i)]) - exact[size(i)]) <= bound);
        }
        ++tried;
    };
    for (const Step<TestType>& first : steps) {
        check({&first});
        for (const Step<TestType>& second : steps)
            if (!first.rotates || !second.rotates) check({&first, &second});
    }
    CHECK(tried == 14 + 14 * 14 - 3 * 3);
}
