// SPDX-License-Identifier: MIT
// Definitions of DataRows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "../../errors.hpp"
#include "../../types.hpp"
#include "../angles/config_checks.hpp"
#include "../angles/phase.hpp"
#include "../base/executor.hpp"
#include "../positions/position_checks.hpp"
#include "../tables/table_memory.hpp"
#include "../views/view_checks.hpp"
#include "data_rows.hpp"

ROPE_DETAIL_BEGIN

/// A number of a view, exactly.
inline double number_at(const AnyView& v, Index offset) noexcept {
    const void* const at = v.at(offset);
    switch (v.type) {
        case ElementType::f64: return Element<double, double>::load(static_cast<const double*>(at));
        case ElementType::f16: return static_cast<double>(Element<float, half>::load(static_cast<const half*>(at)));
        case ElementType::bf16:
            return static_cast<double>(Element<float, bfloat16>::load(static_cast<const bfloat16*>(at)));
        default: return static_cast<double>(Element<float, float>::load(static_cast<const float*>(at)));
    }
}

inline void put_cos_sin(Phase angle, double& cos, double& sin) noexcept {
    const CosSin<DoubleDouble> exact = cos_sin(angle);
    cos = exact.cos.hi;
    sin = exact.sin.hi;
}
/// In double, with an error below 2^-50 of each entry: terms up to x^18 / 18! reach 2^-58.
inline void put_cos_sin(Phase angle, float& cos, float& sin) noexcept {
    const Quartered of = quartered(angle);
    const double x = hide_from_optimizer(kTwoPi.hi * of.fraction.hi);
    const double minus_x2 = -hide_from_optimizer(x * x);
    const auto series = [minus_x2](int n) {
        double sum = kInverseFactorial[n].hi;
        for (n -= 2; n >= 0; n -= 2) sum = hide_from_optimizer(sum * minus_x2) + kInverseFactorial[n].hi;
        return sum;
    };
    const CosSin<double> entry = from_rest(of, series(18), hide_from_optimizer(x * series(17)));
    cos = static_cast<float>(entry.cos);
    sin = static_cast<float>(entry.sin);
}

/// An entry takes as long as so many entries of other rows.
inline constexpr Index kSlowEntry = 64;

/// One row for each token of `angles`; with sums, of what they have added up to.
template <class T>
struct DataRowsTask {
    const AnyView& angles;
    const AngleSum* sums;  // null: rows of the angles themselves
    AngleSum* next;
    T* to;
};
/// Chains begin .. end - 1: all tokens of a pair of a head of a batch entry, one after the other.
template <class T>
void write_data_rows(const DataRowsTask<T>& task, Index begin, Index end) noexcept {
    const AnyView& v = task.angles;
    const Index seq = v.extents[1], heads = v.extents[2], pairs = v.extents[3], entries = heads * pairs;
    for (Index chain = begin; chain < end; ++chain) {
        const Index b = chain / entries, i = chain % entries;
        const Index first = v.offset_of(b, 0, i / pairs) + i % pairs * v.strides[3];
        Phase sum;
        if (task.sums != nullptr) sum = {task.sums[chain].high, task.sums[chain].low};
        for (Index s = 0; s < seq; ++s) {
            const Phase angle = phase_from_radians(number_at(v, first + s * v.strides[1]));
            sum = task.sums != nullptr ? sum + angle : angle;
            T* const row = task.to + (b * seq + s) * 2 * entries;
            put_cos_sin(sum, row[i], row[entries + i]);
        }
        if (task.sums != nullptr) task.next[chain] = {sum.hi, sum.lo};
    }
}

ROPE_COLD Status check_angles_of_rows(const AnyView& v, Index heads, Index pairs) noexcept {
    if (const Status s = check_extents(v); !s.ok()) return s;
    if (const Status s = check_tokens(v.extents[1], v.extents[0]); !s.ok()) return s;
    if (v.extents[2] != heads || v.extents[3] != pairs)
        return invalid("angles are [{}, {}, {}, {}]; they must be [batch, tokens, {}, {}].",
                       {v.extents[0], v.extents[1], v.extents[2], v.extents[3], heads, pairs});
    for (Index b = 0; b < v.extents[0]; ++b)
        for (Index s = 0; s < v.extents[1]; ++s)
            for (Index h = 0; h < heads; ++h)
                for (Index i = 0; i < pairs; ++i)
                    if (const double x = number_at(v, v.offset_of(b, s, h) + i * v.strides[3]);
                        !is_finite(x) || x >= 0x1p96 || x <= -0x1p96)
                        return invalid("angles[{}][{}][{}][{}] is {}; angles must be finite and below 2^96.",
                                       {b, s, h, i, x});
    return Status();
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

template <class T>
ROPE_API DataRows<T>::DataRows(Index pairs, Index heads, HeadSlice slice) {
    constexpr Index most = kMaxHeadDim / 2;
    if (pairs < 1 || pairs > most) refuse(invalid("pairs is {}; it must be from 1 to {}.", {pairs, most}));
    if (heads < 0 || heads > most / pairs)
        refuse(invalid("heads is {}; it must be from 0, where all share rows, to {} of {} {pair|pairs}.",
                       {heads, most / pairs, pairs}));
    ok_or_raise(check_slice(slice, pairs));
    this->pairs_ = pairs;
    this->heads_ = heads;
    this->head_dim_ = slice.head_dim;
    this->rotary_offset_ = slice.rotary_offset;
    this->name_ = "table of angles";
    this->by_position_ = false;
}

template <class T>
ROPE_API void DataRows<T>::restart() noexcept {
    for (Index i = 0; i < entries_of_sums_ * entries(); ++i) (given_ != nullptr ? given_ : own_.get())[i] = {};
    entries_of_sums_ = 0;
}
template <class T>
ROPE_API void DataRows<T>::use_sums(AngleSum* sums) noexcept {
    given_ = sums;
    entries_of_sums_ = 0;
}

template <class T>
ROPE_API void DataRows<T>::build_from(const AnyView& angles, bool are_steps, const AnyExecutor& executor) {
    const Index heads = this->heads_ > 0 ? this->heads_ : 1;
    ok_or_raise(check_angles_of_rows(angles, heads, this->pairs_));
    const Index batch = angles.extents[0], seq = angles.extents[1], tokens = batch * seq;
    if (are_steps && entries_of_sums_ != 0 && entries_of_sums_ != batch)
        refuse(invalid("batch is {}; the sums under way are of {} {batch entry|batch entries}: call restart() first.",
                       {batch, entries_of_sums_}));
    const Index count = batch * entries();
    if (are_steps && count > room_of_sums_) {
        std::unique_ptr<AngleSum[]> own(new (std::nothrow) AngleSum[static_cast<std::size_t>(count)]);
        std::unique_ptr<AngleSum[]> next(new (std::nothrow) AngleSum[static_cast<std::size_t>(count)]);
        if (own == nullptr || next == nullptr) refuse(out_of_memory("There is no memory for {} {sum|sums}.", {count}));
        own_ = std::move(own);  // no sums are under way, or there would be room
        next_ = std::move(next);
        room_of_sums_ = count;
    }
    if (tokens > room_) {
        ok_or_raise(check_table_size("batch * seq", tokens, tokens, 2 * entries(), sizeof(T)));
        std::shared_ptr<T[]> memory = table_memory<T>(tokens, 2 * entries());
        if (memory == nullptr) refuse(no_memory(tokens, 2 * entries(), sizeof(T)));
        memory_ = std::move(memory);
        room_ = tokens;
    }
    // An executor may throw: then there are no rows, and the sums are those of before.
    this->source_ = {};
    this->count_ = this->batch_ = rows_ = 0;
    AngleSum* const sums = given_ != nullptr ? given_ : own_.get();
    if (are_steps && given_ == nullptr && entries_of_sums_ == 0) std::fill_n(sums, count, AngleSum());
    const DataRowsTask<T> task = {angles, are_steps ? sums : nullptr, next_.get(), memory_.get()};
    const Index chains = count;
    const Index weight = seq * 2 * static_cast<Index>(sizeof(T)) * kSlowEntry;  // of a chain
    const Index item = kItemBytes / (weight + 1) + 1, items = (chains + item - 1) / item;
    const auto write = [&](Index from, Index until) {  // an executor may count beyond the ends
        if (from < 0) from = 0;
        if (until > items) until = items;
        if (from < until) write_data_rows(task, from * item, until < items ? until * item : chains);
    };
    // With rope::part every thread has rows of its own, and makes all of them.
    const Cutting cutting = executor.cutting;
    if (cutting == Cutting::if_large ? chains * weight >= kSplitBytes : cutting == Cutting::always)
        executor(items, write);
    else
        write(0, items);
    if (are_steps) std::copy_n(next_.get(), count, sums);
    if (are_steps) entries_of_sums_ = batch;
    T* const to = memory_.get();
    if (tokens > 0)
        this->source_ = {to, to + entries(), 2 * entries(), 0, batch > 1 ? seq : 0, nullptr,
                         0,  this->heads_,   this->pairs_};
    this->count_ = batch > 0 ? seq : 0;
    this->batch_ = batch > 1 ? batch : 0;
    rows_ = tokens;
}

template <class T>
ROPE_API const T* DataRows<T>::find(Index row, Index i) const {
    if (row >= 0 && row < rows_) return this->source_.cos + row * this->source_.stride + i;
    refuse(out_of_range("row is {}; it must be at least 0 and below the number of rows ({}).", {row, rows_}));
}

ROPE_SOURCE_END
