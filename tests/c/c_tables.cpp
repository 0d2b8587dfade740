// SPDX-License-Identifier: MIT
// Tables and rows that are made through rope.h have the bits of those that the C++ headers make, for every schedule, axis
// scheme and kind of rows.
#include <rope/rope.h>
#include <rope/rope.hpp>

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

namespace {

struct AxesCase {
    std::string name;
    std::int32_t scheme;
    std::vector<Index> sections;
    rope::AxisMap map;
    Index axes;
};
const std::vector<AxesCase> kAxes = {
    {"one axis", ROPE_ONE_AXIS, {}, {}, 1},
    {"sections", ROPE_SECTIONS, {8, 12, 12}, rope::mrope_sections({8, 12, 12}), 3},
    {"interleaved", ROPE_INTERLEAVED_AXES, {12, 10, 10}, rope::mrope_interleaved({12, 10, 10}), 3},
    {"interleaved, ggml's",
     ROPE_INTERLEAVED_AXES_4,
     {12, 10, 10},
     rope::mrope_interleaved({12, 10, 10}, rope::LeftOver::fourth_axis),
     4},
    {"alternating", ROPE_ALTERNATING_AXES, {11, 11, 10}, rope::mrope_alternating({11, 11, 10}), 3},
    {"apportioned", ROPE_APPORTIONED_AXES, {12, 10, 10}, rope::mrope_apportioned({12, 10, 10}), 3},
};

/// Rows at positions of a type on some axes, in both languages.
template <class Number>
void compare_rows(const AxesCase& of, const rope_axes* axes, const rope::AxisMap& map) {
    constexpr Index kTokens = 6, kStride = 9;
    std::vector<Number> positions(size(of.axes * kStride));
    for (Index i = 0; i < of.axes * kStride; ++i)
        positions[size(i)] = static_cast<Number>(static_cast<double>(i * i) * 0.5);
    const rope_config c = config_in_c(kCases[0]);
    const auto rows = made<rope_rows>([&](auto... a) { return rope_token_rows_new(&c, axes, nullptr, a...); });
    auto call = make<rope_call>();
    call.positions = ROPE_AXES;
    call.ids_type = c_test::type_of<Number>;
    call.ids_count = kTokens;
    call.axes = of.axes;
    call.axis_stride = kStride;
    pass([&](auto... a) { return rope_rows_build(rows.get(), &call, positions.data(), 3, 2, a...); });

    rope::Rows<float> expected(config_in_cpp(kCases[0]), map);
    expected.build(rope::AxisPositions(positions.data(), of.axes, kTokens, kStride), 3, 2);
    // Rows of two batch entries are for two, so a rotation shows them.
    std::vector<float> x = support::normal<float>(kTokens * 2 * kDim, 5), y = x;
    const rope_tensor t = c_test::shape<float>(2, 3, 2, kDim);
    auto rotate = make<rope_call>();
    rotate.layout = ROPE_HALF_SPLIT;
    pass([&](auto... a) { return rope_apply(rows.get(), &rotate, nullptr, x.data(), &t, a...); });
    rope::apply<rope::Layout::half_split>(rope::view(y.data(), 2, 3, 2, kDim), expected);
    CHECK(same_bits(x, y));
}

}  // namespace

TEST_CASE("rows of tokens on every scheme of axes") {
    for (const AxesCase& of : kAxes) {
        INFO(of.name);
        auto axes = make<rope_axes>();
        axes.scheme = of.scheme;
        axes.count = static_cast<Index>(of.sections.size());
        for (std::size_t i = 0; i < of.sections.size(); ++i) axes.sections[i] = of.sections[i];
        compare_rows<std::int32_t>(of, &axes, of.map);
        compare_rows<std::int64_t>(of, &axes, of.map);
        compare_rows<float>(of, &axes, of.map);
        compare_rows<double>(of, &axes, of.map);
    }
    compare_rows<double>(kAxes[0], nullptr, {});

    const std::vector<unsigned char> list = [] {
        std::vector<unsigned char> made_list(kDim / 2);
        for (std::size_t i = 0; i < made_list.size(); ++i) made_list[i] = static_cast<unsigned char>(i % 2);
        return made_list;
    }();
    auto axes = make<rope_axes>();
    axes.scheme = ROPE_LISTED_AXES;
    axes.count = 2;
    axes.axis_of = list.data();
    axes.axis_of_count = kDim / 2;
    rope::AxisMap map;
    map.axes = 2;
    map.axis_of.assign(list.begin(), list.end());
    compare_rows<double>({"a list", 0, {}, {}, 2}, &axes, map);
}

TEST_CASE("mixed axes, whose frequencies are numbers") {
    const rope::Frequencies f = rope::mixed_frequencies(kDim / 2, 10.0, 0.5);
    const std::vector<double> list(f.inv_freq.begin(), f.inv_freq.end());
    auto c = make<rope_config>();
    c.head_dim = 80;
    c.rotary_dim = kDim;
    c.rotary_offset = 8;
    c.schedule = ROPE_CUSTOM;
    c.numbers = list.data();
    c.numbers_count = static_cast<Index>(list.size());
    auto axes = make<rope_axes>();
    axes.scheme = ROPE_MIXED_AXES;
    axes.count = 2;
    c.layout = ROPE_INTERLEAVED;
    const auto rows = made<rope_rows>([&](auto... a) { return rope_token_rows_new(&c, &axes, nullptr, a...); });
    auto info = make<rope_rows_info>();
    pass([&](auto... a) { return rope_rows_describe(rows.get(), &info, a...); });
    CHECK(info.layout == ROPE_INTERLEAVED);
    CHECK(info.head_dim == 80);
    CHECK(info.rotary_offset == 8);
    rope_rows* none = nullptr;
    const auto refuses = [&](double rope_config::*member, double value, const char* sentence) {
        rope_config other = c;
        other.*member = value;
        const c_test::Answer answer =
            c_test::ask([&](auto... a) { return rope_token_rows_new(&other, &axes, nullptr, &none, a...); });
        CHECK(answer.code == ROPE_INVALID_ARGUMENT);
        CHECK(answer.sentence.find(sentence) == 0);
    };
    refuses(&rope_config::interpolation_factor, 8.0, "config.interpolation_factor is 8");
    const std::vector<double> positions = {0.5, 1, 2, 3, 4, 5.25};
    auto call = make<rope_call>();
    call.positions = ROPE_AXES;
    call.ids_type = ROPE_FLOAT64;
    call.ids_count = 3;
    call.axes = 2;
    pass([&](auto... a) { return rope_rows_build(rows.get(), &call, positions.data(), 3, 1, a...); });
    rope::Frequencies plain;
    plain.inv_freq = f.inv_freq;
    rope::Rows<float> expected(plain, rope::mixed_axes(2), {80, 8});
    expected.build(rope::AxisPositions(positions.data(), 2, 3), 3);
    std::vector<float> row(expected.cos_row(0), expected.cos_row(0) + kDim / 2);
    const std::vector<float> given = c_test::rows_of<float>(rows.get(), 0, 1, kDim);
    CHECK(same_bits(row, std::vector<float>(given.begin(), given.begin() + kDim / 2)));
}

TEST_CASE("cosines and sines of others") {
    const rope::CosSinCache<double> of(config_in_cpp(kCases[0]), 10);
    auto w = make<rope_wrapped>();
    w.type = ROPE_FLOAT64;
    w.rows = 10;
    w.pairs = kDim / 2;
    w.row_stride = kDim;
    w.head_dim = 80;
    w.rotary_offset = 16;
    w.attention_factor = 2.0;
    w.has_other_numbers = 1;
    const auto rows = made<rope_rows>([&](auto... a) { return rope_wrap(of.data(), of.data() + kDim / 2, &w, a...); });
    CHECK(same_bits(c_test::rows_of<double>(rows.get(), 0, 10, kDim), all_of(of)));
    auto info = make<rope_rows_info>();
    pass([&](auto... a) { return rope_rows_describe(rows.get(), &info, a...); });
    CHECK(info.head_dim == 80);
    CHECK(info.rotary_offset == 16);
    CHECK(info.attention_factor == 2.0);
}
