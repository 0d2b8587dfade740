// SPDX-License-Identifier: MIT
// Usual passes, recognised at once, as usual calls are (../call/accept.hpp): a pass on one token takes not much longer
// than its recognition. Nothing is accepted that check.hpp refuses, and unusual passes are left to it.
#pragma once

#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../positions/positions_in_table.hpp"
#include "accept_memory.hpp"
#include "stages.hpp"
#include "steps.hpp"

ROPE_DETAIL_BEGIN

ROPE_INLINE bool accept_numbers(const Numbers& n, const HeadsInMemory& x, bool is_double, PassMemory& memory) noexcept {
    if (!n.is_given) return true;
    for (int axis = 0; axis < 4; ++axis)
        if (n.extents[axis] != 1 && n.extents[axis] != x.extents[axis]) return false;
    return (n.type == ElementType::f64) == is_double && (!n.is_list || n.extents[3] == x.extents[3]) &&
           accept_view(n, false, memory);
}
ROPE_INLINE bool accept_step(const PathStep& step, const HeadsInMemory& x, const PathCall& call,
                             PassMemory& memory) noexcept {
    bool is_right = false;
    Stages::visit(step.kind, [&](auto stage) { is_right = stage.check(step, x, call).ok(); });
    return is_right && step.needs_numbers <= step.numbers.is_given &&
           accept_numbers(step.numbers, x, call.is_double, memory) &&
           accept_numbers(step.bias, x, call.is_double, memory);
}
ROPE_INLINE bool accept_path(const PathData& path, const HeadsInMemory& first, const PathCall& call,
                             PassMemory& memory) noexcept {
    const HeadsInMemory& x = path.source;
    const bool is_in_place = !has_destination(path);
    if (path.is_sliced || path.rows != nullptr) return false;
    if (x.extents[0] != first.extents[0] || x.extents[1] != first.extents[1] || x.extents[3] > kMaxPathHeadDim ||
        (x.type == ElementType::f64) != call.is_double || path.count > kMaxSteps)
        return false;
    if (begins_in_cache(path)) {
        const HeadsInMemory& codes = path.cache.codes;
        if (!are_counts(x.extents[0], x.extents[1]) || !are_counts(x.extents[2], x.extents[3])) return false;
        if (!accept_stored(path.cache, x, call.is_double, is_in_place, memory) ||
            (is_in_place && find_equal_slot(codes, x.extents[0] * x.extents[1]) >= 0))
            return false;
    } else if (!accept_view(x, is_in_place, memory) || (is_in_place && x.is_const)) {
        return false;
    }
    int rotations = 0;
    for (int i = 0; i < path.count; ++i) {
        if (has_squares(path.steps[i])) return false;
        rotations += is_step_of<RotateStage>(path.steps[i]) ? 1 : 0;
        if (!accept_step(path.steps[i], x, call, memory)) return false;
    }
    if (rotations > 1) return false;
    return is_in_place || accept_stored(path.destination, x, call.is_double, true, memory);
}

ROPE_NOINLINE bool accept_pass(const Path* const* paths, Index count, const Positions& positions,
                               const PathCall& call) noexcept {
    const HeadsInMemory& first = PathAccess::data(*paths[0]).source;
    PassMemory memory;
    for (Index i = 0; i < count; ++i)
        if (!accept_path(PathAccess::data(*paths[i]), first, call, memory)) return false;
    if (call.has_rows && !check_positions(positions, first.extents[0], first.extents[1], call.table).ok()) return false;
    if (positions.kind() != Positions::Kind::start &&
        !accept_list(positions.data(), positions.count(), positions.stride(), positions.element_size(), memory))
        return false;
    return memory.are_apart() && isa_is_chosen();
}

ROPE_DETAIL_END
