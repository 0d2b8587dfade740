// SPDX-License-Identifier: MIT
// The loops of a path: tokens, a few heads at a time, step after step.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../call/slab.hpp"
#include "../kernels/formats.hpp"
#include "../kernels/rotate.hpp"
#include "../kernels/steps.hpp"
#include "../simd/prefetch.hpp"
#include "../simd/stream_out.hpp"
#include "destinations.hpp"
#include "steps.hpp"

ROPE_DETAIL_BEGIN

/// Heads that are under way together: their numbers lie in L1. Half as many where the source of the next ones is
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
    const Path& path;
    const Positions& positions;
    const StepKernels<T>& steps;
    WriteFormat* write;                          // null for plain elements
    Rotation<T, T, T> rotation;                  // of the step that rotates, if there is one
    PairShape from, to;                          // the layouts of pairs, before it and after it
    bool is_source_plain, is_destination_plain;  // contiguous features of type T
    bool streams;                                // the source of the next group is fetched while one is written
    bool bypasses_caches;                        // then a plain destination is written by stream_out
    bool norms_tokens;                           // a norm needs all heads of a token
    Index units;                                 // heads that are one piece of work: 1, or then all of a token
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

/// Mean and reciprocal root of the norms over a token, by step.
struct TokenNorms {
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

/// Numbers of a step for one head, as T and contiguous; `scratch` holds them if they are not so in memory.
template <class T>
ROPE_INLINE const T* numbers_of(const PathTask<T>& task, const Numbers& n, bool adds_one, Index b, Index s, Index h,
                                T* scratch) noexcept {
    const Index head_dim = PathAccess::source(task.path).extents[3];
    const Index at = b * n.strides[0] + s * n.strides[1] + h * n.strides[2];
    const char* const p = static_cast<const char*>(n.data) + at * size_of(n.type);
    const bool is_plain = size_of(n.type) == static_cast<Index>(sizeof(T)) && n.strides[3] == 1 && !adds_one;
    if (is_plain) return reinterpret_cast<const T*>(p);
    task.steps.load(p, n.type, n.strides[3], scratch, head_dim);
    if (adds_one) task.steps.add(scratch, scratch, T(1), nullptr, head_dim);
    return scratch;
}

ROPE_INLINE bool is_same_for_heads(const Numbers& n) noexcept { return n.strides[2] == 0; }

/// Runs f(x, y, head) for each head of a group; then x is y.
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

/// The reciprocal root of a norm.
ROPE_INLINE double root_of(const PathStep& step, double squares, Index count) noexcept {
    const double mean = step.norm == NormKind::l2 ? squares : squares / static_cast<double>(count);
    return 1.0 / std::sqrt(mean + step.number);
}

/// Norms one head, whose mean (of layer_norm) and reciprocal root are known.
template <class T>
ROPE_INLINE void apply_norm(const StepKernels<T>& k, const PathStep& step, ElementType type, Index n, const T* x, T* y,
                            T shift, T root, const T* w) noexcept {
    if (step.norm == NormKind::layer_norm) {
        k.add(x, y, -shift, nullptr, n);
        x = y;
    }
    const bool rounds_result =
        step.norm_rounding == NormRounding::normalised || (step.norm_rounding == NormRounding::root && w == nullptr);
    if (step.norm_rounding == NormRounding::root) k.round(&root, type, 1);
    if (w != nullptr && !rounds_result) return k.multiply_twice(x, 0, y, 0, 1, n, &root, w);
    k.multiply(x, y, root, nullptr, n);
    if (rounds_result) k.round(y, type, n);
    if (w == nullptr) return;
    k.multiply(y, y, T(1), w, n);
    k.round(y, type, n);
}

/// All sums come first, then all roots: no head waits for its own.
template <class T>
ROPE_NOINLINE void norm_step(const PathTask<T>& task, const PathStep& step, Group<T>& g, const TokenNorms& of_token,
                             int number, PathScratch<T>& scratch) noexcept {
    const StepKernels<T>& k = task.steps;
    const HeadsInMemory& source = PathAccess::source(task.path);
    const Index n = source.extents[3];
    const bool has_mean = step.norm == NormKind::layer_norm;
    double shifts[kMostHeads], squares[kMostHeads];
    T roots[kMostHeads];
    if (step.over == NormSpan::token) {
        for (Index h = 0; h < g.heads; ++h) {
            shifts[h] = of_token.shift[number];
            roots[h] = static_cast<T>(of_token.root[number]);
        }
    } else {
        if (has_mean) k.sums(g.x, g.x_stride, g.heads, n, shifts);
        for (Index h = 0; h < g.heads && has_mean; ++h)
            shifts[h] = static_cast<double>(static_cast<T>(shifts[h] / static_cast<double>(n)));
        k.sums_of_squares(g.x, g.x_stride, g.heads, n, has_mean ? shifts : nullptr, squares);
        for (Index h = 0; h < g.heads; ++h) roots[h] = static_cast<T>(root_of(step, squares[h], n));
    }
    const bool has_weight = step.numbers.data != nullptr, is_shared = is_same_for_heads(step.numbers);
    const T* w = nullptr;
    if (has_weight && is_shared) w = numbers_of(task, step.numbers, step.adds_one, g.b, g.s, g.first, scratch.other);
    if (w != nullptr && !has_mean && step.norm_rounding == NormRounding::none) {  // the usual norm
        k.multiply_twice(g.x, g.x_stride, g.y, g.y_stride, g.heads, n, roots, w);
        g.x = g.y;
        g.x_stride = g.y_stride;
    } else {
        for_each_head(g, [&](const T* from, T* to, Index h) {
            if (has_weight && !is_shared) w = numbers_of(task, step.numbers, step.adds_one, g.b, g.s, h, scratch.other);
            const T shift = has_mean ? static_cast<T>(shifts[h - g.first]) : T(0);
            apply_norm(k, step, source.type, n, from, to, shift, roots[h - g.first], w);
        });
    }
    if (step.bias.data != nullptr)  // for which the scratch memory is free now
        for_each_head(g, [&](const T* from, T* to, Index h) {
            k.add(from, to, T(0), numbers_of(task, step.bias, false, g.b, g.s, h, scratch.other), n);
        });
}

/// The cosines and sines of a token, rounded where the step says so.
template <class T>
ROPE_INLINE Row<T> row_of(const PathTask<T>& task, const PathStep& step, Index b, Index s, Index pairs,
                          RowScratch<T>& scratch) noexcept {
    const HeadsInMemory& source = PathAccess::source(task.path);
    const Index k = rows_of(task.positions, task.rotation.source, source.extents[1], b, s, false)[0];
    Row<T> row = pairs_of(task.rotation, k, pairs, 0, pairs, scratch.cos, scratch.sin);
    if (step.rotate_rounding == RotateRounding::none) return row;
    if (row.cos != scratch.cos) {
        std::memcpy(scratch.cos, row.cos, static_cast<std::size_t>(pairs) * sizeof(T));
        std::memcpy(scratch.sin, row.sin, static_cast<std::size_t>(pairs) * sizeof(T));
    }
    task.steps.round(scratch.cos, source.type, pairs);
    task.steps.round(scratch.sin, source.type, pairs);
    return {scratch.cos, scratch.sin, nullptr, pairs};
}

/// Rotates the pairs of x to their places in y, with all products and sums rounded to the type of the source.
template <class T>
ROPE_COLD void rotate_rounded(const PathTask<T>& task, const T* x, T* y, const Row<T>& row, Index pairs) noexcept {
    const ElementType type = PathAccess::source(task.path).type;
    const auto rounded = [&](T value) {
        task.steps.round(&value, type, 1);
        return value;
    };
    for (Index i = 0; i < pairs; ++i) {
        const T a = x[i * task.from.step], b = x[i * task.from.step + task.from.distance];
        const T ac = rounded(a * row.cos[i]), bs = rounded(b * row.sin[i]);
        const T bc = rounded(b * row.cos[i]), as = rounded(a * row.sin[i]);
        y[i * task.to.step] = rounded(ac - bs);
        y[i * task.to.step + task.to.distance] = rounded(bc + as);
    }
}

template <class T>
ROPE_NOINLINE void rotate_step(const PathTask<T>& task, const PathStep& step, Group<T>& g,
                               PathScratch<T>& scratch) noexcept {
    const Index head_dim = PathAccess::source(task.path).extents[3], offset = task.rotation.before;
    const Index pairs = (head_dim - offset - task.rotation.after) / 2;
    const Row<T> row = row_of(task, step, g.b, g.s, pairs, scratch.row);
    if (2 * pairs != head_dim) copy_to_y(g, head_dim);
    if (step.has_other_layout && g.x == g.y) {  // pairs do not stay where they are
        for (Index h = 0; h < g.heads; ++h)
            std::memcpy(scratch.other + h * head_dim, g.x + h * g.x_stride,
                        static_cast<std::size_t>(head_dim) * sizeof(T));
        g.x = scratch.other;
        g.x_stride = head_dim;
    }
    if (step.rotate_rounding == RotateRounding::all)
        return for_each_head(
            g, [&](const T* x, T* y, Index) { rotate_rounded(task, x + offset, y + offset, row, pairs); });
    const HeadsShape shape = {g.x_stride, g.y_stride, task.from, task.to, pairs};
    task.rotation.kernels.rotate(g.x + offset, g.y + offset, row.cos, row.sin, shape, g.heads);
    g.x = g.y;
    g.x_stride = g.y_stride;
}

/// Step `number` of a path on a group of heads.
template <class T>
ROPE_NOINLINE void run_step(const PathTask<T>& task, int number, Group<T>& g, const TokenNorms& of_token,
                            PathScratch<T>& scratch) noexcept {
    const PathStep& step = PathAccess::steps(task.path)[number];
    const HeadsInMemory& source = PathAccess::source(task.path);
    const StepKernels<T>& k = task.steps;
    const Index n = source.extents[3];
    const T constant = static_cast<T>(step.number);
    const bool has_numbers = step.numbers.data != nullptr, is_shared = is_same_for_heads(step.numbers);
    const T* numbers =
        has_numbers && is_shared ? numbers_of(task, step.numbers, false, g.b, g.s, g.first, scratch.other) : nullptr;
    const auto of_head = [&](Index h) -> const T* {
        if (has_numbers && !is_shared) numbers = numbers_of(task, step.numbers, false, g.b, g.s, h, scratch.other);
        return numbers;
    };
    switch (step.kind) {
        case StepKind::add:
            for_each_head(g, [&](const T* x, T* y, Index h) { k.add(x, y, T(0), of_head(h), n); });
            break;
        case StepKind::clamp: for_each_head(g, [&](const T* x, T* y, Index) { k.clamp(x, y, constant, n); }); break;
        case StepKind::multiply:
            for_each_head(g, [&](const T* x, T* y, Index h) { k.multiply(x, y, constant, of_head(h), n); });
            break;
        case StepKind::norm: norm_step(task, step, g, of_token, number, scratch); break;
        case StepKind::rotate: rotate_step(task, step, g, scratch); break;
        case StepKind::hadamard: {
            copy_to_y(g, n);
            const Index block = step.number == 0.0 ? n : static_cast<Index>(step.number);
            const T factor = static_cast<T>(1.0 / std::sqrt(static_cast<double>(block)));
            for_each_head(g, [&](const T*, T* y, Index) { k.hadamard(y, block, factor, n); });
            break;
        }
        case StepKind::round:
            copy_to_y(g, n);
            for_each_head(g, [&](const T*, T* y, Index) { k.round(y, source.type, n); });
            break;
    }
}

/// Loads a group and runs its first `count` steps, into `to` if they end there.
template <class T>
ROPE_NOINLINE Group<T> run_steps(const PathTask<T>& task, int count, Index b, Index s, Index first, Index heads, T* to,
                                 Index to_stride, const TokenNorms& of_token, PathScratch<T>& scratch) noexcept {
    const HeadsInMemory& source = PathAccess::source(task.path);
    Group<T> g = {b, s, first, heads, nullptr, source.strides[2], to, to_stride};
    const char* const at = static_cast<const char*>(source.at(source.offset_of(b, s, first)));
    if (task.is_source_plain) {
        g.x = reinterpret_cast<const T*>(at);
    } else {
        for (Index h = 0; h < heads; ++h)
            task.steps.load(at + h * source.strides[2] * size_of(source.type), source.type, source.strides[3],
                            to + h * to_stride, source.extents[3]);
        g.x = to;
        g.x_stride = to_stride;
    }
    for (int i = 0; i < count; ++i) run_step(task, i, g, of_token, scratch);
    return g;
}

template <class T>
ROPE_INLINE Index heads_at_once(const PathTask<T>& task) noexcept {
    const Index head_dim = PathAccess::source(task.path).extents[3];
    if (head_dim == 0) return 1;
    const Index fit = kTileNumbers<T> / (task.streams ? 2 : 1) / head_dim;
    return fit < 1 ? 1 : fit < kMostHeads ? fit : kMostHeads;
}

/// Mean and root of the norms over a token, which need all its heads first.
template <class T>
ROPE_COLD void find_token_norms(const PathTask<T>& task, Index b, Index s, TokenNorms& norms,
                                PathScratch<T>& scratch) noexcept {
    const HeadsInMemory& source = PathAccess::source(task.path);
    const Index head_dim = source.extents[3], all = source.extents[2], most = heads_at_once(task);
    const double numbers = static_cast<double>(all) * static_cast<double>(head_dim);
    for (int i = 0; i < PathAccess::count(task.path); ++i) {
        const PathStep& step = PathAccess::steps(task.path)[i];
        if (step.kind != StepKind::norm || step.over != NormSpan::token) continue;
        norms.shift[i] = 0.0;
        for (int round = step.norm == NormKind::layer_norm ? 0 : 1; round < 2; ++round) {
            double sum = 0.0;
            for (Index h = 0; h < all; h += most) {
                const Index here = all - h < most ? all - h : most;
                Group<T> g = run_steps(task, i, b, s, h, here, scratch.tile, head_dim, norms, scratch);
                double of_heads[kMostHeads], shifts[kMostHeads];
                for (Index k = 0; k < here; ++k) shifts[k] = norms.shift[i];
                if (round == 0)
                    task.steps.sums(g.x, g.x_stride, here, head_dim, of_heads);
                else
                    task.steps.sums_of_squares(g.x, g.x_stride, here, head_dim, shifts, of_heads);
                for (Index k = 0; k < here; ++k) sum += of_heads[k];
            }
            if (round == 0)
                norms.shift[i] = static_cast<double>(static_cast<T>(sum / numbers));
            else
                norms.root[i] = root_of(step, sum, all * head_dim);
        }
    }
}

/// Asks for the source of head h of the next group.
template <class T>
ROPE_INLINE void fetch_next(const PathTask<T>& task, const Group<T>& g, Index h) noexcept {
    const HeadsInMemory& source = PathAccess::source(task.path);
    const Index size = size_of(source.type);
    const void* const x = source.at(source.offset_of(g.b, g.s, g.first + h));
    const auto group = static_cast<std::uintptr_t>(g.heads * source.strides[2] * size);
    prefetch<4>(static_cast<const char*>(x), source.extents[3] * size, group);
}

/// Heads begin .. end - 1 of a path, counted token after token.
template <class T>
void run_path(const PathTask<T>& task, Index begin, Index end) noexcept {
    PathScratch<T> scratch;
    const HeadsInMemory& source = PathAccess::source(task.path);
    const Destination& destination = PathAccess::destination(task.path);
    const HeadsInMemory& codes = PathAccess::codes(destination);
    const bool is_in_place = codes.type == kNoElements;
    const HeadsInMemory& out = is_in_place ? source : codes;
    const Index all = source.extents[2], seq = source.extents[1], head_dim = source.extents[3];
    const Index most = heads_at_once(task);
    const int count = PathAccess::count(task.path);
    TokenNorms norms;
    for (Index i = begin, here; i < end; i += here) {
        const Index token = i / all, h = i % all, b = token / seq, s = token % seq;
        here = end - i < all - h ? end - i : all - h;
        if (is_skipped(out, b, s, seq)) continue;
        if (here > most) here = most;
        if (task.norms_tokens && h == 0) find_token_norms(task, b, s, norms, scratch);
        char* const at = task.write == nullptr ? static_cast<char*>(out.at(offset_in(out, b, s, seq, h))) : nullptr;
        const bool is_direct = task.is_destination_plain && !task.bypasses_caches;
        T* const to = is_direct ? reinterpret_cast<T*>(at) : scratch.tile;
        Group<T> g = run_steps(task, count, b, s, h, here, to, is_direct ? out.strides[2] : head_dim, norms, scratch);
        if (task.is_destination_plain) copy_to_y(g, head_dim);
        for (Index k = 0; k < here; ++k) {
            if (task.streams) fetch_next(task, g, k);
            const T* const x = g.x + k * g.x_stride;
            if (task.bypasses_caches)
                stream_out(reinterpret_cast<T*>(at) + k * out.strides[2], x, head_dim);
            else if (task.is_destination_plain)
                continue;  // it is there
            else if (task.write == nullptr)
                task.steps.store(x, at + k * out.strides[2] * size_of(out.type), out.type, out.strides[3], head_dim);
            else if constexpr (sizeof(T) == 4)
                task.write(x, head_dim, format_row(destination, b, s, seq, h + k));
        }
    }
    if (task.bypasses_caches) finish_streaming_out();
}

ROPE_DETAIL_END
