// SPDX-License-Identifier: MIT
// The rotation by the rows of the call, forward or back, which leaves pairs in the layout of the call or in another.
#pragma once

#include <cstring>

#include "../../../head_steps.hpp"
#include "../stage.hpp"

ROPE_DETAIL_BEGIN

struct RotateStep {
    RotateRounding rounding;
    bool is_back, has_other_layout;
    Layout other_layout;
    bool has_axes = false;  // several, on which tokens may stand at different positions
};

/// The cosines and sines of a token, of these rows, rounded where the step says so.
template <class T>
ROPE_INLINE Row<T> row_of(const StepCall<T>& c, const RowSource<T>& rows, RotateRounding rounding, Index b, Index s,
                          Index pairs) noexcept {
    const PathTask<T>& task = c.task;
    const HeadsInMemory& source = c.source();
    RowScratch<T>& scratch = c.scratch.row;
    const Index k = rows_of(task.positions, rows, source.extents[1], b, s, false)[0];
    Row<T> row = pairs_of(task.rotation, rows, k, pairs, 0, pairs, scratch.cos, scratch.sin);
    if (rounding == RotateRounding::none) return row;
    if (row.cos != scratch.cos) {
        std::memcpy(scratch.cos, row.cos, static_cast<std::size_t>(pairs) * sizeof(T));
        std::memcpy(scratch.sin, row.sin, static_cast<std::size_t>(pairs) * sizeof(T));
    }
    task.steps.round(scratch.cos, source.type, pairs);
    task.steps.round(scratch.sin, source.type, pairs);
    return {scratch.cos, scratch.sin, nullptr, pairs};
}

/// Rotates the pairs of x to their places in y, with all products and sums rounded to the type of the source.
template <class T>
ROPE_COLD void rotate_rounded(const PathTask<T>& task, const T* x, T* y, const Row<T>& row, Index pairs) noexcept {
    const ElementType type = task.path.source.type;
    const auto rounded = [&](T value) {
        task.steps.round(&value, type, 1);
        return hide_from_optimizer(value);
    };
    for (Index i = 0; i < pairs; ++i) {
        const T a = x[i * task.from.step], b = x[i * task.from.step + task.from.distance];
        const T ac = rounded(a * row.cos[i]), bs = rounded(b * row.sin[i]);
        const T bc = rounded(b * row.cos[i]), as = rounded(a * row.sin[i]);
        y[i * task.to.step] = rounded(ac - bs);
        y[i * task.to.step + task.to.distance] = rounded(bc + as);
    }
}

struct RotateStage : Stage {
    static constexpr const char* kName = "a rotation";

    static void append(PathData& path, RotateStep rotation) noexcept {
        if (PathStep* const step = append_step<RotateStage>(path, 0.0)) step->set(rotation);
    }

    static Status check(const PathStep& step, const AnyView& x, const PathCall& call) noexcept {
        const RotateStep rotation = options_of<RotateStep>(step);
        if (rotation.has_other_layout)
            if (const Status s = check_layout(rotation.other_layout); !s.ok()) return s;
        if (!call.has_rows)
            return invalid("{} rotates, and the call has no rows; rope::pass takes them before the paths.", {x.name});
        if (rotation.has_axes && call.table.is_by_position)
            return invalid(
                "{} is of a model with several axes of positions, and its {} has one: give it the rows of a "
                "RotaryStep, or, "
                "for text alone, set axes_are_alike of RecipeOptions.",
                {x.name, call.table.name});
        if (const Status s = check_table_fits(x, call.table, rotation.is_back ? call.back : call.forward); !s.ok())
            return s;
        if (rotation.rounding > RotateRounding::all)
            return invalid("rounding of a rotation is number {} of RotateRounding; there are 3.",
                           {static_cast<int>(rotation.rounding)});
        return Status();
    }

    /// Whether a step is a rotation of which pairs stay where they are, and nothing is rounded on the way.
    static bool is_usual(const PathStep& step) noexcept {
        if (!is_step_of<RotateStage>(step)) return false;
        const RotateStep rotation = options_of<RotateStep>(step);
        return rotation.rounding == RotateRounding::none && !rotation.has_other_layout;
    }

    template <class T>
    ROPE_NOINLINE static void run(const StepCall<T>& c, Group<T>& g) noexcept {
        const PathTask<T>& task = c.task;
        const RowSource<T>& rows = task.rotation.source;
        T* const other = c.scratch.other;
        const Index head_dim = c.head_dim();
        if (task.rotation.before + task.rotation.after > 0) copy_to_y(g, head_dim);
        if (task.from.step != task.to.step && g.x == g.y) {  // pairs do not stay where they are
            for (Index h = 0; h < g.heads; ++h)
                std::memcpy(other + h * head_dim, g.x + h * g.x_stride, static_cast<std::size_t>(head_dim) * sizeof(T));
            g.x = other;
            g.x_stride = head_dim;
        }
        if (!rows.has_heads()) rotate_heads(c, rows, g, 0, g.heads);
        for (Index h = 0; h < g.heads && rows.has_heads(); ++h) rotate_heads(c, rows.of_head(g.first + h), g, h, 1);
        g.x = g.y;
        g.x_stride = g.y_stride;
    }

 private:
    /// Rotates `count` heads of a group by the same rows.
    template <class T>
    ROPE_INLINE static void rotate_heads(const StepCall<T>& c, const RowSource<T>& rows, const Group<T>& g, Index first,
                                         Index count) noexcept {
        const PathTask<T>& task = c.task;
        const RotateStep step = options_of<RotateStep>(c.step);
        const Index offset = task.rotation.before, pairs = (c.head_dim() - offset - task.rotation.after) / 2;
        const Row<T> row = row_of(c, rows, step.rounding, g.b, g.s, pairs);
        const T* const x = g.x + first * g.x_stride + offset;
        T* const y = g.y + first * g.y_stride + offset;
        if (step.rounding == RotateRounding::all) {
            for (Index h = 0; h < count; ++h) rotate_rounded(task, x + h * g.x_stride, y + h * g.y_stride, row, pairs);
            return;
        }
        task.rotation.kernels.rotate(x, y, row.cos, row.sin, {g.x_stride, g.y_stride, task.from, task.to, pairs},
                                     count);
    }
};

ROPE_DETAIL_END
