// SPDX-License-Identifier: MIT
// Definitions of ggml.hpp: tensors to views, rows of tokens, and the calls.
#pragma once

#include "../../errors.hpp"
#include "../../ggml.hpp"
#include "../../types.hpp"
#include "../../wrapped_rows.hpp"
#include "../base/executor.hpp"
#include "../base/raise.hpp"
#if ROPE_HAS_DEFINITIONS
#    include <algorithm>
#    include <new>

#    include "../../axis_positions.hpp"
#    include "../../cos_sin_rows.hpp"
#    include "../../positions.hpp"
#    include "../../shared_table.hpp"
#    include "../../write_rows.hpp"
#    include "../call/explain.hpp"
#    include "../call/job.hpp"
#    include "../call/run.hpp"
#    include "../paths/heads_in_memory.hpp"
#    include "ggml_parameters.hpp"
#endif

ROPE_SOURCE_BEGIN
ROPE_API WrappedRows<float> ggml_rows(const ggml::RopeParams& params, Index head_dim, const ggml::Tensor& positions,
                                      const ggml::Tensor& freq_factors, float* to, const AnyExecutor& executor);
ROPE_API Status rotate_ggml(const ggml::RopeParams& params, const ggml::Tensor& src, const ggml::Tensor& dst,
                            const ggml::Tensor& positions, const ggml::Tensor& freq_factors, bool is_forward,
                            const AnyExecutor& executor);
ROPE_SOURCE_END

ROPE_BEGIN
namespace ggml {

template <class Executor>
ROPE_ABI inline WrappedRows<float> rows(const RopeParams& params, Index head_dim, const Tensor& positions,
                                        const Tensor& freq_factors, float* memory, Executor&& executor) {
    return detail::ggml_rows(params, head_dim, positions, freq_factors, memory,
                             detail::any_executor(detail::only_throwing(executor)));
}
template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> rope(const RopeParams& params, const Tensor& src, const Tensor& dst,
                                                const Tensor& positions, const Tensor& freq_factors, bool is_forward,
                                                Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return detail::return_or_raise<detail::ResultOf<Executor>>(
        detail::rotate_ggml(params, src, dst, positions, freq_factors, is_forward, detail::executor_of(executor)));
}

}  // namespace ggml
ROPE_END

#if ROPE_HAS_DEFINITIONS
ROPE_DETAIL_BEGIN

/// The most bytes of a table with a row for each position; the rows of the first one, so that decoding does not grow it
/// at once; the floats of the stack that hold rows of a few tokens.
inline constexpr Index kGgmlTableBytes = Index(1) << 27, kGgmlFirstRows = 512, kGgmlRowFloats = 4096;

/// All that a call needs but its tensors.
struct GgmlCall {
    std::shared_ptr<const GgmlRotation> rotation;
    std::optional<CosSinCache<float>> table;
    std::optional<CompactCosSinCache<float>> far_table;  // in its place, if a position is far
    const std::int32_t* positions = nullptr;
    Index axes = 1, tokens = 0;
    bool needs_rows = false;  // a row for each token: several axes, or negative positions

    /// The number of tokens is -1 where the list has it.
    Status make(const ggml::RopeParams& p, Index head_dim, const ggml::Tensor& list, Index given_tokens,
                const ggml::Tensor& freq_factors) {
        if (const Status s = find_rotation(p, head_dim, freq_factors, rotation); !s.ok()) return s;
        axes = rotation->map.axes;
        tokens = given_tokens >= 0 ? given_tokens : list.ne[0] / axes;
        const Index count = clamped_product(axes, tokens);
        if (const Status s = check_list("positions", list, kGgmlI32, count); !s.ok()) return s;
        positions = static_cast<const std::int32_t*>(list.data);
        needs_rows = axes > 1;
        Index last = 0;
        for (Index i = 0; i < count; ++i) {
            last = std::max(last, away_from_zero(i));
            needs_rows = needs_rows || positions[i] < 0;
        }
        const Index most = kGgmlTableBytes / (2 * pairs_of(p) * Index(sizeof(float)));
        const Index wanted = std::max(last + 1, std::min(kGgmlFirstRows, most));
        if (wanted > most)
            far_table.emplace(find_far_table(rotation));
        else
            table.emplace(shared_table(rotation->frequencies, wanted, HeadSlice{head_dim, p.n_offs}));
        return Status();
    }
    Index away_from_zero(Index i) const noexcept { return std::max(Index(positions[i]), -Index(positions[i])); }
    const CosSinRows<float>& rows() const noexcept {
        if (far_table) return *far_table;
        return *table;
    }
    /// Writes the rows of tokens begin .. end - 1. At a negative position the sines have the other sign.
    void write_rows(Index begin, Index end, float* to) const {
        const AxisMap& map = rotation->map;
        const Index pairs = rows().pairs();
        for (Index t = begin; t < end; ++t, to += 2 * pairs) {
            Index at[4];
            for (Index axis = 0; axis < axes; ++axis) at[axis] = away_from_zero(axis * tokens + t);
            rope::write_rows(rows(), AxisPositions(at, axes, 1), map, 1, 1, to);
            for (Index i = 0; i < pairs; ++i) {
                const Index axis = axes > 1 ? map.axis_of[static_cast<std::size_t>(i)] : 0;
                if (positions[axis * tokens + t] < 0) to[pairs + i] = -to[pairs + i];
            }
        }
    }
    /// `count` rows that are written.
    WrappedRows<float> wrap(const float* written, Index count) const {
        const Index pairs = rows().pairs();
        return WrappedRows<float>({written, count > 0 ? written + pairs : written, count, pairs, 1, 2 * pairs},
                                  {rows().head_dim(), rows().rotary_offset()});
    }
};

template <class X>
TensorView<X> ggml_view(const ggml::Tensor& t) noexcept {
    const auto stride = [&](int axis) { return static_cast<Index>(t.nb[axis] / sizeof(X)); };
    return {static_cast<X*>(t.data), t.ne[3], t.ne[2], t.ne[1], t.ne[0], stride(3), stride(2), stride(1), stride(0)};
}

/// The operator; in place, `in` is `out`.
struct GgmlTask {
    const GgmlCall& call;
    Direction direction;
    bool is_in_place;
    ggml::Tensor in, out;
    /// Rotates tokens first .. first + count - 1.
    Status (*rotate)(const GgmlTask&, Index first, Index count, const CosSinRows<float>& rows,
                     const Positions& positions, const AnyExecutor& executor);
};
template <Layout layout, class X>
Status rotate_ggml_as(const GgmlTask& task, Index first, Index count, const CosSinRows<float>& rows,
                      const Positions& positions, const AnyExecutor& executor) {
    const TensorView<const X> x = ggml_view<X>(task.in).slice_tokens(first, count);
    const TensorView<X> y = ggml_view<X>(task.out).slice_tokens(first, count);
    if (task.is_in_place) return rotate<layout>(task.direction, positions, executor, in_place("dst", y, rows));
    return rotate<layout>(task.direction, positions, executor, out_of_place(x, y, rows));
}
/// Rotates tokens of a call that is checked, a few at a time, by rows on the stack.
inline void rotate_ggml_tokens(const GgmlTask& task, Index begin, Index end) {
    float memory[kGgmlRowFloats];
    const Index most = kGgmlRowFloats / task.call.rows().rotary_dim();
    for (Index t = begin; t < end; t += most) {
        const Index count = std::min(most, end - t);
        task.call.write_rows(t, t + count, memory);
        static_cast<void>(task.rotate(task, t, count, task.call.wrap(memory, count), Positions(), kCallingThread));
    }
}

/// A type of ggml's that the library has: numbers, or blocks of 32 of them and the format that they make of bytes.
struct GgmlFormat {
    int type;
    Index bytes;
    Destination (*of_blocks)(const Destination&) noexcept;
};
inline constexpr GgmlFormat kGgmlFormats[] = {
    {kGgmlF32, 4, nullptr}, {kGgmlF16, 2, nullptr}, {kGgmlBf16, 2, nullptr}, {2, 18, q4_0},    {3, 20, q4_1},
    {6, 22, q5_0},          {7, 24, q5_1},          {8, 34, q8_0},           {20, 18, iq4_nl}, {39, 17, mxfp4}};

/// Heads in memory [head_dim, heads, tokens, batch], or with row ids the rows of a cache [head_dim, heads, rows].
inline Destination ggml_heads(const char* name, ggml::Tensor t, const ggml::Tensor* row_ids) {
    const auto is_it = [&](const GgmlFormat& f) { return f.type == t.type; };
    const GgmlFormat* const f = std::find_if(std::begin(kGgmlFormats), std::end(kGgmlFormats), is_it);
    if (f == std::end(kGgmlFormats))
        refuse(
            invalid("{}.type is {}; it must be 0 (F32), 1 (F16), 2 (Q4_0), 3 (Q4_1), 6 (Q5_0), 7 (Q5_1), 8 (Q8_0), 20 "
                    "(IQ4_NL), 30 (BF16) or 39 (MXFP4).",
                    {name, t.type}));
    const bool is_block = f->of_blocks != nullptr;
    ok_or_raise(check_tensor(name, t, is_block ? 1 : f->bytes));
    if (is_block && (t.ne[0] % 32 != 0 || t.nb[0] != static_cast<std::size_t>(f->bytes)))
        refuse(invalid(
            "{}.nb[0] is {}, and its heads have {} features; of type {} they are whole blocks of 32, of {} bytes.",
            {name, t.nb[0], t.ne[0], t.type, f->bytes}));
    if (is_block) t.ne[0] = t.ne[0] / 32 * f->bytes, t.nb[0] = 1;
    if (row_ids != nullptr) t.nb[1] = static_cast<std::size_t>(t.ne[0]) * t.nb[0];
    Destination d = t.type == kGgmlF32    ? Destination(ggml_view<float>(t))
                    : t.type == kGgmlF16  ? Destination(ggml_view<half>(t))
                    : t.type == kGgmlBf16 ? Destination(ggml_view<bfloat16>(t))
                                          : Destination(ggml_view<unsigned char>(t));
    if (row_ids != nullptr) {
        HeadsInMemory& pages = PathAccess::data(d).codes;
        const Index stride = static_cast<Index>(row_ids->nb[0]), count = row_ids->ne[0];
        const void* const ids = row_ids->data;
        pages.is_paged = true;
        pages.slot_count = count;
        pages.slot_list = row_ids->type == kGgmlI64 ? NumberList(static_cast<const std::int64_t*>(ids), stride / 8)
                                                    : NumberList(static_cast<const std::int32_t*>(ids), stride / 4);
    }
    return is_block ? f->of_blocks(d) : d;
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

ROPE_API WrappedRows<float> ggml_rows(const ggml::RopeParams& params, Index head_dim, const ggml::Tensor& positions,
                                      const ggml::Tensor& freq_factors, float* to, const AnyExecutor& executor) {
    struct Task {
        const GgmlCall& call;
        float* to;
    };
    GgmlCall call;
    ok_or_raise(call.make(params, head_dim, positions, -1, freq_factors));
    if (to == nullptr && call.tokens > 0) refuse(invalid("memory is a null pointer."));
    const auto write = [](const Task& task, Index begin, Index end) {
        task.call.write_rows(begin, end, task.to + begin * task.call.rows().rotary_dim());
    };
    const Index bytes = call.tokens * call.rows().rotary_dim() * Index(sizeof(float));
    execute(executor, even_job<Task>({call, to}, write, call.tokens, bytes));
    return call.wrap(to, call.tokens);
}

ROPE_API Status rotate_ggml(const ggml::RopeParams& params, const ggml::Tensor& src, const ggml::Tensor& dst,
                            const ggml::Tensor& positions, const ggml::Tensor& freq_factors, bool is_forward,
                            const AnyExecutor& executor) {
    if ((src.type != kGgmlF32 && src.type != kGgmlF16) || dst.type != src.type)
        return invalid("src.type is {} and dst.type {}; they must be 0 (F32) or 1 (F16), the same.",
                       {src.type, dst.type});
    const Index size = src.type == kGgmlF32 ? 4 : 2;
    if (const Status s = check_tensor("src", src, size); !s.ok()) return s;
    if (const Status s = check_tensor("dst", dst, size); !s.ok()) return s;
    for (int axis = 0; axis < 4; ++axis)
        if (dst.ne[axis] != src.ne[axis])
            return invalid("dst.ne[{}] is {}; it must be that of src, {}.", {axis, dst.ne[axis], src.ne[axis]});
    GgmlCall call;
#    if ROPE_EXCEPTIONS
    try {
        if (const Status s = call.make(params, src.ne[0], positions, src.ne[2], freq_factors); !s.ok()) return s;
    } catch (const std::bad_alloc& e) {
        return out_of_memory("Rotating needs memory. {}", {e.what()});
    }
#    else
    if (const Status s = call.make(params, src.ne[0], positions, src.ne[2], freq_factors); !s.ok()) return s;
#    endif
    constexpr Layout interleaved = Layout::interleaved, half_split = Layout::half_split;
    auto* rotate = size == 4 ? &rotate_ggml_as<half_split, float> : &rotate_ggml_as<half_split, half>;
    if (ggml::layout(params) == interleaved)
        rotate = size == 4 ? &rotate_ggml_as<interleaved, float> : &rotate_ggml_as<interleaved, half>;
    // Faster than out of place, which takes all views that are the same, with other strides of a single token, say.
    const bool is_in_place = src.data == dst.data && std::equal(src.nb, src.nb + 4, dst.nb);
    const GgmlTask task = {call, is_forward ? Direction::forward : Direction::transpose, is_in_place, src, dst, rotate};
    const Positions list = ids(call.positions, call.axes * call.tokens);
    if (!call.needs_rows) return rotate(task, 0, call.tokens, call.rows(), list, executor);
    if (call.rows().rotary_dim() > kGgmlRowFloats)
        return invalid("n_dims is {}; with several axes or negative positions at most {} features of a head rotate.",
                       {params.n_dims, kGgmlRowFloats});
    const auto erased_as = [&](const char* name, const ggml::Tensor& t) {
        return size == 4 ? erased(name, ggml_view<float>(t)) : erased(name, ggml_view<half>(t));
    };
    const AnyView in = erased_as("in", src), out = erased_as(is_in_place ? "dst" : "out", dst);
    TableShape rows = shape_of(call.rows());
    rows.max_positions = kMaxPosition;  // one for each token
    if (const Status s = explain(Positions(), 0, {{in, out, rows}}); !s.ok()) return s;
    if (const Status s = check_list_apart(list, out); !s.ok()) return s;
    execute(executor, even_job(task, &rotate_ggml_tokens, call.tokens, bytes_of(out)));
    return Status();
}

ROPE_SOURCE_END

ROPE_BEGIN
namespace ggml {

ROPE_API RopeParams rope_params(const std::int32_t* op_params) noexcept {
    RopeParams p;
    p.n_dims = op_params[1];
    p.mode = op_params[2];
    p.n_ctx_orig = op_params[4];
    float* const floats[] = {&p.freq_base, &p.freq_scale, &p.ext_factor, &p.attn_factor, &p.beta_fast, &p.beta_slow};
    for (int i = 0; i < 6; ++i) std::memcpy(floats[i], op_params + 5 + i, sizeof(float));
    std::memcpy(p.sections, op_params + 11, sizeof(p.sections));
    p.n_offs = op_params[15];
    return p;
}
ROPE_API CosSinCache<float> table(const RopeParams& params, Index head_dim, const Tensor& positions,
                                  const Tensor& freq_factors) {
    detail::GgmlCall call;
    detail::ok_or_raise(call.make(params, head_dim, positions, -1, freq_factors));
    if (call.needs_rows || !call.table)
        detail::refuse(
            detail::out_of_range("positions are on {} {axis|axes}, negative or far, in mode {}; a table has one axis, "
                                 "from 0 on, and at most 128 MiB: call rows.",
                                 {call.axes, params.mode}));
    return *call.table;
}
ROPE_API Destination heads(const Tensor& t) { return detail::ggml_heads("t", t, nullptr); }
ROPE_API Destination cache(const Tensor& rows, Index head_dim, const Tensor& row_ids) {
    const bool is_wide = row_ids.type == detail::kGgmlI64, are_ids = is_wide || row_ids.type == detail::kGgmlI32;
    const auto is_list = [](const Tensor& t) { return t.ne[2] == 1 && t.ne[3] == 1; };
    if (head_dim < 1 || rows.ne[0] % head_dim != 0 || !is_list(rows))
        detail::refuse(detail::invalid("rows has the shape [{}, {}, {}, {}]; it must be [heads * {}, rows, 1, 1].",
                                       {rows.ne[0], rows.ne[1], rows.ne[2], rows.ne[3], head_dim}));
    if (!are_ids || row_ids.ne[1] != 1 || !is_list(row_ids))
        detail::refuse(detail::invalid(
            "row_ids has type {} and shape [{}, {}, {}, {}]; it must be a list of 26 (I32) or 27 (I64).",
            {row_ids.type, row_ids.ne[0], row_ids.ne[1], row_ids.ne[2], row_ids.ne[3]}));
    detail::ok_or_raise(detail::check_tensor("row_ids", row_ids, is_wide ? 8 : 4));
    const Tensor t = {
        rows.type, {head_dim, rows.ne[0] / head_dim, rows.ne[1], 1}, {rows.nb[0], 0, rows.nb[1]}, rows.data};
    return detail::ggml_heads("rows", t, &row_ids);
}

}  // namespace ggml
ROPE_END
#endif
