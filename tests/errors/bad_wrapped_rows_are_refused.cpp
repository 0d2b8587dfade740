// SPDX-License-Identifier: MIT
// Cos and sin that others made, in a form that cannot be read, or in rows of full width whose copies are none, are refused
// by check, by WrappedRows and by copy_cos_sin, and nothing is written.
#include <rope/core.hpp>
#include <rope/wrapped_rows.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::CosSinView;
using rope::Index;
using rope::Layout;
using rope::WrappedRows;
using support::refusal;

TEST_CASE("what cannot be read is refused") {
    std::vector<float> x(8 * 8, 0.5f), memory(128, 77.0f);
    const std::vector<float> before = memory;
    const float* const cos = x.data();
    const float* const sin = x.data() + 32;
    const std::string fine = "(accepted)";
    // Said by check, by the constructor and by the copy alike.
    const auto says = [&](const CosSinView<float>& view) {
        const std::string text = refusal([&] { WrappedRows<float> rows(view); }).message;
        const support::Refusal copy = refusal([&] { rope::copy_cos_sin(view, memory.data()); });
        CHECK(copy.message == text);
        CHECK(copy.code == (text == fine ? rope::StatusCode::ok : rope::StatusCode::invalid_argument));
        CHECK((rope::check(view).ok() ? fine : rope::check(view).message()) == text);
        CHECK((text == fine || memory == before));
        return text;
    };
    CHECK(says({cos, sin, 4, 0}) == "pairs is 0; it must be from 1 to 524288.");
    CHECK(says({cos, sin, 4, 524289}) == "pairs is 524289; it must be from 1 to 524288.");
    CHECK(says({cos, sin, -1, 4}) == "rows is -1; it must not be negative.");
    CHECK(says({cos, sin, 4, 4, 0}) == "batch is 0; it must be at least 1.");
    for (const Index stride : {Index(0), Index(-1), std::numeric_limits<Index>::max()})
        CHECK(says({cos, sin, 4, 4, 1, 0, stride}) ==
              "pair_stride is " + std::to_string(stride) + "; it must be at least 1, and a row must fit into memory.");
    for (const Index stride : {3, 1, -1, -8})
        CHECK(says({cos, sin, 4, 4, 1, stride}) == "row_stride is " + std::to_string(stride) +
                                                       "; a row of 4 pairs with pair_stride 1 needs at least 4, and 0 "
                                                       "stands for pairs * pair_stride.");
    CHECK(says({cos, sin, 4, 4, 1, 6, 2}).find("pair_stride 2 needs at least 7,") != std::string::npos);
    const Index most = std::numeric_limits<Index>::max();
    const std::string memory_can_hold =
        "; together they must not exceed what memory can hold (288230376151711743 numbers).";
    const std::string m = std::to_string(most);
    CHECK(says({cos, sin, most, 4}) == "batch is 1, rows is " + m + " and row_stride is 4" + memory_can_hold);
    CHECK(says({cos, sin, 4, 4, most}) == "batch is " + m + ", rows is 4 and row_stride is 4" + memory_can_hold);
    CHECK(says({cos, sin, 4, 4, 1, most}) == "batch is 1, rows is 4 and row_stride is " + m + memory_can_hold);
    CHECK(says({nullptr, sin, 4, 4}) == "cos is a null pointer; it must point to 4 rows.");
    CHECK(says({cos, nullptr, 4, 4, 2}) == "sin is a null pointer; it must point to 8 rows.");

    // Nothing there, nothing needed.
    CHECK(says({nullptr, nullptr, 0, 4}) == fine);
    const WrappedRows<float> none(CosSinView<float>{nullptr, nullptr, 0, 4});
    rope::apply<Layout::half_split>(rope::view(x.data(), 0, 1, 8), none);
    CHECK(refusal([&] { rope::apply<Layout::half_split>(rope::view(x.data(), 1, 1, 8), none); }).code ==
          rope::StatusCode::out_of_range);

    // Of wrapping alone.
    const auto wrap = [](const CosSinView<float>& view, rope::HeadSlice slice, double factor) {
        return refusal([&] { WrappedRows<float> rows(view, slice, factor); }).message;
    };
    const CosSinView<float> good = {cos, sin, 4, 4};
    CHECK(wrap({cos, sin, 4, 4, 1, 8, 2}, {}, 1.0) ==
          "pair_stride is 2; rows are wrapped where it is 1, and copied by copy_cos_sin elsewhere.");
    CHECK(wrap(good, {12, 4}, 1.0) == fine);
    CHECK(wrap(good, {6, 0}, 1.0).find("head_dim is 6; it must be at least 8, the features that 4 pairs of") == 0);
    CHECK(wrap(good, {12, 5}, 1.0) ==
          "rotary_offset is 5; it must be from 0 to 4, so that 8 rotated features fit into head_dim (12).");
    CHECK(wrap(good, {}, 0.0) == "attention_factor is 0; it must be from 2^-32 to 2^32.");
    CHECK(wrap(good, {}, support::nan_value()).find("attention_factor is ") == 0);

    // Of copying alone: as long as `to` and a table share a byte.
    std::vector<float> all(16 + 32 + 16, 77.0f);
    const auto copy = [&](const float* from, float* to) {
        return refusal([&] { rope::copy_cos_sin(CosSinView<float>{from, sin, 4, 4}, to); }).message;
    };
    CHECK(copy(cos, nullptr) == "to is a null pointer; it must have room for 32 numbers.");
    const std::string overlap = "to overlaps the cosines; its 128 bytes must lie apart from what is copied.";
    const std::vector<float> untouched = all;
    CHECK(copy(all.data() + 1, all.data() + 16) == overlap);
    CHECK(copy(all.data() + 16 + 31, all.data() + 16) == overlap);
    CHECK(copy(all.data() + 16, all.data() + 16) == overlap);
    CHECK(refusal([&] {
              rope::copy_cos_sin(CosSinView<float>{cos, all.data() + 9, 4, 4}, all.data() + 16);
          }).message == "to overlaps the sines; its 128 bytes must lie apart from what is copied.");
    CHECK(all == untouched);
    CHECK(copy(all.data(), all.data() + 16) == fine);
    CHECK(copy(all.data() + 16 + 32, all.data() + 16) == fine);
}

namespace {

/// A table of full width, [2, 3, 2P] each, all of whose copies are equal: halves repeated, or neighbours.
template <class Number>
struct FullWidth {
    static constexpr Index kBatch = 2, kRows = 3, kPairs = 5, kWidth = 2 * kPairs;
    explicit FullWidth(bool has_halves)
        : pair_stride(has_halves ? 1 : 2), copy(has_halves ? kPairs : 1), cos(support::size(kBatch * kRows * kWidth)) {
        for (Index row = 0; row < kBatch * kRows; ++row)
            for (Index i = 0; i < kPairs; ++i) {
                const double angle = static_cast<double>(row) * std::pow(0.1, static_cast<double>(i));
                for (const Index k : {place(row, i), place(row, i) + copy}) {
                    cos[support::size(k)] = support::from_double<Number>(std::cos(angle));
                    sin[support::size(k)] = support::from_double<Number>(std::sin(angle));
                }
            }
    }
    Index place(Index row, Index pair) const { return row * kWidth + pair * pair_stride; }
    CosSinView<Number> view() const { return {cos.data(), sin.data(), kRows, kPairs, kBatch, kWidth, pair_stride}; }
    const Index pair_stride, copy;
    std::vector<Number> cos, sin = cos;
};

/// What copy_cos_sin says, and check alike; where it can be wrapped, WrappedRows, too.
template <class Number>
std::string said_of(const CosSinView<Number>& view) {
    using T = std::conditional_t<std::is_same_v<Number, double>, double, float>;
    std::vector<T> memory(support::size(view.batch * view.rows * 2 * view.pairs), T(77));
    const std::vector<T> before = memory;
    const std::string text = refusal([&] { rope::copy_cos_sin(view, memory.data()); }).message;
    CHECK((text == "(accepted)") != (memory == before));
    CHECK((rope::check(view).ok() ? "(accepted)" : rope::check(view).message()) == text);
    if constexpr (std::is_same_v<Number, T>)
        if (view.pair_stride == 1) CHECK(refusal([&] { WrappedRows<T> rows(view); }).message == text);
    return text;
}

}  // namespace

TEST_CASE("rows of an image in the first half of a table, columns in the second") {
    const float cos[4] = {std::cos(1.0f), 1.0f, std::cos(2.0f), 1.0f},
                sin[4] = {std::sin(1.0f), 0.0f, std::sin(2.0f), 0.0f};
    CHECK(said_of(CosSinView<float>{cos, sin, 1, 2, 1, 4}) ==
          "cos has 0.5403022766113281 and -0.416146844625473 for pair 0 of row 0 in batch entry 0 (numbers 0 and 2 of "
          "4); "
          "both features of a pair rotate by one angle, so they must be equal. If rows are c0 c0 c1 c1 ..., set "
          "pair_stride 2; "
          "if these are no copies, compares_copies false.");
}

TEMPLATE_TEST_CASE("a copy that differs anywhere in a table of full width", "", float, double, rope::half,
                   rope::bfloat16) {
    using Table = FullWidth<TestType>;
    const std::string fine = "(accepted)";
    const auto number = [](double x) { return support::from_double<TestType>(x); };
    for (const bool has_halves : {true, false}) {
        const Table good(has_halves);
        CAPTURE(has_halves);
        REQUIRE(said_of(good.view()) == fine);
        for (Index row = 0; row < Table::kBatch * Table::kRows; ++row)
            for (Index i = 0; i < Table::kPairs; ++i)
                for (const bool is_sin : {false, true})
                    for (const bool is_first : {false, true}) {
                        CAPTURE(row, i, is_sin, is_first);
                        Table bad(has_halves);
                        std::vector<TestType>& numbers = is_sin ? bad.sin : bad.cos;
                        const Index k = bad.place(row, i);
                        TestType& x = numbers[support::size(is_first ? k : k + bad.copy)];
                        const double was = support::to_double(x);
                        x = number(was - 0.125);
                        const std::string text = said_of(bad.view());
                        CHECK(text.find(std::string(is_sin ? "sin" : "cos") + " has ") == 0);
                        CHECK(text.find(" for pair " + std::to_string(i) + " of row " + std::to_string(row % 3) +
                                        " in batch entry " + std::to_string(row / 3) + " (numbers " +
                                        std::to_string(k % 10) + " and " + std::to_string(k % 10 + bad.copy) +
                                        " of 10); both features of a pair rotate by one angle") != std::string::npos);
                        CHECK(text.find(has_halves ? "If rows are c0 c0 c1 c1 ..., set pair_stride 2;"
                                                   : "If rows are c0 c1 ... c0 c1 ..., set pair_stride 1;") !=
                              std::string::npos);
                        // A NaN is no copy of a number.
                        x = number(support::nan_value());
                        CHECK(said_of(bad.view()).find(" has ") == 3);
                        // Unless nothing is to be compared.
                        CosSinView<TestType> unread = bad.view();
                        unread.compares_copies = false;
                        CHECK(said_of(unread) == fine);
                    }
        // Copies of NaN, zeros of either sign, and a rounding are none of these.
        Table odd(has_halves);
        const Index last = odd.place(5, 4);
        odd.cos[0] = odd.cos[support::size(odd.copy)] = number(support::nan_value());
        odd.sin[0] = number(-0.0);
        REQUIRE(support::to_double(odd.sin[support::size(odd.copy)]) == 0.0);
        const double ulp = sizeof(TestType) == 8                  ? 0x1p-53
                           : sizeof(TestType) == 4                ? 0x1p-24
                           : std::is_same_v<TestType, rope::half> ? 0x1p-11
                                                                  : 0x1p-8;
        const double near = support::to_double(odd.cos[support::size(last)]);
        odd.cos[support::size(last)] = number(near - ulp);
        CHECK(said_of(odd.view()) == fine);
        odd.cos[support::size(last)] = number(near - 8.0 * ulp);
        CHECK(said_of(odd.view()).find("cos has ") == 0);
    }
}

TEST_CASE("rows with other numbers between those of the pairs have no copies") {
    const std::vector<float> x = support::normal<float>(200, 1);  // no two of which are equal
    const float* const data = x.data();
    CHECK(said_of(CosSinView<float>{data, data + 5, 6, 5, 1, 10}) == "(accepted)");     // cosines, then sines
    CHECK(said_of(CosSinView<float>{data + 5, data, 6, 5, 1, 10}) == "(accepted)");     // sines, then cosines
    CHECK(said_of(CosSinView<float>{data, data + 1, 6, 5, 1, 10, 2}) == "(accepted)");  // complex numbers
    CHECK(said_of(CosSinView<float>{data, data + 100, 6, 5}) == "(accepted)");
    CHECK(said_of(CosSinView<float>{data, data + 100, 6, 5, 1, 11}) == "(accepted)");
    CHECK(said_of(CosSinView<float>{data, data + 100, 6, 5, 1, 15, 3}) == "(accepted)");
    CHECK(said_of(CosSinView<float>{data, data + 60, 6, 5, 1, 10}).find("cos has ") == 0);  // one array after the other
}
