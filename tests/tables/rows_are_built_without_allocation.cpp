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
