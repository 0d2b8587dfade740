// SPDX-License-Identifier: MIT
// Eigen's matrices, maps, blocks and tensors in both storage orders are the same numbers to the library.
#include <rope/rope.hpp>

#include <array>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using rope::Layout;
using support::size;

namespace {

constexpr Index kBatch = 2, kSeq = 5, kHeads = 3, kDim = 12, kWidth = kHeads * kDim;
constexpr Layout kLayout = Layout::half_split;

rope::CosSinCache<float> make_cache() {
    rope::Config config;
    config.head_dim = kDim;
    return rope::CosSinCache<float>(config, 64);
}

const std::vector<float>& input() {
    static const std::vector<float> x = support::normal<float>(kBatch * kSeq * kWidth, 3);
    return x;
}

/// The answer, from a plain contiguous buffer.
std::vector<float> turned() {
    std::vector<float> x = input();
    rope::apply<kLayout>(rope::view(x.data(), kBatch, kSeq, kHeads, kDim), make_cache(), rope::start_at(9));
    return x;
}

float at(const std::vector<float>& v, Index b, Index s, Index f) { return v[size((b * kSeq + s) * kWidth + f)]; }

template <class Matrix>
void fill(Matrix&& m) {
    for (Index s = 0; s < kSeq; ++s)
        for (Index f = 0; f < kWidth; ++f) m(s, f) = at(input(), 0, s, f);
}
template <class Matrix>
bool is_turned(const Matrix& m) {
    const std::vector<float> want = turned();
    for (Index s = 0; s < kSeq; ++s)
        for (Index f = 0; f < kWidth; ++f)
            if (m(s, f) != at(want, 0, s, f)) return false;
    return true;
}

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// As a function of an engine would take its argument.
void turn_ref(Eigen::Ref<Eigen::MatrixXf, 0, Eigen::OuterStride<>> q, const rope::CosSinCache<float>& cache) {
    rope::apply<kLayout>(rope::view(q, kHeads), cache, rope::start_at(9));
}

/// The same for an input, whatever its strides: the parameter lives as long as the view.
void turn_const_ref(const Eigen::Ref<const Eigen::MatrixXf>& in, Eigen::MatrixXf& out,
                    const rope::CosSinCache<float>& cache) {
    rope::apply_copy<kLayout>(rope::view(in, kHeads), rope::view(out, kHeads), cache, rope::start_at(9));
}

}  // namespace

TEMPLATE_TEST_CASE("matrices: rows are tokens", "", Eigen::MatrixXf, RowMatrix, (Eigen::Matrix<float, kSeq, kWidth>)) {
    const auto cache = make_cache();
    TestType m(kSeq, kWidth);
    fill(m);
    const TestType before = m;
    rope::apply<kLayout>(rope::view(m, kHeads), cache, rope::start_at(9));
    CHECK(is_turned(m));
    TestType out(kSeq, kWidth);
    rope::apply_copy<kLayout>(rope::view(before, kHeads), rope::view(out, kHeads), cache, rope::start_at(9));
    CHECK(is_turned(out));
    CHECK(before != out);
}

TEST_CASE("maps, blocks, references and transposes") {
    const auto cache = make_cache();
    std::vector<float> memory(size(3 * kSeq * kWidth), 0.0f);

    Eigen::Map<Eigen::MatrixXf, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> strided(
        memory.data(), kSeq, kWidth, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(3 * kSeq, 2));
    fill(strided);
    rope::apply<kLayout>(rope::view(strided, kHeads), cache, rope::start_at(9));
    CHECK(is_turned(strided));

    Eigen::MatrixXf big = Eigen::MatrixXf::Zero(kSeq + 2, kWidth + 7);
    fill(big.block(1, 4, kSeq, kWidth));
    rope::apply<kLayout>(rope::view(big.block(1, 4, kSeq, kWidth), kHeads), cache, rope::start_at(9));
    CHECK(is_turned(big.block(1, 4, kSeq, kWidth)));
    CHECK(big.row(0).isZero(0));
    CHECK(big.row(kSeq + 1).isZero(0));
    CHECK(big.leftCols(4).isZero(0));
    CHECK(big.rightCols(3).isZero(0));

    Eigen::MatrixXf columns(kWidth, kSeq);  // tokens are columns: its transpose has them as rows
    fill(columns.transpose());
    rope::apply<kLayout>(rope::view(columns.transpose(), kHeads), cache, rope::start_at(9));
    CHECK(is_turned(columns.transpose()));

    Eigen::MatrixXf m(kSeq, kWidth);
    fill(m);
    turn_ref(m, cache);
    CHECK(is_turned(m));

    // Without a copy, with one made to fit, and a Ref that may not copy, as a temporary.
    fill(m);
    Eigen::MatrixXf out(kSeq, kWidth);
    turn_const_ref(m, out, cache);
    CHECK(is_turned(out));
    out.setZero();
    turn_const_ref(RowMatrix(m), out, cache);
    CHECK(is_turned(out));
    rope::apply<kLayout>(rope::view(Eigen::Ref<Eigen::MatrixXf>(m), kHeads), cache, rope::start_at(9));
    CHECK(is_turned(m));
}

TEMPLATE_TEST_CASE("tensors and tensor maps of rank 3 and 4", "", (Eigen::Tensor<float, 4>),
                   (Eigen::Tensor<float, 4, Eigen::RowMajor>)) {
    const auto cache = make_cache();
    const std::vector<float> want = turned();
    TestType x(kBatch, kSeq, kHeads, kDim);
    const auto for_all = [&](auto&& f) {
        for (Index b = 0; b < kBatch; ++b)
            for (Index s = 0; s < kSeq; ++s)
                for (Index h = 0; h < kHeads; ++h)
                    for (Index j = 0; j < kDim; ++j) f(b, s, h, j, h * kDim + j);
    };
    for_all([&](Index b, Index s, Index h, Index j, Index f) { x(b, s, h, j) = at(input(), b, s, f); });
    const TestType before = x;
    TestType out(kBatch, kSeq, kHeads, kDim);
    rope::apply_copy<kLayout>(before, out, cache, rope::start_at(9));
    rope::apply<kLayout>(x, cache, rope::start_at(9));
    const Eigen::TensorMap<TestType> map(out.data(), kBatch, kSeq, kHeads, kDim);
    rope::apply_inverse<kLayout>(map, cache, rope::start_at(9));
    const Eigen::TensorMap<const TestType> const_map(before.data(), kBatch, kSeq, kHeads, kDim);
    rope::apply_copy<kLayout>(const_map, map, cache, rope::start_at(9));
    bool same = true;
    for_all([&](Index b, Index s, Index h, Index j, Index f) {
        same = same && x(b, s, h, j) == at(want, b, s, f) && out(b, s, h, j) == at(want, b, s, f);
    });
    CHECK(same);

    // Rank 3, one batch entry.
    constexpr int options = TestType::Options;
    Eigen::Tensor<float, 3, options> three(kSeq, kHeads, kDim);
    for (Index s = 0; s < kSeq; ++s)
        for (Index h = 0; h < kHeads; ++h)
            for (Index j = 0; j < kDim; ++j) three(s, h, j) = at(input(), 0, s, h * kDim + j);
    rope::apply(kLayout, three, cache, rope::start_at(9));
    same = true;
    for (Index s = 0; s < kSeq; ++s)
        for (Index h = 0; h < kHeads; ++h)
            for (Index j = 0; j < kDim; ++j) same = same && three(s, h, j) == at(want, 0, s, h * kDim + j);
    CHECK(same);
}

TEST_CASE("constness follows the matrix") {
    Eigen::MatrixXf m(kSeq, kWidth);
    const Eigen::MatrixXf& c = m;
    Eigen::Map<const Eigen::MatrixXf> map(m.data(), kSeq, kWidth);
    static_assert(std::is_same_v<decltype(rope::view(m, 1)), rope::TensorView<float>>, "");
    static_assert(std::is_same_v<decltype(rope::view(c, 1)), rope::TensorView<const float>>, "");
    static_assert(std::is_same_v<decltype(rope::view(map, 1)), rope::TensorView<const float>>, "");
    static_assert(std::is_same_v<decltype(rope::view(m.leftCols(1), 1)), rope::TensorView<float>>, "");
    CHECK(rope::view(m, kHeads).head_dim == kDim);
}

TEST_CASE("positions in Eigen vectors, with their inner stride") {
    const auto cache = make_cache();
    const std::vector<int> plain = {4, 60, 0, 7, 7};
    Eigen::VectorXi ids = Eigen::Map<const Eigen::VectorXi>(plain.data(), kSeq);
    Eigen::Matrix<int, 2, kSeq> rows;  // column-major: a row has inner stride 2
    rows.row(0).setConstant(-1);
    rows.row(1) = ids.transpose();
    std::vector<float> a = input(), b = input(), c = input();
    a.resize(size(kSeq * kWidth));
    b = c = a;
    rope::apply<kLayout>(rope::view(a.data(), kSeq, kHeads, kDim), cache, plain);
    rope::apply<kLayout>(rope::view(b.data(), kSeq, kHeads, kDim), cache, ids);
    rope::apply<kLayout>(rope::view(c.data(), kSeq, kHeads, kDim), cache, rows.row(1));
    CHECK(a == b);
    CHECK(a == c);
}

TEST_CASE("matrices and tensors are no lists of positions: their storage order is not the order of tokens") {
    static_assert(!std::is_convertible_v<Eigen::MatrixXi, rope::Positions>, "");
    static_assert(!std::is_convertible_v<Eigen::Block<Eigen::MatrixXi>, rope::Positions>, "");
    static_assert(!std::is_convertible_v<Eigen::Tensor<int, 2>, rope::Positions>, "");
    static_assert(std::is_convertible_v<Eigen::VectorXi, rope::Positions>, "");
    static_assert(std::is_convertible_v<Eigen::Tensor<int, 1>, rope::Positions>, "");
    SUCCEED();
}

TEST_CASE("a table as Eigen arrays") {
    rope::Config config;
    config.head_dim = kDim;
    const rope::CosSinCache<double> cache(config, 20, -5);
    const auto cos = rope::cos_table(cache);
    const auto sin = rope::sin_table(cache);
    REQUIRE(cos.rows() == 20);
    REQUIRE(cos.cols() == kDim / 2);
    CHECK((cos.square() + sin.square() - 1.0).abs().maxCoeff() < 1e-15);
    for (Index p = -5; p < 15; ++p)
        for (Index i = 0; i < kDim / 2; ++i) {
            REQUIRE(cos(p + 5, i) == cache.cos_row(p)[i]);
            REQUIRE(sin(p + 5, i) == cache.sin_row(p)[i]);
        }
    CHECK(cos(5, 0) == 1.0);
    CHECK(sin(5, 0) == 0.0);
}

TEST_CASE("heads that do not divide the columns are refused") {
    Eigen::MatrixXf m(2, 10);
    for (const Index heads : {Index(0), Index(-1), Index(3), Index(20)}) {
        std::string message;
        try {
            (void)rope::view(m, heads);
        } catch (const std::invalid_argument& e) {
            message = e.what();
        }
        CHECK(message ==
              "heads is " + std::to_string(heads) + "; it must be at least 1 and divide the 10 columns of the matrix.");
    }
}
