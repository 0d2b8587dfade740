// SPDX-License-Identifier: MIT
// <rope/testing.hpp> knows the classic mistakes by name, and names none where nothing is wrong.
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/rotation_loop.hpp"

#include <rope/core.hpp>
#include <rope/testing.hpp>

#include <functional>
#include <map>
#include <string>

using rope::Index;
using rope::Layout;
using support::kLayouts;
using support::Loop;
using support::telling_config;
namespace testing = rope::testing;

namespace {

/// What to spoil in a right loop so that the report says the name.
using Spoiled = std::function<void(Loop&, const rope::Config&)>;

const std::map<std::string, Spoiled>& mistakes() {
    static const std::map<std::string, Spoiled> result = {
        {"no rotation", [](Loop& l, const auto&) { l.turn = [](double&, double&, double, double) {}; }},
        {"other layout",
         [](Loop& l, const auto&) {
             l.layout = l.layout == Layout::interleaved ? Layout::half_split : Layout::interleaved;
         }},
        {"sign of sin",
         [](Loop& l, const auto&) { l.angle = [](Index p, double w) { return -static_cast<double>(p) * w; }; }},
        {"cos and sin swapped",
         [](Loop& l, const auto&) {
             l.turn = [](double& a, double& b, double c, double s) {
                 const double before = a;
                 a = a * s - b * c;
                 b = b * s + before * c;
             };
         }},
        {"first half overwritten",
         [](Loop& l, const auto&) {
             l.turn = [](double& a, double& b, double c, double s) {
                 a = a * c - b * s;
                 b = b * c + a * s;
             };
         }},
        {"attention factor missing", [](Loop& l, const auto&) { l.m = 1.0; }},
        {"attention factor twice", [](Loop& l, const auto&) { l.m *= l.m; }},
        {"interpolation factor ignored",
         [](Loop& l, const rope::Config& c) { l.frequency = Loop::powers(c.base, l.rotary_dim, 1.0); }},
        {"exponent 2i instead of i",
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(c.base, l.rotary_dim / 2, c.interpolation_factor);
         }},
        {"head_dim in the exponent",
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(c.base, l.head_dim, c.interpolation_factor);
         }},
        {"base 10000",
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(10000.0, l.rotary_dim, c.interpolation_factor);
         }},
        {"slice ignored",
         [](Loop& l, const rope::Config& c) {
             l.offset = 0;
             l.rotary_dim = l.head_dim;
             l.frequency = Loop::powers(c.base, l.head_dim, c.interpolation_factor);
         }},
        {"offset ignored", [](Loop& l, const auto&) { l.offset = 0; }},
        {"position one too large",
         [](Loop& l, const auto&) { l.position = [](Index t, const Index* p) { return p[t] + 1; }; }},
        {"position one too small",
         [](Loop& l, const auto&) { l.position = [](Index t, const Index* p) { return p[t] - 1; }; }},
        {"first token's position for all",
         [](Loop& l, const auto&) { l.position = [](Index, const Index* p) { return p[0]; }; }},
        {"token index as position", [](Loop& l, const auto&) { l.position = [](Index t, const Index*) { return t; }; }},
        {"angle in float32",
         [](Loop& l, const auto&) {
             l.angle = [](Index p, double w) {
                 return static_cast<double>(static_cast<float>(p) * static_cast<float>(w));
             };
         }},
        {"angle in 16 bits",
         [](Loop& l, const auto&) {
             l.angle = [](Index p, double w) {
                 return support::to_double(support::from_double<rope::bfloat16>(static_cast<double>(p))) * w;
             };
         }},
        {"other frequencies",
         [](Loop& l, const rope::Config& c) { l.frequency = Loop::powers(3.0 * c.base, l.rotary_dim, 1.0); }},
    };
    return result;
}

}  // namespace

TEST_CASE("every mistake that has a name is made here") {
    for (const testing::detail_testing::Hypothesis& known : testing::detail_testing::hypotheses()) {
        if (std::string(known.name) == "angle in double") continue;  // below: double elements only
        INFO(known.name);
        REQUIRE(mistakes().count(known.name) == 1);
    }
}

TEMPLATE_TEST_CASE("every mistake is recognised by its name", "", float, double, rope::half, rope::bfloat16) {
    const rope::Config config = telling_config();
    testing::Options options;
    options.heads = 16;  // bfloat16 shows float32 angles only just: the more heads, the clearer
    for (const auto& [name, spoil] : mistakes())
        for (const Layout layout : kLayouts) {
            Loop loop(layout, config);
            spoil(loop, config);
            const testing::Report report = testing::measure<TestType>(loop, layout, config, options);
            INFO(name << "\n" << to_string(report));
            CHECK_FALSE(report.ok());
            CHECK(report.mistake == name);
            CHECK(report.diagnosis.find(name) != std::string::npos);
            CHECK(to_string(report).find(report.diagnosis) != std::string::npos);
        }
}

TEST_CASE("angles in double are seen by double elements only, and can be allowed") {
    const rope::Config config = telling_config();
    const Loop loop(Layout::half_split, config);
    CHECK(testing::measure<float>(loop, Layout::half_split, config).ok());
    CHECK(testing::measure<rope::half>(loop, Layout::half_split, config).ok());
    CHECK(testing::measure<rope::bfloat16>(loop, Layout::half_split, config).ok());

    testing::Options options;
    const testing::Report strict = testing::measure<double>(loop, Layout::half_split, config, options);
    INFO(to_string(strict));
    CHECK_FALSE(strict.ok());
    CHECK(strict.mistake == "angle in double");

    options.angle_epsilon = 0x1p-51;
    const testing::Report allowed = testing::measure<double>(loop, Layout::half_split, config, options);
    INFO(to_string(allowed));
    CHECK(allowed.ok());
}

TEST_CASE("angles in float32 pass where they are allowed or do not show") {
    const rope::Config config = telling_config();
    Loop loop(Layout::interleaved, config);
    mistakes().at("angle in float32")(loop, config);
    testing::Options options;
    options.angle_epsilon = 0x1p-20;
    CHECK(testing::measure(loop, Layout::interleaved, config, options).ok());

    // The chain of float32 roundings that eager frameworks make, which has more of them.
    const auto chain = [&](float* x, Index seq, Index heads, const Index* positions) {
        for (Index t = 0; t < seq; ++t)
            rope::apply(Layout::interleaved, rope::view(x + t * heads * config.head_dim, 1, heads, config.head_dim),
                        rope::CosSinCache<float>::float32_chain(config, 1, positions[t]), rope::start_at(positions[t]));
    };
    const testing::Report strict = testing::measure(chain, Layout::interleaved, config);
    INFO(to_string(strict));
    CHECK_FALSE(strict.ok());
    CHECK(strict.mistake == "angle in float32");
    CHECK(testing::measure(chain, Layout::interleaved, config, options).ok());
}

TEST_CASE("what is a mistake elsewhere is not named where it makes no difference") {
    // With the whole head, m = 1 and no interpolation, several mistakes are none.
    rope::Config config;
    config.head_dim = 16;
    for (const char* name : {"attention factor missing", "attention factor twice", "interpolation factor ignored",
                             "head_dim in the exponent", "base 10000", "slice ignored", "offset ignored"}) {
        Loop loop(Layout::half_split, config);
        mistakes().at(name)(loop, config);
        INFO(name);
        CHECK(testing::measure(loop, Layout::half_split, config).ok());
    }
}
