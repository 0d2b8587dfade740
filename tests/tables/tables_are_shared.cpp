// SPDX-License-Identifier: MIT
// shared_table hands out one table for a description, in whatever thread it is asked for, with the bits of a CosSinCache;
// a difference of one bit anywhere in the description is another table. Tables grow and leave those that were handed out
// as they are; the process keeps 64, and those of the latest calls. What is refused, and lack of memory, change nothing.
#include <rope/core.hpp>
#include <rope/shared_table.hpp>

#include <rope/detail/rotary/shared_table.hpp>

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::CosSinCache;
using rope::Frequencies;
using rope::Index;
using rope::shared_table;

namespace {

Frequencies frequencies_of(Index head_dim, double base = 10000.0) {
    rope::Config config = {head_dim};
    config.base = base;
    return rope::frequencies(config);
}
template <class T>
bool same_rows(const CosSinCache<T>& a, const CosSinCache<T>& b, Index rows) {
    return a.pairs() == b.pairs() && support::same_bits(std::vector<T>(a.data(), a.data() + rows * 2 * a.pairs()),
                                                        std::vector<T>(b.data(), b.data() + rows * 2 * a.pairs()));
}

/// Tables of other tests are none of this one's.
struct Fresh {
    Fresh() { rope::drop_shared_tables(); }
    ~Fresh() { rope::drop_shared_tables(); }
};

}  // namespace

TEMPLATE_TEST_CASE("a description has one table", "", float, double) {
    const Fresh fresh;
    const Frequencies f = frequencies_of(16);
    const auto table = shared_table<TestType>(f, 100, {24, 8});
    const CosSinCache<TestType> alone(f, 100, {24, 8});
    CHECK(same_rows(table, alone, 100));
    CHECK(table.max_positions() == 100);
    CHECK(table.first_position() == 0);
    CHECK(table.head_dim() == 24);
    CHECK(table.rotary_offset() == 8);
    const long before = support::allocations;
    const auto again = shared_table<TestType>(f, 100, {24, 8}), fewer = shared_table<TestType>(f, 1, {24, 8});
    CHECK(support::allocations == before);
    CHECK(again.data() == table.data());
    CHECK(fewer.data() == table.data());
    const Frequencies copy = f;
    CHECK(shared_table<TestType>(copy, 7, {24, 8}).data() == table.data());
    CHECK(shared_table<TestType>(f, 7, {16, 0}).data() == shared_table<TestType>(f, 7).data());
    rope::drop_shared_tables();
    CHECK(shared_table<TestType>(f, 100, {24, 8}).data() != table.data());
    CHECK(same_rows(table, alone, 100));  // it lives as long as a copy
}

TEST_CASE("every bit of a description counts") {
    const Fresh fresh;
    Frequencies f = frequencies_of(8);
    f.inv_freq[3] = 0.0;
    f.log_growth = {0.001, 0.0, 0.0, 0.0};
    f.log_growth_low = {0.0, 0.0, 0.0, 0.0};
    std::vector<CosSinCache<float>> tables = {shared_table(f, 10, {16, 0})};
    const auto add = [&](const Frequencies& other, rope::HeadSlice slice = {16, 0}) {
        const auto table = shared_table(other, 10, slice);
        for (const CosSinCache<float>& t : tables) CHECK(t.data() != table.data());
        CHECK(shared_table(other, 10, slice).data() == table.data());
        CHECK(same_rows(table, CosSinCache<float>(other, 10, slice), 10));
        tables.push_back(table);
    };
    const auto changed = [&](const std::function<void(Frequencies&)>& change) {
        Frequencies other = f;
        change(other);
        add(other);
    };
    for (std::size_t i = 0; i < 3; ++i)
        changed([&](Frequencies& o) { o.inv_freq[i] = std::nextafter(o.inv_freq[i], 2.0); });
    changed([](Frequencies& o) { o.inv_freq[3] = -0.0; });
    changed([](Frequencies& o) { o.inv_freq_low[1] = 0x1p-80; });
    changed([](Frequencies& o) { o.inv_freq_low.clear(); });
    changed([](Frequencies& o) { o.attention_factor = std::nextafter(1.0, 2.0); });
    changed([](Frequencies& o) { o.log_growth[0] = 0.002; });
    changed([](Frequencies& o) { o.log_growth_low[2] = 0x1p-80; });
    changed([](Frequencies& o) { o.log_growth_low.clear(); });
    changed([](Frequencies& o) { o.log_growth.clear(), o.log_growth_low.clear(); });
    changed([](Frequencies& o) { o.centre = 1.0; });
    changed([](Frequencies& o) { o = frequencies_of(6); });
    add(f, {16, 8});
    add(f, {18, 0});
    add(f, {});
    CHECK(shared_table(f, 10, {16, 0}).data() == tables.front().data());
}

TEST_CASE("tables grow, and those that were handed out stay") {
    const Fresh fresh;
    const Frequencies f = frequencies_of(16);
    const auto first = shared_table(f, 100);
    const auto longer = shared_table(f, 101), much_longer = shared_table(f, 1000);
    CHECK(first.max_positions() == 100);
    CHECK(longer.max_positions() == 200);
    CHECK(much_longer.max_positions() == 1000);
    CHECK(shared_table(f, 1).data() == much_longer.data());
    const CosSinCache<float> alone(f, 1000);
    CHECK(same_rows(first, alone, 100));
    CHECK(same_rows(longer, alone, 200));
    CHECK(same_rows(much_longer, alone, 1000));

    // No further than a magnitude may grow: e^64.
    Frequencies grows = f;
    grows.log_growth.assign(8, 0.5);
    CHECK(shared_table(grows, 100).max_positions() == 100);
    CHECK(shared_table(grows, 101).max_positions() == 101);
    CHECK(shared_table(grows, 129).max_positions() == 129);
    CHECK(support::invalid([&] { (void)shared_table(grows, 130); })
              .find("At 129 positions from the centre the growing "
                    "magnitude (xPos; log_growth[0] is 0.5)") == 0);
    CHECK(shared_table(grows, 1).max_positions() == 129);
}

TEST_CASE("the process keeps 64 tables, those of the latest calls") {
    const Fresh fresh;
    const auto table_of = [](int i, Index rows = 4) { return shared_table(frequencies_of(4, 10000.0 + i), rows); };
    std::vector<CosSinCache<float>> tables;
    for (int i = 0; i < 64; ++i) tables.push_back(table_of(i));
    const auto is_kept = [&](int i) { return table_of(i).data() == tables[support::size(i)].data(); };
    for (int i = 63; i >= 0; --i) CHECK(is_kept(i));  // now 63 was asked for longest ago
    tables.push_back(table_of(64));
    CHECK(is_kept(64));
    CHECK(is_kept(0));
    CHECK(is_kept(62));
    CHECK_FALSE(is_kept(63));  // which takes the place of 61, the last of the rest
    CHECK_FALSE(is_kept(61));
    // A table that grows takes no other one's place.
    rope::drop_shared_tables();
    tables.clear();
    for (int i = 0; i < 64; ++i) tables.push_back(table_of(i));
    CHECK(table_of(5, 9).max_positions() == 9);
    for (int i = 0; i < 64; ++i) CHECK(is_kept(i) == (i != 5));
}

TEST_CASE("the process keeps 1 GiB, and a table of more is not kept") {
    // Memory that is asked for, and never touched: the tables are of one row and of the length that they claim.
    using rope::detail::SharedTable;
    rope::detail::SharedTables<float> all;
    const Frequencies f = frequencies_of(4);
    const CosSinCache<float> small(f, 4);
    for (int i = 0; i < 3; ++i) {
        all.tables[i] = new SharedTable<float>(f, {4, 0}, small);
        all.tables[i]->last_call = static_cast<std::uint64_t>(3 - i);
    }
    const Index bytes = static_cast<Index>(small.bytes()), most = rope::detail::kSharedBytes;
    const auto left_for = [&](Index wanted, const SharedTable<float>* kept) {
        rope::detail::SharedTables<float> copy;
        for (int i = 0; i < 3; ++i) copy.tables[i] = all.tables[i];
        SharedTable<float>* out[rope::detail::kSharedTables] = {};
        rope::detail::make_room(copy, wanted, kept, out);
        std::string left;
        for (int i = 0; i < 3; ++i) left += copy.tables[i] != nullptr ? "1" : "0";
        return left;
    };
    CHECK(left_for(most - 3 * bytes, nullptr) == "111");
    CHECK(left_for(most - 3 * bytes + 1, nullptr) == "110");
    CHECK(left_for(most - bytes, nullptr) == "100");
    CHECK(left_for(most, nullptr) == "000");
    CHECK(left_for(most, all.tables[2]) == "001");  // the one that the longer table replaces does not count
    CHECK(left_for(most - bytes, all.tables[2]) == "101");
    for (int i = 0; i < 3; ++i) delete all.tables[i];
}

TEST_CASE("what is refused, and lack of memory, change nothing") {
    const Fresh fresh;
    const Frequencies f = frequencies_of(16);
    const auto table = shared_table(f, 100);
    for (const Index count : {Index(0), Index(-1)})
        CHECK(support::invalid([&] { (void)shared_table(f, count); }) ==
              "max_positions is " + std::to_string(count) + "; it must be at least 1.");
    CHECK(support::invalid([&] {
              (void)shared_table(f, std::numeric_limits<Index>::max());
          }).find("max_positions is ") == 0);
    CHECK(support::invalid([&] {
              (void)shared_table(f, 100, {15, 0});
          }).find("head_dim is 15; it must be at least 16,") == 0);
    CHECK(support::invalid([&] { (void)shared_table(f, 100, {24, 9}); }).find("rotary_offset is 9;") == 0);
    CHECK(support::invalid([&] { (void)shared_table(Frequencies(), 100); }).find("inv_freq has 0 entries;") == 0);
    Frequencies bad = f;
    bad.inv_freq[2] = support::nan_value();
    for (int i = 0; i < 2; ++i)
        CHECK(support::invalid([&] { (void)shared_table(bad, 100); }).find("inv_freq[2] is nan;") == 0);
    bad = f;
    bad.lacks_log_scale = true;
    CHECK(support::invalid([&] { (void)shared_table(bad, 100); }).find("log_scale is empty;") == 0);
    CHECK(shared_table(f, 100).data() == table.data());

    // Every allocation of a call fails once: of one for a longer table, and of one for a new table.
    const Frequencies other = frequencies_of(16, 5e5);
    for (const Frequencies* const of : {&f, &other}) {
        const Index before = of == &f ? 100 : 0;
        for (long n = 0;; ++n) {
            const long alive = support::alive;
            bool is_done = false;
            support::until_none_is_left = n;
            try {
                is_done = shared_table(*of, 150).max_positions() >= 150;
            } catch (const std::bad_alloc&) {
            }
            const bool failed_none = support::until_none_is_left > 0;
            support::until_none_is_left = -1;
            if (is_done) {
                REQUIRE(n >= 3);
                break;
            }
            REQUIRE(n < 100);
            REQUIRE_FALSE(failed_none);
            REQUIRE(support::alive == alive);
            if (before > 0) REQUIRE(shared_table(*of, before).data() == table.data());
        }
        CHECK(same_rows(shared_table(*of, 150), CosSinCache<float>(*of, 150), 150));
    }
}

TEST_CASE("threads get one table, and may ask for longer ones while others rotate") {
    const Fresh fresh;
    constexpr int kThreads = 4, kSteps = 60;
    const std::vector<Frequencies> models = {frequencies_of(32), frequencies_of(32, 5e5), frequencies_of(64)};
    std::vector<CosSinCache<float>> alone;
    for (const Frequencies& f : models) alone.emplace_back(f, 4 * kSteps);
    std::vector<const float*> first(kThreads);
    std::atomic<int> ready{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            ++ready;
            while (ready.load() < kThreads) std::this_thread::yield();
            const auto same = shared_table(models[2], 4 * kSteps);
            first[support::size(t)] = same.data();
            ++ready;
            while (ready.load() < 2 * kThreads) std::this_thread::yield();
            for (int step = 0; step < kSteps; ++step)
                for (std::size_t m = 0; m < 2; ++m) {
                    const Index position = 3 * step + t;
                    if (t == 0 && step == kSteps / 2) rope::drop_shared_tables();
                    const auto table = shared_table(models[m], position + 1);
                    std::vector<float> x(32, 1.0f), y = x;
                    rope::apply<rope::Layout::half_split>(rope::view(x, 1, 1, 32), table, rope::start_at(position));
                    rope::apply<rope::Layout::half_split>(rope::view(y, 1, 1, 32), alone[m], rope::start_at(position));
                    if (!support::same_bits(x, y)) ++wrong;
                }
        });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
    for (const float* const data : first) CHECK(data == first[0]);
}
