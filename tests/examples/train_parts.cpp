// SPDX-License-Identifier: MIT
// Parts of examples/train that the gradient test cannot see, since a wrong forward pass has a gradient of its own: the keys
// of a window, the sums of linear attention, the frequencies of a base; and the watch and the statistics of the tables.
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "curves.hpp"
#include "statistics.hpp"
#include "support/catch.hpp"
#include "transformer.hpp"

namespace {

using namespace train;

Matrix<double> numbers(Index rows, Index cols, std::uint64_t seed) {
    Matrix<double> x(rows, cols);
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = normal(seed, static_cast<std::uint64_t>(i));
    return x;
}

}  // namespace

TEST_CASE("in local attention a token sees the keys of its window, itself included") {
    constexpr Index kBatch = 2, kHeads = 3, kWidth = 4;
    for (const Index seq : {1, 5, 64, 70, 150})
        for (const Index window : {0, 1, 2, 5, 64, 65, 149, 150, 151}) {
            const Index tokens = kBatch * seq;
            const Matrix<double> q = numbers(tokens, kHeads * kWidth, 1), k = numbers(tokens, kHeads * kWidth, 2),
                                 v = numbers(tokens, kHeads * kWidth, 3), bias = numbers(kHeads, seq, 4);
            Matrix<double> weights(kBatch * kHeads * seq, seq), out;
            weights.setConstant(std::numeric_limits<double>::quiet_NaN());
            SoftmaxAttention<double>{kBatch, kHeads, window}.forward(q, k, v, bias, weights, out);
            double worst = 0.0;
            for (Index t = 0; t < tokens; ++t)
                for (Index h = 0; h < kHeads; ++h) {
                    const Index i = t % seq, begin = h * kWidth;
                    double sum = 0.0;
                    Eigen::RowVectorXd mixed = Eigen::RowVectorXd::Zero(kWidth);
                    for (Index j = 0; j <= i; ++j) {
                        if (window > 0 && i - j >= window) continue;
                        const Index s = t - i + j;
                        const double dot = q.row(t).segment(begin, kWidth).dot(k.row(s).segment(begin, kWidth));
                        // The last number of a head's bias is for the distance 0.
                        const double weight = std::exp(dot / std::sqrt(kWidth * 1.0) + bias(h, seq - 1 - (i - j)));
                        sum += weight;
                        mixed += weight * v.row(s).segment(begin, kWidth);
                    }
                    const Eigen::RowVectorXd right = mixed / sum;
                    worst = std::max(worst, (out.row(t).segment(begin, kWidth) - right).cwiseAbs().maxCoeff());
                }
            INFO(seq << " tokens, window " << window);
            CHECK(worst < 1e-13);
        }
}

TEST_CASE("linear attention rotates the numerator and not the denominator") {
    constexpr Index kSeq = 20, kWidth = 4;
    const Matrix<double> q = numbers(kSeq, kWidth, 1).cwiseAbs(), k = numbers(kSeq, kWidth, 2).cwiseAbs(),
                         v = numbers(kSeq, kWidth, 3);
    Shape shape;
    shape.dim = kWidth;
    shape.heads = 1;
    shape.attention = Attention::elu;
    shape.rotate_at = RotateAt::after;
    const Positions<double> positions(shape, kSeq);
    Matrix<double> rq = q, rk = k, products, denominators, out;
    positions.rotate(rq, rk, 1);
    LinearAttention<double>{1, 1}.forward(q, k, rq, rk, v, products, denominators, out);
    for (Index i = 0; i < kSeq; ++i) {
        Eigen::RowVectorXd above = Eigen::RowVectorXd::Zero(kWidth);
        double below = 0.0;
        for (Index j = 0; j <= i; ++j) {
            above += rq.row(i).dot(rk.row(j)) * v.row(j);
            below += q.row(i).dot(k.row(j));
        }
        const Eigen::RowVectorXd right = above / below;
        INFO("token " << i);
        CHECK((out.row(i) - right).cwiseAbs().maxCoeff() < 1e-13);
    }
    CHECK((rq - q).cwiseAbs().maxCoeff() > 0.1);
}

TEST_CASE("the base of the shape makes the frequencies, fixed or trained") {
    for (const Encoding encoding : {Encoding::rotary, Encoding::rotary_learned})
        for (const double base : {50.0, 10000.0, 500000.0}) {
            Shape shape;
            shape.dim = 4;
            shape.heads = 1;
            shape.encoding = encoding;
            shape.base = base;
            const WeightList list(shape);
            Weights<double> weights(list);
            weights.draw(1);
            Positions<double> positions(shape, 8);
            positions.update(weights);
            // Half-split pairs: features 0 and 2 with the frequency 1, features 1 and 3 with base^(-1/2).
            Matrix<double> q(8, 4), k(8, 4);
            q.setZero();
            q.col(1).setOnes();
            k = q;
            positions.rotate(q, k, 1);
            const double angle = 7.0 / std::sqrt(base);
            INFO("base " << base << (encoding == Encoding::rotary ? "" : ", trained"));
            CHECK(std::abs(k(7, 1) - std::cos(angle)) < 1e-12);
            CHECK(std::abs(k(7, 3) - std::sin(angle)) < 1e-12);
        }
}

TEST_CASE("the time of the rotation is that of the calls of the library, and none without rotation") {
    for (const Encoding encoding : {Encoding::none, Encoding::t5, Encoding::rotary})
        for (const bool is_gradient : {false, true}) {
            Shape shape;
            shape.dim = 8;
            shape.heads = 2;
            shape.context = 70;
            shape.encoding = encoding;
            Positions<double> positions(shape, shape.context);
            const WeightList list(shape);
            Weights<double> gradients(list);
            Matrix<double> q = numbers(shape.context, shape.dim, 1), k = numbers(shape.context, shape.dim, 2);
            Matrix<double> dq = q, dk = k;
            const double before = rotation_time.seconds();
            const auto start = std::chrono::steady_clock::now();
            if (is_gradient)
                positions.rotate_backward(q, k, dq, dk, 1, gradients);
            else
                positions.rotate(q, k, 1);
            const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
            INFO(static_cast<int>(encoding) << " " << is_gradient);
            if (encoding == Encoding::rotary) {
                CHECK(rotation_time.seconds() > before);
                CHECK(rotation_time.seconds() - before <= all.count() + 1e-9);
            } else {
                CHECK(rotation_time.seconds() == before);
            }
        }
}

TEST_CASE("statistics of paired losses") {
    // Deviations of -3, -1, 1, 3 from the mean: the variance is 20 / 3, and that of the mean of four 5 / 3.
    CHECK(mean({1.0, 3.0, 5.0, 7.0}) == 4.0);
    CHECK(std::abs(standard_error({1.0, 3.0, 5.0, 7.0}) - std::sqrt(5.0 / 3.0)) < 1e-15);
    const PairedDifference difference = paired_difference({{1.0, 2.0, 6.0}, {3.0, 1.0, 2.0}},  //
                                                          {{0.0, 4.0, 2.0}, {1.0, 1.0, 1.0}});
    CHECK(difference.by_seed == std::vector<double>{1.0, 1.0});
    CHECK(difference.by_window == std::vector<double>{1.5, -1.0, 2.5});
}

TEST_CASE("the first step at which a curve reaches a loss") {
    const std::vector<CurvePoint> curve = {{10.0, 0.0, 5.0}, {20.0, 0.0, 3.0}, {30.0, 0.0, 3.5}, {40.0, 0.0, 1.0}};
    CHECK(step_with(curve, 6.0) == 10.0);
    CHECK(step_with(curve, 5.0) == 10.0);
    CHECK(step_with(curve, 4.0) == 15.0);
    CHECK(step_with(curve, 3.25) == 18.75);  // the first time
    CHECK(step_with(curve, 2.0) == 36.0);
    CHECK(step_with(curve, 1.0) == 40.0);
    CHECK(step_with(curve, 0.9) == 0.0);
    const std::vector<CurvePoint> mean = mean_curve({{{10.0, 1.0, 2.0}, {20.0, 3.0, 4.0}},  //
                                                     {{10.0, 3.0, 5.0}, {20.0, 4.0, 2.0}}});
    REQUIRE(mean.size() == 2);
    CHECK(mean[0].step == 10.0);
    CHECK(mean[0].training == 2.0);
    CHECK(mean[0].validation == 3.5);
    CHECK(mean[1].step == 20.0);
    CHECK(mean[1].validation == 3.0);
}
