// SPDX-License-Identifier: MIT
// The members of a JSON object as Fields, and a strict parser of JSON: size, depth, keys that stand twice and numbers
// that no double holds are checked before a text is taken into memory. Each is an error that says where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../fields.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// The largest config.json that is read; models have some ten kilobytes, and two megabytes where they name twenty
/// thousand classes. In memory a text may take 50 times its size.
inline constexpr std::size_t kMaxConfigBytes = std::size_t(4) << 20;
/// The largest depth of nested objects and lists.
inline constexpr std::size_t kMaxConfigDepth = 32;

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

using Json = nlohmann::json;

/// A member of an object; nullptr if there is none.
ROPE_COLD const Json* member_of(const Json& object, std::string_view key) {
    const auto it = object.find(std::string(key));
    return it == object.end() ? nullptr : &*it;
}
/// Whether a value is Infinity, -Infinity or NaN, as transformers writes them: {"__float__": "Infinity"}.
ROPE_COLD bool is_not_finite(const Json& value) {
    const Json* const name = member_of(value, "__float__");
    return name != nullptr && name->is_string();
}
/// A value as a sentence shows it.
ROPE_COLD std::string shown_json(const Json& value) {
    if (value.is_array()) return "a list of " + std::to_string(value.size());
    if (is_not_finite(value)) return beginning_of(member_of(value, "__float__")->get_ref<const std::string&>());
    if (value.is_object()) return "an object";
    if (value.is_string()) return shown(value.get_ref<const std::string&>());
    if (value.is_number_unsigned()) return std::to_string(value.get_ref<const Json::number_unsigned_t&>());
    if (value.is_number_integer()) return std::to_string(value.get_ref<const Json::number_integer_t&>());
    if (value.is_number()) return shown(value.get_ref<const Json::number_float_t&>());
    return value.is_null() ? "null" : value.get_ref<const bool&>() ? "true" : "false";
}

/// Converts JSON to a Value. A list keeps at most kMaxEntries entries, a list within a list none.
ROPE_COLD Value value_of(const Json& json, bool is_entry = false) {
    Value v;
    v.shown = shown_json(json);
    if (json.is_boolean()) {
        v.kind = Value::Kind::truth;
        v.number = json.get_ref<const bool&>() ? 1.0 : 0.0;
    } else if (json.is_number() || is_not_finite(json)) {
        v.kind = Value::Kind::number;
        v.number = json.is_number() ? json.get<double>() : std::numeric_limits<double>::infinity();
    } else if (json.is_string()) {
        v.kind = Value::Kind::text;
        v.text = json.get_ref<const std::string&>();
    } else if (json.is_array()) {
        v.kind = Value::Kind::list;
        v.size = json.size();
        for (std::size_t i = 0; !is_entry && i < (std::min)(v.size, kMaxEntries); ++i)
            v.items.push_back(value_of(json[i], true));
    } else if (json.is_object()) {
        v.kind = Value::Kind::object;
    }
    return v;
}

/// A key of the file's own as part of a path: quoted, unless it is a plain word.
ROPE_COLD std::string in_path(const std::string& key) {
    bool is_plain = !key.empty() && key.size() <= kMaxShown;
    for (const char c : key) is_plain = is_plain && c > ' ' && c < 127 && c != '"' && c != '.';
    return is_plain ? key : shown(key);
}

class JsonFields : public Fields {
 public:
    /// `object` must be an object, or null for one without members.
    ROPE_COLD JsonFields(const Json* object, std::string path, Diagnostics& diagnostics)
        : Fields([object](std::string_view key) { return lookup(object, key); }, std::move(path), diagnostics),
          object_(object) {}

    /// A member that is an object; nullptr if it is missing or null.
    ROPE_COLD const Json* object(std::string_view key) { return member(key, is_object(key), "an object"); }
    /// A member that is a list of objects; nullptr as above.
    ROPE_COLD const Json* objects(std::string_view key) {
        bool is_right = is_list(key);
        for (std::size_t i = 0; is_right && i < member_of(*object_, key)->size(); ++i)
            is_right = has_members((*member_of(*object_, key))[i]);
        return member(key, is_right, "a list of objects");
    }
    /// A member that is an object, as fields; without members if there is none.
    ROPE_COLD JsonFields& inside(std::string_view key) {
        for (JsonFields& child : children_)
            if (child.name_ == key) return child;
        children_.emplace_back(object(key), path_of(in_path(std::string(key))), *diagnostics_);
        children_.back().name_ = key;
        children_.back().set_layers(layers_, also_);
        return children_.back();
    }
    /// The objects that inside() has returned.
    ROPE_COLD const auto& children() const noexcept { return children_; }

    /// Names of all members.
    ROPE_COLD std::vector<std::string> keys() const {
        std::vector<std::string> keys;
        if (object_ != nullptr)
            for (const auto& member : object_->get_ref<const Json::object_t&>()) keys.push_back(member.first);
        return keys;
    }
    /// Members that were not read and are not null.
    ROPE_COLD std::vector<std::string> unread() const {
        std::vector<std::string> unread;
        for (const std::string& key : keys())
            if (says(key) && read_.count(key) == 0) unread.push_back(key);
        return unread;
    }
    /// The warning of an unread member. Keys in `known` are read where a layer needs them.
    ROPE_COLD std::string unread_sentence(const std::string& key, Keys known = {}) const {
        const auto beaten = beaten_.find(key);
        if (beaten != beaten_.end()) return path_of(key) + " was not used: " + beaten->second + " is there, too.";
        const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
        if (is_known) return path_of(key) + " was not used: no layer asks for it.";
        return path_of(in_path(key)) + " is not understood, and was not used.";
    }

 private:
    ROPE_COLD static bool has_members(const Json& json) { return json.is_object() && !is_not_finite(json); }
    ROPE_COLD const Json* member(std::string_view key, bool is_right, const char* allowed) {
        if (!says(key)) return nullptr;
        if (!is_right) return refuse(path_of(key), find(key)->shown, allowed), nullptr;
        read_[std::string(key)];
        return member_of(*object_, key);
    }
    ROPE_COLD static std::optional<Value> lookup(const Json* object, std::string_view key) {
        const Json* const json = object != nullptr ? member_of(*object, key) : nullptr;
        return json != nullptr ? std::optional<Value>(value_of(*json)) : std::nullopt;
    }

    const Json* object_;
    std::string name_;  ///< within another object
    std::list<JsonFields> children_;
};

/// Infinity, -Infinity and NaN, which Python writes and JSON does not have, become strings of the same length, so that
/// errors count bytes as the file does. Their character is one that no file needs.
inline constexpr char kNotFinite = '\x7f';
inline constexpr std::string_view kNotFiniteNames[] = {"Infinity", "-Infinity", "NaN"};

/// Returns `python` with such strings, which is written to `text` if there are any.
ROPE_COLD std::string_view strict_json(std::string_view python, std::string& text) {
    if (python.find("Infinity") == python.npos && python.find("NaN") == python.npos) return python;
    text = python;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (in_string && text[i] == '\\')
            ++i;
        else if (text[i] == '"')
            in_string = !in_string;
        for (const std::string_view name : kNotFiniteNames) {
            if (in_string || python.substr(i, name.size()) != name) continue;
            const std::size_t next = python.find_first_not_of(" \t\r\n", i + name.size());
            if (next < python.size() && python[next] == ':') continue;  // keys are strings
            text.replace(i, name.size(), '"' + std::string(name.size() - 2, kNotFinite) + '"');
            i += name.size() - 1;
        }
    }
    return text;
}

/// Makes a value of a text, as a nlohmann::json_sax: its functions return false after an error.
class JsonTextReader {
 public:
    ROPE_COLD JsonTextReader(std::string_view text, Diagnostics& diagnostics)
        : text_(text), diagnostics_(diagnostics) {}

    /// Returns null, with the first error, if the text cannot be read.
    ROPE_COLD Json read() {
        if (text_.size() > kMaxConfigBytes)
            diagnostics_.fail("json_text has {} bytes; a config.json must have at most {}.",
                              {text_.size(), kMaxConfigBytes});
        // The parser would skip the one, and end at the other.
        if (text_.substr(0, 3) == "\xEF\xBB\xBF")
            diagnostics_.fail("json_text begins with a byte order mark; JSON must not.");
        if (const std::size_t zero = text_.find('\0'); zero != text_.npos)
            diagnostics_.fail("json_text has a zero at byte {}; JSON must not.", {zero + 1});
        std::string strict;
        if (diagnostics_.ok()) parse(strict_json(text_, strict));
        return diagnostics_.ok() ? std::move(root_) : Json();
    }

    ROPE_COLD bool null() { return put(nullptr) != nullptr; }
    ROPE_COLD bool boolean(bool x) { return put(x) != nullptr; }
    ROPE_COLD bool number_integer(Json::number_integer_t x) { return put(x) != nullptr; }
    ROPE_COLD bool number_unsigned(Json::number_unsigned_t x) { return put(x) != nullptr; }
    ROPE_COLD bool number_float(Json::number_float_t x, const std::string&) { return put(x) != nullptr; }
    ROPE_COLD bool string(std::string& x) {
        for (const std::string_view name : kNotFiniteNames)
            if (x == std::string(name.size() - 2, kNotFinite)) {
                (*put(Json(Json::value_t::object)))["__float__"] = std::string(name);
                return true;
            }
        return put(std::move(x)) != nullptr;
    }
    ROPE_COLD bool binary(const Json::binary_t&) { return false; }  // not in JSON
    ROPE_COLD bool start_object(std::size_t) { return open(Json(Json::value_t::object)); }
    ROPE_COLD bool start_array(std::size_t) { return open(Json(Json::value_t::array)); }
    ROPE_COLD bool end_object() { return within_.pop_back(), true; }
    ROPE_COLD bool end_array() { return within_.pop_back(), true; }
    ROPE_COLD bool key(std::string& name) {
        within_.back().key = std::move(name);
        if (member_of(*within_.back().json, within_.back().key) == nullptr) return true;
        diagnostics_.fail("{} is there twice; a key must stand once in an object.", {path()});
        return false;
    }
    ROPE_COLD bool parse_error(std::size_t byte, const std::string& token, const Json::exception& error) {
        const std::size_t first = text_.find_first_not_of(" \t\r\n");
        if (error.id == 406)  // a number out of range
            diagnostics_.fail("{} is {}; it must be a number that a double can hold.", {path(), beginning_of(token)});
        else if (root_.is_discarded())  // perhaps it is the name of a file
            diagnostics_.fail("json_text {}; it must be the text of a config.json, which begins with {.",
                              {first == text_.npos ? "is empty" : "begins with " + shown(text_.substr(first, 20))});
        else
            diagnostics_.fail("json_text is not JSON: it goes wrong at byte {}{}{}.",
                              {byte, place_of(byte), within_.empty() ? "" : ", near " + path()});
        return false;
    }

 private:
    ROPE_COLD void parse(std::string_view json) {
#if NLOHMANN_JSON_VERSION_MAJOR == 3 && NLOHMANN_JSON_VERSION_MINOR >= 9 && NLOHMANN_JSON_VERSION_MINOR <= 12
        // The part of sax_parse that reads JSON. The whole of it compiles readers of five binary formats, too.
        const auto input = [json] { return nlohmann::detail::input_adapter(json.data(), json.data() + json.size()); };
        nlohmann::detail::parser<Json, decltype(input())>(input()).sax_parse(this);
#else
        Json::sax_parse(json, this);
#endif
    }

    /// `byte` counts from 1.
    ROPE_COLD std::string place_of(std::size_t byte) const {
        if (byte > text_.size()) return ", where it ends";
        const std::size_t begin = byte > 20 ? byte - 20 : 0;
        return ", the last of " + shown(text_.substr(begin, byte - begin));
    }

    /// An open object or list.
    struct Level {
        Json* json;
        std::string key;  ///< of an object: the latest
    };

    ROPE_COLD Json* put(Json value) {
        if (within_.empty()) return &(root_ = std::move(value));
        Json& here = *within_.back().json;
        if (here.is_object()) return &(here[within_.back().key] = std::move(value));
        here.push_back(std::move(value));
        return &here.back();
    }
    ROPE_COLD bool open(Json empty) {
        if (within_.size() == kMaxConfigDepth)
            diagnostics_.fail(
                "{} is nested too deep; a config.json must have at most {} objects and lists within one another.",
                {path(), kMaxConfigDepth});
        else
            within_.push_back({put(std::move(empty)), {}});
        return diagnostics_.ok();
    }
    ROPE_COLD std::string path() const {
        std::string path;
        for (const Level& level : within_)
            if (level.json->is_object())
                path = end_of(path.append(path.empty() ? "" : ".").append(in_path(level.key)));
            else  // the open one is counted already
                path = sentence_of("{}[{}]", {path, level.json->size() - (&level == &within_.back() ? 0U : 1U)});
        return path.empty() ? "json_text" : end_of(path);
    }

    std::string_view text_;
    Diagnostics& diagnostics_;
    Json root_ = Json(Json::value_t::discarded);
    std::vector<Level> within_;
};

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
