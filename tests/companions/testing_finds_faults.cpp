// SPDX-License-Identifier: MIT
// <rope/testing.hpp> fails what is wrong, if only at one element, and says where.
#include "support/testing.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace {

/// The loop's angles are right to double precision, which double elements show.
template <class T>
testing::Options loop_options() {
    testing::Options options;
    options.angle_epsilon = std::is_same_v<T, double> ? 0x1p-51 : 0.0;
    return options;
}

}  // namespace

TEMPLATE_TEST_CASE("the report points at a single fault, which none of the known mistakes explains", "", float, double,
                   rope::half, rope::bfloat16) {
    const rope::Config config = telling_config();
    const testing::Options options = loop_options<TestType>();
    const Index token = 6, head = 2, feature = 9;
    for (const Layout layout : kLayouts) {
        const Loop loop(layout, config);
        bool batch = true;  // the first call has the batch; the fault is in its memory
        const auto faulty = [&](TestType* x, Index seq, Index heads, const Index* positions) {
            loop(x, seq, heads, positions);
            TestType& at = x[(token * heads + head) * config.head_dim + feature];
            if (batch) at = support::from_double<TestType>(support::to_double(at) + 0.25);
            batch = false;
        };
        const testing::Report report = testing::measure<TestType>(faulty, layout, config, options);
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
    }
}

TEMPLATE_TEST_CASE("no rotation passes that is wrong by 20 bounds at one element", "", float, double, rope::half,
                   rope::bfloat16) {
    const rope::Config config = telling_config();
    const testing::Options options = loop_options<TestType>();
    const Loop loop(Layout::half_split, config);
    // What the bound is at each element follows from data that a first run records.
    std::vector<TestType> before;
    std::vector<Index> at;
    const auto record = [&](TestType* x, Index seq, Index heads, const Index* positions) {
        if (at.empty()) {
            before.assign(x, x + seq * heads * config.head_dim);
            at.assign(positions, positions + seq);
        }
        loop(x, seq, heads, positions);
    };
    REQUIRE(testing::measure<TestType>(record, Layout::half_split, config, options).ok());
    const double u = std::is_same_v<TestType, double> ? 0x1p-53 : 0x1p-24;
    const double narrow = std::is_same_v<TestType, rope::half>       ? 0x1p-11
                          : std::is_same_v<TestType, rope::bfloat16> ? 0x1p-8
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
            const auto faulty = [&](TestType* x, Index seq, Index heads, const Index* positions) {
                loop(x, seq, heads, positions);
                if (!batch) return;
                batch = false;
                TestType& y = x[base + i];
                const double right = support::to_double(y);
                const double bound = 1.25 * sum * (4 * u + options.angle_epsilon * std::fabs(t)) +
                                     narrow * std::fabs(right) + 0x1p-24 * (narrow > 0.0);
                y = support::from_double<TestType>(right + 20 * bound);
                moved = support::to_double(y) - right;
            };
            const testing::Report report = testing::measure<TestType>(faulty, Layout::half_split, config, options);
            INFO(to_string(report));
            CHECK(moved > 0.0);
            CHECK_FALSE(report.dense.ok());
            CHECK(report.dense.value > 10 * report.dense.bound);
            CHECK(report.dense.where.feature == static_cast<Index>(5 + i));
            CHECK(report.mistake == "none of the known mistakes");
        }
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
    transpose.angle = [](Index p, double w) { return -static_cast<double>(p) * w; };
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
    CHECK(std::fabs(shorter.norms.value / 0x1p-18 - 1.0) < 0.05);
    CHECK(shorter.mistake == "none of the known mistakes");
}

TEST_CASE("scores that change under a shift are seen, and which shift it was") {
    // Right near 0, another frequency from position 1000 on.
    const rope::Config config = telling_config();
    Loop loop(Layout::half_split, config);
    loop.angle = [](Index p, double w) { return static_cast<double>(p < 1000 ? p : 2 * p) * w; };
    testing::Options options;
    options.max_position = 2000;
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
