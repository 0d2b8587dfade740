// SPDX-License-Identifier: MIT
// A list of a model's steps, for tests: its order as a word, its norm, the number of a step.
#pragma once

#include <rope/head_steps.hpp>

#include <string>

namespace support {

/// One letter per step: - is none before a step, n is a norm, c a clamp, f a factor, r the rotation, b the rotation back, t the temperature.
inline std::string order_of(const rope::HeadStepList& steps) {
    std::string letters;
    for (const rope::HeadStep& step : steps) letters += "-ncfrbt"[static_cast<int>(step.kind)];
    return letters.substr(0, letters.find_last_not_of('-') + 1);
}
/// The norm of a list; one of NormKind::none, if it has none.
inline rope::HeadNorm norm(const rope::HeadStepList& steps) {
    const rope::HeadNorm* const n = rope::norm_of(steps);
    return n != nullptr ? *n : rope::HeadNorm();
}
/// The only step of a kind; if there is none or another one, one of this kind with the number 0.
inline rope::HeadStep step(const rope::HeadStepList& steps, rope::HeadStepKind kind) {
    rope::HeadStep found = {kind, {}, 0.0};
    int count = 0;
    for (const rope::HeadStep& s : steps)
        if (s.kind == kind && ++count == 1) found = s;
    return count == 1 ? found : rope::HeadStep{kind, {}, 0.0};
}

}  // namespace support
