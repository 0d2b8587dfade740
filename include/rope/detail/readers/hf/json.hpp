// SPDX-License-Identifier: MIT
// The members of a JSON object as Fields, and a strict parser of JSON: a text that is too large or nested too deep, a key
// that stands twice in an object, and a number that no double holds are errors that say where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../../../hf_config.hpp"
#include "../fields.hpp"

ROPE_DETAIL_BEGIN

/// A key of the file's own as part of a path: quoted, unless it is a plain word.
ROPE_COLD std::string in_path(std::string_view key) {
    bool is_plain = !key.empty() && key.size() <= kMaxShown;
    for (std::size_t i = 0; is_plain && i < key.size(); ++i)
        is_plain = key[i] > ' ' && key[i] < 127 && key[i] != '"' && key[i] != '.';
    return is_plain ? std::string(key) : shown(key);
}

class JsonFields final : public Fields {
 public:
    /// `object` must be an object, or null for one without members.
    ROPE_COLD JsonFields(const Value* object, std::string path, Diagnostics& diagnostics)
        : Fields(std::move(path), diagnostics), object_(object) {}

    ROPE_COLD const Value* lookup(std::string_view key) const final {
        const Value* const value = object_ != nullptr ? member_of(*object_, key) : nullptr;
        return value == nullptr || value->is_hidden ? nullptr : value;
    }
    /// A member that is an object; nullptr if it is missing or null.
    ROPE_COLD const Value* object(std::string_view key) { return member(key, is_object(key), "an object"); }
    /// A member that is a list of objects; nullptr as above.
    ROPE_COLD const Value* objects(std::string_view key) {
        bool is_right = is_list(key);
        for (const Value* i = is_right ? lookup(key)->first : nullptr; i != nullptr; i = i->next)
            is_right = is_right && i->kind == Value::Kind::object;
        return member(key, is_right, "a list of objects");
    }
    /// A member that is an object, as fields; without members if there is none.
    ROPE_COLD JsonFields& inside(std::string_view key) {
        for (JsonFields& child : children_)
            if (child.name_ == key) return child;
        return inside_first_time(key);
    }
    /// The same for a key that inside() was not asked for yet, so that many keys take no long search.
    ROPE_COLD JsonFields& inside_first_time(std::string_view key) {
        children_.emplace_back(object(key), path_of(in_path(key)), *diagnostics_);
        children_.back().name_ = key;
        children_.back().set_layers(layers_, also_);
        return children_.back();
    }
    /// The objects that inside() has returned.
    ROPE_COLD const auto& children() const noexcept { return children_; }

    /// Names of all members, or of those that were not read and are not null. They live as long as the file's values.
    ROPE_COLD std::vector<std::string_view> keys(bool unread_alone = false) const {
        std::vector<std::string_view> keys;
        if (object_ == nullptr || object_->members == nullptr) return keys;
        for (const auto& [key, value] : *object_->members)
            if (!unread_alone || (value->kind != Value::Kind::null && !value->is_read && !value->is_hidden))
                keys.push_back(key);
        return keys;
    }
    ROPE_COLD std::vector<std::string_view> unread() const { return keys(true); }
    /// The warning of an unread member. Keys in `known` are read where a layer needs them.
    ROPE_COLD std::string unread_sentence(std::string_view key, Keys known = {}) const {
        if (const auto by = beaten_.find(key); by != beaten_.end())
            return path_of(key) + " was not used: " + by->second->text + " is there, too.";
        const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
        if (is_known) return path_of(key) + " was not used: no layer asks for it.";
        return path_of(in_path(key)) + " is not understood, and was not used.";
    }

 private:
    ROPE_COLD const Value* member(std::string_view key, bool is_right, const char* allowed) {
        if (!says(key)) return nullptr;
        const Value* const value = find(key);
        if (is_right) return value;
        return refuse(path_of(key), shown(*value), allowed), nullptr;
    }

    const Value* object_;
    std::string name_;  ///< within another object
    std::list<JsonFields> children_;
};

/// Infinity, -Infinity and NaN, which Python writes and JSON does not have, become strings of the same length, so that
/// errors count bytes as the file does. Their character is one that no file needs.
inline constexpr char kNotFinite = '\x7f';
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
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

/// Makes Values of a text, as a nlohmann::json_sax: its functions return false after an error.
class JsonTextReader {
    using Json = nlohmann::json;
    using Kind = Value::Kind;

 public:
    ROPE_COLD JsonTextReader(std::string_view text, Values& values, Diagnostics& diagnostics)
        : text_(text), values_(values), diagnostics_(diagnostics) {}

    /// Returns nullptr, with the first error, if the text cannot be read.
    ROPE_COLD const Value* read() {
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
        return diagnostics_.ok() ? root_ : nullptr;
    }

    ROPE_COLD bool null() { return put(Kind::null); }
    ROPE_COLD bool boolean(bool x) { return put(Kind::truth, x ? 1.0 : 0.0); }
    ROPE_COLD bool number_integer(Json::number_integer_t x) {
        return put(Kind::number, static_cast<double>(x), std::to_string(x));
    }
    ROPE_COLD bool number_unsigned(Json::number_unsigned_t x) {
        return put(Kind::number, static_cast<double>(x), std::to_string(x));
    }
    ROPE_COLD bool number_float(Json::number_float_t x, const std::string&) { return put(Kind::number, x); }
    ROPE_COLD bool string(std::string& x) {
        if (x.find_first_not_of(kNotFinite) == x.npos)
            for (const std::string_view name : kNotFiniteNames)
                if (x.size() == name.size() - 2) return put(Kind::number, kInfinity, std::string(name));
        return put(Kind::text, 0.0, std::move(x));
    }
    ROPE_COLD bool binary(const Json::binary_t&) { return false; }  // not in JSON
    ROPE_COLD bool start_object(std::size_t) { return open(Kind::object); }
    ROPE_COLD bool start_array(std::size_t) { return open(Kind::list); }
    ROPE_COLD bool end_object() {
        // transformers writes Infinity as {"__float__": "Infinity"}, and so -Infinity and NaN.
        Value& object = *levels_[--depth_].value;
        const Value* const name = member_of(object, "__float__");
        if (name == nullptr || name->kind != Kind::text || object.members->size() != 1) return true;
        for (const std::string_view known : kNotFiniteNames) {
            if (name->text != known) continue;
            object.kind = Kind::number;
            object.number = kInfinity;
            object.text = known;
        }
        if (object.kind == Kind::number) object.members = nullptr;
        return true;
    }
    ROPE_COLD bool end_array() { return --depth_, true; }
    ROPE_COLD bool key(std::string& name) {
        Level& here = levels_[depth_ - 1];
        if (here.value->members == nullptr) here.value->members = std::make_unique<Members>();
        const auto [member, is_new] = here.value->members->emplace(name, nullptr);  // the lexer keeps its memory
        here.key = member->first;
        here.member = &member->second;
        if (is_new) return true;
        diagnostics_.fail("{} is there twice; a key must stand once in an object.", {path()});
        return false;
    }
    ROPE_COLD bool parse_error(std::size_t byte, const std::string& token, const Json::exception& error) {
        const std::size_t first = text_.find_first_not_of(" \t\r\n");
        if (error.id == 406)  // a number out of range
            diagnostics_.fail("{} is {}; it must be a number that a double can hold.", {path(), beginning_of(token)});
        else if (root_ == nullptr)  // perhaps it is the name of a file
            diagnostics_.fail("json_text {}; it must be the text of a config.json, which begins with {.",
                              {first == text_.npos ? "is empty" : "begins with " + shown(text_.substr(first, 20))});
        else
            diagnostics_.fail("json_text is not JSON: it goes wrong at byte {}{}{}.",
                              {byte, place_of(byte), depth_ == 0 ? "" : ", near " + path()});
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
        Value* value = nullptr;
        Value* last = nullptr;           ///< entry of a list
        const Value** member = nullptr;  ///< of an object: where the value of the latest key goes
        std::string_view key = {};       ///< the latest
    };

    ROPE_COLD bool put(Kind kind, double number = 0.0, std::string text = {}) {
        latest_ = &values_.add(kind, number, std::move(text));
        if (depth_ == 0)
            root_ = latest_;
        else if (Level& here = levels_[depth_ - 1]; here.member != nullptr)
            *here.member = latest_;
        else
            Values::append(*here.value, here.last, *latest_);
        return true;
    }
    ROPE_COLD bool open(Kind kind) {
        if (depth_ == kMaxConfigDepth) {
            diagnostics_.fail(
                "{} is nested too deep; a config.json must have at most {} objects and lists within one another.",
                {path(), kMaxConfigDepth});
            return false;
        }
        put(kind);
        levels_[depth_++] = {latest_};
        return true;
    }
    ROPE_COLD std::string path() const {
        std::string path;
        for (std::size_t i = 0; i < depth_; ++i)
            if (levels_[i].value->kind == Kind::object)
                path = end_of(path.append(path.empty() ? "" : ".").append(in_path(levels_[i].key)));
            else  // the open one is counted already
                path = sentence_of("{}[{}]", {path, levels_[i].value->size - std::size_t(i + 1 < depth_ ? 1 : 0)});
        return path.empty() ? "json_text" : end_of(path);
    }

    std::string_view text_;
    Values& values_;
    Diagnostics& diagnostics_;
    const Value* root_ = nullptr;
    Value* latest_ = nullptr;
    Level levels_[kMaxConfigDepth];
    std::size_t depth_ = 0;
};

ROPE_DETAIL_END
