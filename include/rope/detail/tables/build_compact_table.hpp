// SPDX-License-Identifier: MIT
// Definitions of CompactTable.
#pragma once

#include <cmath>
#include <memory>
#include <utility>

#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "build_position_table.hpp"
#include "compact_table.hpp"
#include "fill_table.hpp"
#include "table_memory.hpp"
#include "table_source.hpp"

ROPE_DETAIL_BEGIN

inline Status check_can_combine(const Frequencies& f) noexcept {
    if (f.log_growth.empty()) return Status();
    return invalid(
        "The magnitude grows with the position (xPos, log_growth); a compact table has one for all positions: use "
        "CosSinCache or Rows.");
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

template <class T>
ROPE_API void CompactTable<T>::build(const GivenSource& given, Index max_positions, Index first_position) {
    const TableSource s = table_source(given);
    const Index pairs = static_cast<Index>(s.f.inv_freq.size()), row_size = 2 * pairs;
    HeadSlice slice = s.slice;
    ok_or_raise(s.status);
    ok_or_raise(check_last_position(s, max_positions, first_position));
    ok_or_raise(check_slice(slice, pairs));
    ok_or_raise(check_can_combine(s.f));
    ok_or_raise(check_max_positions(max_positions));
    ok_or_raise(check_first_position(max_positions, first_position));
    int bits = 0;
    while (max_positions >> bits >> bits > 3) ++bits;
    const Index fine = Index(1) << bits;
    const Index coarse = ((max_positions - 1) >> bits) + 1;
    ok_or_raise(check_table_size("max_positions", max_positions, fine + coarse, row_size, sizeof(T)));
    // A position is a multiple of 2^bits and a rest. Coarse rows are for the multiples, and contain m; fine rows
    // are for the rest and for first_position.
    Frequencies of_fine = s.f, of_coarse = s.f;
    of_fine.attention_factor = 1.0;
    for (double& w : of_coarse.inv_freq) w = std::ldexp(w, bits);
    for (double& w : of_coarse.inv_freq_low) w = std::ldexp(w, bits);
    table_ = table_memory<T>(fine + coarse, row_size);
    T* const to = table_.get();
    if (to == nullptr || !fill_cos_sin_table(of_fine, first_position, fine, to) ||
        !fill_cos_sin_table(of_coarse, 0, coarse, to + fine * row_size))
        refuse(no_memory(fine + coarse, row_size, sizeof(T)));
    rows_ = fine + coarse;
    this->describe(s, slice, pairs);
    const T* const first_coarse = to + fine * row_size;
    this->source_ = {first_coarse, first_coarse + pairs, row_size, first_position, 0, to, bits};
    this->count_ = max_positions;
}

template <class T>
ROPE_API void CompactTable<T>::combine(Index position, T* cos, T* sin) const {
    const RowSource<T>& rows = this->source_;
    ok_or_raise(check_position(position, rows.first, this->count_));
    const Index block = (position - rows.first) >> rows.fine_bits;
    const Index within = (position - rows.first) - (block << rows.fine_bits);
    const T* const cos1 = rows.cos + block * rows.stride;
    const T* const sin1 = rows.sin + block * rows.stride;
    const T* const cos2 = rows.fine + within * rows.stride;
    const T* const sin2 = cos2 + this->pairs_;
    for (Index i = 0; i < this->pairs_; ++i) {
        cos[i] = fused(cos1[i], cos2[i], -hide_from_optimizer(sin1[i] * sin2[i]));
        sin[i] = fused(sin1[i], cos2[i], hide_from_optimizer(cos1[i] * sin2[i]));
    }
}

ROPE_SOURCE_END
