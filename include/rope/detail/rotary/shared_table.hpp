// SPDX-License-Identifier: MIT
// Definitions of shared_table.hpp: the tables of a process, found by the bits of their description.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "../../config.hpp"
#include "../../cos_sin_cache.hpp"
#include "../../frequencies.hpp"
#include "../../list.hpp"
#include "../../shared_table.hpp"
#include "../../types.hpp"
#include "../base/bits.hpp"
#include "../base/mutex.hpp"
#include "../tables/build_position_table.hpp"
#include "../tables/position_table.hpp"

ROPE_BEGIN

// All translation units share the tables, so these classes have one name; their functions are tagged.
namespace detail {

template <class T>
struct SharedTable {
    ROPE_ABI SharedTable(const Frequencies& f, HeadSlice s, const CosSinCache<T>& t)
        : frequencies(f), slice(s), table(t) {}
    ROPE_ABI ~SharedTable() = default;
    SharedTable(const SharedTable&) = delete;
    SharedTable& operator=(const SharedTable&) = delete;

    const Frequencies frequencies;
    const HeadSlice slice;
    CosSinCache<T> table;
    std::uint64_t last_call = 0;
};

inline constexpr int kSharedTables = 64;
inline constexpr Index kSharedBytes = Index(1) << 30;

/// Plain data, and never destroyed, so that static objects may use tables to their end.
template <class T>
struct SharedTables {
    Mutex reading;  // of what is below; held for as long as it takes to find a table
    Mutex making;   // held by the one thread that makes a table, or drops some
    std::uint64_t calls = 0;
    SharedTable<T>* tables[kSharedTables] = {};  // null where there is none
};
template <class T>
inline SharedTables<T> shared_tables = {};

inline namespace ROPE_DETAIL_NAMESPACE {

inline bool have_same_bits(double a, double b) noexcept {
    return bit_cast<std::uint64_t>(a) == bit_cast<std::uint64_t>(b);
}
inline bool have_same_bits(const List<double>& a, const List<double>& b) noexcept {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}
/// Whether two descriptions are the same. -0.0 is not 0.0: its sines are others.
inline bool have_same_bits(const Frequencies& a, const Frequencies& b) noexcept {
    return have_same_bits(a.inv_freq, b.inv_freq) && have_same_bits(a.inv_freq_low, b.inv_freq_low) &&
           have_same_bits(a.attention_factor, b.attention_factor) && have_same_bits(a.log_growth, b.log_growth) &&
           have_same_bits(a.log_growth_low, b.log_growth_low) && have_same_bits(a.centre, b.centre) &&
           a.lacks_log_scale == b.lacks_log_scale;
}

/// The table of a description, or null. One of the two mutexes must be held.
template <class T>
SharedTable<T>* find_shared_table(const SharedTables<T>& all, const Frequencies& f, HeadSlice slice) noexcept {
    for (SharedTable<T>* const t : all.tables)
        if (t != nullptr && t->slice.head_dim == slice.head_dim && t->slice.rotary_offset == slice.rotary_offset &&
            have_same_bits(t->frequencies, f))
            return t;
    return nullptr;
}

/// The rows of a longer table, which is to have at least `count`: twice those of now, if that is allowed.
template <class T>
Index grown_count(const CosSinCache<T>& now, const Frequencies& f, Index count) noexcept {
    const Index most = kSharedBytes / (2 * now.pairs() * static_cast<Index>(sizeof(T)));
    const Index twice = std::min(2 * now.max_positions(), most);
    return twice > count && check_growth_in_table(f, twice, 0).ok() ? twice : count;
}

/// Takes out the tables whose last calls lie farthest back, until there is room for one more of `bytes`. `reading` must be
/// held; who calls deletes them.
template <class T>
void make_room(SharedTables<T>& all, Index bytes, const SharedTable<T>* kept,
               SharedTable<T>* (&out)[kSharedTables]) noexcept {
    for (SharedTable<T>*& place : out) {
        int count = 0;
        Index sum = bytes;
        SharedTable<T>** oldest = nullptr;
        for (SharedTable<T>*& t : all.tables) {
            if (t == nullptr || t == kept) continue;
            ++count;
            sum += static_cast<Index>(t->table.bytes());
            if (oldest == nullptr || t->last_call < (*oldest)->last_call) oldest = &t;
        }
        if (oldest == nullptr || (count < kSharedTables && sum <= kSharedBytes)) return;
        place = *oldest;
        *oldest = nullptr;
    }
}

template <class T>
void drop_tables(SharedTables<T>& all) {
    SharedTable<T>* out[kSharedTables] = {};
    const std::lock_guard<Mutex> lock_making(all.making);
    {
        const std::lock_guard<Mutex> lock(all.reading);
        for (int i = 0; i < kSharedTables; ++i) {
            out[i] = all.tables[i];
            all.tables[i] = nullptr;
        }
    }
    for (const SharedTable<T>* const t : out) delete t;
}

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

#if ROPE_HAS_DEFINITIONS
template <class T>
ROPE_API CosSinCache<T> shared_table(const Frequencies& frequencies, Index max_positions, HeadSlice slice) {
    using Table = detail::SharedTable<T>;
    detail::SharedTables<T>& all = detail::shared_tables<T>;
    if (slice.head_dim == 0) slice.head_dim = 2 * static_cast<Index>(frequencies.inv_freq.size());
    const auto is_there = [&](const Table* t) {
        return t != nullptr && max_positions >= 1 && max_positions <= t->table.max_positions();
    };
    {
        const std::lock_guard<detail::Mutex> lock(all.reading);
        Table* const t = detail::find_shared_table(all, frequencies, slice);
        if (t != nullptr) t->last_call = ++all.calls;
        if (is_there(t)) return t->table;
    }
    const std::lock_guard<detail::Mutex> lock_making(all.making);
    Table* const now = detail::find_shared_table(all, frequencies, slice);  // written below only
    if (is_there(now)) return now->table;                                   // another thread was faster
    const bool grows = now != nullptr && max_positions >= 1;
    const CosSinCache<T> made =
        grows ? now->table.extended(frequencies, detail::grown_count(now->table, frequencies, max_positions))
              : CosSinCache<T>(frequencies, max_positions, slice);
    const Index bytes = static_cast<Index>(made.bytes());
    if (made.max_positions() < max_positions || max_positions < 1 || bytes > detail::kSharedBytes) return made;
    Table* const added = grows ? nullptr : new Table(frequencies, slice, made);
    Table* out[detail::kSharedTables] = {};
    {
        const std::lock_guard<detail::Mutex> lock(all.reading);
        detail::make_room(all, bytes, now, out);
        if (grows) {
            now->table = made;
        } else {
            added->last_call = ++all.calls;
            int free = 0;
            while (all.tables[free] != nullptr) ++free;
            all.tables[free] = added;
        }
    }
    for (const Table* const t : out) delete t;
    return made;
}

ROPE_API void drop_shared_tables() {
    detail::drop_tables(detail::shared_tables<float>);
    detail::drop_tables(detail::shared_tables<double>);
}

#endif

ROPE_END
