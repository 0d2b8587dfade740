// SPDX-License-Identifier: MIT
// Rotary embedding in linear attention: the features of queries and keys turn, sums run along the sequence, and no
// matrix of seq x seq is ever made. Exit status 0 when the result is that of the quadratic form.
#include <rope/rope.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "../arguments.hpp"

namespace {

using rope::Index;
using rope::Layout;

constexpr Index kHeads = 2, kHeadDim = 32, kWidth = kHeads * kHeadDim;
constexpr Index kShort = 64, kLong = 8192;
constexpr Layout kLayout = Layout::half_split;

// The largest difference that is still rounding, as a part of the largest output of the token. Sums in float take more
// rounding the longer they are.
constexpr double kBoundShort = 1e-5, kBoundLong = 1e-4;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;  // [seq, heads * head_dim]

struct Tokens {
    Matrix q, k, v;

    Tokens slice(Index begin, Index count) const {
        return {q.middleRows(begin, count), k.middleRows(begin, count), v.middleRows(begin, count)};
    }
};

Matrix random_matrix(Index rows, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    Matrix x(rows, kWidth);
    for (Index t = 0; t < rows; ++t)
        for (Index i = 0; i < kWidth; ++i) x(t, i) = normal(engine);
    return x;
}

/// elu(x) + 1, which is above 0 everywhere.
template <class T>
T feature(T x) {
    return x > T(0) ? x + T(1) : std::exp(x);
}

/// The features of one head of one token.
template <class M>
auto head(M& x, Index token, Index h) {
    return x.row(token).template segment<kHeadDim>(h * kHeadDim);
}

/// Causal attention over tokens that come a number at a time, a prompt or one by one, in a time that does not depend on
/// how many came before: what is kept of those are two sums.
class LinearAttention {
 public:
    /// The first token to come stands at `position`. The table must live as long.
    explicit LinearAttention(const rope::CosSinCache<float>& cache, Index position = 0)
        : cache_(cache), position_(position) {}

    /// What the next tokens gather. q and k are copies, which become features and then turn.
    Matrix next(Tokens x) {
        const Index seq = x.q.rows();
        x.q = x.q.unaryExpr(&feature<float>);
        x.k = x.k.unaryExpr(&feature<float>);

        // The denominators come first, while the features are unturned: sums of positive numbers, never near 0.
        Matrix denominator(seq, kHeads);
        for (Index t = 0; t < seq; ++t) {
            keys_ += x.k.row(t);
            for (Index h = 0; h < kHeads; ++h)
                denominator(t, h) = head(x.q, t, h).dot(keys_.segment<kHeadDim>(h * kHeadDim));
        }

        // The one call of the library: features are [seq, heads, head_dim] as queries and keys are.
        rope::apply<kLayout>(rope::view(x.q, kHeads), rope::view(x.k, kHeads), cache_, rope::start_at(position_));
        position_ += seq;

        Matrix out = Matrix::Zero(seq, kWidth);
        for (Index t = 0; t < seq; ++t)
            for (Index h = 0; h < kHeads; ++h) {
                const auto q = head(x.q, t, h), k = head(x.k, t, h), v = head(x.v, t, h);
                auto y = head(out, t, h);
                auto sums = products_.middleRows<kHeadDim>(h * kHeadDim);
                for (Index i = 0; i < kHeadDim; ++i) {
                    sums.row(i) += k[i] * v;
                    y += q[i] * sums.row(i);
                }
                y /= denominator(t, h);
            }
        return out;
    }

    /// Bytes that are kept of all tokens so far.
    Index bytes() const { return (keys_.size() + products_.size()) * static_cast<Index>(sizeof(float)); }

 private:
    const rope::CosSinCache<float>& cache_;
    Index position_;
    Eigen::RowVectorXf keys_ = Eigen::RowVectorXf::Zero(kWidth);  // sum of the features of keys
    Eigen::Matrix<float, kWidth, kHeadDim, Eigen::RowMajor> products_ =
        Eigen::Matrix<float, kWidth, kHeadDim, Eigen::RowMajor>::Zero();  // sum of turned features^T * values, by head
};

/// What one token gathers by the quadratic form, one row of it, in double.
struct Row {
    Eigen::RowVectorXd out = Eigen::RowVectorXd::Zero(kWidth);
    double weight[kHeads] = {};  // sum of the weights
};

/// By the definition: the score of a query and a key d tokens before it is (R(d) phi(q))^T phi(k), with the dense
/// matrix R, so that positions enter as distances alone.
Row quadratic_attention(const Tokens& x, const rope::Frequencies& frequencies, Index token) {
    Row row;
    double denominator[kHeads] = {};
    for (Index n = 0; n <= token; ++n) {
        const Eigen::MatrixXd r = rope::reference::rotation_matrix(kLayout, frequencies, token - n);
        for (Index h = 0; h < kHeads; ++h) {
            const Eigen::VectorXd q = head(x.q, token, h).transpose().cast<double>().unaryExpr(&feature<double>);
            const Eigen::VectorXd k = head(x.k, n, h).transpose().cast<double>().unaryExpr(&feature<double>);
            const double score = (r * q).dot(k);
            row.out.segment<kHeadDim>(h * kHeadDim) += score * head(x.v, n, h).cast<double>();
            row.weight[h] += score;
            denominator[h] += q.dot(k);
        }
    }
    for (Index h = 0; h < kHeads; ++h) {
        row.out.segment<kHeadDim>(h * kHeadDim) /= denominator[h];
        row.weight[h] /= denominator[h];
    }
    return row;
}

/// How far a token's output is from what it should be, as a part of the largest feature of the latter.
template <class Out, class Expected>
double difference(const Out& out, const Expected& expected) {
    if (!out.allFinite()) return std::numeric_limits<double>::infinity();
    return (out.template cast<double>() - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff();
}

/// Prints the beginning of a line.
bool is_within(double worst, double bound) {
    std::printf("   %.1e, at most %.0e%s: ", worst, bound, worst <= bound ? "" : " (FAILED)");
    return worst <= bound;
}

bool check(const Tokens& all, const rope::CosSinCache<float>& cache, const rope::Frequencies& frequencies) {
    const Tokens few = all.slice(0, kShort);
    const Matrix out = LinearAttention(cache).next(few);
    const Matrix moved = LinearAttention(cache, kLong - kShort).next(few);
    LinearAttention in_parts(cache);
    Matrix part;
    for (Index t = 0; t < kLong; t += kShort) part = in_parts.next(all.slice(t, kShort));
    const Row last = quadratic_attention(all, frequencies, kLong - 1);
    double worst = 0.0, worst_moved = 0.0;
    for (Index t = 0; t < kShort; ++t) {
        const Row row = quadratic_attention(few, frequencies, t);
        worst = std::max(worst, difference(out.row(t), row.out));
        worst_moved = std::max(worst_moved, difference(moved.row(t), row.out));
    }
    std::printf("Largest difference from the quadratic form, as a part of the token's largest output\n\n");
    bool ok = is_within(worst, kBoundShort);
    std::printf("each of %td tokens\n", kShort);
    ok = is_within(worst_moved, kBoundShort) && ok;
    std::printf("the same, all positions larger by %td\n", kLong - kShort);
    ok = is_within(difference(part.row(kShort - 1), last.out), kBoundLong) && ok;
    std::printf("the last of %td tokens, which came %td at a time\n", kLong, kShort);
    std::printf(
        "\nTurned scores may be negative, and over many tokens they cancel. The weights of the last token sum to\n"
        "%.3f and %.3f, not to 1, and a turned denominator would be that part of the unturned one.\n\n",
        last.weight[0], last.weight[1]);
    return ok;
}

/// Each length for as many rounds as make kLong tokens, so that all are timed as long.
void measure(const Tokens& all, const rope::CosSinCache<float>& cache) {
    std::printf("   tokens   tokens per second   sums kept   seq x seq matrices would be\n");
    for (const Index seq : {kLong / 64, kLong / 16, kLong / 4, kLong}) {
        Index kept = 0;
        const auto start = std::chrono::steady_clock::now();
        for (Index round = 0; round < kLong / seq; ++round) {
            LinearAttention attention(cache);
            for (Index t = 0; t < seq; t += kShort) (void)attention.next(all.slice(t, kShort));
            kept = attention.bytes();
        }
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        std::printf("   %6td   %17.0f   %5.1f KiB   %23td KiB\n", seq, static_cast<double>(kLong) / time.count(),
                    static_cast<double>(kept) / 1024.0, kHeads * seq * seq * static_cast<Index>(sizeof(float)) / 1024);
    }
}

constexpr const char* kHelp =
    "linear_attention: kernelised attention with rotary embedding, checked and measured.\n"
    "\n"
    "  linear_attention   run, and print errors and times\n"
    "  --help             print this and stop\n";

}  // namespace

int main(int argc, char** argv) {
    if (const auto status = arguments::answer(argc, argv, kHelp)) return *status;
    rope::Config config;
    config.head_dim = kHeadDim;
    const rope::CosSinCache<float> cache(config, kLong);
    const Tokens tokens = {random_matrix(kLong, 1), random_matrix(kLong, 2), random_matrix(kLong, 3)};
    std::printf("Causal linear attention with rotary embedding, %td heads of %td features, float\n\n", kHeads,
                kHeadDim);
    const bool ok = check(tokens, cache, rope::frequencies(config));
    measure(tokens, cache);
    return ok ? 0 : 1;
}
