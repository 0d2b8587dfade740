// SPDX-License-Identifier: MIT
// half and bfloat16: every one of their 65536 values widens exactly, and every float narrows to the nearest,
// ties to even; NaN stays NaN, with its sign.
#include <rope/core.hpp>
#include <rope/eigen.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

namespace {

std::uint32_t bits_of(float x) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof(x));
    return bits;
}
float float_of(std::uint32_t bits) {
    float x = 0.0f;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}

/// A 16-bit format by its numbers, and the library's conversions.
struct Half {
    static constexpr int kFractionBits = 10;
    static constexpr int kBias = 15;
    using Library = rope::half;
    using Eigen = ::Eigen::half;
    static std::uint16_t narrowed(float x) { return rope::to_half(x).bits; }
};
struct Bfloat16 {
    static constexpr int kFractionBits = 7;
    static constexpr int kBias = 127;
    using Library = rope::bfloat16;
    using Eigen = ::Eigen::bfloat16;
    static std::uint16_t narrowed(float x) { return rope::to_bfloat16(x).bits; }
};

template <class Format>
std::uint32_t widened_bits(std::uint32_t bits) {
    return bits_of(rope::to_float(typename Format::Library{static_cast<std::uint16_t>(bits)}));
}

template <class Format>
struct Magnitudes {
    static constexpr std::uint32_t kInfinity = 0x7fffu >> Format::kFractionBits << Format::kFractionBits;

    /// The value of a finite magnitude, from the definition of the format. Infinity gets the value that the
    /// next exponent would have: nearest then decides about overflow just as it does about everything else.
    static double value(std::uint32_t magnitude) {
        const std::uint32_t fraction = magnitude & ((1u << Format::kFractionBits) - 1);
        const int exponent = static_cast<int>(magnitude >> Format::kFractionBits);
        const int hidden = exponent == 0 ? 0 : 1 << Format::kFractionBits;
        const int scale = (exponent == 0 ? 1 : exponent) - Format::kBias - Format::kFractionBits;
        return std::ldexp(static_cast<double>(hidden + static_cast<int>(fraction)), scale);
    }

    /// The points halfway from each magnitude to the next one up. Doubles hold them exactly.
    static std::vector<double> halfway_up() {
        std::vector<double> points;
        for (std::uint32_t m = 0; m < kInfinity; ++m) points.push_back((value(m) + value(m + 1)) / 2);
        return points;
    }
};

/// Whether floats narrow as they should, by the meaning of nearest: the result's neighbours are no nearer,
/// and a tie goes to the even one.
template <class Format>
class NarrowingCheck {
 public:
    using M = Magnitudes<Format>;

    void add(std::uint32_t float_bits) {
        const std::uint32_t result = Format::narrowed(float_of(float_bits));
        const std::uint32_t magnitude = result & 0x7fffu;
        const bool sign_kept = result >> 15 == float_bits >> 31;
        ++count_;
        if (sign_kept && right(float_bits & 0x7fffffffu, magnitude)) return;
        if (wrong_++ == 0) first_wrong_ = float_bits;
    }

    void check() const {
        INFO("first wrong float: 0x" << std::hex << first_wrong_);
        CHECK(count_ > 0);
        CHECK(wrong_ == 0);
    }

 private:
    bool right(std::uint32_t x_bits, std::uint32_t magnitude) const {
        if (x_bits > 0x7f800000u) {  // NaN: quiet, with the upper payload
            const std::uint32_t payload = x_bits >> (23 - Format::kFractionBits);
            const std::uint32_t mask = (1u << Format::kFractionBits) - 1;
            const std::uint32_t quiet = 1u << (Format::kFractionBits - 1);
            return magnitude == (M::kInfinity | quiet | (payload & mask));
        }
        if (x_bits == 0x7f800000u) return magnitude == M::kInfinity;
        if (magnitude > M::kInfinity) return false;
        const double x = static_cast<double>(float_of(x_bits));
        const bool even = magnitude % 2 == 0;
        if (magnitude > 0) {
            const double below = halfway_up_[magnitude - 1];
            if (x < below || (x == below && !even)) return false;
        }
        if (magnitude < M::kInfinity) {
            const double above = halfway_up_[magnitude];
            if (x > above || (x == above && !even)) return false;
        }
        return true;
    }

    std::vector<double> halfway_up_ = M::halfway_up();
    std::uint64_t count_ = 0;
    std::uint64_t wrong_ = 0;
    std::uint32_t first_wrong_ = 0;
};

/// Calls f with each of the 65536 patterns.
template <class F>
void for_all_patterns(F f) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) f(bits);
}

template <class Format>
bool is_finite(std::uint32_t bits) {
    return (bits & 0x7fffu) < Magnitudes<Format>::kInfinity;
}

}  // namespace

TEMPLATE_TEST_CASE("every 16-bit value widens exactly", "", Half, Bfloat16) {
    int wrong = 0;
    for_all_patterns([&](std::uint32_t bits) {
        const std::uint32_t wide = widened_bits<TestType>(bits);
        const std::uint32_t magnitude = bits & 0x7fffu;
        const std::uint32_t sign = bits >> 15 << 31;
        std::uint32_t expected = sign | 0x7f800000u;
        if (is_finite<TestType>(bits))
            expected = sign | bits_of(static_cast<float>(Magnitudes<TestType>::value(magnitude)));
        else  // infinity, or NaN with all of its payload
            expected |= (magnitude & ((1u << TestType::kFractionBits) - 1)) << (23 - TestType::kFractionBits);
        if (wide != expected) ++wrong;
    });
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("widening and narrowing again gives every 16-bit value back", "", Half, Bfloat16) {
    int wrong = 0;
    for_all_patterns([&](std::uint32_t bits) {
        const std::uint32_t quiet = 1u << (TestType::kFractionBits - 1);
        const bool nan = (bits & 0x7fffu) > Magnitudes<TestType>::kInfinity;
        const std::uint32_t expected = nan ? bits | quiet : bits;
        if (TestType::narrowed(float_of(widened_bits<TestType>(bits))) != expected) ++wrong;
    });
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("floats narrow to the nearest, ties to even, around every possible tie", "", Half, Bfloat16) {
    NarrowingCheck<TestType> check;
    std::mt19937 random(16);
    for (std::uint32_t exponent = 0; exponent < 512; ++exponent) {  // signs included
        const std::uint32_t high = exponent << 23;
        for (const std::uint32_t fraction : {0u, 1u, 0x7fffffu, 0x7ffffeu}) check.add(high | fraction);
        // The lowest bit set and all below it clear is a tie in the subnormal range at some exponent, for
        // every place of that bit.
        for (int place = 0; place < 23; ++place)
            for (int n = 0; n < 100; ++n) {
                const std::uint32_t upper = static_cast<std::uint32_t>(random()) << place << 1;
                const std::uint32_t tie = (upper | 1u << place) & 0x7fffffu;
                check.add(high | tie);
                check.add((high | tie) - 1);
                check.add((high | tie) + 1);
            }
        // All ties of the normal range.
        const int dropped = 23 - TestType::kFractionBits;
        for (std::uint32_t kept = 0; kept < 1u << TestType::kFractionBits; ++kept)
            for (const std::uint32_t rest : {0u, 1u, (1u << (dropped - 1)) - 1, 1u << (dropped - 1),
                                             (1u << (dropped - 1)) + 1, (1u << dropped) - 1})
                check.add(high | kept << dropped | rest);
    }
    check.check();
}

TEMPLATE_TEST_CASE("floats narrow to the nearest, at random bit patterns", "", Half, Bfloat16) {
    NarrowingCheck<TestType> check;
    std::mt19937 random(65519);
    for (int n = 0; n < 10000000; ++n) check.add(static_cast<std::uint32_t>(random()));
    check.check();
}

TEST_CASE("narrowing has the values that standards and papers print") {
    const auto half = [](float x) { return rope::to_half(x).bits; };
    const auto bfloat16 = [](float x) { return rope::to_bfloat16(x).bits; };
    CHECK(half(1.0f) == 0x3c00);
    CHECK(half(-2.0f) == 0xc000);
    CHECK(half(65504.0f) == 0x7bff);
    CHECK(half(float_of(0x477fefff)) == 0x7bff);  // the last float below 65520
    CHECK(half(65520.0f) == 0x7c00);
    CHECK(half(-65520.0f) == 0xfc00);
    CHECK(half(0x1p-24f) == 0x0001);
    CHECK(half(0x1p-25f) == 0x0000);
    CHECK(half(float_of(0x33000001)) == 0x0001);  // the first float above 2^-25
    CHECK(half(-0.0f) == 0x8000);
    CHECK(half(0x1.ffcp-15f) == 0x0400);  // the tie between the last subnormal and the first normal half
    CHECK(bfloat16(1.0f) == 0x3f80);
    CHECK(bfloat16(float_of(0x3f808000)) == 0x3f80);
    CHECK(bfloat16(float_of(0x3f818000)) == 0x3f82);
    CHECK(bfloat16(float_of(0x7f7f7fff)) == 0x7f7f);
    CHECK(bfloat16(float_of(0x7f7f8000)) == 0x7f80);
    CHECK(bfloat16(float_of(0xff7fffff)) == 0xff80);
    CHECK(bfloat16(-0.0f) == 0x8000);
    CHECK(bfloat16(float_of(0x00000001)) == 0x0000);
}

TEMPLATE_TEST_CASE("finite values agree with Eigen's types", "", Half, Bfloat16) {
    using Theirs = typename TestType::Eigen;
    int wrong = 0;
    for_all_patterns([&](std::uint32_t bits) {
        if (!is_finite<TestType>(bits)) return;
        const auto short_bits = static_cast<std::uint16_t>(bits);
        Theirs theirs;
        std::memcpy(static_cast<void*>(&theirs), &short_bits, sizeof(theirs));
        if (bits_of(static_cast<float>(theirs)) != widened_bits<TestType>(bits)) ++wrong;
    });
    CHECK(wrong == 0);

    std::mt19937 random(34);
    for (int n = 0; n < 1000000; ++n) {
        const std::uint32_t bits = static_cast<std::uint32_t>(random());
        if ((bits & 0x7f800000u) == 0x7f800000u) continue;
        const Theirs theirs(float_of(bits));
        std::uint16_t short_bits = 0;
        std::memcpy(&short_bits, &theirs, sizeof(theirs));
        if (short_bits != TestType::narrowed(float_of(bits))) ++wrong;
    }
    CHECK(wrong == 0);
}

namespace {

/// q turned in place and copied from one storage order to another, as data of type X with the given bits.
template <class X>
std::vector<std::uint16_t> turned(const std::vector<std::uint16_t>& bits, rope::Layout layout) {
    constexpr rope::Index seq = 40, heads = 3, dim = 24;
    rope::Config config;
    config.head_dim = dim;
    config.rotary_dim = 20;
    const rope::CosSinCache<float> cache(config, 100);
    std::vector<X> x(bits.size()), y(bits.size());
    std::memcpy(static_cast<void*>(x.data()), bits.data(), bits.size() * 2);
    const rope::TensorView<X> v = rope::view(x, seq, heads, dim);
    const rope::TensorView<X> columns = {y.data(), 1, seq, heads, dim, 0, 1, seq * dim, seq};
    rope::apply(layout, v, cache, rope::start_at(7));
    rope::apply_copy(layout, v, columns, cache, rope::start_at(9));
    rope::apply(layout, columns.slice_tokens(3, 21), cache);
    std::vector<std::uint16_t> result(2 * bits.size());
    std::memcpy(result.data(), x.data(), bits.size() * 2);
    std::memcpy(result.data() + bits.size(), y.data(), bits.size() * 2);
    return result;
}

template <class X, class Library>
void has_the_bits_of() {
    static_assert(std::is_same_v<typename rope::ElementTraits<X>::storage, Library>, "");
    std::mt19937 engine(5);
    std::vector<std::uint16_t> bits(40 * 3 * 24);
    // From 2^-8 to 2^8 in either format, of either sign.
    for (std::uint16_t& b : bits) b = static_cast<std::uint16_t>((engine() & 0x87ffu) | 0x3800u);
    for (const rope::Layout layout : {rope::Layout::interleaved, rope::Layout::half_split})
        CHECK(turned<X>(bits, layout) == turned<Library>(bits, layout));
}

/// A type of the caller's own.
struct Own {
    std::uint16_t bits;
};

}  // namespace

template <>
struct rope::ElementTraits<Own> {
    using storage = rope::bfloat16;
};

TEST_CASE("data of other types with these bits gives the same bits") {
    has_the_bits_of<Own, rope::bfloat16>();
    has_the_bits_of<Eigen::half, rope::half>();
#if defined(__FLT16_MANT_DIG__) && (defined(__clang__) || __GNUC__ > 12 || defined(__SSE2__))
    has_the_bits_of<_Float16, rope::half>();
#endif
#if defined(__BFLT16_MANT_DIG__)
    has_the_bits_of<__bf16, rope::bfloat16>();
#endif
#if defined(__STDCPP_FLOAT16_T__)
    has_the_bits_of<decltype(0.0f16), rope::half>();
#endif
#if defined(__STDCPP_BFLOAT16_T__)
    has_the_bits_of<decltype(0.0bf16), rope::bfloat16>();
#endif
    std::uint16_t bits[4] = {0x3c00, 0, 0, 0};
    const std::uint16_t* const same = bits;
    CHECK(rope::as_half(bits) == static_cast<void*>(bits));
    CHECK(rope::as_bfloat16(same) == static_cast<const void*>(bits));
}
