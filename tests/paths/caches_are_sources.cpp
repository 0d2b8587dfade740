// SPDX-License-Identifier: MIT
// A path may begin in a cache. It has the bits of the same path on the numbers that dequantise reads there, whatever the
// format, the order of pages and the steps; in place it writes the codes that a path into such a cache writes.
#include <rope/heads.hpp>
#include <rope/part.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/cache_store.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

using rope::Index;
using rope::Path;
using support::Kind;
using support::kKinds;
using support::kPages;
using support::kPageSize;
using support::size;
using support::Store;

namespace {

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kHeads = support::kCacheHeads, kDim = support::kCacheDim, kTokens = 6;
const std::vector<int> kSlots = {9, 2, -1, 3, 11, 0};

std::vector<float> numbers() { return support::normal<float>(kTokens * kHeads * kDim, 3); }
auto as_view(std::vector<float>& x) { return rope::view(x.data(), kTokens, kHeads, kDim); }

Store filled(Kind kind, bool is_heads_first) {
    Store store = {kind, is_heads_first};
    std::vector<float> x = numbers();
    rope::pass(rope::heads(as_view(x)).to(store.at(kSlots)));
    return store;
}
std::vector<float> read(Store& store) {
    std::vector<float> x(size(kTokens * kHeads * kDim), -7.0f);
    rope::dequantise(store.at(kSlots), as_view(x));
    return x;
}

const rope::CosSinCache<float>& table() {
    static const rope::CosSinCache<float> made = [] {
        rope::Config config;
        config.head_dim = kDim;
        config.rotary_dim = 48;
        config.rotary_offset = 8;
        config.attention_factor = 1.1;
        return rope::CosSinCache<float>(config, 100);
    }();
    return made;
}

constexpr int kChains = 7;
void add_steps(Path& p, int chain, const std::vector<float>& w) {
    switch (chain) {
        case 0: return;
        case 1: p.rotate(); return;
        case 2: p.rms_norm(w, 1e-6).rotate().multiply(0.5); return;
        case 3: p.hadamard().rotate().hadamard(); return;
        case 4: p.layer_norm(w, w, 1e-5, {rope::NormSpan::head, rope::NormRounding::none, true}); return;
        case 5: p.l2_norm(nullptr, 1e-6, {rope::NormSpan::token}).rotate_back(); return;
        default: p.add(w).clamp(1.0).rotate_into(rope::Layout::interleaved);
    }
}
Path path_of(const Path& begin, int chain, const std::vector<float>& w) {
    Path p = begin;
    add_steps(p, chain, w);
    return p;
}
void pass(const Path& p) { rope::pass<kLayout>(table(), rope::start_at(7), p); }

}  // namespace

TEST_CASE("a path from a cache has the bits of one from what dequantise reads") {
    const std::vector<float> w = support::normal<float>(kDim, 4);
    support::for_each_isa([&](const char* name) {
        for (const Kind kind : kKinds)
            for (const bool is_heads_first : {false, true}) {
                Store store = filled(kind, is_heads_first);
                const Store before = store;
                std::vector<float> x = read(store);
                for (int chain = 0; chain < kChains; ++chain) {
                    CAPTURE(name, static_cast<int>(kind), is_heads_first, chain);
                    std::vector<float> got = x, expected = x;  // where a token is skipped, nothing is written
                    pass(path_of(rope::heads(store.at(kSlots)), chain, w).to(as_view(got)));
                    pass(path_of(rope::heads(as_view(x)), chain, w).to(as_view(expected)));
                    std::copy(x.begin() + 2 * kHeads * kDim, x.begin() + 3 * kHeads * kDim,
                              expected.begin() + 2 * kHeads * kDim);
                    CHECK(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0);
                    CHECK(store == before);

                    Store in_place = store, written = store;
                    pass(path_of(rope::heads(in_place.at(kSlots)), chain, w));
                    pass(path_of(rope::heads(as_view(x)), chain, w).to(written.at(kSlots)));
                    CHECK(in_place == written);
                    Store named = store;
                    pass(path_of(rope::heads(named.at(kSlots)), chain, w).to(named.at(kSlots)));
                    CHECK(named == written);
                }
            }
    });
}

TEST_CASE("a path goes from every format into every other, in any order of pages and slots") {
    const std::vector<int> elsewhere = {0, 5, 3, -1, 7, 10};
    for (const Kind from : kKinds)
        for (const Kind to : kKinds) {
            CAPTURE(static_cast<int>(from), static_cast<int>(to));
            Store source = filled(from, true), got = {to, false}, expected = {to, false};
            std::vector<float> x = read(source);
            pass(rope::heads(source.at(kSlots)).rotate().to(got.at(elsewhere)));
            std::vector<int> slots = elsewhere;
            slots[2] = -1;  // which the source skips
            pass(rope::heads(as_view(x)).rotate().to(expected.at(slots)));
            CHECK(got == expected);
        }
}

TEST_CASE("codes in views are sources, too, also in const memory and with batch entries") {
    const std::vector<float> x = numbers();
    std::vector<signed char> codes(x.size());
    std::vector<float> scales(kTokens * kHeads), got(x.size()), expected(x.size());
    const auto to =
        rope::int8(rope::view(codes.data(), 2, 3, kHeads, kDim), rope::view(scales.data(), 2, 3, kHeads, 1));
    rope::pass(rope::heads(rope::view(x.data(), 2, 3, kHeads, kDim)).to(to));
    const std::vector<signed char>& const_codes = codes;
    const std::vector<float>& const_scales = scales;
    const auto from = rope::int8(rope::view(const_codes.data(), 2, 3, kHeads, kDim),
                                 rope::view(const_scales.data(), 2, 3, kHeads, 1));
    rope::pass<kLayout>(table(), {}, rope::heads(from).rotate().to(rope::view(got.data(), 2, 3, kHeads, kDim)));
    rope::dequantise(from, rope::view(expected.data(), 2, 3, kHeads, kDim));
    rope::apply<kLayout>(rope::view(expected.data(), 2, 3, kHeads, kDim), table());
    CHECK(got == expected);
    CHECK(std::string(rope::check_pass<kLayout>(table(), {}, rope::heads(from).rotate()).message()) ==
          "source of path 1 is const, and the path has no destination: add to(...).");
}

TEST_CASE("pages have the batch entries of the view that a path writes") {
    Store store = filled(Kind::q8_0, false);
    std::vector<float> x = read(store), got(x.size(), -7.0f), expected = got;
    const auto view = [](std::vector<float>& y) { return rope::view(y.data(), 2, 3, kHeads, kDim); };
    rope::pass<kLayout>(table(), {}, rope::heads(store.at(kSlots)).rotate().to(view(got)));
    rope::pass<kLayout>(table(), {}, rope::heads(view(x)).rotate().to(view(expected)));
    std::fill(expected.begin() + 2 * kHeads * kDim, expected.begin() + 3 * kHeads * kDim, -7.0f);
    CHECK(got == expected);
}

TEST_CASE("in place, one format of 8-bit floats becomes the other, and a scale another") {
    Store store = filled(Kind::e4m3, false), expected = {Kind::e5m2, false};
    std::vector<float> x = read(store);
    const auto codes = [](Store& s) { return s.pages<unsigned char>(s.codes, kDim, kSlots); };
    rope::pass(rope::heads(as_view(x)).to(rope::fp8_e5m2(codes(expected), 0.5f)));
    rope::pass(rope::heads(store.at(kSlots)).to(rope::fp8_e5m2(codes(store), 0.5f)));
    for (const int slot : {9, 2, 3, 11, 0})
        CHECK(std::memcmp(codes(store).data + slot * kHeads * kDim, codes(expected).data + slot * kHeads * kDim,
                          kHeads * kDim) == 0);
}

TEST_CASE("dequantise writes half and bfloat16, and takes an executor") {
    Store store = filled(Kind::q4_0, true);
    const std::vector<float> x = read(store);
    std::vector<rope::half> as_half(x.size());
    std::vector<rope::bfloat16> as_bfloat16(x.size());
    for (Index i = 0; i < 7; ++i) {  // heads of a token are parted, too
        rope::dequantise(store.at(kSlots), rope::view(as_half.data(), kTokens, kHeads, kDim), rope::part(i, 7));
        rope::dequantise(store.at(kSlots), rope::view(as_bfloat16.data(), kTokens, kHeads, kDim), rope::part(i, 7));
    }
    int wrong = 0;
    for (Index i = 0; i < kTokens * kHeads * kDim; ++i) {
        if (i / (kHeads * kDim) == 2) continue;
        wrong += as_half[size(i)].bits != rope::to_half(x[size(i)]).bits;
        wrong += as_bfloat16[size(i)].bits != rope::to_bfloat16(x[size(i)]).bits;
    }
    CHECK(wrong == 0);
    CHECK_FALSE(rope::dequantise(store.at({1, 2}), rope::view(as_half.data(), 3, kHeads, kDim), rope::no_throw()).ok());
}

TEST_CASE("what becomes a destination is a source, too") {
    struct Pages : rope::Paged<float> {};
    struct Cache {
        rope::Destination d;
        operator rope::Destination() const { return d; }
    };
    Store store = filled(Kind::f32, false);
    const std::vector<float> expected = read(store);
    std::vector<float> got(expected.size());
    Pages pages;
    static_cast<rope::Paged<float>&>(pages) = store.pages<float>(store.codes, kDim, kSlots);
    rope::pass(rope::heads(pages).to(as_view(got)));
    CHECK(std::equal(got.begin(), got.begin() + 2 * kHeads * kDim, expected.begin()));
    std::fill(got.begin(), got.end(), 0.0f);
    rope::pass(rope::heads(Cache{store.at(kSlots)}).to(as_view(got)));
    CHECK(std::equal(got.begin(), got.begin() + 2 * kHeads * kDim, expected.begin()));
}

TEST_CASE("codes in a view beyond the caches are read, cut and written as few are") {
    constexpr Index tokens = 9000, d = 1024;
    std::vector<signed char> codes(tokens * d);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<signed char>(i * 37 % 255);
    std::vector<float> scales(tokens, 0.25f), got(codes.size());
    const auto from = rope::int8(rope::view(codes.data(), tokens, 1, d), rope::view(scales.data(), tokens, 1, 1));
    Index pieces = 0;
    const auto executor = [&](Index count, const auto& f) {
        pieces = count;
        f(count / 2, count);
        f(Index(0), count / 2);
    };
    rope::pass(executor, rope::heads(from).multiply(3.0).to(rope::view(got.data(), tokens, 1, d)));
    CHECK(pieces > 1);
    int wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != static_cast<float>(codes[i]) * 0.75f;
    CHECK(wrong == 0);
}

TEST_CASE("a pass without rows does everything but rotate") {
    const std::vector<float> w = support::normal<float>(kDim, 4);
    std::vector<float> x = numbers(), got(x.size()), expected(x.size());
    const auto path = [&](std::vector<float>& y) { return rope::heads(as_view(x)).rms_norm(w, 1e-6).to(as_view(y)); };
    pass(path(expected));
    rope::pass(path(got));
    CHECK(got == expected);
    std::fill(got.begin(), got.end(), 0.0f);
    for (Index i = 0; i < 4; ++i) rope::pass(rope::part(i, 4), path(got));
    CHECK(got == expected);
    CHECK(rope::check_pass(path(got)).ok());
    CHECK(rope::pass(rope::no_throw(), path(got)).ok());
    CHECK(std::string(rope::check_pass(rope::heads(as_view(x)).rotate()).message()) ==
          "path 1 rotates, and the call has no rows; rope::pass takes them before the paths.");
    std::vector<double> wide(x.size());
    const auto of_doubles = rope::heads(rope::view(wide.data(), kTokens, kHeads, kDim)).multiply(2.0);
    CHECK(std::string(rope::check_pass(of_doubles).message()) ==
          "source of path 1 is double; without rows it must be float, half or bfloat16.");
}

TEST_CASE("caches that are no source are refused, and nothing is written") {
    Store store = filled(Kind::int8, false);
    const Store before = store;
    std::vector<float> x = read(store);
    const auto message = [&](const Path& p) {
        return std::string(rope::check_pass<kLayout>(table(), rope::start_at(0), p).message());
    };
    const auto refused = [&](const Path& p, const std::string& sentence) {
        CHECK(message(p) == sentence);
        CHECK_FALSE(rope::pass<kLayout>(rope::no_throw(), table(), rope::start_at(0), p).ok());
        CHECK(store == before);
    };
    refused(rope::heads(store.at({1, 2, 12})).rotate(),
            "source of path 1 has slot 12 for token 2; in 3 pages of 4 slots are from 0 to 11, and -1 skips a token.");
    refused(rope::heads(store.at({3, 5, 4, 3})).rotate(),
            "source of path 1 has slot 3 for two tokens; in place, a place would be read and written twice.");
    CHECK(message(rope::heads(store.at({3, 5, 4, 3, 1, 1})).rotate().to(as_view(x))).empty());
    CHECK(message(rope::heads(store.at({-1, 5, -1, 3})).rotate()).empty());
    const auto no_slots = rope::paged(x.data(), 2, 2, kHeads, kDim);
    refused(rope::heads(no_slots).rotate(),
            "source of path 1 has pages without slots; give those of the step, one for each token, by with_slots.");
    const std::vector<int> none;
    CHECK(message(rope::heads(no_slots.with_slots(none)).rotate()).empty());
    refused(rope::heads(store.at(kSlots)).rotate().to(rope::view(x.data(), 5, kHeads, kDim)),
            "destination of path 1 is [1, 5, 3, 64]; it must be [1, 6, 3, 64].");
    const auto bytes =
        rope::paged(reinterpret_cast<signed char*>(store.codes.data()), kPages, kPageSize, kHeads, kDim, kSlots);
    refused(rope::heads(bytes).rotate(),
            "source of path 1 has elements of a byte; a format such as rope::int8 says what they mean.");
    // Codes of two tokens in a view, whose scale is one place of pages.
    std::vector<signed char> two(2 * kHeads * kDim);
    const std::vector<int> same = {5, 5};
    const auto shared_scales =
        rope::int8(rope::view(two.data(), 2, kHeads, kDim), store.pages<float>(store.scales, 1, same));
    refused(rope::heads(shared_scales).rotate(),
            "source of path 1 has slot 5 for two tokens; in place, a place would be read and written twice.");
    // Numbers of slots, pages and features that no memory has.
    constexpr Index most = std::numeric_limits<Index>::max();
    const auto unchanged = [&](const Path& p) {
        CHECK_FALSE(message(p).empty());
        CHECK_FALSE(rope::pass<kLayout>(rope::no_throw(), table(), rope::start_at(0), p).ok());
        CHECK(store == before);
    };
    const auto few = rope::paged(x.data(), 2, 2, kHeads, kDim);
    unchanged(rope::heads(few.with_slots(same.data(), most)).rotate());
    unchanged(rope::heads(few.with_slots(same.data(), 2, most / 2)).rotate());
    unchanged(rope::heads(few.with_slots(same.data(), -1)).rotate());
    unchanged(rope::heads(few.with_slots(same.data(), most))
                  .to(rope::view(x.data(), Index(1) << 40, Index(1) << 40, kHeads, kDim)));
    const std::vector<int> skipped(4, -1);
    unchanged(
        rope::heads(rope::paged(static_cast<float*>(nullptr), 0, 1, Index(1) << 61, kDim, skipped)).to(as_view(x)));
    unchanged(rope::heads(rope::paged(static_cast<float*>(nullptr), 0, 1, Index(1) << 55, 2, skipped)));
    auto* const packed = reinterpret_cast<unsigned char*>(store.codes.data());
    const auto number = rope::paged(x.data(), 1, 1, 1, 1, same);
    unchanged(rope::heads(rope::uint4(rope::paged(packed, 1, 1, 1, most, same), number, number)).to(as_view(x)));
    // Codes in place of which others would be written.
    const auto other_scales = rope::paged(x.data(), kPages, kPageSize, kHeads, 1, kSlots);
    CHECK_FALSE(message(rope::heads(store.at(kSlots)).to(rope::int8(bytes, other_scales))).empty());
    CHECK_FALSE(message(rope::heads(store.at({1, 2})).to(store.at({2, 3}))).empty());
}

TEST_CASE("a path goes from places of its pages to others, and no place is read and written") {
    const std::vector<int> from = {9, 2, -1, 3, 11, 0}, to = {1, 4, 5, 8, -1, 10}, common = {1, 4, 5, 8, 6, 9};
    for (const Kind kind : kKinds) {
        CAPTURE(static_cast<int>(kind));
        Store store = filled(kind, true), source = store, expected = store;
        pass(rope::heads(source.at(from)).rotate().to(expected.at(to)));
        pass(rope::heads(store.at(from)).rotate().to(store.at(to)));
        CHECK(store == expected);
        const std::string said =
            rope::check_pass<kLayout>(table(), rope::heads(store.at(from)).rotate().to(store.at(common))).message();
        CHECK(said.find("destination of path 1 and source of path 1") == 0);
        // Of two paths: one moves what the other does not touch, and what it does.
        Store moved = store;
        const std::vector<int> rest = {1, 4, 5, 8, 6, 10};
        const auto both = [&](const std::vector<int>& slots) {
            return rope::check_pass<kLayout>(table(), rope::heads(moved.at(from)).rotate(),
                                             rope::heads(moved.at(slots)).rotate());
        };
        CHECK(both(rest).ok());
        CHECK_FALSE(both(common).ok());
    }
}
