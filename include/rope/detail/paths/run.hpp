// SPDX-License-Identifier: MIT
// Definitions of heads.hpp: the making of a path, and pass.
#pragma once

#include <type_traits>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../base/executor.hpp"
#include "../call/job.hpp"
#include "../call/run.hpp"
#include "accept.hpp"
#include "check.hpp"
#include "destinations.hpp"
#include "loop.hpp"
#include "pass.hpp"
#include "stages.hpp"
#include "steps.hpp"

ROPE_DETAIL_BEGIN

template <class T>
inline bool is_plain(const HeadsInMemory& m) noexcept {
    return m.element_size == static_cast<Index>(sizeof(T)) && (m.strides[3] == 1 || m.extents[3] < 2);
}

template <Layout layout, class T>
inline PathTask<T> path_task(const PathData& path, const CosSinRows<T>& rows, const Positions& positions) noexcept {
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    const HeadsInMemory& source = path.source;
    const DestinationData& d = path.destination;
    const HeadsInMemory& out = written_heads(path);
    PairShape from = pair_shape(layout, rows.pairs()), to = from;
    Direction direction = Direction::forward;
    bool needs_tokens = false;
    for (int i = 0; i < path.count; ++i) {
        const PathStep& step = path.steps[i];
        needs_tokens = needs_tokens || needs_token(step);
        if (!is_step_of<RotateStage>(step)) continue;
        const RotateStep rotation = options_of<RotateStep>(step);
        if (rotation.is_back) direction = Direction::inverse;
        if (rotation.has_other_layout) to = pair_shape(rotation.other_layout, rows.pairs());
    }
    const bool stays = from.step == to.step;
    const bool is_destination_plain = d.format == nullptr && is_plain<T>(out);
    const bool streams = bytes_of(source) > kCachedBytes<true>;
    const bool bypasses_caches =
        kCanStreamOut && streams && is_destination_plain && out.data != source.data && can_be_streamed_out(out);
    return {path,
            positions,
            step_kernels<T>(isa),
            format_of(d).write(isa),
            rotation_of(rows, direction, rotate_kernels<layout, T, T, T>(isa, rows.pairs(), stays)),
            from,
            to,
            is_plain<T>(source),
            is_destination_plain,
            streams,
            bypasses_caches,
            needs_tokens};
}
/// A path whose heads are cut into work items.
template <class T>
inline Job<PathTask<T>> path_job(const PathTask<T>& task) noexcept {
    const HeadsInMemory& source = task.path.source;
    const Index heads = count_heads(source);
    return even_job(task, &run_path<T>, heads, bytes_of(source),
                    task.needs_tokens && heads > 0 ? source.extents[2] : Index(1));
}

/// A path of one token that is rotated forward where it is, and nothing else, as one call of a kernel. To make a task of it
/// takes as long as to rotate ten heads. False, and nothing is done, for all other paths.
template <Layout layout, class T>
inline bool rotate_alone(const PathData& path, const CosSinRows<T>& rows, const Positions& positions) noexcept {
    const HeadsInMemory& x = path.source;
    const RowSource<T>& table = RowsAccess::source(rows);
    if (path.count != 1 || !RotateStage::is_usual(path.steps[0]) || options_of<RotateStep>(path.steps[0]).is_back ||
        has_destination(path) || !is_plain<T>(x) || x.extents[0] != 1 || x.extents[1] != 1 || is_empty(x) ||
        table.fine != nullptr)
        return false;
    const Index pairs = rows.pairs(), row = (positions.at(0, 0, 1) - table.first) * table.stride;
    const PairShape pair = pair_shape(layout, pairs);
    T* const first = x.template elements<T>() + rows.rotary_offset();
    rotate_kernels<layout, T, T, T>(chosen_isa.load(std::memory_order_relaxed), pairs, true)
        .rotate(first, first, table.cos + row, table.sin + row, {x.strides[2], x.strides[2], pair, pair, pairs},
                x.extents[2]);
    return true;
}

template <Layout layout, class T>
inline PathCall call_of(const CosSinRows<T>& rows) noexcept {
    return {shape_of(rows), capabilities_of<layout>(Direction::forward), capabilities_of<layout>(Direction::inverse),
            std::is_same_v<T, double>};
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_SOURCE_BEGIN

template <Layout layout, class T>
ROPE_API Status check_paths(const CosSinRows<T>& rows, const Positions& positions, const Path* const* paths,
                            Index count) noexcept {
    return check_all_paths(paths, count, positions, call_of<layout>(rows));
}

/// Tasks are made where they are needed: a call may have any number of paths.
template <Layout layout, class T>
ROPE_API Status run_paths(const AnyExecutor& executor, const CosSinRows<T>& rows, const Positions& positions,
                          const Path* const* paths, Index count) {
    const PathCall call = call_of<layout>(rows);
    if (!accept_pass(paths, count, positions, call))
        if (const Status s = check_all_paths(paths, count, positions, call); !s.ok()) return s;
    const auto for_each_task = [&](const auto& f) {
        for (Index i = 0; i < count; ++i) f(path_task<layout>(PathAccess::data(*paths[i]), rows, positions));
    };
    const Cutting cutting = executor.cutting;
    Index bytes = 0;
    for (Index i = 0; i < count && cutting == Cutting::if_large; ++i)
        bytes += bytes_of(PathAccess::data(*paths[i]).source);
    if (!is_cut(cutting, bytes)) {
        for (Index i = 0; i < count; ++i) {
            const PathData& path = PathAccess::data(*paths[i]);
            if (!rotate_alone<layout>(path, rows, positions))
                run_path(path_task<layout>(path, rows, positions), 0, count_heads(path.source));
        }
        return Status();
    }
    Index items = 0;
    for_each_task([&](const auto& task) {
        const auto job = path_job(task);
        items += count_items(job.pieces, pieces_per_item(cutting, job));
    });
    executor(items, [&](Index begin, Index end) {
        Index first = 0;
        for_each_task([&](const auto& task) {
            const auto job = path_job(task);
            first = run_range(job, begin, end, first, pieces_per_item(cutting, job));
        });
    });
    return Status();
}

ROPE_SOURCE_END

ROPE_BEGIN

ROPE_API Path& Path::add(const StepNumbers& bias) noexcept {
    detail::append_step<detail::AddStage>(data_, bias);
    return *this;
}
ROPE_API Path& Path::clamp(double limit) noexcept {
    detail::append_step<detail::ClampStage>(data_, limit);
    return *this;
}
ROPE_API Path& Path::multiply(double factor) noexcept {
    detail::append_step<detail::MultiplyStage>(data_, factor);
    return *this;
}
ROPE_API Path& Path::multiply(const StepNumbers& factors) noexcept {
    detail::append_step<detail::MultiplyStage>(data_, factors);
    return *this;
}
ROPE_API Path& Path::rms_norm(const StepNumbers& weight, double eps, const NormOptions& options) noexcept {
    detail::NormStage::append(data_, {options, NormKind::rms}, weight, nullptr, eps);
    return *this;
}
ROPE_API Path& Path::rms_norm(double eps, const NormOptions& options) noexcept {
    return rms_norm(nullptr, eps, options);
}
ROPE_API Path& Path::l2_norm(const StepNumbers& weight, double eps, const NormOptions& options) noexcept {
    detail::NormStage::append(data_, {options, NormKind::l2}, weight, nullptr, eps);
    return *this;
}
ROPE_API Path& Path::layer_norm(const StepNumbers& weight, const StepNumbers& bias, double eps,
                                const NormOptions& options) noexcept {
    detail::NormStage::append(data_, {options, NormKind::layer_norm}, weight, bias, eps);
    return *this;
}
ROPE_API Path& Path::rotate(RotateRounding rounding) noexcept {
    detail::RotateStage::append(data_, {rounding, false, false, Layout::half_split});
    return *this;
}
ROPE_API Path& Path::rotate_back(RotateRounding rounding) noexcept {
    detail::RotateStage::append(data_, {rounding, true, false, Layout::half_split});
    return *this;
}
ROPE_API Path& Path::rotate_into(Layout layout, RotateRounding rounding) noexcept {
    detail::RotateStage::append(data_, {rounding, false, true, layout});
    return *this;
}
ROPE_API Path& Path::hadamard(Index block) noexcept {
    detail::append_step<detail::HadamardStage>(data_, static_cast<double>(block));
    return *this;
}
ROPE_API Path& Path::round() noexcept {
    detail::append_step<detail::RoundStage>(data_, 0.0);
    return *this;
}
ROPE_API Path& Path::to(const Destination& destination) noexcept {
    data_.destination = detail::PathAccess::data(destination);
    return *this;
}

ROPE_END
#endif
