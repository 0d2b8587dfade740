// SPDX-License-Identifier: MIT
// The keys of a config.json: for each, two values and what they must come to, what its absence means, and values that
// must be refused.
#pragma once

#include <rope/core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../exact/mpfr.hpp"

namespace support::hf {

using rope::Index;
using rope::ModelConfig;

// ---- what the table looks at ----

using rope::AttentionTemperature;
using rope::Config;
using rope::HeadCounts;
using rope::schedule::DynamicNtk;
using rope::schedule::Llama3;
using rope::schedule::LongRope;
using rope::schedule::Ntk;
using rope::schedule::Proportional;
using rope::schedule::Yarn;

using Look = double (*)(const ModelConfig&);

inline double number(const std::optional<double>& x) { return x.value_or(-1.0); }
template <class T>
double number(const T& x) {
    return static_cast<double>(x);
}
/// A member of the model, or of what belongs to its first layer.
template <class T, class Of>
double member_of(const ModelConfig& m, T Of::*member) {
    if constexpr (std::is_same_v<Of, ModelConfig>)
        return number(m.*member);
    else if constexpr (std::is_same_v<Of, AttentionTemperature>)
        return number(m.attention_temperature.*member);
    else if constexpr (std::is_same_v<Of, HeadCounts>)
        return number(m.heads[0].*member);
    else if constexpr (std::is_same_v<Of, Config>)
        return number((*m.layer(0)).*member);
    else
        return number(std::get<Of>(m.layer(0)->schedule).*member);
}
template <auto member>
double of(const ModelConfig& m) {
    return member_of(m, member);
}

inline double layers(const ModelConfig& m) { return number(m.layers()); }
inline double rotated_layers(const ModelConfig& m) {
    double count = 0.0;
    for (Index i = 0; i < m.layers(); ++i) count += m.layer(i) != nullptr ? 1.0 : 0.0;
    return count;
}
template <rope::LayerType type>
double layers_of(const ModelConfig& m) {
    return number(std::count(m.layer_types.begin(), m.layer_types.end(), type));
}
constexpr Look kSliding = &layers_of<rope::LayerType::sliding_attention>;
constexpr Look kIdle = &layers_of<rope::LayerType::no_attention>;
inline double last_keys(const ModelConfig& m) { return number(m.heads[3].k); }
inline double last_head_dim(const ModelConfig& m) { return number(m.layer(3)->head_dim); }
inline double last_base(const ModelConfig& m) { return m.layer(3)->base; }
inline double turning(const ModelConfig& m) {
    return number(m.layer(0)->rotary_dim != 0 ? m.layer(0)->rotary_dim : m.layer(0)->head_dim);
}
inline double layout(const ModelConfig& m) { return number(static_cast<int>(*m.layer(0)->layout)); }
inline double which_schedule(const ModelConfig& m) { return number(m.layer(0)->schedule.index()); }
inline double magnitude(const ModelConfig& m) { return rope::frequencies(*m.layer(0)).attention_factor; }
inline double second_section(const ModelConfig& m) {
    const auto& axes = m.axis_map.axis_of;
    return axes.empty() ? -1.0 : number(std::count(axes.begin(), axes.end(), 1));
}
/// Whether the second pair follows the second axis.
inline double is_in_turn(const ModelConfig& m) {
    return m.axis_map.axis_of.size() > 1 ? number(m.axis_map.axis_of[1]) : 0.0;
}
inline double second_short(const ModelConfig& m) { return std::get<LongRope>(m.layer(0)->schedule).short_factor[1]; }
inline double second_long(const ModelConfig& m) { return std::get<LongRope>(m.layer(0)->schedule).long_factor[1]; }

// ---- values that are refused ----

/// The value as it stands in the file, as a sentence shows it, what must be there; and what the path goes on with.
struct Bad {
    std::string text, shown, allowed, element = {};
};
using Bads = std::vector<Bad>;

inline Bads of_other_types(const std::string& allowed, Bads more) {
    for (const auto& [text, shown] : std::vector<std::pair<const char*, const char*>>{
             {"\"2\"", "\"2\""}, {"[2]", "a list of 1"}, {"{\"a\":2}", "an object"}, {"true", "true"}})
        more.push_back({text, shown, allowed});
    more.push_back({"1e400", "1e400", "a number that a double can hold"});
    more.push_back({"-1e400", "-1e400", "a number that a double can hold"});
    return more;
}
inline Bads numbers(const std::string& allowed, const std::vector<std::string>& values) {
    Bads bads;
    for (const std::string& value : values) bads.push_back({value, value, allowed});
    return of_other_types(allowed, bads);
}
inline Bads counts(const std::string& allowed, const std::string& too_many) {
    return numbers(allowed, {"0", "-8", "8.5", "1e+300", too_many});
}
inline Bads lists(Bads more) {
    for (const auto& [text, shown] : std::vector<std::pair<const char*, const char*>>{
             {"\"2\"", "\"2\""}, {"2", "2"}, {"{\"a\":2}", "an object"}, {"true", "true"}})
        more.push_back({text, shown, "a list"});
    return more;
}

inline const Bads kCounts = counts("a whole number from 1 to 2^40", "1099511627777");
inline const Bads kLayerCounts = counts("a whole number from 1 to 16384", "16385");
inline const Bads kHeadDims = counts("a whole number from 1 to 2^20", "1048577");
inline const std::string kFactorRange = "a number from 2^-32 to 2^32";
inline const Bads kFactors = numbers(kFactorRange, {"0", "-2", "1e+300", "1e-300", "4294967297"});
inline const Bads kFactorsFromOne = numbers("a number from 1 to 2^32", {"0", "-2", "0.5", "1e+300"});
inline const Bads kNumbers = numbers("a number from -2^32 to 2^32", {"1e+300", "-1e+300", "4294967297"});
inline const Bads kParts = numbers("a number from 0 to 1", {"-0.5", "1.0000001", "2", "1e+300"});
inline const Bads kCountsOrNone = numbers("a whole number from 0 to 2^40", {"-8", "8.5", "1e+300", "1099511627777"});
inline const Bads kFractions = numbers("a number above 0 and at most 1", {"0", "-0.5", "1.0000001", "2", "1e+300"});
inline const Bads kBases = numbers("a number above 0 and at most 2^1000", {"0", "-10000", "1e+302"});
inline const Bads kBasesByLayer = [] {  // a list is one with an entry per layer
    Bads bads = kBases;
    bads.erase(std::remove_if(bads.begin(), bads.end(), [](const Bad& b) { return b.text == "[2]"; }), bads.end());
    return bads;
}();
inline const Bads kTruths = {{"\"true\"", "\"true\"", "true or false"},
                             {"1", "1", "true or false"},
                             {"0.5", "0.5", "true or false"},
                             {"[true]", "a list of 1", "true or false"},
                             {"{}", "an object", "true or false"}};
inline const Bads kObjects = {{"\"linear\"", "\"linear\"", "an object"},
                              {"2", "2", "an object"},
                              {"[2]", "a list of 1", "an object"},
                              {"true", "true", "an object"}};
inline const std::string kRopeTypes =
    "one of default, linear, dynamic, ntk, yarn, deepseek_yarn, longrope, su, llama3, "
    "proportional, axial, mrope, xdrope or a word of one family";
inline const Bads kTypes = {
    {"2", "2", "a string"},          {"true", "true", "a string"},         {"[\"yarn\"]", "a list of 1", "a string"},
    {"{}", "an object", "a string"}, {"\"YaRN\"", "\"YaRN\"", kRopeTypes}, {"\"\"", "\"\"", kRopeTypes}};
inline const std::string kDivisorRange = "a number from 2^-32 to 1e300";
inline const Bads kDivisors = lists({{"[1,0]", "0", kDivisorRange, "[1]"},
                                     {"[\"1\",1]", "\"1\"", kDivisorRange, "[0]"},
                                     {"[1,null]", "null", kDivisorRange, "[1]"},
                                     {"[1,-1]", "-1", kDivisorRange, "[1]"},
                                     {"[1,1e302]", "1e+302", kDivisorRange, "[1]"},
                                     {"[1,1e400]", "1e400", "a number that a double can hold", "[1]"}});
inline const std::string kSectionRange = "a whole number from 0 to 2^40";
inline const Bads kSections = lists({{"[16,-8,24]", "-8", kSectionRange, "[1]"},
                                     {"[16,8,8.5]", "8.5", kSectionRange, "[2]"},
                                     {"[true,16,16]", "true", kSectionRange, "[0]"},
                                     {"[16,\"8\",8]", "\"8\"", kSectionRange, "[1]"}});
inline const std::string kFlagRange = "0 (no RoPE) or 1 (RoPE)";
inline const Bads kFlags = lists({{"[1,1,2,1]", "2", kFlagRange, "[2]"},
                                  {"[1,1,-1,1]", "-1", kFlagRange, "[2]"},
                                  {"[1,1,0.5,1]", "0.5", kFlagRange, "[2]"},
                                  {"[true,1,1,1]", "true", kFlagRange, "[0]"}});

// ---- the table ----

/// What a missing key, or one that is null, means: a value without a word, one with a warning, or an error. In paths, @
/// is that of the key, $ that of the rotary parameters, ^ what is before the keys of the language model.
struct Absence {
    std::optional<double> value;
    std::string sentence;
};
inline Absence silently(double value) { return {value, ""}; }
inline Absence warns(double value, const std::string& sentence) { return {value, sentence}; }
inline Absence error(const std::string& sentence) { return {std::nullopt, sentence}; }
inline Absence needed_by(const std::string& what) { return error("@ is missing; " + what + " needs it."); }

struct Key {
    std::string path;
    Look look;
    std::string one;
    double from_one;
    std::string other;
    double from_other;
    Absence absence;
    Bads bads;
    std::string model;      ///< the rest of the file, beyond kPlain; $ are the rotary parameters, null removes
    std::string note = {};  ///< the warning of a file with the key
};

inline const char* const kPlain = R"({"model_type": "arcee", "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 2, "hidden_size": 512, "max_position_embeddings": 4096, "rope_theta": 20000})";
inline const std::string kMixed =
    R"("layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"])";
inline const std::string kGemma4 =
    R"("model_type": "embedding_gemma2_text", "head_dim": 64, "per_layer_config": {}, "rope_local_base_freq": 10000, )" +
    kMixed;
inline const std::string kYarnModel =
    R"("$": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 1024})";
inline const std::string kYarnOfLength = R"("$": {"rope_type": "yarn", "factor": 4})";
inline const std::string kDeepSeek = R"("$": {"rope_type": "deepseek_yarn", "factor": 40,
    "original_max_position_embeddings": 1024})";
inline const std::string kLlama3Model = R"("$": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
    "high_freq_factor": 4, "original_max_position_embeddings": 8192})";
inline const std::string kLongModel = R"("hidden_size": 32, "$": {"rope_type": "longrope", "short_factor": [1, 2],
    "long_factor": [3, 4], "original_max_position_embeddings": 1024})";
inline const std::string kDynamicModel = R"("$": {"rope_type": "dynamic", "factor": 4})";
inline const std::string kLlama4Model = R"("model_type": "llama4_text", "head_dim": 64)";
inline const std::string kLlamaTheta = "^rope_theta is missing; 10000 was taken, the default of model_type \"arcee\".";
inline const std::string kLengthTaken = " is missing; 4096 was taken, the ^max_position_embeddings.";

/// g(f, k) of YaRN, squared.
inline double magnitude_squared(double f, double k) {
    const Real g = Real(1.0) + Real(k) * log(Real(f)) / Real(10.0);
    return (g * g).to_double();
}

inline std::vector<Key> keys() {
    const std::string no_theta = R"("rope_theta": null)";
    std::vector<Key> table = {
        // the shape of the model
        {"num_hidden_layers", layers, "3", 3, "16384", 16384, needed_by("every model"), kLayerCounts, ""},
        {"num_attention_heads", of<&HeadCounts::q>, "8", 8, "4", 4, needed_by("every model"), kCounts, ""},
        {"num_key_value_heads", of<&HeadCounts::k>, "1", 1, "4", 4, silently(8), kCounts, ""},
        {"num_global_key_value_heads", last_keys, "1", 1, "4", 4, silently(2), kCounts, kGemma4},
        {"multi_query", of<&HeadCounts::k>, "true", 1, "false", 2, silently(1), kTruths, R"("model_type": "falcon")"},
        {"new_decoder_architecture", of<&HeadCounts::k>, "true", 2, "false", 1, silently(1), kTruths,
         R"("model_type": "falcon", "multi_query": true)"},
        {"hidden_size", of<&Config::head_dim>, "512", 64, "1024.0", 128,
         error("^head_dim is missing; a model without hidden_size needs it."), kCounts, ""},
        {"head_dim", of<&Config::head_dim>, "96", 96, "1048576", 1048576, silently(64), kHeadDims, ""},
        {"global_head_dim", last_head_dim, "128", 128, "256", 256, silently(64), kHeadDims, kGemma4},
        {"qk_rope_head_dim", of<&Config::head_dim>, "64", 64, "32", 32, silently(128), kHeadDims, R"("head_dim": 128)"},
        {"qk_rope_head_dim", of<&HeadCounts::k>, "64", 1, "32", 1, silently(2), kHeadDims, ""},
        {"max_position_embeddings", of<&ModelConfig::max_position_embeddings>, "4096", 4096, "1099511627776",
         1099511627776, silently(0), kCounts, ""},
        {"max_position_embeddings", of<&DynamicNtk::max_position_embeddings>, "4096", 4096, "8192", 8192,
         needed_by("rope_type dynamic"), kCounts, kDynamicModel},
        // which layers turn
        {"layer_types", kSliding, R"(["full_attention", "sliding_attention", "linear_attention", "chunked_attention"])",
         1, R"(["sliding_attention", "sliding_attention", "mamba", "full_attention"])", 2, silently(0),
         lists({{R"(["full_attention", 2, "mamba", "mamba"])", "2", "a string", "[1]"}}), ""},
        {"no_rope_layers", rotated_layers, "[1, 1, 0, 1]", 3, "[0, 0, 0, 1]", 1, silently(3), kFlags,
         R"("model_type": "smollm3")"},
        {"no_rope_layers", rotated_layers, "[0, 0, 1, 0]", 1, "[]", 3, silently(3), kFlags, kLlama4Model},
        {"no_rope_layer_interval", rotated_layers, "2", 2, "3", 3, silently(3), kCounts, R"("model_type": "smollm3")"},
        {"_sliding_window_pattern", kSliding, "2", 2, "4", 3, silently(0), kCountsOrNone, ""},
        {"global_attn_every_n_layers", kSliding, "2", 2, "4", 3, silently(0), kCounts, ""},
        {"full_attention_interval", kIdle, "2", 2, "4", 3, silently(0), kCounts, ""},
        // the base, the part that turns, the layout
        {"rope_theta", of<&Config::base>, "500000", 500000, "1e6", 1e6, warns(10000, kLlamaTheta), kBasesByLayer, ""},
        {"$.rope_theta", of<&Config::base>, "500000", 500000, "1e6", 1e6, silently(20000), kBases, R"("$": {})",
         "^rope_theta was not used: @ is there, too."},
        {"rotary_emb_base", of<&Config::base>, "500000", 500000, "1e6", 1e6, warns(10000, kLlamaTheta), kBases,
         no_theta},
        {"rope_ratio", of<&Config::base>, "50", 500000, "50.0", 500000, silently(10000), kFactors,
         R"("model_type": "chatglm", "rope_theta": null)",
         "@ multiplied the base, which is right for ChatGLM3 and GLM-4. If the model is a ChatGLM2, set the base to "
         "10000 "
         "and interpolation_factor to 50: there it divides positions."},
        {"rope_local_base_freq", of<&Config::base>, "5000", 5000, "6000", 6000, silently(20000), kBases, kMixed},
        {"rope_local_base_freq", of<&Config::base>, "5000", 5000, "6000", 6000,
         warns(10000, "@ is missing; 10000 was taken, the default of model_type \"gemma3_text\"."), kBases,
         R"("model_type": "gemma3_text", "head_dim": 64, )" + kMixed},
        {"local_rope_theta", of<&Config::base>, "5000", 5000, "6000", 6000, silently(20000), kBases, kMixed},
        {"global_rope_theta", last_base, "5000", 5000, "6000", 6000, warns(10000, kLlamaTheta), kBases, no_theta},
        {"partial_rotary_factor", turning, "0.5", 32, "0.25", 16, silently(64), kFractions, R"("model_type": "phi3")"},
        {"partial_rotary_factor", turning, "1", 64, "0.25", 16,
         warns(32, "@ is missing; 0.5 was taken, the default of model_type \"phi\"."), kFractions,
         R"("model_type": "phi")"},
        {"rotary_dim", turning, "32", 32, "16", 16, silently(64), kCounts, R"("model_type": "phi3")"},
        {"rotary_dim", turning, "32", 32, "16", 16,
         warns(64, "@ is missing; 64 was taken, the default of model_type \"codegen\"."), kCounts,
         R"("model_type": "codegen", "head_dim": 128, "rope_theta": null)"},
        {"$.partial_rotary_factor", turning, "0.5", 32, "0.25", 16, silently(64), kFractions,
         R"("model_type": "phi3", "$": {})"},
        {"$.partial_rotary_factor", of<&Proportional::partial_rotary_factor>, "0.5", 0.5, "0.25", 0.25, silently(1),
         kFractions, R"("$": {"rope_type": "proportional"})"},
        {"rope_interleave", layout, "true", 0, "false", 1, silently(1), kTruths, ""},
        // objects
        {"rope_scaling", of<&Config::interpolation_factor>, R"({"type": "linear", "factor": 2})", 2,
         R"({"rope_type": "linear", "factor": 4})", 4, silently(1), kObjects, ""},
        {"rope_parameters", of<&Config::interpolation_factor>, R"({"rope_type": "linear", "factor": 2})", 2,
         R"({"full_attention": {"rope_type": "linear", "factor": 4}})", 4, silently(1), kObjects, ""},
        {"rope_parameters.full_attention",
         rotated_layers,
         R"({"rope_type": "linear", "factor": 2})",
         4,
         "null",
         3,
         error(""),
         {},
         R"("rope_parameters": {"sliding_attention": {}}, )" + kMixed},
        // rope_type, and what its schedules need
        {"$.rope_type", which_schedule, "\"default\"", 0, "\"axial\"", 7, silently(0), kTypes, R"("$": {})"},
        {"$.type", which_schedule, "\"default\"", 0, "\"axial\"", 7, silently(0), kTypes, R"("$": {})"},
        {"$.rope_type", which_schedule, "\"linear\"", 0, "\"proportional\"", 6, needed_by("factor"), kTypes,
         R"("$": {"factor": 2})"},
        {"$.factor", of<&Config::interpolation_factor>, "2", 2, "4.5", 4.5, needed_by("rope_type linear"), kFactors,
         R"("$": {"rope_type": "linear"})"},
        {"$.factor", of<&Ntk::factor>, "2", 2, "4.5", 4.5, needed_by("rope_type ntk"), kFactors,
         R"("$": {"rope_type": "ntk", "mixed_b": 1})"},
        {"$.factor", of<&DynamicNtk::factor>, "1", 1, "4.5", 4.5, needed_by("rope_type dynamic"), kFactorsFromOne,
         R"("$": {"rope_type": "dynamic"})"},
        {"$.alpha", of<&Ntk::factor>, "1000", 1000, "4.5", 4.5, needed_by("rope_type xdrope"), kFactors,
         R"("$": {"rope_type": "xdrope"})"},
        {"$.alpha", which_schedule, "1000", 1, "4.5", 1, silently(2), kFactors, kDynamicModel},
        {"$.factor", of<&Yarn::factor>, "2", 2, "4.5", 4.5, needed_by("rope_type yarn"), kFactors,
         R"("$": {"rope_type": "yarn"})", "$.original_max_position_embeddings" + kLengthTaken},
        {"$.beta_fast", of<&Yarn::beta_fast>, "16", 16, "64.5", 64.5, silently(32), kFactors, kYarnModel},
        {"$.beta_slow", of<&Yarn::beta_slow>, "2", 2, "0.5", 0.5, silently(1), kFactors, kYarnModel},
        {"$.attention_factor", of<&Yarn::attention_factor>, "2", 2, "0.5", 0.5, silently(-1), kFactors, kYarnModel},
        {"$.mscale", of<&Yarn::mscale>, "2", 2, "0", 0, silently(-1), kNumbers, kYarnModel},
        {"$.mscale_all_dim", of<&Yarn::mscale_all_dim>, "0.707", 0.707, "0", 0, silently(-1), kNumbers, kYarnModel},
        {"$.mscale_all_dim", of<&ModelConfig::softmax_scale_factor>, "1", magnitude_squared(40, 1), "0.707",
         magnitude_squared(40, 0.707), silently(1), kNumbers, kDeepSeek},
        {"$.truncate", of<&Yarn::truncate>, "true", 1, "false", 0, silently(1), kTruths, kYarnModel},
        {"$.extrapolation_factor", of<&Yarn::extrapolation_factor>, "0.5", 0.5, "0", 0, silently(1), kParts,
         kYarnModel},
        {"$.attn_factor", magnitude, "4", 4, "0.5", 0.5, silently(1), kFactors,
         R"("$": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 1024, "attention_factor": 1})",
         "@ multiplies the magnitude, as the model's authors mean it; transformers leaves it out."},
        {"$.apply_yarn_scaling", magnitude, "false", 1, "true", std::sqrt(magnitude_squared(4, 1)),
         silently(std::sqrt(magnitude_squared(4, 1))), kTruths, kYarnModel},
        {"original_max_position_embeddings", of<&Yarn::original_max_position_embeddings>, "1024", 1024, "2048", 2048,
         warns(4096, "$.original_max_position_embeddings" + kLengthTaken), kCounts, kYarnOfLength},
        {"$.original_max_position_embeddings", of<&Yarn::original_max_position_embeddings>, "1024", 1024, "2048", 2048,
         warns(4096, "@" + kLengthTaken), kCounts, kYarnOfLength},
        {"$.factor", of<&Llama3::factor>, "2", 2, "4.5", 4.5, needed_by("rope_type llama3"), kFactors, kLlama3Model},
        {"$.low_freq_factor", of<&Llama3::low_freq_factor>, "2", 2, "0.5", 0.5, needed_by("rope_type llama3"), kFactors,
         kLlama3Model},
        {"$.high_freq_factor", of<&Llama3::high_freq_factor>, "2", 2, "4.5", 4.5, needed_by("rope_type llama3"),
         kFactors, kLlama3Model},
        {"$.original_max_position_embeddings", of<&Llama3::original_max_position_embeddings>, "1024", 1024, "2048",
         2048, needed_by("rope_type llama3"), kCounts, kLlama3Model},
        {"$.short_factor", second_short, "[1, 5]", 5, "[1.5, 6.5]", 6.5, needed_by("rope_type longrope"), kDivisors,
         kLongModel},
        {"$.long_factor", second_long, "[1, 5]", 5, "[1.5, 6.5]", 6.5, needed_by("rope_type longrope"), kDivisors,
         kLongModel},
        {"$.original_max_position_embeddings", of<&LongRope::original_max_position_embeddings>, "2", 2, "2048", 2048,
         warns(4096, "@" + kLengthTaken), kCounts, kLongModel},
        {"$.factor", of<&LongRope::factor>, "2", 2, "4.5", 4.5, silently(-1), kFactors, kLongModel},
        {"$.attention_factor", of<&LongRope::attention_factor>, "2", 2, "0.5", 0.5, silently(-1), kFactors, kLongModel},
        {"$.short_mscale", of<&LongRope::short_mscale>, "2", 2, "0.5", 0.5, silently(-1), kFactors, kLongModel},
        {"$.long_mscale", of<&LongRope::long_mscale>, "2", 2, "0.5", 0.5, silently(-1), kFactors, kLongModel},
        {"$.factor", of<&Proportional::factor>, "2", 2, "4.5", 4.5, silently(1), kFactors,
         R"("$": {"rope_type": "proportional"})"},
        // axes and temperature
        {"$.mrope_section", second_section, "[16, 8, 8]", 8, "[22, 10]", 10, silently(-1), kSections, R"("$": {})"},
        {"$.mrope_section", second_section, "[16, 8, 8]", 8, "[8, 12, 0, 12]", 12, needed_by("rope_type mrope"),
         kSections, R"("$": {"type": "mrope"})"},
        {"$.xdrope_section", second_section, "[8, 8, 8, 8]", 8, "[16, 6, 6, 4]", 6, silently(-1), kSections,
         R"("$": {"rope_type": "xdrope", "alpha": 2})"},
        {"$.mrope_interleaved", is_in_turn, "true", 1, "true", 1, silently(1), kTruths,
         R"("model_type": "qwen3_tts", "$": {"mrope_section": [16, 8, 8]})"},
        {"$.mixed_b", of<&Ntk::mixed_b>, "0.625", 0.625, "1", 1,
         warns(-1,
               "$.rope_type is \"ntk\", and the base was multiplied by factor to the power of d / (d - 2); GTE's "
               "models mean "
               "another formula by the word, schedule::Ntk with mixed_b 1."),
         kFactors, R"("$": {"rope_type": "ntk", "factor": 8})"},
        {"$.llama_4_scaling_beta", of<&AttentionTemperature::scale>, "0.25", 0.25, "0", 0, silently(0), kNumbers,
         kYarnModel},
        {"$.original_max_position_embeddings", of<&AttentionTemperature::period>, "1024", 1024, "2048", 2048,
         warns(4096, "@" + kLengthTaken), kCounts, R"("$": {"llama_4_scaling_beta": 0.25})"},
        {"attn_temperature_tuning",
         of<&AttentionTemperature::scale>,
         "4",
         0.1,
         "false",
         0,
         silently(0.1),
         {{"\"2\"", "\"2\"", "a number from -2^32 to 2^32"}, {"1e300", "1e+300", "a number from -2^32 to 2^32"}},
         kLlama4Model},
        {"attn_scale", of<&AttentionTemperature::scale>, "0.25", 0.25, "0.5", 0.5, silently(0.1), kNumbers,
         kLlama4Model},
        {"floor_scale", of<&AttentionTemperature::period>, "1024", 1024, "2048", 2048, silently(8192), kFactors,
         kLlama4Model},
    };
    // Other names of keys, with the key they stand for in the plain model.
    const std::map<std::string, std::vector<std::string>> aliases = {
        {"num_hidden_layers", {"n_layer", "n_layers", "num_layers"}},
        {"num_attention_heads", {"n_head", "n_heads"}},
        {"num_key_value_heads", {"num_kv_heads", "n_head_kv", "multi_query_group_num"}},
        {"hidden_size", {"n_embd", "d_model"}},
        {"head_dim", {"kv_channels", "attention_head_dim"}},
        {"max_position_embeddings", {"n_positions", "max_seq_len", "seq_length", "n_ctx", "model_max_length"}},
        {"partial_rotary_factor", {"rotary_pct", "rope_pct", "rotary_emb_fraction"}}};
    const std::size_t rows = table.size();
    for (std::size_t i = 0; i < rows; ++i)
        if (const auto found = aliases.find(table[i].path); found != aliases.end())
            for (const std::string& alias : found->second) {
                Key key = table[i];
                key.path = alias;
                key.model += (key.model.empty() ? "\"" : ", \"") + found->first + "\": null";
                // An error or a warning of absence names the first of the names.
                if (key.absence.sentence.rfind("@", 0) == 0) key.absence.sentence.replace(0, 1, "^" + found->first);
                table.push_back(key);
            }
    return table;
}

}  // namespace support::hf
