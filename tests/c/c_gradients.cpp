// SPDX-License-Identifier: MIT
// Gradients through rope.h have the bits of those of the C++ headers: of angles, magnitudes, frequencies and positions, and
// back through a norm and the rotation.
#include <rope/rope.h>
#include <rope/gradients.hpp>
#include <rope/rope.hpp>

#include <vector>

#include "c/c_interface.hpp"
#include "c/partly_rotated.hpp"

using c_test::config_in_c;
using c_test::config_in_cpp;
using c_test::expected_table;
using c_test::given_table;
using c_test::kBatch;
using c_test::kDim;
using c_test::kHeads;
using c_test::kSeq;
using c_test::kTokens;
using c_test::make;
using c_test::pass;
using rope::Index;
using rope::Layout;
using support::same_bits;
using support::size;

TEST_CASE("gradients") {
    const std::vector<float> y = support::normal<float>(kTokens * kHeads * kDim, 8),
                             g = support::normal<float>(kTokens * kHeads * kDim, 9);
    constexpr Index kPairs = 24;
    const rope_tensor t = c_test::shape<float>(kBatch, kSeq, kHeads, kDim);
    const rope_tensor of_angles = c_test::shape<double>(kBatch, kSeq, 1, kPairs);
    std::vector<double> angles(kTokens * kPairs), magnitudes = angles, angles_cpp = angles, magnitudes_cpp = angles;
    auto call = make<rope_call>();
    call.layout = ROPE_HALF_SPLIT;
    pass([&](auto... a) {
        return rope_add_angle_gradients(given_table<float>(), &call, y.data(), &t, g.data(), &t, angles.data(),
                                        &of_angles, magnitudes.data(), &of_angles, a...);
    });
    const auto view = [](auto& list) { return rope::view(list.data(), kBatch, kSeq, kHeads, kDim); };
    const auto in_cpp = rope::view(angles_cpp.data(), kBatch, kSeq, 1, kPairs);
    rope::add_angle_gradients<Layout::half_split>(view(y), view(g), expected_table<float>(), in_cpp,
                                                  rope::view(magnitudes_cpp.data(), kBatch, kSeq, 1, kPairs));
    CHECK(same_bits(angles, angles_cpp));
    CHECK(same_bits(magnitudes, magnitudes_cpp));
    pass([&](auto... a) {  // without magnitudes
        return rope_add_angle_gradients(given_table<float>(), &call, y.data(), &t, g.data(), &t, angles.data(),
                                        &of_angles, nullptr, nullptr, a...);
    });

    std::vector<double> dw(kPairs), dw_cpp(kPairs), dp(kTokens), dp_cpp(kTokens);
    const rope_tensor of_dw = c_test::shape<double>(1, 1, 1, kPairs), of_dp = c_test::shape<double>(1, kTokens, 1, 1);
    auto start = make<rope_call>();
    start.start = 4;
    pass([&](auto... a) {
        return rope_add_frequency_gradients(angles_cpp.data(), &of_angles, nullptr, &start, nullptr, dw.data(), &of_dw,
                                            a...);
    });
    rope::add_frequency_gradients(in_cpp, rope::start_at(4), rope::view(dw_cpp.data(), 1, 1, kPairs));
    CHECK(same_bits(dw, dw_cpp));
    const rope_config c = config_in_c();
    pass([&](auto... a) {
        return rope_add_position_gradients(angles_cpp.data(), &of_angles, nullptr, &c, 0, nullptr, dp.data(), &of_dp,
                                           a...);
    });
    rope::add_position_gradients(in_cpp, rope::frequencies(config_in_cpp()),
                                 rope::view(dp_cpp.data(), 1, kTokens, 1, 1));
    CHECK(same_bits(dp, dp_cpp));
    rope_config dynamic = c;
    dynamic.schedule = ROPE_DYNAMIC_NTK;
    dynamic.factor = 2.0;
    dynamic.max_position_embeddings = 64;
    rope::Config dynamic_in_cpp = config_in_cpp();
    dynamic_in_cpp.schedule = rope::schedule::DynamicNtk{2.0, 64};
    pass([&](auto... a) {
        return rope_add_position_gradients(angles_cpp.data(), &of_angles, nullptr, &dynamic, 1024, nullptr, dp.data(),
                                           &of_dp, a...);
    });
    rope::add_position_gradients(in_cpp, rope::frequencies(dynamic_in_cpp, 1024),
                                 rope::view(dp_cpp.data(), 1, kTokens, 1, 1));
    CHECK(same_bits(dp, dp_cpp));

    // Back through a norm and the rotation.
    std::vector<float> weight = support::normal<float>(kDim, 10), x = y, dx(y.size()), dx_cpp(y.size());
    const Index rows = rope_weight_gradient_rows(kBatch, kSeq);
    CHECK(rows == rope::weight_gradient_rows(kBatch, kSeq));
    std::vector<double> by_rows(size(rows * kDim)), by_rows_cpp = by_rows, sum(kDim), sum_cpp(kDim);
    auto buffer = make<rope_buffer>(), w = buffer;
    buffer.data = x.data();
    buffer.shape = &t;
    w.data = weight.data();
    auto source = make<rope_heads>();
    source.codes = &buffer;
    rope_head_step steps[] = {make<rope_head_step>(), make<rope_head_step>()};
    steps[0].kind = ROPE_RMS_NORM;
    steps[0].number = 1e-6;
    steps[0].numbers = &w;
    steps[1].kind = ROPE_ROTATE;
    auto path = make<rope_path>();
    path.source = &source;
    path.steps = steps;
    path.step_count = 2;
    const rope_tensor of_rows = c_test::shape<double>(1, rows, 1, kDim), of_sum = c_test::shape<double>(1, 1, 1, kDim);
    pass([&](auto... a) {
        return rope_pass_backward(given_table<float>(), &call, nullptr, &path, g.data(), &t, dx.data(), &t,
                                  by_rows.data(), &of_rows, a...);
    });
    rope::pass_backward<Layout::half_split>(expected_table<float>(),
                                            rope::heads(view(x)).rms_norm(weight.data(), 1e-6).rotate(), view(g),
                                            view(dx_cpp), rope::view(by_rows_cpp.data(), rows, 1, kDim));
    CHECK(same_bits(dx, dx_cpp));
    CHECK(same_bits(by_rows, by_rows_cpp));
    pass([&](auto... a) { return rope_add_row_sums(by_rows.data(), &of_rows, nullptr, sum.data(), &of_sum, a...); });
    rope::add_row_sums(rope::view(by_rows_cpp.data(), rows, 1, kDim), rope::view(sum_cpp.data(), 1, 1, kDim));
    CHECK(same_bits(sum, sum_cpp));
}
