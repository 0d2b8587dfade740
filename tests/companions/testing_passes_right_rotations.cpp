// SPDX-License-Identifier: MIT
// <rope/testing.hpp> passes what is right, calls it with the data and positions that were asked for, and refuses what
// it cannot measure.
#include "support/refusal.hpp"
#include "support/testing.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// The slice of every kind: the whole head, leading, trailing, in the middle.
const rope::Config kConfigs[] = {
    {16}, {20, 8, 0, 10000.0, 4.0, 1.138629}, {21, 8, 13, 10000.0, 1.0, 0.7}, {24, 14, 3, 10000.0, 0.5, 2.5}};

testing::Options options_up_to(Index max_position) {
    testing::Options options;
    options.max_position = max_position;
    return options;
}

/// The library's own rotation as the callable that measure(...) wants. One row of the table per token, so that
/// positions may be as large as they like.
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

}  // namespace

TEMPLATE_TEST_CASE("the library's rotation passes, in every element type, layout and slice", "", float, double,
                   rope::half, rope::bfloat16) {
    for (const rope::Config& config : kConfigs)
        for (const Layout layout : kLayouts) {
            const testing::Report report = measure_library<TestType>(layout, config, {});
            INFO(to_string(report));
            CHECK(report.ok());
            CHECK(report.mistake.empty());
            CHECK(report.diagnosis.empty());
            CHECK(report.inverse.measured);
            CHECK(report.alone.largest <= 0.0);  // its promise: the same bits
        }
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
    const rope::Config config = {2};
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

TEST_CASE("bad arguments are refused before the rotation is called") {
    const auto never = [](float*, Index, Index, const Index*) { FAIL("called"); };
    const auto refuses = [&](const char* needle, const rope::Config& config, const testing::Options& options) {
        const support::Refusal r =
            support::refusal([&] { testing::measure(never, Layout::half_split, config, options); });
        CHECK(r.message.find(needle) != std::string::npos);
        CHECK(r.code == rope::StatusCode::invalid_argument);
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
    refuses("options.tolerance is nan", config, with([](auto& o) { o.tolerance = support::nan_value(); }));
    refuses("options.angle_epsilon is -1", config, with([](auto& o) { o.angle_epsilon = -1.0; }));
    refuses("options.angle_epsilon is inf", config, with([](auto& o) { o.angle_epsilon = support::infinity(); }));

    // What the rest of the library refuses is refused here in the same words, and asking first does not throw.
    const auto refuses_model = [&](const rope::Config& model) {
        const support::Refusal r = support::refusal([&] { (void)rope::frequencies(model); });
        CHECK(r.code == rope::StatusCode::invalid_argument);
        std::string asked;
        CHECK_NOTHROW(asked = testing::check(model, {}).message());
        CHECK(asked == r.message);
        CHECK(support::refusal([&] { testing::measure(never, Layout::half_split, model); }).message == r.message);
    };
    bad = {7};
    refuses_model(bad);
    refuses_model(rope::Config());
    bad = config;
    bad.attention_factor = 0.0;
    refuses_model(bad);
    bad = config;
    bad.interpolation_factor = support::infinity();
    refuses_model(bad);
    // A frequency beyond 2^32 radians per position; here, only its first digits are those of the exact one.
    bad = {4, 0, 0, 0x1p-80};
    const std::string too_large = testing::check(bad, {}).message();
    CHECK(too_large.find("The frequency of pair 1 is 1099511627") == 0);
    CHECK(support::refusal([&] {
              (void)rope::frequencies(bad);
          }).message.find("The frequency of pair 1 is 1099511627") == 0);
    for (const double base : {1e-100, 1e-300}) {
        bad = {128, 0, 0, base};
        CHECK(std::string(testing::check(bad, {}).message()).find("The frequency of pair ") == 0);
    }

    CHECK_THROWS_AS(testing::measure(never, Layout::half_split, rope::Frequencies()), std::invalid_argument);
    CHECK_FALSE(testing::check(testing::Model(rope::frequencies(config), {16, 1}), {}).ok());
    CHECK(testing::check(config, {}).ok());
    CHECK_FALSE(testing::Report().ok());
    CHECK(to_string(testing::Report()).find("nothing was measured") != std::string::npos);
}
