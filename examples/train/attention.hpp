// SPDX-License-Identifier: MIT
// Causal softmax attention and its gradient, over q and k, already rotated, and v.
#pragma once

#include <algorithm>
#include <cmath>

#include "shape.hpp"

namespace train {

/// Calls f(first, count, seen) for blocks of queries that see only keys before `seen`: about half of all pairs of query
/// and key is never computed.
template <class F>
void for_blocks_of_queries(Index seq, const F& f) {
    constexpr Index rows = 64;
    for (Index first = 0; first < seq; first += rows) {
        const Index count = std::min(rows, seq - first);
        f(first, count, first + count);
    }
}

/// The first key that a query sees in a window of so many keys, its own included. A window of 0 has no limit.
inline Index first_key(Index query, Index window) { return window > 0 ? std::max<Index>(0, query - window + 1) : 0; }

/// One head of one sequence of [batch * seq, heads * width].
template <class M>
auto head_of(M& x, Index batch, Index heads, Index b, Index h) {
    const Index seq = x.rows() / batch, width = x.cols() / heads;
    return x.block(b * seq, h * width, seq, width);
}

template <class T>
struct SoftmaxAttention {
    Index batch, heads, window = 0;

    /// `weights`, [batch * heads * seq, seq], is kept for the gradient. A row is written from the first key of its block's
    /// first query to the end of its block; the other entries mean nothing.
    void forward(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, const Matrix<T>& bias, Matrix<T>& weights,
                 Matrix<T>& out) const {
        const Index seq = q.rows() / batch;
        const T scale = T(1) / std::sqrt(static_cast<T>(q.cols() / heads));
        weights.resize(batch * heads * seq, seq);
        out.resize(q.rows(), q.cols());
        for (Index bh = 0; bh < batch * heads; ++bh) {
            const Index h = bh % heads;
            const auto hq = head_of(q, batch, heads, bh / heads, h), hk = head_of(k, batch, heads, bh / heads, h),
                       hv = head_of(v, batch, heads, bh / heads, h);
            auto hout = head_of(out, batch, heads, bh / heads, h);
            for_blocks_of_queries(seq, [&](Index first, Index count, Index seen) {
                const Index begin = first_key(first, window), keys = seen - begin;
                auto s = weights.block(bh * seq + first, begin, count, keys);
                s.noalias() = scale * (hq.middleRows(first, count) * hk.middleRows(begin, keys).transpose());
                for (Index i = 0; i < count; ++i) {
                    const Index hidden = first_key(first + i, window) - begin, visible = first + i + 1 - begin - hidden;
                    auto row = s.row(i).segment(hidden, visible);
                    if (bias.cols() > 0) row += bias.row(h).tail(visible);
                    row.array() = (row.array() - row.maxCoeff()).exp();
                    row /= row.sum();
                    s.row(i).head(hidden).setZero();                   // keys before the window
                    s.row(i).tail(keys - hidden - visible).setZero();  // keys that come later
                }
                hout.middleRows(first, count).noalias() = s * hv.middleRows(begin, keys);
            });
        }
    }

    /// Writes dq, dk and dv, and adds to dbias where the scores have a bias.
    void backward(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, const Matrix<T>& weights,
                  const Matrix<T>& out, const Matrix<T>& dout, Matrix<T>& dq, Matrix<T>& dk, Matrix<T>& dv,
                  Matrix<T>& dbias) const {
        const Index seq = q.rows() / batch;
        const T scale = T(1) / std::sqrt(static_cast<T>(q.cols() / heads));
        dq.resize(q.rows(), q.cols());
        dk.setZero(q.rows(), q.cols());
        dv.setZero(q.rows(), q.cols());
        Matrix<T> ds;
        for (Index bh = 0; bh < batch * heads; ++bh) {
            const Index b = bh / heads, h = bh % heads;
            const auto hq = head_of(q, batch, heads, b, h), hk = head_of(k, batch, heads, b, h),
                       hv = head_of(v, batch, heads, b, h), hout = head_of(out, batch, heads, b, h),
                       hdout = head_of(dout, batch, heads, b, h);
            auto hdq = head_of(dq, batch, heads, b, h), hdk = head_of(dk, batch, heads, b, h),
                 hdv = head_of(dv, batch, heads, b, h);
            for_blocks_of_queries(seq, [&](Index first, Index count, Index seen) {
                const Index begin = first_key(first, window), keys = seen - begin;
                const auto s = weights.block(bh * seq + first, begin, count, keys);
                ds.noalias() = hdout.middleRows(first, count) * hv.middleRows(begin, keys).transpose();
                for (Index i = 0; i < count; ++i) {
                    const T mean = hdout.row(first + i).dot(hout.row(first + i));
                    ds.row(i).array() = s.row(i).array() * (ds.row(i).array() - mean);
                    const Index hidden = first_key(first + i, window) - begin, visible = first + i + 1 - begin - hidden;
                    if (dbias.cols() > 0) dbias.row(h).tail(visible) += ds.row(i).segment(hidden, visible);
                }
                hdv.middleRows(begin, keys).noalias() += s.transpose() * hdout.middleRows(first, count);
                hdq.middleRows(first, count).noalias() = scale * (ds * hk.middleRows(begin, keys));
                hdk.middleRows(begin, keys).noalias() += scale * (ds.transpose() * hq.middleRows(first, count));
            });
        }
    }
};

}  // namespace train
