// SPDX-License-Identifier: MIT
// PagedCache: keys in int8 and values in bfloat16, in pages that all sequences of a batch share.
#pragma once

#include <Eigen/Core>
#include <rope/rope.hpp>
#include <vector>

using rope::Index;

constexpr Index kHeads = 8, kKvHeads = 2, kHeadDim = 64, kPageSize = 16;
constexpr Index kWidth = kHeads * kHeadDim;  // of the queries of a token
constexpr rope::Layout kLayout = rope::Layout::half_split;

template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::RowVectorXf;

/// A projection's result, a row for each token: kHeads heads of queries, kKvHeads of keys and kKvHeads of values.
using Tokens = Rows<float>;
constexpr Index kTokenWidth = (kHeads + 2 * kKvHeads) * kHeadDim;

/// Slots of tokens in their order. Slot s is place s % kPageSize of page s / kPageSize.
using Slots = std::vector<Index>;

/// The cache of one layer.
class PagedCache {
 public:
    /// The table, which was made of the configuration, must live as long.
    PagedCache(const rope::Config& config, const rope::CosSinCache<float>& cos_sin, Index pages);

    /// Everything between the projection and attention: queries are rotated and scaled in place, keys are rotated and
    /// quantised into their slots, and values are rounded into theirs. A token whose slot is -1 is not written.
    void write(Tokens& tokens, const rope::Positions& positions, const Slots& slots);

    /// Copies tokens from slots of one sequence to slots of another, whose positions are `distance` behind theirs: keys move
    /// on the way, in int8.
    void copy(const Slots& from, const Slots& to, Index distance);

    /// The attention output of a token over the tokens in these slots, its own included: kWidth features, as in `query`.
    Row attend(const Row& query, const Slots& slots) const;

 private:
    rope::Destination keys(const Slots& slots);
    rope::Destination values(const Slots& slots);

    const rope::CosSinCache<float>& cos_sin_;
    rope::Moves<float> moves_;
    Index pages_;
    // Row s is slot s, in which the heads lie side by side.
    Rows<signed char> key_codes_;
    Rows<float> key_scales_;  // one for each head
    Rows<Eigen::bfloat16> values_;
};
