// SPDX-License-Identifier: MIT
// The metadata of a GGUF file as Fields. Included by gguf_config.hpp, which has GgufValue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../fields.hpp"

#include "../../hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace gguf {

/// A number as a sentence shows it.
ROPE_COLD std::string shown(double value) { return Message("{}", {value}).text(); }
/// A string as a sentence shows it.
ROPE_COLD std::string shown(const std::string& value) {
    std::string text = "\"";
    for (const char c : value) {
        if (text.size() > kMaxShown) return text + "...\"";
        text += c >= ' ' && c <= '~' ? c : '?';
    }
    return text + "\"";
}

/// One kind of value after the other as a Value.
struct ROPE_ABI MakeValue {
    ROPE_COLD Value operator()(bool x) const { return {Value::Kind::truth, x ? 1.0 : 0.0, {}, x ? "true" : "false"}; }
    ROPE_COLD Value operator()(std::int64_t x) const { return number(static_cast<double>(x), std::to_string(x)); }
    ROPE_COLD Value operator()(std::uint64_t x) const { return number(static_cast<double>(x), std::to_string(x)); }
    ROPE_COLD Value operator()(double x) const { return number(x, shown(x)); }
    ROPE_COLD Value operator()(const std::string& x) const { return {Value::Kind::text, 0.0, x, shown(x)}; }
    template <class T>
    ROPE_COLD Value operator()(const std::vector<T>& list) const {
        Value v = {Value::Kind::list, 0.0, {}, "an array of " + std::to_string(list.size())};
        v.size = list.size();
        for (std::size_t i = 0; i < std::min(v.size, kMaxEntries); ++i) v.items.push_back((*this)(list[i]));
        return v;
    }

 private:
    ROPE_COLD static Value number(double x, std::string text) { return {Value::Kind::number, x, {}, std::move(text)}; }
};

/// Keys with `prefix` and a dot before them; empty: as they are.
ROPE_COLD Fields fields_of(const GgufLookup& get, const std::string& prefix, Diagnostics& diagnostics) {
    const auto find = [&get, prefix](const std::string& key) -> std::optional<Value> {
        const auto value = get(prefix.empty() ? key : prefix + "." + key);
        if (!value || value->valueless_by_exception()) return std::nullopt;
        return std::visit(MakeValue(), *value);
    };
    return {find, prefix, diagnostics};
}

}  // namespace gguf
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../../restore_macros.hpp"
