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
inline Job<PathTask<T>> path_job(const PathData& path, const CosSinRows<T>& rows, const Positions& positions) noexcept {
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    const HeadsInMemory& source = path.source;
    const DestinationData& d = path.destination;
    const HeadsInMemory& out = has_destination(path) ? d.codes : source;
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
    const Index heads = count_heads(source), bytes = bytes_of(source);
    const bool is_destination_plain = d.format == kElements && is_plain<T>(out);
    const bool streams = bytes > kCachedBytes<true>;
    const bool bypasses_caches =
        kCanStreamOut && streams && is_destination_plain && out.data != source.data && can_be_streamed_out(out);
    const PathTask<T> task = {path,
                              positions,
                              step_kernels<T>(isa),
                              write_format(isa, d.format),
                              rotation_of(rows, direction, rotate_kernels<layout, T, T, T>(isa, rows.pairs(), stays)),
                              from,
                              to,
                              is_plain<T>(source),
                              is_destination_plain,
                              streams,
                              bypasses_caches,
                              needs_tokens};
    return even_job(task, &run_path<T>, heads, bytes, needs_tokens && heads > 0 ? source.extents[2] : Index(1));
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

/// Jobs are made where they are needed: a call may have any number of paths.
template <Layout layout, class T>
ROPE_API Status run_paths(const AnyExecutor& executor, const CosSinRows<T>& rows, const Positions& positions,
                          const Path* const* paths, Index count) {
    if (const Status s = check_paths<layout>(rows, positions, paths, count); !s.ok()) return s;
    const auto for_each_job = [&](const auto& f) {
        for (Index i = 0; i < count; ++i) f(path_job<layout>(PathAccess::data(*paths[i]), rows, positions));
    };
    const Cutting cutting = executor.cutting;
    Index bytes = 0;
    for (Index i = 0; i < count; ++i) bytes += bytes_of(PathAccess::data(*paths[i]).source);
    if (!is_cut(cutting, bytes)) {
        for_each_job([](const auto& job) { job.kernel(job.task, 0, job.pieces); });
        return Status();
    }
    Index items = 0;
    for_each_job([&](const auto& job) { items += count_items(job.pieces, pieces_per_item(cutting, job)); });
    executor(items, [&](Index begin, Index end) {
        Index first = 0;
        for_each_job(
            [&](const auto& job) { first = run_range(job, begin, end, first, pieces_per_item(cutting, job)); });
    });
    return Status();
}

ROPE_SOURCE_END

ROPE_BEGIN

ROPE_API Path& Path::add(const StepNumbers& bias) noexcept {
    detail::append_step<detail::AddStage>(data_, bias, 0.0, true);
    return *this;
}
ROPE_API Path& Path::clamp(double limit) noexcept {
    detail::append_step<detail::ClampStage>(data_, nullptr, limit);
    return *this;
}
ROPE_API Path& Path::multiply(double factor) noexcept {
    detail::append_step<detail::MultiplyStage>(data_, nullptr, factor);
    return *this;
}
ROPE_API Path& Path::multiply(const StepNumbers& factors) noexcept {
    detail::append_step<detail::MultiplyStage>(data_, factors, 0.0, true);
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
    detail::append_step<detail::HadamardStage>(data_, nullptr, static_cast<double>(block));
    return *this;
}
ROPE_API Path& Path::round() noexcept {
    detail::append_step<detail::RoundStage>(data_, nullptr, 0.0);
    return *this;
}
ROPE_API Path& Path::to(const Destination& destination) noexcept {
    data_.destination = detail::PathAccess::data(destination);
    return *this;
}

ROPE_END
#endif
