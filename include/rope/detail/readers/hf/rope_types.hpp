// SPDX-License-Identifier: MIT
// The words for rope_type in config.json files, one line each: the formula, and where a word alone decides more.
#pragma once

#include <string>
#include <string_view>

#include "../../../version.hpp"
#include "model_type.hpp"

ROPE_DETAIL_BEGIN

/// The keys that a rope_type has, and the schedule that they become.
enum class RopeFormula : unsigned char {
    usual,
    linear,
    ntk,
    dynamic,
    alpha,  ///< NTK-aware, by "alpha"
    yarn,
    deepseek_yarn,
    llama3,
    longrope,
    proportional,
    axial
};

struct RopeType {
    const char* name;
    RopeFormula formula;
    const AxisScheme* axes =
        nullptr;                   ///< how axes share the pairs, beside any model_type; null: the model_type decides
    double log_coefficient = 0.0;  ///< of YaRN, beside any model_type; 0: the model_type decides
};

inline constexpr RopeType kRopeTypes[] = {
    {"default", RopeFormula::usual},
    {"linear", RopeFormula::linear},
    {"dynamic", RopeFormula::dynamic},
    {"ntk", RopeFormula::ntk},
    {"yarn", RopeFormula::yarn},
    {"deepseek_yarn", RopeFormula::deepseek_yarn},
    {"telechat3-yarn", RopeFormula::yarn, nullptr, 0.07},
    {"longrope", RopeFormula::longrope},
    {"su", RopeFormula::longrope},
    {"llama3", RopeFormula::llama3},
    {"proportional", RopeFormula::proportional},
    {"axial", RopeFormula::axial},
    {"mrope", RopeFormula::usual},
    {"xdrope", RopeFormula::alpha},
    {"video_rope", RopeFormula::usual, &kTimeLastAxes},     // Ming
    {"bailing_mrope", RopeFormula::usual, &kTimeLastAxes},  // the same, as vLLM names it
    {"openpangu", RopeFormula::usual, &kApportionedAxes},
};
/// nullptr for an unknown word.
ROPE_COLD const RopeType* find_rope_type(std::string_view name) noexcept {
    for (const RopeType& known : kRopeTypes)
        if (name == known.name) return &known;
    return nullptr;
}
/// The words that several families share, for a sentence, which has no room for all.
ROPE_COLD std::string names_of_rope_types() {
    std::string names;
    for (const RopeType& known : kRopeTypes)
        if (known.axes == nullptr && known.log_coefficient == 0.0)
            names.append(names.empty() ? "" : ", ").append(known.name);
    return names + " or a word of one family";
}

ROPE_DETAIL_END
