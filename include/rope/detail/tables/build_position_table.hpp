// SPDX-License-Identifier: MIT
// Definitions of PositionTable.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../types.hpp"
#include "fill_table.hpp"
#include "position_table.hpp"
#include "table_memory.hpp"
#include "table_source.hpp"

ROPE_DETAIL_BEGIN

/// Requires a magnitude that stays a number.
inline Status check_growth_in_table(const Frequencies& f, Index count, Index first_position) noexcept {
    const double first = static_cast<double>(first_position) - f.centre;
    const double last = first + (static_cast<double>(count) - 1.0);  // any count
    const double farthest = std::max(std::fabs(first), std::fabs(last));
    for (std::size_t i = 0; i < f.log_growth.size(); ++i)
        if (std::fabs(f.log_growth[i]) * farthest > 64.0)
            return invalid(
                "At {} positions from the centre the growing magnitude (xPos; log_growth[{}] is {}) would leave "
                "e^-64 .. e^64; a table must stay nearer to it.",
                {farthest, i, f.log_growth[i]});
    return Status();
}

inline Status check_position(Index position, Index first, Index count) noexcept {
    const Index last = first + count - 1;
    if (position >= first && position <= last) return Status();
    return out_of_range("position is {}; this cache holds positions {} to {}.", {position, first, last});
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_SOURCE_BEGIN

template <class T>
T* PositionTable<T>::row(Index i) const noexcept {
    return table_.get() + i * 2 * this->pairs_;
}
template <class T>
std::size_t PositionTable<T>::row_bytes() const noexcept {
    return static_cast<std::size_t>(2 * this->pairs_) * sizeof(T);
}

template <class T>
void PositionTable<T>::allocate(Index count, Index first) {
    const Index row_size = 2 * this->pairs_;
    ok_or_raise(check_max_positions(count));
    ok_or_raise(check_table_size("max_positions", count, count, row_size, sizeof(T)));
    ok_or_raise(check_first_position(count, first));
    table_ = table_memory<T>(count, row_size);
    if (table_ == nullptr) refuse(no_memory(count, row_size, sizeof(T)));
    this->source_ = {table_.get(), table_.get() + this->pairs_, row_size, first, 0, nullptr, 0};
    this->count_ = count;
}

template <class T>
void PositionTable<T>::fill(const Frequencies& f, Index begin) {
    const Index first = this->source_.first + begin, count = this->count_ - begin;
    if constexpr (std::is_same_v<T, float>)
        if (is_chain_) return fill_float32_chain(f, first, count, row(begin));
    if (!fill_cos_sin_table(f, first, count, row(begin))) refuse(no_memory(this->count_, 2 * this->pairs_, sizeof(T)));
}

template <class T>
Status PositionTable<T>::check_extension(Index count) const noexcept {
    if (is_chain_)
        return invalid(
            "max_positions is {}; a table of the float32 chain has {} for good, because its rows do not follow "
            "from frequencies alone.",
            {count, this->count_});
    if (longest_ == kNoLongest || count <= longest_ - this->source_.first) return Status();
    return invalid(
        "max_positions is {}; the frequencies of this table are for sequences of at most {} {token|tokens}: longer "
        "ones need a table made for their seq_len.",
        {count, longest_});
}

template <class T>
Status PositionTable<T>::check_rows_of(const Frequencies& f, Index count) const {
    const Index row_size = 2 * this->pairs_;
    const bool has_pairs = 2 * static_cast<Index>(f.inv_freq.size()) == row_size;
    const std::unique_ptr<T[]> again(new (std::nothrow) T[static_cast<std::size_t>(row_size)]);
    for (const Index i : {Index(0), this->count_ - 1}) {
        if (has_pairs && (!again || !fill_cos_sin_table(f, this->source_.first + i, 1, again.get())))
            return no_memory(count, row_size, sizeof(T));
        if (!has_pairs || std::memcmp(again.get(), row(i), row_bytes()) != 0)
            return invalid("frequencies are not those that this table was made of: row {} would be another.", {i});
    }
    return Status();
}

template <class T>
void PositionTable<T>::build(const TableSource& s, Index count, Index first) {
    const Index pairs = static_cast<Index>(s.f.inv_freq.size());
    HeadSlice slice = s.slice;
    ok_or_raise(s.status);
    ok_or_raise(check_last_position(s, count, first));
    ok_or_raise(check_growth_in_table(s.f, count, first));
    ok_or_raise(check_slice(slice, pairs));
    this->describe(s, slice, pairs);
    longest_ = s.longest;
    is_chain_ = s.is_float32_chain;
    allocate(count, first);
    fill(s.f, 0);
}

template <class T>
ROPE_API void PositionTable<T>::build(const GivenSource& given, bool is_float32_chain, Index count, Index first) {
    build(is_float32_chain ? float32_source(*given.config, given.seq_len) : table_source(given), count, first);
}

template <class T>
ROPE_API void PositionTable<T>::extend(const Frequencies& f, Index count) {
    if (count <= this->count_) return;
    ok_or_raise(check(f));
    ok_or_raise(check_extension(count));
    ok_or_raise(check_rows_of(f, count));
    ok_or_raise(check_growth_in_table(f, count, this->source_.first));
    const PositionTable before = *this;
    allocate(count, this->source_.first);
    std::memcpy(table_.get(), before.table_.get(), static_cast<std::size_t>(before.count_) * row_bytes());
    fill(f, before.count_);
}

template <class T>
ROPE_API const T* PositionTable<T>::find(Index position, Index i) const {
    ok_or_raise(check_position(position, this->source_.first, this->count_));
    return row(position - this->source_.first) + i;
}

ROPE_SOURCE_END
#endif
