// SPDX-License-Identifier: MIT
// CosSinCache<float>::float32_chain is what eager float32 frameworks compute when each of their steps is
// correctly rounded: 2i/d, base^(.), 1/(.), (.)/factor, position * (.), cos and sin, (.) * m.
#include <rope/core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/float32_chain.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/schedules.hpp"
#include "support/refusal.hpp"

namespace {

using rope::Config;
using rope::CosSinCache;
using rope::Index;
using support::Float32Chain;
using support::Real;
using support::RealCosSin;

Config config_of(Index head_dim, double base, double factor, double m) {
    Config config;
    config.head_dim = head_dim;
    config.base = base;
    config.interpolation_factor = factor;
    config.attention_factor = m;
    return config;
}

void check_window(const Config& config, const Float32Chain& chain, Index first, Index count) {
    INFO("head_dim " << config.head_dim << ", base " << config.base << ", factor " << config.interpolation_factor
                     << ", m " << config.attention_factor << ", positions from " << first);
    CHECK(support::different_entries(CosSinCache<float>::float32_chain(config, count, first), chain) == 0);
}

/// The same for a Config with a schedule: the chain begins with its frequencies and its magnitude, rounded to float.
std::uint64_t different_entries_with_schedule(const Config& config, Index first, Index count, Index seq_len) {
    const CosSinCache<float> table = CosSinCache<float>::float32_chain(config, count, first, seq_len);
    const support::RealFrequencies f = support::real_frequencies(config, seq_len);
    const Real magnitude = support::to_float32(f.magnitude);
    std::uint64_t different = 0;
    for (Index p = first; p < first + count; ++p)
        for (Index i = 0; i < table.pairs(); ++i) {
            const Real w = support::to_float32(f.inv_freq[support::size(i)]);
            const RealCosSin exact = support::cos_sin(support::to_float32(support::to_float32(Real::integer(p)) * w));
            const float cos = (support::to_float32(exact.cos) * magnitude).to_float();
            const float sin = (support::to_float32(exact.sin) * magnitude).to_float();
            if (std::memcmp(table.cos_row(p) + i, &cos, sizeof(float)) != 0) ++different;
            if (std::memcmp(table.sin_row(p) + i, &sin, sizeof(float)) != 0) ++different;
        }
    return different;
}

}  // namespace

TEST_CASE("the float32 chain has the bits of its definition at positions 0 to 4095") {
    const Config config = config_of(128, 10000.0, 1.0, 1.0);
    check_window(config, Float32Chain(config), 0, 4096);
}

TEST_CASE("the float32 chain has the bits of its definition for many models") {
    // Bases, factors and magnitudes that floats hold and that they do not; dimensions whose exponents are
    // exact and that are not.
    const std::vector<Config> configs = {
        config_of(128, 10000.0, 4.0, 1.25),    config_of(128, 500000.0, 1.0, 1.0),
        config_of(128, 1e6, 32.0, 0.5),        config_of(96, 10000.0, 1.0, 1.1386294361119891),
        config_of(80, 10000.1, 3.0, 0.87825),  config_of(256, 1e7, 8.0, 7.0),
        config_of(64, 150000.0, 32.0, 1.3466), config_of(2, 10000.0, 1.0, 1.0),
        config_of(100, 1.0, 1.0, 1.0),         config_of(36, 0.5, 0.7, 1.0),
        config_of(128, 65536.0, 1.0, 1.0),     config_of(6, 16777217.0, 1.1, 16777217.0)};
    for (const Config& config : configs) {
        const Float32Chain chain(config);
        check_window(config, chain, 0, 40);
        check_window(config, chain, 4095, 1);
        check_window(config, chain, -33, 20);
        check_window(config, chain, 999990, 20);
        check_window(config, chain, (Index(1) << 24) - 3, 8);
        check_window(config, chain, 2147483647 - 7, 8);
        check_window(config, chain, (Index(1) << 40) + 12345, 3);
    }
}

TEST_CASE("with a schedule, the float32 chain begins with its frequencies and its magnitude") {
    namespace schedule = rope::schedule;
    const schedule::LongRope longrope = {std::vector<double>(40, 1.1), std::vector<double>(40, 7.3), 4096, 131072};
    const rope::Schedule schedules[] = {schedule::Ntk{7.3},
                                        schedule::Ntk{7.3, 0.6},
                                        schedule::DynamicNtk{3.7, 4096},
                                        schedule::Yarn{4.0, 4096},
                                        schedule::Llama3(),
                                        longrope,
                                        schedule::Proportional{0.4, 3.0},
                                        schedule::Axial{2},
                                        schedule::FreqFactors{std::vector<double>(40, 3.3)},
                                        schedule::Custom{std::vector<double>(40, 0.7), {}}};
    constexpr Index kLong = Index(1) << 31;
    for (const rope::Schedule& s : schedules)
        for (const double factor : {1.0, 3.0}) {
            Config config = config_of(80, 500000.0, factor, 1.1);
            config.schedule = s;
            CAPTURE(rope::schedule_name(s), factor);
            for (const Index first : {Index(0), Index(131000), kLong - 8})
                CHECK(different_entries_with_schedule(config, first, 8, kLong) == 0);
            const double m = CosSinCache<float>::float32_chain(config, 1, 0, kLong).attention_factor();
            CHECK(m == static_cast<double>(support::real_frequencies(config, kLong).magnitude.to_float()));
        }
}

TEST_CASE("the schedule's frequency is rounded to float once, not by way of double") {
    // Halfway between two floats as far as double can tell: what it cut off decides.
    for (const double low : {-0x1p-60, 0.0, 0x1p-60}) {
        Config config = config_of(2, 10000.0, 1.0, 1.0);
        config.schedule = rope::schedule::Custom{{1.0 + 0x1p-24}, {low}};
        const Real w = low > 0.0 ? 1.0 + 0x1p-23 : 1.0;
        const CosSinCache<float> table = CosSinCache<float>::float32_chain(config, 2);
        CHECK(table.cos_row(1)[0] == support::cos_sin(w).cos.to_float());
        CHECK(table.sin_row(1)[0] == support::cos_sin(w).sin.to_float());
    }
}

TEST_CASE("the float32 chain takes the slice of partial rotary") {
    Config config = config_of(80, 10000.0, 1.0, 1.0);
    config.rotary_dim = 32;
    config.rotary_offset = 16;
    check_window(config, Float32Chain(config), 0, 64);
    const CosSinCache<float> table = CosSinCache<float>::float32_chain(config, 1);
    CHECK(table.pairs() == 16);
    CHECK(table.head_dim() == 80);
    CHECK(table.rotary_offset() == 16);
}

TEST_CASE("the float32 chain rounds the attention factor to float before anything else") {
    const Config config = config_of(8, 10000.0, 1.0, 0.1);
    CHECK(CosSinCache<float>::float32_chain(config, 1).attention_factor() == static_cast<double>(0.1f));
}

TEST_CASE("the float32 chain is as wrong as float32 angles are") {
    struct Expected {
        Index position;
        double at_least, at_most;
    };
    const Config config = config_of(128, 10000.0, 1.0, 1.0);
    for (const Expected e :
         {Expected{4095, 3e-5, 5e-4}, Expected{1000000, 1e-3, 1e-1}, Expected{(Index(1) << 24) + 1, 0.1, 2.0}}) {
        const CosSinCache<float> table = CosSinCache<float>::float32_chain(config, 1, e.position);
        Real largest;
        for (Index i = 0; i < table.pairs(); ++i) {
            const Real w = support::inverse_frequency(config.base, i, config.head_dim, 1.0);
            const Real entry(static_cast<double>(table.cos_row(e.position)[i]));
            largest = support::max(largest, abs(entry - support::cos_sin(e.position, w).cos));
        }
        std::printf("float32 chain at position %lld: largest error of cos %.3g\n", static_cast<long long>(e.position),
                    largest.to_double());
        CHECK(Real(e.at_least) <= largest);
        CHECK(largest <= Real(e.at_most));
    }
}

// What README.md and CosSinCache<float>::float32_chain state: 6.2e-2 is the largest error of an entry at position 10^6,
// 7.3e-2 the largest up to there, over these models.
TEST_CASE("the float32 chain is as wrong as is stated, and not more") {
    const Index last = 1000000;
    const Index window = 1024;  // of all positions up to 10^6, the worst is 999809, with a base of 500000
    double at_last = 0.0;
    double in_window = 0.0;
    Config worst;
    for (const double base : {10000.0, 500000.0, 1000000.0})
        for (const Index head_dim : {64, 128})
            for (const double factor : {1.0, 4.0, 8.0}) {
                const Config config = config_of(head_dim, base, factor, 1.0);
                const Index first = last + 1 - window;
                const CosSinCache<float> chain = CosSinCache<float>::float32_chain(config, window, first);
                const CosSinCache<double> right(config, window, first);
                for (Index p = first; p <= last; ++p)
                    for (Index i = 0; i < chain.pairs(); ++i)
                        for (const double error : {static_cast<double>(chain.cos_row(p)[i]) - right.cos_row(p)[i],
                                                   static_cast<double>(chain.sin_row(p)[i]) - right.sin_row(p)[i]})
                            in_window = std::max(in_window, std::fabs(error));
                for (Index i = 0; i < chain.pairs(); ++i) {
                    const RealCosSin exact =
                        support::cos_sin(last, support::inverse_frequency(base, i, head_dim, factor));
                    const double error =
                        support::max(abs(Real(static_cast<double>(chain.cos_row(last)[i])) - exact.cos),
                                     abs(Real(static_cast<double>(chain.sin_row(last)[i])) - exact.sin))
                            .to_double();
                    if (error > at_last) worst = config;
                    at_last = std::max(at_last, error);
                }
            }
    std::printf(
        "float32 chain: largest error %.3g at position 10^6 (head_dim %lld, base %g, factor %g), %.3g up to it\n",
        at_last, static_cast<long long>(worst.head_dim), worst.base, worst.interpolation_factor, in_window);
    CHECK(at_last > 6.1e-2);
    CHECK(at_last <= 6.2e-2);
    CHECK(in_window > 7.2e-2);
    CHECK(in_window <= 7.3e-2);
}

TEST_CASE("what float32 cannot hold is refused") {
    const auto refuses = [](double base, double factor, const std::string& sentence) {
        rope::Config config;
        config.head_dim = 8;
        config.base = base;
        config.interpolation_factor = factor;
        std::string message;
        try {
            (void)rope::CosSinCache<float>::float32_chain(config, 4);
        } catch (const std::invalid_argument& e) {
            message = e.what();
        }
        CHECK(message == sentence);
    };
    const std::string allowed = "; rounded to float it must be finite and above 0.";
    refuses(1e300, 1.0, "base is 1e+300" + allowed);
    refuses(1e-46, 1e40, "base is 1e-46" + allowed);
    refuses(1e4, 1e300, "interpolation_factor is 1e+300" + allowed);
    const std::string most = "; it must be finite and of magnitude at most 2^32 radians per position.";
    refuses(1e4, 0x1p-33,
            "The frequency of pair 0 is 8589934592, with base 10000 and interpolation_factor 1.1641532182693481e-10" +
                most);
    refuses(
        0x1p-48, 1.0,
        "The frequency of pair 3 is 68719476736, with base 3.552713678800501e-15 and interpolation_factor 1" + most);
    refuses(1e4, 0x1p-32, "");

    // 2/3 in float is a little more than two thirds, and the power is then beyond 2^32.
    Config config = config_of(6, 0x1p-48, 1.0, 1.0);
    CHECK(rope::frequencies(config).inv_freq[2] == 0x1p32);
    const auto message = [&] {
        return support::refusal([&] { (void)CosSinCache<float>::float32_chain(config, 4); }).message;
    };
    CHECK(message().find("The frequency of pair 2 is 42949") == 0);
    CHECK(message().find(" in float" + most) != std::string::npos);

    config = config_of(8, 10000.0, 1.0, 1.0);
    config.schedule = rope::schedule::Xpos();
    CHECK(message() == "schedule is xPos; the float32 chain has no magnitude that changes with the position.");
    config.schedule = rope::schedule::DynamicNtk{2.0, 3};
    CHECK(message().find("seq_len is 0; with this schedule (dynamic)") == 0);
}
