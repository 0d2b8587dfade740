// SPDX-License-Identifier: MIT
// apply and check allocate nothing; copying a cache copies no table.
#include <rope/core.hpp>
#include <rope/heads.hpp>

#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/data.hpp"

using support::allocations;

TEST_CASE("a call allocates nothing, accepted or asked about") {
    rope::Config config;
    config.head_dim = 64;
    config.attention_factor = 1.25;
    long before = allocations;
    const rope::CosSinCache<float> cache(config, 100);
    REQUIRE(allocations > before);  // the counter counts

    std::vector<float> q(10 * 4 * 64), k(10 * 2 * 64), out(q.size());
    std::vector<rope::bfloat16> narrow(q.size());
    const std::vector<int> ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 99};
    const std::vector<int> bad = {0, 1, 2, 3, 4, 5, 6, 7, 8, 100};
    const auto q_view = rope::view(q.data(), 10, 4, 64);
    const auto k_view = rope::view(k.data(), 10, 2, 64);
    before = allocations;
    for (const rope::Layout layout : {rope::Layout::interleaved, rope::Layout::half_split}) {
        rope::apply(layout, q_view, k_view, cache, ids);
        rope::apply_inverse(layout, q_view, cache, rope::start_at(3));
        rope::apply_transpose(layout, k_view, cache);
        rope::apply_copy(layout, q_view, rope::view(out.data(), 10, 4, 64), cache, ids);
        rope::apply_copy<rope::Layout::half_split>(q_view, rope::view(narrow.data(), 10, 4, 64), cache,
                                                   {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    }
    rope::pass<rope::Layout::half_split>(
        cache, ids,
        rope::heads(q_view)
            .rms_norm(1e-6, {rope::NormSpan::token})
            .rotate()
            .hadamard()
            .to(rope::view(narrow.data(), 10, 4, 64)),
        rope::heads(k_view).layer_norm(q.data(), out.data(), 1e-6).rotate_into(rope::Layout::interleaved));
    const bool fine = rope::check(q_view, k_view, cache, ids).ok();
    const rope::Status refused = rope::check(q_view, cache, bad);
    const rope::CosSinCache<float> copy = cache;  // NOLINT(performance-unnecessary-copy-initialization): counted
    const long after = allocations;
    CHECK(after == before);
    CHECK(fine);
    CHECK(!refused.ok());
    CHECK(copy.cos_row(5) == cache.cos_row(5));
}
