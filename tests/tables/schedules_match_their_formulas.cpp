// SPDX-License-Identifier: MIT
// rope::frequencies against every schedule's formula in 256-bit arithmetic (support/exact/schedules.hpp), over thousands of
// random parameters, and the figures that papers and models publish.
#include <rope/core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/schedules.hpp"

using rope::Config;
using rope::Frequencies;
using rope::Index;
using support::power_of_two;
using support::Real;
using support::RealFrequencies;
using support::size;
namespace schedule = rope::schedule;

namespace {

/// Random parameters, the same for the same seed.
class Draw {
 public:
    explicit Draw(unsigned seed) : engine_(seed) {}

    bool one_in(Index n) { return below(n) == 0; }
    Index below(Index n) { return static_cast<Index>(engine_() % static_cast<std::uint64_t>(n)); }
    double uniform(double least, double most) {
        return least + (most - least) * static_cast<double>(engine_() >> 11) * 0x1p-53;
    }
    /// With a uniform logarithm.
    double spread(double least, double most) { return std::exp(uniform(std::log(least), std::log(most))); }
    template <class T>
    T of(std::initializer_list<T> list) {
        return list.begin()[below(static_cast<Index>(list.size()))];
    }
    Index length() {
        return of({Index(256), Index(2048), Index(4096), Index(8192), Index(131072), 1 + below(1 << 20)});
    }
    std::optional<double> maybe(double x) { return one_in(2) ? std::optional<double>(x) : std::nullopt; }
    std::vector<double> list(Index n, double least, double most) {
        std::vector<double> values(size(n));
        for (double& value : values) value = spread(least, most);
        return values;
    }

    /// All but the schedule.
    Config config() {
        Config c;
        c.rotary_dim = of({Index(4), Index(6), Index(32), Index(64), Index(80), Index(128), 4 + 2 * below(60)});
        c.head_dim = c.rotary_dim + below(3);
        c.base = of({1e4, 1.5e5, 5e5, 1e6, 1e7, spread(1.01, 1e9)});
        if (one_in(2)) c.interpolation_factor = of({2.0, 3.0, 8.0, spread(0.1, 100.0)});
        if (one_in(2)) c.attention_factor = spread(0.1, 10.0);
        return c;
    }

 private:
    std::mt19937_64 engine_;
};

/// Largest errors over many configurations. A NaN would lose every comparison, so it is counted.
class Errors {
 public:
    explicit Errors(const char* name) : name_(name) {}

    void add(const Config& config, Index seq_len = 0) {
        const Frequencies f = rope::frequencies(config, seq_len);
        const RealFrequencies exact = support::real_frequencies(config, seq_len);
        REQUIRE(f.inv_freq.size() == exact.inv_freq.size());
        REQUIRE(f.inv_freq_low.size() == exact.inv_freq.size());
        REQUIRE(f.log_growth.size() == exact.log_growth.size());
        for (std::size_t i = 0; i < f.inv_freq.size(); ++i) {
            add_to(frequency_, Real(f.inv_freq[i]) + Real(f.inv_freq_low[i]), exact.inv_freq[i]);
            // Between two doubles that are equally near to 90 bits, either will do.
            const Real& w = exact.inv_freq[i];
            const Real least = abs(Real(w.to_double()) - w) + abs(w) * power_of_two(-90);
            not_nearest_ += abs(Real(f.inv_freq[i]) - w) <= least ? 0 : 1;
        }
        for (std::size_t i = 0; i < f.log_growth.size(); ++i)
            add_to(growth_, Real(f.log_growth[i]), exact.log_growth[i]);
        CHECK(f.centre == exact.centre);
        const double ulp = std::nextafter(f.attention_factor, 1e300) - f.attention_factor;
        add_to(magnitude_, Real(f.attention_factor) / Real(ulp), exact.magnitude / Real(ulp), Real(1.0));
        ++configs_;
    }

    void check(int least_configs) const {
        const auto log2 = [](const Real& x) { return x == Real(0.0) ? -999.0 : (log(x) / log(Real(2.0))).to_double(); };
        std::printf("%-24s %4d configurations, largest error of a frequency 2^%.1f, of the magnitude %.3f ulp\n", name_,
                    configs_, log2(frequency_), magnitude_.to_double());
        CAPTURE(name_);
        CHECK(configs_ >= least_configs);
        CHECK(nans_ == 0);
        CHECK(frequency_ <= power_of_two(-90));
        CHECK(not_nearest_ == 0);
        CHECK(magnitude_ <= Real(1.0));
        CHECK(growth_ <= power_of_two(-53));
    }

 private:
    void add_to(Real& largest, const Real& value, const Real& exact) { add_to(largest, value, exact, abs(exact)); }
    void add_to(Real& largest, const Real& value, const Real& exact, const Real& unit) {
        if (value == exact) return;  // of 0, too
        const Real error = abs(value - exact) / unit;
        nans_ += mpfr_nan_p(error.get()) != 0 ? 1 : 0;
        largest = support::max(largest, error);
    }

    const char* name_;
    int configs_ = 0, not_nearest_ = 0, nans_ = 0;
    Real frequency_, magnitude_, growth_;
};

}  // namespace

TEST_CASE("default, axial, proportional, custom numbers and divisors") {
    Draw draw(1);
    Errors plain("default"), axial("axial"), proportional("proportional"), divisors("freq_factors"), custom("custom");
    for (int n = 0; n < 150; ++n) {
        Config c = draw.config();
        plain.add(c);
        c.schedule = schedule::FreqFactors{draw.list(c.rotary_dim / 2, 0x1p-20, 1e6)};
        divisors.add(c);
        schedule::Custom numbers = {draw.list(c.rotary_dim / 2, 1e-9, 4.0), {}};
        if (draw.one_in(2)) numbers.inv_freq_low = draw.list(c.rotary_dim / 2, 1e-40, 1e-3);  // more than it rounds
        if (draw.one_in(2)) numbers.inv_freq.back() = -0.25;
        if (draw.one_in(2)) numbers.inv_freq.front() = 0.0;
        if (draw.one_in(2)) numbers.inv_freq_low.clear();
        c.schedule = numbers;
        custom.add(c);
        schedule::Proportional part;
        // At least one pair turns.
        const double least = 2.0 / static_cast<double>(rope::detail::rotary_dim(c)) * (1.0 + 0x1p-50);
        const double drawn = draw.of({0.25, 0.5, 0.7, 0.75, 1.0, 0.001, draw.uniform(0.01, 1.0)});
        part.partial_rotary_factor = std::min(1.0, std::max(least, drawn));
        part.factor = draw.of({1.0, 8.0, draw.spread(0.1, 100.0)});
        c.schedule = part;
        proportional.add(c);
        const Index axes = draw.of({1, 2, 3, 4});
        c.rotary_dim = 2 * axes * (1 + draw.below(16));
        c.head_dim = c.rotary_dim;
        c.schedule = schedule::Axial{axes};
        axial.add(c);
    }
    for (const Errors& errors : {plain, axial, proportional, divisors, custom}) errors.check(150);
}

TEST_CASE("NTK-aware scaling, and the one that grows with the sequence") {
    Draw draw(2);
    Errors fixed("ntk"), mixed("ntk, mixed"), dynamic("dynamic");
    for (int n = 0; n < 150; ++n) {
        Config c = draw.config();
        const double factor = draw.of({1.0, 2.0, 8.0, 1000.0, draw.spread(1.0, 64.0)});
        c.schedule = schedule::Ntk{draw.one_in(5) ? 1.0 / factor : factor};
        fixed.add(c);
        c.schedule = schedule::Ntk{factor, draw.of({1.0, 0.625, draw.spread(0.1, 10.0), 0x1p32, 0x1p-32})};
        mixed.add(c);
        const Index trained = draw.length();
        c.schedule = schedule::DynamicNtk{factor, trained};
        for (const Index seq_len : {Index(0), trained - 1, trained, trained + 1, 2 * trained, trained * 37 + 11})
            dynamic.add(c, seq_len);
    }
    fixed.check(150);
    mixed.check(150);
    dynamic.check(900);
}

TEST_CASE("YaRN in all its variants") {
    Draw draw(3);
    Errors errors("yarn");
    int equal = 0, reversed = 0, low_clamped = 0, high_clamped = 0;
    for (int n = 0; n < 1500; ++n) {
        Config c = draw.config();
        schedule::Yarn s;
        s.original_max_position_embeddings = draw.length();
        s.max_position_embeddings = s.original_max_position_embeddings * draw.of({1, 4, 40}) / draw.of({1, 1, 3}) + 1;
        s.factor = draw.maybe(draw.of({1.0, 4.0, 32.0, 40.0, 0.5, draw.spread(0x1p-10, 0x1p10)}));
        s.factor_source = draw.of({schedule::FactorSource::factor, schedule::FactorSource::lengths});
        s.beta_fast = draw.of({32.0, 32.0, draw.spread(1.0, 1000.0)});
        s.beta_slow = draw.of({1.0, 1.0, s.beta_fast, s.beta_fast * draw.uniform(0.01, 1.0)});
        if (draw.one_in(20)) s.beta_fast = s.beta_slow = 1e6;  // all pairs turn less: low and high are clamped to 0
        s.truncate = draw.one_in(2);
        s.extrapolation_factor = draw.of({1.0, 1.0, 0.0, 0.5, draw.uniform(0.0, 1.0)});
        s.attention_factor = draw.one_in(4) ? draw.maybe(draw.spread(0.5, 2.0)) : std::nullopt;
        s.mscale = draw.maybe(draw.of({0.0, 1.0, 0.707, draw.uniform(-1.0, 2.0)}));
        s.mscale_all_dim = draw.maybe(draw.of({0.0, 1.0, 0.707, draw.uniform(-1.0, 2.0)}));
        s.attn_factor = draw.of({1.0, 1.0, 0.87825, 1.5});
        s.magnitude = draw.of(
            {schedule::YarnMagnitude::standard, schedule::YarnMagnitude::deepseek, schedule::YarnMagnitude::none});
        s.log_coefficient = draw.of({0.1, 0.1, 0.07});
        c.schedule = s;
        errors.add(c);

        // That the draws reach every branch.
        const auto corr = [&](double turns) {
            const double length = static_cast<double>(s.original_max_position_embeddings);
            return static_cast<double>(c.rotary_dim) * std::log(length / (6.283185307179586 * turns)) /
                   (2.0 * std::log(c.base));
        };
        double low = corr(s.beta_fast), high = corr(s.beta_slow);
        if (s.truncate) low = std::floor(low), high = std::ceil(high);
        low_clamped += low < 0.0;
        high_clamped += high > static_cast<double>(c.rotary_dim - 1);
        low = std::max(low, 0.0);
        high = std::min(high, static_cast<double>(c.rotary_dim - 1));
        equal += std::fabs(low - high) < 1e-9;
        reversed += low > high + 1e-9;
    }
    CAPTURE(equal, reversed, low_clamped, high_clamped);
    for (const int count : {equal, reversed, low_clamped, high_clamped}) CHECK(count > 20);
    errors.check(1500);
}

TEST_CASE("YaRN with extreme factors is right relative to the larger of its two terms") {
    Draw draw(4);
    Real largest;
    for (int n = 0; n < 200; ++n) {
        Config c;
        c.head_dim = 2 * (2 + draw.below(60));
        schedule::Yarn s;
        s.original_max_position_embeddings = draw.length();
        s.factor = draw.spread(0x1p-30, 0x1p32);
        s.extrapolation_factor = draw.uniform(0.0, 1.0);
        c.schedule = s;
        const Frequencies f = rope::frequencies(c);
        const RealFrequencies exact = support::real_frequencies(c);
        c.schedule = {};
        const std::vector<Real> w = support::real_frequencies(c).inv_freq;
        for (std::size_t i = 0; i < w.size(); ++i) {
            const Real unit = support::max(w[i], w[i] / Real(*s.factor));
            const Real error = abs(Real(f.inv_freq[i]) + Real(f.inv_freq_low[i]) - exact.inv_freq[i]) / unit;
            largest = support::max(largest, error);
            CHECK(error <= power_of_two(-90));
        }
    }
    CHECK(Real(0.0) < largest);
}

TEST_CASE("Llama 3: pairs that are kept, that are slowed, and those between") {
    Draw draw(5);
    Errors errors("llama3");
    int kept = 0, slowed = 0, between = 0;
    for (int n = 0; n < 400; ++n) {
        Config c = draw.config();
        schedule::Llama3 s;
        s.factor = draw.of({8.0, 32.0, 16.0, draw.spread(0x1p-10, 0x1p10)});
        s.low_freq_factor = draw.of({1.0, draw.spread(0.01, 10.0)});
        // Llama 4 has both at 1: no pair lies between.
        s.high_freq_factor = s.low_freq_factor * draw.of({4.0, 1.0, draw.uniform(1.0, 100.0)});
        s.original_max_position_embeddings = draw.length();
        c.schedule = s;
        errors.add(c);
        c.interpolation_factor = 1.0;
        const std::vector<double> w = rope::frequencies(c).inv_freq;
        c.schedule = {};
        const std::vector<double> before = rope::frequencies(c).inv_freq;
        for (std::size_t i = 0; i < w.size(); ++i) {
            const bool is_kept = w[i] == before[i], is_slowed = std::fabs(w[i] / before[i] * s.factor - 1.0) < 1e-12;
            kept += is_kept;
            slowed += is_slowed;
            between += !is_kept && !is_slowed;
            if (s.high_freq_factor == s.low_freq_factor) CHECK((is_kept || is_slowed));
        }
    }
    CAPTURE(kept, slowed, between);
    for (const int count : {kept, slowed, between}) CHECK(count > 500);
    errors.check(400);
}

TEST_CASE("LongRoPE: the short list up to the original length, the long one beyond, and its magnitudes") {
    Draw draw(6);
    Errors errors("longrope");
    for (int n = 0; n < 200; ++n) {
        Config c = draw.config();
        schedule::LongRope s;
        s.short_factor = draw.list(c.rotary_dim / 2, 0.5, 2.0);
        s.long_factor = draw.list(c.rotary_dim / 2, 1.0, 100.0);
        s.original_max_position_embeddings = std::max<Index>(draw.length(), 2);
        s.max_position_embeddings = s.original_max_position_embeddings * draw.of({1, 2, 32}) / draw.of({1, 1, 3}) + 1;
        s.factor = draw.maybe(draw.of({1.0, 32.0, 0.5, draw.spread(1.0, 100.0)}));
        s.factor_source = draw.of({schedule::FactorSource::factor, schedule::FactorSource::lengths});
        if (draw.one_in(4)) s.attention_factor = draw.spread(0.5, 2.0);
        if (draw.one_in(3)) s.short_mscale = draw.spread(0.5, 2.0);
        if (draw.one_in(3)) s.long_mscale = draw.spread(0.5, 2.0);
        c.schedule = s;
        const Index original = s.original_max_position_embeddings;
        for (const Index seq_len : {Index(0), original - 1, original, original + 1, 100 * original})
            errors.add(c, seq_len);
        // "Longer" is strict.
        c.interpolation_factor = 1.0;
        CHECK(rope::frequencies(c, original).inv_freq[0] == 1.0 / s.short_factor[0]);
        CHECK(rope::frequencies(c, original + 1).inv_freq[0] == 1.0 / s.long_factor[0]);
    }
    errors.check(1000);
}

TEST_CASE("xPos: the frequencies are the usual ones, and magnitudes grow for one side as they shrink for the other") {
    Draw draw(7);
    Errors errors("xpos");
    for (int n = 0; n < 150; ++n) {
        Config c = draw.config();
        schedule::Xpos s;
        s.side = draw.of({schedule::Xpos::Side::query, schedule::Xpos::Side::key});
        s.scale_base = draw.of({512.0, draw.spread(32.0, 1e6)});
        s.centre = draw.of({0.0, 1024.0, draw.uniform(-1e6, 1e6)});
        c.schedule = s;
        errors.add(c);
    }
    errors.check(150);
}

TEST_CASE("interpolation divides what the schedule made, and the attention factor multiplies its magnitude") {
    const schedule::Yarn yarn = {4.0, 4096};
    const schedule::LongRope longrope = {{1.5, 2.5, 3.5, 4.5}, {5.0, 6.0, 7.0, 8.0}, 4096, 131072};
    const rope::Schedule schedules[] = {schedule::Default(),
                                        schedule::Ntk{4.0},
                                        schedule::DynamicNtk{4.0, 2048},
                                        yarn,
                                        schedule::Llama3(),
                                        longrope,
                                        schedule::Proportional{0.5, 3.0},
                                        schedule::Axial{2},
                                        schedule::Xpos(),
                                        schedule::FreqFactors{{1.0, 2.0, 3.0, 4.0}},
                                        schedule::Custom{{1.0, 0.3, 0.1, 0.03}, {}}};
    REQUIRE(std::size(schedules) == std::variant_size_v<rope::Schedule::variant>);
    for (const rope::Schedule& s : schedules) {
        CAPTURE(rope::schedule_name(s));
        Config config = {8};
        config.schedule = s;
        const Frequencies before = rope::frequencies(config, 5000);
        config.interpolation_factor = 8.0;  // powers of two, so that what is expected is exact
        config.attention_factor = 2.0;
        const Frequencies after = rope::frequencies(config, 5000);
        REQUIRE(after.inv_freq.size() == 4);
        for (std::size_t i = 0; i < 4; ++i) CHECK(after.inv_freq[i] * 8.0 == before.inv_freq[i]);
        CHECK(after.attention_factor == 2.0 * before.attention_factor);
        CHECK(after.log_growth == before.log_growth);
        config.base = 500.0;
        CHECK((rope::frequencies(config, 5000).inv_freq == after.inv_freq) ==
              (std::string(rope::schedule_name(s)) == "custom"));
    }
}

TEST_CASE("published figures") {
    const auto near = [](double value, double published, double digits) {
        CAPTURE(value, published);
        CHECK(std::fabs(value - published) <= digits);
    };
    // YaRN with factor 4: 1.13863. DeepSeek-R1-0528-Qwen3-8B ships the reciprocal as attn_factor.
    Config config = {128};
    config.base = 1e6;
    schedule::Yarn yarn = {4.0, 32768};
    config.schedule = yarn;
    near(rope::frequencies(config).attention_factor, 1.13863, 5e-6);
    yarn.attn_factor = 0.87825;
    config.schedule = yarn;
    near(rope::frequencies(config).attention_factor, 1.0, 5e-6);
    // DeepSeek-V2 and V3: mscale and mscale_all_dim are equal, and cancel.
    yarn = {40.0, 4096};
    yarn.mscale = yarn.mscale_all_dim = 0.707;
    config.schedule = yarn;
    CHECK(rope::frequencies(config).attention_factor == 1.0);
    // Their own code takes a missing mscale_all_dim for 0; everybody else takes both or none.
    yarn.mscale_all_dim = std::nullopt;
    config.schedule = yarn;
    near(rope::frequencies(config).attention_factor, 1.36889, 5e-6);
    yarn.magnitude = schedule::YarnMagnitude::deepseek;
    config.schedule = yarn;
    near(rope::frequencies(config).attention_factor, 1.26080, 5e-6);
    // gpt-oss: factor 32.
    yarn = {32.0, 4096};
    yarn.truncate = false;
    config = {64};
    config.base = 150000.0;
    config.schedule = yarn;
    near(rope::frequencies(config).attention_factor, 1.34657, 5e-6);
    // Phi-3-mini-128k: sqrt(1 + ln 32 / ln 4096) = sqrt(17 / 12).
    schedule::LongRope longrope = {std::vector<double>(48, 1.0), std::vector<double>(48, 2.0), 4096, 131072};
    config = {96};
    config.schedule = longrope;
    near(rope::frequencies(config).attention_factor, std::sqrt(17.0 / 12.0), 0x1p-52);
    near(rope::frequencies(config, 131072).attention_factor, 1.19024, 5e-6);
    // Llama 3.1: the slowest pair turns 8 times slower, the fastest as it was.
    config = {128};
    config.base = 500000.0;
    config.schedule = schedule::Llama3();
    near(rope::frequencies(config).inv_freq[63] * 8.0, std::pow(500000.0, -126.0 / 128.0), 1e-20);
    CHECK(rope::frequencies(config).inv_freq[0] == 1.0);
    // 0.7 * 20 features are 14, and so 7 pairs, in the arithmetic of the models' code.
    config = {20};
    config.schedule = schedule::Proportional{0.7, 1.0};
    const std::vector<double> w = rope::frequencies(config).inv_freq;
    CHECK(std::count(w.begin(), w.end(), 0.0) == 3);
}
