// SPDX-License-Identifier: MIT
// What the readers of models' configuration files share: the first error, the warnings, the ranges of their numbers.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../model_config.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// A range of numbers, both ends allowed, and how a sentence names it.
struct ROPE_ABI NumberRange {
    double least, most;
    const char* text;
};
inline constexpr NumberRange kAnyFactor = {0x1p-32, 0x1p32, "a number from 2^-32 to 2^32"};
inline constexpr NumberRange kAnyFactorOrNone = {0.0, 0x1p32, "a number from 0 to 2^32"};
inline constexpr NumberRange kAnyNumber = {-0x1p32, 0x1p32, "a number from -2^32 to 2^32"};
inline constexpr NumberRange kAnyFraction = {0x1p-32, 1.0, "a number above 0 and at most 1"};
inline constexpr NumberRange kAnyPart = {0.0, 1.0, "a number from 0 to 1"};
inline constexpr NumberRange kAnyBase = {0x1p-1000, 0x1p1000, "a number above 0 and at most 2^1000"};
inline constexpr NumberRange kAnyBaseOrNone = {0.0, 0x1p1000, "a number from 0 (no RoPE) to 2^1000"};
inline constexpr NumberRange kAnyCount = {1.0, 0x1p40, "a whole number from 1 to 2^40"};
inline constexpr NumberRange kAnyCountOrNone = {0.0, 0x1p40, "a whole number from 0 to 2^40"};
inline constexpr NumberRange kAnyHeadDim = {1.0, 0x1p20, "a whole number from 1 to 2^20"};
inline constexpr NumberRange kAnyLayers = {1.0, 65536.0, "a whole number from 1 to 65536"};
inline constexpr NumberRange kYesOrNo = {0.0, 1.0, "true or false"};

/// The first error of a reader, and its warnings.
struct ROPE_ABI Diagnostics {
    Status status;
    std::vector<std::string> warnings;

    ROPE_COLD bool ok() const noexcept { return status.ok(); }
    ROPE_COLD void fail(const std::string& sentence) {
        if (status.ok()) status = invalid("{}", {sentence.c_str()});
    }
    /// However often it is found, it is said once.
    ROPE_COLD void warn(const std::string& sentence) {
        if (said.insert(sentence).second) warnings.push_back(sentence);
    }

    std::set<std::string> said;
};

/// A sentence about an argument of ours, said of the key that it was read from.
ROPE_COLD std::string in_words_of_the_file(const Status& status, const std::string& key) {
    return key + (status.message() + status.argument().size());
}

/// What a reader returns: the model with its warnings, unless there is an error.
ROPE_COLD ModelConfig finished(ModelConfig model, Diagnostics diagnostics) {
    if (diagnostics.ok()) diagnostics.status = check(model);
    if (!proceed(diagnostics.status)) return {};
    model.warnings = std::move(diagnostics.warnings);
    return model;
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
