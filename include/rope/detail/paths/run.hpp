// SPDX-License-Identifier: MIT
// Definitions of heads.hpp: the making of a path, and pass.
#pragma once

#include <type_traits>
#include <utility>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../call/arguments.hpp"
#include "../call/job.hpp"
#include "../call/run.hpp"
#include "../views/view_arguments.hpp"
#include "check.hpp"
#include "destinations.hpp"
#include "loop.hpp"
#include "stages.hpp"
#include "steps.hpp"

#include "../base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

/// The work of a path.
template <class T>
struct PathJob {
    PathTask<T> task;
    Kernel<PathTask<T>> kernel;
    Index heads;
    Index bytes;

    Index per_unit() const noexcept { return task.units; }
    Index per_item() const noexcept {
        const Index head_bytes = PathAccess::source(task.path).extents[3] * static_cast<Index>(sizeof(T)) + 1;
        const Index heads_of_item = Index(16384) / head_bytes + 1;
        return (heads_of_item + task.units - 1) / task.units * task.units;
    }
};

template <class T>
inline bool is_plain(const HeadsInMemory& m) noexcept {
    return size_of(m.type) == static_cast<Index>(sizeof(T)) && (m.strides[3] == 1 || m.extents[3] < 2);
}

template <Layout layout, class T>
inline PathJob<T> path_job(const Path& path, const CosSinRows<T>& rows, const Positions& positions) noexcept {
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    const HeadsInMemory& source = PathAccess::source(path);
    const Destination& d = PathAccess::destination(path);
    const HeadsInMemory& out = has_destination(path) ? PathAccess::codes(d) : source;
    PairShape from = pair_shape(layout, rows.pairs()), to = from;
    Direction direction = Direction::forward;
    bool needs_tokens = false;
    for (int i = 0; i < PathAccess::count(path); ++i) {
        const PathStep& step = PathAccess::steps(path)[i];
        needs_tokens = needs_tokens || needs_token(step);
        if (step.kind != RotateStage::kKind) continue;
        const RotateStep rotation = options_of<RotateStep>(step);
        if (rotation.is_back) direction = Direction::inverse;
        if (rotation.has_other_layout) to = pair_shape(rotation.other_layout, rows.pairs());
    }
    const bool stays = from.step == to.step;
    const CacheFormat format = PathAccess::format(d);
    const Index heads = count_heads(source.view(""));
    const bool is_destination_plain = format == CacheFormat::elements && is_plain<T>(out);
    const bool streams = heads * source.extents[3] * size_of(source.type) > kCachedBytes<true>;
    const bool bypasses_caches = kCanStreamOut && streams && is_destination_plain && out.data != source.data &&
                                 can_be_streamed_out(out.view(""));
    return {{path, positions, step_kernels<T>(isa), write_format(isa, format),
             rotation_of(rows, direction, rotate_kernels<layout, T, T, T>(isa, rows.pairs(), stays)), from, to,
             is_plain<T>(source), is_destination_plain, streams, bypasses_caches, needs_tokens,
             needs_tokens && heads > 0 ? source.extents[2] : Index(1)},
            &run_path<T>,
            heads,
            heads * source.extents[3] * size_of(source.type)};
}

template <Layout layout, class T>
inline PathCall call_of(const CosSinRows<T>& rows) noexcept {
    return {shape_of(rows), capabilities_of<layout>(Direction::forward), capabilities_of<layout>(Direction::inverse),
            std::is_same_v<T, double>};
}

template <class... Paths>
inline constexpr bool are_paths = sizeof...(Paths) > 0 && (std::is_same_v<Paths, Path> && ...);

template <Layout layout, class T, class... Paths>
inline Status check_pass_of(const CosSinRows<T>& rows, const Positions& positions, const Paths&... paths) noexcept {
    static_assert(are_paths<Paths...>,
                  "rope::check_pass takes what rope::pass takes: rows, positions, and one or more paths; an executor "
                  "stands before the rows.");
    if constexpr (are_paths<Paths...>) {
        const Path* const all[] = {&paths...};
        return check_paths(all, sizeof...(paths), positions, call_of<layout>(rows));
    } else {
        return Status();
    }
}

template <Layout layout, class Executor, class T, class... Paths>
inline void run_pass(Executor& executor, const CosSinRows<T>& rows, const Positions& positions, const Paths&... paths) {
    static_assert(are_paths<Paths...>,
                  "rope::pass takes rows, positions, and one or more paths, rope::heads(x) with steps and to(...); an "
                  "executor stands before the rows.");
    if constexpr (are_paths<Paths...>)
        if (ok_or_raise(check_pass_of<layout>(rows, positions, paths...)))
            execute(executor, path_job<layout>(paths, rows, positions)...);
}

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

ROPE_ABI inline Path::Path(const detail::HeadsInMemory& source) noexcept : source_(source) {}

ROPE_ABI inline detail::PathStep* Path::append(detail::StepKind kind, const StepNumbers& numbers,
                                               double number) noexcept {
    if (++count_ > kMaxSteps) return nullptr;
    detail::PathStep& step = steps_[count_ - 1];
    step.kind = kind;
    step.needs_numbers = false;
    step.number = number;
    step.numbers = detail::numbers_of_step(numbers, source_, false);
    step.bias.data = nullptr;
    step.bias.is_given = false;
    return &step;
}
ROPE_ABI inline Path& Path::to(const Destination& destination) noexcept {
    destination_ = destination;
    return *this;
}

template <class X>
ROPE_ABI inline Path heads(X&& x) noexcept {
    return detail::PathAccess::make<Path>(detail::tensor_of<false, void>(x));
}

template <Layout layout, class T, class... Paths>
ROPE_ABI inline void pass(const CosSinRows<T>& rows, PositionsArgument&& positions, const Paths&... paths) {
    detail::CallingThread here;
    detail::run_pass<layout>(here, rows, positions, paths...);
}
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline void pass(Executor&& executor, const CosSinRows<T>& rows, PositionsArgument&& positions,
                          const Paths&... paths) {
    detail::run_pass<layout>(executor, rows, positions, paths...);
}
template <Layout layout, class T, class... Paths>
ROPE_ABI inline Status check_pass(const CosSinRows<T>& rows, PositionsArgument&& positions,
                                  const Paths&... paths) noexcept {
    return detail::check_pass_of<layout>(rows, positions, paths...);
}

template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline Status check_pass(Executor&&, const CosSinRows<T>& rows, PositionsArgument&& positions,
                                  const Paths&... paths) noexcept {
    return detail::check_pass_of<layout>(rows, positions, paths...);
}
ROPE_WITH_RUN_TIME_LAYOUT(pass)
template <class... Args>
ROPE_ABI inline Status check_pass(Layout layout, Args&&... args) noexcept {
    if (const Status s = detail::check_layout(layout); !s.ok()) return s;
    return layout == Layout::interleaved ? rope::check_pass<Layout::interleaved>(std::forward<Args>(args)...)
                                         : rope::check_pass<Layout::half_split>(std::forward<Args>(args)...);
}

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../base/restore_macros.hpp"
