// SPDX-License-Identifier: MIT
// CosSinRows: cos and sin of every pair at some positions, whoever made them.
#pragma once

#include <optional>

#include "fwd.hpp"
#include "types.hpp"

#include "detail/base/row_source.hpp"

ROPE_BEGIN

/// The common base of all tables of cos and sin, as apply and the other operations see them. CosSinCache is the table
/// by position, CompactCosSinCache the table for millions of positions, and Rows has one row per token of a step.
/// Programs make no object of this class.
///
/// T is float, for data in float, half and bfloat16, or double, for data in double.
template <class T>
class CosSinRows {
 public:
    /// Pairs that rotate: half of rotary_dim().
    ROPE_ABI Index pairs() const noexcept { return pairs_; }
    /// Features of a head; every call must have as many.
    ROPE_ABI Index head_dim() const noexcept { return head_dim_; }
    /// Features of a head that rotate.
    ROPE_ABI Index rotary_dim() const noexcept { return 2 * pairs_; }
    /// The first feature of a head that rotates.
    ROPE_ABI Index rotary_offset() const noexcept { return rotary_offset_; }
    /// The magnitude m that the entries contain.
    ROPE_ABI double attention_factor() const noexcept { return attention_factor_; }
    /// Whether the magnitude also depends on the position (xPos). Such a table has no apply_inverse: the inverse of a
    /// query's rotation is apply_transpose with the table for keys, and the reverse, / m^2.
    ROPE_ABI bool magnitude_grows() const noexcept { return grows_; }
    /// The layout that calls must have, if the Config named one.
    ROPE_ABI std::optional<Layout> layout() const noexcept { return layout_; }

 protected:
    ROPE_ABI CosSinRows() noexcept = default;
    ROPE_ABI CosSinRows(const CosSinRows&) noexcept = default;
    ROPE_ABI CosSinRows& operator=(const CosSinRows&) noexcept = default;

    detail::RowSource<T> source_ = {};
    Index count_ = 0;  // positions, from source_.first on; with source_.entry, of each batch entry
    Index batch_ = 0;  // entries that a call must have; 0: any
    Index heads_ = 0;  // with rows of their own, of which a call has a multiple; 0: all heads share rows
    Index pairs_ = 0;
    Index head_dim_ = 0;
    Index rotary_offset_ = 0;
    double attention_factor_ = 1.0;
    const char* name_ = "cache";  // as messages call it
    bool grows_ = false;
    bool by_position_ = true;  // a row for each position on one axis; else for each token, wherever that stands
    std::optional<Layout> layout_;

 private:
    friend struct detail::RowsAccess;
};

ROPE_END

ROPE_DETAIL_BEGIN

/// For the functions that rotate with these rows.
struct RowsAccess {
    template <class T>
    static const RowSource<T>& source(const CosSinRows<T>& rows) noexcept {
        return rows.source_;
    }
    template <class T>
    static Index count(const CosSinRows<T>& rows) noexcept {
        return rows.count_;
    }
    template <class T>
    static Index batch(const CosSinRows<T>& rows) noexcept {
        return rows.batch_;
    }
    template <class T>
    static Index heads(const CosSinRows<T>& rows) noexcept {
        return rows.heads_;
    }
    template <class T>
    static bool is_by_position(const CosSinRows<T>& rows) noexcept {
        return rows.by_position_;
    }
    template <class T>
    static const char* name(const CosSinRows<T>& rows) noexcept {
        return rows.name_;
    }
};

ROPE_DETAIL_END
