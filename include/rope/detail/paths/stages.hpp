// SPDX-License-Identifier: MIT
// The list of stages, one for each kind of step: an #include and an entry. Each step also has a
// function of Path, declared in heads.hpp and defined in run.hpp.
#pragma once

#include "stage.hpp"
#include "stages/add.hpp"
#include "stages/clamp.hpp"
#include "stages/hadamard.hpp"
#include "stages/multiply.hpp"
#include "stages/norm.hpp"
#include "stages/rotate.hpp"
#include "stages/round.hpp"

ROPE_DETAIL_BEGIN

template <class... S>
struct StageList {
    static constexpr int count(StepKind kind) noexcept { return ((S::kKind == kind ? 1 : 0) + ...); }
    static constexpr bool are_distinct() noexcept { return ((count(S::kKind) == 1) && ...); }

    /// f(the stage of a kind)
    template <class F>
    ROPE_INLINE static void visit(StepKind kind, const F& f) {
        static_cast<void>(((S::kKind == kind ? (f(S()), true) : false) || ...));
    }
};

using Stages = StageList<AddStage, ClampStage, HadamardStage, MultiplyStage, NormStage, RotateStage, RoundStage>;
static_assert(Stages::are_distinct(), "Each stage has a kKind of its own.");

inline const char* step_name(StepKind kind) noexcept {
    const char* name = "";
    Stages::visit(kind, [&](auto stage) { name = decltype(stage)::kName; });
    return name;
}
/// Whether a step needs all heads of a token before it can run on one.
inline bool needs_token(const PathStep& step) noexcept {
    return step.kind == NormStage::kKind && NormStage::needs_token(step);
}

template <class T>
ROPE_NOINLINE void run_step(const StepCall<T>& c, Group<T>& g) noexcept {
    Stages::visit(c.step.kind, [&](auto stage) { stage.run(c, g); });
}

ROPE_DETAIL_END
