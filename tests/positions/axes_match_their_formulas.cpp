// SPDX-License-Identifier: MIT
// Each way in which models let pairs follow several axes, with the sections they publish, against its formula in 256
// bits, pair by pair: the entries of the rows, and the data that they turn. The same number on all axes gives the bits
// that one axis gives.
#include <rope/core.hpp>
#include <rope/rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <rapidcheck.h>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"

using rope::AxisMap;
using rope::AxisPositions;
using rope::Config;
using rope::Frequencies;
using rope::Index;
using rope::Layout;
using rope::Rows;
using support::Real;
using support::same_bits;
using support::size;
namespace schedule = rope::schedule;

namespace {

/// base^(-2j/d).
Real power(double base, Index j, Index d) { return pow(Real(base), Real::integer(-2 * j) / Real::integer(d)); }

/// Real numbers as the library takes them.
Frequencies frequencies_of(const std::vector<Real>& numbers) {
    Frequencies f;
    for (const Real& w : numbers) {
        f.inv_freq.push_back(w.to_double());
        f.inv_freq_low.push_back((w - Real(f.inv_freq.back())).to_double());
    }
    return f;
}

/// Numbers of shape [axes][tokens].
using Grid = std::vector<std::vector<double>>;

template <class Number>
std::vector<Number> flat(const Grid& grid) {
    std::vector<Number> list;
    for (const std::vector<double>& axis : grid)
        for (const double x : axis) list.push_back(static_cast<Number>(x));
    return list;
}

/// Positions as of a prompt with text, an image and text, and others, no two axes alike.
Grid prompt(Index axes) {
    Grid grid(size(axes));
    for (Index a = 0; a < axes; ++a) {
        std::vector<double>& p = grid[size(a)];
        for (int s = 0; s < 5; ++s) p.push_back(s);
        for (int s = 0; s < 12; ++s) p.push_back(5 + (a == 0 ? 0 : a == 1 ? s / 4 : a == 2 ? s % 4 : 2 * s));
        for (int s = 0; s < 5; ++s) p.push_back(100000 * static_cast<double>(a + 1) + 977.0 * s);
        for (int s = 0; s < 5; ++s) p.push_back(-1 - 128.0 * s * static_cast<double>(a + 1));
    }
    return grid;
}
/// Rows, or columns, of a grid of patches, on which f stands.
template <class F>
std::vector<double> patches(Index height, Index width, bool rows, const F& f) {
    std::vector<double> list;
    for (Index y = 0; y < height; ++y)
        for (Index x = 0; x < width; ++x) list.push_back(f(static_cast<double>(rows ? y : x)));
    return list;
}
double as_it_is(double x) { return x; }

template <class T>
std::vector<T> entries_of(const Rows<T>& rows) {
    std::vector<T> list;
    for (Index r = 0; r < rows.rows(); ++r)
        list.insert(list.end(), rows.cos_row(r), rows.cos_row(r) + rows.rotary_dim());
    return list;
}

/// The error of an entry over what CosSinCache promises: ulp of max(|exact|, 2^-10).
template <class T>
double over_bound(T entry, const Real& exact) {
    mpfr_exp_t exponent = -9;
    if (mpfr_zero_p(exact.get()) == 0) exponent = std::max(exponent, mpfr_get_exp(exact.get()));
    const Real ulps = scaled(abs(exact - Real(static_cast<double>(entry))), std::numeric_limits<T>::digits - exponent);
    return ulps.to_double() / rope::CosSinCache<T>::kMaxUlpError;
}

/// Rows at these positions, and a head that they turn, against cos and sin of angle(pair, token).
template <class T, class Angle>
void check_scheme(Rows<T>& rows, Layout layout, const Grid& grid, const Angle& angle) {
    const Index axes = static_cast<Index>(grid.size()), tokens = static_cast<Index>(grid[0].size());
    const Index pairs = rows.pairs(), head_dim = rows.head_dim(), begin = rows.rotary_offset();
    CHECK(rows.map().axes == axes);
    const std::vector<double> numbers = flat<double>(grid);
    rows.build(AxisPositions(numbers.data(), axes, tokens), tokens);
    const std::vector<T> x = support::normal<T>(tokens * head_dim, 5);
    std::vector<T> y = x;
    rope::apply(layout, rope::view(y.data(), tokens, 1, head_dim), rows);
    double worst = 0.0, worst_turned = 0.0;
    const double u = std::is_same_v<T, float> ? 0x1p-24 : 0x1p-53;
    for (Index t = 0; t < tokens; ++t)
        for (Index i = 0; i < pairs; ++i) {
            const support::RealCosSin exact = support::cos_sin(angle(i, t));
            worst = std::max(worst, over_bound(rows.cos_row(t)[i], exact.cos));
            worst = std::max(worst, over_bound(rows.sin_row(t)[i], exact.sin));
            const bool interleaved = layout == Layout::interleaved;
            const std::size_t a = size(t * head_dim + begin + (interleaved ? 2 * i : i));
            const std::size_t b = size(t * head_dim + begin + (interleaved ? 2 * i + 1 : i + pairs));
            const Real xa(static_cast<double>(x[a])), xb(static_cast<double>(x[b]));
            const double bound =
                4.0 * u * (std::fabs(static_cast<double>(x[a])) + std::fabs(static_cast<double>(x[b])));
            const Real error_a = xa * exact.cos - xb * exact.sin - Real(static_cast<double>(y[a]));
            const Real error_b = xa * exact.sin + xb * exact.cos - Real(static_cast<double>(y[b]));
            worst_turned = std::max(worst_turned, support::max(abs(error_a), abs(error_b)).to_double() / bound);
        }
    CHECK(worst <= 1.0);
    CHECK(worst_turned <= 1.0);
    for (std::size_t j = 0; j < x.size(); ++j) {
        const Index feature = static_cast<Index>(j) % head_dim;
        if (feature < begin || feature >= begin + 2 * pairs) REQUIRE(y[j] == x[j]);
    }
    // Whole numbers as integers, and axes that lie apart.
    const std::vector<T> before = entries_of(rows);
    if (std::all_of(numbers.begin(), numbers.end(), [](double p) { return p == std::floor(p); })) {
        std::vector<int> whole(size(axes * (tokens + 3)));
        for (Index a = 0; a < axes; ++a)
            std::copy(grid[size(a)].begin(), grid[size(a)].end(), whole.begin() + a * (tokens + 3));
        rows.build(AxisPositions(whole.data(), axes, tokens, tokens + 3), tokens);
        CHECK(same_bits(entries_of(rows), before));
    }
}

/// The same number on all axes is the number on one.
template <class T>
void check_equal_axes(Rows<T>& rows, const Frequencies& f) {
    const std::vector<double> one = {0.0, 1.0, 5.0, 5000.0, 131071.0, -3.0, 0.25, -17.75, 2097151.0};
    const Index axes = rows.map().axes, tokens = static_cast<Index>(one.size());
    const std::vector<double> all = flat<double>(Grid(size(axes), one));
    Rows<T> plain(f);
    plain.build(AxisPositions(one.data(), 1, tokens), tokens);
    rows.build(AxisPositions(all.data(), axes, tokens), tokens);
    CHECK(same_bits(entries_of(rows), entries_of(plain)));
    rows.build({0, 1, 5, 5000, 131071, -3}, 6);
    const std::vector<T> of_ids = entries_of(rows), of_plain = entries_of(plain);
    CHECK(std::memcmp(of_ids.data(), of_plain.data(), of_ids.size() * sizeof(T)) == 0);
}

/// Of a Config, whose pair i turns by the position on axis_of(i) times number(i).
template <class T, class AxisOf, class NumberOf>
void check_config(const Config& config, const AxisMap& map, Layout layout, const Grid& grid, const AxisOf& axis_of,
                  const NumberOf& number) {
    Rows<T> rows(config, map);
    check_scheme(rows, layout, grid,
                 [&](Index i, Index t) { return Real(grid[size(axis_of(i))][size(t)]) * number(i); });
    check_equal_axes(rows, rope::frequencies(config));
}

Config config_of(Index head_dim, double base, Index rotary_dim = 0, Index rotary_offset = 0) {
    Config config = {head_dim, rotary_dim, rotary_offset};
    config.base = base;
    return config;
}

}  // namespace

TEMPLATE_TEST_CASE("language models with sections", "", float, double) {
    const Layout half = Layout::half_split;
    // Qwen2-VL.
    check_config<TestType>(
        config_of(128, 1e6), rope::mrope_sections({16, 24, 24}), half, prompt(3),
        [](Index i) { return i < 16   ? 0
                             : i < 40 ? 1
                                      : 2; }, [](Index i) { return power(1e6, i, 128); });
    // HunYuan: four axes, and NTK with alpha.
    Config hunyuan = config_of(128, 1e4);
    hunyuan.schedule = schedule::Ntk{1000.0};
    const Real base = Real(1e4) * pow(Real(1000.0), Real(128.0) / Real(126.0));
    check_config<TestType>(
        hunyuan, rope::mrope_sections({16, 16, 16, 16}), half, prompt(4), [](Index i) { return i / 16; },
        [&](Index i) { return pow(base, Real::integer(-2 * i) / Real(128.0)); });
    // Qwen3-VL, where pairs 61 and 62 are left over.
    const auto interleaved = [](Index i) { return i % 3 == 1 && i < 60 ? 1 : i % 3 == 2 && i < 60 ? 2 : 0; };
    const auto qwen3 = [](Index i) { return power(5e6, i, 128); };
    check_config<TestType>(config_of(128, 5e6), rope::mrope_interleaved({24, 20, 20}), half, prompt(3), interleaved,
                           qwen3);
    check_config<TestType>(
        config_of(128, 5e6), rope::mrope_interleaved({24, 20, 20}, rope::LeftOver::fourth_axis), half, prompt(4),
        [&](Index i) { return i == 61 || i == 62 ? 3 : interleaved(i); }, qwen3);
    // Qwen3.5: a quarter of the head, nothing left over.
    check_config<TestType>(
        config_of(256, 1e7, 64), rope::mrope_interleaved({11, 11, 10}), half, prompt(3), [](Index i) { return i % 3; },
        [](Index i) { return power(1e7, i, 64); });
    // Ernie 4.5 VL.
    check_config<TestType>(
        config_of(128, 5e5), rope::mrope_alternating({22, 22, 20}), Layout::interleaved, prompt(3),
        [](Index i) { return i >= 44      ? 0
                             : i % 2 == 0 ? 1
                                          : 2; }, [](Index i) { return power(5e5, i, 128); });
    // openPangu VL: as its own code apportions them.
    const std::string pangu = "0120120120120120120120102012012012012012012010201201201201201200";
    check_config<TestType>(
        config_of(128, 6.4e7), rope::mrope_apportioned({24, 20, 20}), half, prompt(3),
        [&](Index i) { return pangu[support::size(i)] - '0'; }, [](Index i) { return power(6.4e7, i, 128); });
}

TEST_CASE("apportioned pairs follow the axis of which the smallest share is placed") {
    for (const std::vector<Index>& sections :
         std::vector<std::vector<Index>>{{24, 20, 20}, {16, 24, 24}, {1, 0, 0}, {1, 5, 0}, {7, 1, 2}, {2, 40, 3}}) {
        const auto axis_of = rope::mrope_apportioned(sections).axis_of;
        REQUIRE(axis_of.size() == support::size(sections[0] + sections[1] + sections[2]));
        CHECK(axis_of.back() == 0);
        double placed[3] = {}, due[3];
        for (int axis = 0; axis < 3; ++axis) {
            due[axis] = static_cast<double>(sections[support::size(axis)] - (axis == 0 ? 1 : 0));
            CHECK(std::count(axis_of.begin(), axis_of.end(), axis) == sections[support::size(axis)]);
        }
        for (std::size_t i = 0; i + 1 < axis_of.size(); ++i) {
            const int got = axis_of[i], last = i == 0 ? -1 : axis_of[i - 1];
            bool is_free = false;  // another one than the last
            for (int axis = 0; axis < 3; ++axis) is_free = is_free || (axis != last && placed[axis] < due[axis]);
            CHECK(is_free == (got != last));
            for (int axis = 0; axis < 3 && is_free; ++axis)
                if (axis != last && placed[axis] < due[axis]) {
                    const double own = placed[got] / due[got], other = placed[axis] / due[axis];
                    CHECK((own < other || (own == other && got <= axis)));
                }
            ++placed[got];
        }
    }
}

TEMPLATE_TEST_CASE("image and video models", "", float, double) {
    const Grid image = {patches(5, 7, true, as_it_is), patches(5, 7, false, as_it_is)};
    // Qwen's ViT: the same numbers for rows and for columns.
    Config config = config_of(80, 1e4);
    config.schedule = schedule::Axial{2};
    check_config<TestType>(
        config, rope::mrope_sections({20, 20}), Layout::half_split, image, [](Index i) { return i / 20; },
        [](Index i) { return power(1e4, i % 20, 40); });
    // Llama 4's: columns first, from 1 on, and a class token at the end that does not turn.
    const auto next = [](double x) { return x + 1.0; };
    Grid with_class = {patches(5, 7, false, next), patches(5, 7, true, next)};
    for (std::vector<double>& axis : with_class) axis.push_back(0.0);
    config.head_dim = 88;
    check_config<TestType>(
        config, rope::mrope_sections({22, 22}), Layout::interleaved, with_class, [](Index i) { return i / 22; },
        [](Index i) { return power(1e4, i % 22, 44); });
    // Pixtral: the numbers of a whole head, every second one for rows, the others for columns.
    const Frequencies dealt = rope::dealt_out(rope::frequencies(config_of(64, 1e4)), 2);
    Rows<TestType> pixtral(dealt, rope::mrope_sections({16, 16}));
    check_scheme(pixtral, Layout::half_split, image, [&](Index i, Index t) {
        return i < 16 ? Real(image[0][size(t)]) * power(1e4, 2 * i, 64)
                      : Real(image[1][size(t)]) * power(1e4, 2 * (i - 16) + 1, 64);
    });
    check_equal_axes(pixtral, dealt);
    // DINOv3: centres of patches in a square from -1 to 1, five tokens in front that do not turn. The factor in the
    // Config is 1 / (2 pi) in double, so doubles belong to that.
    Grid centred(2, std::vector<double>(5, 0.0));
    const auto append = [](std::vector<double>& to, const std::vector<double>& more) {
        to.insert(to.end(), more.begin(), more.end());
    };
    append(centred[0], patches(5, 7, true, [](double i) { return 2.0 * (i + 0.5) / 5.0 - 1.0; }));
    append(centred[1], patches(5, 7, false, [](double i) { return 2.0 * (i + 0.5) / 7.0 - 1.0; }));
    config = config_of(64, 100.0);
    config.schedule = schedule::Axial{2};
    config.interpolation_factor = (Real(1.0) / Real::two_pi()).to_double();
    const bool is_float = std::is_same_v<TestType, float>;
    const Real turn = is_float ? Real::two_pi() : Real(1.0) / Real(config.interpolation_factor);
    check_config<TestType>(
        config, rope::mrope_sections({16, 16}), Layout::half_split, centred, [](Index i) { return i / 16; },
        [&](Index i) { return turn * pow(Real(100.0), Real::integer(-4 * (i % 16)) / Real(64.0)); });
    // Video, three axes of the same numbers in part of a head, and Wan's, whose axes have 22, 21 and 21 pairs.
    const Grid video = prompt(3);
    config = config_of(104, 1e4, 96, 8);
    config.schedule = schedule::Axial{3};
    check_config<TestType>(
        config, rope::mrope_sections({16, 16, 16}), Layout::interleaved, video, [](Index i) { return i / 16; },
        [](Index i) { return power(1e4, i % 16, 32); });
    std::vector<Real> numbers;
    for (const Index n : {22, 21, 21})
        for (Index j = 0; j < n; ++j) numbers.push_back(power(1e4, j, 2 * n));
    Rows<TestType> wan(frequencies_of(numbers), rope::mrope_sections({22, 21, 21}));
    check_scheme(wan, Layout::interleaved, video, [&](Index i, Index t) {
        return Real(video[i < 22 ? 0 : i < 43 ? 1 : 2][size(t)]) * numbers[size(i)];
    });
    check_equal_axes(wan, frequencies_of(numbers));
}

TEMPLATE_TEST_CASE("axes with numbers of their own, and mixed axes", "", float, double) {
    // lucidrains' axial "pixel": pi, ..., pi * max_freq / 2 on each axis, places from -1 to 1. Plain doubles are exact.
    const double pi = 0x1.921fb54442d18p1;
    Frequencies pixel;
    for (const double max_freq : {10.0, 256.0, 24.0})
        for (int j = 0; j < 8; ++j) pixel.inv_freq.push_back((1.0 + (max_freq / 2.0 - 1.0) * j / 7.0) * pi);
    Grid places(3);
    for (int s = 0; s < 30; ++s) {
        places[0].push_back(-1.0 + s / 14.5);
        places[1].push_back(1.0 - 2.0 * (s % 6) / 5.0);
        places[2].push_back(-1.0 + 2.0 * (s / 6) / 4.0);
    }
    Rows<TestType> axial(pixel, rope::mrope_sections({8, 8, 8}), {64, 10});
    check_scheme(axial, Layout::interleaved, places,
                 [&](Index i, Index t) { return Real(places[size(i / 8)][size(t)]) * Real(pixel.inv_freq[size(i)]); });
    check_equal_axes(axial, pixel);

    // rope-vit's mixed: x * fx + y * fy, with numbers of either sign for each head.
    const Grid image = {patches(4, 6, false, as_it_is), patches(4, 6, true, as_it_is)};
    const std::vector<int> whole = flat<int>(image);
    const std::vector<TestType> x = support::normal<TestType>(24 * 2 * 64, 9);
    std::vector<TestType> both = x;
    for (const Index head : {0, 1}) {
        Frequencies mixed;
        const double angle = 0.3 + 2.0 * static_cast<double>(head);
        for (const double at : {angle, angle - pi / 2.0})
            for (int i = 0; i < 32; ++i)
                mixed.inv_freq.push_back(std::pow(10.0, -(i % 16) / 16.0) * std::cos(i < 16 ? at : at + pi / 2.0));
        const auto sum = [&](const Grid& grid) {
            return [&mixed, &grid](Index i, Index t) {
                return Real(grid[0][size(t)]) * Real(mixed.inv_freq[size(i)]) +
                       Real(grid[1][size(t)]) * Real(mixed.inv_freq[size(32 + i)]);
            };
        };
        Rows<TestType> rows(mixed, rope::mixed_axes(2));
        check_scheme(rows, Layout::half_split, image, sum(image));
        check_scheme(rows, Layout::interleaved, prompt(2), sum(prompt(2)));
        const Grid centred = {places[0], places[1]};
        check_scheme(rows, Layout::interleaved, centred, sum(centred));
        rows.build(AxisPositions(whole.data(), 2, 24), 24);
        const auto v = rope::view(both.data(), 24, 2, 64);
        rope::apply<Layout::interleaved>(v.slice_heads(head, 1), rows);
        std::vector<TestType> alone = x;
        rope::apply<Layout::interleaved>(rope::view(alone.data(), 24, 2, 64), rows);
        for (Index t = 0; t < 24; ++t)
            CHECK(std::memcmp(&v(0, t, head, 0), &alone[size((t * 2 + head) * 64)], 64 * sizeof(TestType)) == 0);
    }
}

TEMPLATE_TEST_CASE("a pair has the bits of its own axis alone, whatever the map", "", float, double) {
    CHECK(rc::check("any map", [] {
        const Index axes = *rc::gen::inRange<Index>(1, 9), pairs = *rc::gen::inRange<Index>(1, 150);
        const Index tokens = *rc::gen::inRange<Index>(1, 8);
        std::mt19937_64 engine(*rc::gen::arbitrary<std::uint64_t>());
        AxisMap map = {axes};
        Frequencies f;
        for (Index i = 0; i < pairs; ++i) {
            map.axis_of.push_back(static_cast<unsigned char>(engine() % static_cast<std::uint64_t>(axes)));
            f.inv_freq.push_back(std::ldexp(static_cast<double>(engine() >> 11), -54));
        }
        std::vector<double> positions(size(axes * tokens));
        for (double& p : positions)
            p = static_cast<double>(static_cast<std::int32_t>(engine())) * (engine() % 2 ? 1 : 0.125);
        Rows<TestType> rows(f, map), plain(f);
        rows.build(AxisPositions(positions.data(), axes, tokens), tokens);
        for (Index a = 0; a < axes; ++a) {
            plain.build(AxisPositions(positions.data() + a * tokens, 1, tokens), tokens);
            for (Index t = 0; t < tokens; ++t)
                for (Index i = 0; i < pairs; ++i)
                    if (map.axis_of[size(i)] == a) {
                        RC_ASSERT(rows.cos_row(t)[i] == plain.cos_row(t)[i]);
                        RC_ASSERT(rows.sin_row(t)[i] == plain.sin_row(t)[i]);
                    }
        }
    }));
}
