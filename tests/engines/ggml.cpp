// SPDX-License-Identifier: MIT
// <rope/ggml.hpp>: ggml's operator by its definition, in every mode, type and view, cut into any number of threads.
#include <rope/ggml.hpp>

#include <rope/apply.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engines/ggml_tensors.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

#include <rope/detail/simd/isa_choice.hpp>

using namespace engines;

namespace {

// ---- The operator by its definition, in long double. ----

/// The section of a pair: the numbers of the sections before it.
int axis_of(const ggml::RopeParams& p, int pair) {
    if (!has_axes(p)) return 0;
    const std::int32_t* const s = p.sections;
    const int sector = pair % (s[0] + s[1] + s[2] + s[3]);
    if (p.mode == imrope) return sector / 3 < s[sector % 3] ? sector % 3 : 3;
    int axis = 0, end = s[0];
    while (sector >= end && axis < 3) end += s[++axis];
    return axis;
}
/// How often the angle of an axis was multiplied by freq_base^(-2 / n_dims) on the way to a pair.
int exponent_of(const ggml::RopeParams& p, int pair) {
    if (p.mode != vision) return pair;
    const std::int32_t* const s = p.sections;
    const int starts[4] = {0, s[0], s[0] + s[1], s[0] + s[1] + s[2]}, axis = axis_of(p, pair);
    for (int j = pair; j >= 0; --j) {
        const int sector = j % (starts[3] + s[3]);
        int restarted = 0;
        while (restarted < 4 && starts[restarted] != sector) ++restarted;
        if (restarted == axis) return pair - j;
    }
    return pair;
}
/// The pair with b revolutions in the original context; ggml takes floor and ceil of it.
long double corner(const ggml::RopeParams& p, float b) {
    const long double pi = std::acos(-1.0L);
    return p.n_dims * std::log(static_cast<long double>(p.n_ctx_orig) / (static_cast<long double>(b) * 2 * pi)) /
           (2 * std::log(static_cast<long double>(p.freq_base)));
}
struct Angles {
    std::vector<long double> w;  // radians per position
    long double magnitude;
};
Angles angles_of(const ggml::RopeParams& p, const std::vector<float>& factors) {
    const long double scale = static_cast<long double>(p.freq_scale), e = static_cast<long double>(p.ext_factor);
    const long double low = std::fmax(0.0L, std::floor(corner(p, p.beta_fast)));
    const long double high = std::fmin(static_cast<long double>(p.n_dims - 1), std::ceil(corner(p, p.beta_slow)));
    Angles angles = {{}, static_cast<long double>(p.attn_factor)};
    for (int i = 0; i < pairs_of(p); ++i) {
        long double w = std::pow(static_cast<long double>(p.freq_base), -2.0L * exponent_of(p, i) / p.n_dims);
        if (!factors.empty()) w /= static_cast<long double>(factors[size(i)]);
        const long double y = (i - low) / std::fmax(0.001L, high - low);
        const long double mix = e * (1 - std::fmin(1.0L, std::fmax(0.0L, y)));
        angles.w.push_back(p.ext_factor != 0.0f ? scale * w * (1 - mix) + w * mix : scale * w);
    }
    if (p.ext_factor != 0.0f) angles.magnitude *= 1 + 0.1L * std::log(1 / scale);
    return angles;
}

template <class X>
double read(const ggml::Tensor& t, Index i, Index h, Index s, Index b) {
    const Index at[4] = {i, h, s, b};
    const char* from = static_cast<const char*>(t.data);
    for (int axis = 0; axis < 4; ++axis) from += at[axis] * static_cast<Index>(t.nb[axis]);
    X x;
    std::memcpy(&x, from, sizeof(X));
    return support::to_double(x);
}

/// The largest error over its bound in <rope/apply.hpp>, over all elements.
template <class X>
double worst_over_bound(const ggml::RopeParams& p, const ggml::Tensor& src, const ggml::Tensor& dst,
                        const std::vector<std::int32_t>& positions, const std::vector<float>& factors,
                        bool is_forward) {
    const Angles angles = angles_of(p, factors);
    const int pairs = pairs_of(p);
    const bool fma = rope::detail::active_isa_has_fma();
    const auto is_beyond = [&](Index at) { return std::abs(at) >= (Index(1) << 27) / (8 * pairs); };
    const int is_far = std::any_of(positions.begin(), positions.end(), is_beyond) ? 1 : 0;
    double worst = 0;
    for (Index b = 0; b < src.ne[3]; ++b)
        for (Index s = 0; s < src.ne[2]; ++s)
            for (Index i = 0; i < src.ne[0]; ++i) {
                const Index at = i - p.n_offs;
                const bool rotates = at >= 0 && at < 2 * pairs, interleaved = p.mode == normal;
                const int pair = static_cast<int>(!rotates ? 0 : interleaved ? at / 2 : at % pairs);
                const bool is_second = rotates && (interleaved ? at % 2 == 1 : at >= pairs);
                const Index other = !rotates      ? i
                                    : interleaved ? p.n_offs + (at ^ 1)
                                    : is_second   ? i - pairs
                                                  : i + pairs;
                const Index axis = axis_of(p, pair);
                const long double angle = positions[size(axis * src.ne[2] + s)] * angles.w[size(pair)];
                const double cos = static_cast<double>(angles.magnitude * std::cos(angle));
                const double sin =
                    static_cast<double>(angles.magnitude * std::sin(angle)) * (is_second == is_forward ? 1 : -1);
                const double least = 0x1p-10 * static_cast<double>(angles.magnitude), u = 0x1p-24;
                for (Index h = 0; h < src.ne[1]; ++h) {
                    const double x = read<X>(src, i, h, s, b), y = read<X>(src, other, h, s, b);
                    const double want = rotates ? x * cos + y * sin : x;
                    double bound = is_far * 2.01 * 0x1p-23 * static_cast<double>(angles.magnitude) *
                                       (std::fabs(x) + std::fabs(y)) +
                                   ((fma ? 1.01 : 2.01) * std::fabs(x) * std::max(std::fabs(cos), least) +
                                    2.01 * std::fabs(y) * std::max(std::fabs(sin), least) + std::fabs(want)) *
                                       u +
                                   0x1p-149;
                    if (sizeof(X) == 2) bound += 0x1p-11 * (std::fabs(want) + bound) + 0x1p-25;
                    const double error = std::fabs(read<X>(dst, i, h, s, b) - want);
                    if (!rotates) bound = 0x1p-1000;
                    worst = std::max(worst, error <= 1e300 ? error / bound : 1e300);
                }
            }
    return worst;
}

std::vector<float> factors_for(const ggml::RopeParams& p, bool has_factors) {
    std::vector<float> factors;
    for (int i = 0; has_factors && i < pairs_of(p); ++i) factors.push_back(0.9f + 0.01f * static_cast<float>(i % 20));
    return factors;
}

std::shared_ptr<const rope::detail::GgmlRotation> rotation_of(const ggml::RopeParams& p, Index head_dim) {
    std::shared_ptr<const rope::detail::GgmlRotation> found;
    CHECK(rope::detail::find_rotation(p, head_dim, {}, found).ok());
    return found;
}

/// One case, cut into one part and into `parts`.
template <class X>
double worst_of(const Shape& shape, std::vector<std::int32_t> positions, std::vector<float> factors, int view,
                bool is_forward, bool is_in_place, Index parts) {
    const Buffer<X> before(shape.ne, view, 7);
    const ggml::Tensor ids = list_of(Type::i32, positions);
    const ggml::Tensor given = factors.empty() ? ggml::Tensor() : list_of(Type::f32, factors);
    const auto run = [&](const ggml::Tensor& src, const ggml::Tensor& dst, Index count) {
        for (Index i = 0; i < count; ++i)
            ggml::rope(shape.params, src, dst, ids, given, is_forward, rope::part((i * 7 + 3) % count, count));
    };
    Buffer<X> one(shape.ne, is_in_place ? view : 0, is_in_place ? 7 : 8),
        cut(shape.ne, is_in_place ? view : 0, is_in_place ? 7 : 8);
    const std::vector<X> untouched = one.numbers;
    run(is_in_place ? one.t : before.t, one.t, 1);
    run(is_in_place ? cut.t : before.t, cut.t, parts);
    CHECK(support::same_bits(one.numbers, cut.numbers));
    CHECK(one.is_touched_inside(untouched));
    return worst_over_bound<X>(shape.params, before.t, one.t, positions, factors, is_forward);
}

}  // namespace

TEST_CASE("ggml's operator is its definition: modes, types, factors, YaRN, views, in place and back") {
    int cases = 0;
    for (const bool is_forward : {true, false})
        for (const float freq_scale : {1.0f, 1.4245f, 0.025f})
            for (const float ext_factor : {0.0f, 0.7465f})
                for (const float attn_factor : {1.0f, 1.4245f})
                    for (const bool has_factors : {false, true})
                        for (Shape shape : shapes()) {
                            shape.params.freq_scale = freq_scale;
                            shape.params.ext_factor = ext_factor;
                            shape.params.attn_factor = attn_factor;
                            const bool is_half = cases % 2 == 1, is_in_place = cases % 3 == 0;
                            const int view = cases / 2 % 3;
                            const Index parts[] = {2, 3, 5, 1};
                            const auto positions = positions_for(shape, 512, cases % 5 == 0, 11);
                            const auto factors = factors_for(shape.params, has_factors);
                            const auto run = is_half ? &worst_of<rope::half> : &worst_of<float>;
                            CAPTURE(is_forward, freq_scale, ext_factor, attn_factor, has_factors, shape.params.mode,
                                    shape.params.n_dims, is_half, is_in_place, view);
                            REQUIRE(run(shape, positions, factors, view, is_forward, is_in_place, parts[cases % 4]) <=
                                    1);
                            ++cases;
                        }
    CHECK(cases >= 800);
}

TEST_CASE("far and negative positions, as ggml's context shift has them") {
    for (Shape shape : shapes()) {
        CAPTURE(shape.params.mode, shape.params.n_dims);
        CHECK(worst_of<float>(shape, positions_for(shape, 131072, true, 5), {}, 0, true, true, 3) <= 1);
    }
    // Beyond a row for each position, up to the ends of int32.
    for (Shape shape : shapes()) {
        if (pairs_of(shape.params) > 20) continue;
        CAPTURE(shape.params.mode, shape.params.n_dims);
        for (const bool have_signs : {false, true}) {
            auto positions = positions_for(shape, INT32_MAX, have_signs, 6);
            positions[0] = INT32_MAX;
            if (have_signs) positions[1] = INT32_MIN;
            CHECK(worst_of<float>(shape, positions, factors_for(shape.params, have_signs), 0, true, true, 3) <= 1);
            CHECK(worst_of<rope::half>(shape, positions, {}, 1, false, false, 2) <= 1);
        }
    }
    // One table serves both signs: rows of p and of -p differ in the sign of the sines alone.
    const Shape shape = {{64, 2, 2, 1}, params(64, neox)};
    std::vector<std::int32_t> there = {77, 1000}, back = {-77, -1000};
    Buffer<float> a(shape.ne, 0, 1), b(shape.ne, 0, 1);
    ggml::rope(shape.params, a.t, a.t, list_of(Type::i32, there), {}, false);
    ggml::rope(shape.params, b.t, b.t, list_of(Type::i32, back), {}, true);
    CHECK(support::same_bits(a.numbers, b.numbers));
}

TEST_CASE("threads inside the operator, from the first call on") {
    int cases = 0;
    for (Shape shape : shapes()) {
        shape.ne[2] = 33;
        shape.params.freq_base = 12345.0f;  // of no other test, so that threads make the table together
        const bool is_far = ++cases % 4 == 0;
        std::vector<std::int32_t> positions = positions_for(shape, is_far ? INT32_MAX : 4096, false, 3);
        const ggml::Tensor ids = list_of(Type::i32, positions);
        const Buffer<float> src(shape.ne, 1, 5);
        std::vector<float> first;
        for (const Index count : {Index(5), Index(3), Index(2), Index(1)}) {
            Buffer<float> dst(shape.ne, 0, 6);
            std::vector<std::thread> threads;
            for (Index i = 0; i < count; ++i)
                threads.emplace_back([&, i] {
                    const rope::Status s =
                        ggml::rope(shape.params, src.t, dst.t, ids, {}, true, rope::no_throw(rope::part(i, count)));
                    if (!s.ok()) std::abort();
                });
            for (std::thread& t : threads) t.join();
            if (first.empty()) first = dst.numbers;
            CHECK(support::same_bits(dst.numbers, first));
        }
    }
}

TEST_CASE("frequencies are the library's own where the formulas are the same") {
    ggml::RopeParams p = params(128, neox);
    rope::Config config;
    config.head_dim = 128;
    const rope::Frequencies plain = rope::frequencies(config), made = rotation_of(p, 128)->frequencies;
    CHECK(support::same_bits(std::vector<double>(made.inv_freq), std::vector<double>(plain.inv_freq)));
    CHECK(support::same_bits(std::vector<double>(made.inv_freq_low), std::vector<double>(plain.inv_freq_low)));
    p.freq_scale = 0.25f;
    p.ext_factor = 1.0f;
    p.n_ctx_orig = 4096;
    p.beta_fast = 32.0f;
    p.beta_slow = 1.0f;
    rope::schedule::Yarn yarn;
    yarn.factor = 4.0;
    yarn.original_max_position_embeddings = 4096;
    config.schedule = yarn;
    const rope::Frequencies scheduled = rope::frequencies(config), of_ggml = rotation_of(p, 128)->frequencies;
    for (std::size_t i = 0; i < 64; ++i) CHECK(std::fabs(of_ggml.inv_freq[i] / scheduled.inv_freq[i] - 1) < 1e-15);
    CHECK(std::fabs(of_ggml.attention_factor / scheduled.attention_factor - 1) < 1e-15);
    CHECK(rotation_of(params(16, imrope, {3, 3, 2, 0}), 16)->map.axis_of ==
          rope::mrope_interleaved({3, 3, 2}, rope::LeftOver::fourth_axis).axis_of);
    CHECK(rotation_of(params(16, mrope, {3, 3, 2, 0}), 16)->map.axis_of == rope::mrope_sections({3, 3, 2}).axis_of);
}

TEST_CASE("one token in place, with other strides that are not used; lists and views that overlap are refused") {
    const Shape one = {{64, 2, 1, 1}, params(64, neox)};
    Buffer<float> a(one.ne, 0, 1), b(one.ne, 0, 1);
    std::vector<std::int32_t> at = {5};
    ggml::Tensor other = a.t;
    other.nb[2] *= 3;
    other.nb[3] *= 5;
    ggml::rope(one.params, a.t, other, list_of(Type::i32, at), {}, true);
    ggml::rope(one.params, b.t, b.t, list_of(Type::i32, at), {}, true);
    CHECK(support::same_bits(a.numbers, b.numbers));

    // Several tokens at one address, but with other strides.
    const Shape four = {{64, 1, 4, 1}, params(64, neox)};
    Buffer<float> wide({64, 1, 8, 1}, 0, 2);
    const std::vector<float> untouched = wide.numbers;
    std::vector<std::int32_t> list_of_four = {1, 2, 3, 4};
    ggml::Tensor from = wide.t, to = wide.t;
    from.ne[2] = to.ne[2] = 4;
    to.nb[2] *= 2;
    const rope::Status refused =
        ggml::rope(four.params, from, to, list_of(Type::i32, list_of_four), {}, true, rope::no_throw(rope::part(0, 1)));
    CHECK(std::string(refused.message()).find("in and out are different views that may share elements") == 0);
    CHECK(support::same_bits(wide.numbers, untouched));

    // By rows, every check is made before they are written.
    const Shape shape = {{64, 1, 8, 1}, params(64, imrope, {10, 10, 10, 0})};
    Buffer<float> x({64, 1, 9, 1}, 0, 3);
    const std::vector<float> before = x.numbers;
    std::vector<std::int32_t> positions(32, 3);
    ggml::Tensor src = x.t, dst = x.t, list = list_of(Type::i32, positions);
    src.ne[2] = dst.ne[2] = 8;
    src.data = x.numbers.data() + 64;
    const auto said = [&] {
        const rope::Status s = ggml::rope(shape.params, src, dst, list, {}, true, rope::no_throw(rope::part(0, 1)));
        CHECK(support::same_bits(x.numbers, before));
        return std::string(s.message());
    };
    CHECK(said() ==
          "in and out are different views that may share elements; they must be the same view (pointer, type, extents "
          "and strides) or be shown to share none by their strides.");
    src.data = dst.data;
    std::fill(x.numbers.begin(), x.numbers.begin() + 32, 0.0f);  // the bits of position 0
    const std::vector<float> zeros = x.numbers;
    list.data = x.numbers.data();
    const rope::Status s = ggml::rope(shape.params, src, dst, list, {}, true, rope::no_throw(rope::part(0, 1)));
    CHECK(std::string(s.message()) ==
          "positions and dst may share elements; a list of positions must lie outside what is written.");
    CHECK(support::same_bits(x.numbers, zeros));
}

TEST_CASE("factors may change between calls, and a call may have no tokens") {
    const Shape shape = {{64, 2, 3, 1}, params(64, neox)};
    const auto positions = positions_for(shape, 512, false, 2);
    for (const float first : {1.0f, 0.5f, 1.0f, 2.0f}) {
        std::vector<float> factors = factors_for(shape.params, true);
        factors[0] = first;
        CHECK(worst_of<float>(shape, positions, factors, 0, true, false, 2) <= 1);
    }
    for (int i = 0; i < 70; ++i) {  // more descriptions than are remembered
        std::vector<float> factors = factors_for(shape.params, true);
        factors[5] = 1.0f + 0.01f * static_cast<float>(i);
        CHECK(worst_of<float>(shape, positions, factors, 0, true, false, 2) <= 1);
    }
    for (const Shape& s : shapes()) {
        Shape none = s;
        none.ne[2] = 0;
        CHECK(worst_of<float>(none, {}, {}, 0, true, false, 3) <= 0);
        std::vector<std::int32_t> positions_of_none;
        const ggml::Tensor ids = list_of(Type::i32, positions_of_none);
        CHECK(ggml::rows(none.params, none.ne[0], ids, {}, nullptr).pairs() == pairs_of(none.params));
    }
}

TEST_CASE("op_params") {
    std::int32_t raw[16] = {0, 64, 40, 0, 4096};
    const float floats[] = {1e6f, 0.25f, 1.0f, 1.5f, 32.0f, 2.0f};
    std::memcpy(raw + 5, floats, sizeof(floats));
    for (std::int32_t i = 0; i < 5; ++i) raw[11 + i] = 12 + 2 * i;
    const ggml::RopeParams p = ggml::rope_params(raw);
    CHECK((p.n_dims == 64 && p.mode == 40 && p.n_ctx_orig == 4096 && p.n_offs == 20));
    const float read[] = {p.freq_base, p.freq_scale, p.ext_factor, p.attn_factor, p.beta_fast, p.beta_slow};
    for (std::size_t i = 0; i < 6; ++i) CHECK(read[i] == floats[i]);
    for (std::int32_t i = 0; i < 4; ++i) CHECK(p.sections[i] == 12 + 2 * i);
    CHECK(ggml::layout(p) == rope::Layout::half_split);
    CHECK(ggml::layout(params(64, normal)) == rope::Layout::interleaved);
}

TEST_CASE("rows of any mode are the operator's") {
    for (const Shape& shape : shapes()) {
        std::vector<std::int32_t> positions = positions_for(shape, 999, true, 4);
        const ggml::Tensor ids = list_of(Type::i32, positions);
        Buffer<float> a(shape.ne, 0, 1), b(shape.ne, 0, 1);
        ggml::rope(shape.params, a.t, a.t, ids, {}, true);
        std::vector<float> memory(size(shape.ne[2] * 2 * pairs_of(shape.params)));
        for (Index i = 0; i < 3; ++i) ggml::rows(shape.params, shape.ne[0], ids, {}, memory.data(), rope::part(i, 3));
        const auto rows = ggml::rows(shape.params, shape.ne[0], ids, {}, memory.data());
        rope::apply(ggml::layout(shape.params),
                    rope::view(b.numbers.data(), shape.ne[3], shape.ne[2], shape.ne[1], shape.ne[0]), rows);
        CHECK(support::same_bits(a.numbers, b.numbers));
    }
}
