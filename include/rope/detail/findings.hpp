// SPDX-License-Identifier: MIT
// What the readers of models' configuration files share: the ranges of their numbers, the first error, the warnings.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../errors.hpp"
#include "../model_config.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// A range of numbers, both ends allowed, and how a sentence names it.
struct ROPE_ABI NumberRange {
    double least, most;
    const char* text;
};
inline constexpr NumberRange kAnyFactor = {0x1p-32, 0x1p32, "a number from 2^-32 to 2^32"};
inline constexpr NumberRange kAnyNumber = {-0x1p32, 0x1p32, "a number from -2^32 to 2^32"};
inline constexpr NumberRange kAnyFraction = {0x1p-32, 1.0, "a number above 0 and at most 1"};
inline constexpr NumberRange kAnyBase = {0x1p-1000, 0x1p1000, "a number above 0 and at most 2^1000"};
inline constexpr NumberRange kAnyCount = {1.0, 0x1p40, "a whole number from 1 to 2^40"};
inline constexpr NumberRange kAnyCountOrNone = {0.0, 0x1p40, "a whole number from 0 to 2^40"};

/// The first error of a reader, and what it warns of.
struct ROPE_ABI Findings {
    Status status;
    std::vector<std::string> warnings;

    ROPE_COLD void fail(const std::string& sentence) {
        if (status.ok()) status = invalid("{}", {sentence.c_str()});
    }
    /// However often it is found, it is said once.
    ROPE_COLD void warn(const std::string& sentence) {
        if (said.insert(sentence).second) warnings.push_back(sentence);
    }

    std::set<std::string> said;
};

/// What a reader returns: the model with its warnings, unless there is an error.
ROPE_COLD ModelConfig finished(ModelConfig model, Findings findings) {
    if (findings.status.ok()) findings.status = check(model);
    if (!proceed(findings.status)) return {};
    model.warnings = std::move(findings.warnings);
    return model;
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
