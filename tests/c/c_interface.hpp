// SPDX-License-Identifier: MIT
// Shared by the tests of rope.h: calls that must pass, and structs with their sizes.
#pragma once

#include <rope/rope.h>
#include <rope/types.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

namespace c_test {

using rope::Index;

/// A struct of rope.h, cleared, with its size.
template <class S>
S make() {
    S s = {};
    s.size = sizeof(S);
    return s;
}

/// The answer of a function: its code, and its sentence.
struct Answer {
    std::int32_t code;
    std::string sentence;
};
/// f(message, room).
template <class F>
Answer ask(const F& f) {
    char message[ROPE_MESSAGE_ROOM] = "untouched";
    const std::int32_t code = f(message, sizeof(message));
    return {code, message};
}
template <class F>
void pass(const F& f) {
    const Answer a = ask(f);
    INFO(a.sentence);
    REQUIRE(a.code == ROPE_OK);
    REQUIRE(a.sentence == "untouched");
}

struct Free {
    void operator()(rope_rows* p) const { rope_rows_free(p); }
    void operator()(rope_model* p) const { rope_model_free(p); }
    void operator()(rope_embedding* p) const { rope_embedding_free(p); }
    void operator()(rope_step* p) const { rope_step_free(p); }
};
template <class H>
using Handle = std::unique_ptr<H, Free>;

/// The handle that f(&result, message, room) makes.
template <class H, class F>
Handle<H> made(const F& f) {
    H* result = nullptr;
    pass([&](char* m, std::size_t room) { return f(&result, m, room); });
    return Handle<H>(result);
}
inline Handle<rope_rows> table(const rope_config& c, Index positions, std::int32_t type = ROPE_FLOAT32, Index first = 0,
                               Index seq_len = 0) {
    auto o = make<rope_table_options>();
    o.type = type;
    o.max_positions = positions;
    o.first_position = first;
    o.seq_len = seq_len;
    return made<rope_rows>([&](auto... a) { return rope_table_new(&c, &o, a...); });
}

template <class T>
inline constexpr std::int32_t type_of = ROPE_FLOAT32;
template <>
inline constexpr std::int32_t type_of<double> = ROPE_FLOAT64;
template <>
inline constexpr std::int32_t type_of<rope::half> = ROPE_FLOAT16;
template <>
inline constexpr std::int32_t type_of<rope::bfloat16> = ROPE_BFLOAT16;
template <>
inline constexpr std::int32_t type_of<signed char> = ROPE_INT8;
template <>
inline constexpr std::int32_t type_of<unsigned char> = ROPE_UINT8;
template <>
inline constexpr std::int32_t type_of<std::int32_t> = ROPE_INT32;
template <>
inline constexpr std::int32_t type_of<std::int64_t> = ROPE_INT64;

template <class T>
rope_tensor shape(Index batch, Index seq, Index heads, Index head_dim) {
    auto t = make<rope_tensor>();
    t.type = type_of<T>;
    t.batch = batch;
    t.seq = seq;
    t.heads = heads;
    t.head_dim = head_dim;
    return t;
}

/// The rows of positions first .. first + count - 1.
template <class T>
std::vector<T> rows_of(const rope_rows* rows, Index first, Index count, Index rotary_dim) {
    std::vector<T> to(support::size(count * rotary_dim));
    auto call = make<rope_call>();
    call.start = first;
    pass([&](auto... a) { return rope_rows_write(rows, nullptr, &call, nullptr, count, 1, to.data(), a...); });
    return to;
}

}  // namespace c_test
