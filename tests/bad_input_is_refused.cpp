// SPDX-License-Identifier: MIT
// Whatever cannot be right is refused before a byte is written, in a sentence that names the argument, its
// value and what is allowed; check(...) says the same sentence without throwing.
#include <rope/core.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using rope::Layout;
using rope::StatusCode;

namespace {

constexpr Index kMost = std::numeric_limits<Index>::max();
constexpr Index kSeq = 4, kHeads = 2, kDim = 8;

/// Bit patterns: under -ffast-math the compiler may assume that these do not exist.
double nan_value() { return rope::detail::bit_cast<double>(std::uint64_t(0x7ff8000000000000)); }
double infinity() { return rope::detail::bit_cast<double>(std::uint64_t(0x7ff0000000000000)); }

rope::Config config_of(Index head_dim = kDim) {
    rope::Config config;
    config.head_dim = head_dim;
    return config;
}

/// What a call says when it refuses, and of which kind the exception was.
struct Refusal {
    std::string message;
    StatusCode code = StatusCode::ok;
};
template <class Call>
Refusal refusal(Call&& call) {
    try {
        call();
    } catch (const std::invalid_argument& e) {
        return {e.what(), StatusCode::invalid_argument};
    } catch (const std::out_of_range& e) {
        return {e.what(), StatusCode::out_of_range};
    }
    return {"(accepted)", StatusCode::ok};
}

struct Buffers {
    rope::CosSinCache<float> cache{config_of(), 16};
    std::vector<float> data = support::normal<float>(1000, 1);
    const std::vector<float> before = data;

    rope::TensorView<float> x() { return rope::view(data.data(), kSeq, kHeads, kDim); }
    rope::TensorView<float> far() { return rope::view(data.data() + 500, kSeq, kHeads, kDim); }

    /// Refused with this sentence by apply, its kin and check alike, and nothing is written.
    void refuses(const rope::TensorView<float>& v, const std::string& sentence,
                 StatusCode code = StatusCode::invalid_argument, const rope::Positions& positions = {}) {
        CAPTURE(sentence);
        const auto expect = [&](auto&& call) {
            const Refusal r = refusal(call);
            CHECK(r.message == sentence);
            CHECK(r.code == code);
            CHECK(support::same_bits(data, before));
        };
        expect([&] { rope::apply<Layout::half_split>(v, cache, positions); });
        expect([&] { rope::apply(Layout::interleaved, v, cache, positions); });
        expect([&] { rope::apply_inverse<Layout::half_split>(v, cache, positions); });
        expect([&] { rope::apply_transpose<Layout::interleaved>(v, cache, positions); });
        const rope::Status status = rope::check(v, cache, positions);
        CHECK(status.message() == sentence);
        CHECK(status.code() == code);
    }
    template <class K>
    void refuses_both(const rope::TensorView<float>& q, const K& k, const std::string& sentence) {
        CAPTURE(sentence);
        const Refusal r = refusal([&] { rope::apply<Layout::half_split>(q, k, cache); });
        CHECK(r.message == sentence);
        CHECK(rope::check(q, k, cache).message() == sentence);
        CHECK(rope::check(q, k, cache, cache).message() == sentence);
        CHECK(support::same_bits(data, before));
    }
    template <class In, class Out>
    void refuses_copy(const In& in, const Out& out, const std::string& sentence) {
        CAPTURE(sentence);
        const Refusal r = refusal([&] { rope::apply_copy<Layout::half_split>(in, out, cache); });
        CHECK(r.message == sentence);
        CHECK(rope::check_copy(in, out, cache).message() == sentence);
        CHECK(support::same_bits(data, before));
    }
};

const std::string kHolds = "; this cache holds positions 0 to 15.";

}  // namespace

TEST_CASE("configurations") {
    const auto refuses = [](const rope::Config& config, const std::string& sentence) {
        CAPTURE(sentence);
        CHECK(refusal([&] { rope::CosSinCache<float> c(config, 4); }).message == sentence);
        CHECK(refusal([&] { (void)rope::frequencies(config); }).message == sentence);
        CHECK(refusal([&] { (void)rope::CosSinCache<float>::float32_chain(config, 4); }).message == sentence);
        CHECK(rope::check(config).message() == sentence);
        CHECK(rope::check(config).code() == StatusCode::invalid_argument);
    };
    for (const Index d : {Index(0), Index(-8), Index(1048577), kMost})
        refuses(config_of(d), "head_dim is " + std::to_string(d) + "; it must be from 1 to 1048576.");
    const auto rotary = [&](Index head_dim, Index rotary_dim) {
        rope::Config config = config_of(head_dim);
        config.rotary_dim = rotary_dim;
        refuses(config, "rotary_dim is " + std::to_string(rotary_dim == 0 ? head_dim : rotary_dim) +
                            "; it must be even, at least 2 and at most head_dim (" + std::to_string(head_dim) +
                            "); a rotary_dim of 0 in a Config stands for head_dim.");
    };
    rotary(8, 7);
    rotary(8, -2);
    rotary(8, 10);
    rotary(9, 0);
    rotary(8, kMost);
    const auto offset = [&](Index rotary_offset) {
        rope::Config config = config_of(20);
        config.rotary_dim = 8;
        config.rotary_offset = rotary_offset;
        refuses(config, "rotary_offset is " + std::to_string(rotary_offset) +
                            "; it must be from 0 to 12, so that 8 rotated features fit into head_dim (20).");
    };
    offset(-1);
    offset(13);
    offset(kMost);
    const std::pair<double, const char*> doubles[] = {
        {0.0, "0"}, {-1.0, "-1"}, {nan_value(), "nan"}, {infinity(), "inf"}, {-infinity(), "-inf"}};
    for (const auto& [value, text] : doubles) {
        rope::Config config = config_of();
        config.base = value;
        refuses(config, std::string("base is ") + text + "; it must be finite and above 0.");
        config = config_of();
        config.interpolation_factor = value;
        refuses(config, std::string("interpolation_factor is ") + text + "; it must be finite and above 0.");
        config = config_of();
        config.attention_factor = value;
        refuses(config, std::string("attention_factor is ") + text + "; it must be finite and above 0.");
    }
    rope::Config one = config_of();
    one.base = 1.0;
    CHECK(rope::check(one).ok());
    CHECK(rope::frequencies(one).inv_freq == std::vector<double>(4, 1.0));
    rope::Config tiny = config_of();
    tiny.base = 1e-300;
    CHECK(refusal([&] { (void)rope::frequencies(tiny); }).message.find("inv_freq[1] is 1e+75; a frequency must be") ==
          0);
}

TEST_CASE("frequencies") {
    const auto refuses = [](const rope::Frequencies& f, const std::string& sentence) {
        CAPTURE(sentence);
        CHECK(refusal([&] { rope::CosSinCache<float> c(f, 4); }).message == sentence);
        CHECK(rope::check(f).message() == sentence);
    };
    const std::string allowed = "; a frequency must be finite and of magnitude at most 2^32 radians per position.";
    refuses({}, "inv_freq has 0 entries; it must have one per pair, from 1 to 524288.");
    refuses({{1.0, nan_value()}, {}, 1.0}, "inv_freq[1] is nan" + allowed);
    refuses({{infinity()}, {}, 1.0}, "inv_freq[0] is inf" + allowed);
    refuses({{1.0, 2.0, -1e10}, {}, 1.0}, "inv_freq[2] is -1e+10" + allowed);
    refuses({{1.0, 2.0}, {0.0, nan_value()}, 1.0}, "inv_freq_low[1] is nan" + allowed);
    refuses({{1.0, 2.0}, {0.0}, 1.0}, "inv_freq_low has 1 entries; it must be empty or have as many as inv_freq (2).");
    refuses({{1.0}, {}, 0.0}, "attention_factor is 0; it must be finite and above 0.");
    refuses({{1.0}, {}, nan_value()}, "attention_factor is nan; it must be finite and above 0.");

    // Zero and negative frequencies are fine: a pair that stands still, and one that turns backwards.
    const rope::CosSinCache<double> cache(rope::Frequencies{{0.0, -0.5, 0.5}, {}, 1.0}, 10);
    CHECK(cache.cos_row(7)[0] == 1.0);
    CHECK(cache.sin_row(7)[0] == 0.0);
    CHECK(cache.sin_row(7)[1] == -cache.sin_row(7)[2]);
    CHECK(cache.sin_row(7)[1] != 0.0);

    const rope::Frequencies two{{1.0, 0.5}, {}, 1.0};
    CHECK(refusal([&] {
              rope::CosSinCache<float> c(two, 4, rope::HeadSlice{3, 0});
          }).message ==
          "rotary_dim is 4; it must be even, at least 2 and at most head_dim (3); a rotary_dim of 0 in a "
          "Config stands "
          "for head_dim.");
    CHECK(refusal([&] {
              rope::CosSinCache<float> c(two, 4, rope::HeadSlice{8, 5});
          }).message ==
          "rotary_offset is 5; it must be from 0 to 4, so that 4 rotated features fit into head_dim (8).");
}

TEMPLATE_TEST_CASE("tables", "", float, double) {
    const auto message = [](Index max_positions, Index first_position) {
        return refusal([&] { rope::CosSinCache<TestType> c(config_of(), max_positions, first_position); }).message;
    };
    CHECK(message(0, 0) == "max_positions is 0; it must be at least 1.");
    CHECK(message(-1, 0) == "max_positions is -1; it must be at least 1.");
    const std::string bytes = std::to_string(sizeof(TestType));
    // More than any address space, and more than any machine has.
    for (const Index n : {kMost, Index(1) << 50}) {
        const std::string count = std::to_string(n);
        CHECK(message(n, 0) == "max_positions is " + count + "; a table of " + count +
                                   " positions times 8 entries of " + bytes +
                                   " bytes must fit into the memory that can be had here.");
    }
    const std::string between = " positions from there must lie between -2^62 and 2^62.";
    CHECK(message(4, kMost) == "first_position is " + std::to_string(kMost) + "; the 4" + between);
    CHECK(message(4, -kMost) == "first_position is " + std::to_string(-kMost) + "; the 4" + between);
    CHECK(message(4, (Index(1) << 62) - 4) == "(accepted)");
    CHECK(message(4, -(Index(1) << 62)) == "(accepted)");

    const rope::CosSinCache<TestType> cache(config_of(), 10, -3);
    for (const Index p : {Index(-4), Index(7), kMost, -kMost - 1}) {
        const std::string sentence = "position is " + std::to_string(p) + "; this cache holds positions -3 to 6.";
        CHECK(refusal([&] { (void)cache.cos_row(p); }).message == sentence);
        CHECK(refusal([&] { (void)cache.sin_row(p); }).code == StatusCode::out_of_range);
    }
    CHECK(cache.bytes() == 10 * 8 * sizeof(TestType));
}

TEST_CASE("extents and pointers") {
    Buffers b;
    const auto with = [&](auto&& change) {
        rope::TensorView<float> v = b.x();
        change(v);
        return v;
    };
    using V = rope::TensorView<float>;
    b.refuses(with([](V& v) { v.batch = -1; }), "x.batch is -1; it must not be negative.");
    b.refuses(with([](V& v) { v.seq = -2; }), "x.seq is -2; it must not be negative.");
    b.refuses(with([](V& v) { v.heads = -3; }), "x.heads is -3; it must not be negative.");
    b.refuses(with([](V& v) { v.head_dim = -8; }), "x.head_dim is -8; it must not be negative.");
    b.refuses(with([](V& v) { v.head_dim = 6; }), "x.head_dim is 6; its cache was made for a head_dim of 8.");
    b.refuses(with([](V& v) { v.head_dim = 0; }), "x.head_dim is 0; its cache was made for a head_dim of 8.");
    b.refuses(with([](V& v) { v.data = nullptr; }), "x.data is null; a view of 64 elements needs memory to point to.");

    const std::string room = "; together they must not exceed what memory can hold (9223372036854775807 bytes).";
    b.refuses(with([](V& v) { v.seq = kMost; }),
              "x has extents [1, 9223372036854775807, 2, 8] and strides [64, 16, 8, 1]" + room);
    b.refuses(rope::view(b.data.data(), Index(1) << 40, Index(1) << 40, kDim),
              "x has extents [1, 1099511627776, 1099511627776, 8] and strides [9223372036854775807, "
              "8796093022208, 8, "
              "1]" +
                  room);
    b.refuses(with([](V& v) { v.seq_stride = kMost / 2; }),
              "x has extents [1, 4, 2, 8] and strides [64, 4611686018427387903, 8, 1]" + room);
    b.refuses(with([](V& v) { v.head_stride = -kMost - 1; }),
              "x has extents [1, 4, 2, 8] and strides [64, 16, -9223372036854775808, 1]" + room);
}

TEST_CASE("views that overlap themselves") {
    Buffers b;
    const auto refuses = [&](auto&& change, const std::string& axis, const std::string& rest) {
        rope::TensorView<float> v = b.x();
        v.batch = 2;
        change(v);
        b.refuses(v, "x overlaps itself: " + axis + " has stride " + rest +
                         " elements; a view that is written needs a stride at least that large there.");
    };
    using V = rope::TensorView<float>;
    refuses([](V& v) { v.seq_stride = 0; }, "seq", "0, and the axes inside it span 1");
    refuses([](V& v) { v.batch_stride = 0; }, "batch", "0, and the axes inside it span 1");
    refuses([](V& v) { v.feature_stride = 0; }, "head_dim", "0, and the axes inside it span 1");
    refuses([](V& v) { v.head_stride = 7; }, "heads", "7, and the axes inside it span 8");
    refuses([](V& v) { v.seq_stride = -15; }, "seq", "-15, and the axes inside it span 16");
    refuses([](V& v) { v.batch_stride = 63; }, "batch", "63, and the axes inside it span 64");

    // Reading is another matter: one head broadcast to all tokens.
    rope::TensorView<const float> broadcast = b.x();
    broadcast.seq_stride = 0;
    CHECK(rope::check_copy(broadcast, b.far(), b.cache).ok());
    b.refuses_copy(
        b.far(),
        [&] {
            auto v = b.x();
            v.head_stride = 0;
            return v;
        }(),
        "out overlaps itself: heads has stride 0, and the axes inside it span 1 elements; a view that is "
        "written needs a stride at least that large there.");
    // A stride on an axis of one element means nothing.
    rope::TensorView<float> one = b.x();
    one.batch_stride = 0;
    CHECK(rope::check(one, b.cache).ok());
}

TEST_CASE("two views that may share elements") {
    Buffers b;
    const std::string turn_twice =
        "q and k may share elements, which would turn twice; two views that are written must be shown to "
        "share none by "
        "their strides.";
    const std::string share =
        "in and out are different views that may share elements; they must be the same view (pointer, type, "
        "extents and "
        "strides) or be shown to share none by their strides.";
    const auto at = [&](Index offset) { return rope::view(b.data.data() + offset, kSeq, kHeads, kDim); };
    b.refuses_both(at(0), at(0), turn_twice);
    for (const Index offset : {Index(1), Index(8), Index(63)}) {
        b.refuses_both(at(0), at(offset), turn_twice);
        b.refuses_both(at(offset), at(0), turn_twice);
        b.refuses_copy(at(0), at(offset), share);
        b.refuses_copy(at(offset), at(0), share);
    }
    CHECK(rope::check(at(0), at(64), b.cache).ok());
    CHECK(rope::check(at(64), at(0), b.cache).ok());
    CHECK(rope::check_copy(at(0), at(64), b.cache).ok());
    CHECK(rope::check_copy(at(0), at(0), b.cache).ok());  // in place, said the long way

    // Slices of one fused [seq, q heads + k heads + v heads, head_dim] buffer.
    const auto fused = rope::view(b.data.data(), kSeq, 6, kDim);
    CHECK(rope::check(fused.slice_heads(0, 3), fused.slice_heads(3, 1), b.cache).ok());
    CHECK(rope::check(fused.slice_heads(3, 1), fused.slice_heads(0, 3), b.cache).ok());
    b.refuses_both(fused.slice_heads(0, 3), fused.slice_heads(2, 2), turn_twice);
    CHECK(rope::check_copy(fused.slice_heads(0, 3), fused.slice_heads(3, 3), b.cache).ok());
    b.refuses_copy(fused.slice_heads(0, 3), fused.slice_heads(1, 3), share);
    // Slices of features of the same heads, and of tokens.
    const auto wide = rope::view(b.data.data(), kSeq, kHeads, 2 * kDim);
    CHECK(rope::check(wide.slice_features(0, 8), wide.slice_features(8, 8), b.cache).ok());
    b.refuses_both(wide.slice_features(0, 8), wide.slice_features(7, 8), turn_twice);
    const auto long_view = rope::view(b.data.data(), 2 * kSeq, kHeads, kDim);
    CHECK(rope::check(long_view.slice_tokens(0, 4), long_view.slice_tokens(4, 4), b.cache).ok());
    b.refuses_both(long_view.slice_tokens(0, 4), long_view.slice_tokens(3, 4), turn_twice);
    // Batch entries apart, tokens interleaved, one axis running backwards.
    const auto both = rope::view(b.data.data(), 2, kSeq, kHeads, kDim);
    CHECK(rope::check(both.slice_batch(0, 1), both.slice_batch(1, 1), b.cache).ok());
    rope::TensorView<float> even = at(0), odd = at(16);
    even.seq_stride = odd.seq_stride = 32;
    CHECK(rope::check(even, odd, b.cache).ok());
    odd.data += 3 * 32;
    odd.seq_stride = -32;
    CHECK(rope::check(even, odd, b.cache).ok());
    odd.data -= 8;
    b.refuses_both(even, odd, turn_twice);
    // A feature-major (column-major) fused buffer.
    const rope::TensorView<float> columns_q = {b.data.data(), 1, kSeq, kHeads, kDim, 0, 1, kSeq * kDim, kSeq};
    rope::TensorView<float> columns_k = columns_q;
    columns_k.data += kSeq * kDim * kHeads;
    CHECK(rope::check(columns_q, columns_k, b.cache).ok());
    columns_k.data -= 1;
    b.refuses_both(columns_q, columns_k, turn_twice);

    // Another type over the same bytes is not the same view, even of the same size.
    std::vector<rope::half> halves(64);
    const auto as_half = rope::view(halves.data(), kSeq, kHeads, kDim);
    const auto as_bfloat16 = rope::view(reinterpret_cast<rope::bfloat16*>(halves.data()), kSeq, kHeads, kDim);
    b.refuses_copy(as_half, as_bfloat16, share);
    // Same memory, other strides.
    rope::TensorView<float> swapped = at(0);
    swapped.seq_stride = 8;
    swapped.head_stride = 32;
    b.refuses_copy(at(0), swapped, share);
}

TEST_CASE("shapes that do not belong together") {
    Buffers b;
    b.refuses_both(b.x(), rope::view(b.data.data() + 500, kSeq + 1, kHeads, kDim),
                   "k.seq is 5; it must be that of q (4).");
    b.refuses_both(b.x(), rope::view(b.data.data() + 500, 2, kSeq, 1, kDim), "k.batch is 2; it must be that of q (1).");
    b.refuses_both(b.x(), rope::view(b.data.data() + 500, kSeq, 1, 6),
                   "k.head_dim is 6; its cache was made for a head_dim of 8.");
    b.refuses_copy(b.x(), rope::view(b.data.data() + 500, kSeq, 1, kDim), "out.heads is 1; it must be that of in (2).");
    b.refuses_copy(b.x(), rope::view(b.data.data() + 500, 3, kHeads, kDim), "out.seq is 3; it must be that of in (4).");
    b.refuses_copy(b.x(), rope::view(b.data.data() + 500, kSeq, kHeads, 6),
                   "out.head_dim is 6; it must be that of in (8).");
}

TEST_CASE("positions") {
    Buffers b;
    const auto out = StatusCode::out_of_range;
    const auto bad = StatusCode::invalid_argument;
    const std::vector<int> past = {0, 1, 2, 16}, negative = {0, -1, 2, 3}, few = {0, 1, 2}, many = {0, 1, 2, 3, 4};
    b.refuses(b.x(), "positions[3] is 16" + kHolds, out, past);
    b.refuses(b.x(), "positions[1] is -1" + kHolds, out, negative);
    const std::vector<std::uint64_t> huge = {0, 1, 2, std::numeric_limits<std::uint64_t>::max()};
    b.refuses(b.x(), "positions[3] is 9223372036854775807" + kHolds, out, huge);
    b.refuses(b.x(), "positions has 3 ids; there must be seq (4) or batch * seq (4) of them.", bad, few);
    b.refuses(b.x(), "positions has 5 ids; there must be seq (4) or batch * seq (4) of them.", bad, many);
    b.refuses(b.x(), "positions has 0 ids; there must be seq (4) or batch * seq (4) of them.", bad,
              rope::ids(static_cast<const int*>(nullptr), 0));
    b.refuses(b.x(), "positions has -4 ids; there must be seq (4) or batch * seq (4) of them.", bad,
              rope::ids(few.data(), -4));
    b.refuses(b.x(), "positions is a null pointer; it must point to 4 integers.", bad,
              rope::ids(static_cast<const int*>(nullptr), 4));
    const auto start = [&](Index n) {
        b.refuses(b.x(), "positions start at " + std::to_string(n) + " and there are 4 tokens" + kHolds, out,
                  rope::start_at(n));
    };
    start(13);
    start(16);
    start(-1);
    start(kMost);
    start(-kMost - 1);
    const std::vector<int> starts = {3, 13}, one = {3}, fine = {12, 0};
    const auto two = rope::view(b.data.data(), 2, kSeq, kHeads, kDim);
    b.refuses(two, "positions[1] is 13, the start of 4 tokens" + kHolds, out, rope::start_at(starts));
    b.refuses(two, "positions has 1 starts; there must be one per batch entry (2).", bad, rope::start_at(one));
    b.refuses(two, "positions has 3 ids; there must be seq (4) or batch * seq (8) of them.", bad, few);
    b.refuses(rope::view(b.data.data(), 1, 17, 1, kDim), "positions[0] is 3, the start of 17 tokens" + kHolds, out,
              rope::start_at(one));
    CHECK(rope::check(two, b.cache, rope::start_at(fine)).ok());
    CHECK(rope::check(b.x(), b.cache, rope::start_at(12)).ok());

    // The other table decides too.
    const rope::CosSinCache<float> shorter(config_of(), 3);
    const Refusal r = refusal([&] { rope::apply<Layout::half_split>(b.x(), b.far(), b.cache, shorter); });
    CHECK(r.message == "positions start at 0 and there are 4 tokens; this cache holds positions 0 to 2.");
    CHECK(support::same_bits(b.data, b.before));
}

TEST_CASE("slices of a view") {
    Buffers b;
    const auto says = [&](auto&& call, const std::string& sentence) {
        CHECK(refusal([&] { (void)call(b.x()); }).message == sentence);
    };
    using V = rope::TensorView<float>;
    const std::string rest = " of them, and first and count must not be negative.";
    says([](V v) { return v.slice_tokens(2, 3); }, "The slice takes 3 tokens from 2 on; the view has 4" + rest);
    says([](V v) { return v.slice_heads(-1, 1); }, "The slice takes 1 heads from -1 on; the view has 2" + rest);
    says([](V v) { return v.slice_features(0, -1); }, "The slice takes -1 features from 0 on; the view has 8" + rest);
    says([](V v) { return v.slice_batch(kMost, kMost); },
         "The slice takes 9223372036854775807 batch entries from 9223372036854775807 on; the view has 1" + rest);
    CHECK(b.x().slice_tokens(4, 0).seq == 0);
    CHECK(b.x().slice_tokens(1, 2).data == b.data.data() + 16);
}

TEST_CASE("nothing to do is fine") {
    const rope::CosSinCache<float> cache(config_of(), 16);
    float* const none = nullptr;
    const std::vector<int> no_ids;
    for (const auto& v : {rope::view(none, 0, 2, 8), rope::view(none, 4, 0, 8), rope::view(none, 0, 4, 2, 8)}) {
        CHECK(refusal([&] { rope::apply<Layout::half_split>(v, cache); }).message == "(accepted)");
        CHECK(refusal([&] { rope::apply<Layout::half_split>(v, v, cache); }).message == "(accepted)");
        CHECK(refusal([&] { rope::apply_copy<Layout::half_split>(v, v, cache); }).message == "(accepted)");
    }
    CHECK(rope::check(rope::view(none, 0, 2, 8), cache, no_ids).ok());
    CHECK(rope::check(rope::view(none, 0, 2, 8), cache, rope::start_at(1000)).ok());
    CHECK(rope::check(rope::view(none, 0, 4, 2, 8), cache, rope::start_at(no_ids)).ok());
}

TEST_CASE("a sentence longer than its buffer is cut, not overrun") {
    rope::detail::Message message;
    for (int i = 0; i < 100; ++i) message.append("0123456789");
    CHECK(std::string(message.text()).size() == 319);
    CHECK(std::string(rope::Status().message()).empty());
    CHECK(rope::Status().ok());
}
