// SPDX-License-Identifier: MIT
// The tables of a RotaryEmbedding grow while others read them: no row is computed again, no reader is disturbed, and
// there is a limit. Run under ThreadSanitizer by the thread-sanitize preset.
#include <rope/core.hpp>
#include <rope/rotary_embedding.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/models.hpp"
#include "support/refusal.hpp"

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

// head_dim is the largest that a Config may have: 4096 positions of it are 16 GiB in float.
TEMPLATE_TEST_CASE("tables beyond max_bytes are refused before anything is allocated", "", float, double) {
    const Index element = static_cast<Index>(sizeof(TestType)), wide = Index(1) << 20;
    const std::string sentence =
        "; the tables of this model, with " + std::to_string(wide * element) + " bytes per position, would take ";
    const auto says = [](const rope::ModelConfig& model, const TableOptions& options) {
        return support::invalid([&] { rope::RotaryEmbedding<TestType> rotary(model, options); });
    };
    CHECK(says(model_of({config_of(wide, 1e4)}, {0}, 131072), {}) ==
          "positions is 4096" + sentence + std::to_string(4096 * wide * element) +
              " bytes, and max_bytes of the TableOptions is 1073741824.");
    // A single row takes little, but what it is made from does not.
    CHECK(says(model_of({config_of(wide, 1e4)}, {0}, 1), {}) ==
          "positions is 1" + sentence + std::to_string(1024 * wide * element) +
              " bytes, and max_bytes of the TableOptions is 1073741824.");

    // All tables count, and those of queries and keys where they differ; layers that share one do not.
    Config xpos = config_of(16, 1e4);
    xpos.schedule = rope::schedule::Xpos();
    const auto model = model_of({config_of(8, 1e4), xpos, config_of(8, 1e4)}, {0, 1, 2, 0}, 5000);
    const Index row = (8 + 2 * 16) * element;
    CHECK(says(model, {0, 1, 0, 1024 * row - 1}) ==
          "positions is 1; the tables of this model, with " + std::to_string(row) + " bytes per position, would take " +
              std::to_string(1024 * row) + " bytes, and max_bytes of the TableOptions is " +
              std::to_string(1024 * row - 1) + ".");
    CHECK(says(model, {0, 1, 0, -1}) != "");
    rope::RotaryEmbedding<TestType> rotary(model, {0, 1000, 0, 2500 * row + row / 2});
    rotary.reserve(1001);
    CHECK(rotary.positions() == 2000);
    rotary.reserve(2001);
    CHECK(rotary.positions() == 2500);  // and not 4000
    CHECK(rotary.bytes() == size(2500 * row));
    CHECK(support::invalid([&] { rotary.reserve(2501); }) ==
          "positions is 2501; the tables of this model, with " + std::to_string(row) +
              " bytes per position, would take " + std::to_string(2501 * row) +
              " bytes, and max_bytes of the TableOptions is " + std::to_string(2500 * row + row / 2) + ".");
    CHECK(rotary.positions() == 2500);
    CHECK(rope::RotaryEmbedding<TestType>(model, {0, 1, 0, 1024 * row}).positions() == 1);
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
