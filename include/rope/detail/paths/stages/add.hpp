// SPDX-License-Identifier: MIT
// x + b.
#pragma once

#include "../stage.hpp"

ROPE_DETAIL_BEGIN

struct AddStage : Stage {
    static constexpr const char* kName = "add";

    template <class T>
    static void run(const StepCall<T>& c, Group<T>& g) noexcept {
        for_each_head_and_numbers(c, g,
                                  [&](const T* x, T* y, const T* b) { c.task.steps.add(x, y, T(0), b, c.head_dim()); });
    }

    template <class T>
    static void define(ReferencePath<T>& all, const PathStep& step) {
        all.for_each([&](Index b, Index s, Index h, Index i) {
            all.x(b, s, h, i) = stored(all.x(b, s, h, i) + all.number(step.numbers, b, s, h, i));
        });
    }
};

ROPE_DETAIL_END
