// SPDX-License-Identifier: MIT
// expect nothing: this one compiles, so that the others fail for their own reason.
#include <rope/rope.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

/// A view as std::span is one, which C++17 has not.
struct Span {
    using element_type = float;
    float* first;
    std::size_t count;
    float* data() const { return first; }
    std::size_t size() const { return count; }
};

std::vector<int> made();
Span span_of(std::vector<float>& list);

void user(float* q, const rope::CosSinCache<float>& cache) {
    constexpr rope::Layout layout = rope::Layout::half_split;
    const rope::Index n = 5;
    const std::vector<int> list = {5};
    rope::apply<layout>(rope::view(q, 1, 1, 8), cache, rope::start_at(5));
    // Temporaries that live as long as the call, and what has a name.
    rope::apply<layout>(rope::view(q, 1, 1, 8), cache, made());
    rope::apply<layout>(rope::view(q, 1, 1, 8), cache, rope::start_at(made()));
    rope::apply<layout>(rope::view(q, 1, 1, 8), cache, {n});
    rope::apply<layout>(rope::view(q, 1, 1, 8), cache, {});
    const rope::Positions p = list, starts = rope::start_at(list);
    for (const rope::Positions& each : {p, starts}) rope::apply(layout, rope::view(q, 1, 1, 8), cache, each);
}

void buffers(std::vector<float>& q, const std::vector<float>& in, std::array<rope::half, 8>& out,
             const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache);
    rope::apply<rope::Layout::half_split>(rope::view(span_of(q), 1, 1, 1, 8), cache);  // outlives the line
    rope::apply_copy<rope::Layout::half_split>(rope::view(in, 1, 1, 8), rope::view(out, 1, 1, 8), cache);
    std::uint16_t bits[8] = {};
    rope::apply<rope::Layout::half_split>(rope::view(rope::as_half(bits), 1, 1, 8), cache);
}

/// Executors as programs write them.
void pool(rope::Index count, const std::function<void(rope::Index, rope::Index)>& f);
struct Pool {
    template <class F>
    void operator()(std::size_t count, F&& f) {
        f(0, static_cast<rope::Index>(count));
    }
};
void executors(float* q, const rope::CosSinCache<float>& cache) {
    constexpr rope::Layout layout = rope::Layout::half_split;
    const rope::TensorView<float> x = rope::view(q, 1, 1, 8);
    Pool object;
    rope::apply<layout>(x, cache, rope::start_at(5),
                        [](auto count, const auto& f) { f(0, count / 2), f(count / 2, count); });
    rope::apply<layout>(x, cache, rope::start_at(5), [](long long count, auto f) { f(0, count); });
    rope::apply<layout>(x, cache, {5}, [calls = 0](rope::Index count, auto&& f) mutable { f(calls++, count); });
    rope::apply<layout>(x, cache, {5}, pool);
    rope::apply<layout>(x, cache, {5}, &pool);
    rope::apply<layout>(x, cache, {5}, object);
    rope::apply<layout>(x, cache, {5}, std::ref(object));
    rope::apply<layout>(x, cache, {5}, rope::at_every_size(object));
    rope::pass<layout>(rope::part(0, 2), cache, {5}, rope::heads(x).rotate());
}

void passes(float* q, const rope::CosSinCache<float>& cache, rope::Layout layout) {
    rope::Path path = rope::heads(rope::view(q, 1, 1, 8)).rotate();
    rope::pass<rope::Layout::half_split>(cache, path);
    rope::pass<rope::Layout::half_split>(cache, path, rope::heads(rope::view(q, 1, 1, 8)));
    rope::pass(layout, rope::part(0, 1), cache, path, path);
    (void)rope::check_pass(layout, cache, path).ok();
    (void)rope::check_pass<rope::Layout::half_split>(rope::part(0, 1), cache, path).ok();
}

// Pages of a cache, without slots until a step gives them.
void slots_come_later(std::vector<float>& memory, float* q, const rope::CosSinCache<float>& cache) {
    const auto pages = rope::paged(memory, 2, 4, 1, 8);
    const rope::Paged<float> heads_first = rope::paged_heads_first(memory.data(), 2, 1, 4, 8);
    const std::vector<int> slots = {7};
    rope::pass<rope::Layout::half_split>(cache,
                                         rope::heads(rope::view(q, 1, 1, 8)).rotate().to(pages.with_slots(slots)),
                                         rope::heads(rope::view(q, 1, 1, 8)).to(heads_first.with_slots(slots)));
}

// A program's own functions of the same names are called, though the library's are found by the types of arguments.
namespace engine {
struct Step {};
void apply(rope::TensorView<const float> x, const rope::CosSinRows<float>& rows, long layer);
int check(rope::TensorView<const float> x, Step);
template <class X>
int pass(const X& x, rope::Positions positions);
float to_float(rope::bfloat16 x);
template <class X>
double to_float(X x);
int use(float* q, const rope::CosSinCache<float>& cache) {
    const rope::TensorView<float> x = rope::view(q, 1, 1, 8);
    apply(x, cache, 5);
    const std::vector<int> list = {5};
    const float one = to_float(rope::bfloat16());
    const double other = to_float(rope::half());
    return check(x, Step()) + pass(x, list) + static_cast<int>(one) + static_cast<int>(other);
}
}  // namespace engine
