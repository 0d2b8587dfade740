// SPDX-License-Identifier: MIT
// A small config.json that tests add members to, and what is read from it.
#pragma once

#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../catch.hpp"
#include "../refusal.hpp"

namespace support {

using Json = nlohmann::json;
using Warnings = std::vector<std::string>;

/// Four layers of eight heads of 64 features, and more members, which win; null removes.
inline std::string file(const std::string& more = "") {
    Json model = Json::parse(R"({"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 8,
        "hidden_size": 512, "max_position_embeddings": 4096, "rope_theta": 20000})");
    model.merge_patch(Json::parse("{" + more + "}"));
    return model.dump();
}
inline rope::ModelConfig read(const std::string& more) { return rope::read_hf_config(file(more)); }
inline const rope::Config& config_of(const rope::ModelConfig& m, rope::Index layer = 0) { return *m.layer(layer); }

inline void refuses_text(const std::string& text, const std::string& sentence,
                         std::optional<rope::Layout> layout = std::nullopt) {
    CAPTURE(text);
    const auto refused = refusal([&] { rope::read_hf_config(text, layout); });
    CHECK(refused.message == sentence);
    CHECK(refused.code == rope::StatusCode::invalid_argument);
}
inline void refuses(const std::string& more, const std::string& sentence) { refuses_text(file(more), sentence); }

/// What the first layer has, and what is said about it.
template <class T, class Value>
void takes(T rope::Config::*member, const std::string& more, Value value, const Warnings& warnings) {
    CAPTURE(more);
    const rope::ModelConfig model = read(more);
    CHECK(config_of(model).*member == static_cast<T>(value));
    CHECK(model.warnings == warnings);
}
inline constexpr auto kBase = &rope::Config::base;
inline constexpr auto kFactor = &rope::Config::interpolation_factor;
inline constexpr auto kRotaryDim = &rope::Config::rotary_dim;

}  // namespace support
