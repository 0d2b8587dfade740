// SPDX-License-Identifier: MIT
// From the second step on building rows allocates nothing, for as many tokens or fewer, whatever their positions.
#include <rope/core.hpp>
#include <rope/rows.hpp>

#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"

using rope::AxisPositions;
using rope::Index;
using rope::Rows;
using support::allocations;

TEMPLATE_TEST_CASE("building allocates nothing from the second step on", "", float, double) {
    rope::Config config;
    config.head_dim = 64;
    Rows<TestType> rows(config), sections(config, rope::mrope_interleaved({12, 10, 10}));
    std::vector<Index> ids(3 * 500);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<Index>(i * 1000003);
    std::vector<float> fractions(ids.begin(), ids.end());
    for (float& x : fractions) x = x * 0.001f;
    std::vector<TestType> x(500 * 64), memory(10 * 64);
    rows.build({}, 1500);
    sections.build({}, 500);
    long before = allocations;
    rows.build(rope::start_at(7), 1500);
    rows.build(ids, 300, 5);
    rows.build(AxisPositions(fractions.data(), 1, 1500), 1500);
    sections.build(AxisPositions(ids.data(), 3, 500), 500);
    sections.build(rope::start_at(1), 1);
    rope::apply<rope::Layout::half_split>(rope::view(x.data(), 500, 1, 64), rows);
    long after = allocations;
    CHECK(after == before);
    rows.build({}, 1501);
    CHECK(allocations > after);  // the counter counts
    // In the caller's memory the first step allocates nothing either.
    Rows<TestType> given(config);
    given.use_memory(memory.data(), 10);
    before = allocations;
    given.build({}, 10);
    after = allocations;
    CHECK(after == before);
}

TEST_CASE("rows that are there are not built again") {
    rope::Config config;
    config.head_dim = 64;
    const Index tokens = 5000;
    std::vector<float> ids(3 * static_cast<std::size_t>(tokens));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<float>(i);
    int calls = 0;
    const auto counted = [&](Index items, const auto& work) {
        ++calls;
        work(0, items);
    };
    Rows<float> rows(config, rope::mrope_sections({12, 10, 10}));
    const auto builds = [&](auto&& positions, Index seq, Index batch = 1) {
        calls = 0;
        rows.build(positions, seq, batch, counted);
        const int made = calls;
        Rows<float> anew(config, rope::mrope_sections({12, 10, 10}));
        anew.build(positions, seq, batch);
        for (Index row = 0; row < seq * batch; ++row)
            for (Index i = 0; i < 32; ++i) {
                if (rows.cos_row(row)[i] != anew.cos_row(row)[i]) FAIL("a wrong cosine");
                if (rows.sin_row(row)[i] != anew.sin_row(row)[i]) FAIL("a wrong sine");
            }
        return made > 0;
    };
    const AxisPositions on_axes(ids.data(), 3, tokens);
    CHECK(builds(rope::start_at(3), tokens));
    CHECK_FALSE(builds(rope::start_at(3), tokens));
    CHECK(builds(rope::start_at(3), tokens / 2, 2));
    CHECK(builds(rope::start_at(3), tokens));
    CHECK(builds(on_axes, tokens));
    CHECK_FALSE(builds(on_axes, tokens));
    ids.back() += 0.5f;
    CHECK(builds(on_axes, tokens));
    CHECK_FALSE(builds(on_axes, tokens));
    CHECK(builds(rope::start_at(0), tokens + 1));
    std::vector<float> memory(static_cast<std::size_t>(tokens) * 64);
    rows.use_memory(memory.data(), tokens);
    CHECK(builds(rope::start_at(0), tokens));
    CHECK(builds(rope::start_at(0), tokens));
    rows.use_memory(nullptr, 0);
    // Rows that an executor left out are not there.
    rows.build(rope::start_at(7), tokens, 1, [](Index items, auto&& work) { work(0, items / 2); });
    CHECK(builds(rope::start_at(7), tokens));
}
