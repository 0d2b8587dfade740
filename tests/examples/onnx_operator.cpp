// SPDX-License-Identifier: MIT
// The example examples/onnx_rotary_embedding computes what the text of the ONNX operator RotaryEmbedding (opset 23)
// says, element by element: for every shape of X, with position_ids and without, for every attribute and type, in place
// and out of place. What the text does not allow is refused, and nothing is written.
#include "../../examples/onnx_rotary_embedding/rotary_embedding.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using onnx_example::Attributes;
using onnx_example::Index;
using onnx_example::Shape;
using onnx_example::Tensor;
using rope::bfloat16;
using rope::half;
using support::size;

namespace {

constexpr Index kPositions = 11;

/// One call: what its tensors are like, and all numbers as the types hold them.
template <class T, class Cache>
struct Call {
    Index batch, seq, heads, head_size;
    bool is_4d, has_ids;
    Attributes attributes;
    std::vector<T> x = {}, y = {};
    std::vector<Cache> cos = {}, sin = {};
    std::vector<std::int64_t> ids = {};

    Index dim() const { return attributes.rotary_embedding_dim != 0 ? attributes.rotary_embedding_dim : head_size; }
    Shape x_shape() const { return is_4d ? Shape{batch, heads, seq, head_size} : Shape{batch, seq, heads * head_size}; }
    Shape cache_shape() const { return has_ids ? Shape{kPositions, dim() / 2} : Shape{batch, seq, dim() / 2}; }
    std::size_t at(Index b, Index s, Index h, Index f) const {
        return size(is_4d ? ((b * heads + h) * seq + s) * head_size + f : ((b * seq + s) * heads + h) * head_size + f);
    }

    /// draw_x() and draw_cache() are drawn from for every number.
    template <class DrawX, class DrawCache>
    void draw(std::mt19937& engine, const DrawX& draw_x, const DrawCache& draw_cache) {
        const Index rows = has_ids ? kPositions : batch * seq;
        for (Index i = 0; i < batch * seq * heads * head_size; ++i) x.push_back(support::from_double<T>(draw_x()));
        for (Index i = 0; i < rows * dim() / 2; ++i) {
            cos.push_back(support::from_double<Cache>(draw_cache()));
            sin.push_back(support::from_double<Cache>(draw_cache()));
        }
        for (Index i = 0; i < batch * seq; ++i)
            ids.push_back(std::uniform_int_distribution<std::int64_t>(0, kPositions - 1)(engine));
        y.assign(x.size(), support::from_double<T>(77.0));
    }
    void run(const T* from, T* to) const {
        const Tensor<const std::int64_t> position_ids = {ids.data(), {batch, seq}};
        onnx_example::rotary_embedding<T, Cache>({from, x_shape()}, {cos.data(), cache_shape()},
                                                 {sin.data(), cache_shape()}, has_ids ? &position_ids : nullptr,
                                                 {to, x_shape()}, attributes);
    }
};

/// An element of Y and the two products that it is the sum of.
struct Wanted {
    long double y, first, second;
};

/// The operator's text for one element, in long double.
template <class T, class Cache>
Wanted element(const Call<T, Cache>& c, Index b, Index s, Index h, Index f) {
    const auto x = [&](Index feature) {
        return static_cast<long double>(support::to_double(c.x[c.at(b, s, h, feature)]));
    };
    const Index half_of_dim = c.dim() / 2;
    if (f >= c.dim()) return {x(f), x(f), 0.0L};
    // x1 and x2 are the even and the odd features, or the first and the second half of those that turn.
    const bool interleaved = c.attributes.interleaved == 1;
    const Index pair = interleaved ? f / 2 : f < half_of_dim ? f : f - half_of_dim;
    const bool is_real = interleaved ? f % 2 == 0 : f < half_of_dim;
    const long double x1 = x(interleaved ? 2 * pair : pair), x2 = x(interleaved ? 2 * pair + 1 : pair + half_of_dim);
    const Index token = b * c.seq + s;
    const Index row = c.has_ids ? static_cast<Index>(c.ids[size(token)]) : token;
    const auto cached = [&](const std::vector<Cache>& cache) {
        return static_cast<long double>(support::to_double(cache[size(row * half_of_dim + pair)]));
    };
    const long double cos = cached(c.cos), sin = cached(c.sin);
    if (is_real) return {cos * x1 - sin * x2, cos * x1, sin * x2};
    return {sin * x1 + cos * x2, sin * x1, cos * x2};
}

/// f(y, wanted) for every element, for every call of a grid; each in place too.
template <class T, class Cache, class DrawX, class DrawCache, class F>
void for_each_element(std::mt19937& engine, const DrawX& draw_x, const DrawCache& draw_cache, const F& f) {
    for (const auto& [batch, seq, heads] :
         {std::tuple<Index, Index, Index>{1, 1, 1}, {2, 1, 3}, {1, 5, 2}, {3, 4, 1}, {2, 5, 3}})
        for (const auto& [head_size, dim] : {std::tuple<Index, Index>{2, 0}, {6, 0}, {6, 4}, {7, 2}, {64, 0}, {80, 20}})
            for (const bool is_4d : {false, true})
                for (const bool has_ids : {false, true})
                    for (const int interleaved : {0, 1}) {
                        CAPTURE(batch, seq, heads, head_size, dim, is_4d, has_ids, interleaved);
                        Call<T, Cache> c = {batch,
                                            seq,
                                            heads,
                                            head_size,
                                            is_4d,
                                            has_ids,
                                            {interleaved, is_4d ? 0 : static_cast<std::int64_t>(heads), dim}};
                        c.draw(engine, draw_x, draw_cache);
                        const std::vector<T> before = c.x;
                        c.run(c.x.data(), c.y.data());
                        REQUIRE(support::same_bits(c.x, before));
                        std::vector<T> in_place = c.x;
                        c.run(in_place.data(), in_place.data());
                        REQUIRE(support::same_bits(in_place, c.y));
                        for (Index b = 0; b < batch; ++b)
                            for (Index s = 0; s < seq; ++s)
                                for (Index h = 0; h < heads; ++h)
                                    for (Index j = 0; j < head_size; ++j)
                                        f(support::to_double(c.y[c.at(b, s, h, j)]), element(c, b, s, h, j));
                    }
}

/// Small whole numbers and quarters: every type holds them, their products and their sums, so Y is exact.
template <class T, class Cache>
void check_exactly() {
    std::mt19937 engine(1);
    const auto whole = [&] { return double(std::uniform_int_distribution<int>(-8, 8)(engine)); };
    const auto quarter = [&] { return 0.25 * std::uniform_int_distribution<int>(-4, 4)(engine); };
    Index count = 0;
    for_each_element<T, Cache>(engine, whole, quarter, [&](double y, const Wanted& wanted) {
        REQUIRE(y == double(wanted.y));
        ++count;
    });
    CHECK(count == 2 * 2 * 2 * (1 + 6 + 10 + 12 + 30) * (2 + 6 + 6 + 7 + 64 + 80));
}

/// Any numbers: sums of products in float, then at most one more rounding.
template <class T, class Cache>
void check_rounded(double half_ulp, double smallest) {
    std::mt19937 engine(2);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> unit(-1.0, 1.0);
    for_each_element<T, Cache>(
        engine, [&] { return normal(engine); }, [&] { return unit(engine); },
        [&](double y, const Wanted& wanted) {
            const double products = std::fabs(double(wanted.first)) + std::fabs(double(wanted.second));
            const double bound = 2.01 * 0x1p-24 * products + 1.001 * half_ulp * std::fabs(double(wanted.y)) + smallest;
            REQUIRE(std::fabs(y - double(wanted.y)) <= bound);
        });
}

}  // namespace

TEST_CASE("Y is what the text says, where every step is exact") {
    SECTION("float") { check_exactly<float, float>(); }
    SECTION("float16") { check_exactly<half, half>(); }
    SECTION("bfloat16") { check_exactly<bfloat16, bfloat16>(); }
    SECTION("float16, caches in float") { check_exactly<half, float>(); }
    SECTION("bfloat16, caches in float") { check_exactly<bfloat16, float>(); }
}

TEST_CASE("Y is what the text says, rounded once") {
    SECTION("float") { check_rounded<float, float>(0x1p-24, 0x1p-149); }
    SECTION("float16") { check_rounded<half, half>(0x1p-11, 0x1p-24); }
    SECTION("bfloat16") { check_rounded<bfloat16, bfloat16>(0x1p-8, 0x1p-133); }
}

TEST_CASE("what the text does not allow is refused") {
    std::vector<float> x(2 * 3 * 4 * 8, 0.5f), y(x.size(), 77.0f), cos(10 * 4, 1.0f), sin(10 * 4, 0.0f);
    const std::vector<float> before = y;
    std::vector<std::int64_t> ids = {0, 1, 2, 3, 4, 9};
    struct Shapes {
        Shape x = {2, 4, 3, 8}, cos = {10, 4}, sin = {10, 4}, ids = {2, 3}, y = {2, 4, 3, 8};
        Attributes attributes = {};
        bool has_ids = true;
    };
    const auto says = [&](const Shapes& s) {
        const Tensor<const std::int64_t> position_ids = {ids.data(), s.ids};
        const support::Refusal r = support::refusal([&] {
            onnx_example::rotary_embedding<float, float>({x.data(), s.x}, {cos.data(), s.cos}, {sin.data(), s.sin},
                                                         s.has_ids ? &position_ids : nullptr, {y.data(), s.y},
                                                         s.attributes);
        });
        CHECK((r.code == rope::StatusCode::ok || y == before));
        return r.message;
    };
    const auto with = [](const auto& change) {
        Shapes s;
        change(s);
        return s;
    };
    const auto axes = "X has shape [2, 3, 4, 8, 1]; it must have three axes or four.";
    CHECK(says(with([](Shapes& s) { s.x = {2, 3, 4, 8, 1}; })) == axes);
    CHECK(says(with([](Shapes& s) { s.x = {}; })) == "X has shape []; it must have three axes or four.");
    for (const std::int64_t heads : {0, -4, 5})
        CHECK(says(with([&](Shapes& s) {
                  s.x = s.y = {2, 3, 32};
                  s.attributes.num_heads = heads;
              })) == "X has shape [2, 3, 32]; with three axes it needs num_heads, a divisor of the last one, not " +
                         std::to_string(heads) + ".");
    const auto turns = [](Index dim) {
        return "X has shape [2, 4, 3, 8]; of the 8 features of its heads an even number must rotate, not " +
               std::to_string(dim) + ".";
    };
    for (const Index dim : {10, -2, 3})
        CHECK(says(with([&](Shapes& s) { s.attributes.rotary_embedding_dim = dim; })) == turns(dim));
    CHECK(says(with([](Shapes& s) { s.x = s.y = {2, 4, 3, 7}; })).find("must rotate, not 7.") != std::string::npos);
    CHECK(says(with([](Shapes& s) { s.x = s.y = {2, 4, 3, 0}; })).find("must rotate, not 0.") != std::string::npos);
    for (const Shape& shape : {Shape{10, 8}, Shape{2, 3, 4}, Shape{10}, Shape{}})
        CHECK(says(with([&](Shapes& s) { s.cos = shape; })) ==
              "cos_cache has shape " + onnx_example::text_of(shape) + "; with position_ids it must be [positions, 4].");
    CHECK(says(with([](Shapes& s) { s.attributes.rotary_embedding_dim = 4; })) ==
          "cos_cache has shape [10, 4]; with position_ids it must be [positions, 2].");
    CHECK(says(with([](Shapes& s) { s.has_ids = false; })) ==
          "cos_cache has shape [10, 4]; without position_ids it must be [2, 3, 4].");
    const Shape nine = {9, 4}, other = {2, 3, 4, 8};
    CHECK(says(with([&](Shapes& s) { s.sin = nine; })) ==
          "sin_cache has shape [9, 4]; it must be that of cos_cache, [10, 4].");
    for (const Shape& shape : {Shape{6}, Shape{3, 2}, Shape{2, 3, 1}, Shape{1, 3}})
        CHECK(says(with([&](Shapes& s) { s.ids = shape; })) ==
              "position_ids has shape " + onnx_example::text_of(shape) + "; it must be [batch, seq], [2, 3].");
    CHECK(says(with([&](Shapes& s) { s.y = other; })) ==
          "Y has shape [2, 3, 4, 8]; it must be that of X, [2, 4, 3, 8].");
    for (const std::int64_t id : {10, -1}) {
        ids[4] = id;
        CHECK(says({}) == "positions[4] is " + std::to_string(id) + "; this wrapped table holds positions 0 to 9.");
    }
    ids[4] = 4;
    // Nothing there: nothing to do, nothing to refuse.
    CHECK(says(with([](Shapes& s) {
              s.x = s.y = {0, 4, 3, 8};
              s.ids = {0, 3};
          })) == "(accepted)");
    CHECK(says(with([](Shapes& s) {
              s.x = s.y = {2, 4, 0, 8};
              s.cos = s.sin = {2, 0, 4};
              s.has_ids = false;
          })) == "(accepted)");
    CHECK(says(with([](Shapes& s) { s.x = s.y = {2, 0, 3, 8}; })) == "(accepted)");
    CHECK(y == before);
    CHECK(says({}) == "(accepted)");
    CHECK(y == x);  // cos is 1 and sin 0
}
