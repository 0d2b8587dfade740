// SPDX-License-Identifier: MIT
// The members of a JSON object, read strictly: a value of the wrong type or out of range is an error that names its
// path, and a member that nobody asks for is known.
#pragma once

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../errors.hpp"
#include "../types.hpp"
#include "findings.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

using Json = nlohmann::json;

// A sentence has room for some 300 characters (see message.hpp), of which these take at most half: a file may name its
// keys and values as it likes.
inline constexpr std::size_t kMostShown = 60, kMostPath = 90;

ROPE_COLD std::string beginning_of(const std::string& text) {
    return text.size() > kMostShown ? text.substr(0, kMostShown) + "..." : text;
}
/// The end of a long path tells more than its beginning.
ROPE_COLD std::string end_of(const std::string& path) {
    return path.size() > kMostPath ? "..." + path.substr(path.size() - (kMostPath - 3)) : path;
}

/// A value as a sentence shows it.
ROPE_COLD std::string shown(const Json& value) {
    if (value.is_array()) return "a list of " + std::to_string(value.size());
    if (value.is_object()) return "an object";
    return beginning_of(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

/// The path of a member within `path`, which is empty for the whole file.
ROPE_COLD std::string joined(const std::string& path, const std::string& key) {
    bool is_plain = !key.empty() && key.size() <= kMostShown;
    for (const char c : key) is_plain = is_plain && c > ' ' && c < 127 && c != '"' && c != '.';
    return end_of((path.empty() ? "" : path + ".") + (is_plain ? key : shown(Json(key))));
}

/// Names of one and the same, the strongest first.
using Keys = std::initializer_list<const char*>;

class ROPE_ABI JsonFields {
 public:
    /// `object` must be an object, or null for one without members.
    ROPE_COLD JsonFields(const Json* object, std::string path, Findings& findings)
        : object_(object), path_(std::move(path)), findings_(&findings) {}

    ROPE_COLD std::string path_of(const std::string& key) const { return joined(path_, key); }
    ROPE_COLD const std::string& path() const noexcept { return path_; }

    /// The member, null members included; nullptr when there is none.
    ROPE_COLD const Json* find(const std::string& key) {
        if (object_ == nullptr) return nullptr;
        const auto it = object_->find(key);
        if (it == object_->end()) return nullptr;
        read_.insert(key);
        return &*it;
    }
    ROPE_COLD bool has(const std::string& key) const { return object_ != nullptr && object_->contains(key); }
    ROPE_COLD bool holds(const std::string& key, const char* text) const { return has(key) && (*object_)[key] == text; }
    ROPE_COLD bool is_object(const std::string& key) const { return has(key) && (*object_)[key].is_object(); }
    /// Whether there is such a member, and it is not null.
    ROPE_COLD bool says(const std::string& key) const { return has(key) && !(*object_)[key].is_null(); }

    /// The first of these names under which there is a member that is not null; nullptr for none. Members under the
    /// others that say something else are known as beaten.
    ROPE_COLD const char* first(Keys keys) {
        for (const char* key : keys)
            if (const Json* const v = value(key)) {
                for (const char* other : keys)
                    if (other != key) beat(other, *v, path_of(key));
                return key;
            }
        return nullptr;
    }
    /// The same for a name in an error: the first of all where none is there.
    ROPE_COLD std::string path_of_first(Keys keys) {
        const char* const key = first(keys);
        return path_of(key != nullptr ? key : *keys.begin());
    }
    /// What this member says is said by `winner`, too, a path: it must not say anything else.
    ROPE_COLD void beat(const char* key, const Json& winning_value, const std::string& winner) {
        if (!has(key)) return;
        const Json& mine = (*object_)[key];
        if (mine.is_null() || mine == winning_value)
            read_.insert(key);
        else
            beaten_[key] = winner;
    }

    ROPE_COLD std::optional<double> number(Keys keys, const NumberRange& range) {
        const char* const key = first(keys);
        if (key == nullptr) return std::nullopt;
        return accepted(number_in(*find(key), range), path_of(key), *find(key), range);
    }
    ROPE_COLD std::optional<Index> count(Keys keys, const NumberRange& range = kAnyCount) {
        const char* const key = first(keys);
        if (key == nullptr) return std::nullopt;
        return accepted(count_in(*find(key), range), path_of(key), *find(key), range);
    }
    ROPE_COLD std::optional<bool> truth(Keys keys) {
        const char* const key = first(keys);
        if (key == nullptr) return std::nullopt;
        if (find(key)->is_boolean()) return find(key)->get<bool>();
        return refuse(path_of(key), *find(key), "true or false"), std::nullopt;
    }
    /// true and false count as 1 and 0.
    ROPE_COLD std::optional<double> number_or_truth(const char* key) {
        const Json* const v = value(key);
        if (v == nullptr) return std::nullopt;
        if (v->is_boolean()) return v->get<bool>() ? 1.0 : 0.0;
        return accepted(number_in(*v, kAnyNumber), path_of(key), *v, kAnyNumber);
    }
    ROPE_COLD std::optional<std::string> text(Keys keys) {
        const char* const key = first(keys);
        if (key == nullptr) return std::nullopt;
        if (find(key)->is_string()) return find(key)->get<std::string>();
        return refuse(path_of(key), *find(key), "a string"), std::nullopt;
    }
    ROPE_COLD std::optional<std::vector<double>> numbers(const char* key, const NumberRange& range) {
        return list_of<double>(
            key, [&](const Json& v) { return number_in(v, range); }, range.text);
    }
    ROPE_COLD std::optional<std::vector<Index>> counts(const char* key, const NumberRange& range) {
        return list_of<Index>(
            key, [&](const Json& v) { return count_in(v, range); }, range.text);
    }
    ROPE_COLD std::optional<std::vector<std::string>> texts(const char* key) {
        const auto text_in = [](const Json& v) {
            return v.is_string() ? std::optional<std::string>(v.get<std::string>()) : std::nullopt;
        };
        return list_of<std::string>(key, text_in, "a string");
    }
    /// A member that is an object; nullptr when it is not there, or null.
    ROPE_COLD const Json* object(const char* key) {
        const Json* const v = value(key);
        if (v == nullptr || v->is_object()) return v;
        return refuse(path_of(key), *v, "an object"), nullptr;
    }

    ROPE_COLD void refuse(const std::string& path, const Json& value, const std::string& allowed) {
        findings_->fail(path + " is " + shown(value) + "; it must be " + allowed + ".");
    }
    ROPE_COLD void require(bool is_there, const char* key, const std::string& by) {
        if (!is_there) findings_->fail(lack_of(key) + "; " + by + " needs it.");
    }
    ROPE_COLD std::string lack_of(const char* key) const {
        return path_of(key) + (has(key) ? " is null" : " is missing");
    }

    /// Members that nobody asked for. One that is null says nothing.
    ROPE_COLD std::vector<std::string> unread() const {
        std::vector<std::string> keys;
        if (object_ != nullptr)
            for (const auto& member : object_->items())
                if (!member.value().is_null() && read_.count(member.key()) == 0) keys.push_back(member.key());
        return keys;
    }
    /// What to say of one of them. Those of `known` are read where a layer needs them.
    ROPE_COLD std::string unread_sentence(const std::string& key, Keys known = {}) const {
        const auto beaten = beaten_.find(key);
        if (beaten != beaten_.end()) return path_of(key) + " was not used: " + beaten->second + " is there, too.";
        for (const char* name : known)
            if (key == name) return path_of(key) + " was not used: no layer asks for it.";
        return path_of(key) + " is not understood, and was not used.";
    }

 private:
    ROPE_COLD const Json* value(const char* key) {
        const Json* const v = find(key);
        return v == nullptr || v->is_null() ? nullptr : v;
    }
    ROPE_COLD const Json* array(const char* key) {
        const Json* const v = value(key);
        if (v == nullptr || v->is_array()) return v;
        return refuse(path_of(key), *v, "a list"), nullptr;
    }
    ROPE_COLD static std::optional<double> number_in(const Json& v, const NumberRange& range) {
        if (!v.is_number()) return std::nullopt;
        const double x = v.get<double>();
        return is_finite(x) && x >= range.least && x <= range.most ? std::optional<double>(x) : std::nullopt;
    }
    ROPE_COLD static std::optional<Index> count_in(const Json& v, const NumberRange& range) {
        const auto x = number_in(v, range);
        return x && *x == std::floor(*x) ? std::optional<Index>(static_cast<Index>(*x)) : std::nullopt;
    }
    template <class T>
    ROPE_COLD std::optional<T> accepted(std::optional<T> x, const std::string& path, const Json& v,
                                        const NumberRange& range) {
        if (!x) refuse(path, v, range.text);
        return x;
    }
    /// `in` says what is in an element, or nothing for one that must not be; the first of those is refused.
    template <class T, class In>
    ROPE_COLD std::optional<std::vector<T>> list_of(const char* key, In in, const char* allowed) {
        const Json* const v = array(key);
        if (v == nullptr) return std::nullopt;
        std::vector<T> list;
        for (const Json& element : *v) {
            std::optional<T> x = in(element);
            if (!x)
                return refuse(path_of(key) + "[" + std::to_string(list.size()) + "]", element, allowed), std::nullopt;
            list.push_back(std::move(*x));
        }
        return list;
    }

    const Json* object_;
    std::string path_;
    Findings* findings_;
    std::set<std::string> read_;
    std::map<std::string, std::string> beaten_;  ///< and the path of what was used instead
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
