// SPDX-License-Identifier: MIT
// The metadata of a GGUF file, written down in a test, and the numbers that must come out of it.
#pragma once

#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <rope/detail/readers/gguf/architectures.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../catch.hpp"
#include "../data.hpp"
#include "../exact/mpfr.hpp"
#include "../exact/schedules.hpp"
#include "../refusal.hpp"

namespace support {

class GgufFile {
 public:
    using Entry = std::pair<const char*, rope::GgufValue>;

    /// Keys without the architecture's name and dot.
    GgufFile(std::string architecture, std::initializer_list<Entry> entries) : architecture_(std::move(architecture)) {
        values_["general.architecture"] = architecture_;
        for (const Entry& entry : entries) set(entry.first, entry.second);
    }

    rope::GgufTensors tensors;
    std::optional<rope::Layout> layout;

    std::string path_of(const std::string& key) const {
        return key.compare(0, 8, "general.") == 0 ? key : architecture_ + "." + key;
    }
    GgufFile& set(const std::string& key, rope::GgufValue value) {
        values_[path_of(key)] = std::move(value);
        return *this;
    }
    GgufFile& remove(const std::string& key) {
        values_.erase(path_of(key));
        return *this;
    }
    GgufFile with(const std::string& key, rope::GgufValue value) const {
        return GgufFile(*this).set(key, std::move(value));
    }
    GgufFile without(const std::string& key) const { return GgufFile(*this).remove(key); }

    /// For one call of read_gguf_config, which must not ask twice for a key.
    rope::GgufLookup lookup() const {
        return [this, asked = std::set<std::string>()](std::string_view key) mutable -> std::optional<rope::GgufValue> {
            if (!asked.emplace(key).second) throw std::logic_error("asked twice for " + std::string(key));
            const auto it = values_.find(std::string(key));
            if (it == values_.end()) return std::nullopt;
            return it->second;
        };
    }
    rope::ModelConfig read() const { return rope::read_gguf_config(lookup(), tensors, layout); }
    rope::ModelConfig read_as(rope::Layout given) const { return rope::read_gguf_config(lookup(), tensors, given); }
    /// What reading it says when it is refused.
    std::string refused() const {
        return refusal([&] { (void)read(); }).message;
    }

 private:
    std::string architecture_;
    std::map<std::string, rope::GgufValue> values_;
};

/// Whether one of a model's warnings begins so.
inline bool warns_of(const rope::ModelConfig& model, const std::string& start) {
    for (const std::string& warning : model.warnings)
        if (warning.compare(0, start.size(), start) == 0) return true;
    return false;
}

inline bool agrees(double value, const Real& expected, double relative) {
    return !(Real(relative) * abs(expected) < abs(Real(value) - expected));
}

/// Whether a Config, read from a file, has the frequencies of the published parameters, to 1e-15.
inline void check_frequencies(const rope::Config* config, const rope::Config& published, Index seq_len = 0) {
    REQUIRE(config != nullptr);
    const rope::Frequencies f = rope::frequencies(*config, seq_len);
    const RealFrequencies expected = real_frequencies(published, seq_len);
    REQUIRE(f.inv_freq.size() == expected.inv_freq.size());
    for (std::size_t i = 0; i < f.inv_freq.size(); ++i) {
        CAPTURE(i, f.inv_freq[i], expected.inv_freq[i].to_double());
        CHECK(agrees(f.inv_freq[i], expected.inv_freq[i], 1e-15));
    }
    CHECK(agrees(f.attention_factor, expected.magnitude, 1e-15));
    CHECK(config->head_dim == published.head_dim);
    CHECK(config->layout == published.layout);
}

/// The parameters as the model was published with them; the schedule is to be added.
inline rope::Config published(Index head_dim, double base, rope::Layout layout, Index rotary_dim = 0) {
    rope::Config c;
    c.head_dim = head_dim;
    c.rotary_dim = rotary_dim;
    c.base = base;
    c.layout = layout;
    return c;
}

using Ints = std::vector<std::int64_t>;

/// A model with four layers of eight heads of 64 features.
inline GgufFile small_model(const std::string& architecture = "qwen2") {
    return {architecture,
            {{"block_count", 4},
             {"context_length", 8192},
             {"embedding_length", 512},
             {"attention.head_count", 8},
             {"rope.freq_base", 500000.0}}};
}
inline GgufFile yarn_model(const std::string& architecture = "qwen2") {
    return small_model(architecture)
        .set("rope.scaling.type", "yarn")
        .set("rope.scaling.factor", 4.0)
        .set("rope.scaling.original_context_length", 2048);
}

/// A model of any architecture with heads of 64 features and a base of 500000.
inline GgufFile small_grouped_model(const std::string& architecture, Index layers = 8) {
    return {architecture,
            {{"block_count", layers},
             {"context_length", 8192},
             {"embedding_length", 512},
             {"attention.head_count", 8},
             {"attention.head_count_kv", 2},
             {"rope.freq_base", 500000.0}}};
}

/// The same, with all that the architecture asks for.
inline GgufFile complete_model(const std::string& name, Index layers = 8) {
    using namespace rope::detail::gguf;
    GgufFile file = small_grouped_model(name, layers);
    const Architecture* const a = find_architecture(name);
    file.set("attention.sliding_window", 512).set("rope.dimension_count", 64);
    if (a->traits & kNeedsPattern) file.set("attention.sliding_window_pattern", 2);
    if (a->traits & kNeedsList) file.set("attention.sliding_window_pattern", Ints(size(layers), 1));
    if (a->traits & kNeedsSlidingBase) file.set("rope.freq_base_swa", 10000.0);
    if (a->traits & kCompresses) file.set("attention.compress_ratios", Ints(size(layers), 0));
    if (a->rope == Rope::mrope || a->rope == Rope::imrope) file.set("rope.dimension_sections", Ints{16, 8, 8, 0});
    return file;
}

/// One letter per layer: what it attends to, in upper case where it is rotated.
inline std::string layers_of(const rope::ModelConfig& model) {
    std::string letters;
    for (Index i = 0; i < model.layers(); ++i) {
        const char letter = "fscizlx-"[static_cast<int>(model.layer_types[size(i)])];
        letters += model.layer(i) != nullptr ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    return letters;
}

}  // namespace support
