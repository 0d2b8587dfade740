// SPDX-License-Identifier: MIT
// The way back through a norm and a rotation: the gradients of heads and of the norm's weight in one pass.
#pragma once

#include <atomic>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../kernels/gradients.hpp"
#include "../paths/check.hpp"
#include "../paths/loop.hpp"
#include "../paths/run.hpp"
#include "../simd/isa_choice.hpp"
#include "gradients.hpp"
#include "sums.hpp"

ROPE_DETAIL_BEGIN

/// Tokens whose share of the weight's gradient is one row. Threads share no row, so the bits do not depend on the cut.
inline constexpr Index kTokensOfRow = 16;

inline bool is_rotation(const PathStep& step) noexcept {
    if (!is_step_of<RotateStage>(step)) return false;
    const RotateStep rotation = options_of<RotateStep>(step);
    return !rotation.is_back && !rotation.has_other_layout;
}
inline bool is_norm_of_heads(const PathStep& step) noexcept {
    if (!is_step_of<NormStage>(step)) return false;
    const NormStep norm = options_of<NormStep>(step);
    return norm.kind != NormKind::layer_norm && norm.over == NormSpan::head;
}

/// Requires the steps norm, or norm and rotate.
ROPE_COLD Status check_steps(const PathData& path, const PathCall& call) noexcept {
    const int count = path.count;
    const PathStep* const steps = path.steps;
    if (count < 1 || count > 2 || !is_norm_of_heads(steps[0]) || (count == 2 && !is_rotation(steps[1])))
        return invalid(
            "The path has {} {step|steps}; for gradients its first must be rms_norm or l2_norm over a head, and the "
            "second, if there is one, rotate().",
            {count});
    for (int i = 0; i < count; ++i)
        if (const Status s = check_step(steps[i], path.source, "path", call); !s.ok()) return s;
    const Numbers& w = steps[0].numbers;
    if (!w.is_given || (w.extents[0] == 1 && w.extents[1] == 1 && w.extents[3] == path.source.extents[3]))
        return Status();
    return invalid(
        "The weight of the norm is [{}, {}, {}, {}]; for gradients it must be one for all tokens: [1, 1, 1 or "
        "heads, head_dim].",
        {w.extents[0], w.extents[1], w.extents[2], w.extents[3]});
}

/// Requires an output for the weight's gradient, unless it is left out.
ROPE_COLD Status check_weight_gradient(const BackwardCall& c, const Numbers& w, Index rows) noexcept {
    if (is_left_out(c.dw)) return Status();
    if (!w.is_given) return invalid("dw is given, and the norm has no weight; leave dw out.");
    if (const Status s = check_output(c.dw, 1, rows, w.extents[2], w.extents[3]); !s.ok()) return s;
    if (c.dw.strides[3] == 1 || c.dw.extents[3] < 2) return Status();
    return invalid("dw has a feature stride of {}; it must be 1.", {c.dw.strides[3]});
}

ROPE_COLD Status check_backward_call(const PathData& path, const Positions& positions, const BackwardCall& c,
                                     const PathCall& call) noexcept {
    const HeadsInMemory& source = path.source;
    if (begins_in_cache(path)) return invalid("The path begins in a cache; for gradients it must begin in a view.");
    const AnyView x = named(source, "x"), g = named(c.g, "g"), dx = named(c.dx, "dx");
    for (const AnyView* v : {&x, &g, &dx})
        if (const Status s = check_extents(*v); !s.ok()) return s;
    if (source.extents[3] > kMaxPathHeadDim)
        return invalid("x has head_dim {}; it must be at most {}.", {source.extents[3], kMaxPathHeadDim});
    if ((source.type == ElementType::f64) != call.is_double)
        return invalid("x is {}; with rows of {} it must be {}.",
                       {call.is_double ? "not double" : "double", call.is_double ? "double" : "float",
                        call.is_double ? "double" : "float, half or bfloat16"});
    if (path.rows != nullptr)
        return invalid("The path has rows of its own; for gradients these are the rows of the call.");
    if (path.is_sliced) return invalid("The path has a slice of features; for gradients it must have whole heads.");
    if (const Status s = check_steps(path, call); !s.ok()) return s;
    if (const Status s = check_equal_extents(g, x, 4); !s.ok()) return s;
    if (const Status s = check_equal_extents(dx, x, 4); !s.ok()) return s;
    if (const Status s = check_no_self_overlap(dx); !s.ok()) return s;
    for (const AnyView* read : {&x, &g})
        if (const Status s = check_is_same_or_disjoint(dx, *read); !s.ok()) return s;
    const Numbers& numbers = path.steps[0].numbers;
    const AnyView w = named(numbers, "the weight of the norm");
    if (numbers.is_given)
        if (const Status s = check_shares_nothing(dx, w); !s.ok()) return s;
    const Index tokens = clamped_product(x.extents[0], x.extents[1]);
    if (const Status s = check_weight_gradient(c, numbers, count_items(tokens, kTokensOfRow)); !s.ok()) return s;
    if (!is_left_out(c.dw))
        for (const AnyView* other : {&x, &g, &dx, &w})
            if (const Status s = check_shares_nothing(c.dw, *other); !s.ok()) return s;
    const Status s = check_positions(positions, x.extents[0], x.extents[1], call.table);
    return !s.ok() || isa_is_chosen() ? s : choose_isa();
}

template <class T>
struct BackwardTask {
    const BackwardCall& call;
    PathTask<T> path;  // whose rotation goes back
    const GradientKernels<T>& kernels;
};

/// Memory of one thread: the head, normed; its gradient, then products; the weight, then w g'.
template <class T>
struct BackwardScratch {
    alignas(64) T n[kMaxPathHeadDim];
    alignas(64) T g[kMaxPathHeadDim];
    alignas(64) T wg[kMaxPathHeadDim];
    RowScratch<T> row;
};

/// With n = x r and g' = R^T g:  dw += g' n,  dx = r (w g' - n mean(w g' n)). (The sum instead of the mean for l2_norm.)
template <class T>
ROPE_NOINLINE void back_through_head(const BackwardTask<T>& task, const Row<T>& row, Index b, Index s, Index h,
                                     double* dw, BackwardScratch<T>& scratch) noexcept {
    const HeadsInMemory& source = task.path.path.source;
    const AnyView &from = task.call.g, &to = task.call.dx;
    const PathStep& step = task.path.path.steps[0];
    const NormStep norm = options_of<NormStep>(step);
    const StepKernels<T>& k = task.path.steps;
    const Index count = source.extents[3];
    T *const n = scratch.n, *const g = scratch.g, *const wg = scratch.wg;
    k.load(source.at(source.offset_of(b, s, h)), source.type, source.strides[3], n, count);
    k.load(from.at(from.offset_of(b, s, h)), from.type, from.strides[3], g, count);
    if (row.cos != nullptr) {
        T* const slice = g + task.path.rotation.before;
        task.path.rotation.kernels.rotate(slice, slice, row.cos, row.sin,
                                          {0, 0, task.path.from, task.path.from, row.pairs}, 1);
    }
    double squares, products;
    k.sums_of_squares(n, 0, 1, count, nullptr, &squares);
    T root;
    k.reciprocal_roots(&squares, 1, divisor_of(norm.kind, count), step.number, &root);
    k.multiply(n, n, root, nullptr, count);
    if (dw != nullptr) task.kernels.add_products(g, n, count, dw);
    const bool has_weight = step.numbers.data != nullptr;
    const T* const w = has_weight ? numbers_of(task.path, step.numbers, norm.adds_one, b, s, h, wg) : nullptr;
    k.multiply(g, wg, T(1), w, count);
    k.multiply(wg, g, T(1), n, count);
    k.sums(g, 0, 1, count, &products);
    const double share = norm.kind == NormKind::l2 ? products : quotient(products, static_cast<double>(count));
    k.multiply(n, n, static_cast<T>(-share), nullptr, count);
    k.add(wg, wg, T(0), n, count);
    k.multiply(wg, wg, root, nullptr, count);
    k.store(wg, to.at(to.offset_of(b, s, h)), to.type, to.strides[3], count);
}

/// Rows begin .. end - 1 of the weight's gradient, and the heads of their tokens.
template <class T>
void back_through_norm(const BackwardTask<T>& task, Index begin, Index end) noexcept {
    BackwardScratch<T> scratch;
    const HeadsInMemory& source = task.path.path.source;
    const bool rotates = task.path.path.count == 2;
    const Index seq = source.extents[1], tokens = source.extents[0] * seq, heads = source.extents[2];
    const Index pairs = (source.extents[3] - task.path.rotation.before - task.path.rotation.after) / 2;
    const AnyView& dw = task.call.dw;
    for (Index r = begin; r < end; ++r)
        for (Index t = r * kTokensOfRow; t < tokens && t < (r + 1) * kTokensOfRow; ++t) {
            const Index b = t / seq, s = t % seq;
            const RowSource<T>& rows = task.path.rotation.source;
            Row<T> row = {nullptr, nullptr, nullptr, 0};
            for (Index h = 0; h < heads; ++h) {
                if (rotates && (h == 0 || rows.has_heads())) {
                    const Index at = rows_of(task.path.positions, rows, seq, b, s, false)[0];
                    row = pairs_of(task.path.rotation, rows.has_heads() ? rows.of_head(h) : rows, at, pairs, 0, pairs,
                                   scratch.row.cos, scratch.row.sin);
                }
                back_through_head(task, row, b, s, h,
                                  !is_left_out(dw) ? element(dw, 0, r, dw.extents[2] == 1 ? 0 : h) : nullptr, scratch);
            }
        }
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

template <Layout layout, class T>
ROPE_API Status check_backward(const CosSinRows<T>& rows, const Positions& positions, const Path& path,
                               const BackwardCall& call) noexcept {
    return check_backward_call(PathAccess::data(path), positions, call, call_of<layout>(rows));
}

template <Layout layout, class T>
ROPE_API Status run_backward(const AnyExecutor& executor, const CosSinRows<T>& rows, const Positions& positions,
                             const Path& path, const BackwardCall& call) {
    const PathData& data = PathAccess::data(path);
    const AnyView& x = data.source;
    if (const Status s = check_backward<layout>(rows, positions, path, call); !s.ok() || is_empty(x)) return s;
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    PathTask<T> task = path_task<layout, T>(data, rows, positions, false);
    task.rotation.sin_scale = T(-1);  // as rotation_of makes it for apply_transpose
    const BackwardTask<T> back = {call, task, gradient_kernels<T>(isa)};
    execute(executor, even_job(back, &back_through_norm<T>, count_items(x.extents[0] * x.extents[1], kTokensOfRow),
                               2 * bytes_of(x)));
    return Status();
}

ROPE_SOURCE_END

ROPE_BEGIN

ROPE_API Index weight_gradient_rows(Index batch, Index seq) noexcept {
    return (detail::clamped_product(batch, seq) + detail::kTokensOfRow - 1) / detail::kTokensOfRow;
}

ROPE_END
