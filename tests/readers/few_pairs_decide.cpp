// SPDX-License-Identifier: MIT
// Readers look at a few pairs of a Config, and say of all frequencies what computing them all would have said.
#include <rope/core.hpp>

#include <rope/detail/angles/check_frequencies.hpp>

#include <cmath>
#include <random>
#include <string>
#include <variant>

#include "support/catch.hpp"
#include "support/refusal.hpp"

using rope::Config;
using rope::Index;
namespace schedule = rope::schedule;

namespace {

/// Numbers between sensible and absurd.
struct Draw {
    std::minstd_rand engine{20261127};

    Index below(Index n) { return static_cast<Index>(engine()) % n; }
    bool yes() { return below(2) == 0; }
    double part() { return std::generate_canonical<double, 30>(engine); }
    /// From 2^-most to 2^most, at times exactly such a power.
    double power(double most) {
        const double exponent = most * (2.0 * part() - 1.0);
        return std::exp2(below(4) == 0 ? std::round(exponent) : exponent);
    }
    double factor() { return power(yes() ? 32.0 : 2.0); }
    Index length() { return Index(1) << below(41); }
    rope::List<double> divisors(Index pairs) {
        rope::List<double> list;
        const double usual = factor();
        for (Index i = 0; i < pairs; ++i) list.push_back(below(8) == 0 ? factor() : usual);
        return list;
    }

    rope::Schedule schedule(Index d) {
        switch (below(10)) {
            case 0: return yes() ? schedule::Ntk{factor()} : schedule::Ntk{factor(), power(5.0)};
            case 1: return schedule::DynamicNtk{1.0 + factor() / 2.0, length()};
            case 2:
            case 3: {
                schedule::Yarn s;
                if (yes()) s.factor = factor();
                s.original_max_position_embeddings = length();
                s.max_position_embeddings = length();
                s.beta_slow = factor();
                s.beta_fast = std::fmin(s.beta_slow * (1.0 + factor()), 0x1p32);
                s.truncate = yes();
                s.extrapolation_factor = yes() ? 1.0 : part();
                if (yes()) s.attention_factor = 1.0;
                return s;
            }
            case 4: {
                const double low = factor();
                return schedule::Llama3{factor(), low, std::fmin(low * (1.0 + factor()), 0x1p32), length()};
            }
            case 5: {
                schedule::LongRope s;
                s.short_factor = divisors(d / 2);
                s.long_factor = divisors(d / 2);
                s.original_max_position_embeddings = 4096;
                s.attention_factor = factor();
                return s;
            }
            case 6: return schedule::Proportional{std::fmax(part(), 2.0 / static_cast<double>(d)), factor()};
            case 7: return schedule::Axial{d % 4 == 0 ? Index(2) : Index(1)};
            case 8: return schedule::FreqFactors{divisors(d / 2)};
            default: return schedule::Default();
        }
    }
    Config config() {
        const Index d = 2 * (1 + below(yes() ? 4 : below(20) == 0 ? 2000 : 100));
        Config c = {d};
        c.schedule = schedule(d);
        c.base = power(yes() ? 1000.0 : 40.0);
        if (below(4) == 0) c.interpolation_factor = factor();
        if (below(4) == 0) c.attention_factor = factor();
        c.is_reversed = yes();
        return c;
    }
};

std::string of_all(const Config& config) {
    const std::string said = support::refusal([&] { (void)rope::frequencies(config); }).message;
    return said == "(accepted)" ? "" : said;
}

}  // namespace

TEST_CASE("few pairs decide what all would") {
    Draw draw;
    int accepted = 0, refused = 0;
    for (int i = 0; i < 20000; ++i) {
        const Config config = draw.config();
        const std::string expected = of_all(config);
        CAPTURE(i, rope::schedule_name(config.schedule), config.head_dim, config.base, config.interpolation_factor);
        REQUIRE(rope::detail::check_frequencies(config).message() == expected);
        ++(expected.empty() ? accepted : refused);
    }
    CHECK(accepted > 5000);
    CHECK(refused > 5000);
}

TEST_CASE("edges of the range decide exactly") {
    const auto agree = [](const Config& config) {
        CAPTURE(config.head_dim, config.base);
        CHECK(rope::detail::check_frequencies(config).message() == of_all(config));
        return of_all(config).empty();
    };
    // base^-(1 - 2/d) is 2^32 for the last pair, and a little more.
    for (const Index d : {4, 6, 18, 130, 1026}) {
        Config config = {d};
        const double exponent = -32.0 * static_cast<double>(d) / static_cast<double>(d - 2);
        config.base = std::exp2(exponent) * (1.0 + 1e-9);
        CHECK(agree(config));
        config.base = std::exp2(exponent) * (1.0 - 1e-9);
        CHECK(!agree(config));
        config.interpolation_factor = 2.0;
        CHECK(agree(config));
    }
    // All frequencies are the same.
    Config same = {4096, 0, 0, 1.0};
    same.interpolation_factor = 0x1p-32;
    CHECK(agree(same));
    same.interpolation_factor = 0x1.fffffffffffffp-33;
    CHECK(!agree(same));
    // What weights hold is a list, too, and may be missing.
    Config learned = {4096};
    learned.has_log_scale = true;
    CHECK(std::string(rope::detail::check_frequencies(learned).message()).empty());
    learned.log_scale.assign(2048, 0.0);
    CHECK(agree(learned));
    learned.log_scale[1000] = 22.0;
    learned.base = 1e-9;
    CHECK(!agree(learned));
    Config custom = {4};
    custom.schedule = schedule::Custom{{1.0, 0x1p32}, {0.0, 0x1p32}};
    CHECK(!agree(custom));
    CHECK(rope::detail::check_frequencies(Config{3}).message() == of_all(Config{3}));
}
