// SPDX-License-Identifier: MIT
// The keys of a model's file, JSON or GGUF, read strictly: a value of the wrong type or out of range is an error that
// names its path.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../model_config.hpp"
#include "../bits.hpp"

#include "../hide_macros.hpp"

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

/// An error about a member of Config, with the file's key in place of its name.
ROPE_COLD std::string in_words_of_the_file(const Status& status, const std::string& key) {
    return key + (status.message() + status.argument().size());
}

/// Checks a model and gives it its warnings. After an error, the error is thrown and the model is empty.
ROPE_COLD ModelConfig finished(ModelConfig model, Diagnostics diagnostics) {
    if (diagnostics.ok()) diagnostics.status = check(model);
    if (!proceed(diagnostics.status)) return {};
    model.warnings = std::move(diagnostics.warnings);
    return model;
}

/// One value of a JSON or GGUF file.
struct ROPE_ABI Value {
    enum class Kind : unsigned char { null, truth, number, text, list, object };
    Kind kind = Kind::null;
    double number = 0.0;  ///< 1 and 0 for true and false
    std::string text = {};
    std::string shown = {};  ///< as a sentence shows it
    std::vector<Value> items = {};
    std::size_t size = 0;  ///< of a list, which may have more entries than there are items

    ROPE_COLD friend bool operator==(const Value& a, const Value& b) {
        return a.kind == b.kind && a.number == b.number && a.text == b.text && a.items == b.items;
    }
};

// A sentence has room for some 300 characters (see message.hpp), of which these take at most half: a file may name its
// keys and values as it likes.
inline constexpr std::size_t kMaxShown = 60, kMaxPath = 90;
/// The most entries that a list may have.
inline constexpr std::size_t kMaxEntries = 65536;

ROPE_COLD std::string beginning_of(const std::string& text) {
    return text.size() > kMaxShown ? text.substr(0, kMaxShown) + "..." : text;
}
/// The end of a long path tells more than its beginning.
ROPE_COLD std::string end_of(const std::string& path) {
    return path.size() > kMaxPath ? "..." + path.substr(path.size() - (kMaxPath - 3)) : path;
}

/// Names of one and the same key, the strongest first.
using Keys = std::initializer_list<const char*>;

/// The keys of one object of a file: their values, which of them were read, and the errors and warnings about them.
class ROPE_ABI Fields {
 public:
    using Find = std::function<std::optional<Value>(const std::string& key)>;

    /// `find` looks up the value of a key; `path` is the prefix of the keys in errors and warnings.
    ROPE_COLD Fields(Find find, std::string path, Diagnostics& diagnostics)
        : find_(std::move(find)), path_(std::move(path)), diagnostics_(&diagnostics) {}

    ROPE_COLD Diagnostics& diagnostics() const noexcept { return *diagnostics_; }
    ROPE_COLD std::string path_of(const std::string& key) const {
        return end_of(path_.empty() ? key : path_ + "." + key);
    }

    /// A value, null included, which then counts as read.
    ROPE_COLD std::optional<Value> find(const std::string& key) {
        auto value = find_(key);
        if (value) read_.insert(key);
        return value;
    }
    /// As if it had not been read.
    ROPE_COLD void forget(const std::string& key) { read_.erase(key); }
    ROPE_COLD bool has(const std::string& key) const { return find_(key).has_value(); }
    /// Whether the value is exactly this text. The key does not count as read.
    ROPE_COLD bool holds(const std::string& key, const char* text) const {
        const auto value = find_(key);
        return value && value->kind == Value::Kind::text && value->text == text;
    }
    /// Whether there is a value that is not null.
    ROPE_COLD bool says(const std::string& key) const {
        const auto value = find_(key);
        return value && value->kind != Value::Kind::null;
    }

    /// The first of these names with a value that is not null; nullptr for none. Other names with another
    /// value are reported as beaten.
    ROPE_COLD const char* first(Keys keys) {
        for (const char* key : keys) {
            const auto value = find(key);
            if (!value || value->kind == Value::Kind::null) continue;
            for (const char* other : keys)
                if (other != key) beat(other, *value, path_of(key));
            return key;
        }
        return nullptr;
    }
    /// The path of first(keys) for an error; the first name if none is there.
    ROPE_COLD std::string path_of_first(Keys keys) {
        const char* const key = first(keys);
        return path_of(key != nullptr ? key : *keys.begin());
    }
    /// Marks the key as read if it is null or has the winning value; else it is reported as beaten by `winner`, a path.
    ROPE_COLD void beat(const std::string& key, const Value& winning_value, const std::string& winner) {
        const auto mine = find_(key);
        if (!mine) return;
        if (mine->kind == Value::Kind::null || *mine == winning_value)
            read_.insert(key);
        else
            beaten_[key] = winner;
    }

    ROPE_COLD std::optional<double> number(Keys keys, const NumberRange& range) {
        const char* const key = first(keys);
        return key == nullptr ? std::nullopt : number_from(path_of(key), *find(key), range);
    }
    ROPE_COLD std::optional<Index> count(Keys keys, const NumberRange& range = kAnyCount) {
        const char* const key = first(keys);
        return key == nullptr ? std::nullopt : count_from(path_of(key), *find(key), range);
    }
    ROPE_COLD std::optional<bool> truth(Keys keys) {
        const char* const key = first(keys);
        if (key == nullptr) return std::nullopt;
        const Value value = *find(key);
        if (value.kind == Value::Kind::truth) return value.number != 0.0;
        return refuse(path_of(key), value, "true or false"), std::nullopt;
    }
    /// true and false count as 1 and 0.
    ROPE_COLD std::optional<double> number_or_truth(const char* key, const NumberRange& range) {
        if (!says(key)) return std::nullopt;
        Value value = *find(key);
        if (value.kind == Value::Kind::truth) value.kind = Value::Kind::number;
        return number_from(path_of(key), value, range);
    }
    ROPE_COLD std::optional<std::string> text(Keys keys) {
        const char* const key = first(keys);
        if (key == nullptr) return std::nullopt;
        const Value value = *find(key);
        if (value.kind == Value::Kind::text) return value.text;
        return refuse(path_of(key), value, "a string"), std::nullopt;
    }

    ROPE_COLD std::optional<std::vector<double>> numbers(const char* key, const NumberRange& range) {
        return list_of<double>(key,
                               [&](const std::string& path, const Value& v) { return number_from(path, v, range); });
    }
    ROPE_COLD std::optional<std::vector<Index>> counts(const char* key, const NumberRange& range) {
        return list_of<Index>(key, [&](const std::string& path, const Value& v) { return count_from(path, v, range); });
    }
    ROPE_COLD std::optional<std::vector<std::string>> texts(const char* key) {
        return list_of<std::string>(key, [&](const std::string& path, const Value& v) {
            if (v.kind == Value::Kind::text) return std::optional<std::string>(v.text);
            return refuse(path, v, "a string"), std::optional<std::string>();
        });
    }
    ROPE_COLD bool is_list(const char* key) const {
        const auto value = find_(key);
        return value && value->kind == Value::Kind::list;
    }

    /// A list with `layers` or `also` entries. The difference is the layers at the end that predict further tokens: not
    /// every file has entries for them.
    template <class T>
    ROPE_COLD std::optional<std::vector<T>> per_layer(const char* key, std::optional<std::vector<T>> list,
                                                      std::size_t layers, std::size_t also) {
        if (!list || !diagnostics_->ok()) return list;
        if (list->size() == layers || list->size() == also) return list->resize(std::min(list->size(), layers)), list;
        diagnostics_->fail(path_of(key) + " has " + std::to_string(list->size()) +
                           " entries; it must have one per layer (" + std::to_string(layers) + ").");
        return std::nullopt;
    }
    /// One number for all layers, or a list with one per layer.
    ROPE_COLD std::optional<std::vector<Index>> count_per_layer(const char* key, const NumberRange& range,
                                                                std::size_t layers, std::size_t also) {
        if (is_list(key)) return per_layer(key, counts(key, range), layers, also);
        const auto x = count({key}, range);
        return x ? std::optional<std::vector<Index>>(std::in_place, layers, *x) : std::nullopt;
    }

    ROPE_COLD void refuse(const std::string& path, const Value& value, const std::string& allowed) {
        diagnostics_->fail(path + " is " + value.shown + "; it must be " + allowed + ".");
    }
    ROPE_COLD void require(bool is_there, const char* key, const std::string& by) {
        if (!is_there) diagnostics_->fail(lack_of(key) + "; " + by + " needs it.");
    }
    ROPE_COLD std::string lack_of(const char* key) const {
        return path_of(key) + (has(key) ? " is null" : " is missing");
    }
    ROPE_COLD void warn_of_default(const char* key, const std::string& value, const std::string& whose) {
        diagnostics_->warn(lack_of(key) + "; " + value + " was taken, " + whose + ".");
    }
    ROPE_COLD void warn_not_used(const std::string& key, const std::string& because) {
        read_.insert(key);
        diagnostics_->warn(path_of(key) + " was not used: " + because + ".");
    }

 protected:
    ROPE_COLD std::optional<double> number_from(const std::string& path, const Value& v, const NumberRange& range) {
        const bool is_right =
            v.kind == Value::Kind::number && is_finite(v.number) && v.number >= range.least && v.number <= range.most;
        return is_right ? std::optional<double>(v.number) : (refuse(path, v, range.text), std::nullopt);
    }
    ROPE_COLD std::optional<Index> count_from(const std::string& path, const Value& v, const NumberRange& range) {
        if (v.kind == Value::Kind::number && v.number != std::floor(v.number))
            return refuse(path, v, range.text), std::nullopt;
        const auto x = number_from(path, v, range);
        return x ? std::optional<Index>(static_cast<Index>(*x)) : std::nullopt;
    }
    /// `read` says what is in an element, or refuses it.
    template <class T, class Read>
    ROPE_COLD std::optional<std::vector<T>> list_of(const char* key, Read read) {
        if (!says(key)) return std::nullopt;
        const Value value = *find(key);
        if (value.kind != Value::Kind::list) return refuse(path_of(key), value, "a list"), std::nullopt;
        if (value.size > kMaxEntries)
            return diagnostics_->fail(path_of(key) + " has " + std::to_string(value.size) +
                                      " entries; it must have at most " + std::to_string(kMaxEntries) + "."),
                   std::nullopt;
        std::vector<T> list;
        for (const Value& item : value.items) {
            std::optional<T> x = read(path_of(key) + "[" + std::to_string(list.size()) + "]", item);
            if (!x) return std::nullopt;
            list.push_back(std::move(*x));
        }
        return list;
    }

    Find find_;
    std::string path_;
    Diagnostics* diagnostics_;
    std::set<std::string> read_;
    std::map<std::string, std::string> beaten_;  ///< and the path of what was used instead
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../restore_macros.hpp"
