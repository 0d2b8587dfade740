// SPDX-License-Identifier: MIT
// Each allocation of each operation fails once: what leaves is an std::bad_alloc, nothing is lost, and every object is
// what it was before. Sizes that no machine could hold are another matter: std::invalid_argument.
#include <rope/rope.hpp>

#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/data.hpp"
#include "support/models.hpp"
#include "support/refusal.hpp"

using rope::Config;
using rope::Index;
using rope::Layout;

namespace {

struct Failures {
    long count = 0, with_sentence = 0;
};

/// Runs a call again and again: with its first allocation failing, its second, and so on, until it goes through. After
/// each failure, is_as_before() must hold. (Nothing is checked while allocations fail: Catch needs memory, too.)
template <class Call, class IsAsBefore>
Failures fail_each(const Call& call, const IsAsBefore& is_as_before) {
    Failures failures;
    for (long n = 0;; ++n) {
        CAPTURE(n);
        const long before = support::alive, made = support::allocations;
        bool has_sentence = false, is_plain = false, is_done = false;
        support::until_none_is_left = n;
        try {
            call();
            is_done = true;
        } catch (const std::bad_alloc& e) {
            has_sentence = std::strncmp(e.what(), "There is no memory for ", 23) == 0;
            is_plain = std::strcmp(e.what(), std::bad_alloc().what()) == 0;
        } catch (const std::exception&) {  // anything else is a failure below
        }
        support::until_none_is_left = -1;
        if (is_done && support::allocations - made <= n) return failures;
        const long after = support::alive;
        REQUIRE(!is_done);
        REQUIRE((has_sentence || is_plain));
        REQUIRE(after == before);
        REQUIRE(is_as_before());
        ++failures.count;
        failures.with_sentence += has_sentence ? 1 : 0;
    }
}
/// The same, where the call changes nothing that is looked at.
template <class Call>
Failures fail_each(const Call& call) {
    return fail_each(call, [] { return true; });
}

Config config_of(Index head_dim) { return support::config_of(head_dim, 10000.0); }

/// All entries of rows that lie one after the other.
template <class R>
auto entries_of(const R& rows) {
    const auto* const first = rows.cos_row(0);
    return std::vector<std::decay_t<decltype(*first)>>(first, first + 2 * rows.pairs() * rows.rows());
}

rope::ModelConfig model_of_two_tables() {
    Config xpos = config_of(32);
    xpos.schedule = rope::schedule::Xpos();
    return support::model_of({config_of(64), xpos}, {0, 1, 0}, 1000);
}

}  // namespace

TEMPLATE_TEST_CASE("tables", "", float, double) {
    const Config config = config_of(64);
    const Failures full = fail_each([&] { rope::CosSinCache<TestType> cache(config, 1000); });
    CHECK(full.count >= 10);
    CHECK(full.with_sentence >= 6);  // the table, and what it is made from
    CHECK(fail_each([&] { rope::CompactCosSinCache<TestType> cache(config, 100000); }).with_sentence >= 11);
    CHECK(fail_each([&] { rope::SinusoidalEmbedding<TestType> embedding(64, 1000); }).with_sentence >= 7);
    const std::vector<TestType> weights(640);
    CHECK(fail_each([&] { rope::LearnedEmbedding<TestType> embedding(weights.data(), 10, 64); }).with_sentence == 1);

    const rope::LearnedEmbedding<TestType> ten(weights.data(), 10, 64);
    rope::LearnedEmbedding<TestType> five(weights.data(), 5, 64);
    CHECK(fail_each([&] { five = ten; }, [&] { return five.max_positions() == 5; }).with_sentence == 1);
    CHECK(five.max_positions() == 10);

    const rope::Frequencies f = rope::frequencies(config);
    const rope::CosSinCache<TestType> cache(config, 50);
    const Failures longer = fail_each([&] { cache.extended(f, 300); }, [&] { return cache.max_positions() == 50; });
    CHECK(longer.with_sentence >= 17);  // two rows are made again, to see that the frequencies are the same
}

TEST_CASE("the table of the float32 chain") {
    const Config config = config_of(64);
    CHECK(fail_each([&] { rope::CosSinCache<float>::float32_chain(config, 1000); }).with_sentence == 1);
}

TEMPLATE_TEST_CASE("rows of a step", "", float, double) {
    for (const bool mixed : {false, true}) {
        const auto make = [&] {
            return mixed ? std::make_unique<rope::Rows<TestType>>(rope::frequencies(config_of(64)), rope::mixed_axes(2))
                         : std::make_unique<rope::Rows<TestType>>(config_of(64), rope::mrope_sections({8, 12, 12}));
        };
        CHECK(fail_each([&] { make(); }).with_sentence >= 4);
        const auto rows = make();
        const std::vector<Index> ids = {1000000, 3, 77, 5000};
        rows->build(ids, 4);
        const std::vector<TestType> there = entries_of(*rows);
        const auto as_before = [&] { return support::same_bits(entries_of(*rows), there); };
        const Failures failures = fail_each([&] { rows->build(rope::start_at(3), 9); }, as_before);
        CHECK(failures.with_sentence >= 1);
        CHECK(rows->rows() == 9);
    }
}

TEMPLATE_TEST_CASE("moves", "", float, double) {
    const Config config = config_of(64);
    Config slower = config;
    slower.base = 500000;
    CHECK(fail_each([&] { rope::Moves<TestType> moves(config); }).with_sentence >= 6);
    CHECK(fail_each([&] { rope::Moves<TestType> moves(config, 0, slower, 0); }).with_sentence >= 12);
    rope::Moves<TestType> moves(config);
    moves.build(-7);
    const std::vector<TestType> there = entries_of(moves);
    const auto as_before = [&] { return support::same_bits(entries_of(moves), there); };
    CHECK(fail_each([&] { moves.build(rope::start_at(3), rope::start_at(9), 9); }, as_before).with_sentence >= 1);
    CHECK(moves.rows() == 9);
    std::vector<TestType> keys(9 * 64, TestType(1));
    const auto untouched = [&] { return keys == std::vector<TestType>(9 * 64, TestType(1)); };
    fail_each([&] { rope::reposition<Layout::half_split>(rope::view(keys.data(), 9, 1, 64), config, 3); }, untouched);
    CHECK(!untouched());
}

TEMPLATE_TEST_CASE("the object per model, and that of a step", "", float, double) {
    const rope::ModelConfig model = model_of_two_tables();
    const rope::TableOptions options = {900, 10, 0};
    CHECK(fail_each([&] { rope::RotaryEmbedding<TestType> rotary(model, options); }).with_sentence >= 20);
    rope::RotaryEmbedding<TestType> rotary(model, options);
    const TestType* const table = rotary.table(0)->q.data();
    const auto as_before = [&] { return rotary.positions() == 10 && rotary.table(0)->q.data() == table; };
    CHECK(fail_each([&] { rotary.reserve(50); }, as_before).with_sentence >= 20);
    CHECK(rotary.positions() == 50);

    CHECK(fail_each([&] { rope::RotaryStep<TestType> step(rotary); }).with_sentence >= 18);
    rope::RotaryStep<TestType> step(rotary);
    for (long n = 0; n < 6; ++n) {  // memory that a step has got it keeps, and goes on with
        bool refused = false;
        support::until_none_is_left = n;
        try {
            n % 2 == 0 ? step.build(rope::start_at(0), 5 + n) : step.build_moves(-3);
        } catch (const std::bad_alloc&) {
            refused = true;
        }
        support::until_none_is_left = -1;
        CHECK(refused);
    }
    CHECK_NOTHROW(step.build(rope::start_at(0), 5));
    CHECK_NOTHROW(step.build_moves(-3));
}

TEMPLATE_TEST_CASE("what a call says when it is memory that is missing, and when no machine could have it", "", float,
                   double) {
    const std::string bytes = std::to_string(sizeof(TestType));
    const auto refusal = [](auto&& call) { return support::refusal(call); };
    // So many bytes are fewer than an address has bits, and more than any machine has.
    const support::Refusal missing = refusal([] { rope::CosSinCache<TestType> c(Config{8}, Index(1) << 50); });
    CHECK(missing.code == rope::StatusCode::out_of_memory);
    CHECK(missing.message == "There is no memory for 1125899906842624 rows of 8 entries of " + bytes + " bytes.");
    const std::string most = std::to_string(std::numeric_limits<std::ptrdiff_t>::max() / 2);
    const support::Refusal never = refusal([] { rope::CosSinCache<TestType> c(Config{8}, Index(1) << 61); });
    CHECK(never.code == rope::StatusCode::invalid_argument);
    CHECK(never.message == "max_positions is 2305843009213693952; 2305843009213693952 rows of 8 entries of " + bytes +
                               " bytes must not exceed what memory can hold (" + most + " bytes).");
}
