// SPDX-License-Identifier: MIT
// Checks of paths, and the sentence where one fails.
#pragma once

#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../call/explain.hpp"
#include "../positions/positions_in_table.hpp"
#include "../views/view_checks.hpp"
#include "accept.hpp"
#include "destinations.hpp"
#include "stages.hpp"
#include "steps.hpp"

ROPE_DETAIL_BEGIN

inline constexpr const char* kPathNames[] = {"path 1", "path 2", "path 3", "path 4", "a path"};
inline constexpr const char* kSourceNames[] = {"source of path 1", "source of path 2", "source of path 3",
                                               "source of path 4", "source of a path"};
inline constexpr const char* kDestinationNames[] = {"destination of path 1", "destination of path 2",
                                                    "destination of path 3", "destination of path 4",
                                                    "destination of a path"};
inline const char* path_name(Index path) noexcept { return kPathNames[path < 4 ? path : 4]; }
inline const char* source_name(Index path) noexcept { return kSourceNames[path < 4 ? path : 4]; }
inline const char* destination_name(Index path) noexcept { return kDestinationNames[path < 4 ? path : 4]; }

ROPE_COLD Status check_numbers(const char* step, const Numbers& n, const HeadsInMemory& x, bool is_double) noexcept {
    if ((n.type == ElementType::f64) != is_double)
        return invalid("The numbers of {} are {}; with rows of {} they must be {}.",
                       {step, is_double ? "not double" : "double", is_double ? "double" : "float",
                        is_double ? "double" : "float, half or bfloat16"});
    if (n.is_list && n.extents[3] != x.extents[3])
        return invalid("The numbers of {} are a list of {}; it must have those of a head ({}){}.",
                       {step, n.extents[3], x.extents[3],
                        " or, for a norm over a token, of all its heads, and rope::view has other shapes"});
    for (int axis = 0; axis < 4; ++axis)
        if (n.extents[axis] != 1 && n.extents[axis] != x.extents[axis])
            return invalid("The numbers of {} have an extent of {} along {}; it must be 1 or that of the heads ({}).",
                           {step, n.extents[axis], kAxisNames[axis], x.extents[axis]});
    return check_extents(named(n, step));
}

ROPE_COLD Status check_step(const PathStep& step, const HeadsInMemory& x, const char* path,
                            const PathCall& call) noexcept {
    const AnyView v = named(x, path);
    Status mistake;
    Stages::visit(step.kind, [&](auto stage) {
        if (const Status s = stage.check(step, v, call); !s.ok()) mistake = s;
    });
    if (!mistake.ok()) return mistake;
    const char* const name = step_name(step.kind);
    if (step.needs_numbers && !step.numbers.is_given) return invalid("{} has no numbers; it needs some.", {name});
    for (const Numbers* n : {&step.numbers, &step.bias}) {
        if (!n->is_given) continue;
        if (n->data == nullptr && !is_empty(v))
            return invalid("The numbers of {} are a null pointer; a norm without weight or bias has nullptr itself.",
                           {name});
        if (const Status of_numbers = check_numbers(name, *n, x, call.is_double); !of_numbers.ok()) return of_numbers;
    }
    return Status();
}

/// All checks of one path but those against other paths.
ROPE_COLD Status check_path(const PathData& path, Index number, const HeadsInMemory& first,
                            const PathCall& call) noexcept {
    const HeadsInMemory& x = path.source;
    const char* const name = source_name(number);
    const AnyView v = named(x, name);
    if (const Status s = check_extents(v); !s.ok()) return s;
    for (int axis = 0; axis < 2; ++axis)
        if (x.extents[axis] != first.extents[axis])
            return invalid("{} has {} {}; it must be that of path 1 ({}).",
                           {name, kAxisNames[axis], x.extents[axis], first.extents[axis]});
    if (x.extents[3] > kMaxPathHeadDim)
        return invalid("{} has head_dim {}; it must be at most {}.", {name, x.extents[3], kMaxPathHeadDim});
    if ((x.type == ElementType::f64) != call.is_double)
        return invalid("{} is {}; with rows of {} it must be {}.",
                       {name, call.is_double ? "not double" : "double", call.is_double ? "double" : "float",
                        call.is_double ? "double" : "float, half or bfloat16"});
    if (path.count > kMaxSteps)
        return invalid("Path {} has {} {step|steps}; it must have at most {}.", {number + 1, path.count, kMaxSteps});
    int rotations = 0;
    for (int i = 0; i < path.count; ++i) {
        const PathStep& step = path.steps[i];
        rotations += is_step_of<RotateStage>(step) ? 1 : 0;
        if (const Status s = check_step(step, x, path_name(number), call); !s.ok()) return s;
    }
    if (rotations > 1)
        return invalid("Path {} rotates {} {time|times}; it must do so at most once.", {number + 1, rotations});
    if (!has_destination(path)) {
        if (x.is_const) return invalid("{} is const, and the path has no destination: add to(...).", {name});
        return check_no_self_overlap(v);
    }
    const DestinationData& d = path.destination;
    for (int part = 0; part < 3; ++part)
        if (const HeadsInMemory* const m = part_of(d, part); m != nullptr && m->is_const)
            return invalid("{} is const; what is written must not be.", {destination_name(number)});
    if ((d.codes.type == ElementType::f64) != call.is_double)
        return invalid(
            "{} is {}; with rows of {} it must be {}.",
            {destination_name(number), call.is_double ? "not double" : "double", call.is_double ? "double" : "float",
             call.is_double ? "double" : "float, half, bfloat16 or a format"});
    return check_destination(destination_name(number), d, x.extents[0], x.extents[1], x.extents[2], x.extents[3]);
}

/// What a path writes, in up to three parts; null where there is no such part.
inline const HeadsInMemory* written_part(const PathData& p, int part) noexcept {
    if (has_destination(p)) return part_of(p.destination, part);
    return part == 0 ? &p.source : nullptr;
}

/// Memory of a path.
enum class PathMemory { source, written, slot_list, numbers };

/// f(view, kind, step) for all memory of a path; `step` has the numbers. A source that is written in place comes once.
template <class F>
inline void for_each_memory(const PathData& path, const F& f) {
    const HeadsInMemory& first = *written_part(path, 0);
    if (first.is_paged || !is_same_view(first, path.source)) f(path.source, PathMemory::source, nullptr);
    for (int part = 0; part < 3; ++part)
        if (const HeadsInMemory* const m = written_part(path, part)) {
            f(*m, PathMemory::written, nullptr);
            if (m->is_paged) f(m->view_of_slots(), PathMemory::slot_list, nullptr);
        }
    for (int i = 0; i < path.count; ++i)
        for (const Numbers* n : {&path.steps[i].numbers, &path.steps[i].bias})
            if (n->is_given) f(*n, PathMemory::numbers, &path.steps[i]);
}

/// Requires that a view, which is written, shares nothing with memory of path k.
ROPE_COLD Status check_apart(const AnyView& written, const AnyView& v, PathMemory kind, const PathStep* step,
                             Index k) noexcept {
    if (is_disjoint(written, v)) return Status();
    if (kind == PathMemory::numbers)
        return invalid("{} and the numbers of {} in path {} may share elements; they must be shown to share none.",
                       {written.name, step_name(step->kind), k + 1});
    if (kind == PathMemory::slot_list)
        return invalid("{} and the slots of path {} may share elements; they must be shown to share none.",
                       {written.name, k + 1});
    return check_shares_nothing(written, named(v, kind == PathMemory::source ? source_name(k) : destination_name(k)));
}

/// Requires that memory which is written shares nothing with any other: first by the whole memory of each view, which is
/// soon done; then, where some of it is common, view by view.
ROPE_COLD Status check_all_apart(const Path* const* paths, Index count, const Positions& positions) noexcept {
    PassMemory memory;
    const auto add = [&](const AnyView& v, bool is_written) {
        if (!is_empty(v)) memory.add(extent_of(v), is_written);
    };
    add(view_of(positions), false);
    for (Index i = 0; i < count; ++i)
        for_each_memory(PathAccess::data(*paths[i]), [&](const AnyView& v, PathMemory kind, const PathStep*) {
            add(v, kind == PathMemory::written);
        });
    Status mistake;
    if (memory.are_apart()) return mistake;
    for (Index i = 0; i < count; ++i)
        for_each_memory(PathAccess::data(*paths[i]), [&](const AnyView& one, PathMemory kind_of_one, const PathStep*) {
            if (kind_of_one != PathMemory::written) return;
            const AnyView written = named(one, destination_name(i));
            for (Index k = 0; k < count; ++k)
                for_each_memory(PathAccess::data(*paths[k]),
                                [&](const AnyView& other, PathMemory kind, const PathStep* step) {
                                    if (mistake.ok() && &other != &one)
                                        mistake = check_apart(written, other, kind, step, k);
                                });
            if (mistake.ok()) mistake = check_list_apart(positions, written);
        });
    return mistake;
}

/// All checks of a pass.
ROPE_COLD Status check_all_paths(const Path* const* paths, Index count, const Positions& positions,
                                 const PathCall& call) noexcept {
    const HeadsInMemory& first = PathAccess::data(*paths[0]).source;
    for (Index i = 0; i < count; ++i)
        if (const Status s = check_path(PathAccess::data(*paths[i]), i, first, call); !s.ok()) return s;
    if (const Status s = check_positions(positions, first.extents[0], first.extents[1], call.table); !s.ok()) return s;
    const Status s = check_all_apart(paths, count, positions);
    return !s.ok() || isa_is_chosen() ? s : choose_isa();
}

ROPE_DETAIL_END
