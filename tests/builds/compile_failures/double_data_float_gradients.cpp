// SPDX-License-Identifier: MIT
// expect: double data needs a table of double
#include <rope/gradients.hpp>

void user(double* q, const rope::CosSinCache<float>& cache, const rope::TensorView<double>& angles) {
    rope::add_angle_gradients<rope::Layout::half_split>(rope::view(q, 1, 1, 8), rope::view(q, 1, 1, 8), cache, angles);
}
