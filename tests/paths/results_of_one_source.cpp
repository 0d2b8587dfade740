// SPDX-License-Identifier: MIT
// Paths of one call may begin at the same heads, each with rows, steps and features of its own. They are run in turns, and
// have the bits of calls of their own.
#include <rope/heads.hpp>
#include <rope/part.hpp>

#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::Path;
using support::size;

namespace {

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kHeads = 3, kDim = 64;

rope::CosSinCache<float> table(double base, Index head_dim = kDim, Index rotary_dim = kDim, Index offset = 0) {
    rope::Config config;
    config.head_dim = head_dim;
    config.rotary_dim = rotary_dim;
    config.rotary_offset = offset;
    config.base = base;
    return rope::CosSinCache<float>(config, 4096);
}
std::vector<float> zeros(Index tokens) { return std::vector<float>(size(tokens * kHeads * kDim)); }
auto as_view(std::vector<float>& x, Index batch, Index seq) { return rope::view(x.data(), batch, seq, kHeads, kDim); }

}  // namespace

TEST_CASE("several results of one source are those of calls of their own") {
    const auto near = table(1e4), far = table(1e6);
    const std::vector<float> w = support::normal<float>(kDim, 4);
    support::for_each_isa([&](const char* name) {
        for (const Index seq : {Index(1), Index(5), Index(700)})  // one token, one turn, many turns
            for (const Index batch : {Index(1), Index(2)}) {
                CAPTURE(name, seq, batch);
                std::vector<float> x = support::normal<float>(batch * seq * kHeads * kDim, 3);
                std::vector<int> ids(size(batch * seq));
                for (Index t = 0; t < batch * seq; ++t) ids[size(t)] = static_cast<int>(t * 7919 % 4000);
                std::vector<float> got[4], expected[4];
                for (int i = 0; i < 4; ++i) got[i] = expected[i] = zeros(batch * seq);
                const auto path = [&](int i) {
                    Path p = rope::heads(as_view(x, batch, seq));
                    if (i == 1 || i == 2) p.rms_norm(w, 1e-6);
                    if (i == 3) p.rms_norm(1e-6, {rope::NormSpan::token});
                    return p;
                };
                const auto out = [&](std::vector<float>& y) { return as_view(y, batch, seq); };
                rope::pass<kLayout>(near, rope::start_at(7), path(0).to(out(expected[0])));
                rope::pass<kLayout>(near, rope::start_at(7), path(1).rotate().to(out(expected[1])));
                rope::pass<kLayout>(far, ids, path(2).rotate().multiply(0.5).to(out(expected[2])));
                rope::pass<kLayout>(near, ids, path(3).rotate_back().to(out(expected[3])));
                const auto pass = [&](auto&& executor) {
                    for (auto& y : got) y = zeros(batch * seq);
                    rope::pass<kLayout>(executor, near, rope::start_at(7), path(0).to(out(got[0])),
                                        path(1).rotate().to(out(got[1])),
                                        path(2).rotate(far, ids).multiply(0.5).to(out(got[2])),
                                        path(3).rotate_back(near, ids).to(out(got[3])));
                };
                const auto check = [&] {
                    for (int i = 0; i < 4; ++i) CHECK(support::same_bits(got[i], expected[i]));
                };
                const auto in_one = [](Index items, const auto& run) { run(Index(0), items); };
                const auto one_by_one = [](Index items, const auto& run) {
                    for (Index i = items; i > 0; --i) run(i - 1, i);
                };
                pass(in_one);
                check();
                pass(one_by_one);
                check();
            }
    });
}

TEST_CASE("one norm, then parts of two types") {
    constexpr Index kTokens = 9, kAll = 512, kLatent = 448, kRotated = kAll - kLatent;
    const auto rows = table(1e4, kAll, kRotated, kLatent);
    std::vector<float> x = support::normal<float>(kTokens * kAll, 3), w = support::normal<float>(kAll, 4),
                       whole(x.size());
    const auto source = rope::view(x.data(), kTokens, 1, kAll);
    const auto normed = [&] { return rope::heads(source).rms_norm(w, 1e-6); };
    const auto of_whole = rope::view(whole.data(), kTokens, 1, kAll);
    support::for_each_isa([&](const char* name) {
        CAPTURE(name);
        rope::pass<kLayout>(rows, rope::start_at(3), normed().rotate().to(rope::view(whole.data(), kTokens, 1, kAll)));
        std::vector<unsigned char> latent(size(kTokens * kLatent)), want_latent(latent.size());
        std::vector<rope::bfloat16> rotated(size(kTokens * kRotated)), want_rotated(rotated.size());
        std::vector<float> scales(size(kTokens)), want_scales(scales.size()), tail(rotated.size()),
            want_tail(tail.size());
        const auto codes = [&](auto& c, auto& s) {
            return rope::fp8_e4m3(rope::view(c.data(), kTokens, 1, kLatent), rope::view(s.data(), kTokens, 1, 1));
        };
        const auto part = [&](auto& y) { return rope::view(y.data(), kTokens, 1, kRotated); };
        rope::pass(rope::heads(of_whole.slice_features(0, kLatent)).to(codes(want_latent, want_scales)),
                   rope::heads(of_whole.slice_features(kLatent, kRotated)).to(part(want_rotated)),
                   rope::heads(of_whole.slice_features(kLatent, kRotated)).to(part(want_tail)));
        rope::pass<kLayout>(rows, rope::start_at(3), normed().slice_features(0, kLatent).to(codes(latent, scales)),
                            normed().slice_features(kLatent, kRotated).rotate().to(part(rotated)),
                            normed().rotate().slice_features(kLatent, kRotated).to(part(tail)));
        CHECK(latent == want_latent);
        CHECK(scales == want_scales);
        CHECK(support::same_bits(tail, want_tail));
        CHECK(support::same_bits(rotated, want_rotated));
    });
}

TEST_CASE("rows, slices and sources of paths that do not go together are refused") {
    const auto rows = table(1e4), other = table(1e4, 32, 32);
    rope::Config config;
    config.head_dim = kDim;
    const rope::CosSinCache<double> in_double(config, 64);
    std::vector<float> x = support::normal<float>(4 * kHeads * kDim, 3), y = zeros(4);
    const std::vector<float> before = x;
    std::vector<int> far = {0, 1, 2, 4096};
    const auto in = as_view(x, 1, 4), out = as_view(y, 1, 4);
    const auto said = [&](const auto&... paths) {
        const std::string message = support::refusal([&] { rope::pass<kLayout>(rows, paths...); }).message;
        CHECK(message == rope::check_pass<kLayout>(rows, paths...).message());
        CHECK((x == before && y == zeros(4)));
        return message;
    };
    CHECK(said(rope::heads(in).rotate(in_double).to(out)) ==
          "path 1 has rows of double; those of the call are float, and all must be of one type.");
    CHECK(said(rope::heads(in).rotate(other).to(out)) ==
          "path 1.head_dim is 64; its cache was made for a head_dim of 32.");
    CHECK(said(rope::heads(in).rotate(rows, far).to(out)) ==
          "positions[3] is 4096; this table of path 1 holds positions 0 to 4095.");
    CHECK(
        said(rope::heads(in).rotate(), rope::heads(in).to(out)) ==
        "source of path 1 and source of path 2 may share elements; they must be shown to share none by their strides.");
    CHECK(said(rope::heads(in).slice_features(0, 32)) ==
          "path 1 has a slice of features and no destination: add to(...).");
    CHECK(said(rope::heads(in).slice_features(33, 32).to(out)) ==
          "path 1 has a slice of 32 features from 33 on; it must have one at least, of the 64 of its heads.");
    CHECK(said(rope::heads(in).slice_features(-1, 32).to(out)) ==
          "path 1 has a slice of 32 features from -1 on; it must have one at least, of the 64 of its heads.");
    CHECK(said(rope::heads(in).slice_features(0, 32).to(out)) ==
          "destination of path 1 is [1, 4, 3, 64]; it must be [1, 4, 3, 32].");
    const rope::Path twice = rope::heads(in).rotate();
    CHECK(
        said(twice, twice) ==
        "source of path 1 and source of path 2 may share elements; they must be shown to share none by their strides.");
    // Beside an extent of 0 the others may be anything.
    const Index huge = std::numeric_limits<Index>::max() / 3;
    const rope::TensorView<float> none = {x.data(), 0, 1, huge, 3, 1, 1, 1, 1},
                                  nowhere = {y.data(), 0, 1, huge, 3, 1, 1, 1, 1};
    const rope::TensorView<float> elsewhere = {y.data(), 0, 1, huge, 3, 1, 1, 1, 1};
    rope::pass(rope::heads(none).to(nowhere), rope::heads(none).to(elsewhere));
    std::vector<Index> in_memory(size(4 * kHeads * kDim));
    const auto as_float = rope::view(static_cast<float*>(static_cast<void*>(in_memory.data())), 4, kHeads, kDim);
    const rope::Positions written = rope::ids(in_memory.data(), 4);
    CHECK(said(rope::heads(in).rotate(rows, written).to(as_float)) ==
          "destination of path 1 and the positions of path 1 may share elements; they must be shown to share none.");
    CHECK(support::invalid([&] { rope::pass(rope::heads(in).rotate(rows).to(out)); }) ==
          "path 1 rotates, and the call has no rows; rope::pass takes them before the paths.");
}
