// SPDX-License-Identifier: MIT
// Definitions of heads.hpp: the making of a path, and pass.
#pragma once

#include <type_traits>
#include <utility>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../base/executor.hpp"
#include "../base/other_calls.hpp"
#include "../call/arguments.hpp"
#include "../call/job.hpp"
#include "../call/run.hpp"
#include "../views/view_arguments.hpp"
#include "check.hpp"
#include "destinations.hpp"
#include "loop.hpp"
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
    const Index heads = count_heads(source), bytes = heads * source.extents[3] * source.element_size;
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

template <bool never>
inline void refuse_pass() noexcept {
    static_assert(
        never,
        "No function of this name takes these arguments. In this order it takes an executor, or none; rows, even "
        "where no path rotates; positions, or none for 0, 1, 2, ...; and one or more paths, rope::heads(x) with "
        "steps and to(...). " ROPE_SAYS_ROWS);
}

template <class... Paths>
inline constexpr bool are_paths = sizeof...(Paths) > 0 && (std::is_same_v<Paths, Path> && ...);

template <Layout layout, class T, class... Paths>
inline Status check_pass_of(const CosSinRows<T>& rows, const Positions& positions, const Paths&... paths) noexcept {
    static_assert(are_paths<Paths...>,
                  "rope::check_pass takes what rope::pass takes: rows, positions or none, and one or more paths; an "
                  "executor stands before the rows.");
    if constexpr (are_paths<Paths...>) {
        const PathData* const all[] = {&PathAccess::data(paths)...};
        return check_paths(all, sizeof...(paths), positions, call_of<layout>(rows));
    } else {
        return Status();
    }
}

template <Layout layout, class Executor, class T, class... Paths>
inline ResultOf<Executor> run_pass(Executor& executor, const CosSinRows<T>& rows, const Positions& positions,
                                   const Paths&... paths) {
    static_assert(are_paths<Paths...>,
                  "rope::pass takes rows, positions or none, and one or more paths, rope::heads(x) with steps and "
                  "to(...); an executor stands before the rows.");
    if constexpr (are_paths<Paths...>) {
        const Status s = check_pass_of<layout>(rows, positions, paths...);
        if (s.ok()) execute(executor_of(executor), path_job<layout>(PathAccess::data(paths), rows, positions)...);
        return finished<ResultOf<Executor>>(s);
    }
    return ResultOf<Executor>();
}

ROPE_DETAIL_END

ROPE_BEGIN

ROPE_ABI inline Path& Path::add(const StepNumbers& bias) noexcept {
    detail::append_step<detail::AddStage>(data_, bias, 0.0, true);
    return *this;
}
ROPE_ABI inline Path& Path::clamp(double limit) noexcept {
    detail::append_step<detail::ClampStage>(data_, nullptr, limit);
    return *this;
}
ROPE_ABI inline Path& Path::multiply(double factor) noexcept {
    detail::append_step<detail::MultiplyStage>(data_, nullptr, factor);
    return *this;
}
ROPE_ABI inline Path& Path::multiply(const StepNumbers& factors) noexcept {
    detail::append_step<detail::MultiplyStage>(data_, factors, 0.0, true);
    return *this;
}
ROPE_ABI inline Path& Path::rms_norm(const StepNumbers& weight, double eps, const NormOptions& options) noexcept {
    detail::NormStage::append(data_, {options, NormKind::rms}, weight, nullptr, eps);
    return *this;
}
ROPE_ABI inline Path& Path::rms_norm(double eps, const NormOptions& options) noexcept {
    return rms_norm(nullptr, eps, options);
}
ROPE_ABI inline Path& Path::l2_norm(const StepNumbers& weight, double eps, const NormOptions& options) noexcept {
    detail::NormStage::append(data_, {options, NormKind::l2}, weight, nullptr, eps);
    return *this;
}
ROPE_ABI inline Path& Path::layer_norm(const StepNumbers& weight, const StepNumbers& bias, double eps,
                                       const NormOptions& options) noexcept {
    detail::NormStage::append(data_, {options, NormKind::layer_norm}, weight, bias, eps);
    return *this;
}
ROPE_ABI inline Path& Path::rotate(RotateRounding rounding) noexcept {
    detail::RotateStage::append(data_, {rounding, false, false, Layout::half_split});
    return *this;
}
ROPE_ABI inline Path& Path::rotate_back(RotateRounding rounding) noexcept {
    detail::RotateStage::append(data_, {rounding, true, false, Layout::half_split});
    return *this;
}
ROPE_ABI inline Path& Path::rotate_into(Layout layout, RotateRounding rounding) noexcept {
    detail::RotateStage::append(data_, {rounding, false, true, layout});
    return *this;
}
ROPE_ABI inline Path& Path::hadamard(Index block) noexcept {
    detail::append_step<detail::HadamardStage>(data_, nullptr, static_cast<double>(block));
    return *this;
}
ROPE_ABI inline Path& Path::round() noexcept {
    detail::append_step<detail::RoundStage>(data_, nullptr, 0.0);
    return *this;
}
ROPE_ABI inline Path& Path::to(const Destination& destination) noexcept {
    data_.destination = detail::PathAccess::data(destination);
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
template <Layout layout, class T, class... Paths>
ROPE_ABI inline void pass(const CosSinRows<T>& rows, const Path& first, const Paths&... others) {
    detail::CallingThread here;
    detail::run_pass<layout>(here, rows, Positions(), first, others...);
}
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline detail::ResultOf<Executor> pass(Executor&& executor, const CosSinRows<T>& rows,
                                                PositionsArgument&& positions,
                                                const Paths&... paths) noexcept(detail::throws_nothing<Executor>) {
    return detail::run_pass<layout>(executor, rows, positions, paths...);
}
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline detail::ResultOf<Executor> pass(Executor&& executor, const CosSinRows<T>& rows, const Path& first,
                                                const Paths&... others) noexcept(detail::throws_nothing<Executor>) {
    return detail::run_pass<layout>(executor, rows, Positions(), first, others...);
}
template <Layout layout, class T, class... Paths>
ROPE_ABI inline Status check_pass(const CosSinRows<T>& rows, PositionsArgument&& positions,
                                  const Paths&... paths) noexcept {
    return detail::check_pass_of<layout>(rows, positions, paths...);
}
template <Layout layout, class T, class... Paths>
ROPE_ABI inline Status check_pass(const CosSinRows<T>& rows, const Path& first, const Paths&... others) noexcept {
    return detail::check_pass_of<layout>(rows, Positions(), first, others...);
}

template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline Status check_pass(Executor&&, const CosSinRows<T>& rows, PositionsArgument&& positions,
                                  const Paths&... paths) noexcept {
    return detail::check_pass_of<layout>(rows, positions, paths...);
}
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline Status check_pass(Executor&&, const CosSinRows<T>& rows, const Path& first,
                                  const Paths&... others) noexcept {
    return detail::check_pass_of<layout>(rows, Positions(), first, others...);
}

ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, pass, refuse_pass)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(Status, check_pass, refuse_pass)
ROPE_WITH_RUN_TIME_LAYOUT(pass)
ROPE_CHECK_WITH_RUN_TIME_LAYOUT(check_pass)

ROPE_END
