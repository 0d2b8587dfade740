// SPDX-License-Identifier: MIT
// Causal linear attention and its gradient: out_i = sum over j <= i of (R_i phi(q_i)) . (R_j phi(k_j)) v_j, divided by
// sum over j <= i of phi(q_i) . phi(k_j). R rotates in the case of RotateAt::after alone; in the other, q and k have
// rotated before. The products of features are made for all pairs of a sequence, as in chunked implementations:
// with no more tokens than features this is cheaper than sums that run along the sequence, and the same numbers.
#pragma once

#include "attention.hpp"
#include "random.hpp"
#include "shape.hpp"

namespace train {

/// The features of one head, phi, and their gradient.
template <class T>
class FeatureMap {
 public:
    explicit FeatureMap(const Shape& shape)
        : is_random_(shape.attention == Attention::favor), heads_(shape.heads), width_(shape.feature_dim()) {
        if (is_random_) draw(shape.head_dim(), shape.seed);
    }

    /// phi of all heads: [tokens, heads * head_dim] to [tokens, heads * width].
    ///
    /// elu + 1, or FAVOR+, (exp(w . x - |x|^2 / 2 - stabiliser) + 1e-4) / sqrt(width) with x = head / head_dim^(1/4).
    /// A query's stabiliser is its largest exponent. It cancels between numerator and denominator but for the 1e-4, and
    /// the gradient goes through it. Keys would need one number for a whole sequence, which a causal model may not take
    /// from later keys: theirs is 0, and exp can take w . x - |x|^2 / 2, which is at most |w|^2 / 2.
    void forward(const Matrix<T>& x, Matrix<T>& phi, bool is_query) const {
        if (!is_random_) {
            phi = x.unaryExpr([](T a) { return a > T(0) ? a + T(1) : std::exp(a); });
            return;
        }
        phi.resize(x.rows(), heads_ * width_);
        for (Index h = 0; h < heads_; ++h) {
            const Matrix<T> scaled = input_scale() * head_of(x, 1, heads_, 0, h);
            auto out = head_of(phi, 1, heads_, 0, h);
            out.noalias() = scaled * w_.transpose();
            for (Index t = 0; t < x.rows(); ++t) {
                auto row = out.row(t).array();
                const T shift = is_query ? row.maxCoeff() : scaled.row(t).squaredNorm() / T(2);
                row = ((row - shift).exp() + T(kFloor)) * output_scale();
            }
        }
    }

    /// The gradient with respect to x, given phi(x) and the gradient with respect to it.
    void backward(const Matrix<T>& x, const Matrix<T>& phi, const Matrix<T>& dphi, Matrix<T>& dx, bool is_query) const {
        if (!is_random_) {
            dx = dphi.cwiseProduct(phi.cwiseMin(T(1)));  // exp(x) below 0, 1 above
            return;
        }
        dx.resize(x.rows(), x.cols());
        Matrix<T> d;
        for (Index h = 0; h < heads_; ++h) {
            const auto hx = head_of(x, 1, heads_, 0, h);
            const auto hphi = head_of(phi, 1, heads_, 0, h);
            auto hdx = head_of(dx, 1, heads_, 0, h);
            d = head_of(dphi, 1, heads_, 0, h).array() * (hphi.array() - T(kFloor) * output_scale());
            if (is_query)
                for (Index t = 0; t < x.rows(); ++t) {
                    Index largest;
                    hphi.row(t).maxCoeff(&largest);
                    d(t, largest) -= d.row(t).sum();
                }
            hdx.noalias() = input_scale() * (d * w_);
            // The term -|x|^2 / 2, which the largest exponent of a query takes away again.
            if (!is_query)
                for (Index t = 0; t < x.rows(); ++t)
                    hdx.row(t) -= d.row(t).sum() * input_scale() * input_scale() * hx.row(t);
        }
    }

 private:
    static constexpr double kFloor = 1e-4;
    T input_scale() const { return std::pow(static_cast<T>(w_.cols()), T(-0.25)); }
    T output_scale() const { return T(1) / std::sqrt(static_cast<T>(width_)); }

    /// Rows as long as normal vectors, and orthogonal within each block of head_dim rows.
    void draw(Index head_dim, std::uint64_t seed) {
        Eigen::MatrixXd w(width_, head_dim);
        std::uint64_t place = 0;
        const auto next = [&] { return normal(mix(seed, 0xFA70), place++); };
        for (Index i = 0; i < width_; ++i) {
            Eigen::RowVectorXd direction(head_dim), length(head_dim);
            for (Index j = 0; j < head_dim; ++j) direction[j] = next();
            for (Index j = 0; j < head_dim; ++j) length[j] = next();
            for (Index other = i / head_dim * head_dim; other < i; ++other)  // Gram-Schmidt
                direction -= direction.dot(w.row(other)) / w.row(other).squaredNorm() * w.row(other);
            w.row(i) = direction.normalized() * length.norm();
        }
        w_ = w.template cast<T>();
    }

    bool is_random_;
    Index heads_, width_;
    Matrix<T> w_;  // [width, head_dim]
};

template <class T>
struct LinearAttention {
    Index batch, heads;

    /// Features q and k, their rotated copies rq and rk (the same where nothing rotates), and v. Keeps the products,
    /// [batch * heads * seq, seq], and the denominators, [batch * seq, heads], for the gradient.
    void forward(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& rq, const Matrix<T>& rk, const Matrix<T>& v,
                 Matrix<T>& products, Matrix<T>& denominators, Matrix<T>& out) const {
        const Index seq = q.rows() / batch;
        products.resize(batch * heads * seq, seq);
        denominators.resize(q.rows(), heads);
        out.resize(v.rows(), v.cols());
        for (Index bh = 0; bh < batch * heads; ++bh) {
            const Index b = bh / heads, h = bh % heads;
            const auto hq = head_of(q, batch, heads, b, h), hk = head_of(k, batch, heads, b, h),
                       hrq = head_of(rq, batch, heads, b, h), hrk = head_of(rk, batch, heads, b, h),
                       hv = head_of(v, batch, heads, b, h);
            auto hout = head_of(out, batch, heads, b, h);
            Vector<T> keys = Vector<T>::Zero(hk.cols());
            for (Index i = 0; i < seq; ++i) {
                keys += hk.row(i).transpose();
                denominators(b * seq + i, h) = hq.row(i).dot(keys);
            }
            for_blocks_of_queries(seq, [&](Index first, Index count, Index seen) {
                auto s = products.block(bh * seq + first, 0, count, seen);
                s.noalias() = hrq.middleRows(first, count) * hrk.topRows(seen).transpose();
                for (Index i = 0; i < count; ++i) s.row(i).tail(seen - first - i - 1).setZero();
                hout.middleRows(first, count).noalias() = s * hv.topRows(seen);
                for (Index i = first; i < seen; ++i) hout.row(i) /= denominators(b * seq + i, h);
            });
        }
    }

    /// Writes the gradients of numerator (drq, drk, dv) and denominator (dq, dk).
    void backward(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& rq, const Matrix<T>& rk, const Matrix<T>& v,
                  const Matrix<T>& products, const Matrix<T>& denominators, const Matrix<T>& out, const Matrix<T>& dout,
                  Matrix<T>& dq, Matrix<T>& dk, Matrix<T>& drq, Matrix<T>& drk, Matrix<T>& dv) const {
        const Index seq = q.rows() / batch;
        dq.resize(q.rows(), q.cols());
        dk.resize(q.rows(), q.cols());
        drq.resize(q.rows(), q.cols());
        drk.setZero(q.rows(), q.cols());
        dv.setZero(v.rows(), v.cols());
        Matrix<T> dnumerator, ds;
        Vector<T> ddenominator(seq);
        for (Index bh = 0; bh < batch * heads; ++bh) {
            const Index b = bh / heads, h = bh % heads;
            const auto hq = head_of(q, batch, heads, b, h), hk = head_of(k, batch, heads, b, h),
                       hrq = head_of(rq, batch, heads, b, h), hrk = head_of(rk, batch, heads, b, h),
                       hv = head_of(v, batch, heads, b, h), hout = head_of(out, batch, heads, b, h),
                       hdout = head_of(dout, batch, heads, b, h);
            auto hdq = head_of(dq, batch, heads, b, h), hdk = head_of(dk, batch, heads, b, h),
                 hdrq = head_of(drq, batch, heads, b, h), hdrk = head_of(drk, batch, heads, b, h),
                 hdv = head_of(dv, batch, heads, b, h);
            dnumerator = hdout;
            Vector<T> keys = Vector<T>::Zero(hk.cols()), queries = keys;
            for (Index i = 0; i < seq; ++i) {
                const T denominator = denominators(b * seq + i, h);
                dnumerator.row(i) /= denominator;
                ddenominator[i] = -hdout.row(i).dot(hout.row(i)) / denominator;
                keys += hk.row(i).transpose();
                hdq.row(i) = ddenominator[i] * keys.transpose();
            }
            for (Index i = seq - 1; i >= 0; --i) {
                queries += ddenominator[i] * hq.row(i).transpose();
                hdk.row(i) = queries.transpose();
            }
            for_blocks_of_queries(seq, [&](Index first, Index count, Index seen) {
                const auto s = products.block(bh * seq + first, 0, count, seen);
                ds.noalias() = dnumerator.middleRows(first, count) * hv.topRows(seen).transpose();
                for (Index i = 0; i < count; ++i) ds.row(i).tail(seen - first - i - 1).setZero();
                hdv.topRows(seen).noalias() += s.transpose() * dnumerator.middleRows(first, count);
                hdrq.middleRows(first, count).noalias() = ds * hrk.topRows(seen);
                hdrk.topRows(seen).noalias() += ds.transpose() * hrq.middleRows(first, count);
            });
        }
    }
};

}  // namespace train
