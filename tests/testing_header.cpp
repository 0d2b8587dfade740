// SPDX-License-Identifier: MIT
// <rope/testing.hpp> passes what is right, fails what is wrong, says where, and knows classic mistakes by
// name.
#include "support/catch.hpp"
#include "support/data.hpp"

#include <rope/core.hpp>
#include <rope/testing.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using rope::Index;
using rope::Layout;
namespace testing = rope::testing;

constexpr Layout kLayouts[] = {Layout::interleaved, Layout::half_split};

/// The slice of every kind: the whole head, leading, trailing, in the middle.
std::vector<rope::Config> configs() {
    std::vector<rope::Config> result;
    const auto add = [&](Index head_dim, Index rotary_dim, Index offset, double m, double factor) {
        rope::Config c;
        c.head_dim = head_dim;
        c.rotary_dim = rotary_dim;
        c.rotary_offset = offset;
        c.attention_factor = m;
        c.interpolation_factor = factor;
        result.push_back(c);
    };
    add(16, 0, 0, 1.0, 1.0);
    add(20, 8, 0, 1.138629, 4.0);
    add(21, 8, 13, 0.7, 1.0);
    add(24, 14, 3, 2.5, 0.5);
    return result;
}

testing::Options options_up_to(Index max_position) {
    testing::Options options;
    options.max_position = max_position;
    return options;
}

/// The library's own rotation as the callable that measure(...) wants. One row of the table per token, so
/// that positions may be as large as they like.
template <class T, class Operation>
auto row_by_row(const rope::Frequencies& f, rope::HeadSlice slice, Operation operation) {
    return [=](T* x, Index seq, Index heads, const Index* positions) {
        for (Index t = 0; t < seq; ++t) {
            const rope::CosSinCache<support::TableOf<T>> cache(f, 1, slice, positions[t]);
            operation(rope::view(x + t * heads * slice.head_dim, 1, heads, slice.head_dim), cache,
                      rope::start_at(positions[t]));
        }
    };
}

template <class T>
testing::Report measure_library(Layout layout, const rope::Config& config, const testing::Options& options) {
    const rope::Frequencies f = rope::frequencies(config);
    const rope::HeadSlice slice = {config.head_dim, config.rotary_offset};
    const auto forward = [=](auto x, const auto& cache, const rope::Positions& p) { rope::apply(layout, x, cache, p); };
    const auto backward = [=](auto x, const auto& cache, const rope::Positions& p) {
        rope::apply_inverse(layout, x, cache, p);
    };
    return testing::measure<T>(row_by_row<T>(f, slice, forward), row_by_row<T>(f, slice, backward), layout, config,
                               options);
}

/// A rotation in double, rounded once to T, whose every step can be replaced by a mistaken one.
struct Loop {
    Layout layout = Layout::half_split;
    Index head_dim = 0, rotary_dim = 0, offset = 0;
    double m = 1.0;
    std::function<double(Index i)> frequency;
    std::function<double(Index position, double w)> angle = [](Index p, double w) {
        return static_cast<double>(p) * w;
    };
    std::function<Index(Index token, const Index* positions)> position = [](Index token, const Index* p) {
        return p[token];
    };
    std::function<void(double& a, double& b, double c, double s)> turn = [](double& a, double& b, double c, double s) {
        const double before = a;
        a = a * c - b * s;
        b = b * c + before * s;
    };

    explicit Loop(Layout l, const rope::Config& config)
        : layout(l),
          head_dim(config.head_dim),
          rotary_dim(config.rotary_dim != 0 ? config.rotary_dim : config.head_dim),
          offset(config.rotary_offset),
          m(config.attention_factor) {
        frequency = powers(config.base, static_cast<double>(rotary_dim), config.interpolation_factor);
    }
    static std::function<double(Index)> powers(double base, double dim, double factor) {
        return [=](Index i) { return std::pow(base, -2.0 * static_cast<double>(i) / dim) / factor; };
    }

    template <class T>
    void operator()(T* x, Index seq, Index heads, const Index* positions) const {
        for (Index t = 0; t < seq; ++t)
            for (Index h = 0; h < heads; ++h)
                for (Index i = 0; i < rotary_dim / 2; ++i) {
                    T* const slice = x + (t * heads + h) * head_dim + offset;
                    T& at_a = layout == Layout::interleaved ? slice[2 * i] : slice[i];
                    T& at_b = layout == Layout::interleaved ? slice[2 * i + 1] : slice[i + rotary_dim / 2];
                    const double theta = angle(position(t, positions), frequency(i));
                    double a = support::to_double(at_a);
                    double b = support::to_double(at_b);
                    turn(a, b, m * std::cos(theta), m * std::sin(theta));
                    at_a = support::from_double<T>(a);
                    at_b = support::from_double<T>(b);
                }
    }
};

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
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(c.base, static_cast<double>(l.rotary_dim), 1.0);
         }},
        {"exponent 2i instead of i",
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(c.base, static_cast<double>(l.rotary_dim) / 2, c.interpolation_factor);
         }},
        {"head_dim in the exponent",
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(c.base, static_cast<double>(l.head_dim), c.interpolation_factor);
         }},
        {"base 10000",
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(10000.0, static_cast<double>(l.rotary_dim), c.interpolation_factor);
         }},
        {"slice ignored",
         [](Loop& l, const rope::Config& c) {
             l.offset = 0;
             l.rotary_dim = l.head_dim;
             l.frequency = Loop::powers(c.base, static_cast<double>(l.head_dim), c.interpolation_factor);
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
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(3.0 * c.base, static_cast<double>(l.rotary_dim), 1.0);
         }},
    };
    return result;
}

/// A config in which every mistake of the table makes a difference.
rope::Config telling_config() {
    rope::Config c;
    c.head_dim = 24;
    c.rotary_dim = 16;
    c.rotary_offset = 5;
    c.base = 500000.0;
    c.interpolation_factor = 4.0;
    c.attention_factor = 1.25;
    return c;
}

/// Every element type, as a value to call a generic lambda with.
template <class F>
void for_each_type(const F& f) {
    f(float());
    f(double());
    f(rope::half());
    f(rope::bfloat16());
}

}  // namespace

TEST_CASE("the library's rotation passes, in every element type, layout and slice") {
    for (const rope::Config& config : configs())
        for (const Layout layout : kLayouts)
            for_each_type([&](auto zero) {
                const testing::Report report = measure_library<decltype(zero)>(layout, config, testing::Options());
                INFO(to_string(report));
                CHECK(report.ok());
                CHECK(report.mistake.empty());
                CHECK(report.diagnosis.empty());
                CHECK(report.inverse.measured);
                CHECK(report.alone.largest <= 0.0);  // its promise: the same bits
            });
}

TEST_CASE("the library's rotation passes at the largest positions and with other data") {
    testing::Options options = options_up_to(2147483647);
    for (std::uint64_t seed = 2; seed < 12; ++seed) {
        options.seed = seed;
        const testing::Report single = measure_library<float>(Layout::half_split, telling_config(), options);
        INFO(to_string(single));
        CHECK(single.ok());
    }
    if (std::numeric_limits<long double>::digits >= 64)
        for (std::uint64_t seed = 2; seed < 12; ++seed) {
            options.seed = seed;
            const testing::Report report = measure_library<double>(Layout::interleaved, telling_config(), options);
            INFO(to_string(report));
            CHECK(report.ok());
        }
}

TEST_CASE("one token, one head, two positions and two features can be measured") {
    rope::Config config;
    config.head_dim = 2;
    testing::Options options = options_up_to(1);
    options.seq = 1;
    options.heads = 1;
    const testing::Report report = measure_library<float>(Layout::half_split, config, options);
    INFO(to_string(report));
    CHECK(report.ok());
    CHECK(report.scores.where.shift == 1);
}

TEST_CASE("given frequencies are measured as a config is") {
    rope::Frequencies f;
    f.inv_freq = {1.0, 0.0, -0.25};
    f.attention_factor = 1.5;
    const auto turn = [](auto x, const auto& cache, const rope::Positions& p) {
        rope::apply(Layout::interleaved, x, cache, p);
    };
    const testing::Report whole = testing::measure(row_by_row<float>(f, {6, 0}, turn), Layout::interleaved, f);
    INFO(to_string(whole));
    CHECK(whole.ok());
    const testing::Report slice =
        testing::measure(row_by_row<float>(f, {9, 2}, turn), Layout::interleaved, testing::Model(f, {9, 2}));
    INFO(to_string(slice));
    CHECK(slice.ok());
    // Another slice than the one that was turned.
    const testing::Report wrong =
        testing::measure(row_by_row<float>(f, {9, 0}, turn), Layout::interleaved, testing::Model(f, {9, 2}));
    CHECK_FALSE(wrong.ok());
    CHECK(wrong.mistake == "offset ignored");
}

TEST_CASE("the same options give the same data, another seed other data") {
    std::vector<float> seen[3];
    for (int run = 0; run < 3; ++run) {
        testing::Options options;
        options.seed = run < 2 ? 7 : 8;
        const auto record = [&](const float* x, Index seq, Index heads, const Index* positions) {
            seen[run].insert(seen[run].end(), x, x + seq * heads * 24);
            for (Index t = 0; t < seq; ++t) seen[run].push_back(static_cast<float>(positions[t]));
        };
        testing::measure(record, Layout::half_split, telling_config(), options);
    }
    CHECK(support::same_bits(seen[0], seen[1]));
    CHECK_FALSE(support::same_bits(seen[0], seen[2]));
    CHECK(seen[0].front() == 0.508770585f);  // the same on every standard library
}

TEST_CASE("positions stay within max_position and are those given") {
    for (const Index most : {Index(1), Index(2), Index(5), Index(100), Index(4095)}) {
        Index largest = 0;
        const Loop loop(Layout::half_split, telling_config());
        const auto record = [&](float* x, Index seq, Index heads, const Index* positions) {
            for (Index t = 0; t < seq; ++t) {
                REQUIRE(positions[t] >= 0);
                largest = std::max(largest, positions[t]);
            }
            loop(x, seq, heads, positions);
        };
        CHECK(testing::measure(record, Layout::half_split, telling_config(), options_up_to(most)).ok());
        CHECK(largest == most);
    }
    testing::Options given;
    given.positions = {5, 5, 900, 0};
    std::vector<Index> seen;
    const auto record = [&](float*, Index seq, Index, const Index* positions) {
        if (seen.empty()) seen.assign(positions, positions + seq);
    };
    testing::measure(record, Layout::half_split, telling_config(), given);
    CHECK(seen == given.positions);
}

TEST_CASE("every mistake is recognised by its name") {
    const rope::Config config = telling_config();
    for (const testing::detail_testing::Hypothesis& known : testing::detail_testing::hypotheses()) {
        if (std::string(known.name) == "angle in double") continue;  // below: double elements only
        REQUIRE(mistakes().count(known.name) == 1);
    }
    for (const auto& [name, spoil] : mistakes())
        for (const Layout layout : kLayouts)
            for_each_type([&, &wanted = name, &make = spoil](auto zero) {
                using T = decltype(zero);
                Loop loop(layout, config);
                make(loop, config);
                testing::Options options;
                options.heads = 16;  // bfloat16 shows float32 angles only just: the more heads, the clearer
                const testing::Report report = testing::measure<T>(loop, layout, config, options);
                INFO(wanted << "\n" << to_string(report));
                CHECK_FALSE(report.ok());
                CHECK(report.mistake == wanted);
                CHECK(report.diagnosis.find(wanted) != std::string::npos);
                CHECK(to_string(report).find(report.diagnosis) != std::string::npos);
            });
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

TEST_CASE("a mistake in a lesser frame of reference is not named when nothing is wrong with it") {
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

TEST_CASE("the report points at a single fault, which none of the known mistakes explains") {
    const rope::Config config = telling_config();
    const Index token = 6, head = 2, feature = 9;
    for (const Layout layout : kLayouts)
        for_each_type([&](auto zero) {
            using T = decltype(zero);
            const Loop loop(layout, config);
            bool batch = true;  // the first call has the batch; the fault is in its memory
            const auto faulty = [&](T* x, Index seq, Index heads, const Index* positions) {
                loop(x, seq, heads, positions);
                T& at = x[(token * heads + head) * config.head_dim + feature];
                if (batch) at = support::from_double<T>(support::to_double(at) + 0.25);
                batch = false;
            };
            testing::Options options;
            options.angle_epsilon = std::is_same_v<T, double> ? 0x1p-51 : 0.0;
            const testing::Report report = testing::measure<T>(faulty, layout, config, options);
            INFO(to_string(report));
            CHECK_FALSE(report.ok());
            CHECK_FALSE(report.dense.ok());
            CHECK_FALSE(report.alone.ok());
            CHECK(report.scores.ok());
            CHECK(report.outside.ok());
            for (const testing::Measurement* m : {&report.dense, &report.alone}) {
                CHECK(m->where.token == token);
                CHECK(m->where.position == 100);
                CHECK(m->where.head == head);
                CHECK(m->where.feature == feature);
                CHECK(m->where.pair == (layout == Layout::interleaved ? 2 : 4));
                CHECK(std::fabs(m->got - m->expected) > 0.24);
            }
            CHECK(std::fabs(report.dense.got - report.dense.expected - 0.25) < 0.01);
            CHECK(report.norms.where.token == token);
            CHECK(report.norms.where.head == head);
            CHECK(report.mistake == "none of the known mistakes");
        });
}

TEST_CASE("no rotation passes that is wrong by 20 bounds at one element") {
    const rope::Config config = telling_config();
    for_each_type([&](auto zero) {
        using T = decltype(zero);
        testing::Options options;
        options.angle_epsilon = std::is_same_v<T, double> ? 0x1p-51 : 0.0;
        const Loop loop(Layout::half_split, config);
        // What the bound is at each element follows from data that a first run records.
        std::vector<T> before;
        std::vector<Index> at;
        const auto record = [&](T* x, Index seq, Index heads, const Index* positions) {
            if (at.empty()) {
                before.assign(x, x + seq * heads * config.head_dim);
                at.assign(positions, positions + seq);
            }
            loop(x, seq, heads, positions);
        };
        REQUIRE(testing::measure<T>(record, Layout::half_split, config, options).ok());
        const double u = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;
        const double narrow = std::is_same_v<T, rope::half>       ? 0x1p-11
                              : std::is_same_v<T, rope::bfloat16> ? 0x1p-8
                                                                  : 0.0;
        const rope::Frequencies f = rope::frequencies(config);
        for (std::size_t row = 0; row < at.size() * 3; row += 5)
            for (std::size_t i = 0; i < 16; i += 3) {
                const std::size_t base = row * 24 + 5;
                const double sum = std::fabs(support::to_double(before[base + i % 8])) +
                                   std::fabs(support::to_double(before[base + i % 8 + 8]));
                const double t = static_cast<double>(at[row / 3]) * f.inv_freq[i % 8];
                bool batch = true;
                double moved = 0.0;
                const auto faulty = [&](T* x, Index seq, Index heads, const Index* positions) {
                    loop(x, seq, heads, positions);
                    if (!batch) return;
                    batch = false;
                    T& y = x[base + i];
                    const double right = support::to_double(y);
                    const double bound = 1.25 * sum * (4 * u + options.angle_epsilon * std::fabs(t)) +
                                         narrow * std::fabs(right) + 0x1p-24 * (narrow > 0.0);
                    y = support::from_double<T>(right + 20 * bound);
                    moved = support::to_double(y) - right;
                };
                const testing::Report report = testing::measure<T>(faulty, Layout::half_split, config, options);
                INFO(to_string(report));
                CHECK(moved > 0.0);
                CHECK_FALSE(report.dense.ok());
                CHECK(report.dense.value > 10 * report.dense.bound);
                CHECK(report.dense.where.feature == static_cast<Index>(5 + i));
                CHECK(report.mistake == "none of the known mistakes");
            }
    });
}

TEST_CASE("features outside the slice and memory around the buffer are watched bit for bit") {
    const rope::Config config = telling_config();
    const Loop loop(Layout::half_split, config);
    const auto with = [&](auto&& harm) {
        return testing::measure(
            [&](float* x, Index seq, Index heads, const Index* positions) {
                loop(x, seq, heads, positions);
                harm(x, seq * heads * config.head_dim);
            },
            Layout::half_split, config);
    };
    const testing::Report feature = with([](float* x, Index) { x[24 * 4 + 2] = std::nextafter(x[24 * 4 + 2], 9.0f); });
    CHECK_FALSE(feature.ok());
    CHECK(feature.dense.ok());
    CHECK_FALSE(feature.outside.ok());
    CHECK(feature.outside.value == 1.0);
    CHECK(feature.outside.where.token == 1);
    CHECK(feature.outside.where.head == 1);
    CHECK(feature.outside.where.feature == 2);
    CHECK(feature.outside.where.pair == -1);

    const testing::Report below = with([](float* x, Index) { x[-1] = 0.0f; });
    CHECK_FALSE(below.outside.ok());
    CHECK(below.outside.where.token == -1);
    CHECK(to_string(below).find("before the buffer") != std::string::npos);

    const testing::Report above = with([](float* x, Index n) { x[n + 7] = -1.0f; });
    CHECK_FALSE(above.outside.ok());
    CHECK(above.outside.where.token == 16);
    CHECK(to_string(above).find("after the buffer") != std::string::npos);
}

TEST_CASE("a token that looks at its neighbours, a wrong inverse and a norm that drifts are seen") {
    const rope::Config config = telling_config();
    const Loop loop(Layout::half_split, config);

    // Right in the batch, wrong alone: a decode path that differs from the prefill path.
    const auto lonely = [&](float* x, Index seq, Index heads, const Index* positions) {
        loop(x, seq, heads, positions);
        if (seq == 1) x[6] += 0.5f;
    };
    const testing::Report alone = testing::measure(lonely, Layout::half_split, config);
    CHECK_FALSE(alone.ok());
    CHECK(alone.dense.ok());
    CHECK_FALSE(alone.alone.ok());
    CHECK(alone.alone.where.feature == 6);

    // The transpose in place of the inverse: right only when m is 1.
    Loop transpose = loop;
    mistakes().at("sign of sin")(transpose, config);
    const testing::Report back = testing::measure(loop, transpose, Layout::half_split, config);
    CHECK_FALSE(back.ok());
    CHECK(back.dense.ok());
    CHECK_FALSE(back.inverse.ok());
    Loop inverse = transpose;
    inverse.m = 1.0 / config.attention_factor;
    CHECK(testing::measure(loop, inverse, Layout::half_split, config).ok());

    // A little shorter each time.
    Loop shrinking = loop;
    shrinking.m *= 1.0 - 0x1p-18;
    const testing::Report shorter = testing::measure(shrinking, Layout::half_split, config);
    CHECK_FALSE(shorter.norms.ok());
    CHECK(shorter.norms.value == Approx(0x1p-18).epsilon(0.05));
    CHECK(shorter.mistake == "none of the known mistakes");
}

TEST_CASE("scores that change under a shift are seen, and which shift it was") {
    // Right near 0, another frequency from position 1000 on.
    const rope::Config config = telling_config();
    Loop loop(Layout::half_split, config);
    loop.angle = [](Index p, double w) { return static_cast<double>(p < 1000 ? p : 2 * p) * w; };
    testing::Options options = options_up_to(2000);
    options.shifts = {1, 500, 900};
    const testing::Report report = testing::measure(loop, Layout::half_split, config, options);
    CHECK_FALSE(report.scores.ok());
    CHECK(report.scores.where.shift == 2000 - 15);
    options.max_position = 900;
    CHECK(testing::measure(loop, Layout::half_split, config, options).ok());
}

TEST_CASE("results that are not finite fail, whatever the compile flags") {
    const rope::Config config = telling_config();
    const Loop loop(Layout::half_split, config);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const auto spoilt = [&](float* x, Index seq, Index heads, const Index* positions) {
            loop(x, seq, heads, positions);
            x[7] = bad;
        };
        const testing::Report report = testing::measure(spoilt, Layout::half_split, config);
        INFO(to_string(report));
        CHECK_FALSE(report.dense.ok());
        CHECK_FALSE(report.norms.ok());
        CHECK_FALSE(report.scores.ok());
        CHECK_FALSE(report.alone.ok());
        CHECK(report.dense.where.feature == 7);
        CHECK(report.mistake == "not finite");
        CHECK(to_string(report).find("not finite") != std::string::npos);
    }
}

TEST_CASE("bad arguments are refused before the rotation is called") {
    const auto never = [](float*, Index, Index, const Index*) { FAIL("called"); };
    const auto refuses = [&](const char* needle, const rope::Config& config, const testing::Options& options) {
        try {
            testing::measure(never, Layout::half_split, config, options);
            FAIL("accepted: " << needle);
        } catch (const std::invalid_argument& e) {
            CHECK(std::string(e.what()).find(needle) != std::string::npos);
        }
    };
    const auto with = [](auto&& change) {
        testing::Options options;
        change(options);
        return options;
    };
    const rope::Config config = telling_config();
    rope::Config bad = config;
    bad.rotary_dim = 7;
    refuses("rotary_dim is 7", bad, {});
    bad = config;
    bad.head_dim = 8192;
    refuses("head_dim is 8192", bad, {});
    bad = config;
    bad.base = 0.0;
    refuses("base is 0", bad, {});
    refuses("options.seq is 0", config, with([](auto& o) { o.seq = 0; }));
    refuses("options.heads is -1", config, with([](auto& o) { o.heads = -1; }));
    refuses("options.heads is 5000", config, with([](auto& o) { o.heads = 5000; }));
    refuses("options.max_position is 0", config, with([](auto& o) { o.max_position = 0; }));
    refuses("options.max_position is 2147483648", config, with([](auto& o) { o.max_position = Index(1) << 31; }));
    refuses("options.positions[1] is -2", config, with([](auto& o) { o.positions = {3, -2}; }));
    refuses("options.positions[0] is 1000001", config, with([](auto& o) { o.positions = {1000001}; }));
    refuses("options.positions has 4097", config, with([](auto& o) { o.positions.resize(4097); }));
    refuses("options.shifts[0] is 0", config, with([](auto& o) { o.shifts = {0}; }));
    refuses("options.tolerance is 0", config, with([](auto& o) { o.tolerance = 0.0; }));
    refuses("options.tolerance is nan", config,
            with([](auto& o) { o.tolerance = std::numeric_limits<double>::quiet_NaN(); }));
    refuses("options.angle_epsilon is -1", config, with([](auto& o) { o.angle_epsilon = -1.0; }));
    refuses("options.angle_epsilon is inf", config,
            with([](auto& o) { o.angle_epsilon = std::numeric_limits<double>::infinity(); }));

    CHECK_THROWS_AS(testing::measure(never, Layout::half_split, rope::Frequencies()), std::invalid_argument);
    CHECK_FALSE(testing::check(testing::Model(rope::frequencies(config), {16, 1}), {}).ok());
    CHECK(testing::check(config, {}).ok());
    CHECK_FALSE(testing::Report().ok());
    CHECK(to_string(testing::Report()).find("nothing was measured") != std::string::npos);
}
