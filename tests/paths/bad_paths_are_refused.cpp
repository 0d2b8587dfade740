// SPDX-License-Identifier: MIT
// Every mistake in a path has a sentence, and nothing is written.
#include <rope/heads.hpp>  // which brings apply

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::Index;

namespace {

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kSeq = 3, kHeads = 2, kDim = 32;

}  // namespace
namespace support {
/// As std::span.
template <class T>
struct SpanOf {
    using element_type = T;
    T* pointer;
    std::size_t count;
    T* data() const { return pointer; }
    std::size_t size() const { return count; }
};
}  // namespace support
namespace {

struct Tensors {
    std::vector<float> x = support::normal<float>(kSeq * kHeads * kDim, 1);
    std::vector<float> y = std::vector<float>(4 * kSeq * kHeads * kDim, 5.0f);
    std::vector<double> d = std::vector<double>(kSeq * kHeads * kDim, 5.0);
    std::vector<signed char> i8 = std::vector<signed char>(kSeq * kHeads * kDim, 5);
    std::vector<unsigned char> u8 = std::vector<unsigned char>(2 * kSeq * kHeads * kDim, 5);
    std::vector<float> scales = std::vector<float>(kSeq * kHeads, 5.0f);
    std::vector<int> slots = {0, 5, -1};

    rope::TensorView<float> in() { return rope::view(x.data(), kSeq, kHeads, kDim); }
    rope::TensorView<float> out() { return rope::view(y.data(), kSeq, kHeads, kDim); }
    rope::Paged<float> pages() { return rope::paged(y.data(), 2, 3, kHeads, kDim, slots); }
};

rope::CosSinCache<float> table(Index head_dim = kDim) {
    rope::Config config;
    config.head_dim = head_dim;
    return rope::CosSinCache<float>(config, 16);
}

/// What pass and check_pass say of a call; both must say the same, and write nothing.
template <class... Make>
std::string refused(const rope::PositionsArgument& given, const Make&... make) {
    const rope::Positions& positions = given;
    Tensors t;
    const Tensors before = t;
    const rope::CosSinCache<float> cache = table();
    const rope::Status status = rope::check_pass<kLayout>(cache, positions, make(t)...);
    const support::Refusal refusal = support::refusal([&] { rope::pass<kLayout>(cache, positions, make(t)...); });
    CHECK(refusal.code == status.code());
    if (!status.ok()) CHECK(refusal.message == status.message());
    CHECK(t.x == before.x);
    CHECK(t.y == before.y);
    CHECK(t.i8 == before.i8);
    CHECK(t.u8 == before.u8);
    CHECK(t.scales == before.scales);
    return refusal.message;
}
template <class... Make>
std::string refused_at_0(const Make&... make) {
    return refused(rope::start_at(0), make...);
}

}  // namespace

TEST_CASE("numbers of steps that mean nothing") {
    const auto of = [](auto step) {
        return refused_at_0([&](Tensors& t) {
            rope::Path p = rope::heads(t.in());
            step(p, t);
            return p.to(t.out());
        });
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(of([](rope::Path& p, Tensors&) { p.rms_norm(-1e-6); }) ==
          "eps of a norm is -1e-06; it must be finite and at least 0.");
    CHECK(of([&](rope::Path& p, Tensors&) { p.l2_norm(nullptr, nan); }) ==
          "eps of a norm is nan; it must be finite and at least 0.");
    const rope::NormOptions adds_one = {rope::NormSpan::head, rope::NormRounding::none, true};
    CHECK(of([&](rope::Path& p, Tensors&) { p.rms_norm(1e-6, adds_one); }) ==
          "adds_one of a norm is true, and the norm has no weight to which 1 could be added.");
    CHECK(of([](rope::Path& p, Tensors& t) {
              p.rms_norm(std::vector<float>(t.x.begin(), t.x.begin() + kDim), 1e-6, {rope::NormSpan::token});
          }) == "The numbers of a norm over a token are a list of 32; it must have those of all heads (2 * 32).");
    CHECK(of([](rope::Path& p, Tensors&) { p.rms_norm(1e-6, {static_cast<rope::NormSpan>(2)}); }) ==
          "over of a norm is number 2 of NormSpan; there are 2.");
    CHECK(of([](rope::Path& p, Tensors&) {
              p.l2_norm(nullptr, 1e-6, {rope::NormSpan::head, static_cast<rope::NormRounding>(3)});
          }) == "rounding of a norm is number 3 of NormRounding; there are 3.");
    CHECK(of([](rope::Path& p, Tensors&) { p.rotate(static_cast<rope::RotateRounding>(9)); }) ==
          "rounding of a rotation is number 9 of RotateRounding; there are 3.");
    CHECK(of([](rope::Path& p, Tensors&) { p.clamp(-2.0); }) ==
          "limit of clamp is -2; it must be finite and at least 0.");
    CHECK(of([&](rope::Path& p, Tensors&) { p.multiply(nan); }) == "factor of multiply is nan; it must be finite.");
    CHECK(of([](rope::Path& p, Tensors&) { p.add(nullptr); }) == "add has no numbers; it needs some.");
    CHECK(of([](rope::Path& p, Tensors&) { p.multiply(nullptr); }) == "multiply has no numbers; it needs some.");
    const float* const none = nullptr;
    const std::vector<float> short_weight(31, 1.0f);
    CHECK(of([&](rope::Path& p, Tensors&) { p.multiply(none); }) ==
          "The numbers of multiply are a null pointer; a norm without weight or bias has nullptr itself.");
    CHECK(of([&](rope::Path& p, Tensors&) { p.rms_norm(none, 1e-6); }) ==
          "The numbers of a norm are a null pointer; a norm without weight or bias has nullptr itself.");
    CHECK(of([](rope::Path& p, Tensors& t) { p.multiply(rope::view(t.y.data(), 1, 1, -1)); }) ==
          "The numbers of multiply have an extent of -1 along head_dim; it must be 1 or that of the heads (32).");
    CHECK(of([](rope::Path& p, Tensors&) { p.multiply(1e300); }) == "factor of multiply is 1e+300; it must be finite.");
    CHECK(of([](rope::Path& p, Tensors&) { p.hadamard(std::numeric_limits<Index>::max()); }) ==
          "block of hadamard is 9223372036854775808; it must be a power of two that divides head_dim (32).");
    const std::vector<float> lone(1, 2.0f);
    const std::string of_list =
        "it must have those of a head (32) or, for a norm over a token, of all its heads, and rope::view has other "
        "shapes.";
    CHECK(of([&](rope::Path& p, Tensors& t) { p.rms_norm(short_weight, 1e-6).to(t.out()); }) ==
          "The numbers of a norm are a list of 31; " + of_list);
    CHECK(of([&](rope::Path& p, Tensors& t) { p.rms_norm(lone, 1e-6).to(t.out()); }) ==
          "The numbers of a norm are a list of 1; " + of_list);
    CHECK(of([](rope::Path& p, Tensors& t) { p.rotate_into(static_cast<rope::Layout>(7)).to(t.out()); }) ==
          "layout is 7; it must be Layout::interleaved (0) or Layout::half_split (1).");
    CHECK(of([](rope::Path& p, Tensors&) { p.hadamard(24); }) ==
          "block of hadamard is 24; it must be a power of two that divides head_dim (32).");
    CHECK(of([](rope::Path& p, Tensors&) { p.hadamard(64); }) ==
          "block of hadamard is 64; it must be a power of two that divides head_dim (32).");
    CHECK(of([](rope::Path& p, Tensors&) { p.rotate().rotate_back(); }) ==
          "Path 1 rotates 2 times; it must do so at most once.");
    CHECK(of([](rope::Path& p, Tensors&) {
              for (int i = 0; i < 9; ++i) p.multiply(2.0);
          }) == "Path 1 has 9 steps; it must have at most 8.");
    CHECK(of([](rope::Path& p, Tensors& t) { p.multiply(rope::view(t.y.data(), 1, 3, kDim)); }) ==
          "The numbers of multiply have an extent of 3 along heads; it must be 1 or that of the heads (2).");
    CHECK(of([](rope::Path& p, Tensors& t) { p.add(rope::view(t.y.data(), 1, kHeads, 31)); }) ==
          "The numbers of add have an extent of 31 along head_dim; it must be 1 or that of the heads (32).");
    CHECK(of([](rope::Path& p, Tensors& t) { p.rms_norm(t.d.data(), 1e-6); }) ==
          "The numbers of a norm are double; with rows of float they must be float, half or bfloat16.");
}

TEST_CASE("sources, destinations and positions that do not fit") {
    const std::vector<float> constant(kSeq * kHeads * kDim);
    CHECK(refused_at_0([&](Tensors&) { return rope::heads(rope::view(constant.data(), kSeq, kHeads, kDim)); }) ==
          "source of path 1 is const, and the path has no destination: add to(...).");
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(t.in()).to(rope::view(t.y.data(), kSeq, kHeads, 31)); }) ==
          "destination of path 1 is [1, 3, 2, 31]; it must be [1, 3, 2, 32].");
    CHECK(refused_at_0([&](Tensors& t) {
              return rope::heads(t.in()).to(rope::view(constant.data(), kSeq, kHeads, kDim));
          }) == "destination of path 1 is const; a path cannot write it.");
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(rope::view(t.x.data(), 1, 1, 96)).rotate(); }) ==
          "path 1.head_dim is 96; its cache was made for a head_dim of 32.");
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(rope::view(t.x.data(), 0, 1, 4000)); }) ==
          "source of path 1 has head_dim 4000; it must be at most 2048.");
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(t.in()); },
                       [](Tensors& t) { return rope::heads(rope::view(t.y.data(), 2, 1, kDim)); }) ==
          "source of path 2 has seq 2; it must be that of path 1 (3).");
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(rope::view(t.d.data(), kSeq, kHeads, kDim)); }) ==
          "source of path 1 is double; with rows of float it must be float, half or bfloat16.");
    CHECK(refused(rope::start_at(14), [](Tensors& t) { return rope::heads(t.in()).rotate(); }) ==
          "positions start at 14 and seq is 3; this cache holds positions 0 to 15.");
}

TEST_CASE("slots that do not fit") {
    const auto with = [](std::vector<int> slots) {
        return refused_at_0([&](Tensors& t) {
            t.slots = slots;
            return rope::heads(t.in()).to(t.pages());
        });
    };
    CHECK(with({0, 1, 6}) ==
          "destination of path 1 has slot 6 for token 2; in 2 pages of 3 slots are from 0 to 5, and -1 skips a token.");
    CHECK(
        with({0, -2, 1}) ==
        "destination of path 1 has slot -2 for token 1; in 2 pages of 3 slots are from 0 to 5, and -1 skips a token.");
    CHECK(with({0, 1}) == "destination of path 1 has 2 slots; there must be one for each token (3).");
    CHECK(refused_at_0([](Tensors& t) {
              return rope::heads(t.in()).to(t.pages().with_slots(t.slots.data(), 3, std::numeric_limits<Index>::max()));
          }) ==
          "slots has extents [1, 1, 1, 3] and strides [0, 0, 0, 9223372036854775807]; together they must not exceed "
          "what memory can hold (4611686018427387903 bytes).");
    CHECK(refused_at_0([](Tensors& t) {
              return rope::heads(t.in()).to(rope::paged(t.y.data(), 2, 3, 1, kDim, t.slots));
          }) == "destination of path 1 has pages with heads 1 and head_dim 32; these must be 2 and 32.");
    CHECK(refused_at_0([](Tensors& each) {
              return rope::heads(each.in()).to(rope::paged(each.y.data(), 2, 3, kHeads, kDim));
          }) ==
          "destination of path 1 has pages without slots; give those of the step, one for each token (3), by "
          "with_slots.");
    const std::vector<unsigned> no_sign = {0, 1, static_cast<unsigned>(-1)};
    CHECK(refused_at_0([&](Tensors& each) {
              return rope::heads(each.in()).to(rope::paged(each.y.data(), 2, 3, kHeads, kDim, no_sign));
          }).find("destination of path 1 has slot 4294967295 for token 2; in 2 pages of 3") == 0);
    const std::vector<int> some = {0, 2, -1}, others = {0, 1, -1};
    CHECK(refused_at_0([&](Tensors& each) {
              return rope::heads(each.in()).to(rope::int8(rope::paged(each.i8.data(), 1, 3, kHeads, kDim, some),
                                                          rope::paged(each.scales.data(), 1, 3, kHeads, 1, others)));
          }) ==
          "destination of path 1 has slot 2 for the codes of token 1 and slot 1 beside them; they must be the same.");
    Tensors t;
    CHECK(support::invalid([&] { (void)t.pages().slice_features(16, 17); }) ==
          "The slice of features has first 16 and count 17; neither must be negative, and they must lie within the "
          "view, which has 32.");
    CHECK(support::invalid([&] {
              (void)t.pages().slice_features(-1, 4);
          }).find("The slice of features has first -1 and count 4;") == 0);
}

TEST_CASE("memory that is shared") {
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(t.in()).to(rope::view(t.x.data() + 1, 1, 1, 5)); }) ==
          "destination of path 1 is [1, 1, 1, 5]; it must be [1, 3, 2, 32].");
    CHECK(refused_at_0([](Tensors& t) {
              return rope::heads(rope::view(t.y.data(), kSeq, kHeads, kDim))
                  .to(rope::view(t.y.data() + 1, kSeq, kHeads, kDim));
          }) ==
          "destination of path 1 and source of path 1 may share elements; they must be shown to share none by "
          "their strides.");
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(t.in()).to(t.out()); },
                       [](Tensors& t) { return rope::heads(t.in()).to(t.out()); }) ==
          "destination of path 1 and destination of path 2 may share elements; they must be shown to share "
          "none by their strides.");
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(t.in()); },
                       [](Tensors& t) { return rope::heads(t.in()).to(t.out()); }) ==
          "source of path 1 and source of path 2 may share elements; they must be shown to share none by "
          "their strides.");
    CHECK(refused_at_0(
              [](Tensors& t) { return rope::heads(t.in()).multiply(rope::view(t.x.data(), 1, kHeads, kDim)); }) ==
          "source of path 1 and the numbers of multiply in path 1 may share elements; they must be shown to "
          "share none.");
    CHECK(refused_at_0(
              [](Tensors& t) { return rope::heads(t.in()).rms_norm(t.y.data(), 1e-6); },
              [](Tensors& t) { return rope::heads(rope::view(t.y.data() + 600, kSeq, kHeads, kDim)).to(t.out()); }) ==
          "destination of path 2 and the numbers of a norm in path 1 may share elements; they must be shown to "
          "share none.");
    CHECK(refused_at_0([](Tensors& t) {
              const int* const slots = reinterpret_cast<int*>(t.y.data() + 7);
              return rope::heads(t.in()).to(
                  rope::paged(t.y.data(), 2, 3, kHeads, kDim, support::SpanOf<const int>{slots, 3}));
          }) ==
          "destination of path 1 has slot 1084227584 for token 0; in 2 pages of 3 slots are from 0 to 5, and -1 skips "
          "a token.");
    // K = V: one source, two destinations.
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(t.in()).to(t.out()); },
                       [](Tensors& t) {
                           return rope::heads(t.in()).to(rope::int8(rope::view(t.i8.data(), kSeq, kHeads, kDim),
                                                                    rope::view(t.scales.data(), kSeq, 1, 1)));
                       }) == "destination of path 2 is [1, 3, 1, 1] in its scales; it must be [1, 3, 2, 1].");
}

TEST_CASE("formats that do not fit") {
    const auto codes = [](Tensors& t, Index width) { return rope::view(t.u8.data(), kSeq, kHeads, width); };
    CHECK(refused_at_0([&](Tensors& t) { return rope::heads(t.in()).to(rope::q8_0(codes(t, 33))); }) ==
          "destination of path 1 is [1, 3, 2, 33]; it must be [1, 3, 2, 34].");
    CHECK(refused_at_0([&](Tensors& t) {
              return rope::heads(rope::view(t.x.data(), kSeq, kHeads, 16)).to(rope::q4_0(codes(t, 18)));
          }) ==
          "destination of path 1 has format q4_0, whose blocks have 32 features; head_dim is 16, which they must "
          "divide.");
    CHECK(refused_at_0([](Tensors& t) { return rope::heads(t.in()).to(rope::q8_0(t.out())); }) ==
          "destination of path 1 has elements of more than a byte; the codes of q8_0 are bytes.");
    CHECK(refused_at_0([&](Tensors& t) { return rope::heads(t.in()).to(codes(t, kDim)); }) ==
          "destination of path 1 has elements of a byte; a format such as rope::int8 says what they mean.");
    CHECK(refused_at_0([&](Tensors& t) {
              return rope::heads(t.in()).to(rope::int8(codes(t, kDim), rope::view(t.scales.data(), kSeq, kHeads, 1)));
          }) == "destination of path 1 has codes of unsigned char; those of int8 are signed char.");
    CHECK(refused_at_0([&](Tensors& t) {
              const auto unknown = static_cast<rope::ScaleUse>(2);
              return rope::heads(t.in()).to(rope::fp8_e4m3(codes(t, kDim), 2.0f, unknown));
          }) == "destination of path 1 has use number 2 of ScaleUse; there are 2.");
    CHECK(refused_at_0([&](Tensors& t) { return rope::heads(t.in()).to(rope::fp8_e4m3(codes(t, kDim), 0.0f)); }) ==
          "destination of path 1 has scale 0; it must be finite and above 0.");
    CHECK(refused_at_0(
              [&](Tensors& t) { return rope::heads(t.in()).to(rope::q8_0(rope::fp8_e4m3(codes(t, kDim), 2.0f))); }) ==
          "destination of path 1 has a format of what has a format already; codes, scales and zeros are views or "
          "pages.");
    rope::Config config;
    config.head_dim = kDim;
    const rope::CosSinCache<double> doubles(config, 16);
    Tensors t;
    CHECK(support::invalid([&] {
              rope::pass<kLayout>(doubles, rope::start_at(0),
                                  rope::heads(rope::view(t.d.data(), kSeq, kHeads, kDim)).to(t.out()));
          }) == "destination of path 1 is not double; with rows of double it must be double.");
}

TEST_CASE("slots that lie in a destination, and a cache of another size") {
    Tensors t;
    std::vector<int> memory(2 * 3 * kHeads * kDim);  // zeros are slots
    const support::SpanOf<const int> slots = {memory.data() + 5, 3};
    float* const cache = reinterpret_cast<float*>(memory.data());
    CHECK(rope::check_pass<kLayout>(table(), rope::start_at(0),
                                    rope::heads(t.in()).to(rope::paged(cache, 2, 3, kHeads, kDim, slots)))
              .message() ==
          std::string(
              "destination of path 1 and the slots of path 1 may share elements; they must be shown to share none."));
    CHECK(support::invalid([&] { (void)rope::paged(t.y, 2, 3, kHeads, 16, t.slots); }) ==
          "The container has 768 elements; a cache of pages 2, page_size 3, heads 2 and head_dim 16 has 192. (For a "
          "part of it, write its data() in place of it.)");
    CHECK(support::invalid([&] { (void)rope::paged_heads_first(t.y, 2, kHeads, 9, kDim); }) ==
          "The container has 768 elements; a cache of pages 2, heads 2, page_size 9 and head_dim 32 has 1152.");
    CHECK(support::invalid([&] { (void)rope::paged(t.y, 2, -3, kHeads, kDim); }) ==
          "page_size is -3; it must not be negative.");
    CHECK(refused_at_0([](Tensors& each) {
              return rope::heads(each.in()).to(rope::paged(each.y.data(), 2, -3, kHeads, kDim, each.slots));
          }) == "destination of path 1.page_size is -3; it must not be negative.");
    CHECK(refused_at_0([](Tensors& each) {
              rope::Paged<float> pages = each.pages();
              pages.page_stride = 5;
              return rope::heads(each.in()).to(pages);
          }).find("destination of path 1 overlaps itself: pages has stride 5;") == 0);
}

TEST_CASE("parts that do not exist") {
    CHECK(support::invalid([] { (void)rope::part(3, 3); }) ==
          "number of part is 3; of 3 parts it must be from 0 to 2.");
    CHECK(support::invalid([] { (void)rope::part(0, 0); }) == "count of part is 0; it must be from 1 to 2^20.");
}

TEST_CASE("a layout that is known only at run time") {
    rope::Config config;
    config.head_dim = kDim;
    config.layout = rope::Layout::interleaved;
    const rope::CosSinCache<float> cache(config, 16);
    for (const bool is_known : {false, true}) {
        Tensors t;
        const rope::Path path = rope::heads(t.in()).rotate().to(t.out());
        const std::vector<float> before = t.y;
        const auto layout = is_known ? rope::Layout::half_split : static_cast<rope::Layout>(9);
        const std::string want =
            is_known ? "layout is half_split; the cache of path 1 was made from a Config whose layout is "
                       "interleaved."
                     : "layout is 9; it must be Layout::interleaved (0) or Layout::half_split (1).";
        CHECK(support::refusal([&] { rope::pass(layout, cache, rope::start_at(0), path); }).message == want);
        CHECK(rope::check_pass(layout, cache, rope::start_at(0), path).message() == want);
        CHECK(support::same_bits(t.y, before));
        rope::pass(rope::Layout::interleaved, cache, rope::start_at(0), path);
        const std::vector<float> after = t.y;
        rope::pass<rope::Layout::interleaved>(cache, rope::start_at(0), path);
        CHECK(support::same_bits(t.y, after));
        CHECK_FALSE(support::same_bits(t.y, before));
    }
}

TEST_CASE("positions in what is written") {
    rope::Config config;
    config.head_dim = kDim;
    const rope::CosSinCache<float> cache(config, 16);
    const std::string in_x =
        "positions and x may share elements; a list of positions must lie outside what is written.";
    Tensors t;
    int* const ids = reinterpret_cast<int*>(t.x.data()) + 5;
    for (int i = 0; i < 3; ++i) std::memcpy(ids + i, &i, sizeof i);
    const std::vector<float> before = t.x;
    const auto x = rope::view(t.x.data(), kSeq, kHeads, kDim);
    const auto message = [](auto&& call) { return support::refusal(call).message; };
    CHECK(message([&] { rope::apply<rope::Layout::half_split>(x, cache, rope::ids(ids, 3)); }) == in_x);
    CHECK(message([&] {
              rope::apply_copy<rope::Layout::half_split>(t.in(), x, cache, rope::ids(ids, 3));
          }).find("may share elements") != std::string::npos);
    CHECK(message([&] {
              rope::pass<rope::Layout::half_split>(cache, rope::ids(ids, 3), rope::heads(x).rotate());
          }).find("positions and source of path 1 may share elements") == 0);
    CHECK(support::same_bits(t.x, before));
    // Just behind them they may lie.
    std::vector<float> more(t.x.size() + 3);
    int* const behind = reinterpret_cast<int*>(more.data() + t.x.size());
    for (int i = 0; i < 3; ++i) std::memcpy(behind + i, &i, sizeof i);
    const auto y = rope::view(more.data(), kSeq, kHeads, kDim);
    CHECK(message([&] { rope::apply<rope::Layout::half_split>(y, cache, rope::ids(behind, 3)); }) == "(accepted)");
    CHECK(message([&] { rope::pass<rope::Layout::half_split>(cache, rope::ids(behind, 3), rope::heads(y)); }) ==
          "(accepted)");
}
