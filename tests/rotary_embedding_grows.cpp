// SPDX-License-Identifier: MIT
// The tables of a RotaryEmbedding grow while others read them: no row is computed again, no reader is disturbed, and
// there is a limit. Run under ThreadSanitizer by the thread-sanitize preset.
#include <rope/core.hpp>
#include <rope/rotary_embedding.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/models.hpp"

using rope::Config;
using rope::Index;
using rope::Layout;
using rope::TableOptions;
using support::config_of;
using support::model_of;
using support::same_table;
using support::size;
using support::Tokens;

TEST_CASE("how many positions there are") {
    const auto rotary = [](Index max_position_embeddings, TableOptions options) {
        return rope::RotaryEmbedding<float>(model_of({config_of(8, 1e4)}, {0}, max_position_embeddings), options);
    };
    const auto is = [](const rope::RotaryEmbedding<float>& r, Index positions, Index max_positions) {
        return r.positions() == positions && r.max_positions() == max_positions &&
               r.table(0)->q.max_positions() == positions && r.bytes() == sizeof(float) * 8 * size(positions);
    };
    CHECK(is(rotary(131072, {}), 4096, 131072));
    CHECK(is(rotary(4097, {}), 4096, 4097));
    CHECK(is(rotary(512, {}), 512, 512));
    CHECK(is(rotary(512, {1024, 0, 0}), 1024, 1024));
    CHECK(is(rotary(512, {100, 0, 0}), 100, 100));
    CHECK(is(rotary(512, {0, 7, 0}), 7, 512));
    CHECK(is(rotary(0, {16, 16, 0}), 16, 16));
    CHECK(is(rotary(131072, {0, 131072, 0}), 131072, 131072));

    auto r = rotary(1000, {0, 10, 0});
    const auto after = [&r](Index positions) {
        r.reserve(positions);
        return r.positions();
    };
    CHECK(after(0) == 10);
    CHECK(after(10) == 10);
    CHECK(after(11) == 20);  // at least twice as many as before
    CHECK(after(5) == 20);
    CHECK(after(300) == 300);
    CHECK(after(20) == 300);
    CHECK(after(599) == 600);
    CHECK(after(601) == 1000);  // and never more than the most
    CHECK(after(1000) == 1000);
    CHECK(is(r, 1000, 1000));
}

TEMPLATE_TEST_CASE("tables grow without a row computed again and without a reader disturbed", "", float, double) {
    using T = TestType;
    Config wide = config_of(64, 5e5, Layout::interleaved);
    wide.attention_factor = 1.1;
    const std::vector<Config> configs = {config_of(32, 1e4), wide};
    rope::RotaryEmbedding<T> rotary(model_of(configs, {0, 1}, 5000), {0, 70, 0});
    const auto old = rotary.table(1);
    const T* const row = old->q.cos_row(69);
    const std::vector<T> row_before(row, row + 32);

    rotary.reserve(3000);
    for (const Index layer : {0, 1}) {
        const auto table = rotary.table(layer);
        REQUIRE(same_table(table->q, rope::CosSinCache<T>(configs[size(layer)], 3000)));
        REQUIRE(table->q.data() == table->k.data());
    }
    CHECK(rotary.bytes() == sizeof(T) * 3000 * 96);
    CHECK(rotary.table(1)->q.data() != old->q.data());
    CHECK(same_table(old->q, rope::CosSinCache<T>(wide, 70)));
    CHECK(old->q.cos_row(69) == row);
    CHECK(std::equal(row_before.begin(), row_before.end(), row));

    // A row that somebody spoiled is as spoiled in the longer table: it was copied.
    const auto spoiled = rotary.table(0);
    const_cast<T*>(spoiled->q.data())[5 * 32 + 3] = T(42);
    rotary.reserve(5000);
    CHECK(rotary.table(0)->q.cos_row(5)[3] == T(42));
    CHECK(rotary.table(0)->q.cos_row(5)[4] == rope::CosSinCache<T>(configs[0], 6).cos_row(5)[4]);
    CHECK(same_table(rotary.table(1)->q, rope::CosSinCache<T>(wide, 5000)));
}

TEST_CASE("copies share their tables, also those that come later") {
    auto first =
        std::make_unique<rope::RotaryEmbedding<float>>(model_of({config_of(8, 1e4)}, {0}, 100), TableOptions{0, 10, 0});
    rope::RotaryEmbedding<float> copy = *first, moved = std::move(*first);
    CHECK(first->positions() == 10);  // nothing is left empty
    copy.reserve(100);
    CHECK(moved.positions() == 100);
    CHECK(moved.table(0)->q.data() == copy.table(0)->q.data());
    first.reset();
    CHECK(copy.model().layers() == 1);
    rope::RotaryEmbedding<float> other(model_of({config_of(16, 1e4)}, {0}, 50));
    other = copy;
    CHECK(other.max_positions() == 100);
    static_assert(std::is_same_v<rope::RotaryEmbedding<>, rope::RotaryEmbedding<float>>);
}

TEST_CASE("threads apply and ask while others let the tables grow") {
    const std::vector<Config> configs = {config_of(16, 1e4), config_of(16, 1e6, Layout::interleaved)};
    rope::RotaryEmbedding<float> rotary(model_of(configs, {0, 1, -1}, 4096), {0, 16, 0});
    Tokens<float> want[2] = {Tokens<float>(16), Tokens<float>(16)};
    for (const Index layer : {0, 1})
        rope::apply(*configs[size(layer)].layout, want[layer].q_view(), want[layer].k_view(),
                    rope::CosSinCache<float>(configs[size(layer)], 16), rope::start_at(11));

    std::atomic<int> wrong{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers, growers;
    for (int t = 0; t < 3; ++t)
        readers.emplace_back([&] {
            do {
                for (const Index layer : {0, 1, 2}) {
                    Tokens<float> x(16);
                    const Index held = rotary.positions();
                    const auto table = rotary.table(layer);
                    rotary.apply(layer, x.q_view(), x.k_view(), rope::start_at(11));
                    if (layer == 2 ? !(x == Tokens<float>(16)) : !(x == want[layer])) ++wrong;
                    if (table && table->q.max_positions() < held) ++wrong;
                    if (rotary.bytes() < sizeof(float) * 32 * size(held)) ++wrong;
                }
            } while (!stop);
        });
    for (int t = 0; t < 2; ++t)
        growers.emplace_back([copy = rotary]() mutable {
            for (Index n = 16; n <= 4096; n += 16) copy.reserve(n);
        });
    for (std::thread& t : growers) t.join();
    stop = true;
    for (std::thread& t : readers) t.join();
    CHECK(wrong == 0);
    CHECK(rotary.positions() == 4096);
    for (const Index layer : {0, 1})
        CHECK(same_table(rotary.table(layer)->q, rope::CosSinCache<float>(configs[size(layer)], 4096)));
}
