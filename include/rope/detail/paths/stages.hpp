// SPDX-License-Identifier: MIT
// The list of stages, one for each kind of step: an #include and an entry. Each step also has a
// function of Path, declared in heads.hpp and defined in run.hpp.
#pragma once

#include "../base/type_list.hpp"
#include "stage.hpp"
#include "stages/add.hpp"
#include "stages/clamp.hpp"
#include "stages/hadamard.hpp"
#include "stages/multiply.hpp"
#include "stages/norm.hpp"
#include "stages/rotate.hpp"
#include "stages/round.hpp"

ROPE_DETAIL_BEGIN

using Stages =
    TypeList<StepKind, AddStage, ClampStage, HadamardStage, MultiplyStage, NormStage, RotateStage, RoundStage>;

template <class Stage>
constexpr StepKind kind_of() noexcept {
    return Stages::number_of<Stage>();
}

inline const char* step_name(StepKind kind) noexcept {
    const char* name = "";
    Stages::visit(kind, [&](auto stage) { name = decltype(stage)::kName; });
    return name;
}
/// Whether a step needs all heads of a token before it can run on one.
inline bool needs_token(const PathStep& step) noexcept {
    return is_step_of<NormStage>(step) && NormStage::needs_token(step);
}

/// Whether a step has the squares of a token from elsewhere.
inline bool has_squares(const PathStep& step) noexcept {
    return is_step_of<NormStage>(step) && options_of<NormStep>(step).has_squares;
}

template <class T>
ROPE_NOINLINE void run_step(const StepCall<T>& c, Group<T>& g) noexcept {
    Stages::visit(c.step.kind, [&](auto stage) { stage.run(c, g); });
}

ROPE_DETAIL_END
