// SPDX-License-Identifier: MIT
#include "read_hf_config.hpp"

#include <rope/hf_config.hpp>

rope::ModelConfig support::read_hf_config(std::string_view json_text, std::optional<rope::Layout> layout) {
    return rope::read_hf_config(json_text, layout);
}
