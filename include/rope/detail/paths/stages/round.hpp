// SPDX-License-Identifier: MIT
// x, rounded to the type of the source.
#pragma once

#include "../stage.hpp"

ROPE_DETAIL_BEGIN

struct RoundStage : Stage {
    static constexpr const char* kName = "round";

    template <class T>
    static void run(const StepCall<T>& c, Group<T>& g) noexcept {
        copy_to_y(g, c.head_dim());
        for_each_head(g, [&](const T*, T* y, Index) { c.task.steps.round(y, c.source().type, c.head_dim()); });
    }
};

ROPE_DETAIL_END
