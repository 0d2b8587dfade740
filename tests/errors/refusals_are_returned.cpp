// SPDX-License-Identifier: MIT
// With no_throw() every operation returns the Status whose sentence it throws otherwise, and then writes nothing; an
// accepted call returns ok and has the bits of the call without. It is noexcept where no executor of the caller's runs.
#include <rope/gradients.hpp>
#include <rope/rope.hpp>

#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::Layout;
using rope::no_throw;
using rope::Status;

namespace {

constexpr Layout kLayout = Layout::half_split;
constexpr Index kBatch = 2, kSeq = 3, kHeads = 2, kDim = 8, kTokens = kBatch * kSeq;

rope::Config config_of_heads() {
    rope::Config config;
    config.head_dim = kDim;
    return config;
}

/// Numbers of q and k and gradients, all of which an operation may write.
struct Memory {
    std::vector<float> q = support::normal<float>(kTokens * kHeads * kDim, 1);
    std::vector<float> k = support::normal<float>(kTokens * kHeads * kDim, 2);
    std::vector<double> sums = support::normal<double>(kTokens * kDim, 3);
    auto x() { return rope::view(q, kBatch, kSeq, kHeads, kDim); }
    auto y() { return rope::view(k, kBatch, kSeq, kHeads, kDim); }
    bool operator==(const Memory& other) const {
        return support::same_bits(q, other.q) && support::same_bits(k, other.k) && support::same_bits(sums, other.sums);
    }
};

struct Counting {
    int* calls;
    template <class F>
    void operator()(Index count, const F& f) const {
        ++*calls;
        for (Index i = 0; i < count; ++i) f(i, i + 1);
    }
};

/// call(memory, executor) for the same memory: what it throws, and what it returns.
template <class Call>
void compare(const char* name, const Call& call) {
    CAPTURE(name);
    Memory thrown, returned, with_part, with_executor;
    const Memory before;
    const rope::detail::CallingThread here;
    const support::Refusal want = support::refusal([&] { call(thrown, here); });
    const auto check = [&](const Status& got, const Memory& memory) {
        CHECK(got.code() == want.code);
        CHECK((got.ok() ? std::string("(accepted)") : got.message()) == want.message);
        CHECK(memory == thrown);
    };
    static_assert(std::is_void_v<decltype(call(thrown, here))>);
    check(call(returned, no_throw()), returned);
    check(call(with_part, no_throw(rope::part(0, 1))), with_part);
    int calls = 0;
    const Counting counting = {&calls};
    check(call(with_executor, no_throw(rope::at_every_size(counting))), with_executor);
    CHECK((calls > 0) == (want.code == rope::StatusCode::ok));
    CHECK((thrown == before) == (want.code != rope::StatusCode::ok));
    // A named one, and one that is const.
    Memory again, once_more;
    auto named = no_throw();
    const auto fixed = no_throw();
    check(call(again, named), again);
    check(call(once_more, fixed), once_more);
}

rope::ModelConfig model_of_heads() {
    rope::ModelConfig model;
    model.model_type = "test";
    model.configs = {config_of_heads()};
    model.configs[0].layout = kLayout;
    model.config_of_layer = {0, -1};
    model.layer_types = {rope::LayerType::full_attention, rope::LayerType::full_attention};
    model.heads = {{kHeads, kHeads, kHeads}, {kHeads, kHeads, kHeads}};
    model.max_position_embeddings = 16;
    return model;
}

}  // namespace

TEST_CASE("operations of apply.hpp") {
    const rope::CosSinCache<float> cache(config_of_heads(), 16);
    for (const Index first : {Index(3), Index(14)}) {
        const auto positions = rope::start_at(first);
        CAPTURE(first);
        compare("apply, one", [&](Memory& m, auto&& e) { return rope::apply<kLayout>(m.x(), cache, positions, e); });
        compare("apply, two",
                [&](Memory& m, auto&& e) { return rope::apply<kLayout>(m.x(), m.y(), cache, positions, e); });
        compare("apply, two tables",
                [&](Memory& m, auto&& e) { return rope::apply<kLayout>(m.x(), m.y(), cache, cache, positions, e); });
        compare("apply_copy",
                [&](Memory& m, auto&& e) { return rope::apply_copy<kLayout>(m.x(), m.y(), cache, positions, e); });
        compare("apply_inverse",
                [&](Memory& m, auto&& e) { return rope::apply_inverse<kLayout>(m.x(), cache, positions, e); });
        compare("apply_inverse, two",
                [&](Memory& m, auto&& e) { return rope::apply_inverse<kLayout>(m.x(), m.y(), cache, positions, e); });
        compare("apply_inverse, two tables", [&](Memory& m, auto&& e) {
            return rope::apply_inverse<kLayout>(m.x(), m.y(), cache, cache, positions, e);
        });
        compare("apply_inverse_copy", [&](Memory& m, auto&& e) {
            return rope::apply_inverse_copy<kLayout>(m.x(), m.y(), cache, positions, e);
        });
        compare("apply_transpose",
                [&](Memory& m, auto&& e) { return rope::apply_transpose<kLayout>(m.x(), cache, positions, e); });
        compare("apply_transpose, two",
                [&](Memory& m, auto&& e) { return rope::apply_transpose<kLayout>(m.x(), m.y(), cache, positions, e); });
        compare("apply_transpose, two tables", [&](Memory& m, auto&& e) {
            return rope::apply_transpose<kLayout>(m.x(), m.y(), cache, cache, positions, e);
        });
        compare("apply_transpose_copy", [&](Memory& m, auto&& e) {
            return rope::apply_transpose_copy<kLayout>(m.x(), m.y(), cache, positions, e);
        });
        compare("a slab by itself", [&](Memory& m, auto&& e) {
            return rope::apply<kLayout>(m.x().slice_batch(0, 1), cache, positions, e);
        });
        for (const Layout layout : {Layout::interleaved, Layout::half_split, static_cast<Layout>(7)})
            compare("apply(layout, ...)",
                    [&](Memory& m, auto&& e) { return rope::apply(layout, m.x(), cache, positions, e); });
    }
}

TEST_CASE("passes, moves and models") {
    const rope::CosSinCache<float> cache(config_of_heads(), 16);
    const rope::RotaryEmbedding<float> rotary(model_of_heads());
    rope::RotaryStep<float> step(rotary), unbuilt(rotary);
    step.build(rope::start_at(2), kSeq);
    step.build_moves(-3);
    rope::Moves<float> moves(config_of_heads()), of_others(config_of_heads());
    moves.build(5);
    of_others.build({1, 2}, {3, 4}, 2);
    const rope::SinusoidalEmbedding<float> embedding(kHeads * kDim, 16);
    for (const Index first : {Index(3), Index(14)}) {
        const auto positions = rope::start_at(first);
        CAPTURE(first);
        const auto path = [](Memory& m) { return rope::heads(m.x()).rms_norm(1e-6).rotate(); };
        compare("pass", [&](Memory& m, auto&& e) { return rope::pass<kLayout>(e, cache, positions, path(m)); });
        compare("pass(layout, ...)",
                [&](Memory& m, auto&& e) { return rope::pass(kLayout, e, cache, positions, path(m)); });
        compare("pass_backward", [&](Memory& m, auto&& e) {
            return rope::pass_backward<kLayout>(e, cache, positions, path(m), m.y(), m.y());
        });
        compare("RotaryEmbedding::apply",
                [&](Memory& m, auto&& e) { return rotary.apply(0, m.x(), m.y(), positions, e); });
        compare("AdditiveEmbedding::add", [&](Memory& m, auto&& e) { return embedding.add(m.x(), positions, e); });
    }
    compare("RotaryEmbedding::apply", [&](Memory& m, auto&& e) { return rotary.apply(2, m.x(), m.y(), {}, e); });
    compare("RotaryStep::apply", [&](Memory& m, auto&& e) { return step.apply(0, m.x(), m.y(), e); });
    compare("RotaryStep::apply", [&](Memory& m, auto&& e) { return step.apply(-1, m.x(), m.y(), e); });
    compare("RotaryStep::apply", [&](Memory& m, auto&& e) { return unbuilt.apply(0, m.x(), m.y(), e); });
    compare("RotaryStep::reposition", [&](Memory& m, auto&& e) { return step.reposition(0, m.y(), e); });
    compare("RotaryStep::reposition", [&](Memory& m, auto&& e) { return step.reposition(9, m.y(), e); });
    compare("RotaryStep::reposition", [&](Memory& m, auto&& e) { return unbuilt.reposition(0, m.y(), e); });
    compare("reposition", [&](Memory& m, auto&& e) { return rope::reposition<kLayout>(m.y(), moves, e); });
    compare("reposition", [&](Memory& m, auto&& e) { return rope::reposition<kLayout>(m.y(), of_others, e); });
    // Nothing to do in a layer without RoPE.
    Memory m;
    CHECK(rotary.apply(1, m.x(), m.y(), {}, no_throw()).ok());
    CHECK(m == Memory());
}

TEST_CASE("gradients") {
    const rope::CosSinCache<float> cache(config_of_heads(), 16);
    const rope::Frequencies f = rope::frequencies(config_of_heads());
    const std::vector<double> angles = support::normal<double>(kTokens * kDim / 2, 4);
    for (const Index pairs : {kDim / 2, kDim / 2 - 1}) {
        CAPTURE(pairs);
        const auto given = rope::view(angles, kBatch, kSeq, 1, kDim / 2);
        const auto by_pair = [&](Memory& m) { return rope::view(m.sums.data(), 1, 1, 1, pairs); };
        const auto all = [&](Memory& m) { return rope::view(m.sums.data(), kBatch, kSeq, 1, pairs); };
        compare("add_angle_gradients", [&](Memory& m, auto&& e) {
            return rope::add_angle_gradients<kLayout>(m.x(), m.y(), cache, all(m), {}, e);
        });
        compare("add_frequency_gradients", [&](Memory& m, auto&& e) {
            return rope::add_frequency_gradients(given, rope::start_at(1), by_pair(m), e);
        });
        const std::vector<int> ids(kTokens, 2);
        compare("add_frequency_gradients, axes", [&](Memory& m, auto&& e) {
            return rope::add_frequency_gradients(given, rope::AxisPositions(ids, 1), rope::AxisMap(), by_pair(m), e);
        });
        compare("add_row_sums", [&](Memory& m, auto&& e) { return rope::add_row_sums(given, by_pair(m), e); });
        const Index tokens = pairs == kDim / 2 ? kTokens : kTokens - 1;
        const auto by_token = [&](Memory& m) { return rope::view(m.sums.data(), 1, tokens, 1, 1); };
        compare("add_position_gradients",
                [&](Memory& m, auto&& e) { return rope::add_position_gradients(given, f, by_token(m), e); });
        compare("add_position_gradients, axes", [&](Memory& m, auto&& e) {
            return rope::add_position_gradients(given, f, rope::AxisMap(), by_token(m), e);
        });
    }
}

TEST_CASE("such calls are noexcept without an executor of the caller's, whose exceptions pass through") {
    const rope::CosSinCache<float> cache(config_of_heads(), 16);
    Memory m;
    const auto x = m.x();
    const rope::Positions positions;
    const rope::Path path = rope::heads(x).rotate();
    const rope::Part part = rope::part(0, 1);
    static_assert(noexcept(rope::apply<kLayout>(x, cache, positions, no_throw())));
    static_assert(noexcept(rope::apply<kLayout>(x, x, cache, cache, positions, no_throw(part))));
    static_assert(noexcept(rope::pass<kLayout>(no_throw(), cache, positions, path)));
    static_assert(!noexcept(rope::apply<kLayout>(x, cache, positions)));
    const auto failing = [](Index, auto&&) { throw std::runtime_error("no thread"); };
    static_assert(!noexcept(rope::apply<kLayout>(x, cache, positions, no_throw(failing))));
    CHECK_THROWS_AS(rope::apply<kLayout>(x, cache, positions, no_throw(rope::at_every_size(failing))),
                    std::runtime_error);
    CHECK(m == Memory());
}
