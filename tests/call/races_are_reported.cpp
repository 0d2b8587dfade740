// SPDX-License-Identifier: MIT
// ThreadSanitizer sees a race in every instruction set: two threads rotate one buffer. Without this, silence in the other
// tests of its preset would say nothing: clang 14 does not watch the loads and stores of wide vectors.
#include <rope/core.hpp>
#include <rope/heads.hpp>

#include <string_view>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/isas.hpp"

using rope::Index;

namespace {

int reports = 0;

/// Runs f in two threads, the second before the end of the first is known, and says whether that was reported.
template <class F>
bool is_reported(F&& f) {
    const int before = reports;
    std::thread a(f), b(f);
    a.join();
    b.join();
    return reports > before;
}

template <class T>
void races_of_a_type(const char* name) {
    rope::Config config;
    config.head_dim = 64;
    const rope::CosSinCache<float> table(config, 8);
    CAPTURE(name, rope::active_isa());
    // Plain loops copy elements of 16 bits by memcpy. g++ 12 with -O0 reports its races, with -O1 it does not.
    const bool is_blind = sizeof(T) == 2 && std::string_view(rope::active_isa()) == "portable";
    for (const rope::Layout layout : {rope::Layout::half_split, rope::Layout::interleaved}) {
        if (is_blind) break;
        std::vector<T> x(64), y(64);
        const auto view = [](std::vector<T>& numbers) { return rope::view(numbers.data(), 1, 1, 64); };
        CHECK(is_reported([&] { rope::apply(layout, view(x), table); }));
        CHECK(is_reported([&] { rope::apply_copy(layout, view(x), view(y), table); }));
    }
    std::vector<T> x(64);
    CHECK(is_reported([&] {
        rope::pass<rope::Layout::half_split>(table, rope::start_at(0),
                                             rope::heads(rope::view(x.data(), 1, 1, 64)).rotate());
    }));
}

}  // namespace

/// ThreadSanitizer calls this for each report.
extern "C" void __tsan_on_report(void*);  // NOLINT(bugprone-reserved-identifier)
extern "C" __attribute__((visibility("default"))) void __tsan_on_report(void*) { ++reports; }

TEST_CASE("two threads that rotate one buffer are reported, in every instruction set") {
    support::for_each_isa([](const char*) {
        races_of_a_type<float>("float");
        races_of_a_type<rope::half>("half");
        races_of_a_type<rope::bfloat16>("bfloat16");
    });
    CHECK_FALSE(is_reported([] { std::vector<float>(64, 1.0f).back() = 2.0f; }));
}
