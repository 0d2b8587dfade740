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
};

ROPE_DETAIL_END
