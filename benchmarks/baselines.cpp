// SPDX-License-Identifier: MIT
#include "baselines.hpp"

#include <rope/rope.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <memory>

namespace bench {
namespace {

using rope::Index;

std::size_t size(Index n) { return static_cast<std::size_t>(n); }

rope::Config config(const Problem& p) {
    rope::Config c;
    c.head_dim = p.head_dim;
    c.base = p.base;
    return c;
}

/// Each token's heads times the dense [head_dim, head_dim] matrix of its position: the definition. The matrices are
/// made beforehand, so only the products count.
class DenseMatrix {
 public:
    explicit DenseMatrix(const Problem& p) : p_(p), product_(p.heads, p.head_dim) {
        for (Index s = 0; s < p.seq; ++s)
            transposed_.push_back(rope::reference::rotation_matrix<rope::Layout::half_split>(config(p), p.start + s)
                                      .transpose()
                                      .cast<float>());
    }
    const float* operator()(float* x) {
        for (Index s = 0; s < p_.seq; ++s) {
            Eigen::Map<Matrix> token(x + s * p_.heads * p_.head_dim, p_.heads, p_.head_dim);
            product_.noalias() = token * transposed_[size(s)];
            token = product_;
        }
        return x;
    }

 private:
    using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Problem p_;
    std::vector<Matrix> transposed_;
    Matrix product_;
};

/// cos and sin of one position in float32, the angle of each pair being the one before times a constant.
void compute_cos_sin(const Problem& p, Index position, float* cos, float* sin) {
    const float theta_scale = std::pow(static_cast<float>(p.base), -2.0f / static_cast<float>(p.head_dim));
    float theta = static_cast<float>(position);
    for (Index i = 0; i < p.head_dim / 2; ++i) {
        cos[i] = std::cos(theta);
        sin[i] = std::sin(theta);
        theta *= theta_scale;
    }
}

void rotate_head(float* x, const float* cos, const float* sin, Index pairs) {
    for (Index i = 0; i < pairs; ++i) {
        const float a = x[i];
        const float b = x[i + pairs];
        x[i] = a * cos[i] - b * sin[i];
        x[i + pairs] = a * sin[i] + b * cos[i];
    }
}

/// cos and sin computed anew for every token, then used by all of its heads: what ggml's CPU kernel does.
class CosSinPerToken {
 public:
    explicit CosSinPerToken(const Problem& p) : p_(p), cos_(size(p.head_dim / 2)), sin_(cos_.size()) {}
    const float* operator()(float* x) {
        float* head = x;
        for (Index s = 0; s < p_.seq; ++s) {
            compute_cos_sin(p_, p_.start + s, cos_.data(), sin_.data());
            for (Index h = 0; h < p_.heads; ++h, head += p_.head_dim)
                rotate_head(head, cos_.data(), sin_.data(), p_.head_dim / 2);
        }
        return x;
    }

 private:
    Problem p_;
    std::vector<float> cos_, sin_;
};

/// cos and sin computed anew for every head: what a first version does.
class CosSinPerHead {
 public:
    explicit CosSinPerHead(const Problem& p) : p_(p), cos_(size(p.head_dim / 2)), sin_(cos_.size()) {}
    const float* operator()(float* x) {
        float* head = x;
        for (Index s = 0; s < p_.seq; ++s)
            for (Index h = 0; h < p_.heads; ++h, head += p_.head_dim) {
                compute_cos_sin(p_, p_.start + s, cos_.data(), sin_.data());
                rotate_head(head, cos_.data(), sin_.data(), p_.head_dim / 2);
            }
        return x;
    }

 private:
    Problem p_;
    std::vector<float> cos_, sin_;
};

/// x * cos + rotate_half(x) * sin, one operation on the whole tensor at a time, each with a new tensor for its result:
/// what model code does in an eager framework. cos and sin, [seq, head_dim], are made beforehand.
class WholeTensors {
 public:
    explicit WholeTensors(const Problem& p) : p_(p), cos_(size(p.seq * p.head_dim)), sin_(cos_.size()) {
        const rope::CosSinCache<float> cache(config(p), p.seq, p.start);
        for (Index s = 0; s < p.seq; ++s)
            for (Index j = 0; j < p.head_dim; ++j) {
                cos_[size(s * p.head_dim + j)] = cache.cos_row(p.start + s)[j % (p.head_dim / 2)];
                sin_[size(s * p.head_dim + j)] = cache.sin_row(p.start + s)[j % (p.head_dim / 2)];
            }
    }
    const float* operator()(const float* x) {
        const Index half = p_.head_dim / 2;
        const Index all_heads = p_.seq * p_.heads;
        const Tensor negated = make(all_heads * half);
        for (Index h = 0; h < all_heads; ++h)
            for (Index i = 0; i < half; ++i) negated[size(h * half + i)] = -x[h * p_.head_dim + half + i];
        const Tensor rotated = make(elements());
        for (Index h = 0; h < all_heads; ++h) {
            float* const to = rotated.get() + h * p_.head_dim;
            std::copy_n(negated.get() + h * half, half, to);
            std::copy_n(x + h * p_.head_dim, half, to + half);
        }
        const Tensor x_cos = times(x, cos_.data());
        const Tensor rotated_sin = times(rotated.get(), sin_.data());
        result_.reset();  // that of the call before
        result_ = make(elements());
        for (Index i = 0; i < elements(); ++i) result_[size(i)] = x_cos[size(i)] + rotated_sin[size(i)];
        return result_.get();
    }

 private:
    using Tensor = std::unique_ptr<float[]>;
    Index elements() const { return p_.seq * p_.heads * p_.head_dim; }
    Tensor make(Index n) const { return Tensor(new float[size(n)]); }
    /// x times a [seq, head_dim] table, broadcast over the heads.
    Tensor times(const float* x, const float* table) const {
        Tensor product = make(elements());
        for (Index s = 0; s < p_.seq; ++s)
            for (Index h = 0; h < p_.heads; ++h)
                for (Index j = 0; j < p_.head_dim; ++j) {
                    const Index at = (s * p_.heads + h) * p_.head_dim + j;
                    product[size(at)] = x[at] * table[s * p_.head_dim + j];
                }
        return product;
    }

    Problem p_;
    std::vector<float> cos_, sin_;
    Tensor result_;
};

template <class F>
std::function<const float*(float*)> shared(const Problem& p) {
    return [f = std::make_shared<F>(p)](float* x) { return (*f)(x); };
}

}  // namespace

std::vector<Baseline> baselines(const Problem& p) {
    return {{"cos, sin per token", shared<CosSinPerToken>(p)},
            {"cos, sin per head", shared<CosSinPerHead>(p)},
            {"whole tensors", shared<WholeTensors>(p)},
            {"dense matrix", shared<DenseMatrix>(p)}};
}

void fill_by_library(const std::vector<double>& inv_freq, std::ptrdiff_t max_positions, float* out) {
    for (std::ptrdiff_t position = 0; position < max_positions; ++position) {
        float* const cos = out;
        float* const sin = out + inv_freq.size();
        for (std::size_t i = 0; i < inv_freq.size(); ++i) {
            const double angle = static_cast<double>(position) * inv_freq[i];
            cos[i] = static_cast<float>(std::cos(angle));
            sin[i] = static_cast<float>(std::sin(angle));
        }
        out += 2 * inv_freq.size();
    }
}

namespace {

/// Without aliasing, as one who wants speed would write it.
template <bool is_half_split>
void copy_plainly(const float* __restrict x, float* __restrict y, const Rows& rows, const Problem& p) {
    const Index pairs = p.head_dim / 2;
    for (Index s = 0; s < p.seq; ++s) {
        const float* __restrict cos = rows.cos + (p.start + s) * rows.stride;
        const float* __restrict sin = rows.sin + (p.start + s) * rows.stride;
        for (Index h = 0; h < p.heads; ++h, x += p.head_dim, y += p.head_dim)
            for (Index i = 0; i < pairs; ++i) {
                const Index a = is_half_split ? i : 2 * i, b = is_half_split ? i + pairs : 2 * i + 1;
                const float xa = x[a], xb = x[b];
                y[a] = xa * cos[i] - xb * sin[i];
                y[b] = xa * sin[i] + xb * cos[i];
            }
    }
}

}  // namespace

void copy_half_split(const float* x, float* y, const Rows& rows, const Problem& problem) {
    copy_plainly<true>(x, y, rows, problem);
}
void copy_interleaved(const float* x, float* y, const Rows& rows, const Problem& problem) {
    copy_plainly<false>(x, y, rows, problem);
}

}  // namespace bench
