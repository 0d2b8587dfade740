// SPDX-License-Identifier: MIT
// Rows of tokens that are built through rope.h have the bits of those that the C++ headers build, on every scheme of axes and
// at positions of every type; rows that wrap another program's numbers have these.
#include <rope/rope.h>
#include <rope/rope.hpp>

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

rope_config config_in_c() {
    auto c = make<rope_config>();
    c.head_dim = kDim;
    return c;
}
rope::Config config_in_cpp() {
    rope::Config c;
    c.head_dim = kDim;
    return c;
}

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
    const rope_config c = config_in_c();
    const auto rows = made<rope_rows>([&](auto... a) { return rope_token_rows_new(&c, axes, nullptr, a...); });
    auto call = make<rope_call>();
    call.positions = ROPE_AXES;
    call.ids_type = c_test::type_of<Number>;
    call.ids_count = kTokens;
    call.axes = of.axes;
    call.axis_stride = kStride;
    pass([&](auto... a) { return rope_rows_build(rows.get(), &call, positions.data(), 3, 2, a...); });

    rope::Rows<float> expected(config_in_cpp(), map);
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
    const rope::CosSinCache<double> of(config_in_cpp(), 10);
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
    CHECK(same_bits(c_test::rows_of<double>(rows.get(), 0, 10, kDim),
                    std::vector<double>(of.data(), of.data() + 10 * kDim)));
    auto info = make<rope_rows_info>();
    pass([&](auto... a) { return rope_rows_describe(rows.get(), &info, a...); });
    CHECK(info.head_dim == 80);
    CHECK(info.rotary_offset == 16);
    CHECK(info.attention_factor == 2.0);
}
