// SPDX-License-Identifier: MIT
// Calls through rope.h have the bits of those of the C++ headers: every type, layout, direction and kind of positions, in
// place and out of place, with parts and executors; so do moves.
#include <rope/rope.h>
#include <rope/rope.hpp>

#include <functional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "c/c_interface.hpp"
#include "c/partly_rotated.hpp"

using c_test::config_in_c;
using c_test::config_in_cpp;
using c_test::expected_table;
using c_test::given_table;
using c_test::kBatch;
using c_test::kDim;
using c_test::kHeads;
using c_test::kSeq;
using c_test::kTokens;
using c_test::made;
using c_test::make;
using c_test::pass;
using rope::Index;
using rope::Layout;
using support::same_bits;
using support::size;

namespace {

/// Positions, said in both languages.
struct Given {
    std::string name;
    rope_call call;
    const void* ids;
    std::function<rope::Positions()> in_cpp;
};
const std::vector<std::int32_t> kIds = {7, 0, 299}, kStarts = {5, 100};
const std::vector<std::int64_t> kEveryId = {7, 0, 299, 1, 1, 20}, kWideStarts = {6, 9};

std::vector<Given> all_positions() {
    std::vector<Given> all;
    auto call = make<rope_call>();
    all.push_back({"none", call, nullptr, [] { return rope::Positions(); }});
    call.start = 17;
    all.push_back({"a start", call, nullptr, [] { return rope::start_at(17); }});
    call = make<rope_call>();
    call.positions = ROPE_IDS;
    call.ids_type = ROPE_INT32;
    call.ids_count = 3;
    all.push_back({"ids", call, kIds.data(), [] { return rope::Positions(kIds); }});
    call.ids_type = ROPE_INT64;
    call.ids_count = 6;
    all.push_back({"ids of every token", call, kEveryId.data(), [] { return rope::Positions(kEveryId); }});
    call.positions = ROPE_STARTS;
    call.ids_count = 2;
    all.push_back({"starts", call, kWideStarts.data(), [] { return rope::start_at(kWideStarts); }});
    call.ids_type = ROPE_INT32;
    all.push_back({"starts of 32 bits", call, kStarts.data(), [] { return rope::start_at(kStarts); }});
    return all;
}

template <class T>
void rotate(std::int32_t direction, Layout layout, rope::TensorView<T> x, rope::TensorView<T> k,
            const rope::Positions& p) {
    const auto& table = expected_table<support::TableOf<T>>();
    if (direction == ROPE_FORWARD) rope::apply(layout, x, k, table, p);
    if (direction == ROPE_INVERSE) rope::apply_inverse(layout, x, k, table, p);
    if (direction == ROPE_TRANSPOSE) rope::apply_transpose(layout, x, k, table, p);
}

template <class T>
void compare_calls() {
    const auto* const rows = given_table<support::TableOf<T>>();
    const std::vector<T> x = support::normal<T>(kTokens * kHeads * kDim, 1), y = support::normal<T>(kTokens * kDim, 2);
    const rope_tensor of_x = c_test::shape<T>(kBatch, kSeq, kHeads, kDim),
                      of_y = c_test::shape<T>(kBatch, kSeq, 1, kDim);
    for (const Given& given : all_positions())
        for (const std::int32_t direction : {ROPE_FORWARD, ROPE_INVERSE, ROPE_TRANSPOSE})
            for (const std::int32_t layout : {ROPE_INTERLEAVED, ROPE_HALF_SPLIT}) {
                INFO(given.name << ", direction " << direction << ", layout " << layout);
                const Layout in_cpp = layout == ROPE_INTERLEAVED ? Layout::interleaved : Layout::half_split;
                rope_call call = given.call;
                call.direction = direction;
                call.layout = layout;
                std::vector<T> q = x, k = y, alone = x, q_cpp = x, k_cpp = y, copy(x.size());
                rotate(direction, in_cpp, rope::view(q_cpp.data(), kBatch, kSeq, kHeads, kDim),
                       rope::view(k_cpp.data(), kBatch, kSeq, 1, kDim), given.in_cpp());
                pass([&](auto... a) {
                    return rope_apply_qk(rows, nullptr, &call, given.ids, q.data(), &of_x, k.data(), &of_y, a...);
                });
                pass([&](auto... a) { return rope_apply(rows, &call, given.ids, alone.data(), &of_x, a...); });
                pass([&](auto... a) {
                    return rope_apply_copy(rows, &call, given.ids, x.data(), &of_x, copy.data(), &of_x, a...);
                });
                CHECK(same_bits(q, q_cpp));
                CHECK(same_bits(k, k_cpp));
                CHECK(same_bits(alone, q_cpp));
                CHECK(same_bits(copy, q_cpp));

                // Asked only whether it would, a call says so and writes nothing.
                call.only_checks = 1;
                pass([&](auto... a) { return rope_apply(rows, &call, given.ids, q.data(), &of_x, a...); });
                CHECK(same_bits(q, q_cpp));
            }
}

}  // namespace

TEST_CASE("rotations of every type, layout, direction and kind of positions") {
    compare_calls<float>();
    compare_calls<rope::half>();
    compare_calls<rope::bfloat16>();
    compare_calls<double>();
}

TEST_CASE("strides, other types of q and k, and of in and out") {
    std::vector<float> x = support::normal<float>(kTokens * kHeads * 100, 3), x_cpp = x;
    std::vector<rope::bfloat16> k = support::normal<rope::bfloat16>(kTokens * kDim, 4), k_cpp = k;
    rope_tensor of_x = c_test::shape<float>(1, kTokens, kHeads, kDim);
    of_x.seq_stride = 100;
    of_x.head_stride = kTokens * 100;
    of_x.feature_stride = 1;
    const rope_tensor of_k = c_test::shape<rope::bfloat16>(1, kTokens, 1, kDim);
    auto call = make<rope_call>();
    call.layout = ROPE_HALF_SPLIT;
    call.start = 3;
    const rope::TensorView<float> in_cpp = {x_cpp.data(), 1, kTokens, kHeads, kDim, 0, 100, kTokens * 100, 1};
    pass([&](auto... a) {
        return rope_apply_qk(given_table<float>(), nullptr, &call, nullptr, x.data(), &of_x, k.data(), &of_k, a...);
    });
    rope::apply<Layout::half_split>(in_cpp, rope::view(k_cpp.data(), kTokens, 1, kDim), expected_table<float>(),
                                    rope::start_at(3));
    CHECK(same_bits(x, x_cpp));
    CHECK(same_bits(k, k_cpp));

    // q by itself, forward from a start on, and with strides: a usual call, too.
    pass([&](auto... a) { return rope_apply(given_table<float>(), &call, nullptr, x.data(), &of_x, a...); });
    rope::apply<Layout::half_split>(in_cpp, expected_table<float>(), rope::start_at(3));
    CHECK(same_bits(x, x_cpp));

    std::vector<rope::half> out(size(kTokens * kDim)), out_cpp = out;
    const rope_tensor of_out = c_test::shape<rope::half>(1, kTokens, 1, kDim);
    pass([&](auto... a) {
        return rope_apply_copy(given_table<float>(), &call, nullptr, k.data(), &of_k, out.data(), &of_out, a...);
    });
    rope::apply_copy<Layout::half_split>(rope::view(k.data(), kTokens, 1, kDim),
                                         rope::view(out_cpp.data(), kTokens, 1, kDim), expected_table<float>(),
                                         rope::start_at(3));
    CHECK(same_bits(out, out_cpp));
}

TEST_CASE("a table for keys of their own, and the layout that rows are made for") {
    auto c = make<rope_config>();
    c.head_dim = kDim;
    c.layout = ROPE_INTERLEAVED;
    c.schedule = ROPE_XPOS_QUERIES;
    const auto of_q = c_test::table(c, 20);
    c.schedule = ROPE_XPOS_KEYS;
    const auto of_k = c_test::table(c, 20);
    rope::Config config;
    config.head_dim = kDim;
    config.schedule = rope::schedule::Xpos{rope::schedule::Xpos::Side::query};
    const rope::CosSinCache<float> q_table(config, 20);
    config.schedule = rope::schedule::Xpos{rope::schedule::Xpos::Side::key};
    const rope::CosSinCache<float> k_table(config, 20);
    std::vector<float> q = support::normal<float>(kTokens * kDim, 5), k = q, q_cpp = q, k_cpp = q;
    const rope_tensor t = c_test::shape<float>(1, kTokens, 1, kDim);
    pass([&](auto... a) {
        return rope_apply_qk(of_q.get(), of_k.get(), nullptr, nullptr, q.data(), &t, k.data(), &t, a...);
    });
    rope::apply<Layout::interleaved>(rope::view(q_cpp.data(), kTokens, 1, kDim),
                                     rope::view(k_cpp.data(), kTokens, 1, kDim), q_table, k_table);
    CHECK(same_bits(q, q_cpp));
    CHECK(same_bits(k, k_cpp));
}

namespace {

void run_in_pieces(void* context, std::int64_t count, rope_work work, void* job) {
    auto& pieces = *static_cast<int*>(context);
    for (std::int64_t i = 0; i < count; ++i) {
        work(job, i, i + 1);
        ++pieces;
    }
}

}  // namespace

TEST_CASE("parts and executors") {
    const std::vector<float> x = support::normal<float>(kTokens * kHeads * kDim, 6);
    std::vector<float> whole = x;
    const rope_tensor t = c_test::shape<float>(kBatch, kSeq, kHeads, kDim);
    auto call = make<rope_call>();
    call.layout = ROPE_HALF_SPLIT;
    pass([&](auto... a) { return rope_apply(given_table<float>(), &call, nullptr, whole.data(), &t, a...); });

    for (const Index parts : {1, 2, 3, 5}) {
        std::vector<float> y = x;
        std::vector<std::thread> threads;
        for (Index i = 0; i < parts; ++i)
            threads.emplace_back([&, i] {
                rope_call mine = call;
                mine.part = i;
                mine.parts = parts;
                rope_apply(given_table<float>(), &mine, nullptr, y.data(), &t, nullptr, 0);
            });
        for (std::thread& thread : threads) thread.join();
        CHECK(same_bits(y, whole));
    }

    std::vector<float> y = x;
    int pieces = 0;
    call.executor = &run_in_pieces;
    call.executor_context = &pieces;
    pass([&](auto... a) { return rope_apply(given_table<float>(), &call, nullptr, y.data(), &t, a...); });
    CHECK(same_bits(y, whole));
    CHECK(pieces == 0);  // the call is small
    y = x;
    call.at_every_size = 1;
    pass([&](auto... a) { return rope_apply(given_table<float>(), &call, nullptr, y.data(), &t, a...); });
    CHECK(same_bits(y, whole));
    CHECK(pieces > 0);
}

TEST_CASE("moves of keys") {
    const rope_config c = config_in_c();
    auto other = c;
    other.base = 5e5;
    const rope::Config config = config_in_cpp();
    rope::Config other_config = config;
    other_config.base = 5e5;
    const auto moves =
        made<rope_rows>([&](auto... a) { return rope_moves_new(&c, nullptr, nullptr, nullptr, nullptr, a...); });
    const auto between =
        made<rope_rows>([&](auto... a) { return rope_moves_new(&c, nullptr, &other, nullptr, nullptr, a...); });
    rope::Moves<float> moves_cpp(config), between_cpp(config, 0, other_config, 0);
    const std::vector<float> x = support::normal<float>(kTokens * kHeads * kDim, 7);
    std::vector<float> k, k_cpp;
    const rope_tensor t = c_test::shape<float>(kBatch, kSeq, kHeads, kDim);
    auto buffer = make<rope_buffer>();
    buffer.shape = &t;
    auto keys = make<rope_heads>();
    keys.codes = &buffer;
    auto call = make<rope_call>();
    call.layout = ROPE_INTERLEAVED;
    const auto compare = [&](const rope_rows* in_c, const rope::Moves<float>& in_cpp) {
        k = x;
        k_cpp = x;
        buffer.data = k.data();
        pass([&](auto... a) { return rope_reposition(in_c, &call, &keys, 0, a...); });
        rope::reposition<Layout::interleaved>(rope::view(k_cpp.data(), kBatch, kSeq, kHeads, kDim), in_cpp);
        CHECK(same_bits(k, k_cpp));
    };
    pass([&](auto... a) { return rope_moves_build(moves.get(), -1024, a...); });
    moves_cpp.build(-1024);
    compare(moves.get(), moves_cpp);

    auto ids = make<rope_call>();
    ids.positions = ROPE_IDS;
    ids.ids_type = ROPE_INT64;
    ids.ids_count = 6;
    pass([&](auto... a) { return rope_moves_build_each(moves.get(), &ids, kEveryId.data(), kSeq, kBatch, a...); });
    moves_cpp.build(kEveryId, kSeq, kBatch);
    compare(moves.get(), moves_cpp);

    auto from = make<rope_call>();
    from.start = 50;
    pass([&](auto... a) {
        return rope_moves_build_between(between.get(), &from, nullptr, &ids, kEveryId.data(), kSeq, kBatch, a...);
    });
    between_cpp.build(rope::start_at(50), kEveryId, kSeq, kBatch);
    compare(between.get(), between_cpp);

    // Under a Hadamard transform of blocks, and of the head.
    for (const Index block : {16, -1}) {
        k = x;
        k_cpp = x;
        buffer.data = k.data();
        pass([&](auto... a) { return rope_reposition(between.get(), &call, &keys, block, a...); });
        const auto view = rope::view(k_cpp.data(), kBatch, kSeq, kHeads, kDim);
        rope::reposition<Layout::interleaved>(rope::under_hadamard(view, block < 0 ? kDim : block), between_cpp);
        CHECK(same_bits(k, k_cpp));
    }
}

TEST_CASE("instruction sets") {
    CHECK(std::string(rope_version()) == ROPE_VERSION_STRING);
    CHECK(std::string(rope_active_isa()) == rope::active_isa());
    Index count = 0;
    for (; rope_available_isa(count) != nullptr; ++count) {
        const char* const name = rope_available_isa(count);
        pass([&](auto... a) { return rope_force_isa(name, a...); });
        CHECK(std::string(rope_active_isa()) == name);
    }
    CHECK(count >= 1);
    CHECK(rope_available_isa(-1) == nullptr);
    pass([&](auto... a) { return rope_force_isa(nullptr, a...); });
    const c_test::Answer a = c_test::ask([](auto... m) { return rope_force_isa("sse9", m...); });
    CHECK(a.code == ROPE_INVALID_ARGUMENT);
    CHECK(a.sentence.find("sse9") != std::string::npos);
}
