// SPDX-License-Identifier: MIT
// rope::read_hf_config, compiled once for the tests that do nothing but call it.
#pragma once

#include <rope/model_config.hpp>

#include <optional>
#include <string_view>

namespace support {

rope::ModelConfig read_hf_config(std::string_view json_text, std::optional<rope::Layout> layout = std::nullopt);

}  // namespace support
