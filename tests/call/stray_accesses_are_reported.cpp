// SPDX-License-Identifier: MIT
// The sanitizers see a stray access in every instruction set: of a call whose view has one head more than its memory, which
// is run in a process of its own. Without this, silence in the other tests of their preset would say nothing.
#include <rope/core.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <vector>

#include "support/catch.hpp"
#include "support/isas.hpp"

using rope::Index;

namespace {

/// The exit status of a process that runs f; 1 is that of a report.
template <class F>
int status_of(F&& f) {
    const pid_t child = fork();
    if (child == 0) {
        f();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class T>
void accesses_of_a_type(const char* name) {
    rope::Config config;
    config.head_dim = 64;
    const rope::CosSinCache<float> table(config, 8);
    CAPTURE(name, rope::active_isa());
    for (const rope::Layout layout : {rope::Layout::half_split, rope::Layout::interleaved}) {
        std::vector<T> x(3 * 64), y(4 * 64);
        const auto in_place = [&](Index heads) { rope::apply(layout, rope::view(x.data(), 1, heads, 64), table); };
        const auto copied = [&](Index heads) {
            rope::apply_copy(layout, rope::view(x.data(), 1, heads, 64), rope::view(y.data(), 1, heads, 64), table);
        };
        CHECK(status_of([&] { in_place(3); }) == 0);
        CHECK(status_of([&] { in_place(4); }) == 1);
        CHECK(status_of([&] { copied(3); }) == 0);
        CHECK(status_of([&] { copied(4); }) == 1);
    }
}

}  // namespace

TEST_CASE("a head beyond the memory is reported, in every instruction set") {
    support::for_each_isa([](const char*) {
        accesses_of_a_type<float>("float");
        accesses_of_a_type<rope::half>("half");
        accesses_of_a_type<rope::bfloat16>("bfloat16");
    });
}

TEST_CASE("undefined behaviour is reported") {
    volatile int one = 1;
    CHECK(status_of([&] { one = INT_MAX - one; }) == 0);
    CHECK(status_of([&] { one = INT_MAX + one; }) == 1);
}
