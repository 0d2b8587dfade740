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

/// In place of rows, where nothing rotates.
struct NoRows {};
template <class T>
inline constexpr RotateKernels<T, T, T> kNoRotation = {};

/// Bytes of a source that paths which share it read in turn.
inline constexpr Index kTurnBytes = Index(1) << 16;

/// Bytes of as many heads as a path has, as they lie in `m`.
inline Index bytes_of_heads(const PathData& path, const HeadsInMemory& m) noexcept {
    return count_heads(path.source) * m.extents[3] * m.element_size;
}
inline Index bytes_read(const PathData& path) noexcept { return bytes_of_heads(path, read_heads(path)); }

/// Rows and positions that a path rotates by: its own, or those of the call.
template <class T>
inline const CosSinRows<T>& rows_of_path(const PathData& path, const CosSinRows<T>& of_call) noexcept {
    return path.rows == nullptr ? of_call : *static_cast<const CosSinRows<T>*>(path.rows);
}
inline const NoRows& rows_of_path(const PathData&, const NoRows& none) noexcept { return none; }
inline const Positions& positions_of_path(const PathData& path, const Positions& of_call) noexcept {
    return path.rows == nullptr ? of_call : path.positions;
}

/// `writes`: whether the destination is used, and has been checked.
template <Layout layout, class T, class Rows>
inline PathTask<T> path_task(const PathData& path, const Rows& of_call, const Positions& positions,
                             bool writes = true) noexcept {
    const auto& rows = rows_of_path(path, of_call);
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    const HeadsInMemory &in = read_heads(path), &out = written_heads(path);
    const CacheFormat *const in_format = path.cache.format, *const out_format = written_store(path).format;
    Index pairs = 0;
    if constexpr (!std::is_same_v<Rows, NoRows>) pairs = rows.pairs();
    PairShape from = pair_shape(layout, pairs), to = from;
    Direction direction = Direction::forward;
    bool needs_tokens = false;
    for (int i = 0; i < path.count; ++i) {
        const PathStep& step = path.steps[i];
        needs_tokens = needs_tokens || needs_token(step);
        if (!is_step_of<RotateStage>(step)) continue;
        const RotateStep rotation = options_of<RotateStep>(step);
        if (rotation.is_back) direction = Direction::inverse;
        if (rotation.has_other_layout) to = pair_shape(rotation.other_layout, pairs);
    }
    const bool is_source_plain = in_format == nullptr && is_plain<T>(in);
    const bool is_destination_plain = out_format == nullptr && is_plain<T>(out);
    const bool streams = !in.is_paged && bytes_read(path) > kCachedBytes<true>;
    const bool bypasses_caches = kCanStreamOut && writes && streams && is_destination_plain && !path.is_sliced &&
                                 out.data != in.data && can_be_streamed_out(out);
    const auto rotation = [&]() -> Rotation<T, T, T> {
        if constexpr (std::is_same_v<Rows, NoRows>)
            return {kNoRotation<T>, {}, T(1), T(1), kAllHeads, 1, 1, 0, 0, false, false};
        else
            return rotation_of(rows, direction, rotate_kernels<layout, T, T, T>(isa, pairs, from.step == to.step));
    }();
    return {path,
            positions_of_path(path, positions),
            step_kernels<T>(isa),
            in_format != nullptr ? in_format->read(isa) : nullptr,
            out_format != nullptr ? out_format->write(isa) : nullptr,
            rotation,
            from,
            to,
            is_source_plain,
            is_destination_plain,
            streams,
            bypasses_caches,
            needs_tokens};
}
/// A path of one token that is rotated forward where it is, and nothing else, as one call of a kernel. To make a task of it
/// takes as long as to rotate ten heads. False, and nothing is done, for all other paths.
template <Layout layout, class T>
inline bool rotate_alone(const PathData& path, const CosSinRows<T>& rows, const Positions& positions) noexcept {
    const HeadsInMemory& x = path.source;
    const RowSource<T>& table = RowsAccess::source(rows);
    if (path.count != 1 || path.rows != nullptr || !RotateStage::is_usual(path.steps[0]) ||
        options_of<RotateStep>(path.steps[0]).is_back || begins_in_cache(path) || has_destination(path) ||
        !is_plain<T>(x) || x.extents[0] != 1 || x.extents[1] != 1 || is_empty(x) || table.fine != nullptr ||
        table.has_heads())
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
template <Layout>
inline PathCall call_of(NoRows) noexcept {
    return {{}, {}, {}, false, false};
}

/// A path that is only read.
inline PathData without_destination(const PathData& path) noexcept {
    PathData p = path;
    p.destination.codes.type = kNoElements;
    p.destination.format = nullptr;
    p.is_sliced = false;
    return p;
}

/// Whether two paths read the same heads at the same places.
inline bool have_one_source(const PathData& a, const PathData& b) noexcept {
    const HeadsInMemory &x = read_heads(a), &y = read_heads(b);
    return x.data == y.data && is_same_view(x, y) && x.is_paged == y.is_paged && x.slot_list.is_same(y.slot_list);
}

/// The paths of a call that have the source of path `first`, from that on: they are run together.
template <class Rows>
struct PathGroup {
    const Rows& rows;
    const Positions& positions;
    const Path* const* paths;
    Index count, first;

    const PathData& leader() const noexcept { return PathAccess::data(*paths[first]); }
    /// f(path) for each.
    template <class F>
    void for_each(const F& f) const noexcept {
        f(leader());
        for (Index i = first + 1; i < count; ++i)
            if (const PathData& path = PathAccess::data(*paths[i]); have_one_source(leader(), path)) f(path);
    }
};
/// f(group) for each group of a call, of which `all` begins at its first path.
template <class Rows, class F>
inline void for_each_group(const PathGroup<Rows>& all, const F& f) {
    for (Index i = 0; i < all.count; ++i) {
        bool is_new = true;
        for (Index k = 0; k < i && is_new; ++k)
            is_new = !have_one_source(PathAccess::data(*all.paths[k]), PathAccess::data(*all.paths[i]));
        if (is_new) f(PathGroup<Rows>{all.rows, all.positions, all.paths, all.count, i});
    }
}

/// Bytes that a group reads, or writes, whichever are more, and whether a path needs all heads of a token at once.
struct GroupSize {
    Index bytes;
    bool needs_tokens;
};
template <class Rows>
inline GroupSize size_of(const PathGroup<Rows>& group) noexcept {
    GroupSize size = {0, false};
    group.for_each([&](const PathData& path) {
        size.bytes += bytes_of_heads(path, written_heads(path));
        for (int i = 0; i < path.count; ++i) size.needs_tokens = size.needs_tokens || needs_token(path.steps[i]);
    });
    if (const Index read = bytes_read(group.leader()); size.bytes < read) size.bytes = read;
    return size;
}

/// Heads begin .. end - 1 of the paths of a group. Several take turns of some tokens, so that all but the first find their
/// source in the cache.
template <Layout layout, class T, class Rows>
void run_group(const PathGroup<Rows>& group, Index begin, Index end) noexcept {
    if (begin >= end) return;  // beside an extent of 0 others may be anything
    const HeadsInMemory& in = read_heads(group.leader());
    const Index heads = group.leader().source.extents[2], of_token = heads * in.extents[3] * in.element_size;
    const Index turn = (kTurnBytes / (of_token + 1) + 1) * heads;
    for (Index i = begin; i < end; i += turn)
        group.for_each([&](const PathData& path) {
            run_path(path_task<layout, T>(path, group.rows, group.positions), i, end - i < turn ? end : i + turn);
        });
}

template <Layout layout, class T, class Rows>
inline Status check_and_run(const AnyExecutor& executor, const Rows& rows, const PathCall& call,
                            const Positions& positions, const Path* const* paths, Index count) {
    if (!accept_pass(paths, count, positions, call))
        if (const Status s = check_all_paths(paths, count, positions, call); !s.ok()) return s;
    const PathGroup<Rows> all = {rows, positions, paths, count, 0};
    const Cutting cutting = executor.cutting;
    Index bytes = 0;
    if (cutting == Cutting::if_large)
        for_each_group(all, [&](const PathGroup<Rows>& group) { bytes += size_of(group).bytes; });
    if (!is_cut(cutting, bytes)) {
        bool share = false;
        for (Index i = 0; i < count; ++i)
            for (Index k = 0; k < i; ++k)
                share = share || have_one_source(PathAccess::data(*paths[k]), PathAccess::data(*paths[i]));
        if (share)
            for_each_group(all, [](const PathGroup<Rows>& group) {
                run_group<layout, T>(group, 0, count_heads(group.leader().source));
            });
        for (Index i = 0; i < count && !share; ++i) {
            const PathData& path = PathAccess::data(*paths[i]);
            if constexpr (!std::is_same_v<Rows, NoRows>)
                if (rotate_alone<layout>(path, rows, positions)) continue;
            run_path(path_task<layout, T>(path, rows, positions), 0, count_heads(path.source));
        }
        return Status();
    }
    const auto for_each_job = [&](const auto& f) {
        for_each_group(all, [&](const PathGroup<Rows>& group) {
            const HeadsInMemory& x = group.leader().source;
            const Index heads = count_heads(x);
            const GroupSize size = size_of(group);
            f(even_job(group, &run_group<layout, T, Rows>, heads, size.bytes,
                       size.needs_tokens && heads > 0 ? x.extents[2] : Index(1)));
        });
    };
    Index items = 0;
    for_each_job([&](const auto& job) { items += count_items(job.pieces, pieces_per_item(cutting, job)); });
    executor(items, [&](Index begin, Index end) {
        Index first = 0;
        for_each_job(
            [&](const auto& job) { first = run_range(job, begin, end, first, pieces_per_item(cutting, job)); });
    });
    return Status();
}

template <class T>
inline Status check_and_sum(const AnyExecutor& executor, const PathData& given, const HeadsInMemory& sums) {
    const PathData path = without_destination(given);
    PathCall call = call_of<Layout::half_split>(NoRows());
    call.is_double = std::is_same_v<T, double>;
    call.writes = false;
    if (const Status s = check_sums(path, sums, call); !s.ok()) return s;
    const Positions none;
    const SumTask<T> task = {path_task<Layout::half_split, T>(path, NoRows(), none), sums};
    execute(executor, even_job(task, &sum_path<T>, path.source.extents[0] * path.source.extents[1], bytes_read(path)));
    return Status();
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_SOURCE_BEGIN

template <Layout layout, class T>
ROPE_API Status check_paths(const CosSinRows<T>& rows, const Positions& positions, const Path* const* paths,
                            Index count) noexcept {
    return check_all_paths(paths, count, positions, call_of<layout>(rows));
}

template <Layout layout, class T>
ROPE_API Status run_paths(const AnyExecutor& executor, const CosSinRows<T>& rows, const Positions& positions,
                          const Path* const* paths, Index count) {
    return check_and_run<layout, T>(executor, rows, call_of<layout>(rows), positions, paths, count);
}
ROPE_API Status check_paths_without_rows(const Path* const* paths, Index count) noexcept {
    return check_all_paths(paths, count, Positions(), call_of<Layout::half_split>(NoRows()));
}
ROPE_API Status run_paths_without_rows(const AnyExecutor& executor, const Path* const* paths, Index count) {
    return check_and_run<Layout::half_split, float>(executor, NoRows(), call_of<Layout::half_split>(NoRows()),
                                                    Positions(), paths, count);
}
ROPE_API Status run_reading(const AnyExecutor& executor, const Path& path) {
    PathCall call = call_of<Layout::half_split>(NoRows());
    call.is_reading = true;
    const Path* const paths[] = {&path};
    return check_and_run<Layout::half_split, float>(executor, NoRows(), call, Positions(), paths, 1);
}

ROPE_API Status run_sums(const AnyExecutor& executor, const Path& path, const TensorView<double>& sums) {
    const PathData& data = PathAccess::data(path);
    const HeadsInMemory to = in_memory(sums);
    return data.source.type == ElementType::f64 ? check_and_sum<double>(executor, data, to)
                                                : check_and_sum<float>(executor, data, to);
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
    detail::NormStage::append(data_, options, NormKind::rms, weight, nullptr, eps);
    return *this;
}
ROPE_API Path& Path::rms_norm(double eps, const NormOptions& options) noexcept {
    return rms_norm(nullptr, eps, options);
}
ROPE_API Path& Path::l2_norm(const StepNumbers& weight, double eps, const NormOptions& options) noexcept {
    detail::NormStage::append(data_, options, NormKind::l2, weight, nullptr, eps);
    return *this;
}
ROPE_API Path& Path::layer_norm(const StepNumbers& weight, const StepNumbers& bias, double eps,
                                const NormOptions& options) noexcept {
    detail::NormStage::append(data_, options, NormKind::layer_norm, weight, bias, eps);
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
    detail::set_tokens(data_);
    return *this;
}

ROPE_API Path& Path::slice_features(Index first, Index count) noexcept {
    data_.first_feature = first;
    data_.features = count;
    data_.is_sliced = true;
    return *this;
}

ROPE_API Path heads(const Destination& cache) noexcept {
    Path path = detail::PathAccess::make<Path>(detail::HeadsInMemory());
    detail::begin_in(detail::PathAccess::data(cache), detail::PathAccess::data(path));
    return path;
}

ROPE_END
#endif
