// SPDX-License-Identifier: MIT
// The Walsh-Hadamard transform of blocks of a power of two, in the order of Sylvester, over the root of the block.
#pragma once

#include <cmath>

#include "../stage.hpp"

ROPE_DETAIL_BEGIN

struct HadamardStage : Stage {
    static constexpr const char* kName = "hadamard";

    static Index block_of(const PathStep& step, Index head_dim) noexcept {
        return step.number == 0.0 ? head_dim : static_cast<Index>(step.number);
    }

    static Status check(const PathStep& step, const AnyView& x, const PathCall&) noexcept {
        const Index head_dim = x.extents[3];
        const bool is_counted = step.number >= 0.0 && step.number <= static_cast<double>(kMaxPathHeadDim);
        const Index block = is_counted ? block_of(step, head_dim) : 0;
        if (head_dim == 0 || (block > 0 && (block & (block - 1)) == 0 && head_dim % block == 0)) return Status();
        return invalid("block of hadamard is {}; it must be a power of two that divides head_dim ({}).",
                       {is_counted ? static_cast<double>(block) : step.number, head_dim});
    }

    template <class T>
    static void run(const StepCall<T>& c, Group<T>& g) noexcept {
        const Index n = c.head_dim(), block = block_of(c.step, n);
        const T factor = static_cast<T>(quotient(1.0, std::sqrt(static_cast<double>(block))));
        copy_to_y(g, n);
        for_each_head(g, [&](const T*, T* y, Index) {
            c.task.steps.hadamard(y, block, n);
            c.task.steps.multiply(y, y, factor, nullptr, n);
        });
    }
};

ROPE_DETAIL_END
