// SPDX-License-Identifier: MIT
// The members of a JSON object as Fields, and those that nobody asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../fields.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

using Json = nlohmann::json;

/// A value as a sentence shows it.
ROPE_COLD std::string shown(const Json& value) {
    if (value.is_array()) return "a list of " + std::to_string(value.size());
    if (value.is_object() && value.contains("__float__") && value["__float__"].is_string())
        return beginning_of(value["__float__"].get<std::string>());  // Infinity, NaN: see StrictJson
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
    } else if (json.is_number()) {
        v.kind = Value::Kind::number;
        v.number = json.get<double>();
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

    ROPE_COLD bool is_object(const std::string& key) const { return has(key) && (*object_)[key].is_object(); }
    /// A member that is an object; nullptr when it is not there, or null.
    ROPE_COLD const Json* object(const std::string& key) {
        if (!says(key)) return nullptr;
        const Json& json = (*object_)[key];
        if (!json.is_object()) return refuse(path_of(key), value_of(json), "an object"), nullptr;
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
        for (const Json& item : json) is_right = is_right && item.is_object();
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
    ROPE_COLD static std::optional<Value> lookup(const Json* object, const std::string& key) {
        if (object == nullptr) return std::nullopt;
        const auto it = object->find(key);
        if (it == object->end()) return std::nullopt;
        return value_of(*it);
    }

    const Json* object_;
    std::vector<std::pair<std::string, std::unique_ptr<JsonFields>>> children_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
