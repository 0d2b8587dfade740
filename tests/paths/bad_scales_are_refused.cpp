// SPDX-License-Identifier: MIT
// Scales and zeros of a format that cannot be: the sentences, and that nothing is written.
#include <rope/heads.hpp>

#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"

using rope::Index;

namespace {

constexpr Index kSeq = 3, kHeads = 2, kDim = 64;

struct Memory {
    std::vector<float> x = std::vector<float>(kSeq * kHeads * kDim, 1.0f), scales = std::vector<float>(512),
                       zeros = scales;
    std::vector<signed char> codes = std::vector<signed char>(2 * kSeq * kHeads * kDim, 90);
    std::vector<unsigned char> bytes = std::vector<unsigned char>(2 * kSeq * kHeads * kDim, 90);
    std::vector<double> doubles = std::vector<double>(512);

    template <class T>
    static rope::TensorView<T> view(std::vector<T>& memory, Index width) {
        return rope::view(memory.data(), kSeq, kHeads, width);
    }
    rope::TensorView<float> scale(Index groups) { return view(scales, groups); }
    rope::TensorView<float> zero(Index groups) { return view(zeros, groups); }
    rope::TensorView<signed char> i8() { return view(codes, kDim); }
    rope::TensorView<unsigned char> u8(Index width) { return view(bytes, width); }

    void refuses(const rope::Destination& to, const std::string& sentence) {
        const std::string name = "destination of path 1 ";
        const auto pass = [&] { rope::pass(rope::heads(view(x, kDim)).to(to)); };
        CHECK(support::refusal(pass).message == name + sentence);
        // Paths that rotate are accepted by fewer questions, and must not be.
        static const rope::CosSinCache<float> cache(rope::Config{kDim}, 8);
        const auto rotate = [&] {
            rope::pass<rope::Layout::half_split>(cache, rope::start_at(0), rope::heads(view(x, kDim)).rotate().to(to));
        };
        CHECK(support::refusal(rotate).message == name + sentence);
        CHECK(codes == std::vector<signed char>(codes.size(), 90));
        CHECK(bytes == std::vector<unsigned char>(bytes.size(), 90));
    }
};

}  // namespace

TEST_CASE("groups divide a head") {
    Memory m;
    m.refuses(rope::int8(m.i8(), m.scale(3)),
              "has 3 scales for a head of 64 features; each must be for as many of them as the others.");
    m.refuses(rope::int8(m.i8(), m.scale(0)),
              "has 0 scales for a head of 64 features; each must be for as many of them as the others.");
    m.refuses(
        rope::int4(m.u8(kDim / 2), m.scale(64)),
        "has 64 scales for a head of 64 features; each must be for as many of them as the others, an even number.");
    m.refuses(rope::mxfp4(m.u8(kDim / 2), m.u8(4)),
              "has 4 scales for a head of 64 features; mxfp4 has one for 32 features.");
    m.refuses(rope::nvfp4(m.u8(kDim / 2), m.u8(2)),
              "has 2 scales for a head of 64 features; nvfp4 has one for 16 features.");
    m.refuses(rope::uint8(m.u8(kDim), m.scale(4), m.zero(2)),
              "has 4 scales and 2 zeros for a head; they must be as many.");
    m.refuses(rope::uint8(m.u8(kDim), m.scale(4), m.zero(1)),
              "has 4 scales and 1 zero for a head; they must be as many.");
}

TEST_CASE("types of scales and zeros") {
    Memory m;
    m.refuses(rope::int8(m.i8(), m.u8(1)),
              "has scales that are not float, half or bfloat16; they must be one of these.");
    m.refuses(rope::int8(m.i8(), rope::view(m.doubles.data(), kSeq, kHeads, 1)),
              "has scales that are not float, half or bfloat16; they must be one of these.");
    m.refuses(rope::mxfp4(m.u8(kDim / 2), m.scale(2)),
              "has scales that are not unsigned char, the only type that the format has.");
    m.refuses(rope::mxfp4(m.u8(kDim / 2), rope::given(m.u8(2))),
              "has given scales; those of mxfp4 that are bytes must be made.");
    m.refuses(rope::uint8(m.u8(kDim), m.scale(1), Memory::view(m.codes, 1)),
              "has zeros that are not float, half, bfloat16 or unsigned char; they must be one of these.");
    m.refuses(rope::int8(m.i8(), m.scale(1), m.u8(1)),
              "has zeros that are not float, half, bfloat16 or signed char; they must be one of these.");
    m.refuses(rope::int8(m.i8(), rope::q8_0(m.u8(68))),
              "has a format of what has a format already; codes, scales and zeros are views or pages.");
}

TEST_CASE("what is given") {
    Memory m;
    const float infinity = std::numeric_limits<float>::infinity();
    m.refuses(rope::int8(m.i8(), 0.0f), "has scale 0; it must be finite and above 0.");
    m.refuses(rope::int8(m.i8(), -2), "has scale -2; it must be finite and above 0.");
    m.refuses(rope::int8(m.i8(), infinity), "has scale inf; it must be finite and above 0.");
    m.refuses(rope::nvfp4(m.u8(kDim / 2), m.u8(4), -1.0f), "has scale -1; it must be finite and above 0.");
    m.refuses(rope::uint8(m.u8(kDim), 0.5f, 256), "has zero 256; as a code of uint8 it must be from 0 to 255.");
    m.refuses(rope::int4(m.u8(kDim / 2), 0.5f, -9), "has zero -9; as a code of int4 it must be from -8 to 7.");
    m.refuses(rope::uint8(m.u8(kDim), 0.5f, -infinity), "has zero -inf; it must be finite.");
    m.refuses(rope::uint8(m.u8(kDim), 0.5f, m.zero(1)),
              "has given scales and made zeros; both must be made, or both given.");
    m.refuses(rope::uint8(m.u8(kDim), m.scale(1), 7),
              "has made scales and given zeros; both must be made, or both given.");
    const std::vector<float> few(3, 1.0f), heads(3, 1.0f);
    const std::vector<float> of_heads(4, 1.0f);  // a divisor of the features
    m.refuses(rope::int8(m.i8(), rope::given(few)),
              "has given scales in a container of 3; it must have one for each feature (64). For heads or groups "
              "give a view.");
    m.refuses(rope::int8(m.i8(), rope::given(of_heads)),
              "has given scales in a container of 4; it must have one for each feature (64). For heads or groups "
              "give a view.");
    m.refuses(rope::int8(m.i8(), rope::zero_points(m.scale(1))),
              "has rope::zero_points where its scales stand; these are for zeros.");
    m.refuses(rope::int8(m.i8(), rope::given(rope::view(heads.data(), 1, 3, 1))),
              "has given scales with an extent of 3 along heads; it must be 1 or that of the heads (2).");
    const auto of_nothing = rope::given(rope::view(static_cast<const float*>(nullptr), 1, kHeads, 1));
    const auto pass = [&] { rope::pass(rope::heads(Memory::view(m.x, kDim)).to(rope::int8(m.i8(), of_nothing))); };
    CHECK(support::refusal(pass).message == "scales.data is null; a view of 2 elements needs memory to point to.");
}

TEST_CASE("what is written shares nothing with what is given") {
    Memory m;
    std::vector<float> both(1024, 1.0f);
    auto* const codes = reinterpret_cast<signed char*>(both.data());
    const auto pass = [&](const rope::Destination& to) { rope::pass(rope::heads(Memory::view(m.x, kDim)).to(to)); };
    const auto to = rope::int8(rope::view(codes, kSeq, kHeads, kDim), rope::given(rope::view(both.data(), 1, 1, kDim)));
    CHECK(
        support::refusal([&] { pass(to); }).message ==
        "destination of path 1 and the given scales or zeros of path 1 may share elements; they must be shown to share "
        "none.");
    CHECK(both == std::vector<float>(1024, 1.0f));
}
