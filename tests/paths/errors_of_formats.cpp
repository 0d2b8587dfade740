// SPDX-License-Identifier: MIT
// The errors that guide/formats.md states: relative L2, of normal numbers in heads of 128, and of the same with one feature in
// 32 ten times as large.
#include <rope/heads.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using support::size;

namespace {

constexpr Index kHeads = 4000, kDim = 128;

struct Errors {
    double normal, with_outliers;
};
Errors errors(const rope::Destination& to) {
    double result[2];
    for (const bool has_outliers : {false, true}) {
        std::vector<float> x = support::normal<float>(kHeads * kDim, 11), back(x.size());
        for (std::size_t i = 5; has_outliers && i < x.size(); i += 32) x[i] *= 10.0f;
        rope::pass(rope::heads(rope::view(x.data(), 1, kHeads, kDim)).to(to));
        rope::dequantise(to, rope::view(back.data(), 1, kHeads, kDim));
        double of_error = 0.0, of_all = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double difference = static_cast<double>(back[i]) - static_cast<double>(x[i]);
            of_error += difference * difference;
            of_all += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        }
        result[has_outliers ? 1 : 0] = 100.0 * std::sqrt(of_error / of_all);
    }
    return {result[0], result[1]};
}

}  // namespace

TEST_CASE("errors of formats are those of the page") {
    std::vector<signed char> codes(size(kHeads * kDim));
    std::vector<unsigned char> bytes(2 * codes.size()), scale_bytes(size(kHeads * 8));
    std::vector<float> scales(size(kHeads * 8)), zeros = scales;
    const auto view = [](auto& memory, Index width) { return rope::view(memory.data(), 1, kHeads, width); };
    struct Case {
        const char* name;
        rope::Destination to;
        double normal, with_outliers;  // in percent
    };
    const Case cases[] = {
        {"int8", rope::int8(view(codes, kDim), view(scales, 1)), 0.648, 1.76},
        {"int8, groups of 32", rope::int8(view(codes, kDim), view(scales, 4)), 0.534, 1.11},
        {"uint8", rope::uint8(view(bytes, kDim), view(scales, 1), view(zeros, 1)), 0.587, 1.28},
        {"int4", rope::int4(view(bytes, kDim / 2), view(scales, 1)), 11.7, 30.0},
        {"int4, groups of 32", rope::int4(view(bytes, kDim / 2), view(scales, 4)), 9.71, 19.3},
        {"uint4", rope::uint4(view(bytes, kDim / 2), view(scales, 1), view(zeros, 1)), 9.99, 21.8},
        {"uint4, groups of 32", rope::uint4(view(bytes, kDim / 2), view(scales, 4), view(zeros, 4)), 7.81, 10.9},
        {"fp8_e4m3", rope::fp8_e4m3(view(bytes, kDim), view(scales, 1)), 2.57, 1.91},
        {"fp8_e5m2", rope::fp8_e5m2(view(bytes, kDim)), 5.28, 5.23},
        {"mxfp4", rope::mxfp4(view(bytes, kDim / 2), view(scale_bytes, 4)), 11.5, 17.4},
        {"nvfp4", rope::nvfp4(view(bytes, kDim / 2), view(scale_bytes, 8), 0.02f), 9.52, 9.28},
        {"q8_0", rope::q8_0(view(bytes, kDim / 32 * 34)), 0.535, 1.11},
        {"q5_1", rope::q5_1(view(bytes, kDim / 32 * 24)), 3.79, 5.25},
        {"q5_0", rope::q5_0(view(bytes, kDim / 32 * 22)), 4.27, 8.81},
        {"q4_1", rope::q4_1(view(bytes, kDim / 32 * 20)), 7.81, 10.9},
        {"q4_0", rope::q4_0(view(bytes, kDim / 32 * 18)), 8.6, 17.2},
        {"iq4_nl", rope::iq4_nl(view(bytes, kDim / 32 * 18)), 7.88, 12.9},
        {"ggml's mxfp4", rope::mxfp4(view(bytes, kDim / 32 * 17)), 11.5, 17.4},
    };
    for (const Case& c : cases) {
        const Errors got = errors(c.to);
        CAPTURE(c.name, got.normal, got.with_outliers);
        CHECK(std::fabs(got.normal / c.normal - 1.0) < 0.03);
        CHECK(std::fabs(got.with_outliers / c.with_outliers - 1.0) < 0.03);
    }
}
