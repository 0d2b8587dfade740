// SPDX-License-Identifier: MIT
// x, held within -limit .. limit.
#pragma once

#include "../stage.hpp"

ROPE_DETAIL_BEGIN

struct ClampStage : Stage {
    static constexpr const char* kName = "clamp";

    static Status check(const PathStep& step, const AnyView&, const PathCall& call) noexcept {
        if (is_finite_number(step, call) && step.number >= 0.0) return Status();
        return invalid("limit of clamp is {}; it must be finite and at least 0.", {step.number});
    }
    template <class T>
    static void run(const StepCall<T>& c, Group<T>& g) noexcept {
        const T limit = static_cast<T>(c.step.number);
        for_each_head(g, [&](const T* x, T* y, Index) { c.task.steps.clamp(x, y, limit, c.head_dim()); });
    }
};

ROPE_DETAIL_END
