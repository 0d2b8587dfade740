// SPDX-License-Identifier: MIT
// Any number of threads read one cache, and an executor may run the pieces of one call on threads of its own.
// Run under ThreadSanitizer by the thread-sanitize preset.
#include <rope/core.hpp>

#include <algorithm>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;

TEST_CASE("threads with calls of their own, and one call on many threads") {
    rope::Config config;
    config.head_dim = 32;
    constexpr Index heads = 35;  // so that the call is large enough to be cut
    const rope::CosSinCache<float> cache(config, 256);
    const auto x = support::normal<float>(256 * heads * 32, 1);
    auto want = x;
    rope::apply<rope::Layout::half_split>(rope::view(want.data(), 256, heads, 32), cache);

    std::vector<std::vector<float>> results(8, x);
    std::vector<std::thread> threads;
    for (std::vector<float>& result : results)
        threads.emplace_back([&cache, &result] {
            const rope::CosSinCache<float> mine = cache;  // shares the table
            rope::apply<rope::Layout::half_split>(rope::view(result.data(), 256, heads, 32), mine);
        });
    for (std::thread& t : threads) t.join();
    for (const std::vector<float>& result : results) REQUIRE(support::same_bits(result, want));

    bool asked = false;
    const auto on_threads = [&asked](Index count, auto&& f) {
        asked = true;
        std::vector<std::thread> pool;
        const Index piece = (count + 6) / 7;
        for (Index begin = 0; begin < count; begin += piece)
            pool.emplace_back([&f, begin, end = std::min(count, begin + piece)] { f(begin, end); });
        for (std::thread& t : pool) t.join();
    };
    auto y = x;
    rope::apply<rope::Layout::half_split>(rope::view(y.data(), 256, heads, 32), cache, rope::start_at(0), on_threads);
    REQUIRE(support::same_bits(y, want));
    REQUIRE(asked);
}
