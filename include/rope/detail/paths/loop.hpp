// SPDX-License-Identifier: MIT
// The loops of a path: tokens, a few heads at a time, step after step.
#pragma once

#include <cstdint>

#include "../../types.hpp"
#include "../kernels/formats.hpp"
#include "../simd/prefetch.hpp"
#include "../simd/stream_out.hpp"
#include "destinations.hpp"
#include "stages.hpp"
#include "steps.hpp"

ROPE_DETAIL_BEGIN

/// Whether the heads of a token are contiguous, so that a group of them is converted at once.
ROPE_INLINE bool is_one_run(const AnyView& v) noexcept { return v.strides[2] == v.extents[3] && v.strides[3] == 1; }

/// Loads a group from codes.
template <class T>
ROPE_NOINLINE void load_codes_of(const PathTask<T>& task, Group<T>& g) noexcept {
    const StoredHeads& cache = task.path.cache;
    const Index seq = task.path.source.extents[1], head_dim = task.path.source.extents[3];
    FormatHeads token = format_token(cache, cache.codes, g.b, g.s, seq, g.first);
    if constexpr (sizeof(T) == 4) task.read(token, g.y, g.y_stride, g.heads, head_dim);
}
/// Loads a group, unless its numbers can be read where they are.
template <class T>
ROPE_INLINE void load(const PathTask<T>& task, Group<T>& g) noexcept {
    const HeadsInMemory& from = read_heads(task.path);
    const Index head_dim = task.path.source.extents[3];
    if (task.read != nullptr) {
        load_codes_of(task, g);
    } else {
        const char* at =
            static_cast<const char*>(from.at(offset_in(from, g.b, g.s, task.path.source.extents[1], g.first)));
        if (task.is_source_plain) {
            g.x = static_cast<const T*>(static_cast<const void*>(at));
            g.x_stride = from.strides[2];
            return;
        }
        const bool is_run = is_one_run(from) && g.y_stride == head_dim;
        for (Index h = 0; h < (is_run ? 1 : g.heads); ++h, at += from.strides[2] * from.element_size)
            task.steps.load(at, from.type, from.strides[3], g.y + h * g.y_stride,
                            is_run ? g.heads * head_dim : head_dim);
    }
    g.x = g.y;
    g.x_stride = g.y_stride;
}

/// Loads a group and runs its first `count` steps, into g.y if they end there.
template <class T>
ROPE_NOINLINE void run_steps(const PathTask<T>& task, int count, Group<T>& g, const OfToken& of_token,
                             PathScratch<T>& scratch) noexcept {
    load(task, g);
    for (int i = 0, done; i < count; i += done) {
        const StepCall<T> call = {task, task.path.steps[i], i, of_token, scratch};
        done = is_step_of<NormStage>(call.step) ? NormStage::run_with_rotation(call, count, g) : 0;
        if (done > 0) continue;
        run_step(call, g);
        done = 1;
    }
}

/// Runs NormStage::read_token of each step that needs all heads of a token before it can run on one.
template <class T>
ROPE_COLD void read_token(const PathTask<T>& task, Index b, Index s, OfToken& of_token,
                          PathScratch<T>& scratch) noexcept {
    const HeadsInMemory& source = task.path.source;
    const Index head_dim = source.extents[3], all = source.extents[2], most = heads_at_once(task, all, true);
    for (int i = 0; i < task.path.count; ++i) {
        const PathStep& step = task.path.steps[i];
        if (!needs_token(step)) continue;
        const auto for_each_group = [&](const auto& f) {  // as it comes to the step
            for (Index h = 0; h < all; h += most) {
                Group<T> g = {b, s, h, all - h < most ? all - h : most, nullptr, 0, scratch.tile, head_dim};
                run_steps(task, i, g, of_token, scratch);
                f(g);
            }
        };
        NormStage::read_token(StepCall<T>{task, step, i, of_token, scratch}, of_token, for_each_group);
    }
}

/// Asks for the source of head h of the next group.
template <class T>
ROPE_INLINE void fetch_next(const PathTask<T>& task, const Group<T>& g, Index h) noexcept {
    const HeadsInMemory& source = read_heads(task.path);
    const Index size = source.element_size;
    const void* const x = source.at(source.offset_of(g.b, g.s, g.first + h));
    // Unsigned, as the address behind a view may be none.
    const std::uintptr_t group = static_cast<std::uintptr_t>(g.heads) * static_cast<std::uintptr_t>(source.strides[2]) *
                                 static_cast<std::uintptr_t>(size);
    prefetch<4>(static_cast<const char*>(x), source.extents[3] * size, group);
}

/// Heads `first` to `last` - 1 of a token.
template <class T>
void run_token(const PathTask<T>& task, Index b, Index s, Index first, Index last, const OfToken& of_token,
               PathScratch<T>& scratch) noexcept {
    const HeadsInMemory& source = task.path.source;
    const HeadsInMemory& out = written_heads(task.path);
    FormatHeads to_heads = format_token(written_store(task.path), out, b, s, source.extents[1], first);
    const FormatRow& at = to_heads.row;
    const Index width = written_features(task.path), from = task.path.is_sliced ? task.path.first_feature : 0;
    const bool is_direct = task.is_destination_plain && !task.bypasses_caches && !task.path.is_sliced;
    const bool has_tile = !is_direct || !task.is_source_plain || task.from.step != task.to.step;
    const Index head_dim = source.extents[3], most = heads_at_once(task, last - first, has_tile);
    for (Index h = first, heads; h < last; h += heads) {
        heads = last - h < most ? last - h : most;
        Group<T> g = {b, s, h, heads, nullptr, 0, scratch.tile, head_dim};
        if (is_direct) {
            g.y = static_cast<T*>(static_cast<void*>(at.codes));
            g.y_stride = out.strides[2];
        }
        run_steps(task, task.path.count, g, of_token, scratch);
        if (is_direct || task.bypasses_caches) copy_to_y(g, head_dim);
        const bool is_stored_at_once = !task.is_destination_plain && task.write == nullptr && is_one_run(out) &&
                                       g.x_stride == head_dim && width == head_dim;
        if (is_stored_at_once) task.steps.store(g.x, at.codes, out.type, 1, heads * head_dim);
        if (is_direct || is_stored_at_once) {
            for (Index k = 0; k < heads && task.streams; ++k) fetch_next(task, g, k);
            if (h + heads < last) to_heads.step_on(heads);
            continue;
        }
        if constexpr (sizeof(T) == 4)
            if (task.write != nullptr) {
                for (Index k = 0; k < heads && task.streams; ++k) fetch_next(task, g, k);
                task.write(g.x + from, g.x_stride, heads, width, to_heads);
                continue;
            }
        for (Index k = 0; k < heads; ++k, to_heads.step_on(1)) {
            if (task.streams) fetch_next(task, g, k);
            const T* const x = g.x + k * g.x_stride + from;
            if (task.bypasses_caches)
                stream_out(static_cast<T*>(static_cast<void*>(at.codes)), x, width);
            else
                task.steps.store(x, at.codes, out.type, out.strides[3], width);
        }
    }
}

/// Heads begin .. end - 1 of a path, counted token after token.
template <class T>
void run_path(const PathTask<T>& task, Index begin, Index end) noexcept {
    PathScratch<T> scratch;
    const HeadsInMemory& source = task.path.source;
    const HeadsInMemory &in = read_heads(task.path), &out = written_heads(task.path);
    const Index all = source.extents[2], seq = source.extents[1];
    OfToken of_token;
    for (Index i = begin; i < end;) {
        const Index token = i / all, first = i - token * all, b = token / seq, s = token - b * seq;
        const Index last = end - i < all - first ? first + (end - i) : all;
        i += last - first;
        if (is_skipped(in, b, s, seq) || is_skipped(out, b, s, seq)) continue;
        if (task.needs_tokens && first == 0) read_token(task, b, s, of_token, scratch);
        run_token(task, b, s, first, last, of_token, scratch);
    }
    if (task.bypasses_caches) finish_streaming_out();
}

/// A path whose result is only summed.
template <class T>
struct SumTask {
    PathTask<T> path;
    const HeadsInMemory& sums;
};
/// Tokens begin .. end - 1 of it.
template <class T>
void sum_path(const SumTask<T>& task, Index begin, Index end) noexcept {
    PathScratch<T> scratch;
    const PathTask<T>& of_path = task.path;
    const HeadsInMemory& source = of_path.path.source;
    const Index all = source.extents[2], seq = source.extents[1], head_dim = source.extents[3];
    const Index most = heads_at_once(of_path, all, true);
    OfToken of_token;
    for (Index i = begin; i < end; ++i) {
        const Index b = i / seq, s = i - b * seq;
        if (is_skipped(read_heads(of_path.path), b, s, seq)) continue;
        if (of_path.needs_tokens) read_token(of_path, b, s, of_token, scratch);
        double sum = 0.0, of_heads[kMostHeads];
        for (Index h = 0; h < all; h += most) {
            Group<T> g = {b, s, h, all - h < most ? all - h : most, nullptr, 0, scratch.tile, head_dim};
            run_steps(of_path, of_path.path.count, g, of_token, scratch);
            of_path.steps.sums_of_squares(g.x, g.x_stride, g.heads, head_dim, nullptr, of_heads);
            for (Index k = 0; k < g.heads; ++k) sum = hide_from_optimizer(sum + of_heads[k]);
        }
        task.sums.template elements<double>()[task.sums.offset_of(b, s, 0)] = sum;
    }
}

ROPE_DETAIL_END
