// SPDX-License-Identifier: MIT
// Bytes as the metadata of a GGUF file: whatever they are, read_gguf_config refuses them in a sentence or makes a model
// that can be used.
//
// The bytes: architecture, layout (0 none, 1 and 2 the two, 3 neither), for each
// of the three tensors a size and a value, then entries to the end: key, kind of value, value (see value_from).
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "properties.hpp"

namespace {

using fuzz::check_model;
using fuzz::check_sentence;
using fuzz::require;
using rope::GgufValue;
using rope::Index;

// At the end of these lists there is room; in the middle there is not, because corpora hold places in them.
const char* const kArchitectures[] = {
    "llama",   "qwen2",   "qwen2vl", "qwen3vl",    "qwen35",    "deepseek2",    "mistral3", "gemma2",    "gemma3",
    "gemma4",  "gpt-oss", "cohere2", "olmo2",      "exaone4",   "llama4",       "smollm3",  "phi3",      "falcon",
    "gptneox", "glm4",    "lfm2",    "baichuan",   "granite",   "smallthinker", "grok",     "minicpm3",  "mamba",
    "gpt2",    "mimo2",   "plamo3",  "hunyuan_vl", "qwen3next", "modern-bert",  "quokka-7", "Not A Name"};
const char* const kKeys[] = {"block_count",
                             "context_length",
                             "embedding_length",
                             "attention.head_count",
                             "attention.head_count_kv",
                             "attention.key_length",
                             "rope.dimension_count",
                             "rope.freq_base",
                             "attention.sliding_window",
                             "attention.sliding_window_pattern",
                             "rope.freq_base_swa",
                             "attention.key_length_swa",
                             "rope.dimension_count_swa",
                             "rope.dimension_sections",
                             "rope.scaling.type",
                             "rope.scaling.factor",
                             "rope.scaling.attn_factor",
                             "rope.scaling.original_context_length",
                             "rope.scaling.finetuned",
                             "rope.scaling.yarn_log_multiplier",
                             "rope.scaling.yarn_ext_factor",
                             "rope.scaling.yarn_attn_factor",
                             "rope.scaling.yarn_beta_fast",
                             "rope.scaling.yarn_beta_slow",
                             "rope.scaling.alpha",
                             "rope.scale_linear",
                             "attention.value_length",
                             "attention.key_length_mla",
                             "attention.recurrent_layers",
                             "attention.temperature_scale",
                             "attention.temperature_length",
                             "full_attention_interval",
                             "nextn_predict_layers",
                             "general.architecture",
                             "attention.shared_kv_layers",
                             "attention.rope_pattern",
                             "attention.compress_ratios",
                             "leading_dense_block_count",
                             "attention.scale"};

/// Reads bytes, and zeros beyond their end.
class Bytes {
 public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    bool at_end() const { return place_ >= size_; }
    std::uint8_t next() { return place_ < size_ ? data_[place_++] : std::uint8_t(0); }
    template <class T>
    T bits() {
        std::uint8_t raw[sizeof(T)];
        for (std::uint8_t& byte : raw) byte = next();
        T value;
        std::memcpy(&value, raw, sizeof(T));
        return value;
    }

 private:
    const std::uint8_t* data_;
    std::size_t size_, place_ = 0;
};

double number_from(std::uint8_t byte) {
    static const double numbers[] = {10000.0, 500000.0, 1e6,    1e7,      1.0,     4.0,     8.0,       32.0,
                                     40.0,    0.1,      0.0707, 1.19024,  0.5,     2.0,     0.0,       -1.0,
                                     1e-300,  1e300,    0x1p32, 0x1p-32,  1.13863, 1e-9,    -0.0,      16.0,
                                     0.25,    0x1p16,   1e10,   0.878249, 64.0,    150000., 1.0000001, 0x1p1000};
    return numbers[byte % std::size(numbers)];
}

GgufValue value_from(Bytes& bytes) {
    switch (bytes.next() % 11) {
        case 0: return bytes.next() % 2 != 0;
        case 1: return std::int64_t(bytes.next());
        case 2: return std::int64_t(1) << bytes.next() % 63;
        case 3: return bytes.bits<std::int64_t>();
        case 4: return bytes.bits<std::uint64_t>();
        case 5: return number_from(bytes.next());
        case 6: return bytes.bits<double>();
        case 7: {
            static const char* const texts[] = {"none", "linear", "yarn", "longrope", "", "llama"};
            const std::uint8_t byte = bytes.next();
            if (byte < std::size(texts)) return std::string(texts[byte]);
            std::string text;
            for (int i = 0; i < byte % 100; ++i) text += static_cast<char>(bytes.next());
            return text;
        }
        case 8: {
            std::vector<std::int64_t> list(bytes.next());
            for (std::int64_t& x : list) x = std::int64_t(bytes.next() ^ 128) - 128;  // -128 .. 127
            return list;
        }
        case 10: {  // one per layer, where there are many
            const std::size_t count = std::size_t(1) << bytes.next() % 17;
            return std::vector<std::int64_t>(count, std::int64_t(bytes.next()));
        }
        default: return std::vector<double>(bytes.next(), 1.0);
    }
}

struct File {
    std::map<std::string, GgufValue> values;
    rope::GgufTensors tensors;
    std::optional<rope::Layout> layout;

    explicit File(Bytes bytes) {
        const std::string architecture = kArchitectures[bytes.next() % std::size(kArchitectures)];
        values["general.architecture"] = architecture;
        if (const int choice = bytes.next() % 4; choice != 0) layout = static_cast<rope::Layout>(choice - 1);
        for (std::vector<float>* tensor :
             {&tensors.rope_freqs, &tensors.rope_factors_long, &tensors.rope_factors_short}) {
            const std::size_t count = bytes.next();
            tensor->assign(count, static_cast<float>(number_from(bytes.next())));
        }
        while (!bytes.at_end()) {
            const std::string key = kKeys[bytes.next() % std::size(kKeys)];
            const bool is_general = key.compare(0, 8, "general.") == 0;
            std::string path = is_general ? "" : architecture + ".";
            path += key;
            values[path] = value_from(bytes);
        }
    }
    rope::ModelConfig read() const {
        return rope::read_gguf_config(
            [this](std::string_view key) -> std::optional<GgufValue> {
                const auto it = values.find(std::string(key));
                if (it == values.end()) return std::nullopt;
                return it->second;
            },
            tensors, layout);
    }
};

/// What a GGUF file says beyond what every model must.
void check_more(const rope::ModelConfig& model) {
    for (const rope::Config& config : model.configs)
        require(config.layout.has_value(), "every rotary embedding has a layout");
    require(model.softmax_scale_factor >= 1.0, "the softmax is not made flatter");
    if (model.axis_map.axis_of.empty()) return;
    const Index sum = static_cast<Index>(model.axis_map.axis_of.size());
    const rope::Config& c = model.configs.front();
    require(sum == (c.rotary_dim != 0 ? c.rotary_dim : c.head_dim) / 2, "sections have as many pairs as rotate");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const File file(Bytes(data, size));
    try {
        const rope::ModelConfig model = file.read();
        check_model(model);
        check_more(model);
        if (model.layers() > 4096) return 0;  // would only take long
        require(file.read().warnings == model.warnings, "the same file reads the same");
    } catch (const std::invalid_argument& e) {
        check_sentence(e.what());
    }
    return 0;
}
