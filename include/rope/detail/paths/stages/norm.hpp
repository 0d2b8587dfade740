// SPDX-License-Identifier: MIT
// Norms: x / sqrt(mean(x^2) + eps) * w, the same with the sum, or with the mean taken from x first; over a head, or over
// all heads of a token.
#pragma once

#include "../../../head_steps.hpp"
#include "../stage.hpp"
#include "multiply.hpp"
#include "rotate.hpp"

ROPE_DETAIL_BEGIN

/// The options of a norm; weight, bias and eps are numbers of the step. Squares from elsewhere lie in its path.
struct NormStep {
    NormSpan over;
    NormRounding rounding;
    bool adds_one;
    NormKind kind;
    bool has_squares;
};

/// By what the sum of squares of so many numbers is divided.
ROPE_INLINE double divisor_of(NormKind kind, Index count) noexcept {
    return kind == NormKind::l2 ? 1.0 : static_cast<double>(count);
}

/// Normalises a head whose mean (of layer_norm) and reciprocal root are known.
template <class T>
ROPE_INLINE void apply_norm(const StepKernels<T>& k, NormStep step, ElementType type, Index n, const T* x, T* y,
                            double shift, T root, const T* w) noexcept {
    if (step.kind == NormKind::layer_norm) {
        const T high = hide_from_optimizer(static_cast<T>(shift));
        const T low = static_cast<T>(shift - static_cast<double>(high));
        k.add(x, y, -high, nullptr, n);
        if (low != T(0)) k.add(y, y, -low, nullptr, n);
        x = y;
    }
    const bool rounds_result =
        step.rounding == NormRounding::normalised || (step.rounding == NormRounding::root && w == nullptr);
    if (step.rounding == NormRounding::root) k.round(&root, type, 1);
    if (w != nullptr && !rounds_result) return k.multiply_twice(x, 0, y, 0, 1, n, &root, w);
    k.multiply(x, y, root, nullptr, n);
    if (rounds_result) k.round(y, type, n);
    if (w == nullptr) return;
    k.multiply(y, y, T(1), w, n);
    k.round(y, type, n);
}

struct NormStage : Stage {
    static constexpr const char* kName = "a norm";

    static void append(PathData& path, const NormOptions& options, NormKind kind, const StepNumbers& weight,
                       const StepNumbers& bias, double eps) noexcept {
        PathStep* const step = append_step<NormStage>(path, eps);
        if (step == nullptr) return;
        const bool of_token = options.over == NormSpan::token;
        const TensorView<const double>& squares = options.squares;
        const bool has_squares =
            squares.data != nullptr || squares.batch != 0 || squares.seq != 0 || options.all_heads != 0;
        step->set(NormStep{options.over, options.rounding, options.adds_one, kind, has_squares});
        if (has_squares) {
            path.squares = in_memory(options.squares);
            path.all_heads = options.all_heads;
        }
        set_numbers(step->numbers, weight, path.source, of_token);
        set_numbers(step->bias, bias, path.source, of_token);
    }

    static Status check(const PathStep& step, const AnyView& x, const PathCall& call) noexcept {
        if (!is_finite_number(step, call) || step.number < 0.0)
            return invalid("eps of a norm is {}; it must be finite and at least 0.", {step.number});
        const NormStep norm = options_of<NormStep>(step);
        if (norm.over > NormSpan::token)
            return invalid("over of a norm is number {} of NormSpan; there are 2.", {static_cast<int>(norm.over)});
        if (norm.rounding > NormRounding::root)
            return invalid("rounding of a norm is number {} of NormRounding; there are 3.",
                           {static_cast<int>(norm.rounding)});
        if (norm.adds_one && !step.numbers.is_given)
            return invalid("adds_one of a norm is true, and the norm has no weight to which 1 could be added.");
        if (norm.has_squares && (norm.over != NormSpan::token || norm.kind == NormKind::layer_norm))
            return invalid("squares are given to {}; they are for rms_norm and l2_norm over a token.",
                           {norm.kind == NormKind::layer_norm ? "a layer_norm" : "a norm over a head"});
        for (const Numbers* n : {&step.numbers, &step.bias})
            if (norm.over == NormSpan::token && n->is_list && n->extents[2] != x.extents[2])
                return invalid(
                    "The numbers of a norm over a token are a list of {}; it must have those of all heads ({} * {}).",
                    {n->extents[3], x.extents[2], x.extents[3]});
        return Status();
    }

    static bool needs_token(const PathStep& step) noexcept {
        const NormStep norm = options_of<NormStep>(step);
        return norm.over == NormSpan::token && !norm.has_squares;
    }

    template <class T, class ForEachGroup>
    static void read_token(const StepCall<T>& c, OfToken& of_token, const ForEachGroup& for_each_group) noexcept {
        const NormStep norm = options_of<NormStep>(c.step);
        const StepKernels<T>& k = c.task.steps;
        const Index heads = c.source().extents[2], n = c.head_dim();
        double sum = 0.0, of_heads[kMostHeads], shifts[kMostHeads];
        const auto add = [&](const Group<T>& g) {
            for (Index h = 0; h < g.heads; ++h) sum = hide_from_optimizer(sum + of_heads[h]);
        };
        double& shift = of_token.shift[c.number];
        shift = 0.0;
        if (norm.kind == NormKind::layer_norm) {
            for_each_group([&](const Group<T>& g) {
                k.sums(g.x, g.x_stride, g.heads, n, of_heads);
                add(g);
            });
            const double numbers = static_cast<double>(heads) * static_cast<double>(n);
            shift = quotient(sum, numbers);
            sum = 0.0;
        }
        for (double& of_head : shifts) of_head = shift;
        for_each_group([&](const Group<T>& g) {
            k.sums_of_squares(g.x, g.x_stride, g.heads, n, norm.kind == NormKind::layer_norm ? shifts : nullptr,
                              of_heads);
            add(g);
        });
        T root;
        k.reciprocal_roots(&sum, 1, divisor_of(norm.kind, heads * n), c.step.number, &root);
        of_token.root[c.number] = static_cast<double>(root);
    }

    /// Means, for layer_norm, and reciprocal roots of a group: all sums first, then all roots, so that no head waits for
    /// its own.
    template <class T>
    static void find_roots(const StepCall<T>& c, const Group<T>& g, NormStep norm, double* shifts, T* roots) noexcept {
        const StepKernels<T>& k = c.task.steps;
        const Index n = c.head_dim();
        const bool has_mean = norm.kind == NormKind::layer_norm;
        if (norm.has_squares) {
            const HeadsInMemory& squares = c.task.path.squares;
            const double* const sum = squares.template elements<const double>() + squares.offset_of(g.b, g.s, 0);
            k.reciprocal_roots(sum, 1, divisor_of(norm.kind, c.task.path.all_heads * n), c.step.number, roots);
            for (Index h = 1; h < g.heads; ++h) roots[h] = roots[0];
            return;
        }
        if (norm.over == NormSpan::token) {
            for (Index h = 0; h < g.heads; ++h) {
                shifts[h] = c.of_token.shift[c.number];
                roots[h] = static_cast<T>(c.of_token.root[c.number]);
            }
            return;
        }
        double squares[kMostHeads];
        if (has_mean) k.sums(g.x, g.x_stride, g.heads, n, shifts);
        for (Index h = 0; h < g.heads && has_mean; ++h) shifts[h] = quotient(shifts[h], static_cast<double>(n));
        k.sums_of_squares(g.x, g.x_stride, g.heads, n, has_mean ? shifts : nullptr, squares);
        k.reciprocal_roots(squares, g.heads, divisor_of(norm.kind, n), c.step.number, roots);
    }

    /// Whether a norm is one factor for each head and one list of weights, as is usual.
    static bool is_usual(const PathStep& step, NormStep norm) noexcept {
        return norm.kind != NormKind::layer_norm && norm.rounding == NormRounding::none &&
               step.numbers.data != nullptr && is_same_for_heads(step.numbers) && step.bias.data == nullptr;
    }

    /// This norm, the rotation that follows it, and a factor behind that, where the kernels have these in one and the path
    /// runs `count` steps. Returns how many steps are done, from the norm on: none, two or three.
    template <class T>
    static int run_with_rotation(const StepCall<T>& c, int count, Group<T>& g) noexcept {
        const NormStep norm = options_of<NormStep>(c.step);
        const PathTask<T>& task = c.task;
        const PathStep* const next = task.path.steps + c.number + 1;
        const int behind = count - c.number - 1;
        if (behind == 0 || !is_usual(c.step, norm) || !RotateStage::is_usual(next[0]) ||
            task.rotation.source.has_heads())
            return 0;
        const Index head_dim = c.head_dim(), before = task.rotation.before, after = task.rotation.after;
        const Index pairs = (head_dim - before - after) / 2;
        const Layout layout = task.from.step == 1 ? Layout::half_split : Layout::interleaved;
        if (!task.steps.can_rotate_normed(layout, pairs)) return 0;
        const bool has_factor = behind > 1 && MultiplyStage::is_factor(next[1]) && before + after == 0;
        const T factor = has_factor ? static_cast<T>(next[1].number) : T(1);
        double shifts[kMostHeads];
        T roots[kMostHeads + 1];
        roots[g.heads] = T(0);
        find_roots(c, g, norm, shifts, roots);
        const T* const w = numbers_of(task, c.step.numbers, norm.adds_one, g.b, g.s, g.first, c.scratch.other);
        const Row<T> row = row_of(c, task.rotation.source, RotateRounding::none, g.b, g.s, pairs);
        const HeadsShape shape = {g.x_stride, g.y_stride, task.from, task.to, pairs};
        task.steps.rotate_normed(layout, g.x + before, w + before, roots, g.y + before, has_factor ? &factor : nullptr,
                                 row, shape, g.heads);
        const Index end = head_dim - after;
        if (before > 0) task.steps.multiply_twice(g.x, g.x_stride, g.y, g.y_stride, g.heads, before, roots, w);
        if (after > 0)
            task.steps.multiply_twice(g.x + end, g.x_stride, g.y + end, g.y_stride, g.heads, after, roots, w + end);
        g.x = g.y;
        g.x_stride = g.y_stride;
        return has_factor ? 3 : 2;
    }

    template <class T>
    ROPE_NOINLINE static void run(const StepCall<T>& c, Group<T>& g) noexcept {
        const StepKernels<T>& k = c.task.steps;
        const PathStep& step = c.step;
        const NormStep norm = options_of<NormStep>(step);
        const Index n = c.head_dim();
        const bool has_mean = norm.kind == NormKind::layer_norm;
        T* const other = c.scratch.other;
        double shifts[kMostHeads];
        T roots[kMostHeads];
        find_roots(c, g, norm, shifts, roots);
        const bool has_weight = step.numbers.data != nullptr, is_shared = is_same_for_heads(step.numbers);
        const T* w = nullptr;
        if (has_weight && is_shared) w = numbers_of(c.task, step.numbers, norm.adds_one, g.b, g.s, g.first, other);
        if (is_usual(step, norm)) {
            k.multiply_twice(g.x, g.x_stride, g.y, g.y_stride, g.heads, n, roots, w);
            g.x = g.y;
            g.x_stride = g.y_stride;
            return;
        }
        for_each_head(g, [&](const T* from, T* to, Index h) {
            if (has_weight && !is_shared) w = numbers_of(c.task, step.numbers, norm.adds_one, g.b, g.s, h, other);
            const double shift = has_mean ? shifts[h - g.first] : 0.0;
            apply_norm(k, norm, c.source().type, n, from, to, shift, roots[h - g.first], w);
        });
        if (step.bias.data != nullptr)  // for which the scratch memory is free now
            for_each_head(g, [&](const T* from, T* to, Index h) {
                k.add(from, to, T(0), numbers_of(c.task, step.bias, false, g.b, g.s, h, other), n);
            });
    }
};

ROPE_DETAIL_END
