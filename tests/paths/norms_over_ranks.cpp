// SPDX-License-Identifier: MIT
// A norm over all heads of a token whose heads lie on several ranks: each sums the squares of its own, and norms them by the
// sum of all.
#include <rope/heads.hpp>
#include <rope/part.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/refusal.hpp"

using rope::Index;
using support::same_bits;
using support::size;

namespace {

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kSeq = 11, kHeads = 6, kDim = 64;

template <class T>
rope::CosSinCache<T> table() {
    rope::Config config;
    config.head_dim = kDim;
    return rope::CosSinCache<T>(config, 64);
}
template <class T>
auto as_view(std::vector<T>& x) {
    return rope::view(x.data(), kSeq, kHeads, kDim);
}
template <class T>
rope::NormOptions of_all(const std::vector<T>& sums) {
    rope::NormOptions options = {rope::NormSpan::token};
    options.squares = rope::view(sums.data(), 1, kSeq, 1, 1);
    options.all_heads = kHeads;
    return options;
}

}  // namespace

TEMPLATE_TEST_CASE("two ranks have the norm over all heads", "", float, double) {
    using T = TestType;
    const auto rows = table<T>();
    const std::vector<T> given = support::normal<T>(kSeq * kHeads * kDim, 1), w = support::normal<T>(kHeads * kDim, 2);
    support::for_each_isa([&](const char* name) {
        for (const bool is_l2 : {false, true}) {
            CAPTURE(name, is_l2);
            std::vector<T> want = given, got = given;
            rope::Path whole = rope::heads(as_view(want));
            const auto norm = [&](rope::Path& p, const T* weight, const rope::NormOptions& o) {
                return is_l2 ? p.l2_norm(weight, 1e-6, o).rotate() : p.rms_norm(weight, 1e-6, o).rotate();
            };
            rope::pass<kLayout>(rows, rope::start_at(3), norm(whole, w.data(), {rope::NormSpan::token}));
            std::vector<double> all(size(kSeq)), mine(size(kSeq));
            const Index firsts[] = {0, 2}, counts[] = {2, 4};  // heads of the two ranks
            for (int rank = 0; rank < 2; ++rank) {
                rope::sum_squares(rope::heads(as_view(got).slice_heads(firsts[rank], counts[rank])),
                                  rope::view(mine.data(), 1, kSeq, 1, 1));
                for (Index s = 0; s < kSeq; ++s) {
                    long double sum = 0;
                    for (Index i = 0; i < counts[rank] * kDim; ++i) {
                        const auto x = static_cast<long double>(given[size((s * kHeads + firsts[rank]) * kDim + i)]);
                        sum += x * x;
                    }
                    CHECK(std::abs(static_cast<long double>(mine[size(s)]) - sum) < 1e-14L * sum);
                    all[size(s)] += mine[size(s)];
                }
            }
            for (int rank = 0; rank < 2; ++rank) {
                rope::Path part = rope::heads(as_view(got).slice_heads(firsts[rank], counts[rank]));
                const rope::Path normed = norm(part, w.data() + firsts[rank] * kDim, of_all(all));
                for (const Index i : {2, 0, 1}) rope::pass<kLayout>(rope::part(i, 3), rows, rope::start_at(3), normed);
            }
            for (std::size_t i = 0; i < got.size(); ++i)
                CHECK(std::abs(got[i] - want[i]) <= (sizeof(T) == 4 ? 1e-6 : 1e-14) * (1 + std::abs(want[i])));
        }
    });
}

TEST_CASE("sums of what the steps leave, of parts, of a cache") {
    const std::vector<float> given = support::normal<float>(kSeq * kHeads * kDim, 1),
                             w = support::normal<float>(kDim, 2);
    std::vector<float> x = given, stepped = given;
    std::vector<double> sums(size(kSeq)), want(size(kSeq)), parts(size(kSeq), -1.0);
    const auto to = [](std::vector<double>& s) { return rope::view(s.data(), 1, kSeq, 1, 1); };
    const auto path = [&](auto v) { return rope::heads(v).add(w).rms_norm(1e-6, {rope::NormSpan::token}).hadamard(); };
    rope::pass(path(as_view(stepped)));
    rope::sum_squares(rope::heads(as_view(stepped)), to(want));
    rope::sum_squares(path(as_view(x)), to(sums));
    for (const Index i : {2, 0, 1}) rope::sum_squares(path(as_view(x)), to(parts), rope::part(i, 3));
    CHECK(same_bits(sums, want));
    CHECK(same_bits(parts, want));
    CHECK(same_bits(x, given));  // which is read
    const std::vector<float>& constant = given;
    rope::sum_squares(rope::heads(rope::view(constant.data(), kSeq, kHeads, kDim)), to(sums));
    rope::sum_squares(rope::heads(as_view(x)), to(want));
    CHECK(same_bits(sums, want));
    std::vector<int> slots(size(kSeq), -1);
    slots[1] = 3;
    std::vector<rope::bfloat16> pages(4 * kHeads * kDim);
    const auto cache = rope::paged(pages.data(), 1, 4, kHeads, kDim, slots);
    rope::pass(rope::heads(as_view(x)).to(cache));
    sums.assign(sums.size(), -7.0);
    rope::sum_squares(rope::heads(cache), to(sums));
    CHECK(sums[0] == -7.0);
    CHECK(std::abs(sums[1] - want[1]) < 0.01 * want[1]);
}

TEST_CASE("squares that do not fit are refused") {
    const auto rows = table<float>();
    std::vector<float> x = support::normal<float>(kSeq * kHeads * kDim, 1);
    const std::vector<float> before = x;
    std::vector<double> sums(size(kSeq), 1.0);
    const auto said = [&](const rope::Path& p) {
        const std::string message = support::refusal([&] { rope::pass<kLayout>(rows, p); }).message;
        CHECK(message == rope::check_pass<kLayout>(rows, p).message());
        CHECK(x == before);
        return message;
    };
    rope::NormOptions options = of_all(sums);
    CHECK(said(rope::heads(as_view(x)).layer_norm(nullptr, nullptr, 1e-6, options)) ==
          "squares are given to a layer_norm; they are for rms_norm and l2_norm over a token.");
    options.over = rope::NormSpan::head;
    CHECK(said(rope::heads(as_view(x)).rms_norm(1e-6, options)) ==
          "squares are given to a norm over a head; they are for rms_norm and l2_norm over a token.");
    options = of_all(sums);
    options.all_heads = kHeads - 1;
    CHECK(said(rope::heads(as_view(x)).rms_norm(1e-6, options)) ==
          "all_heads of a norm in path 1 is 5; it must be from the heads of the path (6) to 1048576.");
    options = of_all(sums);
    options.squares.seq = kSeq - 1;
    CHECK(said(rope::heads(as_view(x)).rms_norm(1e-6, options)) ==
          "squares of a norm in path 1 are [1, 10, 1, 1]; they must be [1, 11, 1, 1].");
    options = of_all(sums);
    CHECK(said(rope::heads(as_view(x)).rms_norm(1e-6, options).rms_norm(1e-6, options)) ==
          "path 1 has 2 norms with squares; it must have at most one.");
    options.squares.data = nullptr;
    options.all_heads = 0;
    CHECK_FALSE(said(rope::heads(as_view(x)).rms_norm(1e-6, options)) == "(accepted)");
    const auto refused = [&](const rope::Path& p, const rope::TensorView<double>& to) {
        const std::string message = rope::sum_squares(p, to, rope::no_throw()).message();
        CHECK(sums == std::vector<double>(size(kSeq), 1.0));
        return message;
    };
    const auto to = rope::view(sums.data(), 1, kSeq, 1, 1);
    CHECK(refused(rope::heads(as_view(x)), rope::view(sums.data(), 1, kSeq - 1, 1, 1)) ==
          "sums are [1, 10, 1, 1]; they must be [1, 11, 1, 1].");
    CHECK(refused(rope::heads(as_view(x)).rotate(), to) ==
          "path 1 rotates, and the call has no rows; rope::pass takes them before the paths.");
    std::vector<double> in_double(size(kSeq * kHeads * kDim), 1.0);
    const auto in_source = rope::view(in_double.data() + 5, 1, kSeq, 1, 1);
    const std::string shared =
        "sums and source of path 1 may share elements; they must be shown to share none by their strides.";
    CHECK(refused(rope::heads(as_view(in_double)), in_source) == shared);
    CHECK(refused(rope::heads(as_view(in_double)).to(as_view(in_double)), in_source) == shared);
}
