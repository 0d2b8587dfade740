// SPDX-License-Identifier: MIT
// Each key of a config.json, one after the other: that it is read, what its absence (and null) means, and that values
// of a wrong type or out of range are refused with its path. Every line of the table is tried in old and new style, and
// with the language model nested in other objects.
#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/readers/hf_keys.hpp"
#include "support/refusal.hpp"

using rope::ModelConfig;
using support::refusal;
using support::hf::Bad;
using support::hf::Key;
using Json = nlohmann::json;

namespace {

// ---- files made of a line of the table ----

/// Where the rotary parameters are, and where the language model is.
struct Style {
    std::string parameters, model;
};
const std::vector<Style> kStyles = {{"rope_parameters", ""},
                                    {"rope_scaling", ""},
                                    {"rope_parameters.full_attention", ""},
                                    {"rope_parameters", "text_config"},
                                    {"rope_parameters.full_attention", "thinker_config.text_config"}};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}
Json::json_pointer pointer(const std::string& path) { return Json::json_pointer("/" + replaced(path, ".", "/")); }

class File {
 public:
    File(const Key& key, const Style& style) : key_(key), style_(style), model_(Json::parse(support::hf::kPlain)) {
        Json more = Json::parse("{" + key.model + "}");
        if (more.contains("$")) {
            model_[pointer(style.parameters)] = more["$"];
            more.erase("$");
        }
        model_.merge_patch(more);
        if (key.path[0] == '$' && !model_.contains(pointer(style.parameters)))
            model_[pointer(style.parameters)] = Json::object();
    }

    /// The file with a value; without one, without the key.
    std::string text(const std::string& value) const {
        Json model = model_;
        const Json::json_pointer at = pointer(in_model(key_.path));
        if (!value.empty())
            model[at] = "(value)";
        else if (model.contains(at))
            model[at.parent_pointer()].erase(at.back());
        Json whole = model;
        if (!style_.model.empty()) {
            whole = {{"model_type", "outer"}, {"hidden_size", 3}};  // of some other part of the model
            whole[pointer(style_.model)] = model;
        }
        return replaced(whole.dump(), "\"(value)\"", value);
    }
    /// A sentence with its paths.
    std::string sentence(const std::string& text) const {
        return replaced(
            replaced(replaced(text, "@", prefix() + in_model(key_.path)), "$", prefix() + style_.parameters), "^",
            prefix());
    }

 private:
    std::string prefix() const { return style_.model.empty() ? "" : style_.model + "."; }
    std::string in_model(const std::string& path) const { return replaced(path, "$", style_.parameters); }

    const Key& key_;
    const Style& style_;
    Json model_;
};

std::vector<std::string> list_of(const std::string& sentence) {
    return sentence.empty() ? std::vector<std::string>() : std::vector{sentence};
}
bool same(double a, double b) { return std::fabs(a - b) <= 4e-16 * std::fabs(b); }

/// Calls f(key, file) for every key in every style that makes a difference to it.
template <class F>
void for_each_file(F f) {
    for (const Key& key : support::hf::keys())
        for (const Style& style : kStyles) {
            const bool by_type = style.parameters.find('.') != std::string::npos;
            const bool has_parameters = key.path[0] == '$' || key.model.find("\"$\"") != std::string::npos;
            if (!has_parameters && (by_type || style.parameters == "rope_scaling") && style.model.empty()) continue;
            f(key, File(key, style));
        }
}

}  // namespace

TEST_CASE("each key is read: files that differ in its value alone differ as they should") {
    int files = 0;
    for_each_file([&](const Key& key, const File& file) {
        for (const auto& [value, expected] : {std::pair{key.one, key.from_one}, {key.other, key.from_other}}) {
            CAPTURE(file.text(value));
            const ModelConfig model = rope::read_hf_config(file.text(value));
            CAPTURE(key.look(model), expected);
            CHECK(same(key.look(model), expected));
            CHECK(model.warnings == list_of(file.sentence(key.note)));
            CHECK(rope::check(model).ok());
        }
        ++files;
    });
    CHECK(files > 250);
}

TEST_CASE("a key that is missing, or null, means what is documented: a value, one with a warning, or an error") {
    for_each_file([](const Key& key, const File& file) {
        for (const std::string value : {"", "null"}) {
            if (!value.empty() && key.other == value) continue;  // where null is a value
            std::string sentence = key.absence.sentence;
            if (!value.empty()) sentence = replaced(sentence, "@ is missing", "@ is null");
            if (!value.empty() && key.path == "rope_theta")
                sentence = replaced(sentence, "theta is missing", "theta is null");
            sentence = file.sentence(sentence);
            CAPTURE(file.text(value), sentence);
            if (!key.absence.value) {
                if (key.other != "null")
                    CHECK(refusal([&] { rope::read_hf_config(file.text(value)); }).message == sentence);
                continue;
            }
            const ModelConfig model = rope::read_hf_config(file.text(value));
            CAPTURE(key.look(model), *key.absence.value);
            CHECK(same(key.look(model), *key.absence.value));
            CHECK(model.warnings == list_of(sentence));
        }
    });
}

TEST_CASE(
    "a value of the wrong type or out of range is refused with the key's path, the value and what must be there") {
    int values = 0;
    for_each_file([&](const Key& key, const File& file) {
        for (const Bad& bad : key.bads) {
            CAPTURE(file.text(bad.text));
            const auto refused = refusal([&] { rope::read_hf_config(file.text(bad.text)); });
            CHECK(refused.message ==
                  file.sentence("@" + bad.element) + " is " + bad.shown + "; it must be " + bad.allowed + ".");
            CHECK(refused.code == rope::StatusCode::invalid_argument);
            ++values;
        }
    });
    CHECK(values > 2500);
}
