// SPDX-License-Identifier: MIT
// Additive encodings add the row of each token's position, by the formula, wherever the tensor lies, and
// write nothing when they refuse.
#include <rope/rope.hpp>

#include <rope/detail/kernels/add.hpp>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

namespace {

using rope::Index;
using rope::SinusoidalVariant;
using support::size;

/// Feature j of the sinusoidal row of a position, straight from the paper.
long double sinusoid(Index position, Index j, Index d_model, SinusoidalVariant variant, long double base) {
    const bool interleaved = variant == SinusoidalVariant::interleaved;
    const Index pair = interleaved ? j / 2 : j % (d_model / 2);
    const bool is_sin = interleaved ? j % 2 == 0 : j < d_model / 2;
    const long double exponent = -2.0L * static_cast<long double>(pair) / static_cast<long double>(d_model);
    const long double angle = static_cast<long double>(position) * std::pow(base, exponent);
    return is_sin ? std::sin(angle) : std::cos(angle);
}

template <class T>
constexpr double kEpsilon = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;

template <class T>
std::vector<T> counting(Index n) {
    std::vector<T> values(size(n));
    std::iota(values.begin(), values.end(), T(1));
    return values;
}

/// What add must give: one addition in the table's type and one rounding to the element's.
template <class Element, class T>
Element sum(Element x, T entry) {
    return support::from_double<Element>(static_cast<double>(static_cast<T>(support::to_double(x)) + entry));
}

template <class Call>
std::string refusal(Call&& call) {
    try {
        call();
    } catch (const std::invalid_argument& e) {
        return std::string("invalid_argument: ") + e.what();
    } catch (const std::out_of_range& e) {
        return std::string("out_of_range: ") + e.what();
    }
    return "accepted";
}

#define CHECK_SAYS(text, ...)                                            \
    do {                                                                 \
        INFO(text);                                                      \
        CHECK(std::string(text).find(__VA_ARGS__) != std::string::npos); \
    } while (false)

}  // namespace

TEMPLATE_TEST_CASE("sinusoidal rows are those of the formula", "", float, double) {
    const auto variant = GENERATE(SinusoidalVariant::interleaved, SinusoidalVariant::concatenated);
    const auto d_model = GENERATE(Index(2), Index(6), Index(64), Index(90));
    const double base = GENERATE(10000.0, 500000.0, 1.0);
    const Index max_positions = 1500;
    const rope::SinusoidalEmbedding<TestType> embedding(d_model, max_positions, variant, base);
    CHECK(embedding.d_model() == d_model);
    CHECK(embedding.max_positions() == max_positions);
    CHECK(embedding.bytes() == size(d_model * max_positions) * sizeof(TestType));
    double worst = 0;
    for (Index p = 0; p < max_positions; ++p)
        for (Index j = 0; j < d_model; ++j) {
            const long double exact = sinusoid(p, j, d_model, variant, static_cast<long double>(base));
            const double error = static_cast<double>(std::fabs(exact - static_cast<long double>(embedding.row(p)[j])));
            worst = std::max(worst, error / kEpsilon<TestType>);
        }
    // Entries lie in [-1, 1], where an ulp is at most 2 epsilon; the angle of the long double formula adds
    // its own.
    CHECK(worst <= 2 * rope::CosSinCache<TestType>::kMaxUlpError);
}

TEST_CASE("learned rows are the weights, and training changes them") {
    const std::vector<float> weights = support::normal<float>(5 * 3, 1);
    rope::LearnedEmbedding<float> embedding(weights.data(), 5, 3);
    CHECK(embedding.d_model() == 3);
    CHECK(embedding.max_positions() == 5);
    CHECK(embedding.bytes() == 5 * 3 * sizeof(float));
    CHECK(std::vector<float>(embedding.weights(), embedding.weights() + 15) == weights);

    const rope::LearnedEmbedding<float> copy = embedding;
    embedding.weights()[4 * 3 + 2] = 7.0f;
    CHECK(embedding.row(4)[2] == 7.0f);
    CHECK(copy.row(4)[2] == weights[14]);
    std::vector<float> x(3, 1.0f);
    embedding.add(rope::embedding_view(x.data(), 1, 1, 3), rope::start_at(4));
    CHECK(x[2] == 8.0f);
    embedding = copy;
    CHECK(embedding.row(4)[2] == weights[14]);
    CHECK(embedding.weights() != copy.weights());
}

TEMPLATE_TEST_CASE("add rounds once, for every element type and every stride", "", float, double, rope::half,
                   rope::bfloat16) {
    using T = support::TableOf<TestType>;
    const Index batch = 2, seq = 5, heads = 3, head_dim = 22, d_model = heads * head_dim;
    const rope::SinusoidalEmbedding<T> embedding(d_model, 50);
    const std::vector<int> ids = {3, 0, 49, 3, 17, 20, 21, 22, 23, 24};
    // Strides of batch, seq, head and feature, and the size of the buffer: contiguous; sequence first; heads
    // first; heads apart; features apart; features backwards.
    const Index n = batch * seq * d_model;
    const std::vector<std::vector<Index>> strides = {{seq * d_model, d_model, head_dim, 1},
                                                     {d_model, batch * d_model, head_dim, 1},
                                                     {seq * d_model, head_dim, seq * head_dim, 1},
                                                     {2 * seq * d_model, 2 * d_model, 2 * head_dim, 1},
                                                     {3 * seq * d_model, 3 * d_model, 3 * head_dim, 3},
                                                     {seq * d_model, d_model, head_dim, -1}};
    for (const std::vector<Index>& s : strides) {
        const std::vector<TestType> before = support::normal<TestType>(3 * n, 2);
        std::vector<TestType> x, expected = before, cut;
        const Index offset = s[3] < 0 ? head_dim - 1 : 0;
        const auto view = [&](std::vector<TestType>& data) {
            return rope::TensorView<TestType>{
                data.data() + offset, batch, seq, heads, head_dim, s[0], s[1], s[2], s[3]};
        };
        for (Index b = 0; b < batch; ++b)
            for (Index t = 0; t < seq; ++t)
                for (Index h = 0; h < heads; ++h)
                    for (Index i = 0; i < head_dim; ++i) {
                        TestType& e = view(expected)(b, t, h, i);
                        e = sum<TestType, T>(e, embedding.row(ids[size(b * seq + t)])[h * head_dim + i]);
                    }
        support::for_each_isa([&](const char* isa) {
            CAPTURE(isa);
            x = cut = before;
            embedding.add(view(x), ids);
            CHECK(support::same_bits(x, expected));
            // Cut by hand: an executor would not be asked about so small a call.
            const auto v = view(cut);
            const rope::Positions positions = ids;
            const rope::detail::AnyView out = rope::detail::erased("x", v);
            const rope::detail::AddTask<TestType, T> task = {out, embedding.row(0), positions,
                                                             rope::detail::LoopOrder()};
            const auto kernel = rope::detail::add_kernel<TestType, T>(rope::detail::isa_id(isa));
            for (Index begin = 0; begin < batch * seq * heads; begin += 4)
                kernel(task, begin, std::min(begin + 4, batch * seq * heads));
            CHECK(support::same_bits(cut, expected));
        });
    }
}

TEST_CASE("positions are given as to apply") {
    const Index batch = 2, seq = 3, d_model = 4;
    const std::vector<float> weights = counting<float>(10 * d_model);
    const rope::LearnedEmbedding<float> embedding(weights.data(), 10, d_model);
    const auto added = [&](rope::PositionsArgument&& positions) {
        std::vector<float> x(size(batch * seq * d_model));
        embedding.add(rope::embedding_view(x.data(), batch, seq, d_model), std::move(positions));
        std::vector<Index> rows;
        for (Index token = 0; token < batch * seq; ++token)
            rows.push_back((static_cast<Index>(x[size(token * d_model)]) - 1) / d_model);
        return rows;
    };
    CHECK(added({}) == std::vector<Index>{0, 1, 2, 0, 1, 2});
    CHECK(added(rope::start_at(7)) == std::vector<Index>{7, 8, 9, 7, 8, 9});
    CHECK(added(rope::start_at(std::vector<std::int16_t>{7, 2})) == std::vector<Index>{7, 8, 9, 2, 3, 4});
    CHECK(added({9, 0, 9}) == std::vector<Index>{9, 0, 9, 9, 0, 9});
    CHECK(added(std::vector<std::uint8_t>{1, 3, 5, 2, 4, 6}) == std::vector<Index>{1, 3, 5, 2, 4, 6});
}

TEST_CASE("Eigen tensors of rank 3 are [batch, seq, d_model], of rank 4 [batch, seq, heads, head_dim]") {
    const Index batch = 2, seq = 3, heads = 2, head_dim = 5, d_model = heads * head_dim;
    const rope::SinusoidalEmbedding<float> embedding(d_model, 10);
    Eigen::Tensor<float, 3> column_major(batch, seq, d_model);
    Eigen::Tensor<float, 4, Eigen::RowMajor> with_heads(batch, seq, heads, head_dim);
    std::vector<float> memory(size(batch * seq * d_model), 0.0f);
    Eigen::TensorMap<Eigen::Tensor<float, 3, Eigen::RowMajor>> map(memory.data(), batch, seq, d_model);
    column_major.setZero();
    with_heads.setZero();
    embedding.add(column_major, {4, 1, 9});
    embedding.add(with_heads, {4, 1, 9});
    embedding.add(map, {4, 1, 9});
    const std::vector<Index> ids = {4, 1, 9};
    for (Index b = 0; b < batch; ++b)
        for (Index s = 0; s < seq; ++s)
            for (Index j = 0; j < d_model; ++j) {
                const float entry = embedding.row(ids[size(s)])[j];
                REQUIRE(column_major(b, s, j) == entry);
                REQUIRE(with_heads(b, s, j / head_dim, j % head_dim) == entry);
                REQUIRE(map(b, s, j) == entry);
            }

    Eigen::Tensor<Eigen::half, 3> narrow(batch, seq, d_model);
    narrow.setZero();
    embedding.add(narrow);
    CHECK(narrow(1, 2, 3) == Eigen::half(embedding.row(2)[3]));

    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic> matrix(seq, d_model);
    matrix.setZero();
    embedding.add(rope::view(matrix, heads), {4, 1, 9});
    CHECK(matrix(2, 7) == embedding.row(9)[7]);
}

TEST_CASE("what is refused is named, and nothing is written") {
    const Index d_model = 6;
    rope::SinusoidalEmbedding<float> embedding(d_model, 16);
    rope::LearnedEmbedding<float> learned(counting<float>(16 * d_model).data(), 16, d_model);
    const std::vector<float> before = support::normal<float>(4 * d_model, 3);
    std::vector<float> x = before;
    const auto refused = [&](const rope::TensorView<float>& v, rope::PositionsArgument&& given) {
        const rope::Positions& positions = given;
        const std::string said = refusal([&] { embedding.add(v, positions); });
        const rope::Status status = embedding.check(v, positions);
        CHECK(!status.ok());
        CHECK(said.find(status.message()) != std::string::npos);
        CHECK(said == refusal([&] { learned.add(v, positions); }));
        CHECK(support::same_bits(x, before));
        return said;
    };
    const auto good = rope::embedding_view(x.data(), 2, 2, d_model);
    CHECK(embedding.check(good, rope::start_at(14)).ok());
    static_assert(noexcept(embedding.check(good, rope::Positions())), "check never throws");

    CHECK_SAYS(refused(good, rope::start_at(15)),
               "out_of_range: positions start at 15 and seq is 2; this embedding holds positions 0 "
               "to 15.");
    CHECK_SAYS(refused(good, {0, 16}), "out_of_range: positions[1] is 16; this embedding holds positions 0 to 15.");
    CHECK_SAYS(refused(good, {0, -1}), "out_of_range: positions[1] is -1");
    CHECK_SAYS(refused(good, {0, 1, 2}), "invalid_argument: positions has 3 ids");
    CHECK_SAYS(refused(rope::embedding_view(x.data(), 2, 2, 5), {}),
               "invalid_argument: x has a d_model of 5; it must be that of this embedding (6).");
    CHECK_SAYS(refused(rope::view(x.data(), 2, 2, 2, 2), {}), "x has 2 heads of head_dim 2");
    CHECK_SAYS(refused(rope::embedding_view<float>(nullptr, 2, 2, d_model), {}), "x.data is null");
    CHECK_SAYS(refused(rope::embedding_view(x.data(), 2, -1, d_model), {}), "x.seq is -1");
    rope::TensorView<float> repeated = good;
    repeated.seq_stride = 0;
    CHECK_SAYS(refused(repeated, {}), "x overlaps itself: seq has stride 0");

    const auto own_weights = rope::embedding_view(learned.weights(), 1, 2, d_model);
    CHECK_SAYS(refusal([&] { learned.add(own_weights); }), "x may share elements with the table");
    CHECK(learned.weights()[0] == 1.0f);

    embedding.add(rope::embedding_view<float>(nullptr, 2, 0, d_model));
    embedding.add(rope::embedding_view<float>(nullptr, 0, 2, d_model));
    CHECK_SAYS(refusal([&] { embedding.row(16); }), "position is 16; this embedding holds positions 0 to 15.");
    CHECK_SAYS(refusal([&] { embedding.row(-1); }), "out_of_range: position is -1");
}

TEST_CASE("a table that cannot be made is refused") {
    const auto sinusoidal = [](Index d_model, Index max_positions, double base) {
        return refusal([&] { rope::SinusoidalEmbedding<float>(d_model, max_positions, {}, base); });
    };
    CHECK_SAYS(sinusoidal(7, 4, 1e4), "invalid_argument: d_model is 7; it must be even");
    CHECK_SAYS(sinusoidal(0, 4, 1e4), "d_model is 0");
    CHECK_SAYS(refusal([] { rope::SinusoidalEmbedding<float>(8, 4, static_cast<rope::SinusoidalVariant>(2)); }),
               "invalid_argument: variant is 2; it must be interleaved (0) or concatenated (1).");
    CHECK_SAYS(sinusoidal((Index(1) << 20) + 2, 4, 1e4), "d_model is 1048578");
    CHECK_SAYS(sinusoidal(8, 0, 1e4), "max_positions is 0; it must be at least 1.");
    CHECK_SAYS(sinusoidal(8, Index(1) << 60, 1e4),
               "max_positions is 1152921504606846976; 1152921504606846976 rows of 8");
    CHECK_SAYS(sinusoidal(8, 4, -1.0), "base is -1; it must be finite and above 0.");
    CHECK_SAYS(sinusoidal(8, 4, std::nan("")), "base is nan");

    const auto learned = [](const double* weights, Index max_positions, Index d_model) {
        return refusal([&] { rope::LearnedEmbedding<double>(weights, max_positions, d_model); });
    };
    const double weight = 1.0;
    CHECK_SAYS(learned(nullptr, 4, 8), "weights is a null pointer");
    CHECK_SAYS(learned(&weight, -2, 1), "max_positions is -2");
    CHECK_SAYS(learned(&weight, 1, 0), "d_model is 0; it must be from 1 to 1048576.");
    CHECK(learned(&weight, 1, 1) == "accepted");
}

namespace {

/// Columns are the rows of the sinusoidal table at positions 0 .. count - 1.
Eigen::MatrixXd sinusoids(Index d_model, Index count) {
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(d_model, count);
    rope::SinusoidalEmbedding<double>(d_model, count).add(rope::embedding_view(rows.data(), 1, count, d_model));
    return rows;
}

/// By how much the products of columns a distance apart differ, in parts of the largest.
double spread(const Eigen::MatrixXd& q, const Eigen::MatrixXd& k, Index distance) {
    Eigen::VectorXd products(q.cols() - distance);
    for (Eigen::Index p = 0; p < products.size(); ++p) products[p] = q.col(p + distance).dot(k.col(p));
    return (products.maxCoeff() - products.minCoeff()) / products.cwiseAbs().maxCoeff();
}

}  // namespace

TEST_CASE("the product of two sinusoidal rows depends on the distance alone, until they are projected") {
    constexpr Index d_model = 64, count = 600;
    const Eigen::MatrixXd rows = sinusoids(d_model, count);
    const auto drawn = [](unsigned seed) {
        const std::vector<double> numbers = support::normal<double>(d_model * d_model, seed);
        return Eigen::MatrixXd(Eigen::Map<const Eigen::MatrixXd>(numbers.data(), d_model, d_model));
    };
    const Eigen::MatrixXd wq = drawn(1), wk = drawn(2);
    // Rotary embedding rotates queries and keys after the projection: here those of one token, at every position.
    rope::Config config;
    config.head_dim = d_model;
    const rope::CosSinCache<double> table(config, count);
    Eigen::MatrixXd q = (wq * rows.col(5)).replicate(1, count), k = (wk * rows.col(9)).replicate(1, count);
    rope::apply<rope::Layout::interleaved>(rope::view(q.data(), count, 1, d_model), table);
    rope::apply<rope::Layout::interleaved>(rope::view(k.data(), count, 1, d_model), table);
    for (const Index distance : {0, 1, 2, 7, 30, 150, 500}) {
        INFO("distance " << distance);
        CHECK(spread(rows, rows, distance) < 1e-13);
        CHECK(spread(wq * rows, wk * rows, distance) > 0.5);
        CHECK(spread(q, k, distance) < 1e-12);
    }
}
