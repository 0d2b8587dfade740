// SPDX-License-Identifier: MIT
// The metadata of a GGUF file, read strictly: a value of the wrong type or out of range is an error that names its key.
// Included by gguf_config.hpp, which has GgufValue.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../errors.hpp"
#include "../types.hpp"
#include "bits.hpp"
#include "findings.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace gguf {

/// A value as a sentence shows it.
struct ROPE_ABI Shown {
    ROPE_COLD std::string operator()(bool value) const { return value ? "true" : "false"; }
    ROPE_COLD std::string operator()(std::int64_t value) const { return std::to_string(value); }
    ROPE_COLD std::string operator()(std::uint64_t value) const { return std::to_string(value); }
    ROPE_COLD std::string operator()(double value) const { return Message("{}", {value}).text(); }
    ROPE_COLD std::string operator()(const std::string& value) const {
        std::string text = "\"";
        for (const char c : value) {
            if (text.size() > 60) return text + "...\"";
            text += c >= ' ' && c <= '~' ? c : '?';
        }
        return text + "\"";
    }
    template <class T>
    ROPE_COLD std::string operator()(const std::vector<T>& value) const {
        return "an array of " + std::to_string(value.size());
    }
};
ROPE_COLD std::string shown(const GgufValue& value) {
    return value.valueless_by_exception() ? "nothing" : std::visit(Shown(), value);
}

/// A value that is a number.
ROPE_COLD std::optional<double> as_number(const GgufValue& value) {
    if (const auto* x = std::get_if<std::int64_t>(&value)) return static_cast<double>(*x);
    if (const auto* x = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*x);
    if (const auto* x = std::get_if<double>(&value)) return *x;
    return std::nullopt;
}

/// Of an array: one per layer is the most that is asked for.
inline constexpr std::size_t kMostEntries = 65536;

class ROPE_ABI Fields {
 public:
    ROPE_COLD Fields(const GgufLookup& get, Findings& findings) : get_(get), findings_(findings) {}

    ROPE_COLD void set_architecture(const std::string& name) { prefix_ = name + "."; }
    ROPE_COLD std::string path_of(const char* key) const { return prefix_ + key; }

    ROPE_COLD std::optional<GgufValue> find(const char* key) const { return get_(path_of(key)); }
    ROPE_COLD bool has(const char* key) const { return find(key).has_value(); }

    ROPE_COLD std::optional<double> number(const char* key, const NumberRange& range) {
        const auto value = find(key);
        if (!value) return std::nullopt;
        const auto x = as_number(*value);
        if (x && is_finite(*x) && *x >= range.least && *x <= range.most) return x;
        return refuse(path_of(key), *value, range.text), std::nullopt;
    }
    ROPE_COLD std::optional<Index> count(const char* key, const NumberRange& range = kAnyCount) {
        const auto value = find(key);
        return value ? count_from(path_of(key), *value, range) : std::nullopt;
    }
    ROPE_COLD std::optional<bool> truth(const char* key) {
        const auto value = find(key);
        if (!value) return std::nullopt;
        if (const bool* const x = std::get_if<bool>(&*value)) return *x;
        return refuse(path_of(key), *value, "true or false"), std::nullopt;
    }
    ROPE_COLD std::optional<std::string> text(const char* key) {
        const auto value = find(key);
        if (!value) return std::nullopt;
        if (const auto* const x = std::get_if<std::string>(&*value)) return *x;
        return refuse(path_of(key), *value, "a string"), std::nullopt;
    }
    ROPE_COLD std::optional<std::vector<Index>> counts(const char* key, const NumberRange& range) {
        const auto value = find(key);
        if (!value) return std::nullopt;
        if (const auto* const x = std::get_if<std::vector<std::int64_t>>(&*value)) return counts_from(key, *x, range);
        return refuse(path_of(key), *value, "an array of whole numbers"), std::nullopt;
    }
    /// One number for all layers, or an array with one per layer.
    ROPE_COLD std::optional<std::vector<Index>> count_per_layer(const char* key, const NumberRange& range,
                                                                std::size_t layers, std::size_t extra) {
        const auto value = find(key);
        if (!value) return std::nullopt;
        if (std::holds_alternative<std::vector<std::int64_t>>(*value)) return per_layer(key, range, layers, extra);
        const auto x = count_from(path_of(key), *value, range);
        return x ? std::vector<Index>(layers, *x) : std::vector<Index>();
    }
    /// An array with one number per layer. The last `extra` layers predict further tokens; some arrays leave them out.
    ROPE_COLD std::optional<std::vector<Index>> per_layer(const char* key, const NumberRange& range, std::size_t layers,
                                                          std::size_t extra) {
        auto list = counts(key, range);
        if (!list || !findings_.status.ok() || list->size() == layers || list->size() == layers - extra) return list;
        findings_.fail(path_of(key) + " has " + std::to_string(list->size()) +
                       " entries; it must have one per layer (" + std::to_string(layers) + ").");
        return std::nullopt;
    }

    ROPE_COLD void refuse(const std::string& path, const GgufValue& value, const std::string& allowed) {
        findings_.fail(path + " is " + shown(value) + "; it must be " + allowed + ".");
    }
    ROPE_COLD void require(bool is_there, const char* key, const std::string& by) {
        if (!is_there) findings_.fail(path_of(key) + " is missing; " + by + " needs it.");
    }

 private:
    ROPE_COLD std::optional<Index> count_from(const std::string& path, const GgufValue& value,
                                              const NumberRange& range) {
        const auto x = as_number(value);
        if (x && is_finite(*x) && *x >= range.least && *x <= range.most && *x == std::floor(*x))
            return static_cast<Index>(*x);
        return refuse(path, value, range.text), std::nullopt;
    }
    ROPE_COLD std::vector<Index> counts_from(const char* key, const std::vector<std::int64_t>& values,
                                             const NumberRange& range) {
        std::vector<Index> list;
        if (values.size() > kMostEntries)
            findings_.fail(path_of(key) + " has " + std::to_string(values.size()) + " entries; it must have at most " +
                           std::to_string(kMostEntries) + ".");
        for (std::size_t i = 0; i < values.size() && findings_.status.ok(); ++i)
            if (const auto x = count_from(path_of(key) + "[" + std::to_string(i) + "]", values[i], range))
                list.push_back(*x);
        return list;
    }

    const GgufLookup& get_;
    Findings& findings_;
    std::string prefix_;
};

}  // namespace gguf
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
