// SPDX-License-Identifier: MIT
// A table is refused where it was not made for: for a layout that its Config excludes, for sequences longer than its
// schedule's numbers serve, for an extension by other frequencies. Nothing is written then, and an extension has the
// bits of a table made at once.
#include <rope/core.hpp>

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::Config;
using rope::CosSinCache;
using rope::Index;
using rope::Layout;
using support::refusal;
namespace schedule = rope::schedule;

namespace {

constexpr Index kDim = 8;

Config with_layout(std::optional<Layout> layout) {
    Config config = {kDim};
    config.attention_factor = 1.5;
    config.layout = layout;
    return config;
}

Config with_schedule(const rope::Schedule& s) {
    Config config = {kDim};
    config.schedule = s;
    return config;
}

/// q, k and a target for copies, which no refused call may change.
struct Data {
    std::vector<float> q = support::normal<float>(5 * 3 * kDim, 1), k = support::normal<float>(5 * kDim, 2), out = q;
    std::vector<float> q_before = q, k_before = k;

    /// Plain, or with reversed tokens: then it is the slow checks that decide.
    rope::TensorView<float> view(std::vector<float>& x, Index heads, bool plain) {
        rope::TensorView<float> v = rope::view(x.data(), 5, heads, kDim);
        if (plain) return v;
        v.data += 4 * v.seq_stride;
        v.seq_stride = -v.seq_stride;
        return v;
    }
    bool is_untouched() const { return q == q_before && k == k_before && out == q_before; }
};

const char* name_of(Layout layout) { return layout == Layout::interleaved ? "interleaved" : "half_split"; }

/// Every call with a layout that the tables refuse. Each must say so, and write nothing.
template <Layout layout>
void refuses_layout(const CosSinCache<float>& named, const CosSinCache<float>& open, bool plain) {
    constexpr Layout other = layout == Layout::interleaved ? Layout::half_split : Layout::interleaved;
    Data data;
    const auto q = data.view(data.q, 3, plain), out = data.view(data.out, 3, plain);
    const auto k = data.view(data.k, 1, plain);
    const auto says = [&](const char* view, auto&& call) {
        const support::Refusal r = refusal(call);
        CHECK(r.code == rope::StatusCode::invalid_argument);
        CHECK(r.message == std::string("layout is ") + name_of(layout) + "; the cache of " + view +
                               " was made from a Config whose layout is " + name_of(other) + ".");
        CHECK(data.is_untouched());
    };
    says("x", [&] { rope::apply<layout>(q, named); });
    says("x", [&] { rope::apply(layout, q, named); });
    says("x", [&] { rope::apply_inverse<layout>(q, named); });
    says("x", [&] { rope::apply_inverse(layout, q, named); });
    says("x", [&] { rope::apply_transpose<layout>(q, named); });
    says("x", [&] { rope::apply_transpose(layout, q, named); });
    says("in", [&] { rope::apply_copy<layout>(q, out, named); });
    says("in", [&] { rope::apply_copy(layout, q, out, named); });
    says("in", [&] { rope::apply_inverse_copy<layout>(q, out, named); });
    says("in", [&] { rope::apply_transpose_copy<layout>(q, out, named); });
    says("q", [&] { rope::apply<layout>(q, k, named); });
    // One of two tables is enough, whichever it is.
    says("q", [&] { rope::apply<layout>(q, k, named, open); });
    says("k", [&] { rope::apply<layout>(q, k, open, named); });
    says("k", [&] { rope::apply(layout, q, k, open, named); });
    says("k", [&] { rope::apply_inverse<layout>(q, k, open, named); });
    says("k", [&] { rope::apply_transpose<layout>(q, k, open, named, rope::start_at(2)); });

    // Asked first, the answer is the same, and no layout is asked for where none is named.
    const auto sentence = [](auto&& call) { return refusal(call).message; };
    CHECK(rope::check<layout>(q, named).message() == sentence([&] { rope::apply<layout>(q, named); }));
    CHECK(rope::check<layout>(q, k, named).message() == sentence([&] { rope::apply<layout>(q, k, named); }));
    CHECK(rope::check<layout>(q, k, open, named).message() ==
          sentence([&] { rope::apply<layout>(q, k, open, named); }));
    CHECK(rope::check_copy<layout>(q, out, named).message() ==
          sentence([&] { rope::apply_copy<layout>(q, out, named); }));
    CHECK(rope::check(q, named).ok());
    CHECK(rope::check(q, k, open, named).ok());
    CHECK(rope::check_copy(q, out, named).ok());
    CHECK(data.is_untouched());

    // With its own layout, the table gives the bits of one that names none.
    Data same;
    const auto q_same = same.view(same.q, 3, plain), k_same = same.view(same.k, 1, plain);
    CHECK(rope::check<other>(q, k, named).ok());
    rope::apply<other>(q, k, named);
    rope::apply<other>(q_same, k_same, open);
    CHECK(support::same_bits(data.q, same.q));
    CHECK(support::same_bits(data.k, same.k));
    CHECK_FALSE(data.is_untouched());
}

}  // namespace

TEST_CASE("a table made for one layout is not used with the other") {
    const CosSinCache<float> open(with_layout(std::nullopt), 16);
    const CosSinCache<float> interleaved(with_layout(Layout::interleaved), 16);
    const CosSinCache<float> half_split(with_layout(Layout::half_split), 16);
    CHECK_FALSE(open.layout().has_value());
    CHECK(interleaved.layout() == Layout::interleaved);
    CHECK(half_split.layout() == Layout::half_split);
    for (const bool plain : {true, false}) {
        CAPTURE(plain);
        refuses_layout<Layout::half_split>(interleaved, open, plain);
        refuses_layout<Layout::interleaved>(half_split, open, plain);
    }
    // Copies, extensions and the float32 chain remember it.
    const CosSinCache<float> copy = half_split;
    CHECK(copy.layout() == Layout::half_split);
    CHECK(half_split.extended(rope::frequencies(with_layout({})), 20).layout() == Layout::half_split);
    CHECK(CosSinCache<float>::float32_chain(with_layout(Layout::interleaved), 4).layout() == Layout::interleaved);
    CHECK_FALSE(CosSinCache<float>(rope::frequencies(with_layout({})), 4).layout().has_value());
}

TEST_CASE("a layout that is none is refused by every table") {
    const Config config = with_layout(static_cast<Layout>(7));
    const std::string sentence = "layout is 7; it must be Layout::interleaved (0) or Layout::half_split (1).";
    CHECK(rope::check(config).message() == sentence);
    CHECK(refusal([&] { (void)rope::frequencies(config); }).message == sentence);
    CHECK(refusal([&] { CosSinCache<float> table(config, 4); }).message == sentence);
    CHECK(refusal([&] { (void)CosSinCache<float>::float32_chain(config, 4); }).message == sentence);
}

TEMPLATE_TEST_CASE("a table is not longer than its schedule's numbers serve", "", float, double) {
    const auto message = [](const rope::Schedule& s, Index max_positions, Index first, Index seq_len) {
        const Config config = with_schedule(s);
        const std::string text =
            refusal([&] { CosSinCache<TestType> table(config, max_positions, first, seq_len); }).message;
        if constexpr (std::is_same_v<TestType, float>) {
            CHECK(refusal([&] {
                      (void)CosSinCache<float>::float32_chain(config, max_positions, first, seq_len);
                  }).message == text);
        }
        return text;
    };
    const auto sentence = [](const char* name, Index seq_len, Index longest, Index last) {
        return "seq_len is " + std::to_string(seq_len) + "; with this schedule (" + name +
               ") its frequencies are for sequences of at most " + std::to_string(longest) +
               " tokens, and the table is to hold positions up to " + std::to_string(last) +
               ": name the longest sequence as seq_len.";
    };
    const std::string fine = "(accepted)";
    const schedule::DynamicNtk dynamic = {2.0, 100};
    CHECK(message(dynamic, 100, 0, 0) == fine);
    CHECK(message(dynamic, 101, 0, 0) == sentence("dynamic", 0, 100, 100));
    CHECK(message(dynamic, 1, 99, 0) == fine);
    CHECK(message(dynamic, 1, 100, 50) == sentence("dynamic", 50, 100, 100));
    CHECK(message(dynamic, 101, 0, 101) == fine);
    CHECK(message(dynamic, 500, 0, 500) == fine);
    CHECK(message(dynamic, 501, 0, 500) == sentence("dynamic", 500, 500, 500));
    CHECK(message(dynamic, 50, -60, 0) == fine);

    const schedule::LongRope longrope = {{1, 1, 1, 1}, {2, 2, 2, 2}, 100, 400};
    CHECK(message(longrope, 100, 0, 0) == fine);
    CHECK(message(longrope, 101, 0, 0) == sentence("longrope", 0, 100, 100));
    CHECK(message(longrope, 101, 0, 100) == sentence("longrope", 100, 100, 100));
    CHECK(message(longrope, 1, 100, 100) == sentence("longrope", 100, 100, 100));
    CHECK(message(longrope, 101, 0, 101) == fine);
    CHECK(message(longrope, 5000, 0, 101) == fine);  // one list for all that is longer than the original context

    for (const rope::Schedule& s : {rope::Schedule(), rope::Schedule(schedule::Ntk{2.0}),
                                    rope::Schedule(schedule::Yarn{4.0, 100}), rope::Schedule(schedule::Llama3())})
        CHECK(message(s, 5000, 0, 0) == fine);

    // What is wrong with the numbers themselves is said first, and what is wrong with the table still is.
    const std::string range = "; it must be from 0 to 2^40.";
    for (const Index seq_len : {Index(-1), (Index(1) << 40) + 1, std::numeric_limits<Index>::min()}) {
        CHECK(message(dynamic, 4, 0, seq_len) == "seq_len is " + std::to_string(seq_len) + range);
        CHECK(message({}, 4, 0, seq_len) == "seq_len is " + std::to_string(seq_len) + range);
        CHECK(refusal([&] { (void)rope::frequencies(Config{kDim}, seq_len); }).message ==
              "seq_len is " + std::to_string(seq_len) + range);
    }
    CHECK(message(dynamic, 4, 0, Index(1) << 40) == fine);
    CHECK(message(dynamic, 0, 0, 0) == "max_positions is 0; it must be at least 1.");
    CHECK(message(dynamic, 4, std::numeric_limits<Index>::max(), 0).find("first_position is ") == 0);
}

TEMPLATE_TEST_CASE("an extended table has the bits of one made at once, and the old one stays", "", float, double) {
    Config config = {kDim};
    config.attention_factor = 1.25;
    config.schedule = schedule::Yarn{4.0, 4096};
    const rope::Frequencies f = rope::frequencies(config);
    for (const Index first : {Index(0), Index(-130), Index(8100)})
        for (const Index rows : {1, 2, 100, 129}) {
            const CosSinCache<TestType> table(config, rows, first);
            const std::vector<TestType> before(table.data(), table.data() + rows * kDim);
            for (const Index longer : {rows + 1, rows + 127, rows + 300}) {
                CAPTURE(first, rows, longer);
                const CosSinCache<TestType> extended = table.extended(f, longer);
                const CosSinCache<TestType> fresh(config, longer, first);
                CHECK(extended.max_positions() == longer);
                CHECK(extended.first_position() == first);
                CHECK(extended.pairs() == table.pairs());
                CHECK(extended.head_dim() == table.head_dim());
                CHECK(extended.attention_factor() == table.attention_factor());
                CHECK(extended.bytes() == fresh.bytes());
                CHECK(std::memcmp(extended.data(), fresh.data(), fresh.bytes()) == 0);
                CHECK(extended.data() != table.data());
                CHECK(table.max_positions() == rows);
                CHECK(std::memcmp(before.data(), table.data(), table.bytes()) == 0);
            }
            // Nothing to do: the same table.
            for (const Index no_longer : {rows, rows - 1, Index(0), Index(-5)})
                CHECK(table.extended(f, no_longer).data() == table.data());
        }
    // A slice stays where it is.
    const CosSinCache<TestType> slice(f, 3, {20, 5});
    CHECK(slice.extended(f, 9).head_dim() == 20);
    CHECK(slice.extended(f, 9).rotary_offset() == 5);
}

TEMPLATE_TEST_CASE("a table is not extended by other frequencies", "", float, double) {
    const rope::Frequencies f = rope::frequencies(Config{kDim});
    const auto message = [&](const CosSinCache<TestType>& table, const rope::Frequencies& others) {
        const TestType* const data = table.data();
        const std::string text = refusal([&] { (void)table.extended(others, 50); }).message;
        CHECK(table.data() == data);
        return text;
    };
    const auto row = [](int n) {
        return "frequencies are not those that this table was made of: row " + std::to_string(n) + " would be another.";
    };
    const CosSinCache<TestType> table(f, 10);
    const CosSinCache<TestType> up_to_zero(f, 10, {}, -9);  // its last row is the same for all frequencies
    rope::Frequencies other = f;
    CHECK(message(table, other) == "(accepted)");
    other.inv_freq[3] *= 1.001;
    CHECK(message(table, other) == row(9));
    CHECK(message(up_to_zero, other) == row(0));
    other = f;
    other.attention_factor = 1.5;
    CHECK(message(table, other) == row(0));
    other = f;
    other.inv_freq.pop_back();
    other.inv_freq_low.pop_back();
    CHECK(message(table, other).find("rotary_dim is 6") == std::string::npos);
    CHECK(message(table, other) == row(0));
    other.inv_freq.clear();
    CHECK(message(table, other).find("inv_freq has 0 entries") == 0);
    // Those of another schedule, of another length, and the float32 chain's.
    CHECK(message(table, rope::frequencies(with_schedule(schedule::Ntk{2.0}))) == row(9));
    const Config dynamic = with_schedule(schedule::DynamicNtk{2.0, 10});
    CHECK(message(CosSinCache<TestType>(dynamic, 10, 0, 50), rope::frequencies(dynamic, 60)) == row(9));
    if constexpr (std::is_same_v<TestType, float>) {
        CHECK(message(CosSinCache<float>::float32_chain(Config{kDim}, 1000), f) == "(accepted)");  // 50 is fewer
        const CosSinCache<float> chain = CosSinCache<float>::float32_chain(Config{kDim}, 1000);
        CHECK(refusal([&] { (void)chain.extended(f, 2000); }).message.find("a table of the float32 chain has 1000") !=
              std::string::npos);
    }
    // Longer than its frequencies are for, though they are the right ones.
    const Config ten_tokens = with_schedule(schedule::DynamicNtk{2.0, 10});
    const CosSinCache<TestType> five(ten_tokens, 5);
    CHECK(message(five, rope::frequencies(ten_tokens)).find("are for sequences of at most 10 tokens") !=
          std::string::npos);
    CHECK(five.extended(rope::frequencies(ten_tokens), 10).max_positions() == 10);
    // Too long for any memory: refused, and the table stays.
    const Index most = std::numeric_limits<Index>::max();
    CHECK(refusal([&] { (void)table.extended(f, most); }).message.find("max_positions is ") == 0);
}
