// SPDX-License-Identifier: MIT
#include "describe.hpp"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <variant>

namespace inspect {
namespace {

using rope::Index;

[[gnu::format(printf, 1, 2)]] std::string format(const char* text, ...) {
    char line[512];
    std::va_list arguments;
    va_start(arguments, text);
    std::vsnprintf(line, sizeof(line), text, arguments);
    va_end(arguments);
    return line;
}

std::string shown(double x) { return format("%.10g", x); }
std::string shown(Index x) { return std::to_string(x); }
std::string shown(bool x) { return x ? "true" : "false"; }
std::string shown(const std::vector<double>& list) {
    if (list.empty()) return "none";
    return shown(list.front()) + " ... " + shown(list.back()) + " (" + std::to_string(list.size()) + ")";
}
template <class T>
std::string shown(const std::optional<T>& x) {
    return x ? shown(*x) : "not given";
}

/// name value, name value, ...
template <class T, class... Rest>
std::string list(const char* name, const T& value, const Rest&... rest) {
    std::string first = std::string(name) + " " + shown(value);
    if constexpr (sizeof...(rest) == 0) {
        return first;
    } else {
        return first + ", " + list(rest...);
    }
}

std::string source(rope::schedule::FactorSource s) {
    return s == rope::schedule::FactorSource::lengths ? ", factor from the lengths" : "";
}

struct Parameters {
    std::string operator()(const rope::schedule::Default&) const { return ""; }
    std::string operator()(const rope::schedule::Ntk& s) const {
        return list("factor", s.factor, "mixed_b", s.mixed_b);
    }
    std::string operator()(const rope::schedule::DynamicNtk& s) const {
        return list("factor", s.factor, "max_position_embeddings", s.max_position_embeddings);
    }
    std::string operator()(const rope::schedule::Yarn& s) const {
        static constexpr const char* magnitudes[] = {"standard", "DeepSeek's", "none"};
        return list("factor", s.factor, "original_max_position_embeddings", s.original_max_position_embeddings,
                    "beta_fast", s.beta_fast, "beta_slow", s.beta_slow, "truncate", s.truncate, "extrapolation_factor",
                    s.extrapolation_factor, "attention_factor", s.attention_factor, "mscale", s.mscale,
                    "mscale_all_dim", s.mscale_all_dim, "attn_factor", s.attn_factor, "log_coefficient",
                    s.log_coefficient, "max_position_embeddings", s.max_position_embeddings) +
               ", magnitude " + magnitudes[static_cast<int>(s.magnitude)] + source(s.factor_source);
    }
    std::string operator()(const rope::schedule::Llama3& s) const {
        return list("factor", s.factor, "low_freq_factor", s.low_freq_factor, "high_freq_factor", s.high_freq_factor,
                    "original_max_position_embeddings", s.original_max_position_embeddings);
    }
    std::string operator()(const rope::schedule::LongRope& s) const {
        return list("factor", s.factor, "original_max_position_embeddings", s.original_max_position_embeddings,
                    "max_position_embeddings", s.max_position_embeddings, "attention_factor", s.attention_factor,
                    "short_mscale", s.short_mscale, "long_mscale", s.long_mscale, "short_factor", s.short_factor,
                    "long_factor", s.long_factor) +
               source(s.factor_source);
    }
    std::string operator()(const rope::schedule::Proportional& s) const {
        return list("partial_rotary_factor", s.partial_rotary_factor, "factor", s.factor);
    }
    std::string operator()(const rope::schedule::Axial& s) const { return list("axes", s.axes); }
    std::string operator()(const rope::schedule::Xpos& s) const {
        return list("scale_base", s.scale_base, "centre", s.centre);
    }
    std::string operator()(const rope::schedule::FreqFactors& s) const { return list("freq_factors", s.freq_factors); }
    std::string operator()(const rope::schedule::Custom& s) const { return list("inv_freq", s.inv_freq); }
};

Index rotary_dim(const rope::Config& c) { return c.rotary_dim != 0 ? c.rotary_dim : c.head_dim; }

/// The layers for which `has` answers true, as "0-3, 5".
template <class Has>
std::string layers_where(const rope::ModelConfig& model, const Has& has) {
    std::string text;
    const auto is_one = [&](Index i) { return i < model.layers() && has(static_cast<std::size_t>(i)); };
    for (Index i = 0; i < model.layers(); ++i) {
        if (!is_one(i)) continue;
        Index last = i;
        while (is_one(last + 1)) ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(i) + (last > i ? "-" + std::to_string(last) : "");
        i = last;
    }
    return text.empty() ? "none" : text;
}

std::string describe(const rope::HeadNorm& norm) {
    static constexpr const char* kinds[] = {"no norm", "RMS", "L2", "LayerNorm"};
    static constexpr const char* weights[] = {", no weight", ", weight [head_dim]", ", weight [heads, head_dim]",
                                              " of all heads together, weight [heads * head_dim]"};
    return kinds[static_cast<int>(norm.kind)] + std::string(weights[static_cast<int>(norm.weight)]) +
           (norm.adds_one ? " + 1" : "") + (norm.has_bias ? " and bias" : "") + ", eps " + shown(norm.eps) +
           (norm.rounding == rope::NormRounding::normalised ? ", rounded before the weight" : "");
}
std::string describe(const rope::HeadStep& step) {
    switch (step.kind) {
        case rope::HeadStepKind::none: break;
        case rope::HeadStepKind::norm: return describe(step.norm);
        case rope::HeadStepKind::clamp: return "clamped to +-" + shown(step.number);
        case rope::HeadStepKind::factor: return "times " + shown(step.number);
        case rope::HeadStepKind::rotation: return "rotated";
        case rope::HeadStepKind::rotation_back: return "rotated back";
        case rope::HeadStepKind::temperature: return "times the attention temperature";
    }
    return "";
}
/// The steps in their order: "q RMS, no weight, eps 1e-06, then rotated".
std::string describe(const char* name, const rope::HeadStepList& steps) {
    std::string text;
    for (const rope::HeadStep& step : steps)
        if (step.kind != rope::HeadStepKind::none) text += (text.empty() ? "" : ", then ") + describe(step);
    return text.empty() ? "" : std::string(name) + " " + text + "; ";
}

/// The steps of layer `layer`.
std::string describe(const rope::HeadSteps& s, Index layer) {
    const std::string q = describe("", s.q), k = describe("", s.k);
    std::string text = q == k ? describe("q and k", s.q) : describe("q", s.q) + describe("k", s.k);
    text += describe("v", s.v) + describe("output", s.output);
    if (s.values_from_key_projection) text += "v comes from the projection of k; ";
    if (s.keys_are_values) text += "the keys are the values; ";
    if (s.has_other_steps) text += "further steps that are not described, such as learned factors; ";
    if (s.keys_of_layer != layer) text += "keys and values of layer " + shown(s.keys_of_layer) + "; ";
    return text + "scores times " + shown(s.softmax_scale);
}

std::string describe(const rope::Indexer& indexer) {
    const rope::Config& c = indexer.config;
    return "indexer: " + shown(indexer.heads) + " heads of " + shown(c.head_dim) + " features and one key, of which " +
           shown(rotary_dim(c)) + " from " + shown(c.rotary_offset) + " on rotate, " +
           (c.layout == rope::Layout::interleaved ? "interleaved; " : "half-split; ") + describe("q", indexer.q) +
           describe("k", indexer.k) + (indexer.has_hadamard ? "Hadamard transforms before fp8" : "no transform") + "\n";
}

std::string wavelength(double positions) {
    return std::isinf(positions) ? format("%14s", "does not turn") : format("%14.6g", positions);
}

}  // namespace

std::string parameters(const rope::Schedule& schedule) { return std::visit(Parameters(), schedule); }

std::string layers_with(const rope::ModelConfig& model, Index config) {
    return layers_where(model, [&](std::size_t i) { return model.config_of_layer[i] == config; });
}

std::string steps(const rope::ModelConfig& model) {
    std::map<std::string, std::vector<bool>> kinds;  // which layers have the same steps
    for (std::size_t i = 0; i < model.steps.size(); ++i) {
        std::vector<bool>& layers = kinds[model.layer_types[i] == rope::LayerType::no_attention
                                              ? ""
                                              : describe(model.steps[i], static_cast<Index>(i))];
        layers.resize(model.steps.size());
        layers[i] = true;
    }
    std::string text;
    for (const auto& [words, layers] : kinds)
        if (!words.empty())
            text += "layers " + layers_where(model, [&layers = layers](std::size_t i) { return layers[i]; }) + ": " +
                    words + "\n";
    if (model.indexer) text += describe(*model.indexer);
    return text;
}

std::vector<double> wavelengths(const rope::Frequencies& frequencies) {
    std::vector<double> result;
    for (const double w : frequencies.inv_freq)
        result.push_back(w == 0.0 ? std::numeric_limits<double>::infinity() : 2.0 * std::acos(-1.0) / std::fabs(w));
    return result;
}

Spectrum spectrum(const rope::Config& config, Index seq_len) {
    rope::Config plain = config;
    plain.schedule = rope::schedule::Default();
    plain.interpolation_factor = 1.0;
    Spectrum s = {config, rope::frequencies(config, seq_len), wavelengths(rope::frequencies(plain)), {}};
    s.after = wavelengths(s.frequencies);
    return s;
}

std::string describe(const Spectrum& s, Index positions) {
    const rope::Config& c = s.config;
    const Index d = rotary_dim(c), pairs = d / 2;
    const std::vector<double>& w = s.frequencies.inv_freq;
    const char* const layout = !c.layout                                ? "not known"
                               : *c.layout == rope::Layout::interleaved ? "interleaved, (x[2i], x[2i+1])"
                                                                        : "half_split, (x[i], x[i + rotary_dim/2])";
    const std::string values = parameters(c.schedule);
    std::string text = format("  layout             %s\n", layout);
    text +=
        format("  head_dim           %td, of which %td rotate, from feature %td on\n", c.head_dim, d, c.rotary_offset);
    if (c.is_reversed) text += "  direction          backwards: by minus the angle\n";
    if (c.has_log_scale)
        text += "  learned factors    e^log_scale of each frequency, which the weights hold: not below\n";
    text += format("  base               %.10g\n", c.base);
    text += std::string("  schedule           ") + rope::schedule_name(c.schedule) +
            (values.empty() ? "" : ": " + values) + "\n";
    if (c.interpolation_factor != 1.0) text += format("  interpolation      / %.10g\n", c.interpolation_factor);
    text += format("  attention factor   %.17g\n", s.frequencies.attention_factor);
    text += format("  inverse frequency  %.17g, %.17g, %.17g (first, middle, last pair)\n", w.front(),
                   w[static_cast<std::size_t>(pairs / 2)], w.back());
    const double bytes = static_cast<double>(positions) * static_cast<double>(d) * sizeof(float);
    text += format("  table              %.1f MiB for %td positions in float\n", bytes / 1048576.0, positions);

    Index incomplete = 0;
    text += "\n  pair   wavelength          scaled     ratio     turns in the context\n";
    for (Index i = 0; i < pairs; ++i) {
        const double before = s.before[static_cast<std::size_t>(i)], after = s.after[static_cast<std::size_t>(i)];
        const double turns = static_cast<double>(positions) / after;
        if (turns < 1.0) ++incomplete;
        text += format("  %4td %s %s  %8.4g  %14.6g%s\n", i, wavelength(before).c_str(), wavelength(after).c_str(),
                       after / before, turns, turns < 1.0 ? "  never completes one" : "");
    }
    text += format("  %td of %td pairs never complete a turn in %td positions.\n", incomplete, pairs, positions);
    return text;
}

}  // namespace inspect
