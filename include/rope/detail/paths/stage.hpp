// SPDX-License-Identifier: MIT
// The interface of a stage, the code of one kind of step: its arguments and its functions.
#pragma once

#include <cstring>

#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../call/explain.hpp"
#include "../call/slab.hpp"
#include "../kernels/formats.hpp"
#include "../kernels/rotate.hpp"
#include "../kernels/steps.hpp"
#include "destinations.hpp"
#include "steps.hpp"

ROPE_DETAIL_BEGIN

// ---- When a path is made ----

/// The numbers that a user gave to a step, if any, by axis of the path's heads. A pointer or a list gives head_dim numbers,
/// or, for a norm over a token, heads * head_dim.
inline void set_numbers(Numbers& n, const StepNumbers& given, const HeadsInMemory& of, bool of_token) noexcept {
    const auto& [m, kind] = PathAccess::data(given);
    if (kind == NumbersKind::none) return;
    n = {m, true, kind == NumbersKind::list};
    for (int axis = 0; axis < 4; ++axis)
        if (n.extents[axis] == 1) n.strides[axis] = 0;
    const Index heads = of.extents[2], head_dim = of.extents[3];
    const bool is_whole_token =
        of_token && kind == NumbersKind::list && n.extents[3] == clamped_product(heads, head_dim);
    if (kind == NumbersKind::per_feature || is_whole_token) {
        n.extents[3] = head_dim;
        n.strides[3] = 1;
        n.extents[2] = of_token ? heads : 1;
        n.strides[2] = of_token && heads > 1 ? head_dim : 0;
    }
}

/// The number of a stage: its place in the list (stages.hpp).
template <class Stage>
constexpr StepKind kind_of() noexcept;

/// Whether a step is one of this stage.
template <class Stage>
constexpr bool is_step_of(const PathStep& step) noexcept {
    return step.kind == kind_of<Stage>();
}

/// Adds a step of a stage, without numbers. Null beyond kMaxSteps, where it is only counted.
template <class Stage>
inline PathStep* append_step(PathData& path, double number, bool needs_numbers = false) noexcept {
    if (++path.count > kMaxSteps) return nullptr;
    PathStep& step = path.steps[path.count - 1];
    step.kind = kind_of<Stage>();
    step.needs_numbers = needs_numbers;
    step.number = number;
    step.numbers = step.bias = Numbers();
    return &step;
}

template <class Stage>
inline void append_step(PathData& path, const StepNumbers& numbers) noexcept {
    if (PathStep* const step = append_step<Stage>(path, 0.0, true))
        set_numbers(step->numbers, numbers, path.source, false);
}

// ---- When it is checked ----

/// The properties of the call that its paths share.
struct PathCall {
    TableShape table;
    Capabilities forward, back;  // of the layout
    bool is_double;
    bool has_rows = true;     // else nothing may rotate, and there are no positions
    bool is_reading = false;  // by dequantise, whose arguments have other names
    bool writes = true;       // else the heads of a path are only summed
};

inline bool is_finite_number(const PathStep& step, const PathCall& call) noexcept {
    return is_finite(call.is_double ? step.number : static_cast<double>(static_cast<float>(step.number)));
}

// ---- When it runs ----

/// Bytes of the heads that are processed together, which lie in L1. Half as many where the source of the next ones is
/// fetched meanwhile. See benchmarks/tuning.md.
inline constexpr Index kTileBytes = 8192;
template <class T>
inline constexpr Index kTileNumbers = kTileBytes / static_cast<Index>(sizeof(T)) > kMaxPathHeadDim
                                          ? kTileBytes / static_cast<Index>(sizeof(T))
                                          : kMaxPathHeadDim;

inline constexpr Index kMostHeads = 64;

/// A path of a call, with the kernels that its steps need.
template <class T>
struct PathTask {
    const PathData& path;
    const Positions& positions;
    const StepKernels<T>& steps;
    ReadFormat* read;                            // null for plain elements
    WriteFormat* write;                          // likewise
    Rotation<T, T, T> rotation;                  // of the step that rotates, if there is one
    PairShape from, to;                          // the layouts of pairs, before it and after it
    bool is_source_plain, is_destination_plain;  // contiguous features of type T
    bool streams;                                // a view whose next group is fetched while one is written
    bool bypasses_caches;                        // then a plain destination is written by stream_out
    bool needs_tokens;                           // a step needs all heads of a token first
};

/// The numbers of a group of heads of one token, as they pass from step to step.
template <class T>
struct Group {
    Index b, s, first, heads;
    const T* x;  // in the source, in the tile or in the destination
    Index x_stride;
    T* y;  // in the tile or in the destination
    Index y_stride;
};

/// Numbers that steps have found in all heads of a token, by step: mean and reciprocal root of a norm.
struct OfToken {
    double shift[kMaxSteps];
    double root[kMaxSteps];
};

/// Memory of one thread.
template <class T>
struct PathScratch {
    alignas(64) T tile[kTileNumbers<T>];
    alignas(64) T other[kTileNumbers<T>];  // numbers of a step, or heads whose pairs move
    RowScratch<T> row;
};

/// A step and all that it may need.
template <class T>
struct StepCall {
    const PathTask<T>& task;
    const PathStep& step;
    int number;  // of the step in its path
    const OfToken& of_token;
    PathScratch<T>& scratch;

    const HeadsInMemory& source() const noexcept { return task.path.source; }
    Index head_dim() const noexcept { return source().extents[3]; }
};

/// Numbers of a step for one head, as T and contiguous; `scratch` holds them if they are not so in memory.
template <class T>
ROPE_INLINE const T* numbers_of(const PathTask<T>& task, const Numbers& n, bool adds_one, Index b, Index s, Index h,
                                T* scratch) noexcept {
    const Index head_dim = task.path.source.extents[3];
    const void* const p = n.at(n.offset_of(b, s, h));
    const bool is_plain = n.element_size == static_cast<Index>(sizeof(T)) && n.strides[3] == 1 && !adds_one;
    if (is_plain) return static_cast<const T*>(p);
    task.steps.load(p, n.type, n.strides[3], scratch, head_dim);
    if (adds_one) task.steps.add(scratch, scratch, T(1), nullptr, head_dim);
    return scratch;
}

ROPE_INLINE bool is_same_for_heads(const Numbers& n) noexcept { return n.strides[2] == 0; }

/// Runs f(x, y, head) for each head of a group; then g.x is g.y.
template <class T, class F>
ROPE_INLINE void for_each_head(Group<T>& g, const F& f) noexcept {
    const T* x = g.x;
    T* y = g.y;
    for (Index h = 0; h < g.heads; ++h, x += g.x_stride, y += g.y_stride) f(x, y, g.first + h);
    g.x = g.y;
    g.x_stride = g.y_stride;
}

template <class T>
ROPE_INLINE void copy_to_y(Group<T>& g, Index head_dim) noexcept {
    if (g.x != g.y)
        for_each_head(
            g, [&](const T* x, T* y, Index) { std::memcpy(y, x, static_cast<std::size_t>(head_dim) * sizeof(T)); });
}

/// Runs f(x, y, numbers) for each head of a group, with the numbers of the step for it, or null.
template <class T, class F>
ROPE_INLINE void for_each_head_and_numbers(const StepCall<T>& c, Group<T>& g, const F& f) noexcept {
    const Numbers& n = c.step.numbers;
    const bool is_shared = is_same_for_heads(n), differ = n.data != nullptr && !is_shared;
    const T* numbers = nullptr;
    if (n.data != nullptr && is_shared) numbers = numbers_of(c.task, n, false, g.b, g.s, g.first, c.scratch.other);
    for_each_head(g, [&](const T* x, T* y, Index h) {
        if (differ) numbers = numbers_of(c.task, n, false, g.b, g.s, h, c.scratch.other);
        f(x, y, numbers);
    });
}

/// The most heads of a group, of so many of a token. Twice as many where they need no tile.
template <class T>
ROPE_INLINE Index heads_at_once(const PathTask<T>& task, Index heads, bool has_tile) noexcept {
    const Index head_dim = task.path.source.extents[3];
    const Index room = kTileNumbers<T> << (has_tile ? 0 : 1) >> (task.streams ? 1 : 0);
    if (heads <= kMostHeads && heads * head_dim <= room) return heads;
    const Index fit = head_dim == 0 ? 1 : room / head_dim;
    return fit < 1 ? 1 : fit < kMostHeads ? fit : kMostHeads;
}

/// The base of every stage. Each is a struct of static functions in a file of its own in stages/; the functions of Path
/// that add its step to a path stand in run.hpp.
struct Stage {
    /// Refuses unsuitable options or heads. check.hpp checks what all `numbers` and `bias` must be.
    static Status check(const PathStep&, const AnyView&, const PathCall&) noexcept { return Status(); }
    // Each also has (T: float and double):
    //     static constexpr const char* kName                           for sentences
    //     static void run(const StepCall<T>&, Group<T>&) noexcept      the step, on heads of one token
};

ROPE_DETAIL_END
