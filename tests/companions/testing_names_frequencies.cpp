// SPDX-License-Identifier: MIT
// <rope/testing.hpp> distinguishes wrong frequencies, schedules and magnitudes from other mistakes.
#include "companions/mistakes.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

TEMPLATE_TEST_CASE("tokens whose positions were mixed up are not called other frequencies", "", float, double,
                   rope::half, rope::bfloat16) {
    for (const rope::Config& config : {telling_config(), rope::Config{128}})
        for (const Index up_to : {Index(100), Index(1000000)}) {
            testing::Options options;
            options.max_position = up_to;
            Loop loop(Layout::interleaved, config);
            Index last = 0;  // it and the token before it are rotated at each other's position
            loop.position = [&](Index t, const Index* p) {
                return p[last > 0 && t >= last - 1 ? 2 * last - 1 - t : t];
            };
            const auto rotate = [&](TestType* x, Index seq, Index heads, const Index* positions) {
                last = seq - 1;
                loop(x, seq, heads, positions);
            };
            const testing::Report report = testing::measure<TestType>(rotate, Layout::interleaved, config, options);
            INFO(to_string(report));
            CHECK_FALSE(report.ok());
            CHECK(report.mistake == "none of the known mistakes");
        }
}

TEMPLATE_TEST_CASE("other frequencies are named wherever the positions tell them", "", float, double, rope::half,
                   rope::bfloat16) {
    const rope::Config config = telling_config();
    const std::vector<Index> lists[] = {
        {1, 2, 3},          {2, 1, 0, 2},          {0, 3, 12, 40, 160, 640, 2000}, {700, 30, 3, 0, 150},
        {2, 2, 4, 4, 8, 8}, {1, 1000001, 1, 2, 17}};
    for (const std::vector<Index>& positions : lists)
        for (const bool float32_angles : {false, true}) {
            testing::Options options;
            options.positions = positions;
            options.max_position = 2000000;
            Loop loop(Layout::interleaved, config);
            loop.frequency = Loop::powers(3.0 * config.base, loop.rotary_dim, 1.0);
            if (float32_angles) mistakes().at("angle in float32")(loop, config);
            const testing::Report report = testing::measure<TestType>(loop, Layout::interleaved, config, options);
            INFO(to_string(report));
            CHECK(report.mistake == "other frequencies");
            CHECK_FALSE(report.ok());
        }
}

TEST_CASE("other frequencies are named far from position 0, where elements are exact enough") {
    const rope::Config config = telling_config();
    testing::Options options;
    for (Index p = 4000; p < 4020; ++p) options.positions.push_back(p);
    Loop loop(Layout::interleaved, config);
    mistakes().at("other frequencies")(loop, config);
    CHECK(testing::measure<float>(loop, Layout::interleaved, config, options).mistake == "other frequencies");
    CHECK(testing::measure<double>(loop, Layout::interleaved, config, options).mistake == "other frequencies");
    // One position explains any angle, and no name is given.
    options.positions = {4000, 4000};
    CHECK(testing::measure(loop, Layout::interleaved, config, options).mistake == "none of the known mistakes");
}

TEMPLATE_TEST_CASE("a right rotation with any schedule passes, and one without it is named", "", float, double,
                   rope::half, rope::bfloat16) {
    namespace schedule = rope::schedule;
    constexpr Index kLong = 100000;
    const schedule::LongRope longrope = {std::vector<double>(8, 1.5), std::vector<double>(8, 7.0), 4096, 131072};
    const rope::Schedule schedules[] = {schedule::Ntk{8.0},
                                        schedule::DynamicNtk{4.0, 2048},
                                        schedule::Yarn{8.0, 4096},
                                        schedule::Llama3{8.0, 1.0, 4.0, 512},
                                        longrope,
                                        schedule::Proportional{0.5, 1.0},
                                        schedule::Axial{2},
                                        schedule::FreqFactors{{1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0}},
                                        schedule::Custom{{1.0, 0.8, 0.7, 0.5, 0.1, 0.0, -0.5, 0.01}, {}}};
    for (const rope::Schedule& s : schedules) {
        rope::Config config = telling_config();
        config.schedule = s;
        testing::Options options;
        options.heads = 8;
        options.angle_epsilon = std::is_same_v<TestType, double> ? 0x1p-51 : 0.0;  // a Loop's angles are in double
        Loop loop(Layout::half_split, config);
        const Loop ignored = loop;
        loop.frequency = scheduled(config, kLong);
        loop.m = support::real_frequencies(config, kLong).magnitude.to_double();
        const testing::Model model(config, kLong);
        const testing::Report right = testing::measure<TestType>(loop, Layout::half_split, model, options);
        INFO(rope::schedule_name(s) << "\n" << to_string(right));
        CHECK(right.ok());
        CHECK(right.mistake.empty());
        const testing::Report wrong = testing::measure<TestType>(ignored, Layout::half_split, model, options);
        INFO(to_string(wrong));
        CHECK_FALSE(wrong.ok());
        CHECK(wrong.mistake == "schedule ignored");
    }
}

TEST_CASE("a wrong exponent is named beside a schedule, too") {
    rope::Config config = telling_config();
    config.schedule = rope::schedule::Ntk{8.0};
    const auto name_with_base = [&](double base) {
        rope::Config wrong = config;
        wrong.base = base;
        Loop loop(Layout::half_split, config);
        loop.frequency = scheduled(wrong, 0);
        return testing::measure(loop, Layout::half_split, config).mistake;
    };
    CHECK(name_with_base(config.base).empty());
    CHECK(name_with_base(config.base * config.base) == "exponent 2i instead of i");
    CHECK(name_with_base(std::pow(config.base, 16.0 / 24.0)) == "head_dim in the exponent");
}

TEST_CASE("frequencies of another sequence length are not called something else") {
    // Where the interpolation factor is 1 and the base 10000, ignoring them changes nothing.
    rope::Config config = {16};
    config.schedule = rope::schedule::LongRope{std::vector<double>(8, 1.5), std::vector<double>(8, 7.0), 4096, 131072};
    Loop loop(Layout::half_split, config);
    loop.frequency = scheduled(config, 0);
    loop.m = support::real_frequencies(config, 0).magnitude.to_double();
    CHECK(testing::measure(loop, Layout::half_split, config).ok());
    const testing::Report report = testing::measure(loop, Layout::half_split, testing::Model(config, 100000));
    INFO(to_string(report));
    CHECK(report.mistake == "other frequencies");
}

TEST_CASE("the magnitude of a schedule is named where it is the only one") {
    rope::Config config = {16};
    config.schedule = rope::schedule::Yarn{8.0, 4096};
    Loop loop(Layout::half_split, config);
    loop.frequency = scheduled(config, 0);
    CHECK(testing::measure(loop, Layout::half_split, config).mistake == "magnitude of the schedule ignored");
    loop.m = support::real_frequencies(config).magnitude.to_double();
    CHECK(testing::measure(loop, Layout::half_split, config).ok());
    loop.m *= loop.m;
    CHECK(testing::measure(loop, Layout::half_split, config).mistake == "attention factor twice");
}

TEST_CASE("a magnitude that grows with the position is not measured") {
    rope::Config config = {16};
    config.schedule = rope::schedule::Xpos();
    const auto never = [](float*, Index, Index, const Index*) { FAIL("called"); };
    const std::string sentence =
        "log_growth has 8 entries; a measured rotation must have one magnitude (none that grows with the position).";
    CHECK(support::refusal([&] { testing::measure(never, Layout::half_split, config); }).message == sentence);
    CHECK(testing::check(config, {}).message() == sentence);
    // An invalid schedule is refused with the sentence of rope::check.
    config.schedule = rope::schedule::Ntk{0.0};
    CHECK(testing::check(config, {}).message() == std::string("schedule.factor is 0; it must be from 2^-32 to 2^32."));
    CHECK(testing::check(testing::Model(rope::Config{16}, -1), {}).message() ==
          std::string("seq_len is -1; it must be from 0 to 2^40."));
}
