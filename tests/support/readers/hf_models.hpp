// SPDX-License-Identifier: MIT
// What models published: their config.json files in tests/readers/models, and, typed by hand, what must be read from them.
#pragma once

#include <rope/core.hpp>
#include <rope/model_config.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../data.hpp"
#include "../exact/mpfr.hpp"

#ifndef ROPE_TEST_MODELS
#    define ROPE_TEST_MODELS "tests/readers/models"
#endif

namespace support {

/// The text of tests/readers/models/NAME.json.
inline std::string model_text(const std::string& name) {
    std::ifstream file(std::string(ROPE_TEST_MODELS) + "/" + name + ".json");
    if (!file) throw std::runtime_error("no file " + name + ".json in " ROPE_TEST_MODELS);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A rotary embedding as the model's authors describe it, for sequences of seq_len.
struct PublishedRotary {
    rope::Config config;
    Real magnitude;
    Index seq_len;
};

/// One model. Its layers are the letters of a pattern that repeats: f, s, c and z are layers with full, sliding, chunked
/// and compressed attention, capital where they have no RoPE, and - is a layer without attention.
struct PublishedModel {
    std::string name;
    Index layers;
    std::string pattern;
    rope::HeadCounts heads;
    Index max_positions;

    std::map<char, std::vector<PublishedRotary>> rotary_of = {};  ///< by letter, or '*'
    std::map<char, rope::HeadCounts> heads_of = {};               ///< where a letter has other numbers
    Real softmax_scale = 1.0;
    std::vector<Index> sections = {};
    bool sections_are_interleaved = false;
    rope::AttentionTemperature temperature = {};
    bool reference_uses_other_layout = false;
    std::vector<std::string> warnings = {};  ///< how each begins

    PublishedModel& rotary(const rope::Config& config, const Real& magnitude = 1.0, Index seq_len = 0) {
        return rotary('*', config, magnitude, seq_len);
    }
    PublishedModel& rotary(char layer, const rope::Config& config, const Real& magnitude = 1.0, Index seq_len = 0) {
        rotary_of[layer].push_back({config, magnitude, seq_len});
        return *this;
    }
    PublishedModel& heads_where(char layer, const rope::HeadCounts& counts) {
        heads_of[layer] = counts;
        return *this;
    }
    PublishedModel& softmax(const Real& scale) {
        softmax_scale = scale;
        return *this;
    }
    PublishedModel& mrope(std::vector<Index> section, bool is_interleaved) {
        sections = std::move(section);
        sections_are_interleaved = is_interleaved;
        return *this;
    }
    PublishedModel& tempered(const rope::AttentionTemperature& t) {
        temperature = t;
        return *this;
    }
    PublishedModel& reordered() {
        reference_uses_other_layout = true;
        return *this;
    }
    PublishedModel& warns(std::vector<std::string> beginnings) {
        warnings = std::move(beginnings);
        return *this;
    }

    char letter(Index layer) const { return pattern[size(layer) % pattern.size()]; }
    /// The rotary embeddings of a letter, one for each sequence length that is looked at; none for capitals and -.
    const std::vector<PublishedRotary>* rotary_at(Index layer) const {
        const char c = letter(layer);
        if (c < 'a' || c > 'z') return nullptr;
        const auto own = rotary_of.find(c);
        return own != rotary_of.end() ? &own->second : &rotary_of.at('*');
    }
    rope::HeadCounts heads_at(Index layer) const {
        if (letter(layer) == '-') return {};
        const auto own = heads_of.find(letter(layer));
        return own != heads_of.end() ? own->second : heads;
    }
    rope::LayerType type_at(Index layer) const {
        switch (letter(layer)) {
            case 's':
            case 'S': return rope::LayerType::sliding_attention;
            case 'c':
            case 'C': return rope::LayerType::chunked_attention;
            case 'i': return rope::LayerType::sparse_attention;
            case 'z': return rope::LayerType::compressed_attention;
            case '-': return rope::LayerType::no_attention;
            default: return rope::LayerType::full_attention;
        }
    }
};

/// rotary_dim 0 is all of the head.
inline rope::Config rotary(rope::Layout layout, Index head_dim, double base, rope::Schedule schedule = {},
                           Index rotary_dim = 0) {
    rope::Config config;
    config.layout = layout;
    config.head_dim = head_dim;
    config.rotary_dim = rotary_dim;
    config.base = base;
    config.schedule = std::move(schedule);
    return config;
}
inline rope::Config half_split(Index head_dim, double base, rope::Schedule schedule = {}, Index rotary_dim = 0) {
    return rotary(rope::Layout::half_split, head_dim, base, std::move(schedule), rotary_dim);
}
inline rope::Config interleaved(Index head_dim, double base, rope::Schedule schedule = {}, Index rotary_dim = 0) {
    return rotary(rope::Layout::interleaved, head_dim, base, std::move(schedule), rotary_dim);
}
inline rope::Config shifted(rope::Config config, Index rotary_offset) {
    config.rotary_offset = rotary_offset;
    return config;
}
inline rope::Config slowed(rope::Config config, double factor) {
    config.interpolation_factor = factor;
    return config;
}
inline rope::schedule::Yarn yarn(double factor, Index original, double beta_fast = 32.0, bool truncate = true) {
    rope::schedule::Yarn s;
    s.factor = factor;
    s.original_max_position_embeddings = original;
    s.beta_fast = beta_fast;
    s.truncate = truncate;
    return s;
}

/// 1 + k ln(f) / 10
inline Real magnitude_of_yarn(double f, double k = 1.0) { return Real(1.0) + Real(k) * log(Real(f)) / Real(10.0); }

/// Every file of tests/readers/models.
std::vector<PublishedModel> published_models();

}  // namespace support
