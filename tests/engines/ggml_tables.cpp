// SPDX-License-Identifier: MIT
// <rope/ggml.hpp>: which tables the operator makes, finds again and keeps, and its Status when there is no memory for one.
#include <rope/ggml.hpp>

#include <rope/shared_table.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "engines/ggml_tensors.hpp"
#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/data.hpp"

using namespace engines;

namespace {

using Rotation = std::shared_ptr<const rope::detail::GgmlRotation>;

ggml::RopeParams params_of_base(float base) {
    ggml::RopeParams p = params(32, neox);
    p.freq_base = base;
    return p;
}
Rotation rotation_of(float base, Index head_dim = 32) {
    Rotation found;
    CHECK(rope::detail::find_rotation(params_of_base(base), head_dim, {}, found).ok());
    return found;
}
const float* first_cosine(const rope::CosSinRows<float>& rows) { return rope::detail::RowsAccess::source(rows).cos; }

/// Two tokens of heads of 32, at positions of one axis or, in mode imrope, four.
struct Call {
    Buffer<float> x{{32, 2, 2, 1}, 0, 1};
    ggml::RopeParams p = params_of_base(10000.0f);
    std::vector<std::int32_t> at;

    explicit Call(std::vector<std::int32_t> positions) : at(std::move(positions)) {
        if (at.size() > 2) p = params(32, imrope, {6, 5, 5, 0});
    }
    rope::Status run() {
        return ggml::rope(p, x.t, x.t, list_of(Type::i32, at), {}, true, rope::no_throw(rope::part(0, 1)));
    }
};
std::vector<std::vector<std::int32_t>> positions_of_all_ways() {
    return {{3, 900},        {3, -900},        {1, 2, 3, 4, 5, 6, 7, 8},
            {3, 2000000000}, {3, -2000000000}, {1, 2, 3, 4, 5, 6, 7, INT32_MAX}};
}

}  // namespace

TEST_CASE("the first table has 512 rows, so that decoding does not grow it at once") {
    const ggml::RopeParams p = params_of_base(71.0f);
    std::vector<std::int32_t> at = {0};
    const rope::CosSinCache<float> first = ggml::table(p, 32, list_of(Type::i32, at));
    CHECK(first.max_positions() == 512);
    for (const std::int32_t position : {1, 2, 511}) {
        at[0] = position;
        CHECK(first_cosine(ggml::table(p, 32, list_of(Type::i32, at))) == first_cosine(first));
    }
    at[0] = 40959;  // of a context of 40960, when a model is loaded
    CHECK(ggml::table(p, 32, list_of(Type::i32, at)).max_positions() == 40960);
}

TEST_CASE("64 descriptions are remembered, those that were asked for last; a head of another size is another") {
    const Rotation kept = rotation_of(101.0f);
    for (int i = 0; i < 200; ++i) {
        rotation_of(1000.0f + static_cast<float>(i));
        CHECK(rotation_of(101.0f) == kept);
    }
    CHECK(rotation_of(101.0f, 48) != kept);
    CHECK(rotation_of(1199.0f) == rotation_of(1199.0f));
    for (int i = 0; i < 64; ++i) rotation_of(2000.0f + static_cast<float>(i));
    CHECK(rotation_of(101.0f) != kept);
}

TEST_CASE("tables of far positions are made once, for 16 descriptions, and found in turn") {
    std::vector<Rotation> rotations;
    for (int i = 0; i < 17; ++i) rotations.push_back(rotation_of(3000.0f + static_cast<float>(i)));
    std::vector<const float*> first;
    for (int turn = 0; turn < 3; ++turn)
        for (std::size_t i = 0; i < 16; ++i) {
            const float* const now = first_cosine(rope::detail::find_far_table(rotations[i]));
            if (turn == 0) first.push_back(now);
            CHECK(now == first[i]);
        }
    CHECK(std::set<const float*>(first.begin(), first.end()).size() == 16);
    const long alive = support::alive;
    rope::detail::find_far_table(rotations[16]);  // in the place of the first
    CHECK(support::alive == alive);
}

TEST_CASE("a call for a table that is there allocates nothing") {
    for (const auto& positions : positions_of_all_ways()) {
        CAPTURE(positions);
        Call call(positions);
        REQUIRE(call.run().ok());
        const long before = support::allocations;
        bool is_ok = true;
        for (int i = 0; i < 20; ++i) is_ok = call.run().ok() && is_ok;
        CHECK(support::allocations == before);
        CHECK(is_ok);
    }
}

TEST_CASE("a call without memory is a Status, and writes nothing") {
    float base = 5000.0f;
    for (const auto& positions : positions_of_all_ways()) {
        CAPTURE(positions);
        int failures = 0;
        for (long n = 0;; ++n) {
            Call call(positions);
            call.p.freq_base = base += 1.0f;  // a description that is not remembered
            const std::vector<float> before = call.x.numbers;
            support::until_none_is_left = n;
            const rope::Status s = call.run();
            support::until_none_is_left = -1;
            if (s.ok()) break;
            ++failures;
            REQUIRE(s.code() == rope::StatusCode::out_of_memory);
            REQUIRE(s.argument().empty());
            REQUIRE(support::same_bits(call.x.numbers, before));
            const std::string text = s.message();
            REQUIRE((text == std::string("Rotating needs memory. ") + std::bad_alloc().what() ||
                     text.find("Rotating needs memory. There is no memory for ") == 0));
        }
        CHECK(failures >= 10);
    }
    // Without no_throw the same is thrown.
    Call call({1, 2});
    call.p.freq_base = 4999.0f;
    const ggml::Tensor ids = list_of(Type::i32, call.at);
    bool is_thrown = false;
    support::until_none_is_left = 0;
    try {
        ggml::rope(call.p, call.x.t, call.x.t, ids, {}, true);
    } catch (const std::bad_alloc& e) {
        is_thrown = std::strncmp(e.what(), "Rotating needs memory. ", 23) == 0;
    }
    support::until_none_is_left = -1;
    CHECK(is_thrown);
}
