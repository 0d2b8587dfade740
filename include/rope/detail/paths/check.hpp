// SPDX-License-Identifier: MIT
// Checks of paths, and the sentence where one fails.
#pragma once

#include <cstdint>

#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../call/explain.hpp"
#include "../positions/positions_in_table.hpp"
#include "../views/view_checks.hpp"
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

inline bool has_destination(const PathData& p) noexcept { return p.destination.codes.type != kNoElements; }

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
    return check_extents(n.view(step));
}

ROPE_COLD Status check_step(const PathStep& step, const HeadsInMemory& x, const char* path,
                            const PathCall& call) noexcept {
    const AnyView v = x.view(path);
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
    const AnyView v = x.view(name);
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

/// Checks that a view, which path i writes, shares nothing with what path k reads beside its source.
ROPE_COLD Status check_apart_from_numbers(const AnyView& v, const PathData& other, Index k) noexcept {
    for (int i = 0; i < other.count; ++i) {
        const PathStep& step = other.steps[i];
        for (const Numbers* n : {&step.numbers, &step.bias})
            if (n->is_given && !is_disjoint(v, n->view("")))
                return invalid(
                    "{} and the numbers of {} in path {} may share elements; they must be shown to share none.",
                    {v.name, step_name(step.kind), k + 1});
    }
    for (int part = 0; part < 3; ++part)
        if (const HeadsInMemory* const m = written_part(other, part); m != nullptr && m->is_paged)
            if (!is_disjoint(v, m->view_of_slots()))
                return invalid("{} and the slots of path {} may share elements; they must be shown to share none.",
                               {v.name, k + 1});
    return Status();
}

/// Checks that what path i writes shares nothing with what path k reads or writes.
ROPE_COLD Status check_apart(const PathData& one, Index i, const PathData& other, Index k) noexcept {
    const AnyView read = other.source.view(source_name(k));
    for (int part = 0; part < 3; ++part) {
        const HeadsInMemory* const mine = written_part(one, part);
        if (mine == nullptr) continue;
        const AnyView v = mine->view(destination_name(i));
        const bool is_own = i == k && part == 0 && !mine->is_paged && is_same_view(v, read);
        if (const Status s = is_own ? Status() : check_shares_nothing(v, read); !s.ok()) return s;
        if (const Status s = check_apart_from_numbers(v, other, k); !s.ok()) return s;
        for (int there = i == k ? part + 1 : 0; there < 3; ++there)
            if (const HeadsInMemory* const theirs = written_part(other, there))
                if (const Status s = check_shares_nothing(v, theirs->view(destination_name(k))); !s.ok()) return s;
    }
    return Status();
}

/// Memory from the first byte of a view to behind its last, in the order of its beginning.
class Extents {
 public:
    void add(const AnyView& v, bool is_written) noexcept {
        if (is_empty(v)) return;
        const Span span = span_below(v, kMaxIndex);
        const std::uint64_t data = reinterpret_cast<std::uintptr_t>(v.data);
        const Extent extent = {data + static_cast<std::uint64_t>(span.begin),
                               data + static_cast<std::uint64_t>(span.end), is_written};
        is_complete_ = is_complete_ && count_ < kMost && extent.begin < extent.end;
        if (!is_complete_) return;
        int i = count_++;
        for (; i > 0 && extents_[i - 1].begin > extent.begin; --i) extents_[i] = extents_[i - 1];
        extents_[i] = extent;
    }
    /// Whether no other extent reaches into one that is written.
    bool are_apart() const noexcept {
        std::uint64_t end = 0, end_of_written = 0;
        for (int i = 0; i < count_; ++i) {
            const Extent& extent = extents_[i];
            if (extent.begin < (extent.is_written ? end : end_of_written)) return false;
            if (extent.end > end) end = extent.end;
            if (extent.is_written && extent.end > end_of_written) end_of_written = extent.end;
        }
        return is_complete_;
    }

 private:
    struct Extent {
        std::uint64_t begin, end;
        bool is_written;
    };
    static constexpr int kMost = 48;
    Extent extents_[kMost];
    int count_ = 0;
    bool is_complete_ = true;
};

inline void add_extents(Extents& extents, const PathData& path) noexcept {
    const AnyView read = path.source.view("");
    const HeadsInMemory* const first = written_part(path, 0);
    const bool is_in_place = !first->is_paged && is_same_view(first->view(""), read);
    if (!is_in_place) extents.add(read, false);
    for (int part = 0; part < 3; ++part)
        if (const HeadsInMemory* const m = written_part(path, part)) {
            extents.add(m->view(""), true);
            if (m->is_paged) extents.add(m->view_of_slots(), false);
        }
    for (int i = 0; i < path.count; ++i)
        for (const Numbers* n : {&path.steps[i].numbers, &path.steps[i].bias})
            if (n->is_given) extents.add(n->view(""), false);
}

/// Checks that what is written shares nothing with anything else: first as a whole, which is usual and soon done, then
/// each with each.
ROPE_COLD Status check_all_apart(const PathData* const* paths, Index count, const Positions& positions) noexcept {
    Extents extents;
    extents.add(view_of(positions), false);
    for (Index i = 0; i < count; ++i) add_extents(extents, *paths[i]);
    if (extents.are_apart()) return Status();
    for (Index i = 0; i < count; ++i)
        for (Index k = 0; k < count; ++k)
            if (const Status s = check_apart(*paths[i], i, *paths[k], k); !s.ok()) return s;
    for (Index i = 0; i < count; ++i)
        for (int part = 0; part < 3; ++part)
            if (const HeadsInMemory* const m = written_part(*paths[i], part))
                if (const Status s = check_list_apart(positions, m->view(destination_name(i))); !s.ok()) return s;
    return Status();
}

/// All checks of a pass.
ROPE_COLD Status check_paths(const PathData* const* paths, Index count, const Positions& positions,
                             const PathCall& call) noexcept {
    const HeadsInMemory& first = paths[0]->source;
    for (Index i = 0; i < count; ++i)
        if (const Status s = check_path(*paths[i], i, first, call); !s.ok()) return s;
    if (const Status s = check_positions(positions, first.extents[0], first.extents[1], call.table); !s.ok()) return s;
    const Status s = check_all_apart(paths, count, positions);
    return !s.ok() || isa_is_chosen() ? s : choose_isa();
}

ROPE_DETAIL_END
