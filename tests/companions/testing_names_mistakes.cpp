// SPDX-License-Identifier: MIT
// <rope/testing.hpp> knows the classic mistakes by name, and names none where nothing is wrong.
#include "support/exact/schedules.hpp"
#include "support/refusal.hpp"
#include "support/testing.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace {

/// What to spoil in a right loop so that the report says the name.
using Spoiled = std::function<void(Loop&, const rope::Config&)>;

/// A right Loop's frequencies with a schedule, from the formula.
std::function<double(Index)> scheduled(const rope::Config& config, Index seq_len) {
    std::vector<double> w;
    for (const support::Real& x : support::real_frequencies(config, seq_len).inv_freq) w.push_back(x.to_double());
    return [w](Index i) { return w[support::size(i)]; };
}

/// Where every mistake with a schedule makes a difference, too.
rope::Config telling_schedule() {
    rope::Config config = telling_config();
    config.schedule = rope::schedule::Yarn{8.0, 4096};
    return config;
}

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
        {"schedule ignored", [](Loop&, const auto&) {}},  // a Loop knows no schedule
        {"magnitude of the schedule ignored", [](Loop& l, const rope::Config& c) { l.frequency = scheduled(c, 0); }},
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
    testing::Options options;
    options.heads = 16;  // bfloat16 shows float32 angles only just: the more heads, the clearer
    for (const auto& [name, spoil] : mistakes())
        for (const Layout layout : kLayouts) {
            const bool of_schedule = name.find("schedule") != std::string::npos;
            const rope::Config config = of_schedule ? telling_schedule() : telling_config();
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

TEMPLATE_TEST_CASE("heads that became zero are named, and the mistake of the others beside them", "", float, double,
                   rope::half, rope::bfloat16) {
    const rope::Config config = telling_config();
    testing::Options options;
    options.heads = 16;
    options.angle_epsilon = std::is_same_v<TestType, double> ? 0x1p-51 : 0.0;  // a Loop's angles are in double
    const std::string zero = "a part of the heads became zero";
    for (const char* name :
         {"", "sign of sin", "no rotation", "other layout", "position one too large", "slice ignored"})
        for (const std::vector<Index>& kept : {std::vector<Index>{0}, {0, 1, 2, 3, 4, 5, 6, 7}, {3, 11, 15}}) {
            Loop loop(Layout::half_split, config);
            if (*name != '\0') mistakes().at(name)(loop, config);
            const auto rotate = [&](TestType* x, Index seq, Index heads, const Index* positions) {
                loop(x, seq, heads, positions);
                for (Index head = 0; head < seq * heads; ++head)
                    if (std::find(kept.begin(), kept.end(), head % heads) == kept.end())
                        std::fill_n(x + head * config.head_dim, config.head_dim, support::from_double<TestType>(0.0));
            };
            const testing::Report report = testing::measure<TestType>(rotate, Layout::half_split, config, options);
            INFO(name << ", " << kept.size() << " heads kept\n" << to_string(report));
            CHECK_FALSE(report.ok());
            CHECK(report.mistake == (*name == '\0' ? zero : zero + "; " + name));
            CHECK(report.diagnosis.find(zero) != std::string::npos);
        }
}

TEST_CASE("zeros in all heads, in some tokens, or beside what is unknown have no name") {
    const rope::Config config = telling_config();
    const std::string none = "none of the known mistakes";
    const auto named = [&](const auto& spoil) {
        const auto rotate = [&](float* x, Index seq, Index heads, const Index* positions) {
            Loop(Layout::half_split, config)(x, seq, heads, positions);
            spoil(x, seq, heads);
        };
        return testing::measure(rotate, Layout::half_split, config).mistake;
    };
    const Index dim = config.head_dim;
    CHECK(named([&](float* x, Index seq, Index heads) { std::fill_n(x, seq * heads * dim, 0.0f); }) == none);
    CHECK(named([&](float* x, Index seq, Index heads) {
              if (seq > 1) std::fill_n(x + heads * dim, dim, 0.0f);  // one head of one token
          }) == none);
    CHECK(named([&](float* x, Index seq, Index heads) {
              for (Index t = 0; t < seq; ++t) {
                  std::fill_n(x + t * heads * dim, dim, 0.0f);
                  if (heads > 1) x[(t * heads + 1) * dim + t % dim] += 1.0f;
              }
          }) == none);
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

TEMPLATE_TEST_CASE("a token that was skipped is no mistake of the angles", "", float, double, rope::half,
                   rope::bfloat16) {
    // With m = 1 a skipped token has the right norm, and some angle explains each of its pairs.
    struct Case {
        Index head_dim;
        std::vector<Index> positions;
        Index first_skipped;
        const char* mistake;
    };
    const char* const none = "none of the known mistakes";
    const char* const all = "no rotation";  // where nothing but the skipped token turns
    for (const Case& c :
         {Case{16, {}, 0, none}, Case{128, {}, 13, none}, Case{2, {}, 0, none}, Case{16, {0, 1, 2}, 1, none},
          Case{16, {5, 6, 7, 8, 9}, 0, none}, Case{16, {0, 3, 12, 999999}, 1, none}, Case{16, {4095, 4095}, 0, none},
          Case{16, {0, 1}, 1, all}, Case{16, {4095}, 0, all}}) {
        rope::Config config;
        config.head_dim = c.head_dim;
        testing::Options options;
        options.positions = c.positions;
        options.angle_epsilon = std::is_same_v<TestType, double> ? 0x1p-51 : 0.0;
        const Loop loop(Layout::half_split, config);
        const Index tokens = c.positions.empty() ? options.seq : static_cast<Index>(c.positions.size());
        for (Index skipped = c.first_skipped; skipped < tokens; ++skipped) {
            bool batch = true;
            Index position = 0;
            const auto rotate = [&](TestType* x, Index seq, Index heads, const Index* positions) {
                const Index token = heads * config.head_dim;
                const Index skip = batch ? skipped : seq - 1;
                if (batch) position = positions[skip];
                batch = false;
                loop(x, skip, heads, positions);
                loop(x + (skip + 1) * token, seq - skip - 1, heads, positions + skip + 1);
            };
            const testing::Report report = testing::measure<TestType>(rotate, Layout::half_split, config, options);
            INFO("head_dim " << c.head_dim << ", token " << skipped << "\n" << to_string(report));
            if (position == 0) continue;  // where nothing turns
            CHECK_FALSE(report.ok());
            CHECK(report.mistake == c.mistake);
        }
    }
}

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
    // What is wrong with a schedule is said in the words of the rest of the library.
    config.schedule = rope::schedule::Ntk{0.0};
    CHECK(testing::check(config, {}).message() == std::string("schedule.factor is 0; it must be from 2^-32 to 2^32."));
    CHECK(testing::check(testing::Model(rope::Config{16}, -1), {}).message() ==
          std::string("seq_len is -1; it must be from 0 to 2^40."));
}
