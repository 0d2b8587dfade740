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

/// Loads a group and runs its first `count` steps, into `to` if they end there.
template <class T>
ROPE_NOINLINE Group<T> run_steps(const PathTask<T>& task, int count, Index b, Index s, Index first, Index heads, T* to,
                                 Index to_stride, const OfToken& of_token, PathScratch<T>& scratch) noexcept {
    const HeadsInMemory& source = task.path.source;
    Group<T> g = {b, s, first, heads, nullptr, source.strides[2], to, to_stride};
    const void* const at = source.at(source.offset_of(b, s, first));
    if (task.is_source_plain) {
        g.x = static_cast<const T*>(at);
    } else {
        for (Index h = 0; h < heads; ++h)
            task.steps.load(static_cast<const char*>(at) + h * source.strides[2] * source.element_size, source.type,
                            source.strides[3], to + h * to_stride, source.extents[3]);
        g.x = to;
        g.x_stride = to_stride;
    }
    for (int i = 0; i < count; ++i) run_step(StepCall<T>{task, task.path.steps[i], i, of_token, scratch}, g);
    return g;
}

/// Runs NormStage::read_token of each step that needs all heads of a token before it can run on one.
template <class T>
ROPE_COLD void read_token(const PathTask<T>& task, Index b, Index s, OfToken& of_token,
                          PathScratch<T>& scratch) noexcept {
    const HeadsInMemory& source = task.path.source;
    const Index head_dim = source.extents[3], all = source.extents[2], most = heads_at_once(task);
    for (int i = 0; i < task.path.count; ++i) {
        const PathStep& step = task.path.steps[i];
        if (!needs_token(step)) continue;
        const auto for_each_group = [&](const auto& f) {  // as it comes to the step
            for (Index h = 0; h < all; h += most) {
                const Index here = all - h < most ? all - h : most;
                f(run_steps(task, i, b, s, h, here, scratch.tile, head_dim, of_token, scratch));
            }
        };
        NormStage::read_token(StepCall<T>{task, step, i, of_token, scratch}, of_token, for_each_group);
    }
}

/// Asks for the source of head h of the next group.
template <class T>
ROPE_INLINE void fetch_next(const PathTask<T>& task, const Group<T>& g, Index h) noexcept {
    const HeadsInMemory& source = task.path.source;
    const Index size = source.element_size;
    const void* const x = source.at(source.offset_of(g.b, g.s, g.first + h));
    // Unsigned, as the address behind a view may be none.
    const std::uintptr_t group = static_cast<std::uintptr_t>(g.heads) * static_cast<std::uintptr_t>(source.strides[2]) *
                                 static_cast<std::uintptr_t>(size);
    prefetch<4>(static_cast<const char*>(x), source.extents[3] * size, group);
}

/// Heads begin .. end - 1 of a path, counted token after token.
template <class T>
void run_path(const PathTask<T>& task, Index begin, Index end) noexcept {
    PathScratch<T> scratch;
    const HeadsInMemory& source = task.path.source;
    const HeadsInMemory& codes = task.path.destination.codes;
    const bool is_in_place = codes.type == kNoElements;
    const HeadsInMemory& out = is_in_place ? source : codes;
    const Index all = source.extents[2], seq = source.extents[1], head_dim = source.extents[3];
    const Index most = heads_at_once(task);
    const int count = task.path.count;
    OfToken of_token;
    for (Index i = begin, here; i < end; i += here) {
        const Index token = i / all, h = i % all, b = token / seq, s = token % seq;
        here = end - i < all - h ? end - i : all - h;
        if (is_skipped(out, b, s, seq)) continue;
        if (here > most) here = most;
        if (task.needs_tokens && h == 0) read_token(task, b, s, of_token, scratch);
        void* const at = task.write == nullptr ? out.at(offset_in(out, b, s, seq, h)) : nullptr;
        const bool is_direct = task.is_destination_plain && !task.bypasses_caches;
        T* const to = is_direct ? static_cast<T*>(at) : scratch.tile;
        Group<T> g =
            run_steps(task, count, b, s, h, here, to, is_direct ? out.strides[2] : head_dim, of_token, scratch);
        if (task.is_destination_plain) copy_to_y(g, head_dim);
        for (Index k = 0; k < here; ++k) {
            if (task.streams) fetch_next(task, g, k);
            const T* const x = g.x + k * g.x_stride;
            if (task.bypasses_caches)
                stream_out(static_cast<T*>(at) + k * out.strides[2], x, head_dim);
            else if (task.is_destination_plain)
                continue;  // it is there
            else if (task.write == nullptr)
                task.steps.store(x, static_cast<char*>(at) + k * out.strides[2] * out.element_size, out.type,
                                 out.strides[3], head_dim);
            else if constexpr (sizeof(T) == 4)
                task.write(x, head_dim, format_row(task.path.destination, b, s, seq, h + k));
        }
    }
    if (task.bypasses_caches) finish_streaming_out();
}

ROPE_DETAIL_END
