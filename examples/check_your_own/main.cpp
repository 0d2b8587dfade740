// SPDX-License-Identifier: MIT
// <rope/testing.hpp> applied to somebody else's rotation: a plain loop, as engines have one, first right and
// then with one classic mistake at a time, and the program of an early post, with two. The report must pass the first
// and name each of the others.
// Exit status 0 when it does.
#include <rope/testing.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../arguments.hpp"

namespace {

using rope::Index;

enum class Mistake {
    none,
    other_layout,
    exponent,
    sign_of_sin,
    float32_angle,
    overwritten,
    magnitude,
    position,
    whole_head,
    early_post
};

// The model: 64 features per head, of which the first 48 turn, in half-split pairs.
constexpr Index kHeadDim = 64;
constexpr Index kRotaryDim = 48;
constexpr double kBase = 500000.0;
constexpr double kFactor = 4.0;
constexpr float kMagnitude = 1.25f;

// The loop under test. With Mistake::none it is right; each `mistake == ...` is a bug that has been shipped.
void rotate_loop(float* x, Index seq, Index heads, const Index* positions, Mistake mistake) {
    const Index rotary_dim = mistake == Mistake::whole_head ? kHeadDim : kRotaryDim;
    const Index pairs = rotary_dim / 2;
    const float magnitude = mistake == Mistake::magnitude ? 1.0f : kMagnitude;
    for (Index token = 0; token < seq; ++token) {
        const Index position = positions[token] + (mistake == Mistake::position ? 1 : 0);
        for (Index i = 0; i < pairs; ++i) {
            const double two_i = static_cast<double>(mistake == Mistake::exponent ? 4 * i : 2 * i);
            const double frequency = std::pow(kBase, -two_i / static_cast<double>(rotary_dim)) / kFactor;
            double angle = static_cast<double>(position) * frequency;
            if (mistake == Mistake::float32_angle)
                angle = static_cast<double>(static_cast<float>(position) * static_cast<float>(frequency));
            const float c = magnitude * static_cast<float>(std::cos(angle));
            const float s = magnitude * static_cast<float>(std::sin(angle));
            for (Index head = 0; head < heads; ++head) {
                float* const h = x + (token * heads + head) * kHeadDim;
                float& a = mistake == Mistake::other_layout ? h[2 * i] : h[i];
                float& b = mistake == Mistake::other_layout ? h[2 * i + 1] : h[i + pairs];
                const float before = a;
                a = mistake == Mistake::sign_of_sin ? a * c + b * s : a * c - b * s;
                const float first = mistake == Mistake::overwritten ? a : before;
                b = mistake == Mistake::sign_of_sin ? b * c - first * s : b * c + first * s;
            }
        }
    }
}

// The program of an early post on rotary embedding, from a description of it, with two mistakes: results go into a new
// array of zeros, for one head alone, and pairs turn backwards.
void rotate_like_early_post(float* x, Index seq, Index heads, const Index* positions) {
    std::vector<float> result(static_cast<std::size_t>(seq * heads * kHeadDim), 0.0f);
    constexpr Index pairs = kRotaryDim / 2;
    for (Index token = 0; token < seq; ++token) {
        const float* const in = x + token * heads * kHeadDim;
        float* const out = result.data() + token * heads * kHeadDim;
        std::copy(in, in + kHeadDim, out);
        for (Index i = 0; i < pairs; ++i) {
            const double power = static_cast<double>(2 * i) / static_cast<double>(kRotaryDim);
            const double angle = static_cast<double>(positions[token]) * std::pow(kBase, -power) / kFactor;
            const float c = kMagnitude * static_cast<float>(std::cos(angle));
            const float s = kMagnitude * static_cast<float>(std::sin(angle));
            out[i] = in[i] * c + in[i + pairs] * s;
            out[i + pairs] = in[i + pairs] * c - in[i] * s;
        }
    }
    std::copy(result.begin(), result.end(), x);
}

struct Case {
    Mistake mistake;
    const char* name;  // what the report must call it; empty: nothing to name
};

constexpr Case kCases[] = {
    {Mistake::none, ""},
    {Mistake::other_layout, "other layout"},
    {Mistake::exponent, "exponent 2i instead of i"},
    {Mistake::sign_of_sin, "sign of sin"},
    {Mistake::float32_angle, "angle in float32"},
    {Mistake::overwritten, "first half overwritten"},
    {Mistake::magnitude, "attention factor missing"},
    {Mistake::position, "position one too large"},
    {Mistake::whole_head, "slice ignored"},
    {Mistake::early_post, "a part of the heads became zero; sign of sin"},
};

constexpr const char* kHelp =
    "check_your_own: <rope/testing.hpp> on a loop written by hand, right and with mistakes.\n"
    "\n"
    "  check_your_own     measure it and print what was found\n"
    "  --help             print this and stop\n";

}  // namespace

int main(int argc, char** argv) {
    if (const auto status = arguments::answer(argc, argv, kHelp)) return *status;
    rope::Config config;
    config.head_dim = kHeadDim;
    config.rotary_dim = kRotaryDim;
    config.base = kBase;
    config.interpolation_factor = kFactor;
    config.attention_factor = static_cast<double>(kMagnitude);

    bool as_promised = true;
    for (const Case& c : kCases) {
        const auto rotate = [&](float* x, Index seq, Index heads, const Index* positions) {
            if (c.mistake == Mistake::early_post)
                rotate_like_early_post(x, seq, heads, positions);
            else
                rotate_loop(x, seq, heads, positions, c.mistake);
        };
        const rope::testing::Report report = rope::testing::measure(rotate, rope::Layout::half_split, config);
        const bool expected = c.mistake == Mistake::none ? report.ok() : !report.ok();
        const bool recognised = expected && report.mistake == c.name;
        as_promised = as_promised && recognised;

        std::printf("---- %s ----\n%s%s\n", c.mistake == Mistake::none ? "the loop as it should be" : c.name,
                    to_string(report).c_str(), recognised ? "" : "  NOT AS PROMISED\n");
    }
    std::printf("%s\n", as_promised ? "The loop passed and every mistake was caught by its name."
                                    : "FAILED: see NOT AS PROMISED above.");
    return as_promised ? EXIT_SUCCESS : EXIT_FAILURE;
}
