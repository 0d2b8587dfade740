// SPDX-License-Identifier: MIT
// The keys of a model's file, JSON or GGUF, read strictly: a value of the wrong type or out of range is an error that
// names its path.
#pragma once

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../model_config.hpp"
#include "../angles/model_config.hpp"
#include "../base/bits.hpp"
#include "values.hpp"

ROPE_DETAIL_BEGIN

/// A closed range of numbers, and its name in sentences.
struct NumberRange {
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
inline constexpr NumberRange kAnyLayers = {1.0, static_cast<double>(kMaxModelConfigs),
                                           "a whole number from 1 to 16384"};
inline constexpr NumberRange kYesOrNo = {0.0, 1.0, "true or false"};
inline constexpr NumberRange kAnyText = {0.0, 0.0, "a string"};

/// Replaces a "{}" of a sentence: text, which must live as long as the call, or a whole number.
struct Word {
    // NOLINTBEGIN(google-explicit-constructor)
    Word(const char* x) noexcept : text(x) {}
    Word(const std::string& x) noexcept : text(x) {}
    Word(std::string_view x) noexcept : text(x) {}
    Word(Index x) noexcept : number(x) {}
    Word(std::size_t x) noexcept : number(static_cast<Index>(x)) {}
    // NOLINTEND(google-explicit-constructor)
    std::string_view text;  ///< null data: the number is meant
    Index number = 0;
};
/// Like Pieces, for sentences of any length. tests/errors/sentences_have_their_values checks that there are enough.
using Words = std::initializer_list<Word>;

ROPE_COLD std::string sentence_of(std::string_view form, Words words) {
    std::string sentence;
    for (const Word& word : words) {
        const std::size_t place = form.find("{}");
        sentence += form.substr(0, place);
        sentence += word.text.data() == nullptr ? std::to_string(word.number) : std::string(word.text);
        form.remove_prefix(place + 2);
    }
    return sentence.append(form);
}

/// The first error of a reader, and its warnings.
struct Diagnostics {
    CheckResult status;
    std::vector<std::string> warnings;

    ROPE_COLD bool ok() const noexcept { return status.ok(); }
    ROPE_COLD void fail(std::string_view form, Words words = {}) {
        if (status.ok()) status = invalid("{}", {sentence_of(form, words).c_str()});
    }
    /// Warns once of the same thing, however often it is found.
    ROPE_COLD void warn(std::string_view form, Words words = {}) {
        std::string sentence = sentence_of(form, words);
        if (said.count(sentence) != 0) return;
        said[sentence];
        warnings.push_back(std::move(sentence));
    }

    Members said;  ///< the keys alone count: a std::set would be one more type of container for users to compile
};

/// An error about a member of Config, with the file's key in place of its name.
ROPE_COLD std::string in_words_of_the_file(const CheckResult& status, const std::string& key) {
    return key + (status.message() + status.argument().size());
}

/// Validates a model and gives it its warnings. Raises the error, if there is one.
ROPE_COLD ModelConfig finished(ModelConfig model, Diagnostics diagnostics) {
    if (diagnostics.ok()) diagnostics.status = validate(model);
    ok_or_raise(diagnostics.status);
    model.warnings = std::move(diagnostics.warnings);
    return model;
}

/// The largest number of entries of a list.
inline constexpr std::size_t kMaxEntries = 65536;

/// Names of one key, in order of precedence.
using Keys = std::initializer_list<const char*>;
/// A list, or none. (Compilers take long for a std::optional of a list.)
template <class T>
struct MaybeList {
    // NOLINTBEGIN(google-explicit-constructor)
    MaybeList(std::nullopt_t = std::nullopt) noexcept {}
    MaybeList(std::vector<T> of) : is_there(true), list(std::move(of)) {}
    // NOLINTEND(google-explicit-constructor)
    explicit operator bool() const noexcept { return is_there; }
    bool is_there = false;
    std::vector<T> list;
};

/// The keys of one object of a file: their values, and the errors and warnings about them.
class Fields {
 public:
    /// `path` is the prefix of the keys in errors and warnings.
    ROPE_COLD Fields(std::string path, Diagnostics& diagnostics) : path_(std::move(path)), diagnostics_(&diagnostics) {}

    ROPE_COLD Diagnostics& diagnostics() const noexcept { return *diagnostics_; }
    ROPE_COLD std::string path_of(std::string_view key) const {
        return end_of(path_.empty() ? std::string(key) : sentence_of("{}.{}", {path_, key}));
    }

    /// The value of a key; nullptr for none.
    virtual const Value* lookup(std::string_view key) const = 0;
    /// The same, and marks the key as read.
    ROPE_COLD const Value* find(std::string_view key) {
        const Value* const value = lookup(key);
        if (value != nullptr) value->is_read = true;
        return value;
    }
    ROPE_COLD bool has(std::string_view key) const { return lookup(key) != nullptr; }
    /// The kind of a value; null where there is none. Neither this nor the tests below mark the key as read.
    ROPE_COLD Value::Kind kind_of(std::string_view key) const {
        const Value* const value = lookup(key);
        return value != nullptr ? value->kind : Value::Kind::null;
    }
    ROPE_COLD bool says(std::string_view key) const { return kind_of(key) != Value::Kind::null; }
    ROPE_COLD bool is_list(std::string_view key) const { return kind_of(key) == Value::Kind::list; }
    ROPE_COLD bool is_object(std::string_view key) const { return kind_of(key) == Value::Kind::object; }

    /// The first of these names with a value that is not null; nullptr for none.
    ROPE_COLD const char* said(Keys keys) const {
        for (const char* key : keys)
            if (says(key)) return key;
        return nullptr;
    }
    struct Found {
        const char* key = nullptr;
        const Value* value = nullptr;
    };
    /// The same, and marks it as read, and nulls as well. Other names with another value are reported as beaten.
    ROPE_COLD Found first(Keys keys) {
        Found found;
        for (const char* const key : keys) {
            const Value* const value = lookup(key);
            if (value == nullptr) continue;
            if (found.key == nullptr && value->kind != Value::Kind::null) found = {key, value};
            if (found.key == nullptr || found.key == key)
                value->is_read = true;
            else
                beat(key, *found.value, path_of(found.key));
        }
        return found;
    }
    /// The path of first(keys) for an error; the first name if none is there.
    ROPE_COLD std::string path_of_first(Keys keys) {
        const char* const key = first(keys).key;
        return path_of(key != nullptr ? key : *keys.begin());
    }
    /// Marks the key as read if it is null or has the winning value; else it is reported as beaten by `winner`, a path.
    ROPE_COLD void beat(std::string_view key, const Value& winning_value, std::string_view winner) {
        const Value* const mine = lookup(key);
        if (mine == nullptr) return;
        if (mine->kind == Value::Kind::null || *mine == winning_value)
            mine->is_read = true;
        else
            beaten_[std::string(key)] = &winners_.add(Value::Kind::text, 0.0, std::string(winner));
    }

    ROPE_COLD std::optional<double> number(Keys keys, const NumberRange& range) {
        return first_of<double>(keys, range);
    }
    ROPE_COLD std::optional<Index> count(Keys keys, const NumberRange& range = kAnyCount) {
        return first_of<Index>(keys, range);
    }
    ROPE_COLD std::optional<bool> truth(Keys keys) { return first_of<bool>(keys, kYesOrNo); }
    ROPE_COLD std::optional<std::string> text(Keys keys) { return first_of<std::string>(keys, kAnyText); }
    /// true and false count as 1 and 0.
    ROPE_COLD std::optional<double> number_or_truth(const char* key) {
        if (!says(key)) return std::nullopt;
        const Value& value = *find(key);
        if (value.kind == Value::Kind::truth) return value.number;
        return content<double>(key, value, kAnyNumber);
    }

    ROPE_COLD MaybeList<double> numbers(const char* key, const NumberRange& range) {
        return list_of<double>(key, range);
    }
    ROPE_COLD MaybeList<Index> counts(const char* key, const NumberRange& range) { return list_of<Index>(key, range); }
    ROPE_COLD MaybeList<std::string> texts(const char* key) { return list_of<std::string>(key, kAnyText); }
    /// Sets the size of lists with one entry per layer: `layers`, or `also`. They differ by the layers at the end that
    /// predict further tokens, for which not every file has entries.
    ROPE_COLD void set_layers(std::size_t layers, std::size_t also) {
        layers_ = layers;
        also_ = also;
    }
    /// A list with one entry per layer.
    template <class T>
    ROPE_COLD MaybeList<T> per_layer(const char* key, MaybeList<T> list, bool exactly = false) {
        const std::size_t size = list.list.size();
        if (!list || !diagnostics_->ok()) return list;
        if (size == layers_ || (size == also_ && !exactly)) {
            while (list.list.size() > layers_) list.list.pop_back();
            return list;
        }
        diagnostics_->fail("{} has {} entries; it must have one per layer ({}).", {path_of(key), size, layers_});
        return std::nullopt;
    }
    ROPE_COLD MaybeList<Index> counts_per_layer(const char* key, const NumberRange& range) {
        return per_layer(key, counts(key, range));
    }
    /// One number for all layers, or a list with one per layer.
    ROPE_COLD MaybeList<Index> count_per_layer(const char* key, const NumberRange& range) {
        if (is_list(key)) return counts_per_layer(key, range);
        const auto x = count({key}, range);
        return x ? MaybeList<Index>(std::vector<Index>(layers_, *x)) : std::nullopt;
    }

    ROPE_COLD void refuse(std::string_view path, const Word& value, std::string_view allowed) {
        diagnostics_->fail("{} is {}; it must be {}.", {path, value, allowed});
    }
    ROPE_COLD void demand(bool is_there, const char* key, std::string_view by) {
        if (!is_there) diagnostics_->fail("{}; {} needs it.", {lack_of(key), by});
    }
    /// Returns a value that must be there.
    template <class T>
    ROPE_COLD T needed(std::optional<T> value, const char* key, std::string_view by) {
        demand(value.has_value(), key, by);
        return std::move(value).value_or(T());
    }
    ROPE_COLD std::string lack_of(const char* key) const {
        return path_of(key) + (has(key) ? " is null" : " is missing");
    }
    ROPE_COLD void warn_of_default(const char* key, const Word& value, std::string_view whose) {
        diagnostics_->warn("{}; {} was taken, {}.", {lack_of(key), value, whose});
    }
    ROPE_COLD void warn_not_used(std::string_view key, std::string_view because) {
        find(key);
        diagnostics_->warn("{} was not used: {}.", {path_of(key), because});
    }

 protected:
    ~Fields() = default;
    /// Returns a value as a T in this range, if it is one.
    template <class T>
    ROPE_COLD static std::optional<T> content(const Value& v, const NumberRange& range) {
        bool is_right = v.kind == Value::Kind::number && is_finite(v.number) && v.number >= range.least &&
                        v.number <= range.most && (!std::is_same_v<T, Index> || v.number == std::floor(v.number));
        if (std::is_same_v<T, bool>) is_right = v.kind == Value::Kind::truth;
        if (std::is_same_v<T, std::string>) is_right = v.kind == Value::Kind::text;
        if (!is_right) return std::nullopt;
        if constexpr (std::is_same_v<T, std::string>)
            return v.text;
        else
            return static_cast<T>(v.number);
    }
    /// The same, or refuses it.
    template <class T>
    ROPE_COLD std::optional<T> content(const char* key, const Value& v, const NumberRange& range) {
        std::optional<T> x = content<T>(v, range);
        if (!x) refuse(path_of(key), shown(v), range.text);
        return x;
    }
    template <class T>
    ROPE_COLD std::optional<T> first_of(Keys keys, const NumberRange& range) {
        const Found found = first(keys);
        return found.key == nullptr ? std::nullopt : content<T>(found.key, *found.value, range);
    }
    template <class T>
    ROPE_COLD MaybeList<T> list_of(const char* key, const NumberRange& range) {
        if (!says(key)) return std::nullopt;
        const Value* const value = find(key);
        if (value->kind != Value::Kind::list) return refuse(path_of(key), shown(*value), "a list"), std::nullopt;
        if (value->size > kMaxEntries) {
            diagnostics_->fail("{} has {} entries; it must have at most {}.",
                               {path_of(key), std::size_t(value->size), kMaxEntries});
            return std::nullopt;
        }
        std::vector<T> list;
        for (const Value* item = value->first; item != nullptr; item = item->next) {
            auto x = content<T>(*item, range);
            if (!x) {  // its path is a sentence's, and not made for each of 65536 entries
                refuse(sentence_of("{}[{}]", {path_of(key), list.size()}), shown(*item), range.text);
                return std::nullopt;
            }
            list.push_back(std::move(*x));
        }
        return list;
    }

    std::string path_;
    Diagnostics* diagnostics_;
    Members beaten_;  ///< the path of the value that is used instead, as text
    Values winners_;  ///< these texts
    std::size_t layers_ = 0, also_ = 0;
};

ROPE_DETAIL_END
