// SPDX-License-Identifier: MIT
// Every operation, element type, layout, head_dim and slice gives what the dense rotation matrix gives,
// within the error that <rope/apply.hpp> states.
#include <rope/rope.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/oracle.hpp"

using rope::Index;
using rope::Layout;
using support::Operation;

namespace {

/// 1, a prime, around a power of two, large: every kind of angle.
const std::vector<Index> kPositions = {0, 1, 2, 17, 255, 256, 4095, 20011};

struct Shape {
    Index head_dim, rotary_dim, rotary_offset;
};

std::vector<Shape> shapes() {
    std::vector<Shape> list;
    for (const Index d : {2, 4, 6, 8, 10, 14, 18, 30, 34, 62, 64, 66, 80, 94, 96, 98, 128, 130, 256, 258})
        list.push_back({d, d, 0});
    for (const Index d : {20, 96, 128}) {
        list.push_back({d, 8, 0});          // leading
        list.push_back({d, d - 6, 6});      // trailing
        list.push_back({d, d / 2, d / 4});  // middle
    }
    list.push_back({9, 8, 1});       // an odd head
    list.push_back({600, 520, 40});  // longer than the buffer that scaled rows go through
    return list;
}

template <class Out, class In, class Table>
double run(Operation operation, Layout layout, const rope::TensorView<In>& in, const rope::TensorView<Out>& out,
           const rope::CosSinCache<Table>& cache) {
    const auto before = support::normal<In>(in.batch * in.seq * in.heads * in.head_dim, 7);
    std::copy(before.begin(), before.end(), in.data);
    const bool in_place = static_cast<const void*>(in.data) == static_cast<const void*>(out.data);
    switch (operation) {
        case Operation::apply:
            in_place ? rope::apply(layout, out, cache, kPositions)
                     : rope::apply_copy(layout, in, out, cache, kPositions);
            break;
        case Operation::inverse:
            in_place ? rope::apply_inverse(layout, out, cache, kPositions)
                     : rope::apply_inverse_copy(layout, in, out, cache, kPositions);
            break;
        case Operation::transpose:
            in_place ? rope::apply_transpose(layout, out, cache, kPositions)
                     : rope::apply_transpose_copy(layout, in, out, cache, kPositions);
            break;
    }
    rope::TensorView<const In> original = in;
    original.data = before.data();
    const auto read = [&](Index b, Index s, Index h, Index j) { return support::to_double(original(b, s, h, j)); };
    const rope::HeadSlice slice{cache.head_dim(), cache.rotary_offset()};
    rope::Config config;
    config.head_dim = cache.rotary_dim();
    rope::Frequencies f = rope::frequencies(config);
    f.attention_factor = cache.attention_factor();
    return support::worst_over_bound(out, read, layout, f, slice, kPositions, operation);
}

template <class In, class Out>
void check_grid() {
    using Table = support::TableOf<In>;
    double worst = 0.0;
    int cases = 0;
    for (const Shape shape : shapes())
        for (const double m : {1.0, 1.25}) {
            rope::Config config;
            config.head_dim = shape.head_dim;
            config.rotary_dim = shape.rotary_dim;
            config.rotary_offset = shape.rotary_offset;
            config.attention_factor = m;
            const rope::CosSinCache<Table> cache(config, 20012);
            const Index seq = static_cast<Index>(kPositions.size());
            const Index heads = 3;
            std::vector<In> in(support::size(seq * heads * shape.head_dim));
            std::vector<Out> out(in.size());
            const auto in_view = rope::view(in.data(), seq, heads, shape.head_dim);
            const auto out_view = rope::view(out.data(), seq, heads, shape.head_dim);
            for (const Layout layout : {Layout::interleaved, Layout::half_split})
                for (const Operation op : {Operation::apply, Operation::inverse, Operation::transpose}) {
                    CAPTURE(shape.head_dim, shape.rotary_dim, shape.rotary_offset, m, int(layout), int(op));
                    const double ratio = run(op, layout, in_view, out_view, cache);
                    REQUIRE(ratio <= 1.0);
                    worst = std::fmax(worst, ratio);
                    ++cases;
                    if constexpr (std::is_same_v<In, Out>) {
                        REQUIRE(run(op, layout, in_view, in_view, cache) <= 1.0);
                        ++cases;
                    }
                }
        }
    // Were the bound never approached, it would test nothing.
    CAPTURE(worst);
    CHECK(worst > 0.2);
    WARN(cases << " cases; the worst error is " << worst << " of its bound");
}

}  // namespace

TEMPLATE_TEST_CASE("in place and out of place, one type", "", float, double, rope::half, rope::bfloat16) {
    check_grid<TestType, TestType>();
}

TEST_CASE("out of place into another type") {
    check_grid<float, rope::half>();
    check_grid<float, rope::bfloat16>();
    check_grid<rope::half, float>();
    check_grid<rope::bfloat16, float>();
    check_grid<rope::half, rope::bfloat16>();
    check_grid<rope::bfloat16, rope::half>();
}

TEST_CASE("the interpolation factor divides the position") {
    rope::Config config;
    config.head_dim = 64;
    config.interpolation_factor = 4.0;
    const rope::CosSinCache<float> cache(config, 4096);
    rope::Config plain = config;
    plain.interpolation_factor = 1.0;
    const rope::CosSinCache<float> reference(plain, 1024);
    for (Index p = 0; p < 4096; p += 4)
        for (Index i = 0; i < 32; ++i) {
            // Dividing by a power of two is exact, so the two tables agree bit for bit.
            REQUIRE(cache.cos_row(p)[i] == reference.cos_row(p / 4)[i]);
            REQUIRE(cache.sin_row(p)[i] == reference.sin_row(p / 4)[i]);
        }
}

TEST_CASE("the three textbook forms agree with the dense matrix") {
    rope::Config config;
    config.head_dim = 20;
    config.rotary_dim = 12;
    config.rotary_offset = 4;
    config.attention_factor = 1.25;
    config.interpolation_factor = 3.0;
    const auto numbers = support::normal<double>(20, 3);
    const Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXd>(numbers.data(), 20);
    for (const Index position : {Index(0), Index(5), Index(4095), Index(-12)}) {
        const auto compare = [&](const Eigen::VectorXd& dense, const Eigen::VectorXd& y, const Eigen::VectorXd& z) {
            REQUIRE((dense - y).cwiseAbs().maxCoeff() < 1e-15);
            REQUIRE((dense - z).cwiseAbs().maxCoeff() < 1e-15);
        };
        compare(rope::reference::rotation_matrix<Layout::interleaved>(config, position) * x,
                rope::reference::rotate_complex<Layout::interleaved>(x, config, position),
                rope::reference::rotate_cos_sin<Layout::interleaved>(x, config, position));
        compare(rope::reference::rotation_matrix<Layout::half_split>(config, position) * x,
                rope::reference::rotate_complex<Layout::half_split>(x, config, position),
                rope::reference::rotate_cos_sin<Layout::half_split>(x, config, position));
    }
    // Not only with each other: by hand, pair 1 of interleaved at position 5.
    const Eigen::MatrixXd r = rope::reference::rotation_matrix<Layout::interleaved>(config, 5);
    const double t = 5.0 / 3.0 * std::pow(10000.0, -2.0 / 12.0);
    CHECK(std::fabs(r(6, 6) - 1.25 * std::cos(t)) < 1e-15);
    CHECK(std::fabs(r(7, 6) - 1.25 * std::sin(t)) < 1e-15);
    CHECK(std::fabs(r(6, 7) + 1.25 * std::sin(t)) < 1e-15);
    CHECK(r(0, 0) == 1.0);
    CHECK(r(19, 19) == 1.0);
    CHECK(r(4, 5) != 0.0);
    CHECK(r(5, 6) == 0.0);
}
