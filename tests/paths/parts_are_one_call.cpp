// SPDX-License-Identifier: MIT
// part(i, n) for all i of n is one call, at every size, and no two parts write the same head.
#include <rope/apply.hpp>
#include <rope/heads.hpp>
#include <rope/moves.hpp>
#include <rope/part.hpp>
#include <rope/reposition.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

using rope::Index;
using support::same_bits;

namespace {

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kHeads = 5, kDim = 32;

rope::Config config() {
    rope::Config config;
    config.head_dim = kDim;
    return config;
}
const rope::CosSinCache<float>& table() {
    static const rope::CosSinCache<float> cache(config(), 4096);
    return cache;
}

/// Calls f with each of `count` parts, in an order that is not theirs.
template <class F>
void in_parts(Index count, const F& f) {
    for (Index i = 0; i < count; ++i) f(rope::part((i * 7 + 3) % count, count));
}

}  // namespace

TEST_CASE("apply, apply_copy, apply_inverse, two tensors, reposition and pass in parts") {
    for (const Index seq : {Index(1), Index(3), Index(16), Index(700), Index(3000)}) {
        const std::vector<float> x = support::normal<float>(seq * kHeads * kDim, 1);
        const std::vector<float> k = support::normal<float>(seq * 2 * kDim, 2);
        const auto view = [&](std::vector<float>& v) {
            return rope::view(v.data(), seq, static_cast<Index>(v.size()) / (seq * kDim), kDim);
        };
        std::vector<Index> old_ids(support::size(seq)), new_ids = old_ids;
        for (Index s = 0; s < seq; ++s) {
            old_ids[support::size(s)] = s;
            new_ids[support::size(s)] = 3 * s + 1;
        }
        const auto const_view = rope::view(x.data(), seq, kHeads, kDim);
        std::vector<float> q1 = x, k1 = k, out1(x.size()), back1 = x, moved1 = x, at1 = x, passed1(x.size());
        rope::apply<kLayout>(view(q1), view(k1), table(), rope::start_at(9));
        rope::apply_copy<kLayout>(const_view, view(out1), table(), rope::start_at(9));
        rope::apply_inverse<kLayout>(view(back1), table(), rope::start_at(9));
        rope::reposition<kLayout>(view(moved1), config(), 5);
        rope::reposition<kLayout>(view(at1), config(), old_ids, new_ids);
        rope::pass<kLayout>(table(), rope::start_at(9),
                            rope::heads(const_view).rms_norm(1e-6, {rope::NormSpan::token}).rotate().to(view(passed1)));
        for (const Index parts : {Index(1), Index(2), Index(3), Index(5), Index(16)}) {
            INFO(seq << " tokens, " << parts << " parts");
            std::vector<float> q = x, kk = k, out(x.size()), back = x, moved = x, at = x, passed(x.size());
            in_parts(parts, [&](const rope::Part& part) {
                rope::apply<kLayout>(view(q), view(kk), table(), rope::start_at(9), part);
                rope::apply_copy<kLayout>(const_view, view(out), table(), rope::start_at(9), part);
                rope::apply_inverse<kLayout>(view(back), table(), rope::start_at(9), part);
                rope::reposition<kLayout>(view(moved), config(), 5, part);
                rope::reposition<kLayout>(view(at), config(), old_ids, new_ids, part);
                rope::pass<kLayout>(
                    part, table(), rope::start_at(9),
                    rope::heads(const_view).rms_norm(1e-6, {rope::NormSpan::token}).rotate().to(view(passed)));
            });
            CHECK(same_bits(q, q1));
            CHECK(same_bits(kk, k1));
            CHECK(same_bits(out, out1));
            CHECK(same_bits(back, back1));
            CHECK(same_bits(moved, moved1));
            CHECK(same_bits(at, at1));
            CHECK(same_bits(passed, passed1));
        }
    }
}

TEST_CASE("one part alone does its share and nothing else") {
    const Index seq = 10;
    const std::vector<float> x = support::normal<float>(seq * kHeads * kDim, 3);
    std::vector<float> all = x, one = x;
    rope::apply<kLayout>(rope::view(all.data(), seq, kHeads, kDim), table(), rope::start_at(1));
    rope::apply<kLayout>(rope::view(one.data(), seq, kHeads, kDim), table(), rope::start_at(1), rope::part(1, 2));
    const std::size_t half = x.size() / 2;
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(one[i] == (i < half ? x : all)[i]);
    std::vector<float> by_reference = x;
    const rope::Part part = rope::part(1, 2);
    rope::apply<kLayout>(rope::view(by_reference.data(), seq, kHeads, kDim), table(), rope::start_at(1),
                         std::cref(part));
    CHECK(same_bits(by_reference, one));
}

TEST_CASE("no work item of an executor ends within a token whose heads are normed together") {
    const Index seq = 700;
    const std::vector<float> x = support::normal<float>(seq * kHeads * kDim, 8);
    std::vector<float> whole(x.size()), cut(x.size());
    Index items = 0;
    const auto one_by_one = [&](Index count, const auto& f) {
        items = count;
        for (Index i = count; i > 0; --i) f(i - 1, i);
    };
    const rope::Path path =
        rope::heads(rope::view(x.data(), seq, kHeads, kDim)).rms_norm(1e-6, {rope::NormSpan::token});
    const auto to = [&](std::vector<float>& y) {
        rope::Path p = path;
        return p.rotate().to(rope::view(y.data(), seq, kHeads, kDim));
    };
    rope::pass<kLayout>(table(), rope::start_at(0), to(whole));
    rope::pass<kLayout>(rope::at_every_size(one_by_one), table(), rope::start_at(0), to(cut));
    CHECK(items > 1);
    CHECK(same_bits(cut, whole));
}

TEST_CASE("an executor is asked at every size, if it says so") {
    std::vector<float> x = support::normal<float>(kHeads * kDim, 4), expected = x;
    rope::apply<kLayout>(rope::view(expected.data(), 1, kHeads, kDim), table(), rope::start_at(3));
    Index asked = 0;
    const auto executor = [&](Index count, const auto& f) {
        ++asked;
        for (Index i = count; i > 0; --i) f(i - 1, i);
    };
    rope::apply<kLayout>(rope::view(x.data(), 1, kHeads, kDim), table(), rope::start_at(3), executor);
    CHECK(asked == 0);
    CHECK(same_bits(x, expected));
    x = support::normal<float>(kHeads * kDim, 4);
    rope::apply<kLayout>(rope::view(x.data(), 1, kHeads, kDim), table(), rope::start_at(3),
                         rope::at_every_size(executor));
    CHECK(asked == 1);
    CHECK(same_bits(x, expected));
}

TEST_CASE("a pass larger than the caches is many small ones") {
    // Heads of 80 floats are whole vectors, which go past the caches; heads of 78, or at other addresses, do not.
    for (const auto [head_dim, shift] : {std::array<Index, 2>{80, 0}, {80, 1}, {78, 0}}) {
        rope::Config of_heads;
        of_heads.head_dim = head_dim;
        const Index d = head_dim, offset = shift, heads = 3, seq = (Index(13) << 19) / (heads * d * 4);
        const rope::CosSinCache<float> cache(of_heads, seq);
        const std::vector<float> x = support::normal<float>(seq * heads * d, 1);
        const auto source = rope::view(x.data(), seq, heads, d);
        support::for_each_isa([&](const char* isa) {
            CAPTURE(isa, d, offset);
            const std::size_t size = x.size() + 2;  // with numbers that stay
            std::vector<float> copied[2], normed[2], first[2];
            std::vector<rope::bfloat16> narrow[2];
            for (const int large : {0, 1}) {
                for (auto* v : {&copied[large], &normed[large], &first[large]}) v->assign(size, 7.0f);
                narrow[large].assign(size, rope::bfloat16());
                const Index step = large == 1 ? seq : 100;
                for (Index s = 0; s < seq; s += step) {
                    const Index tokens = s + step < seq ? step : seq - s;
                    const auto in = source.slice_tokens(s, tokens);
                    const auto of = [&](auto& v) {
                        return rope::view(v.data() + offset, seq, heads, d).slice_tokens(s, tokens);
                    };
                    const auto heads_first = rope::view_heads_first(first[large].data() + offset, 1, heads, seq, d);
                    rope::pass<kLayout>(cache, rope::start_at(s), rope::heads(in).to(of(copied[large])),
                                        rope::heads(in).rms_norm(1e-6).rotate().multiply(0.3).to(of(normed[large])),
                                        rope::heads(in).rotate().to(heads_first.slice_tokens(s, tokens)),
                                        rope::heads(in).rotate().to(of(narrow[large])));
                }
            }
            REQUIRE(same_bits(copied[0], copied[1]));
            REQUIRE(same_bits(normed[0], normed[1]));
            REQUIRE(same_bits(first[0], first[1]));
            REQUIRE(same_bits(narrow[0], narrow[1]));
            REQUIRE(copied[1].back() == 7.0f);
        });
    }
}

TEST_CASE("a refused call throws where it is made: no executor is asked") {
    std::vector<float> x = support::normal<float>(3000 * kHeads * kDim, 1);
    const std::vector<float> before = x;
    const auto view = rope::view(x.data(), 3000, kHeads, kDim);
    int asked = 0;
    const auto executor = [&asked](Index count, const auto& f) {
        ++asked;
        f(0, count);
    };
    const std::string sentence = "positions start at 4000 and seq is 3000; this cache holds positions 0 to 4095.";
    const rope::Positions beyond = rope::start_at(4000);
    const auto refuses = [&](const auto& call) { CHECK_THROWS_WITH(call(), sentence); };
    refuses([&] { rope::apply<kLayout>(view, table(), beyond, executor); });
    refuses([&] { rope::apply_inverse<kLayout>(view, table(), beyond, rope::at_every_size(executor)); });
    refuses([&] { rope::apply_copy<kLayout>(view, view, table(), beyond, executor); });
    refuses([&] { rope::pass<kLayout>(executor, table(), beyond, rope::heads(view).rotate()); });
    refuses([&] { rope::pass<kLayout>(rope::at_every_size(executor), table(), beyond, rope::heads(view)); });
    CHECK(asked == 0);
    // Where check is ok, no part throws, and so no thread of the caller's.
    REQUIRE(rope::check<kLayout>(view, table(), rope::start_at(1096)).ok());
    in_parts(4, [&](const rope::Part& part) { rope::apply<kLayout>(view, table(), rope::start_at(1096), part); });
    CHECK_FALSE(same_bits(x, before));
}
