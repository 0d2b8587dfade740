// SPDX-License-Identifier: MIT
// The values of a model's file, JSON or GGUF, and their form in sentences.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "../../types.hpp"
#include "../base/message.hpp"

ROPE_DETAIL_BEGIN

/// The order of texts. No text is made to look for a key, and most keys differ in the first letter, which takes less to
/// see than a call of memcmp.
struct InOrder {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept {
        const bool differs = !a.empty() && !b.empty() && a[0] != b[0];
        return differs ? static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]) : a < b;
    }
};
struct Value;
/// The members of an object.
using Members = std::map<std::string, const Value*, InOrder>;

/// One value of a file. A list and an object hold pointers to others, which live as long as the Values of all of them.
struct Value {
    enum class Kind : unsigned char { null, truth, number, text, list, object };
    Kind kind = Kind::null;
    std::uint32_t size = 0;  ///< of a list; its entries are as many, or none, where a list is too long to be used
    double number = 0.0;  ///< 1 and 0 for true and false; infinite for all three of Infinity, -Infinity and NaN in JSON
    std::string text = {};  ///< of a string; of another value, its form in sentences where shown() would find another
    const Value* first = nullptr;           ///< entry of a list
    const Value* next = nullptr;            ///< entry of the same list
    std::unique_ptr<Members> members = {};  ///< of an object; null: it has none
    mutable bool is_read = false;           ///< a reader has asked for it; others get warnings
    mutable bool is_hidden = false;         ///< as good as missing

    ROPE_COLD bool is_false() const noexcept { return kind == Kind::truth && number == 0.0; }
};

/// Whether two values mean the same: 1 and 1.0 do, and objects whose members are in another order.
ROPE_COLD bool operator==(const Value& a, const Value& b) {
    if (a.kind != b.kind || a.number != b.number || a.size != b.size) return false;
    const bool is_exact = std::fabs(a.number) < 0x1p53;  // larger integers may differ and be the same double
    if ((a.kind == Value::Kind::text || !is_exact) && a.text != b.text) return false;
    const Value* y = b.first;
    for (const Value* x = a.first; x != nullptr; x = x->next, y = y->next)
        if (!(*x == *y)) return false;
    if (a.members == nullptr || b.members == nullptr) return (a.members == nullptr) == (b.members == nullptr);
    return std::equal(a.members->begin(), a.members->end(), b.members->begin(), b.members->end(),
                      [](const auto& p, const auto& q) { return p.first == q.first && *p.second == *q.second; });
}
/// A member of an object; nullptr if there is none.
ROPE_COLD const Value* member_of(const Value& object, std::string_view key) {
    if (object.members == nullptr) return nullptr;
    const auto it = object.members->find(key);
    return it == object.members->end() ? nullptr : it->second;
}

/// All values of a file. Pointers to them stay valid when others are added.
class Values {
 public:
    Values() = default;
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;

    ROPE_COLD Value& add(Value::Kind kind, double number = 0.0, std::string text = {}) {
        values_.emplace_front();
        Value& value = values_.front();
        value.kind = kind;
        value.number = number;
        value.text = std::move(text);
        return value;
    }
    /// Adds `entry` to a list; `last` is the last entry of the list before and after, null in an empty one.
    ROPE_COLD static void append(Value& list, Value*& last, Value& entry) {
        (last == nullptr ? list.first : last->next) = &entry;
        last = &entry;
        ++list.size;
    }

 private:
    std::forward_list<Value> values_;
};

// A sentence has room for some 300 characters (see message.hpp). Keys and values, which a file may name as it likes,
// take at most half of them.
inline constexpr std::size_t kMaxShown = 60, kMaxPath = 90;

ROPE_COLD std::string beginning_of(const std::string& text) {
    return text.size() > kMaxShown ? text.substr(0, kMaxShown) + "..." : text;
}
/// The end of a long path tells more than its beginning.
ROPE_COLD std::string end_of(const std::string& path) {
    return path.size() > kMaxPath ? "..." + path.substr(path.size() - (kMaxPath - 3)) : path;
}

/// A number as a sentence shows it: 1000000, not 1e+06.
ROPE_COLD std::string shown(double value) {
    const bool is_whole = value > -0x1p53 && value < 0x1p53 && value == std::trunc(value);
    return is_whole ? std::to_string(static_cast<Index>(value)) : Message("{}", {value}).text();
}
/// The beginning of a string as a sentence shows it: quoted, bytes that are no printable ASCII by their number.
ROPE_COLD std::string shown(std::string_view value) {
    std::string text = "\"";
    for (const char c : value) {
        if (text.size() > kMaxShown) return text + "...\"";
        if (c >= ' ' && c <= '~') {
            text.append(c == '"' || c == '\\' ? "\\" : "").append(1, c);
        } else {
            const auto byte = static_cast<unsigned char>(c);
            text.append("\\x").append(1, "0123456789abcdef"[byte / 16]).append(1, "0123456789abcdef"[byte % 16]);
        }
    }
    return text + "\"";
}
/// A value as a sentence shows it.
ROPE_COLD std::string shown(const Value& value) {
    if (value.kind == Value::Kind::text) return shown(value.text);
    if (!value.text.empty()) return value.text;
    switch (value.kind) {
        case Value::Kind::truth: return value.is_false() ? "false" : "true";
        case Value::Kind::number: return shown(value.number);
        case Value::Kind::list: return "a list of " + std::to_string(value.size);
        case Value::Kind::object: return "an object";
        case Value::Kind::text:
        case Value::Kind::null: break;
    }
    return "null";
}

ROPE_DETAIL_END
