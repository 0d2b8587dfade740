// SPDX-License-Identifier: MIT
// Tables that are made through rope.h have the bits of those that the C++ headers make, for every schedule and kind of table.
#include <rope/rope.h>
#include <rope/rope.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "c/c_interface.hpp"

using c_test::made;
using c_test::make;
using c_test::pass;
using rope::Index;
using support::same_bits;
using support::size;

namespace {

constexpr Index kDim = 64;

/// A schedule, said in both languages.
struct Case {
    std::string name;
    std::function<void(rope_config&)> in_c;
    std::function<void(rope::Config&)> in_cpp;
    Index seq_len = 0;
};
std::vector<double> numbers(Index n, double first, double step) {
    std::vector<double> list(size(n));
    for (Index i = 0; i < n; ++i) list[size(i)] = first + step * static_cast<double>(i);
    return list;
}
const std::vector<double> kFactors = numbers(kDim / 2, 1.0, 0.25), kBothFactors = numbers(kDim, 1.0, 0.125);

const std::vector<Case> kCases = {
    {"default", [](rope_config&) {}, [](rope::Config&) {}},
    {"every member of the config",
     [](rope_config& c) {
         c.layout = ROPE_INTERLEAVED;
         c.head_dim = 80;
         c.rotary_dim = kDim;
         c.rotary_offset = 8;
         c.base = 5e5;
         c.interpolation_factor = 2.5;
         c.attention_factor = 1.25;
         c.is_reversed = 1;
     },
     [](rope::Config& c) {
         c.layout = rope::Layout::interleaved;
         c.head_dim = 80;
         c.rotary_dim = kDim;
         c.rotary_offset = 8;
         c.base = 5e5;
         c.interpolation_factor = 2.5;
         c.attention_factor = 1.25;
         c.is_reversed = true;
     }},
    {"ntk",
     [](rope_config& c) {
         c.schedule = ROPE_NTK;
         c.factor = 4.0;
     },
     [](rope::Config& c) { c.schedule = rope::schedule::Ntk{4.0}; }},
    {"mixed ntk",
     [](rope_config& c) {
         c.schedule = ROPE_NTK;
         c.factor = 4.0;
         c.mixed_b = 0.5;
     },
     [](rope::Config& c) {
         c.schedule = rope::schedule::Ntk{4.0, 0.5};
     }},
    {"dynamic ntk",
     [](rope_config& c) {
         c.schedule = ROPE_DYNAMIC_NTK;
         c.factor = 2.0;
         c.max_position_embeddings = 32;
     },
     [](rope::Config& c) {
         c.schedule = rope::schedule::DynamicNtk{2.0, 32};
     },
     128},
    {"yarn",
     [](rope_config& c) {
         c.schedule = ROPE_YARN;
         c.factor = 40.0;
         c.original_max_position_embeddings = 4096;
         c.beta_fast = 24.0;
         c.beta_slow = 2.0;
         c.extrapolation_factor = 0.75;
         c.attn_factor = 1.5;
         c.keeps_fractions = 1;
     },
     [](rope::Config& c) {
         rope::schedule::Yarn y;
         y.factor = 40.0;
         y.original_max_position_embeddings = 4096;
         y.beta_fast = 24.0;
         y.beta_slow = 2.0;
         y.extrapolation_factor = 0.75;
         y.attn_factor = 1.5;
         y.truncate = false;
         c.schedule = y;
     }},
    {"yarn by lengths, as DeepSeek has it",
     [](rope_config& c) {
         c.schedule = ROPE_YARN;
         c.original_max_position_embeddings = 4096;
         c.max_position_embeddings = 16384;
         c.mscale = 0.7;
         c.mscale_all_dim = 0.3;
         c.magnitude = ROPE_YARN_DEEPSEEK;
     },
     [](rope::Config& c) {
         rope::schedule::Yarn y;
         y.original_max_position_embeddings = 4096;
         y.max_position_embeddings = 16384;
         y.mscale = 0.7;
         y.mscale_all_dim = 0.3;
         y.magnitude = rope::schedule::YarnMagnitude::deepseek;
         c.schedule = y;
     }},
    {"yarn with a magnitude",
     [](rope_config& c) {
         c.schedule = ROPE_YARN;
         c.factor = 8.0;
         c.original_max_position_embeddings = 4096;
         c.schedule_attention_factor = 1.125;
     },
     [](rope::Config& c) {
         rope::schedule::Yarn y;
         y.factor = 8.0;
         y.original_max_position_embeddings = 4096;
         y.attention_factor = 1.125;
         c.schedule = y;
     }},
    {"llama 3",
     [](rope_config& c) {
         c.schedule = ROPE_LLAMA3;
         c.factor = 32.0;
         c.low_freq_factor = 1.5;
         c.high_freq_factor = 3.0;
         c.original_max_position_embeddings = 4096;
     },
     [](rope::Config& c) {
         c.schedule = rope::schedule::Llama3{32.0, 1.5, 3.0, 4096};
     }},
    {"llama 3, whose members have defaults", [](rope_config& c) { c.schedule = ROPE_LLAMA3; },
     [](rope::Config& c) { c.schedule = rope::schedule::Llama3(); }},
    {"longrope",
     [](rope_config& c) {
         c.schedule = ROPE_LONGROPE;
         c.numbers = kBothFactors.data();
         c.numbers_count = kDim;
         c.original_max_position_embeddings = 16;
         c.factor = 4.0;
     },
     [](rope::Config& c) {
         rope::schedule::LongRope l;
         l.short_factor.assign(kBothFactors.begin(), kBothFactors.begin() + kDim / 2);
         l.long_factor.assign(kBothFactors.begin() + kDim / 2, kBothFactors.end());
         l.original_max_position_embeddings = 16;
         l.factor = 4.0;
         c.schedule = l;
     },
     64},
    {"proportional",
     [](rope_config& c) {
         c.schedule = ROPE_PROPORTIONAL;
         c.partial_rotary_factor = 0.25;
         c.factor = 8.0;
     },
     [](rope::Config& c) {
         c.schedule = rope::schedule::Proportional{0.25, 8.0};
     }},
    {"axial",
     [](rope_config& c) {
         c.schedule = ROPE_AXIAL;
         c.axes = 4;
     },
     [](rope::Config& c) { c.schedule = rope::schedule::Axial{4}; }},
    {"xpos, queries",
     [](rope_config& c) {
         c.schedule = ROPE_XPOS_QUERIES;
         c.scale_base = 256.0;
         c.centre = 20.0;
     },
     [](rope::Config& c) {
         c.schedule = rope::schedule::Xpos{rope::schedule::Xpos::Side::query, 256.0, 20.0};
     }},
    {"xpos, keys", [](rope_config& c) { c.schedule = ROPE_XPOS_KEYS; },
     [](rope::Config& c) { c.schedule = rope::schedule::Xpos{rope::schedule::Xpos::Side::key}; }},
    {"frequency factors",
     [](rope_config& c) {
         c.schedule = ROPE_FREQ_FACTORS;
         c.numbers = kFactors.data();
         c.numbers_count = kDim / 2;
     },
     [](rope::Config& c) {
         rope::schedule::FreqFactors f;
         f.freq_factors.assign(kFactors.begin(), kFactors.end());
         c.schedule = f;
     }},
    {"numbers",
     [](rope_config& c) {
         c.schedule = ROPE_CUSTOM;
         c.numbers = kFactors.data();
         c.numbers_count = kDim / 2;
     },
     [](rope::Config& c) {
         rope::schedule::Custom f;
         f.inv_freq.assign(kFactors.begin(), kFactors.end());
         c.schedule = f;
     }},
};

rope_config config_in_c(const Case& of) {
    auto c = make<rope_config>();
    c.head_dim = kDim;
    of.in_c(c);
    return c;
}
rope::Config config_in_cpp(const Case& of) {
    rope::Config c;
    c.head_dim = kDim;
    of.in_cpp(c);
    return c;
}

template <class T>
std::vector<T> all_of(const rope::CosSinCache<T>& t) {
    return std::vector<T>(t.data(), t.data() + t.max_positions() * t.rotary_dim());
}

template <class T>
void compare_tables(const Case& of) {
    const rope::CosSinCache<T> expected(config_in_cpp(of), 48, -8, of.seq_len);
    const auto rows = c_test::table(config_in_c(of), 48, c_test::type_of<T>, -8, of.seq_len);
    CHECK(same_bits(c_test::rows_of<T>(rows.get(), -8, 48, kDim), all_of(expected)));

    auto info = make<rope_rows_info>();
    pass([&](auto... a) { return rope_rows_describe(rows.get(), &info, a...); });
    CHECK(info.type == c_test::type_of<T>);
    CHECK(info.layout == (expected.layout() ? ROPE_INTERLEAVED : 0));
    CHECK((info.magnitude_grows != 0) == expected.magnitude_grows());
    CHECK(info.pairs == expected.pairs());
    CHECK(info.head_dim == expected.head_dim());
    CHECK(info.rotary_offset == expected.rotary_offset());
    CHECK(info.rows == 48);
    CHECK(info.first_position == -8);
    CHECK(info.attention_factor == expected.attention_factor());
}

}  // namespace

TEST_CASE("tables and frequencies of every schedule") {
    for (std::int32_t schedule = ROPE_DEFAULT; schedule <= ROPE_CUSTOM; ++schedule) {
        INFO("schedule " << schedule);
        CHECK(std::any_of(kCases.begin(), kCases.end(),
                          [&](const Case& of) { return config_in_c(of).schedule == schedule; }));
    }
    for (const Case& of : kCases) {
        INFO(of.name);
        compare_tables<float>(of);
        compare_tables<double>(of);

        const rope::Frequencies f = rope::frequencies(config_in_cpp(of), of.seq_len);
        std::vector<double> high(kDim / 2), low(kDim / 2);
        double m = 0.0;
        const rope_config c = config_in_c(of);
        pass([&](auto... a) { return rope_frequencies(&c, of.seq_len, high.data(), low.data(), kDim / 2, &m, a...); });
        CHECK(high == std::vector<double>(f.inv_freq.begin(), f.inv_freq.end()));
        CHECK(low == std::vector<double>(f.inv_freq_low.begin(), f.inv_freq_low.end()));
        CHECK(m == f.attention_factor);
    }
}

TEST_CASE("compact tables, and those of the float32 chain") {
    const rope_config c = config_in_c(kCases[1]);
    const rope::Config config = config_in_cpp(kCases[1]);
    auto o = make<rope_table_options>();
    o.max_positions = 100000;
    o.is_compact = 1;
    const auto compact = made<rope_rows>([&](auto... a) { return rope_table_new(&c, &o, a...); });
    const rope::CompactCosSinCache<float> expected(config, 100000);
    std::vector<float> rows(20 * kDim);
    rope::write_rows(expected, rope::start_at(99000), 20, 1, rows.data());
    CHECK(same_bits(c_test::rows_of<float>(compact.get(), 99000, 20, kDim), rows));

    o.is_compact = 0;
    o.is_float32_chain = 1;
    o.max_positions = 50;
    const auto chain = made<rope_rows>([&](auto... a) { return rope_table_new(&c, &o, a...); });
    CHECK(same_bits(c_test::rows_of<float>(chain.get(), 0, 50, kDim),
                    all_of(rope::CosSinCache<float>::float32_chain(config, 50))));
}
