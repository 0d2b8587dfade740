// SPDX-License-Identifier: MIT
// The members of a JSON object as Fields, and text that should be JSON, looked at before it is taken into memory: its
// size, its depth, keys that stand twice, numbers that no double holds. Each is an error that says where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../fields.hpp"

#include "../../hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// The largest config.json that is read; those of models have some ten kilobytes, and two megabytes where they name
/// twenty thousand classes. In memory a text may take 50 times its size.
inline constexpr std::size_t kMostConfigBytes = std::size_t(4) << 20;
/// How deeply its objects and lists may be nested.
inline constexpr std::size_t kMostConfigDepth = 32;

namespace detail {

using Json = nlohmann::json;

/// Whether a value is what StrictJson makes of Infinity and NaN.
ROPE_COLD bool is_not_finite(const Json& value) {
    return value.is_object() && value.contains("__float__") && value["__float__"].is_string();
}
/// A value as a sentence shows it.
ROPE_COLD std::string shown(const Json& value) {
    if (value.is_array()) return "a list of " + std::to_string(value.size());
    if (is_not_finite(value)) return beginning_of(value["__float__"].get<std::string>());
    if (value.is_object()) return "an object";
    return beginning_of(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

/// Of a list, no more entries than any is asked for, and none that are lists themselves.
ROPE_COLD Value value_of(const Json& json, bool is_entry = false) {
    Value v;
    v.shown = shown(json);
    if (json.is_boolean()) {
        v.kind = Value::Kind::truth;
        v.number = json.get<bool>() ? 1.0 : 0.0;
    } else if (json.is_number() || is_not_finite(json)) {
        v.kind = Value::Kind::number;
        v.number = json.is_number() ? json.get<double>() : std::numeric_limits<double>::infinity();
    } else if (json.is_string()) {
        v.kind = Value::Kind::text;
        v.text = json.get<std::string>();
    } else if (json.is_array()) {
        v.kind = Value::Kind::list;
        v.size = json.size();
        for (std::size_t i = 0; !is_entry && i < std::min(v.size, kMaxEntries); ++i)
            v.items.push_back(value_of(json[i], true));
    } else if (json.is_object()) {
        v.kind = Value::Kind::object;
    }
    return v;
}

/// A key of the file's own in a path: quoted, where it is no word.
ROPE_COLD std::string in_path(const std::string& key) {
    bool is_plain = !key.empty() && key.size() <= kMaxShown;
    for (const char c : key) is_plain = is_plain && c > ' ' && c < 127 && c != '"' && c != '.';
    return is_plain ? key : shown(Json(key));
}

class ROPE_ABI JsonFields : public Fields {
 public:
    /// `object` must be an object, or null for one without members.
    ROPE_COLD JsonFields(const Json* object, std::string path, Diagnostics& diagnostics)
        : Fields([object](const std::string& key) { return lookup(object, key); }, std::move(path), diagnostics),
          object_(object) {}

    ROPE_COLD bool is_object(const std::string& key) const { return has(key) && has_members((*object_)[key]); }
    /// A member that is an object; nullptr when it is not there, or null.
    ROPE_COLD const Json* object(const std::string& key) {
        if (!says(key)) return nullptr;
        const Json& json = (*object_)[key];
        if (!has_members(json)) return refuse(path_of(key), value_of(json), "an object"), nullptr;
        read_.insert(key);
        return &json;
    }
    /// The same as fields; without members, when there is none.
    ROPE_COLD JsonFields& inside(const std::string& key) {
        for (const auto& child : children_)
            if (child.first == key) return *child.second;
        children_.emplace_back(key, std::make_unique<JsonFields>(object(key), path_of(in_path(key)), *diagnostics_));
        return *children_.back().second;
    }
    /// Names of the objects that were looked into.
    ROPE_COLD std::vector<std::string> children() const {
        std::vector<std::string> names;
        for (const auto& child : children_) names.push_back(child.first);
        return names;
    }
    /// A member that is a list of objects; nullptr as above.
    ROPE_COLD const Json* objects(const std::string& key) {
        if (!says(key)) return nullptr;
        const Json& json = (*object_)[key];
        bool is_right = json.is_array();
        for (const Json& item : json) is_right = is_right && has_members(item);
        if (!is_right) return refuse(path_of(key), value_of(json), "a list of objects"), nullptr;
        read_.insert(key);
        return &json;
    }

    /// Names of all members.
    ROPE_COLD std::vector<std::string> keys() const {
        std::vector<std::string> keys;
        if (object_ != nullptr)
            for (const auto& member : object_->items()) keys.push_back(member.key());
        return keys;
    }
    /// Members that nobody asked for. One that is null says nothing.
    ROPE_COLD std::vector<std::string> unread() const {
        std::vector<std::string> unread;
        for (const std::string& key : keys())
            if (says(key) && read_.count(key) == 0) unread.push_back(key);
        return unread;
    }
    /// What to say of one of them. Those of `known` are read where a layer needs them.
    ROPE_COLD std::string unread_sentence(const std::string& key, Keys known = {}) const {
        const auto beaten = beaten_.find(key);
        if (beaten != beaten_.end()) return path_of(key) + " was not used: " + beaten->second + " is there, too.";
        for (const char* name : known)
            if (key == name) return path_of(key) + " was not used: no layer asks for it.";
        return path_of(in_path(key)) + " is not understood, and was not used.";
    }

 private:
    ROPE_COLD static bool has_members(const Json& json) { return json.is_object() && !is_not_finite(json); }
    ROPE_COLD static std::optional<Value> lookup(const Json* object, const std::string& key) {
        if (object == nullptr) return std::nullopt;
        const auto it = object->find(key);
        if (it == object->end()) return std::nullopt;
        return value_of(*it);
    }

    const Json* object_;
    std::vector<std::pair<std::string, std::unique_ptr<JsonFields>>> children_;
};

/// Text in which Infinity, -Infinity and NaN, which Python writes and JSON does not have, are objects that say so, as
/// transformers writes them: {"__float__": "Infinity"}.
struct ROPE_ABI StrictJson {
    ROPE_COLD explicit StrictJson(std::string_view python) : view(python) {
        if (python.find("Infinity") == python.npos && python.find("NaN") == python.npos) return;
        bool in_string = false;
        for (std::size_t i = 0; i < python.size(); ++i) {
            if (in_string && python[i] == '\\' && i + 1 < python.size()) {
                text.append(python.substr(i++, 2));
                continue;
            }
            if (python[i] == '"') in_string = !in_string;
            std::string_view token;
            for (const std::string_view name : {"Infinity", "-Infinity", "NaN"})
                if (!in_string && python.substr(i, name.size()) == name) token = name;
            text.append(token.empty() ? python.substr(i, 1) : kBefore).append(token);
            if (token.empty()) continue;
            text.append(kAfter);
            i += token.size() - 1;
            ends.push_back(text.size());
        }
        view = text;
    }
    StrictJson(const StrictJson&) = delete;
    StrictJson& operator=(const StrictJson&) = delete;
    /// Where byte `byte` of `view` stands in what was given; both count from 1.
    ROPE_COLD std::size_t given(std::size_t byte) const {
        std::size_t added = 0;
        for (const std::size_t end : ends) added += end < byte ? kBefore.size() + kAfter.size() : 0;
        return byte - added;
    }

    static constexpr std::string_view kBefore = "{\"__float__\":\"", kAfter = "\"}";
    std::string_view view;  ///< of what was given, or of `text`
    std::string text;
    std::vector<std::size_t> ends;  ///< of each such object
};

/// Hears of every value in its order, and ends the parse by answering false. The names are those of nlohmann::json_sax.
class ROPE_ABI JsonTextCheck {
 public:
    ROPE_COLD JsonTextCheck(std::string_view given, const StrictJson& strict, Diagnostics& diagnostics)
        : text_(given), strict_(strict), diagnostics_(diagnostics) {}

    ROPE_COLD bool null() { return next(); }
    ROPE_COLD bool boolean(bool) { return next(); }
    ROPE_COLD bool number_integer(Json::number_integer_t) { return next(); }
    ROPE_COLD bool number_unsigned(Json::number_unsigned_t) { return next(); }
    ROPE_COLD bool number_float(Json::number_float_t, const std::string&) { return next(); }
    ROPE_COLD bool string(const std::string&) { return next(); }
    ROPE_COLD bool binary(const Json::binary_t&) { return next(); }
    ROPE_COLD bool start_object(std::size_t) { return open(true); }
    ROPE_COLD bool start_array(std::size_t) { return open(false); }
    ROPE_COLD bool end_object() { return close(); }
    ROPE_COLD bool end_array() { return close(); }
    ROPE_COLD bool key(const std::string& name) {
        within_.back().key = name;
        if (within_.back().keys.insert(name).second) return true;
        diagnostics_.fail(path() + " is there twice; a key must stand once in an object.");
        return false;
    }
    ROPE_COLD bool parse_error(std::size_t byte, const std::string& token, const Json::exception& error) {
        constexpr int kNumberOverflow = 406;
        byte = strict_.given(byte);
        if (error.id == kNumberOverflow)
            diagnostics_.fail(path() + " is " + beginning_of(token) + "; it must be a number that a double can hold.");
        else if (!has_begun_)
            diagnostics_.fail("json_text " + beginning() +
                              "; it must be the text of a config.json, which begins with {.");
        else
            diagnostics_.fail("json_text is not JSON: it goes wrong at byte " + std::to_string(byte) + place_of(byte) +
                              (within_.empty() ? "." : ", near " + path() + "."));
        return false;
    }

 private:
    /// Of a text that is no JSON from its first word on: the name of a file, perhaps.
    ROPE_COLD std::string beginning() const {
        const std::size_t begin = text_.find_first_not_of(" \t\r\n");
        return begin == text_.npos ? "is empty" : "begins with " + shown(Json(text_.substr(begin, 20)));
    }
    /// `byte` counts from 1.
    ROPE_COLD std::string place_of(std::size_t byte) const {
        if (byte > text_.size()) return ", where it ends";
        const std::size_t begin = byte > 20 ? byte - 20 : 0;
        return ", the last of " + shown(Json(text_.substr(begin, byte - begin)));
    }

    struct Level {
        bool is_object;
        std::string key;  ///< of an object: the latest
        std::set<std::string> keys;
        std::size_t index = 0;  ///< of a list: the element that comes next
    };

    ROPE_COLD bool next() {
        has_begun_ = true;
        if (!within_.empty()) ++within_.back().index;
        return true;
    }
    ROPE_COLD bool open(bool is_object) {
        has_begun_ = true;
        if (within_.size() == kMostConfigDepth) {
            diagnostics_.fail(path() + " is nested too deep; a config.json must have at most " +
                              std::to_string(kMostConfigDepth) + " objects and lists within one another.");
            return false;
        }
        within_.push_back({is_object, {}, {}});
        return true;
    }
    ROPE_COLD bool close() {
        within_.pop_back();
        return next();
    }
    ROPE_COLD std::string path() const {
        std::string path;
        for (const Level& level : within_)
            if (level.is_object)
                path = end_of(path.append(path.empty() ? "" : ".").append(in_path(level.key)));
            else
                path.append("[").append(std::to_string(level.index)).append("]");
        return path.empty() ? "json_text" : end_of(path);
    }

    std::string_view text_;
    const StrictJson& strict_;
    Diagnostics& diagnostics_;
    std::vector<Level> within_;
    bool has_begun_ = false;  // a value
};

/// A text as JSON; null, and the first error, where it is none that can be read.
ROPE_COLD Json parse_json_text(std::string_view text, Diagnostics& diagnostics) {
    if (text.size() > kMostConfigBytes)
        diagnostics.fail("json_text has " + std::to_string(text.size()) + " bytes; a config.json must have at most " +
                         std::to_string(kMostConfigBytes) + ".");
    // The parser would skip the one, and end at the other.
    if (text.substr(0, 3) == "\xEF\xBB\xBF")
        diagnostics.fail("json_text begins with a byte order mark; JSON must not.");
    if (const std::size_t zero = text.find('\0'); zero != text.npos)
        diagnostics.fail("json_text has a zero at byte " + std::to_string(zero + 1) + "; JSON must not.");
    if (!diagnostics.ok()) return {};
    const StrictJson strict(text);
    JsonTextCheck check(text, strict, diagnostics);
    Json::sax_parse(strict.view.begin(), strict.view.end(), &check);
    if (!diagnostics.ok()) return {};
    return Json::parse(strict.view.begin(), strict.view.end(), nullptr, false);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../../restore_macros.hpp"
