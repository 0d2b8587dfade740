// SPDX-License-Identifier: MIT
// permute_rows and permute_rows_copy put weights in the order of the other layout: the rows of every head, and nothing
// else. A model whose weights were moved gives the same scores, bit for bit.
#include <rope/core.hpp>
#include <rope/weights.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/guarded.hpp"
#include "support/refusal.hpp"

using rope::HeadRows;
using rope::Index;
using rope::Layout;
using support::refusal;
using support::size;
using Bytes = std::vector<unsigned char>;

namespace {

Bytes random_bytes(Index count, unsigned seed) {
    std::mt19937 engine(seed);
    Bytes bytes(size(count));
    for (unsigned char& b : bytes) b = static_cast<unsigned char>(engine());
    return bytes;
}

Index rotary_dim(const HeadRows& r) { return r.rotary_dim != 0 ? r.rotary_dim : r.head_dim; }
Index stride(const HeadRows& r) { return r.stride_bytes != 0 ? r.stride_bytes : r.row_bytes; }
Index span(const HeadRows& r) { return (r.heads * r.head_dim - 1) * stride(r) + r.row_bytes; }

/// What permute_rows_copy makes of `out`, byte by byte: the slice of a head is [2, pairs, row] in half_split and
/// [pairs, 2, row] in interleaved, and the first two axes are swapped. Both begin `fence` bytes into their buffer.
Bytes permuted(const Bytes& in, Bytes out, Index fence, const HeadRows& r, Layout from, Layout to) {
    const Index pairs = rotary_dim(r) / 2;
    const auto row = [&](Index h, Index f, Index b) { return size(fence + (h * r.head_dim + f) * stride(r) + b); };
    const auto feature = [&](Layout layout, Index half, Index pair) {
        return r.rotary_offset + (layout == Layout::half_split ? half * pairs + pair : pair * 2 + half);
    };
    for (Index h = 0; h < r.heads; ++h)
        for (Index b = 0; b < r.row_bytes; ++b) {
            for (Index f = 0; f < r.head_dim; ++f) out[row(h, f, b)] = in[row(h, f, b)];
            for (Index half = 0; half < 2; ++half)
                for (Index pair = 0; pair < pairs; ++pair)
                    out[row(h, feature(to, half, pair), b)] = in[row(h, feature(from, half, pair), b)];
        }
    return out;
}

constexpr Layout kBoth[] = {Layout::interleaved, Layout::half_split};
Layout other(Layout layout) { return layout == Layout::half_split ? Layout::interleaved : Layout::half_split; }

/// In place, out of place and back, in buffers whose every other byte must stay what it is.
bool is_right(const HeadRows& r, unsigned seed) {
    constexpr Index fence = 19;
    const Bytes before = random_bytes(span(r) + 2 * fence, seed);
    const Bytes elsewhere = random_bytes(span(r) + 2 * fence, seed + 1);
    for (const Layout from : kBoth) {
        const Layout to = other(from);
        Bytes data = before, copy = elsewhere, back = elsewhere;
        rope::permute_rows(data.data() + fence, r, from, to);
        rope::permute_rows_copy(before.data() + fence, copy.data() + fence, r, from, to);
        if (data != permuted(before, before, fence, r, from, to)) return false;
        if (copy != permuted(before, elsewhere, fence, r, from, to)) return false;
        rope::permute_rows(data.data() + fence, r, to, from);
        rope::permute_rows_copy(copy.data() + fence, back.data() + fence, r, to, from);
        if (data != before) return false;
        if (back != permuted(before, elsewhere, fence, r, from, from)) return false;  // a plain copy of the rows
    }
    return true;
}

}  // namespace

// Among these are permutations of one cycle (a slice of 102) and of many (128 has 18 of 7 rows each).
TEST_CASE("rows of every head_dim from 2 to 130, whole and in part") {
    unsigned seed = 0;
    for (Index d = 2; d <= 130; d += 2)
        for (const Index heads : {1, 3})
            for (const Index row_bytes : {1, 2, 3, 4, 8})
                for (const Index gap : {0, 5}) {
                    CAPTURE(d, heads, row_bytes, gap);
                    const Index stride_bytes = gap == 0 ? 0 : row_bytes + gap;
                    REQUIRE(is_right({heads, d, 0, 0, row_bytes, stride_bytes}, ++seed));
                    REQUIRE(is_right({heads, d + 3, d, 0, row_bytes, stride_bytes}, ++seed));
                    REQUIRE(is_right({heads, d + 3, d, 2, row_bytes, stride_bytes}, ++seed));
                    REQUIRE(is_right({heads, d + 4, d, 4, row_bytes, stride_bytes}, ++seed));
                }
}

TEST_CASE("rows longer than any buffer, and many heads") {
    unsigned seed = 0;
    for (const Index d : {2, 6, 64, 102, 128})
        for (const Index row_bytes : {1000, 1023, 1024, 1025, 2048, 5000})
            for (const Index gap : {0, 24}) {
                CAPTURE(d, row_bytes, gap);
                REQUIRE(is_right({2, d, 0, 0, row_bytes, row_bytes + gap}, ++seed));
                REQUIRE(is_right({1, d + 2, d, 1, row_bytes, row_bytes + gap}, ++seed));
            }
    REQUIRE(is_right({4096, 64, 32, 16, 2, 0}, 1));
    REQUIRE(is_right({1, Index(1) << 20, 0, 0, 1, 0}, 1));
}

TEST_CASE("no byte outside the rows is touched, nor one between them") {
    for (const support::Guard guard : {support::Guard::before, support::Guard::after})
        for (const HeadRows& r : {HeadRows{3, 12, 8, 4, 7, 9}, HeadRows{2, 10, 0, 0, 1100, 0}})
            for (const Layout from : kBoth) {
                const Bytes before = random_bytes(span(r), 1), elsewhere = random_bytes(span(r), 2);
                support::GuardedMemory in(before.size()), out(before.size());
                const unsigned char* const from_here = in.put(before, guard);
                unsigned char* const to_there = out.put(elsewhere, guard);
                rope::permute_rows_copy(from_here, to_there, r, from, other(from));
                REQUIRE(Bytes(to_there, to_there + span(r)) == permuted(before, elsewhere, 0, r, from, other(from)));
                unsigned char* const in_place = in.put(before, guard);
                rope::permute_rows(in_place, r, from, other(from));
                REQUIRE(Bytes(in_place, in_place + span(r)) == permuted(before, before, 0, r, from, other(from)));
            }
}

TEST_CASE("from a layout to itself") {
    const HeadRows r = {2, 8, 0, 0, 3, 5};
    const Bytes before = random_bytes(span(r), 1), elsewhere = random_bytes(span(r), 2);
    for (const Layout layout : kBoth) {
        Bytes data = before, copy = elsewhere;
        rope::permute_rows(data.data(), r, layout, layout);
        CHECK(data == before);
        rope::permute_rows_copy(before.data(), copy.data(), r, layout, layout);
        CHECK(copy == permuted(before, elsewhere, 0, r, layout, layout));
        CHECK(copy != elsewhere);
        rope::permute_rows_copy(data.data(), data.data(), r, layout, other(layout));  // in place, then
        CHECK(data == permuted(before, before, 0, r, layout, other(layout)));
    }
}

TEST_CASE("every form that weights and keys come in") {
    constexpr Index n = 3, heads = 2, d = 6, hidden = 5;
    rope::Config config;
    config.head_dim = d;
    const auto iota = [](Index count) {
        std::vector<float> values(size(count));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
        return values;
    };
    // Feature 2i + s of interleaved is feature 3s + i of half_split.
    const Index source[d] = {0, 3, 1, 4, 2, 5};
    const auto moved = [&](std::vector<float> x, const HeadRows& r) {
        rope::permute_rows(x.data(), r, Layout::half_split, Layout::interleaved);
        return x;
    };
    const auto number = [](Index i) { return static_cast<float>(i); };

    const auto w = moved(iota(heads * d * hidden), rope::head_rows<float>(config, heads, hidden));
    const auto bias = moved(iota(heads * d), rope::head_rows<float>(config, heads, 1));
    const auto norm = moved(iota(d), rope::head_rows<float>(config, 1, 1));
    const auto keys = moved(iota(n * heads * d), rope::head_rows<float>(config, n * heads, 1));
    for (Index h = 0; h < heads; ++h)
        for (Index f = 0; f < d; ++f) {
            for (Index c = 0; c < hidden; ++c)
                REQUIRE(w[size((h * d + f) * hidden + c)] == number((h * d + source[f]) * hidden + c));
            REQUIRE(bias[size(h * d + f)] == number(h * d + source[f]));
            REQUIRE(norm[size(f)] == number(source[f]));
            for (Index t = 0; t < n; ++t)
                REQUIRE(keys[size((t * heads + h) * d + f)] == number((t * heads + h) * d + source[f]));
        }

    // Queries, keys and values of a head one after the other: two slices of a head three times as long.
    auto fused = iota(heads * 3 * d * hidden);
    rope::Config part;
    part.head_dim = 3 * d;
    part.rotary_dim = d;
    for (const Index which : {0, 1}) {
        part.rotary_offset = which * d;
        fused = moved(fused, rope::head_rows<float>(part, heads, hidden));
    }
    for (Index h = 0; h < heads; ++h)
        for (Index which = 0; which < 3; ++which)
            for (Index f = 0; f < d; ++f) {
                const Index now = (h * 3 + which) * d + f, then = (h * 3 + which) * d + (which < 2 ? source[f] : f);
                for (Index c = 0; c < hidden; ++c) REQUIRE(fused[size(now * hidden + c)] == number(then * hidden + c));
            }
}

TEST_CASE("a Config says which rows") {
    rope::Config config;
    config.head_dim = 80;
    config.rotary_dim = 32;
    config.rotary_offset = 8;
    const HeadRows r = rope::head_rows<double>(config, 7, 11);
    CHECK((r.heads == 7 && r.head_dim == 80 && r.rotary_dim == 32 && r.rotary_offset == 8));
    CHECK((r.row_bytes == 88 && r.stride_bytes == 0));
    CHECK(rope::head_rows<unsigned char>(config, 7, 66).row_bytes == 66);  // a quantised row
    CHECK(rope::head_rows<rope::half>(config, 7, 1).row_bytes == 2);
    // No number of columns comes back as a smaller one.
    constexpr Index most = std::numeric_limits<Index>::max();
    unsigned char byte = 0;
    for (const Index columns : {Index(0), Index(-1), -most - 1, (Index(1) << 45) + 1, most / 8 + 2, most}) {
        const HeadRows bad = rope::head_rows<double>(config, 7, columns);
        CAPTURE(columns);
        CHECK(!rope::check_rows(&byte, &byte, bad, Layout::half_split, Layout::interleaved).ok());
    }
    CHECK(rope::head_rows<double>(config, 7, Index(1) << 45).row_bytes == Index(1) << 48);
}

namespace {

/// One layer of a model with biases, per-channel norms, grouped queries and a partial rotation.
struct Layer {
    static constexpr Index kTokens = 5, kHidden = 24, kHeads = 4, kKeyHeads = 2, kDim = 20;
    rope::Config config;
    Layout layout = Layout::half_split;
    std::vector<double> w_q, w_k, b_q, b_k, norm_q, norm_k;

    Layer() {
        config.head_dim = kDim;
        config.rotary_dim = 12;
        config.rotary_offset = 4;
        w_q = support::normal<double>(kHeads * kDim * kHidden, 1);
        w_k = support::normal<double>(kKeyHeads * kDim * kHidden, 2);
        b_q = support::normal<double>(kHeads * kDim, 3);
        b_k = support::normal<double>(kKeyHeads * kDim, 4);
        norm_q = support::normal<double>(kDim, 5);
        norm_k = support::normal<double>(kDim, 6);
    }
    void move_to(Layout to) {
        rope::permute_rows(w_q.data(), rope::head_rows<double>(config, kHeads, kHidden), layout, to);
        rope::permute_rows(w_k.data(), rope::head_rows<double>(config, kKeyHeads, kHidden), layout, to);
        rope::permute_rows(b_q.data(), rope::head_rows<double>(config, kHeads, 1), layout, to);
        rope::permute_rows(b_k.data(), rope::head_rows<double>(config, kKeyHeads, 1), layout, to);
        rope::permute_rows(norm_q.data(), rope::head_rows<double>(config, 1, 1), layout, to);
        rope::permute_rows(norm_k.data(), rope::head_rows<double>(config, 1, 1), layout, to);
        layout = to;
    }
    /// The features of a head in an order that is the same for both layouts: what passes through, then pair by pair.
    std::vector<Index> order() const {
        std::vector<Index> list;
        for (Index f = 0; f < kDim; ++f)
            if (f < 4 || f >= 16) list.push_back(f);
        for (Index i = 0; i < 6; ++i)
            for (Index half = 0; half < 2; ++half)
                list.push_back(4 + (layout == Layout::half_split ? half * 6 + i : 2 * i + half));
        return list;
    }
    std::vector<double> project(const std::vector<double>& x, Index heads, const std::vector<double>& w,
                                const std::vector<double>& bias, const std::vector<double>& norm) const {
        std::vector<double> y(size(kTokens * heads * kDim));
        for (Index t = 0; t < kTokens; ++t)
            for (Index h = 0; h < heads; ++h) {
                double* const head = &y[size((t * heads + h) * kDim)];
                double squares = 0.0;
                for (const Index f : order()) {
                    double sum = bias[size(h * kDim + f)];
                    for (Index c = 0; c < kHidden; ++c)
                        sum += w[size((h * kDim + f) * kHidden + c)] * x[size(t * kHidden + c)];
                    head[f] = sum;
                    squares += sum * sum;
                }
                for (Index f = 0; f < kDim; ++f) head[f] *= norm[size(f)] / std::sqrt(squares);
            }
        return y;
    }
    std::vector<double> scores(const std::vector<double>& q, const std::vector<double>& k) const {
        std::vector<double> list;
        for (Index t = 0; t < kTokens; ++t)
            for (Index s = 0; s < kTokens; ++s)
                for (Index h = 0; h < kHeads; ++h) {
                    double sum = 0.0;
                    for (const Index f : order())
                        sum += q[size((t * kHeads + h) * kDim + f)] * k[size((s * kKeyHeads + h / 2) * kDim + f)];
                    list.push_back(sum);
                }
        return list;
    }
};

}  // namespace

TEST_CASE("a model whose weights and cached keys were moved gives the same scores, bit for bit") {
    using L = Layer;
    const auto x = support::normal<double>(L::kTokens * L::kHidden, 7);
    Layer layer;
    const rope::CosSinCache<double> cache(layer.config, 1000);
    const auto rotated = [&](std::vector<double> y, Index heads) {
        rope::apply(layer.layout, rope::view(y.data(), L::kTokens, heads, L::kDim), cache, rope::start_at(990));
        return y;
    };
    const auto q = [&] { return rotated(layer.project(x, L::kHeads, layer.w_q, layer.b_q, layer.norm_q), L::kHeads); };
    const auto k = [&] {
        return rotated(layer.project(x, L::kKeyHeads, layer.w_k, layer.b_k, layer.norm_k), L::kKeyHeads);
    };
    const auto first_q = q(), first_k = k();
    const auto first = layer.scores(first_q, first_k);
    auto cached = first_k;
    rope::permute_rows(cached.data(), rope::head_rows<double>(layer.config, L::kTokens * L::kKeyHeads, 1), layer.layout,
                       Layout::interleaved);

    layer.move_to(Layout::interleaved);
    REQUIRE(!support::same_bits(q(), first_q));  // something did move
    REQUIRE(support::same_bits(k(), cached));
    REQUIRE(support::same_bits(layer.scores(q(), k()), first));
    REQUIRE(support::same_bits(layer.scores(q(), cached), first));

    // What the other layout would give is another model.
    layer.layout = Layout::half_split;
    REQUIRE(!support::same_bits(layer.scores(q(), k()), first));
    layer.layout = Layout::interleaved;

    layer.move_to(Layout::half_split);
    REQUIRE(support::same_bits(q(), first_q));
    REQUIRE(support::same_bits(k(), first_k));
}

TEST_CASE("rows that cannot be right are refused, and nothing is written") {
    constexpr Index most = std::numeric_limits<Index>::max();
    Bytes in = random_bytes(4096, 1), out = random_bytes(4096, 2);
    const Bytes in_before = in, out_before = out;
    const HeadRows good = {2, 8, 0, 0, 4, 0};
    const auto refuses_call = [&](const void* a, void* b, const HeadRows& r, Layout from, Layout to,
                                  const std::string& sentence) {
        CAPTURE(sentence);
        CHECK(rope::check_rows(a, b, r, from, to).message() == sentence);
        CHECK(rope::check_rows(a, b, r, from, to).code() == rope::StatusCode::invalid_argument);
        CHECK(refusal([&] { rope::permute_rows_copy(a, b, r, from, to); }).message == sentence);
        if (a == b) CHECK(refusal([&] { rope::permute_rows(b, r, from, to); }).message == sentence);
        CHECK(in == in_before);
        CHECK(out == out_before);
    };
    const auto refuses = [&](const HeadRows& r, const std::string& sentence) {
        refuses_call(in.data(), out.data(), r, Layout::half_split, Layout::interleaved, sentence);
        refuses_call(out.data(), out.data(), r, Layout::interleaved, Layout::half_split, sentence);
    };

    refuses({-1, 8, 0, 0, 4, 0}, "heads is -1; it must not be negative.");
    for (const Index d : {Index(0), Index(-8), Index(1048577), most})
        refuses({2, d, 0, 0, 4, 0}, "head_dim is " + std::to_string(d) + "; it must be from 1 to 1048576.");
    for (const Index d : {Index(7), Index(-2), Index(10), most})
        refuses({2, 8, d, 0, 4, 0},
                "rotary_dim is " + std::to_string(d) + "; it must be even, at least 2 and at most head_dim (8).");
    refuses({2, 9, 0, 0, 4, 0},
            "head_dim is 9; it must be even, because all of it rotates where rotary_dim is 0. For a part of it, set "
            "rotary_dim.");
    for (const Index offset : {Index(-1), Index(5), most})
        refuses({2, 8, 4, offset, 4, 0}, "rotary_offset is " + std::to_string(offset) +
                                             "; it must be from 0 to 4, so that 4 rotated features fit into head_dim "
                                             "(8).");
    for (const Index bytes : {Index(0), Index(-4), (Index(1) << 48) + 1, most})
        refuses({2, 8, 0, 0, bytes, 0}, "row_bytes is " + std::to_string(bytes) + "; it must be from 1 to 2^48.");
    for (const Index step : {Index(3), Index(-4), (Index(1) << 48) + 1, most})
        refuses({2, 8, 0, 0, 4, step},
                "stride_bytes is " + std::to_string(step) + "; it must be at least row_bytes (4) and at most 2^48.");
    for (const Index heads : {(Index(1) << 43) + 1, most})
        refuses({heads, 8, 0, 0, 4, 0},
                "heads is " + std::to_string(heads) + "; its 8 rows of 4 bytes each must not exceed 2^48 bytes.");
    refuses({1, 1048576, 0, 0, 4, Index(1) << 48},
            "heads is 1; its 1048576 rows of 281474976710656 bytes each must not exceed 2^48 bytes.");

    const std::string layouts = "; it must be Layout::interleaved (0) or Layout::half_split (1).";
    const Layout seven = static_cast<Layout>(7);
    refuses_call(in.data(), out.data(), good, seven, Layout::half_split, "from is 7" + layouts);
    refuses_call(in.data(), out.data(), good, Layout::half_split, seven, "to is 7" + layouts);
    refuses_call(in.data(), in.data(), good, seven, seven, "from is 7" + layouts);

    const Layout a = Layout::interleaved, b = Layout::half_split;
    refuses_call(nullptr, out.data(), good, a, b, "in is null; it must point to 16 rows.");
    refuses_call(in.data(), nullptr, good, a, b, "out is null; it must point to 16 rows.");
    refuses_call(nullptr, nullptr, good, a, b, "data is null; it must point to 16 rows.");
}

TEST_CASE("overlap is refused up to the last byte") {
    const HeadRows r = {2, 8, 4, 2, 4, 7};
    constexpr Index bytes = 15 * 7 + 4;
    Bytes memory = random_bytes(1000, 1);
    const Bytes before = memory;
    const std::string sentence = "in and out may overlap; they must be the same pointer, or lie " +
                                 std::to_string(bytes) + " bytes or more apart.";
    unsigned char* const middle = memory.data() + 500;
    for (const Index distance : {-bytes + 1, Index(-7), Index(-1), Index(1), Index(7), bytes - 1}) {
        CAPTURE(distance);
        const auto call = [&] { rope::permute_rows_copy(middle, middle + distance, r, kBoth[0], kBoth[1]); };
        CHECK(refusal(call).message == sentence);
        CHECK(memory == before);
    }
    for (const Index distance : {-bytes, bytes}) {
        memory = before;
        rope::permute_rows_copy(middle, middle + distance, r, kBoth[0], kBoth[1]);
        const Bytes in(before.begin() + 500, before.begin() + 500 + bytes);
        const Bytes elsewhere(before.begin() + 500 + distance, before.begin() + 500 + distance + bytes);
        CHECK(Bytes(middle + distance, middle + distance + bytes) == permuted(in, elsewhere, 0, r, kBoth[0], kBoth[1]));
    }
}

TEST_CASE("the largest sizes that are allowed, and nothing at all") {
    unsigned char byte = 42;
    const auto ok = [&](const void* in, const void* out, const HeadRows& r) {
        return rope::check_rows(in, out, r, Layout::half_split, Layout::interleaved).ok();
    };
    CHECK(ok(&byte, &byte, {Index(1) << 43, 8, 0, 0, 4, 0}));
    CHECK(ok(&byte, &byte, {1, 2, 0, 0, Index(1) << 47, 0}));
    CHECK(ok(nullptr, nullptr, {0, 8, 0, 0, 4, 0}));
    CHECK(ok(&byte, nullptr, {0, 1048576, 0, 0, Index(1) << 48, 0}));
    rope::permute_rows(nullptr, {0, 8, 0, 0, 4, 0}, Layout::half_split, Layout::interleaved);
    rope::permute_rows(&byte, {0, 8, 0, 0, 4, 0}, Layout::half_split, Layout::interleaved);
    rope::permute_rows_copy(&byte, nullptr, {0, 8, 0, 0, 4, 0}, Layout::half_split, Layout::interleaved);
    rope::permute_rows_copy(nullptr, &byte, {0, 8, 0, 0, 4, 0}, Layout::half_split, Layout::interleaved);
    CHECK(byte == 42);
}
