// SPDX-License-Identifier: MIT
// What calls take of the stack, for engines whose threads have little of it: every element type, from every storage
// order to every other, with the rows of every kind of table. Measured as the bytes of a thread's stack that change.
#include <rope/additive.hpp>
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>
#include <rope/gradients.hpp>
#include <rope/heads.hpp>

#include <rope/detail/views/loop_order.hpp>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

using rope::Index;
using rope::Layout;
using support::size;

namespace {

constexpr std::size_t kStack = 1 << 18;
/// What apply.hpp states, and the table of include/rope/detail/README.md.
constexpr std::size_t kMostInDouble = 24 << 10, kMostElse = 16 << 10;

/// How many bytes of its stack a thread needs that makes this call.
template <class Call>
std::size_t stack_of(Call& call) {
    alignas(4096) static unsigned char stack[kStack];
    constexpr unsigned char mark = 0xa5;
    std::fill(std::begin(stack), std::end(stack), mark);
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstack(&attributes, stack, kStack) == 0);
    pthread_t thread;
    const auto run = [](void* f) -> void* { return (*static_cast<Call*>(f))(), nullptr; };
    REQUIRE(pthread_create(&thread, &attributes, run, &call) == 0);
    REQUIRE(pthread_join(thread, nullptr) == 0);
    pthread_attr_destroy(&attributes);
    const unsigned char* const first =
        std::find_if(std::begin(stack), std::end(stack), [](auto b) { return b != mark; });
    return static_cast<std::size_t>(std::end(stack) - first);
}

/// A tensor of 80 tokens and 3 heads, of which neighbours in memory are features, heads, or tokens.
template <class X>
std::array<rope::TensorView<X>, 3> orders(std::vector<X>& x, Index d) {
    constexpr Index seq = 80, heads = 3;
    x.assign(size(seq * heads * d), X());
    return {rope::TensorView<X>{x.data(), 1, seq, heads, d, 0, heads * d, d, 1},
            rope::TensorView<X>{x.data(), 1, seq, heads, d, 0, heads * d, 1, heads},
            rope::TensorView<X>{x.data(), 1, seq, heads, d, 0, 1, seq, seq * heads}};
}

std::size_t most = 0;
template <class Call>
void measure(Call&& call) {
    auto nothing = [] {};
    const std::size_t thread = stack_of(nothing), all = stack_of(call);
    most = std::max(most, all - thread);
}

template <class In, class Out, class T>
void measure_all() {
    std::vector<In> a;
    std::vector<Out> b;
    for (const Index d : {Index(128), Index(80), Index(4096)}) {
        const rope::Config config = {d};
        const rope::CosSinCache<T> full(config, 100);
        const rope::CompactCosSinCache<T> compact(rope::Config{std::min<Index>(d, 2048)}, 100);
        for (const auto& in : orders(a, d))
            for (const auto& out : orders(b, d))
                for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
                    measure([&] { rope::apply_copy(layout, in, out, full, rope::start_at(3)); });
                    measure([&] { rope::apply_inverse_copy(layout, in, out, full, rope::start_at(3)); });
                    measure([&] { rope::apply(layout, in, full); });
                    if (d <= 2048) measure([&] { rope::apply_copy(layout, in, out, compact); });
                    if (d <= 2048) measure([&] { rope::apply(layout, in, compact); });
                }
    }
}

/// Calls so large that heads go past the caches, by way of the stack.
template <class In, class Out, class T>
void measure_large() {
    const Index d = 256, seq = rope::detail::kCachedBytes<true> / (2 * d * Index(sizeof(Out))) + 1;
    const std::vector<In> a(size(2 * seq * d));
    std::vector<Out> b(a.size());
    const auto in = rope::view(a.data(), seq, 2, d);
    const auto out = rope::view(b.data(), seq, 2, d);
    const rope::CompactCosSinCache<T> rows(rope::Config{d}, seq);
    measure([&] { rope::apply_copy(Layout::half_split, in, out, rows); });
    measure([&] { rope::apply_inverse_copy(Layout::half_split, in, out, rows); });
}

/// A path with every step that has memory of its own.
template <class X>
std::size_t stack_of_a_pass() {
    using T = support::TableOf<X>;
    most = 0;
    for (const Index d : {Index(128), Index(2048)}) {
        std::vector<X> x(size(3 * d)), y(x.size());
        const rope::CompactCosSinCache<T> rows(rope::Config{d}, 100);
        std::vector<X> z(x.size()), w(x.size(), X());
        const auto in = rope::view(x.data(), 1, 3, d), out = rope::view(y.data(), 1, 3, d);
        const auto other = rope::view(z.data(), 1, 3, d);
        for (const rope::RotateRounding rounding : {rope::RotateRounding::none, rope::RotateRounding::all})
            measure([&] {
                rope::pass<Layout::half_split>(
                    rows, rope::start_at(3),
                    rope::heads(in)
                        .rms_norm(w.data(), 1e-6, {rope::NormSpan::token, rope::NormRounding::normalised, true})
                        .rotate(rounding)
                        .hadamard()
                        .round(),
                    rope::heads(other).rotate_into(Layout::interleaved).to(out));
            });
    }
    return most;
}

/// Gradients of angles, and the way back through a norm.
template <class X>
std::array<std::size_t, 2> stack_of_gradients() {
    using T = support::TableOf<X>;
    std::array<std::size_t, 2> result = {};
    for (const Index d : {Index(128), Index(2048)}) {
        std::vector<X> x(size(3 * d)), g(x.size()), w(size(d), X());
        std::vector<double> angles(size(d)), dw(size(d));
        const rope::CompactCosSinCache<T> rows(rope::Config{d}, 100);
        // Features that are not contiguous are gathered first.
        const rope::TensorView<X> in = {x.data(), 1, 1, 3, d, 0, 0, 1, 3};
        const auto of_g = rope::view(g.data(), 1, 3, d);
        for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
            most = 0;
            measure([&] {
                rope::add_angle_gradients(layout, in, of_g, rows, rope::view(angles.data(), 1, 1, d / 2),
                                          rope::view(angles.data() + d / 2, 1, 1, d / 2));
            });
            result[0] = std::max(result[0], most);
        }
        most = 0;
        measure([&] {
            rope::pass_backward<Layout::half_split>(rows, rope::start_at(3),
                                                    rope::heads(in).rms_norm(w.data(), 1e-6, {{}, {}, true}).rotate(),
                                                    of_g, of_g, rope::view(dw.data(), 1, 1, d));
        });
        result[1] = std::max(result[1], most);
    }
    return result;
}

}  // namespace

TEST_CASE("a call takes no more of the stack than is said") {
    support::for_each_isa([&](const char* isa) {
        if (isa == std::string("emulated")) return;  // its registers are arrays; it is for tests alone
        most = 0;
        measure_all<double, double, double>();
        measure_large<double, double, double>();
        const std::size_t of_doubles = most;
        most = 0;
        measure_all<float, float, float>();
        measure_all<float, rope::half, float>();
        measure_large<float, float, float>();
        measure_all<rope::bfloat16, rope::bfloat16, float>();
        std::printf("stack, %s: %zu bytes for doubles, %zu for others\n", isa, of_doubles, most);
        CAPTURE(isa);
        CHECK(of_doubles > 8192);  // a tile and a stage, or it was not measured
        CHECK(of_doubles <= kMostInDouble);
        CHECK(most <= kMostElse);
    });
}

TEST_CASE("nor does a pass") {
    support::for_each_isa([&](const char* isa) {
        if (isa == std::string("emulated")) return;
        const std::size_t of_doubles = stack_of_a_pass<double>(), of_floats = stack_of_a_pass<float>();
        std::printf("stack of a pass, %s: %zu bytes for doubles, %zu for others\n", isa, of_doubles, of_floats);
        CHECK(of_floats > 16384);  // the tiles, or it was not measured
        CHECK(of_doubles <= 64 << 10);
        CHECK(of_floats <= 36 << 10);
    });
}

TEST_CASE("nor do gradients") {
    support::for_each_isa([&](const char* isa) {
        if (isa == std::string("emulated")) return;
        const auto of_doubles = stack_of_gradients<double>(), of_others = stack_of_gradients<rope::half>();
        std::printf("stack of gradients, %s: %zu and %zu bytes for doubles, %zu and %zu for others\n", isa,
                    of_doubles[0], of_doubles[1], of_others[0], of_others[1]);
        CHECK(of_others[0] > 4096);  // the sums, or it was not measured
        CHECK(of_doubles[0] <= 8 << 10);
        CHECK(of_others[0] <= 8 << 10);
        CHECK(of_doubles[1] <= 72 << 10);
        CHECK(of_others[1] <= 40 << 10);
    });
}
