// SPDX-License-Identifier: MIT
// pass has the bits of plain loops, whatever the steps, types, strides, places, formats, sets and cuts.
#include <rope/heads.hpp>
#include <rope/part.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "paths/drawn_paths.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/reference/path.hpp"

using rope::Index;
using rope::Layout;

namespace {

/// Pieces of drawn sizes, in a drawn order; asked for calls of any size.
struct Shuffled {
    unsigned seed;
    template <class F>
    void operator()(Index count, const F& f) const {
        std::mt19937 engine(seed);
        std::vector<Index> cuts = {0, count};
        for (int i = 0; i < 5; ++i) cuts.push_back(std::uniform_int_distribution<Index>(0, count)(engine));
        std::sort(cuts.begin(), cuts.end());
        std::vector<std::size_t> order(cuts.size() - 1);
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), engine);
        for (const std::size_t i : order) f(cuts[i], cuts[i + 1]);
    }
};

template <class Element, Layout layout>
void compare(unsigned seed) {
    using T = support::TableOf<Element>;
    std::mt19937 engine(seed);
    const auto draw = [&](Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(engine); };
    const Index dims[] = {2, 6, 16, 24, 32, 64, 80, 96, 128, 256};
    rope::Config config;
    config.head_dim = dims[draw(0, 9)];
    if (draw(0, 2) == 0 && config.head_dim > 2) {
        config.rotary_dim = 2 * draw(1, config.head_dim / 2);
        config.rotary_offset = draw(0, config.head_dim - config.rotary_dim);
    }
    if (draw(0, 3) == 0) config.attention_factor = 1.25;
    const rope::CosSinCache<T> table(config, 64);
    const Index batch = draw(1, 3), seq = draw(1, 5), start = draw(0, 50);
    support::DrawnPath<Element> ours(seed, batch, seq, config.head_dim), theirs(seed, batch, seq, config.head_dim);
    const rope::Path path = ours.path(true), same_path = theirs.path(true);
    INFO("seed " << seed << ", head_dim " << config.head_dim << ", batch " << batch << ", seq " << seq);
    const rope::Status status = rope::check_pass<layout>(table, rope::start_at(start), path);
    INFO(status.message());
    REQUIRE(status.ok());
    if (draw(0, 1) == 0)
        rope::pass<layout>(table, rope::start_at(start), path);
    else
        rope::pass<layout>(rope::at_every_size(Shuffled{seed}), table, rope::start_at(start), path);
    support::reference_pass<T>(layout, table, rope::start_at(start), same_path);
    CHECK(ours.has_same_bytes(theirs));
}

/// Hadamard transforms of every block that divides one of these head_dims, with the bits of sums and differences of
/// numbers 1, 2, 4, ... apart.
template <class T>
void compare_hadamard() {
    const rope::CosSinCache<T> table(rope::Config{2}, 1);
    for (const Index head_dim : {1, 2, 6, 24, 36, 80, 96, 128, 224, 2048})
        for (Index block = 1; block <= head_dim && head_dim % block == 0; block *= 2) {
            std::vector<T> x = support::normal<T>(3 * head_dim, static_cast<unsigned>(head_dim)), right = x;
            rope::pass<Layout::half_split>(table, rope::start_at(0),
                                           rope::heads(rope::view(x.data(), 1, 3, head_dim)).hadamard(block));
            const Index count = 3 * head_dim;
            for (Index distance = 1; distance < block; distance *= 2)
                for (Index i = 0; i < count; ++i)
                    if (i / distance % 2 == 0) {
                        T &a = right[support::size(i)], &b = right[support::size(i + distance)];
                        const T sum = a + b;
                        b = a - b;
                        a = sum;
                    }
            for (T& one : right) one *= static_cast<T>(1.0 / std::sqrt(static_cast<double>(block)));
            INFO("head_dim " << head_dim << ", block " << block);
            CHECK(support::same_bits(x, right));
        }
}

}  // namespace

TEST_CASE("a Hadamard transform of every block, by every set") {
    support::for_each_isa([](const char* name) {
        INFO(name);
        compare_hadamard<float>();
        compare_hadamard<double>();
    });
}

TEST_CASE("a NaN or an infinity stays in its head, with a norm over a token in its token") {
    constexpr Index tokens = 3, heads = 4, d = 32;
    rope::Config config;
    config.head_dim = d;
    const rope::CosSinCache<float> table(config, 8);
    const std::vector<float> x = support::normal<float>(tokens * heads * d, 9);
    for (const rope::NormSpan over : {rope::NormSpan::head, rope::NormSpan::token})
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            std::vector<float> spoilt = x, right(x.size()), y(x.size());
            spoilt[support::size((1 * heads + 2) * d + 5)] = bad;
            const auto run = [&](const std::vector<float>& from, std::vector<float>& to) {
                rope::pass<Layout::half_split>(table, rope::start_at(1),
                                               rope::heads(rope::view(from.data(), tokens, heads, d))
                                                   .layer_norm(nullptr, nullptr, 1e-6, {over})
                                                   .rotate()
                                                   .hadamard()
                                                   .to(rope::view(to.data(), tokens, heads, d)));
            };
            run(x, right);
            run(spoilt, y);
            for (Index i = 0; i < tokens * heads * d; ++i) {
                const Index head = i / d;
                const bool is_hit = over == rope::NormSpan::head ? head == heads + 2 : head / heads == 1;
                if (!is_hit) REQUIRE(y[support::size(i)] == right[support::size(i)]);
            }
        }
}

TEST_CASE("pass has the bits of its reference: 1600 drawn paths for each instruction set") {
    support::for_each_isa([](const char* name) {
        INFO(name);
        for (unsigned seed = 0; seed < 400; ++seed) {
            compare<float, Layout::half_split>(seed);
            compare<rope::bfloat16, Layout::interleaved>(seed + 10000);
            compare<rope::half, Layout::half_split>(seed + 20000);
            compare<double, Layout::interleaved>(seed + 30000);
        }
    });
}

TEST_CASE("weights of a norm over a token, however they are given") {
    rope::Config config;
    config.head_dim = 32;
    const rope::CosSinCache<float> cache(config, 8);
    const std::vector<float> x = support::normal<float>(2 * 3 * 32, 1), w = support::normal<float>(3 * 32, 2);
    const std::vector<float> b = support::normal<float>(3 * 32, 3);
    const rope::NormOptions over_token = {rope::NormSpan::token};
    std::vector<std::vector<float>> results;
    for (const rope::StepNumbers& given :
         {rope::StepNumbers(rope::view(w.data(), 1, 1, 3, 32)), rope::StepNumbers(w.data()), rope::StepNumbers(w)}) {
        results.emplace_back(x.size());
        rope::pass<rope::Layout::half_split>(cache, rope::start_at(0),
                                             rope::heads(rope::view(x.data(), 2, 3, 32))
                                                 .layer_norm(given, rope::StepNumbers(b.data()), 1e-6, over_token)
                                                 .to(rope::view(results.back().data(), 2, 3, 32)));
    }
    CHECK(support::same_bits(results[0], results[1]));
    CHECK(support::same_bits(results[0], results[2]));
}

TEST_CASE("layer_norm of numbers far from zero is that of long double") {
    rope::Config config;
    config.head_dim = 64;
    const rope::CosSinCache<float> cache(config, 8);
    std::vector<float> x = support::normal<float>(2 * 3 * 64, 1), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 10000.0f + x[i] * 0.01f;
    for (const rope::NormSpan span : {rope::NormSpan::head, rope::NormSpan::token}) {
        rope::pass<rope::Layout::half_split>(cache, rope::start_at(0),
                                             rope::heads(rope::view(x.data(), 2, 3, 64))
                                                 .layer_norm(nullptr, nullptr, 1e-9, {span})
                                                 .to(rope::view(y.data(), 2, 3, 64)));
        const std::size_t count = span == rope::NormSpan::head ? 64 : 192;
        for (std::size_t begin = 0; begin < x.size(); begin += count) {
            long double sum = 0.0L, squares = 0.0L;
            for (std::size_t i = begin; i < begin + count; ++i) sum += static_cast<long double>(x[i]);
            const long double mean = sum / static_cast<long double>(count);
            for (std::size_t i = begin; i < begin + count; ++i) {
                const long double d = static_cast<long double>(x[i]) - mean;
                squares += d * d;
            }
            const long double r = 1.0L / std::sqrt(squares / static_cast<long double>(count) + 1e-9L);
            for (std::size_t i = begin; i < begin + count; ++i) {
                const long double exact = (static_cast<long double>(x[i]) - mean) * r;
                REQUIRE(std::fabs(static_cast<long double>(y[i]) - exact) <= 4e-7L * (1.0L + std::fabs(exact)));
            }
        }
    }
}

TEST_CASE("without positions they are 0, 1, 2, ...: every form of pass and check_pass") {
    rope::Config config;
    config.head_dim = 32;
    const rope::CosSinCache<float> cache(config, 8);
    constexpr rope::Layout layout = rope::Layout::half_split;
    const std::vector<float> x = support::normal<float>(2 * 3 * 4 * 32, 1);
    std::vector<float> want(x.size());
    const auto view = [](std::vector<float>& v) { return rope::view(v.data(), 2, 3, 4, 32); };
    rope::apply_copy<layout>(rope::view(x.data(), 2, 3, 4, 32), view(want), cache, rope::start_at(0));
    const auto is_rotated = [&](const auto& pass) {
        std::vector<float> y = x, z = x;
        pass(rope::heads(view(y)).rotate(), rope::heads(view(z)).rotate());
        return support::same_bits(y, want) && support::same_bits(z, want);
    };
    const Shuffled cut = {7};
    CHECK(is_rotated([&](auto& a, auto& b) { rope::pass<layout>(cache, a, b); }));
    CHECK(is_rotated([&](auto& a, auto& b) { rope::pass(layout, cache, a, b); }));
    CHECK(is_rotated([&](auto& a, auto& b) { rope::pass<layout>(rope::at_every_size(cut), cache, a, b); }));
    CHECK(is_rotated([&](auto& a, auto& b) { rope::pass(layout, rope::part(0, 1), cache, a, b); }));

    // Nine tokens have no positions in a table of eight.
    std::vector<float> longer(9 * 32, 1.0f);
    const rope::Path path = rope::heads(rope::view(longer, 9, 1, 32)).rotate();
    const std::string sentence = "positions start at 0 and seq is 9; this cache holds positions 0 to 7.";
    CHECK(rope::check_pass<layout>(cache, path).message() == sentence);
    CHECK(rope::check_pass(layout, cache, path).message() == sentence);
    CHECK(rope::check_pass<layout>(rope::part(0, 1), cache, path, path).message() == sentence);
    CHECK_THROWS_WITH(rope::pass<layout>(cache, path), sentence);
    CHECK(longer == std::vector<float>(9 * 32, 1.0f));
}

namespace {

/// The first number of a head of equal numbers, normed.
template <class T>
T normed(T x, double eps) {
    rope::Config config;
    config.head_dim = 64;
    const rope::CosSinCache<T> cache(config, 2);
    std::vector<T> head(64, x);
    rope::pass<Layout::half_split>(cache, rope::start_at(0),
                                   rope::heads(rope::view(head.data(), 1, 1, 64)).rms_norm(eps));
    return head[0];
}

}  // namespace

TEST_CASE("norms at both ends of their range, and beyond") {
    const auto is_right = [](auto x, double most) { return std::fabs(static_cast<double>(x) - 1.0) <= most; };
    for (const float x : {5.9e-39f, 1e-30f, 1e30f, 8.5e37f}) CHECK(is_right(normed(x, 0.0), 4e-7));
    for (const double x : {1.6e-154, 1e-100, 1e100, 1.6e153}) CHECK(is_right(normed(x, 0.0), 1e-15));
    CHECK(std::isinf(normed(2e-39f, 0.0)));
    CHECK(normed(1e-40f, 3.5e-77) < 0.1f);  // eps decides
    CHECK(is_right(normed(3e38f, 0.0), 1e-6));
    CHECK(normed(1e200, 0.0) == 0.0);
    CHECK(std::isinf(normed(1e-200, 0.0)));
    CHECK(normed(1e-200, 1e-6) == 1e-200 * 1e3);
}
