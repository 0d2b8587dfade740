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
inline constexpr const char* kTableNames[] = {"table of path 1", "table of path 2", "table of path 3",
                                              "table of path 4", "table of a path"};
inline constexpr Index kReading = -1;  // the number of the path of dequantise
inline const char* path_name(Index path) noexcept { return kPathNames[path >= 0 && path < 4 ? path : 4]; }
inline const char* source_name(Index path) noexcept {
    return path == kReading ? "from" : kSourceNames[path < 4 ? path : 4];
}
inline const char* destination_name(Index path) noexcept {
    return path == kReading ? "to" : kDestinationNames[path < 4 ? path : 4];
}

inline const char* written_name(const PathData& p, Index path) noexcept {
    return has_destination(p) ? destination_name(path) : source_name(path);
}

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

/// Requires elements of the type that the call computes in.
ROPE_COLD Status check_type(const char* name, ElementType type, const PathCall& call, const char* others) noexcept {
    if ((type == ElementType::f64) == call.is_double) return Status();
    if (!call.has_rows) return invalid("{} is double; without rows it must be float, half{}.", {name, others});
    return invalid("{} is {}; with rows of {} it must be {}{}.",
                   {name, call.is_double ? "not double" : "double", call.is_double ? "double" : "float",
                    call.is_double ? "double" : "float, half", call.is_double ? "" : others});
}

/// The call as a path with rows of its own sees it, or as it is.
inline PathCall call_of_path(const PathData& path, const PathCall& call) noexcept {
    PathCall own = call;
    if (path.rows == nullptr) return own;
    own.table = path.has_double_rows ? shape_of(*static_cast<const CosSinRows<double>*>(path.rows))
                                     : shape_of(*static_cast<const CosSinRows<float>*>(path.rows));
    return own;
}
ROPE_COLD Status check_own_rows(const PathData& path, Index number, const PathCall& call) noexcept {
    if (path.rows == nullptr) return Status();
    if (call.has_rows && path.has_double_rows != call.is_double)
        return invalid(
            "{} has rows of {}; those of the call are {}, and all must be of one type.",
            {path_name(number), path.has_double_rows ? "double" : "float", call.is_double ? "double" : "float"});
    TableShape table = call.table;
    table.name = kTableNames[number < 4 ? number : 4];
    return check_positions(path.positions, path.source.extents[0], path.source.extents[1], table);
}
/// Requires squares of all tokens, of at least as many heads as the path has, for one step at most.
ROPE_COLD Status check_squares(const PathData& path, Index number) noexcept {
    int norms = 0;
    for (int i = 0; i < path.count; ++i) norms += has_squares(path.steps[i]) ? 1 : 0;
    if (norms == 0) return Status();
    const HeadsInMemory &x = path.source, &squares = path.squares;
    if (norms > 1)
        return invalid("{} has {} norms with squares; it must have at most one.", {path_name(number), norms});
    if (path.all_heads < x.extents[2] || path.all_heads > kMaxHeadDim)
        return invalid("all_heads of a norm in {} is {}; it must be from the heads of the path ({}) to {}.",
                       {path_name(number), path.all_heads, x.extents[2], kMaxHeadDim});
    const AnyView v = named(squares, "squares");
    if (const Status s = check_extents(v); !s.ok()) return s;
    for (int axis = 0; axis < 4; ++axis)
        if (const Index needed = axis < 2 ? x.extents[axis] : 1; v.extents[axis] != needed)
            return invalid("squares of a norm in {} are [{}, {}, {}, {}]; they must be [{}, {}, 1, 1].",
                           {path_name(number), v.extents[0], v.extents[1], v.extents[2], v.extents[3], x.extents[0],
                            x.extents[1]});
    return Status();
}
/// Requires that the slice of a path's features lies in its heads and goes to a destination.
ROPE_COLD Status check_slice(const PathData& path, Index number) noexcept {
    if (!path.is_sliced) return Status();
    const Index head_dim = path.source.extents[3], first = path.first_feature, count = path.features;
    if (first < 0 || count < 1 || first > head_dim || count > head_dim - first)
        return invalid(
            "{} has a slice of {} {feature|features} from {} on; it must have one at least, of the {} of its heads.",
            {path_name(number), count, first, head_dim});
    if (has_destination(path)) return Status();
    return invalid("{} has a slice of features and no destination: add to(...).", {path_name(number)});
}

/// Part 0 (codes), 1 (scales) or 2 (zeros) that a path reads, and that it writes; null if it has no such part.
inline const HeadsInMemory* read_part(const PathData& p, int part) noexcept {
    if (begins_in_cache(p)) return part_of(p.cache, part);
    return part == 0 ? &p.source : nullptr;
}
inline const HeadsInMemory* written_part(const PathData& p, int part) noexcept {
    return has_destination(p) ? part_of(p.destination, part) : read_part(p, part);
}
/// Whether a path writes where it reads. It may change the format there, such as one of 8-bit floats into the other.
ROPE_COLD bool is_in_place(const PathData& p) noexcept {
    if (!has_destination(p)) return true;
    if (p.is_sliced) return false;
    for (int part = 0; part < 3; ++part) {
        const HeadsInMemory *const read = read_part(p, part), *const written = written_part(p, part);
        if ((read == nullptr) != (written == nullptr)) return false;
        if (read != nullptr && (!is_same_view(*read, *written) || read->is_paged != written->is_paged ||
                                (read->is_paged && !read->slot_list.is_same(written->slot_list))))
            return false;
    }
    return true;
}

/// All checks of one path but those against other paths.
ROPE_COLD Status check_path(const PathData& path, Index number, const HeadsInMemory& first,
                            const PathCall& call) noexcept {
    const HeadsInMemory& x = path.source;
    const char* const name = source_name(number);
    const AnyView v = named(x, name);
    if (!begins_in_cache(path)) {
        if (const Status s = check_extents(v); !s.ok()) return s;
    } else {
        if (const Status s =
                check_destination(name, path.cache, x.extents[0], x.extents[1], x.extents[2], x.extents[3]);
            !s.ok())
            return s;
        AnyView tokens = v;  // of which a cache without pages says nothing
        tokens.data = path.cache.codes.data;
        if (const Status s = check_extents(tokens); !s.ok()) return s;
        if (path.cache.codes.is_paged && !path.cache.codes.slot_list.is_given())
            return invalid("{} has pages without slots; give those of the step, one for each token, by with_slots.",
                           {name});
    }
    for (int axis = 0; axis < 2; ++axis)
        if (x.extents[axis] != first.extents[axis])
            return invalid("{} has {} {}; it must be that of path 1 ({}).",
                           {name, kAxisNames[axis], x.extents[axis], first.extents[axis]});
    if (x.extents[3] > kMaxPathHeadDim)
        return invalid("{} has head_dim {}; it must be at most {}.", {name, x.extents[3], kMaxPathHeadDim});
    const char* const others = begins_in_cache(path) ? ", bfloat16 or a format" : " or bfloat16";
    if (const Status s = check_type(name, x.type, call, others); !s.ok()) return s;
    if (path.count > kMaxSteps)
        return invalid("Path {} has {} {step|steps}; it must have at most {}.", {number + 1, path.count, kMaxSteps});
    const PathCall own = call_of_path(path, call);
    int rotations = 0;
    for (int i = 0; i < path.count; ++i) {
        const PathStep& step = path.steps[i];
        rotations += is_step_of<RotateStage>(step) ? 1 : 0;
        if (const Status s = check_step(step, x, path_name(number), own); !s.ok()) return s;
    }
    if (rotations > 1)
        return invalid("Path {} rotates {} {time|times}; it must do so at most once.", {number + 1, rotations});
    if (const Status s = check_own_rows(path, number, own); !s.ok()) return s;
    if (const Status s = check_squares(path, number); !s.ok() || !call.writes) return s;
    if (const Status s = check_slice(path, number); !s.ok()) return s;
    for (int part = 0; part < 3; ++part)
        if (const HeadsInMemory* const m = written_part(path, part); m != nullptr && m->is_const)
            return has_destination(path)
                       ? invalid("{} is const; a path cannot write it.", {destination_name(number)})
                       : invalid("{} is const, and the path has no destination: add to(...).", {name});
    if (has_destination(path)) {
        const StoredHeads& d = path.destination;
        if (const Status s = check_type(destination_name(number), d.codes.type, call, ", bfloat16 or a format");
            !s.ok())
            return s;
        if (const Status s = check_destination(destination_name(number), d, x.extents[0], x.extents[1], x.extents[2],
                                               written_features(path));
            !s.ok())
            return s;
    } else if (!begins_in_cache(path)) {
        return check_no_self_overlap(v);
    }
    if (!begins_in_cache(path) || !is_in_place(path)) return Status();
    for (int part = 0; part < 3; ++part)
        if (const HeadsInMemory* const m = part_of(path.cache, part); m != nullptr)
            if (const Index equal = find_equal_slot(*m, clamped_product(x.extents[0], x.extents[1])); equal >= 0)
                return invalid("{} has slot {} for two tokens; in place, a place would be read and written twice.",
                               {name, equal});
    return Status();
}

/// Memory of a path.
enum class PathMemory { source, written, given, slot_list, numbers, positions };

/// f(view, kind, step) for all memory of a path; `step` has the numbers. A source that is written in place comes once.
template <class F>
inline void for_each_memory(const PathData& path, const F& f) {
    const bool is_one = is_in_place(path);
    for (int part = 0; part < 3; ++part) {
        const HeadsInMemory *const read = is_one ? nullptr : read_part(path, part), *const written =
                                                                                        written_part(path, part);
        for (const HeadsInMemory* const m : {read, written})
            if (m != nullptr) {
                f(*m, m == read ? PathMemory::source : PathMemory::written, nullptr);
                if (m->is_paged) f(m->view_of_slots(), PathMemory::slot_list, nullptr);
            }
    }
    for (const StoredHeads* const d : {&path.cache, &path.destination})
        for (int part = 0; part < 2; ++part)
            if (const HeadsInMemory* const m = given_part_of(*d, part); m != nullptr) f(*m, PathMemory::given, nullptr);
    if (path.rows != nullptr) f(view_of(path.positions), PathMemory::positions, nullptr);
    for (int i = 0; i < path.count; ++i)
        if (has_squares(path.steps[i])) f(path.squares, PathMemory::numbers, &path.steps[i]);
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
    if (kind == PathMemory::given)
        return invalid("{} and the given scales or zeros of {} may share elements; they must be shown to share none.",
                       {written.name, k == kReading ? "from" : path_name(k)});
    if (kind == PathMemory::positions)
        return invalid("{} and the positions of path {} may share elements; they must be shown to share none.",
                       {written.name, k + 1});
    if (kind == PathMemory::slot_list && k == kReading)
        return invalid("{} and the slots of from may share elements; they must be shown to share none.",
                       {written.name});
    if (kind == PathMemory::slot_list)
        return invalid("{} and the slots of path {} may share elements; they must be shown to share none.",
                       {written.name, k + 1});
    return check_shares_nothing(written, v);
}

/// Whether two are the same pages, of which no place is in both: some are read while others are written.
ROPE_COLD bool have_other_slots(const HeadsInMemory& a, const HeadsInMemory& b) noexcept {
    if (!a.is_paged || !b.is_paged || !is_same_view(a, b)) return false;
    constexpr Index kMost = 1 << 15;  // places at a time
    for (Index first = 0; first < a.extents[0] * a.extents[1]; first += kMost) {
        std::uint64_t taken[kMost / 64] = {};
        const auto place = [&](Index slot) { return slot >= first && slot - first < kMost ? slot - first : -1; };
        for (Index i = 0; i < a.slot_count; ++i)
            if (const Index at = place(a.slot_list[i]); at >= 0) taken[at / 64] |= std::uint64_t(1) << at % 64;
        for (Index i = 0; i < b.slot_count; ++i)
            if (const Index at = place(b.slot_list[i]); at >= 0 && (taken[at / 64] >> at % 64 & 1) != 0) return false;
    }
    return true;
}

/// Requires that memory which is written shares nothing with any other: first by the whole memory of each view, which is
/// soon done; then, where some of it is common, view by view.
ROPE_COLD Status check_all_apart(const Path* const* paths, Index count, const Positions& positions,
                                 bool is_reading) noexcept {
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
            const AnyView written = named(one, written_name(PathAccess::data(*paths[i]), is_reading ? kReading : i));
            for (Index k = 0; k < count; ++k)
                for_each_memory(PathAccess::data(*paths[k]),
                                [&](const AnyView& other, PathMemory kind, const PathStep* step) {
                                    if (!mistake.ok() || (k == i && &other == &one)) return;
                                    const bool is_heads = kind == PathMemory::source || kind == PathMemory::written;
                                    if (is_heads && have_other_slots(static_cast<const HeadsInMemory&>(one),
                                                                     static_cast<const HeadsInMemory&>(other)))
                                        return;
                                    const Index number = is_reading ? kReading : k;
                                    const char* const name = kind == PathMemory::written
                                                                 ? written_name(PathAccess::data(*paths[k]), number)
                                                                 : source_name(number);
                                    mistake = check_apart(written, named(other, name), kind, step, number);
                                });
            if (mistake.ok()) mistake = check_list_apart(positions, written);
        });
    return mistake;
}

/// All checks of sum_squares, whose path has no destination.
ROPE_COLD Status check_sums(const PathData& path, const HeadsInMemory& sums, const PathCall& call) noexcept {
    const HeadsInMemory& x = path.source;
    if (const Status s = check_path(path, 0, x, call); !s.ok()) return s;
    const AnyView v = named(sums, "sums");
    if (const Status s = check_extents(v); !s.ok()) return s;
    for (int axis = 0; axis < 4; ++axis)
        if (const Index needed = axis < 2 ? x.extents[axis] : 1; v.extents[axis] != needed)
            return invalid("sums are [{}, {}, {}, {}]; they must be [{}, {}, 1, 1].",
                           {v.extents[0], v.extents[1], v.extents[2], v.extents[3], x.extents[0], x.extents[1]});
    Status s = check_no_self_overlap(v);
    for_each_memory(path, [&](const AnyView& read, PathMemory kind, const PathStep* step) {
        if (s.ok()) s = check_apart(v, named(read, source_name(0)), kind, step, 0);
    });
    return !s.ok() || isa_is_chosen() ? s : choose_isa();
}

/// All checks of a pass.
ROPE_COLD Status check_all_paths(const Path* const* paths, Index count, const Positions& positions,
                                 const PathCall& call) noexcept {
    const HeadsInMemory& first = PathAccess::data(*paths[0]).source;
    for (Index i = 0; i < count; ++i)
        if (const Status s = check_path(PathAccess::data(*paths[i]), call.is_reading ? kReading : i, first, call);
            !s.ok())
            return s;
    if (call.has_rows)
        if (const Status s = check_positions(positions, first.extents[0], first.extents[1], call.table); !s.ok())
            return s;
    const Status s = check_all_apart(paths, count, positions, call.is_reading);
    return !s.ok() || isa_is_chosen() ? s : choose_isa();
}

ROPE_DETAIL_END
