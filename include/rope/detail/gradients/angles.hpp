// SPDX-License-Identifier: MIT
// The gradients of angles and magnitudes, from the rotated numbers and their gradients.
#pragma once

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../types.hpp"
#include "../call/explain.hpp"
#include "../call/run.hpp"
#include "../kernels/gradients.hpp"
#include "../kernels/steps.hpp"
#include "../simd/isa_choice.hpp"
#include "gradients.hpp"
#include "sums.hpp"

ROPE_DETAIL_BEGIN

ROPE_COLD Status check_angle_call(const AngleCall& c, const TableShape& table, Index pairs,
                                  Capabilities uses) noexcept {
    const AnyView y = named(c.y, "y"), g = named(c.g, "g");
    if (const Status s = check_extents(y); !s.ok()) return s;
    if (const Status s = check_extents(g); !s.ok()) return s;
    if (const Status s = check_table_fits(y, table, uses); !s.ok()) return s;
    if (const Status s = check_equal_extents(g, y, 4); !s.ok()) return s;
    if (const Status s = check_groups(c.angles, y); !s.ok()) return s;
    if (table.heads > 1 && c.angles.extents[2] != y.extents[2])
        return invalid(
            "angles.heads is {}; the {} has rows of each head, and so each of the {} heads of y needs its own.",
            {c.angles.extents[2], table.name, y.extents[2]});
    const Index batch = y.extents[0], seq = y.extents[1], groups = c.angles.extents[2];
    if (const Status s = check_output(c.angles, batch, seq, groups, pairs); !s.ok()) return s;
    for (const AnyView* read : {&y, &g})
        if (const Status s = check_shares_nothing(c.angles, *read); !s.ok()) return s;
    if (!is_left_out(c.magnitudes)) {
        if (const Status s = check_output(c.magnitudes, batch, seq, groups, pairs); !s.ok()) return s;
        for (const AnyView* other : {&y, &g, &c.angles})
            if (const Status s = check_shares_nothing(c.magnitudes, *other); !s.ok()) return s;
    }
    return isa_is_chosen() ? Status() : choose_isa();
}

template <class T>
struct AngleTask {
    const AngleCall& call;
    const StepKernels<T>& steps;
    const GradientKernels<T>& kernels;
    Layout layout;
    Index pairs, rotary_offset;
};

/// Pairs whose sums are on the stack together.
inline constexpr Index kPairsAtOnce = 64;

/// `count` features of a head from `first` on, as T and contiguous; `scratch` holds them if they are not so in memory.
template <class T>
ROPE_INLINE const T* features_of(const StepKernels<T>& k, const AnyView& m, Index head, Index first, Index count,
                                 T* scratch) noexcept {
    const void* const at = m.at(head + first * m.strides[3]);
    if (m.element_size == static_cast<Index>(sizeof(T)) && (m.strides[3] == 1 || count == 1))
        return static_cast<const T*>(at);
    k.load(at, m.type, m.strides[3], scratch, count);
    return scratch;
}

/// Pairs first .. first + count - 1 of the heads of one group of one token. Each product has its own sum over heads, and
/// the two of a pair are subtracted at the end: so both layouts have the same bits.
template <class T>
ROPE_NOINLINE void add_pairs(const AngleTask<T>& task, Index b, Index s, Index group, Index first,
                             Index count) noexcept {
    const AngleCall& c = task.call;
    const GradientKernels<T>& k = task.kernels;
    const bool is_interleaved = task.layout == Layout::interleaved, has_magnitudes = !is_left_out(c.magnitudes);
    const Index features = is_interleaved ? 2 * count : count;
    const Index at_a = task.rotary_offset + (is_interleaved ? 2 * first : first), at_b = at_a + task.pairs;
    const Index heads = c.y.extents[2] / c.angles.extents[2];
    double crossed[2 * kPairsAtOnce] = {}, squared[2 * kPairsAtOnce] = {};
    T scratch[4][2 * kPairsAtOnce];
    for (Index h = group * heads; h < (group + 1) * heads; ++h) {
        const Index in_y = c.y.offset_of(b, s, h), in_g = c.g.offset_of(b, s, h);
        const T* const y = features_of(task.steps, c.y, in_y, at_a, features, scratch[0]);
        const T* const g = features_of(task.steps, c.g, in_g, at_a, features, scratch[1]);
        if (is_interleaved) {
            k.add_crossed_products(y, g, features, crossed);
            if (has_magnitudes) k.add_products(y, g, features, squared);
            continue;
        }
        const T* const y_b = features_of(task.steps, c.y, in_y, at_b, features, scratch[2]);
        const T* const g_b = features_of(task.steps, c.g, in_g, at_b, features, scratch[3]);
        k.add_products(y, g_b, features, crossed);
        k.add_products(y_b, g, features, crossed + kPairsAtOnce);
        if (!has_magnitudes) continue;
        k.add_products(y, g, features, squared);
        k.add_products(y_b, g_b, features, squared + kPairsAtOnce);
    }
    const PairShape place = is_interleaved ? PairShape{2, 1} : PairShape{1, kPairsAtOnce};
    double* angle = element(c.angles, b, s, group) + first * c.angles.strides[3];
    for (Index i = 0; i < count; ++i, angle += c.angles.strides[3]) {
        const double* const pair = crossed + i * place.step;
        add_rounded(*angle, pair[0] - pair[place.distance]);
    }
    if (!has_magnitudes) return;
    double* magnitude = element(c.magnitudes, b, s, group) + first * c.magnitudes.strides[3];
    for (Index i = 0; i < count; ++i, magnitude += c.magnitudes.strides[3]) {
        const double* const pair = squared + i * place.step;
        add_rounded(*magnitude, pair[0] + pair[place.distance]);
    }
}

/// Groups begin .. end - 1, counted token after token.
template <class T>
void add_angles(const AngleTask<T>& task, Index begin, Index end) noexcept {
    const Index groups = task.call.angles.extents[2], seq = task.call.y.extents[1];
    for (Index i = begin; i < end; ++i) {
        const Index token = i / groups;
        for (Index first = 0; first < task.pairs; first += kPairsAtOnce) {
            const Index left = task.pairs - first;
            add_pairs(task, token / seq, token % seq, i % groups, first, left < kPairsAtOnce ? left : kPairsAtOnce);
        }
    }
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

template <Layout layout, class T>
ROPE_API Status check_angles(const AngleCall& call, const CosSinRows<T>& rows) noexcept {
    return check_angle_call(call, shape_of(rows), rows.pairs(), capabilities_of<layout>(Direction::forward));
}

template <Layout layout, class T>
ROPE_API Status run_angles(const AnyExecutor& executor, const AngleCall& call, const CosSinRows<T>& rows) {
    const AnyView& y = call.y;
    if (const Status s = check_angles<layout>(call, rows); !s.ok() || is_empty(y)) return s;
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    const AngleTask<T> task = {call,   step_kernels<T>(isa), gradient_kernels<T>(isa),
                               layout, rows.pairs(),         rows.rotary_offset()};
    const Index groups = y.extents[0] * y.extents[1] * call.angles.extents[2];
    execute(executor, even_job(task, &add_angles<T>, groups, 2 * bytes_of(y)));
    return Status();
}

ROPE_SOURCE_END
