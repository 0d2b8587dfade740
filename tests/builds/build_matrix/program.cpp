// SPDX-License-Identifier: MIT
// Some results by every kind of call, as an exit status. Compiled in many ways by build_matrix.cmake.
#include <rope/core.hpp>
#ifdef ROPE_TEST_EIGEN
#    include <rope/rope.hpp>
#endif

#include <cstddef>
#include <vector>

namespace {

bool is_near(double x, double wanted) { return x - wanted < 1e-6 && wanted - x < 1e-6; }

template <class T, rope::Layout layout>
bool turns_right(const rope::CosSinCache<T>& cache) {
    std::vector<T> x(3 * 2 * 4, T(1)), y(x.size());
    const auto in = rope::view(x.data(), 3, 2, 4), out = rope::view(y.data(), 3, 2, 4);
    rope::apply_copy<layout>(in, out, cache);
    // Token 1, pair 0 turns by one radian: cos 1 - sin 1 and cos 1 + sin 1. Token 0 does not turn.
    const std::size_t b = layout == rope::Layout::interleaved ? 9 : 10;
    const bool is_right = is_near(static_cast<double>(y[0]), 1.0) &&
                          is_near(static_cast<double>(y[8]), -0.3011686789) &&
                          is_near(static_cast<double>(y[b]), 1.3817732907);
    rope::apply_inverse<layout>(out, cache);
    bool is_back = true;
    for (const T value : y) is_back = is_back && is_near(static_cast<double>(value), 1.0);
    return is_right && is_back && !rope::check(in, cache, rope::start_at(100)).ok();
}

}  // namespace

// Another source of a unity build has a function of its own.
bool all_turn_right();
bool all_turn_right() {
    rope::Config config;
    config.head_dim = 4;
    const rope::CosSinCache<float> single(config, 100);
    const rope::CosSinCache<double> twice(config, 100);
    bool is_right =
        turns_right<float, rope::Layout::half_split>(single) && turns_right<double, rope::Layout::interleaved>(twice);
#ifdef ROPE_TEST_EIGEN
    Eigen::MatrixXf matrix = Eigen::MatrixXf::Ones(2, 4);
    rope::apply<rope::Layout::half_split>(rope::view(matrix, 1), single);
    is_right = is_right && is_near(static_cast<double>(matrix(1, 0)), -0.3011686789);
#endif
    return is_right;
}

int main() { return all_turn_right() ? 0 : 1; }
