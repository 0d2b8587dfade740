// SPDX-License-Identifier: MIT
// Every parameter of every schedule that cannot be right is refused in a sentence that names it, its value and what is
// allowed, and what is at the edge of that is accepted.
#include <rope/core.hpp>

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"

using rope::Config;
using rope::Index;
using rope::Schedule;
using support::infinity;
using support::nan_value;
using support::refusal;
namespace schedule = rope::schedule;

namespace {

constexpr Index kPairs = 4;
constexpr Index kMost = std::numeric_limits<Index>::max();

Config config_of(const Schedule& s) {
    Config config = {2 * kPairs};
    config.schedule = s;
    return config;
}

/// Everything that takes a Config refuses it in the same words.
void refuses(const Config& config, const std::string& sentence) {
    CAPTURE(sentence);
    CHECK(rope::check(config).message() == sentence);
    CHECK(rope::check(config).code() == rope::StatusCode::invalid_argument);
    CHECK(refusal([&] { (void)rope::frequencies(config); }).message == sentence);
    CHECK(refusal([&] { rope::CosSinCache<float> table(config, 4); }).message == sentence);
    CHECK(refusal([&] { rope::CosSinCache<double> table(config, 4); }).message == sentence);
    CHECK(refusal([&] { (void)rope::CosSinCache<float>::float32_chain(config, 4); }).message == sentence);
}
void refuses(const Schedule& s, const std::string& sentence) { refuses(config_of(s), sentence); }

/// What check(...) accepts, frequencies(...) makes.
void accepts(const Config& config) {
    CHECK(std::string(rope::check(config).message()).empty());
    CHECK(refusal([&] { (void)rope::frequencies(config); }).message == "(accepted)");
}
void accepts(const Schedule& s) { accepts(config_of(s)); }

using Values = std::vector<std::pair<double, std::string>>;
const Values kNoNumbers = {{nan_value(), "nan"}, {infinity(), "inf"}, {-infinity(), "-inf"}};
const Values kNotPositive = {{0.0, "0"}, {-1.0, "-1"}};
const Values kNoFactors = {{0x1p-32 - 0x1p-85, "2.328306436538696e-10"}, {0x1p32 + 0x1p-20, "4294967296.000001"}};
const Values kFarAway = {{0x1p32 + 0x1p-20, "4294967296.000001"}, {-0x1p33, "-8589934592"}};

/// Changes one member of `valid` to each of the values.
template <class S, class Member>
void refuses_values(const S& valid, Member S::*member, const std::string& name, const std::string& allowed,
                    std::initializer_list<Values> lists) {
    for (const Values& values : lists)
        for (const auto& [value, text] : values) {
            S s = valid;
            s.*member = value;
            refuses(s, "schedule." + name + " is " + text + "; it must be " + allowed + ".");
        }
}

/// A member that divides or multiplies frequencies or magnitudes, its edges included.
template <class S, class Member>
void is_factor(const S& valid, Member S::*member, const std::string& name) {
    refuses_values(valid, member, name, "from 2^-32 to 2^32", {kNoNumbers, kNotPositive, kNoFactors});
    for (const double edge : {0x1p-32, 0x1p32}) {
        S s = valid;
        s.*member = edge;
        CHECK(rope::check(config_of(s)).ok());
    }
}

template <class S, class Member>
void is_number(const S& valid, Member S::*member, const std::string& name) {
    refuses_values(valid, member, name, "from -2^32 to 2^32", {kNoNumbers, kFarAway});
    for (const double edge : {-0x1p32, 0.0, 0x1p32}) {
        S s = valid;
        s.*member = edge;
        CHECK(rope::check(config_of(s)).ok());
    }
}

template <class S>
void is_length(const S& valid, Index S::*member, const std::string& name, Index least = 1) {
    for (const Index length : {Index(0), Index(-1), least - 1, (Index(1) << 40) + 1, kMost, -kMost}) {
        S s = valid;
        s.*member = length;
        refuses(s, "schedule." + name + " is " + std::to_string(length) + "; it must be from " + std::to_string(least) +
                       " to 2^40.");
    }
    for (const Index length : {least, Index(1) << 40}) {
        S s = valid;
        s.*member = length;
        accepts(s);
    }
}

/// A list with one number per pair, each of which divides.
template <class S>
void is_list_of_divisors(const S& valid, rope::List<double> S::*member, const std::string& name) {
    for (const std::size_t count : {0u, 3u, 5u, 1000u}) {
        S s = valid;
        (s.*member).assign(count, 1.0);
        refuses(s, "schedule." + name + " has " + std::to_string(count) + " entries; it must have one per pair (4).");
    }
    const Values above = {{1.1e300, "1.1e+300"}, {0x1p-32 - 0x1p-85, "2.328306436538696e-10"}};
    for (const Values& values : {kNoNumbers, kNotPositive, above})
        for (const auto& [value, text] : values) {
            S s = valid;
            (s.*member)[2] = value;
            refuses(s, "schedule." + name + "[2] is " + text + "; it must be from 2^-32 to 1e300.");
        }
    S s = valid;
    s.*member = {0x1p-32, 1e300, 1.0, 1.0};  // llama.cpp switches a pair off by dividing by 1e30
    accepts(s);
}

void needs_four_features(const Schedule& s) {
    Config config = {2};
    config.schedule = s;
    refuses(config,
            "rotary_dim (or head_dim, for which a rotary_dim of 0 stands) is 2; this schedule needs at least 4, "
            "because it divides by rotary_dim - 2.");
    config.head_dim = 4;
    accepts(config);
}

/// An enumerator read from a file may be none.
template <class Enum>
Enum enumerator(int value) {
    return static_cast<Enum>(value);
}

}  // namespace

TEST_CASE("NTK-aware and dynamic NTK") {
    is_factor(schedule::Ntk{2.0}, &schedule::Ntk::factor, "factor");
    needs_four_features(schedule::Ntk{2.0});
    const schedule::Ntk mixed = {2.0, 1.0};
    refuses_values(mixed, &schedule::Ntk::mixed_b, "mixed_b", "from 2^-32 to 2^32",
                   {kNoNumbers, kNotPositive, kNoFactors});
    Config two = {2};
    two.schedule = mixed;
    accepts(two);

    const schedule::DynamicNtk dynamic = {2.0, 4096};
    using Dynamic = schedule::DynamicNtk;
    refuses_values(dynamic, &Dynamic::factor, "factor", "from 2^-32 to 2^32", {kNoNumbers, kNotPositive, kNoFactors});
    refuses(Dynamic{0.999, 4096}, "schedule.factor is 0.999; dynamic NTK needs at least 1.");
    accepts(Dynamic{1.0, 4096});
    accepts(Dynamic{0x1p32, 4096});
    is_length(dynamic, &Dynamic::max_position_embeddings, "max_position_embeddings");
    refuses(Dynamic(), "schedule.max_position_embeddings is 0; it must be from 1 to 2^40.");
    needs_four_features(dynamic);
}

TEST_CASE("YaRN") {
    using schedule::FactorSource;
    using schedule::Yarn;
    using schedule::YarnMagnitude;
    Yarn yarn = {4.0, 4096};
    accepts(yarn);
    for (const Values& values : {kNoNumbers, kNotPositive, kNoFactors})
        for (const auto& [value, text] : values) {
            yarn.factor = value;
            refuses(yarn, "schedule.factor is " + text + "; it must be from 2^-32 to 2^32.");
        }
    yarn.factor = 4.0;
    is_length(yarn, &Yarn::original_max_position_embeddings, "original_max_position_embeddings");
    refuses_values(yarn, &Yarn::beta_fast, "beta_fast", "from 2^-32 to 2^32", {kNoNumbers, kNotPositive, kNoFactors});
    refuses_values(yarn, &Yarn::beta_slow, "beta_slow", "from 2^-32 to 2^32", {kNoNumbers, kNotPositive, kNoFactors});
    refuses_values(yarn, &Yarn::extrapolation_factor, "extrapolation_factor", "from 0 to 1",
                   {kNoNumbers, {{-0x1p-30, "-9.313225746154785e-10"}, {1.5, "1.5"}, {64.0, "64"}}});
    for (const double edge : {0.0, 1.0}) {
        yarn.extrapolation_factor = edge;
        accepts(yarn);
    }
    is_factor(yarn, &Yarn::attention_factor, "attention_factor");
    is_number(yarn, &Yarn::mscale, "mscale");
    is_number(yarn, &Yarn::mscale_all_dim, "mscale_all_dim");
    is_factor(yarn, &Yarn::attn_factor, "attn_factor");
    is_number(yarn, &Yarn::log_coefficient, "log_coefficient");
    yarn.beta_fast = 0.5;
    refuses(yarn, "schedule.beta_fast is 0.5; it must be at least beta_slow (1).");
    yarn.beta_fast = 1.0;
    accepts(yarn);

    // The second length is asked for only where it is used.
    yarn = {4.0, 4096};
    for (const Index length : {Index(0), Index(-3), kMost}) {
        yarn.max_position_embeddings = length;
        accepts(yarn);
        const std::string sentence =
            "schedule.max_position_embeddings is " + std::to_string(length) + "; it must be from 1 to 2^40.";
        yarn.factor = std::nullopt;
        refuses(yarn, sentence);
        yarn.factor = 4.0;
        yarn.factor_source = FactorSource::lengths;
        refuses(yarn, sentence);
        yarn.factor_source = FactorSource::factor;
    }
    yarn.factor_source = enumerator<FactorSource>(2);
    refuses(yarn, "schedule.factor_source is 2; it must be factor (0) or lengths (1).");
    yarn.factor_source = FactorSource::factor;
    yarn.magnitude = enumerator<YarnMagnitude>(3);
    refuses(yarn, "schedule.magnitude is 3; it must be standard (0), deepseek (1) or none (2).");

    // ln(base) divides.
    for (const double base : {1.0, 0.5}) {
        Config config = config_of(Yarn{4.0, 4096});
        config.base = base;
        refuses(config, "base is " + std::string(base < 1.0 ? "0.5" : "1") +
                            "; YaRN needs a base above 1, because it divides by its logarithm.");
    }
}

TEST_CASE("Llama 3") {
    using schedule::Llama3;
    const Llama3 llama;
    accepts(llama);
    is_factor(llama, &Llama3::factor, "factor");
    const std::string factor = "from 2^-32 to 2^32";
    refuses_values(llama, &Llama3::low_freq_factor, "low_freq_factor", factor, {kNoNumbers, kNotPositive, kNoFactors});
    refuses_values(llama, &Llama3::high_freq_factor, "high_freq_factor", factor,
                   {kNoNumbers, kNotPositive, kNoFactors});
    is_length(llama, &Llama3::original_max_position_embeddings, "original_max_position_embeddings");
    refuses(Llama3{8.0, 4.0, 1.0, 8192}, "schedule.high_freq_factor is 1; it must be at least low_freq_factor (4).");
    accepts(Llama3{8.0, 1.0, 1.0, 8192});
}

TEST_CASE("LongRoPE") {
    using schedule::FactorSource;
    using schedule::LongRope;
    LongRope s = {{1, 1, 1, 1}, {2, 2, 2, 2}, 4096, 131072};
    accepts(s);
    is_list_of_divisors(s, &LongRope::short_factor, "short_factor");
    is_list_of_divisors(s, &LongRope::long_factor, "long_factor");
    is_length(s, &LongRope::original_max_position_embeddings, "original_max_position_embeddings", 2);
    is_length(s, &LongRope::max_position_embeddings, "max_position_embeddings");
    is_factor(s, &LongRope::factor, "factor");
    is_factor(s, &LongRope::attention_factor, "attention_factor");
    is_factor(s, &LongRope::short_mscale, "short_mscale");
    is_factor(s, &LongRope::long_mscale, "long_mscale");
    refuses(LongRope(), "schedule.short_factor has 0 entries; it must have one per pair (4).");
    s.factor_source = enumerator<FactorSource>(9);
    refuses(s, "schedule.factor_source is 9; it must be factor (0) or lengths (1).");

    // The second length is asked for only where the magnitude needs it.
    s = {{1, 1, 1, 1}, {2, 2, 2, 2}, 4096};
    const std::string sentence = "schedule.max_position_embeddings is 0; it must be from 1 to 2^40.";
    refuses(s, sentence);
    s.short_mscale = 1.0;
    refuses(s, sentence);
    s.long_mscale = 1.5;
    accepts(s);
    s.short_mscale = s.long_mscale = std::nullopt;
    s.attention_factor = 1.1;
    accepts(s);
    s.attention_factor = std::nullopt;
    s.factor = 32.0;
    accepts(s);
    s.factor_source = FactorSource::lengths;
    refuses(s, sentence);
}

TEST_CASE("proportional, axial, xPos, divisors and numbers") {
    using schedule::Proportional;
    refuses_values(Proportional(), &Proportional::partial_rotary_factor, "partial_rotary_factor",
                   "above 0 and at most 1", {kNoNumbers, kNotPositive, {{1.0 + 0x1p-52, "1.0000000000000002"}}});
    accepts(Proportional{0.25, 1.0});  // one of four pairs
    refuses(Proportional{0.2499, 1.0},
            "schedule.partial_rotary_factor is 0.2499; it must leave at least one of the 4 pairs to rotate.");
    accepts(Proportional{1.0, 1.0});
    is_factor(Proportional(), &Proportional::factor, "factor");

    for (const Index axes : {Index(0), Index(-1), Index(3), Index(5), Index(8), kMost, -kMost - 1})
        refuses(schedule::Axial{axes},
                "schedule.axes is " + std::to_string(axes) + "; it must divide the number of pairs (4).");
    for (const Index axes : {1, 2, 4}) accepts(schedule::Axial{axes});

    using schedule::Xpos;
    const Values slow = {{2.0 - 0x1p-52, "1.9999999999999998"}, {0x1p32 + 0x1p-20, "4294967296.000001"}};
    for (const Values& values : {kNoNumbers, kNotPositive, slow})
        for (const auto& [value, text] : values)
            refuses(Xpos{Xpos::Side::query, value, 0.0},
                    "schedule.scale_base is " + text + "; it must be from 2 to 2^32.");
    for (const Values& values : {kNoNumbers, kFarAway})
        for (const auto& [value, text] : values)
            refuses(Xpos{Xpos::Side::key, 512.0, value},
                    "schedule.centre is " + text + "; it must be from -2^32 to 2^32.");
    accepts(Xpos{Xpos::Side::query, 2.0, 0x1p32});
    accepts(Xpos{Xpos::Side::key, 0x1p32, -0x1p32});
    refuses(Xpos{enumerator<Xpos::Side>(2), 512.0, 0.0}, "schedule.side is 2; it must be query (0) or key (1).");

    is_list_of_divisors(schedule::FreqFactors{{1, 2, 3, 4}}, &schedule::FreqFactors::freq_factors, "freq_factors");

    using schedule::Custom;
    accepts(Custom{{1.0, 0.0, -0.5, 0x1p32}, {}});
    accepts(Custom{{1.0, 0.5, 0.2, 0.1}, {0.0, 1e-20, 0.0, 0.0}});
    for (const std::size_t count : {0u, 3u, 5u})
        refuses(Custom{std::vector<double>(count, 1.0), {}},
                "schedule.inv_freq has " + std::to_string(count) + " entries; it must have one per pair (4).");
    refuses(Custom{{1, 1, 1, 1}, {0, 0}},
            "schedule.inv_freq_low has 2 entries; it must be empty or have as many as inv_freq (4).");
    for (const Values& values : {kNoNumbers, kFarAway})
        for (const auto& [value, text] : values) {
            refuses(Custom{{1, value, 1, 1}, {}},
                    "schedule.inv_freq[1] is " + text + "; it must be from -2^32 to 2^32.");
            refuses(Custom{{1, 1, 1, 1}, {0, 0, 0, value}},
                    "schedule.inv_freq_low[3] is " + text + "; it must be from -2^32 to 2^32.");
        }
}

TEST_CASE("a schedule that lost its value is refused, and has no name") {
    struct Throws {
        operator schedule::Custom() const { throw std::runtime_error("no value"); }  // NOLINT: a conversion that throws
    };
    Config config = {8};
    CHECK_THROWS_AS(config.schedule.emplace<schedule::Custom>(Throws()), std::runtime_error);
    REQUIRE(config.schedule.valueless_by_exception());
    refuses(config, "schedule holds no value: assigning it has thrown.");
    CHECK(std::string(rope::schedule_name(config.schedule)).empty());
}

TEST_CASE("every schedule has its name") {
    const std::pair<Schedule, const char*> names[] = {{schedule::Default(), "default"},
                                                      {schedule::Ntk(), "ntk"},
                                                      {schedule::DynamicNtk(), "dynamic"},
                                                      {schedule::Yarn(), "yarn"},
                                                      {schedule::Llama3(), "llama3"},
                                                      {schedule::LongRope(), "longrope"},
                                                      {schedule::Proportional(), "proportional"},
                                                      {schedule::Axial(), "axial"},
                                                      {schedule::Xpos(), "xpos"},
                                                      {schedule::FreqFactors(), "freq_factors"},
                                                      {schedule::Custom(), "custom"}};
    CHECK(std::size(names) == std::variant_size_v<Schedule::variant>);
    for (const auto& [s, name] : names) CHECK(rope::schedule_name(s) == std::string(name));
}

TEST_CASE("what only the result shows is refused when it is made") {
    // Parameters in range whose frequencies or magnitudes are not.
    const auto message = [](const Config& config) { return refusal([&] { (void)rope::frequencies(config); }).message; };
    const std::string range = "; it must be from 2^-32 to 2^32.";
    Config config = config_of(schedule::FreqFactors{{0x1p-32, 1, 1, 1}});
    accepts(config);
    config.interpolation_factor = 0.5;
    CHECK(rope::check(config).ok());
    CHECK(message(config).find("The frequency of pair 0 is 8589934592, with base") == 0);

    schedule::Yarn yarn = {4.0, 4096};
    yarn.attention_factor = 0x1p30;
    config = config_of(yarn);
    config.attention_factor = 8.0;
    CHECK(message(config) == "attention_factor is 8589934592" + range);
    yarn.attention_factor = std::nullopt;
    yarn.factor = 2.718281828459045;
    yarn.mscale = 1.0;
    yarn.mscale_all_dim = -20.0;  // g = 1 - 2: a negative magnitude
    CHECK(message(config_of(yarn)).find("attention_factor is -1.1") == 0);
    CHECK(message(config_of(yarn)).find(range) != std::string::npos);
}
