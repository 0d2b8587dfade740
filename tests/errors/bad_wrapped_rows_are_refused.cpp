// SPDX-License-Identifier: MIT
// Cos and sin that others made, in a form that cannot be read, are refused by check, by WrappedRows and by copy_cos_sin,
// and nothing is written.
#include <rope/core.hpp>
#include <rope/wrapped_rows.hpp>

#include <limits>
#include <string>
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
