// SPDX-License-Identifier: MIT
// TableSource: the numbers that rows of cos and sin are made from, whoever gave them.
#pragma once

#include <optional>

#include "../../config.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../types.hpp"
#include "../angles/frequencies.hpp"
#include "sourced_rows.hpp"

ROPE_SOURCE_BEGIN

struct TableSource {
    ROPE_CROSSES_AGGREGATE(TableSource)
    Status status = {};  // why there are no frequencies; who makes a table raises it
    Frequencies f = {};
    HeadSlice slice = {};
    std::optional<Layout> layout = {};
    Index longest = kNoLongest;      // sequence that the frequencies are for
    const char* schedule = nullptr;  // name in the Config; null for given frequencies
    Index seq_len = 0;               // given with the Config
    bool is_float32_chain = false;   // entries are rounded as eager float32 frameworks round them
    Index heads = 0;                 // with frequencies of their own; 0: all share
};

ROPE_SOURCE_END

ROPE_DETAIL_BEGIN

inline TableSource table_source(const Config& config, Index seq_len) {
    TableSource s;
    s.status = make_frequencies(config, seq_len, s.f);
    s.slice = {config.head_dim, config.rotary_offset};
    s.layout = config.layout;
    s.longest = longest_sequence(config.schedule, seq_len);
    s.schedule = schedule_name(config.schedule);
    s.seq_len = seq_len;
    return s;
}
inline TableSource table_source(const Frequencies& frequencies, HeadSlice slice, Index heads = 0) {
    TableSource s = {check(frequencies), frequencies, slice};
    s.heads = heads;
    return s;
}
inline TableSource table_source(const GivenSource& given) {
    return given.config != nullptr ? table_source(*given.config, given.seq_len)
                                   : table_source(*given.frequencies, given.slice, given.heads);
}

/// Tables hold positions from -2^62 to 2^62.
inline constexpr Index kLastPosition = kMaxIndex / 2 + 1;

inline Status check_max_positions(Index max_positions) noexcept {
    if (max_positions >= 1) return Status();
    return invalid("max_positions is {}; it must be at least 1.", {max_positions});
}
/// For at least one position.
inline Status check_first_position(Index max_positions, Index first_position) noexcept {
    if (first_position >= -kLastPosition && first_position <= kLastPosition - max_positions) return Status();
    return invalid("first_position is {}; the {} {position|positions} from there must lie between -2^62 and 2^62.",
                   {first_position, max_positions});
}
/// Requires frequencies that are for the last position of a table.
inline Status check_last_position(const TableSource& s, Index max_positions, Index first_position) noexcept {
    if (max_positions < 1 || first_position > kLastPosition - max_positions) return Status();  // refused later
    if (first_position + max_positions <= s.longest) return Status();
    return invalid(
        "seq_len is {}; with this schedule ({}) its frequencies are for sequences of at most {} {token|tokens}, and "
        "the table is to hold positions up to {}: name the longest sequence as seq_len.",
        {s.seq_len, s.schedule, s.longest, first_position + max_positions - 1});
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_SOURCE_BEGIN

template <class T>
void SourcedRows<T>::describe(const TableSource& s, HeadSlice slice, Index pairs) noexcept {
    this->pairs_ = pairs;
    this->head_dim_ = slice.head_dim;
    this->rotary_offset_ = slice.rotary_offset;
    this->attention_factor_ = s.f.attention_factor;
    this->grows_ = !s.f.log_growth.empty();
    this->layout_ = s.layout;
}

ROPE_SOURCE_END
#endif
