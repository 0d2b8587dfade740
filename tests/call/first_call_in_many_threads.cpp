// SPDX-License-Identifier: MIT
// The instruction set is chosen by the first call, whichever of many threads makes it, and may be forced while others
// run. Run under ThreadSanitizer by the thread-sanitize preset.
#include <rope/rope.hpp>

#include <rope/detail/simd/isa_choice.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using rope::Layout;

namespace {

constexpr Index kSeq = 7, kHeads = 3, kDim = 38;

/// f(i) in threads that begin at the same moment.
template <class F>
void at_once(int count, const F& f) {
    std::atomic<int> waiting{count};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            for (--waiting; waiting.load() > 0;) std::this_thread::yield();
            f(i);
        });
    for (std::thread& t : threads) t.join();
}

}  // namespace

TEST_CASE("the very first use of the library, in many threads") {
    std::vector<std::string> names(8);
    at_once(8, [&](int i) {
        rope::Config config;
        config.head_dim = kDim;
        const rope::CosSinCache<float> cache(config, 8);
        std::vector<float> x(kSeq * kHeads * kDim, 1.0f);
        rope::apply<Layout::half_split>(rope::view(x.data(), kSeq, kHeads, kDim), cache);
        names[static_cast<std::size_t>(i)] = rope::active_isa();
    });
    for (const std::string& name : names) CHECK(name == rope::active_isa());
}

TEST_CASE("first calls at the same moment choose the same set and give the same bits") {
    rope::Config config;
    config.head_dim = kDim;
    const rope::CosSinCache<float> cache(config, 8);
    const rope::SinusoidalEmbedding<float> embedding(kDim, 8);
    const auto x = support::normal<float>(kSeq * kHeads * kDim, 1);
    const auto apply = [&](std::vector<float>& data) {
        rope::apply<Layout::half_split>(rope::view(data.data(), kSeq, kHeads, kDim), cache);
    };
    const auto add = [&](std::vector<float>& data) {
        embedding.add(rope::embedding_view(data.data(), kHeads, kSeq, kDim));
    };
    for (int round = 0; round < 50; ++round) {
        rope::detail::chosen_isa.store(0);  // as if this were a new process
        constexpr int kThreads = 6;
        std::vector<std::vector<float>> results(kThreads, x);
        std::vector<std::string> names(kThreads);
        at_once(kThreads, [&](int i) {
            const std::size_t at = static_cast<std::size_t>(i);
            if (i == 0) names[at] = rope::active_isa();
            if (i % 3 == 2) {
                add(results[at]);
            } else {
                apply(results[at]);
            }
            names[at] = rope::active_isa();
        });
        auto applied = x, added = x;
        apply(applied);
        add(added);
        for (std::size_t i = 0; i < kThreads; ++i) {
            REQUIRE(names[i] == rope::active_isa());
            REQUIRE(support::same_bits(results[i], i % 3 == 2 ? added : applied));
        }
    }
}

TEST_CASE("a set may be forced while other threads call") {
    rope::Config config;
    config.head_dim = kDim;
    const rope::CosSinCache<float> cache(config, 8);
    const auto x = support::normal<float>(kSeq * kHeads * kDim, 1);
    const auto applied = [&] {
        auto y = x;
        rope::apply<Layout::interleaved>(rope::view(y.data(), kSeq, kHeads, kDim), cache);
        return y;
    };
    std::vector<std::vector<float>> allowed;
    for (const char* name : rope::available_isas()) {
        rope::force_isa(name);
        allowed.push_back(applied());
    }
    std::atomic<int> wrong{0};
    at_once(4, [&](int i) {
        for (int round = 0; round < 200; ++round) {
            if (i == 0) {
                const rope::IsaNames names = rope::available_isas();
                rope::force_isa(names[round % names.size()]);
                continue;
            }
            // Every call finishes with the set that it began with.
            const auto y = applied();
            bool found = false;
            for (const std::vector<float>& one : allowed) found = found || support::same_bits(y, one);
            if (!found) ++wrong;
        }
    });
    CHECK(wrong == 0);
    rope::force_isa(nullptr);
}
