// SPDX-License-Identifier: MIT
// expect nothing: this one compiles, so that the others fail for their own reason.
#include <rope/rope.hpp>

#include <array>
#include <cstdint>
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
