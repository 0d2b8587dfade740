// SPDX-License-Identifier: MIT
// x * factor, or x times numbers.
#pragma once

#include "../stage.hpp"

ROPE_DETAIL_BEGIN

struct MultiplyStage : Stage {
    static constexpr const char* kName = "multiply";

    static Status check(const PathStep& step, const AnyView&, const PathCall& call) noexcept {
        if (is_finite_number(step, call)) return Status();
        return invalid("factor of multiply is {}; it must be finite.", {step.number});
    }
    static bool is_factor(const PathStep& step) noexcept {
        return is_step_of<MultiplyStage>(step) && !step.numbers.is_given;
    }
    template <class T>
    static void run(const StepCall<T>& c, Group<T>& g) noexcept {
        const T factor = static_cast<T>(c.step.number);
        for_each_head_and_numbers(
            c, g, [&](const T* x, T* y, const T* w) { c.task.steps.multiply(x, y, factor, w, c.head_dim()); });
    }
};

ROPE_DETAIL_END
