// SPDX-License-Identifier: MIT
// Bytes as the text of a config.json: whatever they are, read_hf_config refuses them in a sentence or makes a model
// that can be used, and says the same of the same file in other words.
#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "properties.hpp"

namespace {

using fuzz::check_model;
using fuzz::check_sentence;
using fuzz::require;
using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using Json = nlohmann::json;

// ---- everything that a model says, as one number ----

class Account {
 public:
    explicit Account(const ModelConfig& m) {
        (*this)(m.model_type, m.max_position_embeddings, m.config_of_layer, m.softmax_scale_factor,
                m.reference_uses_other_layout, m.axis_map.axes);
        for (const unsigned char axis : m.axis_map.axis_of) add(static_cast<int>(axis));
        const rope::AttentionTemperature& t = m.attention_temperature;
        (*this)(t.scale, t.period, t.shift, t.on_layers_with_rope, t.on_layers_without_rope);
        for (const rope::LayerType type : m.layer_types) add(static_cast<int>(type));
        for (const rope::HeadCounts& heads : m.heads) (*this)(heads.q, heads.k, heads.v);
        for (const rope::Config& c : m.configs) {
            (*this)(c.head_dim, c.rotary_dim, c.rotary_offset, c.base, c.interpolation_factor, c.attention_factor,
                    c.layout ? static_cast<int>(*c.layout) : -1, rope::schedule_name(c.schedule), c.is_reversed,
                    c.has_log_scale);
            std::visit([this](const auto& s) { add(s); }, c.schedule);
        }
        for (const rope::HeadSteps& s : m.steps) {
            for (const auto* steps : {&s.q, &s.k, &s.v, &s.output})
                for (const rope::HeadStep& step : *steps) {
                    const rope::HeadNorm& norm = step.norm;
                    (*this)(static_cast<int>(step.kind), static_cast<int>(norm.kind), static_cast<int>(norm.weight),
                            norm.adds_one, norm.has_bias, static_cast<int>(norm.rounding), norm.eps, step.number,
                            static_cast<int>(step.rounding));
                }
            (*this)(s.softmax_scale, s.has_other_steps, s.values_from_key_projection, s.keys_are_values,
                    s.keys_of_layer);
        }
    }
    std::uint64_t digest() const { return digest_; }

 private:
    template <class... Parts>
    void operator()(const Parts&... parts) {
        (add(parts), ...);
    }
    void add(std::uint64_t x) {
        digest_ = (digest_ ^ x) * 0x9e3779b97f4a7c15u;
        digest_ ^= digest_ >> 29;
    }
    void add(const std::string& s) {
        for (const char c : s) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
        add(static_cast<std::uint64_t>(s.size()));
    }
    void add(const char* s) { add(std::string(s)); }
    void add(double x) {
        std::uint64_t bits;
        std::memcpy(&bits, &x, sizeof(bits));
        add(bits);
    }
    void add(Index x) { add(static_cast<std::uint64_t>(x)); }
    void add(int x) { add(static_cast<std::uint64_t>(x)); }
    void add(bool x) { add(static_cast<std::uint64_t>(x)); }
    void add(const std::optional<double>& x) { x ? add(*x) : add("none"); }
    template <class T>
    void add(const rope::List<T>& list) {
        for (const T& x : list) add(x);
        add(static_cast<std::uint64_t>(list.size()));
    }
    void add(const rope::schedule::Ntk& s) { (*this)(s.factor, s.mixed_b); }
    void add(const rope::schedule::DynamicNtk& s) { (*this)(s.factor, s.max_position_embeddings); }
    void add(const rope::schedule::Yarn& s) {
        (*this)(s.factor, s.original_max_position_embeddings, s.max_position_embeddings,
                static_cast<int>(s.factor_source), s.beta_fast, s.beta_slow, s.truncate, s.extrapolation_factor,
                s.attention_factor, s.mscale, s.mscale_all_dim, s.attn_factor, static_cast<int>(s.magnitude),
                s.log_coefficient);
    }
    void add(const rope::schedule::Llama3& s) {
        (*this)(s.factor, s.low_freq_factor, s.high_freq_factor, s.original_max_position_embeddings);
    }
    void add(const rope::schedule::LongRope& s) {
        (*this)(s.short_factor, s.long_factor, s.original_max_position_embeddings, s.max_position_embeddings, s.factor,
                s.attention_factor, s.short_mscale, s.long_mscale);
    }
    void add(const rope::schedule::Proportional& s) { (*this)(s.partial_rotary_factor, s.factor); }
    void add(const rope::schedule::Axial& s) { add(s.axes); }
    template <class Other>
    void add(const Other&) {}  // schedules without parameters, and those that no config.json has

    std::uint64_t digest_ = 0;
};

/// What read_hf_config makes of a text: a model, or a refusal. Any other exception is for the fuzzer to report.
struct Outcome {
    std::optional<ModelConfig> model;
    std::uint64_t account = 0;
    std::string refusal;
    std::vector<std::string> warnings;

    explicit Outcome(const std::string& text, std::optional<Layout> layout = std::nullopt) {
        try {
            model = rope::read_hf_config(text, layout);
            account = Account(*model).digest();
            warnings = model->warnings;
        } catch (const std::invalid_argument& e) {
            refusal = e.what();
            check_sentence(refusal);
        }
    }
    bool says_the_same_as(const Outcome& other) const {
        return account == other.account && refusal == other.refusal && warnings == other.warnings;
    }
};

// ---- the same file in other words ----

/// One more member, which concerns nobody. Other than `text` in its first bytes only.
std::string with_unrelated_key(const std::string& text) {
    const std::size_t brace = text.find('{');
    return text.substr(0, brace + 1) + "\"an unrelated key\": [1, {\"x\": null}, \"y\"], " + text.substr(brace + 1);
}

void check_other_words(const std::string& text, const Outcome& first) {
    if (first.model && first.model->layers() > 4096) return;  // would only take long
    require(Outcome(text).says_the_same_as(first), "the same file reads the same");
    if (!first.model) return;
    // The blanks and the order of keys, and how strings and numbers are written, do not count. (Infinity is no JSON.)
    const Json json = Json::parse(text, nullptr, false);
    require(json.is_discarded() || Outcome(json.dump()).says_the_same_as(first),
            "what is the same in JSON reads the same");
    if (text.size() < rope::kMaxConfigBytes / 2 && text.find("unrelated") == text.npos)
        require(Outcome(with_unrelated_key(text)).says_the_same_as(first), "an unrelated key changes nothing");
    // A layout that is given is the layout of every rotary embedding, and nothing else changes.
    const Outcome given(text, Layout::interleaved);
    require(given.model.has_value(), "a given layout is no reason to refuse:", given.refusal);
    ModelConfig expected = *first.model;
    for (rope::Config& c : expected.configs) c.layout = Layout::interleaved;
    expected.reference_uses_other_layout = given.model->reference_uses_other_layout;
    require(Account(expected).digest() == given.account, "a given layout changes the layout only");
    // Deeper down the model is the same, but for the paths in its warnings.
    const Outcome deeper("{\"text_config\": " + text + "}");
    if (deeper.refusal.find("is nested too deep") != std::string::npos) return;
    require(deeper.account == first.account, "a model in text_config is the same:", deeper.refusal);
    require(deeper.warnings.size() == first.warnings.size(), "its warnings are as many");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const Outcome outcome(text);
    if (outcome.model) check_model(*outcome.model);
    check_other_words(text, outcome);
    return 0;
}
