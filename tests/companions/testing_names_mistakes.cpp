// SPDX-License-Identifier: MIT
// <rope/testing.hpp> knows the classic mistakes by name, and names none where nothing is wrong.
#include "companions/mistakes.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

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
    // Zeros in the whole head, or in the slice that rotates: the others are often put behind it unchanged.
    const Index slices[][2] = {{0, config.head_dim}, {config.rotary_offset, config.rotary_dim}};
    for (const char* name :
         {"", "sign of sin", "no rotation", "other layout", "position one too large", "slice ignored"})
        for (const auto& [first, count] : slices)
            for (const std::vector<Index>& kept : {std::vector<Index>{0}, {0, 1, 2, 3, 4, 5, 6, 7}, {3, 11, 15}}) {
                if (std::string(name) == "slice ignored" && first != 0) continue;  // whose slice is the head
                Loop loop(Layout::half_split, config);
                if (*name != '\0') mistakes().at(name)(loop, config);
                const auto rotate = [&, first = first, count = count](TestType* x, Index seq, Index heads,
                                                                      const Index* positions) {
                    loop(x, seq, heads, positions);
                    for (Index head = 0; head < seq * heads; ++head)
                        if (std::find(kept.begin(), kept.end(), head % heads) == kept.end())
                            std::fill_n(x + head * config.head_dim + first, count, support::from_double<TestType>(0.0));
                };
                const testing::Report report = testing::measure<TestType>(rotate, Layout::half_split, config, options);
                INFO(name << ", " << kept.size() << " heads kept, " << count << " zeros\n" << to_string(report));
                CHECK_FALSE(report.ok());
                CHECK(report.mistake == (*name == '\0' ? zero : zero + "; " + name));
                CHECK(report.diagnosis.find(zero) != std::string::npos);
            }
}

TEST_CASE("zeros in all heads, some tokens or some features, or beside an unknown mistake, are not named") {
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
    // One head is zero: at the second token alone, at all tokens but the last, at all but the first.
    CHECK(named([&](float* x, Index seq, Index heads) {
              if (seq > 1) std::fill_n(x + heads * dim, dim, 0.0f);
          }) == none);
    CHECK(named([&](float* x, Index seq, Index heads) {
              for (Index t = 0; t + 1 < seq; ++t) std::fill_n(x + t * heads * dim, dim, 0.0f);
          }) == none);
    CHECK(named([&](float* x, Index seq, Index heads) {
              for (Index t = 1; t < seq; ++t) std::fill_n(x + t * heads * dim, dim, 0.0f);
          }) == none);
    // One head of all tokens: all features of the slice but one are zero; then the whole slice, and a feature outside it
    // is wrong.
    CHECK(named([&](float* x, Index seq, Index heads) {
              for (Index t = 0; t < seq; ++t)
                  std::fill_n(x + t * heads * dim + config.rotary_offset, config.rotary_dim - 1, 0.0f);
          }) == none);
    CHECK(named([&](float* x, Index seq, Index heads) {
              for (Index t = 0; t < seq; ++t) {
                  std::fill_n(x + t * heads * dim + config.rotary_offset, config.rotary_dim, 0.0f);
                  x[t * heads * dim + (config.rotary_offset > 0 ? 0 : dim - 1)] += 1.0f;
              }
          }) == none);
    CHECK(named([&](float* x, Index seq, Index heads) {
              for (Index t = 0; t < seq; ++t) {
                  std::fill_n(x + t * heads * dim, dim, 0.0f);
                  if (heads > 1) x[(t * heads + 1) * dim + t % dim] += 1.0f;
              }
          }) == none);
}

TEST_CASE("zeros that are right to the last bit are no mistake") {
    rope::Config config = telling_config();
    config.attention_factor = 1e-9;  // in half, right results are 0
    const Loop loop(Layout::half_split, config);
    const auto rotate = [&](rope::half* x, Index seq, Index heads, const Index* positions) {
        std::vector<rope::half> before(x, x + seq * heads * config.head_dim);
        loop(x, seq, heads, positions);
        for (Index t = 0; t < seq; ++t)  // one head does not rotate
            std::copy_n(before.data() + t * heads * config.head_dim, config.head_dim, x + t * heads * config.head_dim);
    };
    const testing::Report report = testing::measure<rope::half>(rotate, Layout::half_split, config);
    INFO(to_string(report));
    CHECK_FALSE(report.ok());
    CHECK(report.mistake.find("zero") == std::string::npos);
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
