// SPDX-License-Identifier: MIT
// Tensors and positions that cannot be right are refused before a byte is written, in a sentence that names the
// argument, its value and what is allowed; check(...) says the same sentence without throwing.
#include <rope/rope.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::Layout;
using rope::StatusCode;
using support::refusal;
using View = rope::TensorView<float>;

namespace {

constexpr Index kMost = std::numeric_limits<Index>::max();
constexpr Index kSeq = 4, kHeads = 2, kDim = 8;
const std::string kHolds = "; this cache holds positions 0 to 15.";

struct Buffers {
    rope::CosSinCache<float> cache{rope::Config{kDim}, 16};
    std::vector<float> data = support::normal<float>(1000, 1);
    const std::vector<float> before = data;

    View at(Index offset) { return rope::view(data.data() + offset, kSeq, kHeads, kDim); }
    View x() { return at(0); }
    View far() { return at(500); }

    /// The call is refused with this sentence, and nothing is written.
    template <class Call>
    void expect(Call&& call, const std::string& sentence, StatusCode code = StatusCode::invalid_argument) {
        CAPTURE(sentence);
        const support::Refusal r = refusal(call);
        CHECK(r.message == sentence);
        CHECK(r.code == code);
        CHECK(support::same_bits(data, before));
    }
    /// apply, its kin and check alike refuse the view.
    void refuses(const View& v, const std::string& sentence, StatusCode code = StatusCode::invalid_argument,
                 const rope::Positions& positions = {}) {
        const rope::Status status = rope::check(v, cache, positions);
        CHECK(status.message() == sentence);
        CHECK(status.code() == code);
        expect([&] { rope::apply<Layout::half_split>(v, cache, positions); }, sentence, code);
        expect([&] { rope::apply(Layout::interleaved, v, cache, positions); }, sentence, code);
        expect([&] { rope::apply_inverse<Layout::half_split>(v, cache, positions); }, sentence, code);
        expect([&] { rope::apply_transpose<Layout::interleaved>(v, cache, positions); }, sentence, code);
    }
    void refuses_both(const View& q, const View& k, const std::string& sentence) {
        CHECK(rope::check(q, k, cache).message() == sentence);
        CHECK(rope::check(q, k, cache, cache).message() == sentence);
        expect([&] { rope::apply<Layout::half_split>(q, k, cache); }, sentence);
    }
    template <class In, class Out>
    void refuses_copy(const In& in, const Out& out, const std::string& sentence) {
        CHECK(rope::check_copy(in, out, cache).message() == sentence);
        expect([&] { rope::apply_copy<Layout::half_split>(in, out, cache); }, sentence);
    }
};

}  // namespace

TEST_CASE("extents and pointers") {
    Buffers b;
    const auto refuses = [&](auto&& change, const std::string& sentence) {
        View v = b.x();
        change(v);
        b.refuses(v, sentence);
    };
    refuses([](View& v) { v.batch = -1; }, "x.batch is -1; it must not be negative.");
    refuses([](View& v) { v.seq = -2; }, "x.seq is -2; it must not be negative.");
    refuses([](View& v) { v.heads = -3; }, "x.heads is -3; it must not be negative.");
    refuses([](View& v) { v.head_dim = -8; }, "x.head_dim is -8; it must not be negative.");
    refuses([](View& v) { v.head_dim = 6; }, "x.head_dim is 6; its cache was made for a head_dim of 8.");
    refuses([](View& v) { v.head_dim = 0; }, "x.head_dim is 0; its cache was made for a head_dim of 8.");
    refuses([](View& v) { v.data = nullptr; }, "x.data is null; a view of 64 elements needs memory to point to.");

    const std::string room = "; together they must not exceed what memory can hold (4611686018427387903 bytes).";
    refuses([](View& v) { v.seq = kMost; },
            "x has extents [1, 9223372036854775807, 2, 8] and strides [64, 16, 8, 1]" + room);
    b.refuses(
        rope::view(b.data.data(), Index(1) << 40, Index(1) << 40, kDim),
        "x has extents [1, 1099511627776, 1099511627776, 8] and strides [9223372036854775807, 8796093022208, 8, 1]" +
            room);
    refuses([](View& v) { v.seq_stride = kMost / 2; },
            "x has extents [1, 4, 2, 8] and strides [64, 4611686018427387903, 8, 1]" + room);
    refuses([](View& v) { v.head_stride = -kMost - 1; },
            "x has extents [1, 4, 2, 8] and strides [64, 16, -9223372036854775808, 1]" + room);
}

TEST_CASE("views that overlap themselves") {
    Buffers b;
    const auto refuses = [&](auto&& change, const std::string& axis, Index stride, Index least) {
        View v = b.x();
        v.batch = 2;
        change(v);
        b.refuses(v, "x overlaps itself: " + axis + " has stride " + std::to_string(stride) +
                         "; in a view that is written, its absolute value must be at least " + std::to_string(least) +
                         ", which is what the axes inside it span.");
    };
    refuses([](View& v) { v.seq_stride = 0; }, "seq", 0, 1);
    refuses([](View& v) { v.batch_stride = 0; }, "batch", 0, 1);
    refuses([](View& v) { v.feature_stride = 0; }, "head_dim", 0, 1);
    refuses([](View& v) { v.head_stride = 7; }, "heads", 7, 8);
    refuses([](View& v) { v.seq_stride = -15; }, "seq", -15, 16);
    refuses([](View& v) { v.batch_stride = 63; }, "batch", 63, 64);

    // Reading is another matter: one head broadcast to all tokens.
    rope::TensorView<const float> broadcast = b.x();
    broadcast.seq_stride = 0;
    CHECK(rope::check_copy(broadcast, b.far(), b.cache).ok());
    View flat = b.x();
    flat.head_stride = 0;
    b.refuses_copy(
        b.far(), flat,
        "out overlaps itself: heads has stride 0; in a view that is written, its absolute value must be at least "
        "1, which is what the axes inside it span.");
    // A stride on an axis of one element means nothing.
    View one = b.x();
    one.batch_stride = 0;
    CHECK(rope::check(one, b.cache).ok());
}

TEST_CASE("two views that may share elements") {
    Buffers b;
    const std::string turn_twice =
        "q and k may share elements, which would be rotated twice; two views that are written must be shown to share "
        "none by "
        "their strides.";
    const std::string share =
        "in and out are different views that may share elements; they must be the same view (pointer, type, extents "
        "and strides) or be shown to share none by their strides.";
    b.refuses_both(b.at(0), b.at(0), turn_twice);
    for (const Index offset : {Index(1), Index(8), Index(63)}) {
        b.refuses_both(b.at(0), b.at(offset), turn_twice);
        b.refuses_both(b.at(offset), b.at(0), turn_twice);
        b.refuses_copy(b.at(0), b.at(offset), share);
        b.refuses_copy(b.at(offset), b.at(0), share);
    }
    CHECK(rope::check(b.at(0), b.at(64), b.cache).ok());
    CHECK(rope::check(b.at(64), b.at(0), b.cache).ok());
    CHECK(rope::check_copy(b.at(0), b.at(64), b.cache).ok());
    CHECK(rope::check_copy(b.at(0), b.at(0), b.cache).ok());  // in place, said the long way

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
    View even = b.at(0), odd = b.at(16);
    even.seq_stride = odd.seq_stride = 32;
    CHECK(rope::check(even, odd, b.cache).ok());
    odd.data += 3 * 32;
    odd.seq_stride = -32;
    CHECK(rope::check(even, odd, b.cache).ok());
    odd.data -= 8;
    b.refuses_both(even, odd, turn_twice);
    // A feature-major (column-major) fused buffer.
    const View columns_q = {b.data.data(), 1, kSeq, kHeads, kDim, 0, 1, kSeq * kDim, kSeq};
    View columns_k = columns_q;
    columns_k.data += kSeq * kDim * kHeads;
    CHECK(rope::check(columns_q, columns_k, b.cache).ok());
    columns_k.data -= 1;
    b.refuses_both(columns_q, columns_k, turn_twice);

    // k begins in the last head of one token's row and reaches into the next token's q.
    rope::TensorView<float> wrapped = fused.slice_heads(5, 1);
    wrapped.heads = 2;
    wrapped.seq = 3;
    rope::TensorView<float> three = fused.slice_heads(0, 1);
    three.seq = 3;
    b.refuses_both(three, wrapped, turn_twice);
    // Rows of different lengths meet sooner or later, though the first ones lie apart.
    rope::TensorView<float> narrow = b.x(), broad = b.x();
    broad.data += 16;
    narrow.seq_stride = 40;
    broad.seq_stride = 48;
    b.refuses_both(narrow, broad, turn_twice);
    // As far apart as pointers and strides can be.
    rope::TensorView<float> away = rope::view(b.data.data(), 1, 2, kDim);
    away.head_stride = -(kMost / 8 - 100);
    const rope::TensorView<float> near = rope::view(b.data.data() + 900, 1, 1, kDim);
    CHECK(rope::check(near, rope::view(b.data.data(), 1, 2, kDim), b.cache).ok());
    (void)rope::check(near, away, b.cache);  // whatever it says, it must not overflow

    // Another type over the same bytes is not the same view, even of the same size.
    std::vector<rope::half> halves(64);
    const auto as_half = rope::view(halves.data(), kSeq, kHeads, kDim);
    const auto as_bfloat16 = rope::view(reinterpret_cast<rope::bfloat16*>(halves.data()), kSeq, kHeads, kDim);
    b.refuses_copy(as_half, as_bfloat16, share);
    // Same memory, other strides.
    View swapped = b.at(0);
    swapped.seq_stride = 8;
    swapped.head_stride = 32;
    b.refuses_copy(b.at(0), swapped, share);
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
    b.refuses(b.x(), "positions[3] is 9223372036854775807 or more" + kHolds, out, huge);
    b.refuses(b.x(), "positions has 3 ids; there must be one for each token, seq (4) of them.", bad, few);
    b.refuses(b.x(), "positions has 5 ids; there must be one for each token, seq (4) of them.", bad, many);
    b.refuses(b.x(), "positions has 0 ids; there must be one for each token, seq (4) of them.", bad,
              rope::ids(static_cast<const int*>(nullptr), 0));
    b.refuses(b.x(), "positions has -4 ids; there must be one for each token, seq (4) of them.", bad,
              rope::ids(few.data(), -4));
    b.refuses(b.x(), "positions is a null pointer; it must point to 4 integers.", bad,
              rope::ids(static_cast<const int*>(nullptr), 4));
    const auto start = [&](Index n) {
        b.refuses(b.x(),
                  "positions start at " + std::to_string(n) + (n == kMost ? " or more" : "") + " and seq is 4" + kHolds,
                  out, rope::start_at(n));
    };
    start(13);
    start(16);
    start(-1);
    start(kMost);
    start(-kMost - 1);
    const std::vector<int> starts = {3, 13}, one = {3}, fine = {12, 0};
    const auto two = rope::view(b.data.data(), 2, kSeq, kHeads, kDim);
    b.refuses(two, "positions[1] is 13, the start of 4 tokens" + kHolds, out, rope::start_at(starts));
    b.refuses(two, "positions has 1 start; there must be one per batch entry (2).", bad, rope::start_at(one));
    b.refuses(two, "positions has 3 ids; there must be seq (4) or batch * seq (8) of them.", bad, few);
    b.refuses(rope::view(b.data.data(), 1, 17, 1, kDim), "positions[0] is 3, the start of 17 tokens" + kHolds, out,
              rope::start_at(one));
    CHECK(rope::check(two, b.cache, rope::start_at(fine)).ok());
    CHECK(rope::check(b.x(), b.cache, rope::start_at(12)).ok());

    // The other table decides too.
    const rope::CosSinCache<float> shorter(rope::Config{kDim}, 3);
    b.expect([&] { rope::apply<Layout::half_split>(b.x(), b.far(), b.cache, shorter); },
             "positions start at 0 and seq is 4; this cache holds positions 0 to 2.", out);
}

TEST_CASE("the stride of an axis of one element is never taken") {
    for (const Index any : {Index(0), Index(-7), kMost, -kMost - 1}) {
        Buffers b;
        std::vector<float> plain = b.data;
        rope::apply<Layout::half_split>(rope::view(plain.data(), 1, 1, kDim), b.cache, rope::start_at(3));
        rope::TensorView<float> x = rope::view(b.data.data(), 1, 1, 1, kDim), y = x;
        x.batch_stride = x.seq_stride = x.head_stride = any;
        y.data += kDim;
        y.batch_stride = y.seq_stride = y.head_stride = any;
        REQUIRE(rope::check(x, y, b.cache).ok());
        rope::apply<Layout::half_split>(x, b.cache, rope::start_at(3));
        CHECK(support::same_bits(b.data, plain));
    }
}

TEST_CASE("a layout that is none") {
    Buffers b;
    CHECK(support::refusal([&] { rope::apply(static_cast<Layout>(7), b.x(), b.cache); }).message ==
          "layout is 7; it must be Layout::interleaved (0) or Layout::half_split (1).");
    CHECK(support::same_bits(b.data, b.before));
}

TEST_CASE("slices of a view") {
    Buffers b;
    const auto says = [&](auto&& call, const std::string& sentence) {
        CHECK(refusal([&] { (void)call(b.x()); }).message == sentence);
    };
    const std::string rest = "; neither must be negative, and they must lie within the view, which has ";
    says([](View v) { return v.slice_tokens(2, 3); }, "The slice of tokens has first 2 and count 3" + rest + "4.");
    says([](View v) { return v.slice_heads(-1, 1); }, "The slice of heads has first -1 and count 1" + rest + "2.");
    says([](View v) { return v.slice_features(0, -1); },
         "The slice of features has first 0 and count -1" + rest + "8.");
    says([](View v) { return v.slice_batch(kMost, kMost); },
         "The slice of batch entries has first 9223372036854775807 and count 9223372036854775807" + rest + "1.");
    CHECK(support::refusal([] {
              (void)rope::view(static_cast<float*>(nullptr), kMost, 2, 8).slice_tokens(kMost - 1, 1);
          }).message ==
          "The slice begins 9223372036854775806 steps of 16 elements into the view, beyond what memory can hold.");
    CHECK(b.x().slice_tokens(4, 0).seq == 0);
    CHECK(b.x().slice_tokens(1, 2).data == b.data.data() + 16);
}

TEST_CASE("nothing to do is fine") {
    const rope::CosSinCache<float> cache(rope::Config{kDim}, 16);
    float* const none = nullptr;
    const std::vector<int> no_ids;
    for (const auto& v : {rope::view(none, 0, 2, 8), rope::view(none, 4, 0, 8), rope::view(none, 0, 4, 2, 8)}) {
        CHECK(refusal([&] { rope::apply<Layout::half_split>(v, cache); }).message == "(accepted)");
        CHECK(refusal([&] { rope::apply<Layout::half_split>(v, v, cache); }).message == "(accepted)");
        CHECK(refusal([&] { rope::apply_copy<Layout::half_split>(v, v, cache); }).message == "(accepted)");
    }
    rope::apply<Layout::half_split>(rope::view(none, kMost, 4, 0, 8), cache, rope::start_at(0));
    CHECK(rope::check(rope::view(none, 0, 2, 8), cache, no_ids).ok());
    CHECK(rope::check(rope::view(none, 0, 2, 8), cache, rope::start_at(1000)).ok());
    CHECK(rope::check(rope::view(none, 0, 4, 2, 8), cache, rope::start_at(no_ids)).ok());
}

TEST_CASE("the strides of an empty view may be anything") {
    const rope::CosSinCache<float> cache(rope::Config{kDim}, 16);
    const rope::SinusoidalEmbedding<float> embedding(2 * kDim, 16);
    float* const none = nullptr;
    const auto nothing = [](Index count, auto&& f) { f(Index(0), count); };
    for (const Index stride : {kMost, -kMost, Index(1) << 62})
        for (int axis = 0; axis < 3; ++axis) {
            const Index seq = axis == 2 ? 16 : kMost;  // tokens without heads have positions, too
            View v = {none, kMost, seq, 2, kDim, stride, stride, stride, stride};
            (axis == 0 ? v.batch : axis == 1 ? v.seq : v.heads) = 0;
            CHECK(refusal([&] { rope::apply<Layout::half_split>(v, cache); }).message == "(accepted)");
            CHECK(refusal([&] { rope::apply<Layout::interleaved>(v, v, cache, {}, nothing); }).message == "(accepted)");
            CHECK(refusal([&] { rope::apply_copy<Layout::half_split>(v, v, cache); }).message == "(accepted)");
            if (axis == 2) continue;
            CHECK(refusal([&] { embedding.add(v); }).message == "(accepted)");
            CHECK(refusal([&] { embedding.add(v, {}, nothing); }).message == "(accepted)");
        }
}

TEST_CASE("containers are viewed whole") {
    std::vector<float> list(48);
    const std::vector<float>& unchanging = list;
    std::array<rope::half, 48> array = {};
    const auto v = rope::view(list, 2, 3, 8);
    CHECK(v.data == list.data());
    CHECK(v.batch == 1);
    CHECK(v.seq == 2);
    CHECK(v.heads == 3);
    CHECK(v.head_dim == 8);
    CHECK(v.seq_stride == 24);
    static_assert(std::is_same_v<decltype(rope::view(unchanging, 2, 3, 8)), rope::TensorView<const float>>, "");
    static_assert(std::is_same_v<decltype(rope::view(array, 1, 2, 3, 8)), rope::TensorView<rope::half>>, "");
    CHECK(rope::view(array, 1, 2, 3, 8).data == array.data());
    const auto heads_first = rope::view_heads_first(list, 1, 3, 2, 8);
    CHECK(heads_first.seq == 2);
    CHECK(heads_first.seq_stride == 8);
    CHECK(rope::embedding_view(list, 1, 2, 24).head_dim == 24);

    const auto says = [&](auto&& call, const char* size, const char* advice = "") {
        CHECK(refusal(call).message == std::string("The container has 48 elements; a view of ") + size + "." + advice);
    };
    says([&] { (void)rope::view(list, 2, 3, 7); }, "seq 2, heads 3 and head_dim 7 has 42",
         " (For a part of it, write its data() in place of it.)");
    says([&] { (void)rope::view(list, 3, 3, 8); }, "seq 3, heads 3 and head_dim 8 has 72");
    says([&] { (void)rope::view(array, 2, 2, 3, 8); }, "batch 2, seq 2, heads 3 and head_dim 8 has 96");
    CHECK(refusal([&] { (void)rope::view(unchanging, -2, -3, 8); }).message == "seq is -2; it must not be negative.");
    says([&] { (void)rope::view_heads_first(list, 1, 3, 3, 8); }, "batch 1, heads 3, seq 3 and head_dim 8 has 72");
    says([&] { (void)rope::embedding_view(list, 2, 3, 9); }, "batch 2, seq 3 and d_model 9 has 54");
    says([&] { (void)rope::view(list, kMost, kMost, kMost, 8); },
         "batch 9223372036854775807, seq 9223372036854775807, heads 9223372036854775807 and head_dim 8 has "
         "9223372036854775807");
}
