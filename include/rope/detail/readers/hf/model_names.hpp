// SPDX-License-Identifier: MIT
// Where a model type is found in the table: by its name, by the class that a file names, by a further key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "models.hpp"

ROPE_DETAIL_BEGIN

/// The name under which params.json files are in the table: they have no model_type, or this one.
inline constexpr const char* kParamsJsonType = "transformer";
/// A model_type that stands for several language models, and the key and value that tell which; null: any value.
struct HfVersion {
    const char *type, *key, *value, *is;
};
inline constexpr HfVersion kHfVersions[] = {
    {"minicpmv", "version", "2", "minicpm"},
    {"minicpmv", "version", "2.0", "minicpm"},
    {"minicpmv", "version", "2.5", "llama"},
    {"minicpmv", "version", "2.6", "qwen2"},
    {"minicpmv", "version", "4", "llama"},
    {"minicpmv", "version", "4.0", "llama"},
    {"minicpmv", "version", "4.5", "qwen3"},
    {"minicpmo", "version", "2.6", "qwen2"},
    {"minicpmo", "version", "4.5", "qwen3"},
    {kParamsJsonType, "nope_layer_interval", nullptr, "params_of_llama4"},
    {kParamsJsonType, "use_qk_norm", nullptr, "params_of_llama4"},
    {kParamsJsonType, "attention_chunk_size", nullptr, "params_of_llama4"},
    {kParamsJsonType, "attn_temperature_tuning", nullptr, "params_of_llama4"},
};

/// Whether a text is made of words with `separator` between, and this is one of them.
ROPE_COLD bool is_one_of(std::string_view words, char separator, std::string_view word) noexcept {
    for (std::size_t at = words.find(word); at != words.npos && !word.empty(); at = words.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || words[at - 1] == separator) && (end == words.size() || words[end] == separator))
            return word.find(separator) == word.npos;
    }
    return false;
}
/// nullptr for a type that is not in the list.
ROPE_COLD const HfModel* find_hf_model(std::string_view type) noexcept {
    for (const HfModel& model : kHfModels)
        if (is_one_of(model.types, ' ', type)) return &model;
    return nullptr;
}

/// The letters and digits of a name, in lower case.
ROPE_COLD std::string plain_name(std::string_view name) {
    std::string plain;
    for (const char c : name)
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'))
            plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return plain;
}
/// The type whose class a file names in "architectures", such as LlamaForCausalLM; nullptr for none.
ROPE_COLD const HfModel* find_hf_architecture(std::string_view name) {
    const std::size_t end = name.find("For");
    if (end == name.npos) return nullptr;
    std::string wanted = plain_name(name.substr(0, end));
    const std::string_view suffix = "model";  // Grok1ModelForCausalLM
    if (wanted.size() > suffix.size() && wanted.compare(wanted.size() - suffix.size(), suffix.size(), suffix) == 0)
        wanted.resize(wanted.size() - suffix.size());
    for (const HfModel& model : kHfModels)
        for (std::string_view types = model.types; !types.empty();) {
            const std::string_view type = types.substr(0, types.find(' '));
            if (plain_name(type) == wanted) return &model;
            types.remove_prefix((std::min)(types.size(), type.size() + 1));
        }
    return nullptr;
}

ROPE_DETAIL_END
