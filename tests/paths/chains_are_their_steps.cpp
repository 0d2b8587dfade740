// SPDX-License-Identifier: MIT
// Steps that kernels do together (a norm, the rotation behind it, a factor behind that) have the bits of the same steps in
// a pass each: every instruction set, layout and head size, slices of heads, in place and to other memory.
#include <rope/core.hpp>
#include <rope/heads.hpp>
#include <rope/isa.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

using rope::Index;
using rope::Layout;

namespace {

constexpr double kEps = 1e-6, kFactor = 0.3;
constexpr Index kSeq = 2;

template <class T>
void compare(Layout layout, Index head_dim, Index rotary_dim, Index offset, Index heads) {
    rope::Config config;
    config.head_dim = head_dim;
    config.rotary_dim = rotary_dim;
    config.rotary_offset = offset;
    const rope::CosSinCache<T> cache(config, 8, 2);
    const std::vector<T> x = support::normal<T>(kSeq * heads * head_dim, 5), weight = support::normal<T>(head_dim, 6);
    const auto view = [&](std::vector<T>& of) { return rope::view(of.data(), kSeq, heads, head_dim); };
    const auto pass = [&](const rope::Path& p) { rope::pass(layout, cache, rope::start_at(3), p); };
    std::vector<T> normed = x;
    pass(rope::heads(view(normed)).rms_norm(weight, kEps));
    std::vector<T> rotated = normed;
    pass(rope::heads(view(rotated)).rotate());
    std::vector<T> multiplied = rotated;
    pass(rope::heads(view(multiplied)).multiply(kFactor));
    REQUIRE(multiplied != rotated);

    std::vector<T> source = x, other(x.size());
    pass(rope::heads(view(source)).rms_norm(weight, kEps).rotate());
    CHECK(source == rotated);
    source = x;
    pass(rope::heads(view(source)).rms_norm(weight, kEps).rotate_into(layout));  // where the pairs are already
    CHECK(source == rotated);
    source = x;
    pass(rope::heads(view(source)).rms_norm(weight, kEps).rotate().multiply(kFactor));
    CHECK(source == multiplied);
    source = x;
    pass(rope::heads(view(source)).rms_norm(weight, kEps).rotate().multiply(kFactor).to(view(other)));
    CHECK(other == multiplied);
    CHECK(source == x);
    // A factor for each feature is another step.
    pass(rope::heads(view(rotated)).multiply(weight));
    pass(rope::heads(view(source)).rms_norm(weight, kEps).rotate().multiply(weight).to(view(other)));
    CHECK(other == rotated);
    // The same back.
    pass(rope::heads(view(source)).rms_norm(weight, kEps).rotate_back().multiply(kFactor).to(view(other)));
    std::vector<T> back = normed;
    pass(rope::heads(view(back)).rotate_back());
    pass(rope::heads(view(back)).multiply(kFactor));
    CHECK(other == back);
    // Steps behind the chain are not left out, nor those before it.
    pass(rope::heads(view(source)).multiply(1.0).rms_norm(weight, kEps).rotate().multiply(kFactor).multiply(-1.0));
    for (T& number : source) number = -number;
    CHECK(source == multiplied);
    // None of nothing.
    pass(rope::heads(rope::view(static_cast<T*>(nullptr), 1, 0, head_dim)).rotate());
    // A rotation alone, one token of one batch entry and several.
    for (const Index seq : {Index(1), kSeq}) {
        std::vector<T> alone = normed, called = normed;
        const auto of = [&](std::vector<T>& m) { return rope::view(m.data(), seq, heads, head_dim); };
        rope::pass(layout, cache, rope::start_at(3), rope::heads(of(alone)).rotate());
        rope::apply(layout, of(called), cache, rope::start_at(3));
        CHECK(alone == called);
        rope::pass(layout, cache, rope::start_at(3), rope::heads(of(alone)).rotate_back());
        rope::apply_inverse(layout, of(called), cache, rope::start_at(3));
        CHECK(alone == called);
    }
}

}  // namespace

TEMPLATE_TEST_CASE("a chain has the bits of its steps", "", float, double) {
    for (const char* isa : rope::available_isas()) {
        const support::ForcedIsa forced(isa);
        for (const Layout layout : {Layout::half_split, Layout::interleaved})
            for (const Index head_dim : {2, 8, 12, 16, 24, 32, 40, 64, 80, 96, 128, 256})
                for (const Index heads : {1, 3, 4, 9, 33}) {
                    CAPTURE(std::string(isa), static_cast<int>(layout), head_dim, heads);
                    compare<TestType>(layout, head_dim, head_dim, 0, heads);
                    if (head_dim < 16) continue;
                    compare<TestType>(layout, head_dim, head_dim / 2, 0, heads);
                    compare<TestType>(layout, head_dim, head_dim / 2, head_dim / 4, heads);
                }
    }
}
