// SPDX-License-Identifier: MIT
// A configuration, frequencies or a table that cannot be right is refused in a sentence that names the argument, its
// value and what is allowed; check(...) says the same sentence without throwing.
#include <rope/core.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"

using rope::Config;
using rope::Index;
using rope::StatusCode;
using support::infinity;
using support::nan_value;
using support::refusal;

namespace {

constexpr Index kMost = std::numeric_limits<Index>::max();

const std::pair<double, std::string> kNotPositive[] = {
    {0.0, "0"}, {-1.0, "-1"}, {nan_value(), "nan"}, {infinity(), "inf"}, {-infinity(), "-inf"}};

const std::string kFactorRange = "; it must be from 2^-32 to 2^32.";
/// Just outside either end.
const std::pair<double, std::string> kBadFactors[] = {{0x1p-32 - 0x1p-85, "2.328306436538696e-10"},
                                                      {0x1p32 + 0x1p-20, "4294967296.000001"}};

}  // namespace

TEST_CASE("configurations") {
    const auto refuses = [](const Config& config, const std::string& sentence) {
        CAPTURE(sentence);
        CHECK(refusal([&] { rope::CosSinCache<float> c(config, 4); }).message == sentence);
        CHECK(refusal([&] { (void)rope::frequencies(config); }).message == sentence);
        CHECK(refusal([&] { (void)rope::CosSinCache<float>::float32_chain(config, 4); }).message == sentence);
        CHECK(rope::check(config).message() == sentence);
        CHECK(rope::check(config).code() == StatusCode::invalid_argument);
    };
    for (const Index d : {Index(0), Index(-8), Index(1048577), kMost})
        refuses({d}, "head_dim is " + std::to_string(d) + "; it must be from 1 to 1048576.");
    const auto rotary = [&](Index head_dim, Index rotary_dim) {
        refuses({head_dim, rotary_dim},
                rotary_dim == 0
                    ? "head_dim is " + std::to_string(head_dim) +
                          "; it must be even, because all of it rotates where rotary_dim is 0. For a part "
                          "of it, set rotary_dim."
                    : "rotary_dim is " + std::to_string(rotary_dim) +
                          "; it must be even, at least 2 and at most head_dim (" + std::to_string(head_dim) + ").");
    };
    rotary(8, 7);
    rotary(8, -2);
    rotary(8, 10);
    rotary(9, 0);
    rotary(8, kMost);
    for (const Index offset : {Index(-1), Index(13), kMost})
        refuses({20, 8, offset}, "rotary_offset is " + std::to_string(offset) +
                                     "; it must be from 0 to 12, so that 8 rotated features fit into head_dim (20).");
    const auto with = [](double Config::*member, double value) {
        Config config = {8};
        config.*member = value;
        return config;
    };
    for (const auto& [value, text] : kNotPositive) {
        refuses(with(&Config::base, value), "base is " + text + "; it must be finite and above 0.");
        refuses(with(&Config::interpolation_factor, value),
                "interpolation_factor is " + text + "; it must be finite and above 0.");
        refuses(with(&Config::attention_factor, value), "attention_factor is " + text + kFactorRange);
    }
    for (const auto& [value, text] : kBadFactors)
        refuses(with(&Config::attention_factor, value), "attention_factor is " + text + kFactorRange);
    Config no_layout = {8};
    no_layout.layout = static_cast<rope::Layout>(2);
    refuses(no_layout, "layout is 2; it must be Layout::interleaved (0) or Layout::half_split (1).");
    CHECK(rope::check(with(&Config::attention_factor, 0x1p-32)).ok());
    CHECK(rope::check(with(&Config::attention_factor, 0x1p32)).ok());

    const Config one = with(&Config::base, 1.0);
    CHECK(rope::check(one).ok());
    CHECK(rope::frequencies(one).inv_freq == std::vector<double>(4, 1.0));
    const Config tiny = with(&Config::base, 1e-300);
    CHECK(refusal([&] { (void)rope::frequencies(tiny); }).message.find("The frequency of pair 1 is 1e+75, with base") ==
          0);
}

TEST_CASE("frequencies") {
    const auto refuses = [](const rope::Frequencies& f, const std::string& sentence) {
        CAPTURE(sentence);
        CHECK(refusal([&] { rope::CosSinCache<float> c(f, 4); }).message == sentence);
        CHECK(rope::check(f).message() == sentence);
        CHECK(rope::check(f).code() == StatusCode::invalid_argument);
    };
    const std::string allowed = "; a frequency must be finite and of magnitude at most 2^32 radians per position.";
    refuses({}, "inv_freq has 0 entries; it must have one per pair, from 1 to 524288.");
    refuses({{1.0, nan_value()}, {}, 1.0}, "inv_freq[1] is nan" + allowed);
    refuses({{infinity()}, {}, 1.0}, "inv_freq[0] is inf" + allowed);
    refuses({{1.0, 2.0, -1e10}, {}, 1.0}, "inv_freq[2] is -1e+10" + allowed);
    refuses({{1.0, 2.0}, {0.0, nan_value()}, 1.0}, "inv_freq_low[1] is nan" + allowed);
    refuses({{1.0, 2.0}, {0.0}, 1.0}, "inv_freq_low has 1 entry; it must be empty or have as many as inv_freq (2).");
    for (const auto& [value, text] : kNotPositive)
        refuses({{1.0}, {}, value}, "attention_factor is " + text + kFactorRange);
    for (const auto& [value, text] : kBadFactors)
        refuses({{1.0}, {}, value}, "attention_factor is " + text + kFactorRange);
    CHECK(rope::check(rope::Frequencies{{1.0}, {}, 0x1p-32}).ok());
    CHECK(rope::check(rope::Frequencies{{1.0}, {}, 0x1p32}).ok());

    // Magnitudes that grow with the position.
    const auto growing = [](std::vector<double> growth, std::vector<double> low, double centre = 0.0) {
        return rope::Frequencies{{1.0, 2.0}, {}, 1.0, std::move(growth), std::move(low), centre};
    };
    refuses(growing({0.1}, {}), "log_growth has 1 entry; it must be empty or have as many as inv_freq (2).");
    refuses(growing({0.1, 0.1}, {0.0}),
            "log_growth_low has 1 entry; it must be empty or have as many as log_growth (2).");
    refuses(growing({}, {0.0}), "log_growth_low has 1 entry; it must be empty or have as many as log_growth (0).");
    const std::pair<double, std::string> too_fast[] = {
        {1.0 + 0x1p-52, "1.0000000000000002"}, {-2.0, "-2"}, {nan_value(), "nan"}, {infinity(), "inf"}};
    for (const auto& [value, text] : too_fast) {
        refuses(growing({0.0, value}, {}), "log_growth[1] is " + text + "; it must be from -1 to 1.");
        refuses(growing({0.0, 0.0}, {value, 0.0}), "log_growth_low[0] is " + text + "; it must be from -1 to 1.");
    }
    CHECK(rope::check(growing({1.0, -1.0}, {0.0, 1e-20}, -0x1p32)).ok());
    const std::pair<double, std::string> too_far[] = {
        {0x1p33, "8589934592"}, {-0x1p33, "-8589934592"}, {nan_value(), "nan"}, {infinity(), "inf"}};
    for (const auto& [value, text] : too_far)
        refuses(growing({0.0, 0.0}, {}, value), "centre is " + text + "; it must be from -2^32 to 2^32.");

    // Zero and negative frequencies are fine: a pair that stands still, and one that turns backwards.
    const rope::CosSinCache<double> cache(rope::Frequencies{{0.0, -0.5, 0.5}, {}, 1.0}, 10);
    CHECK(cache.cos_row(7)[0] == 1.0);
    CHECK(cache.sin_row(7)[0] == 0.0);
    CHECK(cache.sin_row(7)[1] == -cache.sin_row(7)[2]);
    CHECK(cache.sin_row(7)[1] != 0.0);

    const auto slice_message = [](rope::HeadSlice slice) {
        return refusal([&] { rope::CosSinCache<float> c(rope::Frequencies{{1.0, 0.5}, {}, 1.0}, 4, slice); }).message;
    };
    CHECK(slice_message({3, 0}) ==
          "head_dim is 3; it must be at least 4, the features that 2 pairs of frequencies rotate.");
    CHECK(slice_message({8, 5}) ==
          "rotary_offset is 5; it must be from 0 to 4, so that 4 rotated features fit into head_dim (8).");
}

TEMPLATE_TEST_CASE("tables", "", float, double) {
    const auto message = [](Index max_positions, Index first_position) {
        return refusal([&] { rope::CosSinCache<TestType> c(Config{8}, max_positions, first_position); }).message;
    };
    CHECK(message(0, 0) == "max_positions is 0; it must be at least 1.");
    CHECK(message(-1, 0) == "max_positions is -1; it must be at least 1.");
    const std::string bytes = std::to_string(sizeof(TestType));
    // More than any machine of this kind can hold, in all or as positions; what none has is in out_of_memory.cpp.
    CHECK(message(kMost, 0) == "max_positions is 9223372036854775807; 9223372036854775807 rows of 8 entries of " +
                                   bytes + " bytes must not exceed what memory can hold (4611686018427387903 bytes).");
    const std::string between = " positions from there must lie between -2^62 and 2^62.";
    CHECK(message(4, kMost) == "first_position is " + std::to_string(kMost) + "; the 4" + between);
    CHECK(message(4, -kMost) == "first_position is " + std::to_string(-kMost) + "; the 4" + between);
    CHECK(message(4, (Index(1) << 62) - 4) == "(accepted)");
    CHECK(message(4, -(Index(1) << 62)) == "(accepted)");

    const rope::CosSinCache<TestType> cache(Config{8}, 10, -3);
    for (const Index p : {Index(-4), Index(7), kMost, -kMost - 1}) {
        const std::string sentence = "position is " + std::to_string(p) + "; this cache holds positions -3 to 6.";
        CHECK(refusal([&] { (void)cache.cos_row(p); }).message == sentence);
        CHECK(refusal([&] { (void)cache.sin_row(p); }).code == StatusCode::out_of_range);
    }
    CHECK(cache.bytes() == 10 * 8 * sizeof(TestType));
}

TEST_CASE("a Status carries the name of the argument, without its index") {
    const auto argument = [](const rope::Status& s) { return std::string(s.argument()); };
    rope::Config c;
    CHECK(argument(check(c)) == "head_dim");
    c.head_dim = 8;
    CHECK(argument(check(c)).empty());
    c.base = -1.0;
    CHECK(argument(check(c)) == "base");
    c.base = 10000.0;
    rope::schedule::Yarn yarn;
    yarn.beta_fast = -1.0;
    yarn.original_max_position_embeddings = 5;
    c.schedule = yarn;
    CHECK(argument(check(c)) == "schedule.max_position_embeddings");
    yarn.factor = 4.0;
    c.schedule = yarn;
    CHECK(argument(check(c)) == "schedule.beta_fast");
    c.schedule = rope::schedule::FreqFactors{{1.0, 0.0, 1.0, 1.0}};
    CHECK(argument(check(c)) == "schedule.freq_factors");  // [1]
    CHECK(argument(check(rope::Frequencies{{1.0, 1e300}, {}})) == "inv_freq");
    rope::TensorView<float> none = rope::view(static_cast<float*>(nullptr), 2, 2, 8);
    const rope::CosSinCache<float> cache(rope::Config{8}, 4);
    CHECK(argument(rope::check(none, cache)) == "x.data");
    CHECK(argument(rope::check(none, none, cache, rope::start_at(3))) == "q.data");
    CHECK(argument(rope::check(rope::TensorView<float>{}, cache)) == "x.head_dim");
}

TEST_CASE("a sentence longer than its buffer is cut, not overrun") {
    rope::detail::Message message;
    for (int i = 0; i < 100; ++i) message.append("0123456789");
    CHECK(std::string(message.text()).size() == 319);
    CHECK(std::string(rope::Status().message()).empty());
    CHECK(rope::Status().ok());
}
