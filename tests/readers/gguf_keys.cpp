// SPDX-License-Identifier: MIT
// Every key of a GGUF file is read, and its absence does what is documented. Wrong values have a test of their own,
// bad_gguf_files_are_refused.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/schedules.hpp"
#include "support/readers/gguf.hpp"
#include "support/readers/head_steps.hpp"

using rope::Config;
using rope::GgufValue;
using rope::Index;
using rope::LayerType;
using rope::Layout;
using rope::ModelConfig;
using support::check_frequencies;
using support::GgufFile;
using support::Ints;
using support::published;
using support::warns_of;

namespace {

rope::schedule::Yarn yarn_schedule() {
    rope::schedule::Yarn s;
    s.factor = 4.0;
    s.original_max_position_embeddings = 2048;
    return s;
}
Config with(const rope::Schedule& schedule) {
    Config c = published(64, 500000.0, Layout::half_split);
    c.schedule = schedule;
    return c;
}
double magnitude(const GgufFile& file) { return rope::frequencies(*file.read().layer(0)).attention_factor; }
/// 1 + 0.1 k ln 4.
double g(double k) { return support::yarn_g(4.0, k).to_double(); }

}  // namespace

TEST_CASE("lengths, heads and dimensions") {
    for (const GgufValue& four : {GgufValue(std::int64_t(4)), GgufValue(std::uint64_t(4)), GgufValue(4.0)})
        CHECK(support::small_model().set("block_count", four).read().layers() == 4);
    CHECK(support::small_model().read().max_position_embeddings == 8192);
    CHECK(support::small_model().without("context_length").read().max_position_embeddings == 0);

    CHECK(support::small_model().read().heads[3].k == 8);
    CHECK(support::small_model().set("attention.head_count_kv", 2).read().heads[3].k == 2);
    CHECK(support::small_model().set("attention.head_count_kv", 2).read().heads[3].v == 2);
    const ModelConfig model = support::small_model()
                                  .set("attention.head_count", Ints{8, 4, 8, 8})
                                  .set("attention.head_count_kv", Ints{2, 4, 0, 1})
                                  .read();
    CHECK(model.heads[1].q == 4);
    CHECK(model.heads[1].k == 4);
    CHECK(model.heads[2].q == 0);
    CHECK(model.layer_types[2] == LayerType::no_attention);
    CHECK(model.layer(2) == nullptr);
    CHECK(model.heads[3].k == 1);

    const auto first = [](const GgufFile& file) { return *file.read().layer(0); };
    CHECK(first(support::small_model()).head_dim == 64);
    CHECK(first(support::small_model()).rotary_dim == 0);
    CHECK(first(support::small_model().set("attention.key_length", 128)).head_dim == 128);
    CHECK(first(support::small_model().set("attention.value_length", 128)).head_dim == 64);
    CHECK(first(support::small_model().set("rope.dimension_count", 32)).rotary_dim == 32);
    CHECK(first(support::small_model().set("rope.dimension_count", 32)).head_dim == 64);
    CHECK(first(support::small_model().set("rope.dimension_count", 64)).rotary_dim == 0);
    // Latent attention, by its key: the part that turns is the whole of a tensor.
    const ModelConfig latent =
        support::small_model().set("attention.key_length_mla", 192).set("rope.dimension_count", 32).read();
    CHECK(latent.layer(0)->head_dim == 32);
    CHECK(latent.heads[0].k == 1);
    CHECK(latent.heads[0].v == 8);

    const auto dims = [](const char* key, int value) { return support::small_model().set(key, value).refused(); };
    const std::string rule = "; so many features rotate, which must be an even number from 2 to those of a head (";
    CHECK(dims("rope.dimension_count", 66) == "qwen2.rope.dimension_count is 66" + rule + "64).");
    CHECK(dims("rope.dimension_count", 33) == "qwen2.rope.dimension_count is 33" + rule + "64).");
    CHECK(dims("attention.key_length", 65) == "qwen2.attention.key_length is 65" + rule + "65).");
    CHECK(dims("attention.key_length", 1) == "qwen2.attention.key_length is 1" + rule + "1).");

    const GgufFile sliding = support::small_model("gemma2");
    CHECK(first(sliding.with("attention.key_length_swa", 128)).head_dim == 128);
    CHECK(first(sliding.with("rope.dimension_count_swa", 32)).rotary_dim == 32);
    CHECK(sliding.with("rope.dimension_count_swa", 32).read().layer(1)->rotary_dim == 0);
    CHECK(first(sliding.with("attention.key_length_swa", 128).with("rope.dimension_count", 64)).rotary_dim == 64);
    CHECK(sliding.with("rope.dimension_count_swa", 66).refused() ==
          "gemma2.rope.dimension_count_swa is 66" + rule + "64).");
    CHECK(sliding.with("attention.key_length_swa", 63).refused() ==
          "gemma2.attention.key_length_swa is 63" + rule + "63).");
}

TEST_CASE("which layers attend to what") {
    const auto types = [](const GgufFile& file) {
        std::string letters;
        for (const LayerType type : file.read().layer_types) letters += "fscizlx-"[static_cast<int>(type)];
        return letters;
    };
    const GgufFile file = support::small_model().set("attention.sliding_window", 512);
    CHECK(types(file) == "ffff");
    CHECK(types(file.with("attention.sliding_window_pattern", 2)) == "sfsf");
    CHECK(types(file.with("attention.sliding_window_pattern", 1)) == "ffff");
    CHECK(types(file.with("attention.sliding_window_pattern", 0)) == "ssss");
    CHECK(types(file.with("attention.sliding_window_pattern", Ints{0, 1, 1, 0})) == "fssf");
    CHECK(types(file.with("attention.sliding_window_pattern", 2).with("attention.sliding_window", 0)) == "ffff");
    CHECK(types(support::small_model().set("attention.sliding_window_pattern", 2)) == "ffff");
    CHECK(types(support::small_model("gemma2").set("attention.sliding_window_pattern", 4)) == "sssf");
    CHECK(types(support::small_model("smallthinker")
                    .set("attention.sliding_window", 9)
                    .set("attention.sliding_window_pattern", 2)) == "fsfs");
    CHECK(types(support::small_model().set("attention.recurrent_layers", Ints{1, 0, 0, 1})) == "-ff-");
    CHECK(types(support::small_model().set("full_attention_interval", 2)) == "-f-f");
    CHECK(types(support::small_model("qwen3next")) == "---f");
    CHECK(types(support::small_model("qwen3next").set("full_attention_interval", 3)) == "--f-");
    CHECK(types(support::small_model("qwen3next").set("nextn_predict_layers", 2)) == "--ff");
}

TEST_CASE("attention.rope_pattern says which layers are rotated") {
    const auto rotated = [](const GgufFile& file, const Ints& pattern) {
        const ModelConfig model = GgufFile(file).set("attention.rope_pattern", pattern).read();
        Ints list;
        for (Index i = 0; i < model.layers(); ++i) list.push_back(model.layer(i) != nullptr ? 1 : 0);
        return list;
    };
    for (const char* name : {"llama", "smollm3", "granite_swa", "cohere2"}) {
        GgufFile file = support::small_model(name).set("attention.sliding_window", 512);
        file.set("attention.sliding_window_pattern", Ints{1, 0, 1, 0});
        for (const Ints& pattern : {Ints{1, 0, 0, 1}, Ints{0, 1, 1, 1}, Ints{0, 0, 0, 0}})
            CHECK(rotated(file, pattern) == pattern);
    }
    CHECK(rotated(support::small_model("qwen3next"), {1, 1, 1, 0}) == Ints{0, 0, 0, 0});
    // A layer at the end, which predicts a further token and is left out, is rotated.
    CHECK(rotated(support::small_model().set("nextn_predict_layers", 1), {1, 0, 0}) == Ints{1, 0, 0, 1});
}

TEST_CASE("scales and limits of heads") {
    const auto steps = [](const GgufFile& file) { return file.read().steps[3]; };
    CHECK(steps(support::small_model()).softmax_scale == 0.125);
    CHECK(steps(support::small_model().set("attention.key_length", 100)).softmax_scale == 0.1);
    GgufFile file = support::small_model("granite").set("attention.scale", 0.015625);
    CHECK(steps(file).softmax_scale == 0.015625);
    CHECK(steps(file.set("attention.scale", 0.0)).softmax_scale == 0.125);
    CHECK(steps(support::small_model("mimo2")
                    .set("attention.sliding_window", 128)
                    .set("attention.sliding_window_pattern", Ints{0, 0, 0, 1})
                    .set("attention.key_length_swa", 100))
              .softmax_scale == 0.1);
    const auto number = [](const auto& list, rope::HeadStepKind kind) { return support::step(list, kind).number; };
    file = support::small_model("olmo").set("attention.clamp_kqv", 8.0);
    CHECK((support::order_of(steps(file).k) == "cr" && number(steps(file).k, rope::HeadStepKind::clamp) == 8.0));
    file = support::small_model().set("attention.value_scale", 0.5);
    CHECK((support::order_of(steps(file).v) == "f" && number(steps(file).v, rope::HeadStepKind::factor) == 0.5));
    CHECK(support::order_of(steps(support::small_model().set("attention.value_scale", 0.0)).v).empty());
    CHECK(support::norm(steps(support::small_model("qwen3")).q).eps == 1e-6);
    file = support::small_model("qwen3").set("attention.layer_norm_rms_epsilon", 1e-5);
    CHECK(support::norm(steps(file).k).eps == 1e-5);
    // Latent attention multiplies more than the part that turns, and YaRN adds its factor.
    file = support::yarn_model("deepseek2").set("rope.dimension_count", 32).set("attention.key_length", 100);
    CHECK(steps(file).softmax_scale == 0.1);
    CHECK(steps(file.set("attention.key_length_mla", 64)).softmax_scale == 0.125);
    file.set("rope.scaling.yarn_log_multiplier", double(0.1f));
    CHECK(steps(file).softmax_scale == Approx(0.125 * g(1.0) * g(1.0)));
}

TEST_CASE("bases") {
    check_frequencies(support::small_model().read().layer(0), published(64, 500000.0, Layout::half_split));
    check_frequencies(support::small_model().set("rope.freq_base", 250000).read().layer(0),
                      published(64, 250000.0, Layout::half_split));
    const ModelConfig model = support::small_model().without("rope.freq_base").read();
    check_frequencies(model.layer(0), published(64, 10000.0, Layout::half_split));
    CHECK(model.warnings ==
          std::vector<std::string>{"qwen2.rope.freq_base is missing; 10000 was taken, the default of GGUF."});

    const ModelConfig own = support::small_model("gemma2").set("rope.freq_base_swa", 20000.0).read();
    check_frequencies(own.layer(0), published(64, 20000.0, Layout::half_split));
    check_frequencies(own.layer(1), published(64, 500000.0, Layout::half_split));
    CHECK(support::small_model("gemma2").read().configs.size() == 1);
    CHECK(support::small_model("gemma2").set("rope.freq_base_swa", 500000.0).read().configs.size() == 1);
    CHECK(warns_of(support::small_model().set("rope.freq_base_swa", 20000.0).read(),
                   "qwen2.rope.freq_base_swa was not used: no layer has a sliding window and RoPE."));
    for (const char* name : {"gemma3", "gemma3n", "gemma-embedding", "modern-bert", "plamo3"})
        CHECK(warns_of(support::small_model(name).set("attention.sliding_window", 512).read(),
                       std::string(name) + ".rope.freq_base_swa is missing; 10000 was taken, the default of "));
}

TEST_CASE("linear scaling") {
    for (const char* key : {"rope.scaling.factor", "rope.scale_linear"}) {
        for (const GgufFile& file :
             {support::small_model(), support::small_model().set("rope.scaling.type", "linear")}) {
            CHECK(file.with(key, 4.0).read().layer(0)->interpolation_factor == 4.0);
            CHECK(file.with(key, 4.0).read().warnings.empty());
        }
        const ModelConfig none = support::small_model().set("rope.scaling.type", "none").set(key, 4.0).read();
        CHECK(none.layer(0)->interpolation_factor == 1.0);
        CHECK(warns_of(none, std::string("qwen2.") + key + " was not used: rope.scaling.type is none."));
    }
    CHECK(support::small_model().read().layer(0)->interpolation_factor == 1.0);
    CHECK(support::small_model().set("rope.scaling.type", "none").read().warnings.empty());
    ModelConfig model = support::small_model().set("rope.scaling.factor", 4.0).set("rope.scale_linear", 2.0).read();
    CHECK(model.layer(0)->interpolation_factor == 4.0);
    CHECK(warns_of(model, "qwen2.rope.scale_linear was not used: rope.scaling.factor is there, too."));
    CHECK(support::small_model().set("rope.scaling.factor", 4.0).set("rope.scale_linear", 4.0).read().warnings.empty());
    CHECK(magnitude(support::small_model().set("rope.scaling.attn_factor", 1.25)) == 1.25);
    CHECK(magnitude(support::small_model().set("rope.scaling.type", "none").set("rope.scaling.attn_factor", 1.25)) ==
          1.25);
    for (const char* key :
         {"rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow", "rope.scaling.yarn_ext_factor",
          "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_log_multiplier"}) {
        model = support::small_model().set(key, 1.0).read();
        CHECK(model.warnings ==
              std::vector<std::string>{std::string("qwen2.") + key + " was not used: rope.scaling.type is not yarn."});
        check_frequencies(model.layer(0), with({}));
    }
}

TEST_CASE("YaRN") {
    rope::schedule::Yarn s = yarn_schedule();
    check_frequencies(support::yarn_model().read().layer(0), with(s));
    CHECK(support::yarn_model().read().warnings.empty());
    CHECK(magnitude(support::yarn_model()) == g(1.0));
    const auto reads = [](const char* key, double value, const rope::schedule::Yarn& expected) {
        CAPTURE(key);
        check_frequencies(support::yarn_model().set(key, value).read().layer(0), with(expected));
    };
    s.beta_fast = 16.0;
    reads("rope.scaling.yarn_beta_fast", 16.0, s);
    s = yarn_schedule();
    s.beta_slow = 3.0;
    reads("rope.scaling.yarn_beta_slow", 3.0, s);
    s = yarn_schedule();
    s.extrapolation_factor = 0.5;
    reads("rope.scaling.yarn_ext_factor", 0.5, s);
    for (const double unset : {-1.0, -0x1p-20}) reads("rope.scaling.yarn_ext_factor", unset, yarn_schedule());
    s = yarn_schedule();
    s.attn_factor = 1.25;
    reads("rope.scaling.attn_factor", 1.25, s);
    s = yarn_schedule();
    s.mscale = 1.0;
    s.mscale_all_dim = double(0.05f / 0.1f);
    reads("rope.scaling.yarn_log_multiplier", 0.05, s);
    CHECK(magnitude(support::yarn_model().set("rope.scaling.yarn_log_multiplier", 0.1)) == 1.0);
    CHECK(magnitude(support::yarn_model().set("rope.scaling.yarn_log_multiplier", 0.0)) == g(1.0));
    CHECK(support::yarn_model().set("rope.scaling.yarn_log_multiplier", 0.1).read().softmax_scale_factor == 1.0);
    CHECK(support::yarn_model().set("rope.scaling.yarn_beta_slow", 33.0).refused() ==
          "qwen2.rope.scaling.yarn_beta_fast is 32; it must be at least beta_slow (33).");
    CHECK(support::yarn_model().set("rope.freq_base", 1.0).refused() ==
          "qwen2.rope.freq_base is 1; YaRN needs a base above 1, because it divides by its logarithm.");

    // Without the ramp, ggml's kernel has no magnitude of its own.
    s = yarn_schedule();
    s.extrapolation_factor = 0.0;
    s.magnitude = rope::schedule::YarnMagnitude::none;
    reads("rope.scaling.yarn_ext_factor", 0.0, s);
    CHECK(magnitude(support::yarn_model().set("rope.scaling.yarn_ext_factor", 0.0)) == 1.0);

    const ModelConfig model = support::yarn_model().without("rope.scaling.original_context_length").read();
    s = yarn_schedule();
    s.original_max_position_embeddings = 8192;
    check_frequencies(model.layer(0), with(s));
    CHECK(
        warns_of(model, "qwen2.rope.scaling.original_context_length is missing; 8192 was taken, the context_length."));
}

TEST_CASE("yarn_attn_factor is the whole magnitude, 1 among its values") {
    const auto file = [](double value) { return support::yarn_model().set("rope.scaling.yarn_attn_factor", value); };
    const std::string key = "qwen2.rope.scaling.yarn_attn_factor is ", own = "1.138629436111989";
    for (const auto& [value, shown] : {std::pair{1.0, "1"}, {0.5, "0.5"}, {2.0, "2"}}) {
        CHECK(magnitude(file(value)) == value);
        CHECK(file(value).read().warnings ==
              std::vector<std::string>{key + shown +
                                       " and was taken for the whole magnitude, the attention_factor of a config.json. "
                                       "llama.cpp does not read it and takes " +
                                       own + ": set attention_factor to that for keys of its caches."});
    }
    // YaRN's own magnitude, in float as a file has it, is no news.
    CHECK(magnitude(file(double(static_cast<float>(g(1.0))))) == g(1.0));
    CHECK(file(g(1.0)).read().warnings.empty());
    // The attn_factor of a config.json, where it makes the magnitude 1.
    CHECK(magnitude(file(double(static_cast<float>(1.0 / g(1.0))))) == 1.0);
    CHECK(warns_of(file(0.87824885).read(), key + "0.87824885 and makes YaRN's own magnitude, " + own + ", 1;"));
    // The whole magnitude is not multiplied.
    const auto multiplied = [&](double value) { return file(value).set("rope.scaling.attn_factor", 0.75); };
    CHECK(magnitude(multiplied(1.0)) == 1.0);
    CHECK(warns_of(multiplied(1.0).read(), "qwen2.rope.scaling.attn_factor was not used"));
    CHECK(magnitude(multiplied(0.75 * g(1.0))) == 0.75 * g(1.0));
    CHECK(multiplied(0.75 * g(1.0)).read().warnings.empty());
    // Without the ramp YaRN's own magnitude is 1.
    CHECK(magnitude(file(0.5).set("rope.scaling.yarn_ext_factor", 0.0)) == 0.5);
    CHECK(file(1.0).set("rope.scaling.yarn_ext_factor", 0.0).read().warnings.empty());
}

TEST_CASE("tensors of factors") {
    const auto has_tensors = [](std::size_t freqs, std::size_t longer, std::size_t shorter, const char* type) {
        GgufFile file = support::small_model().set("rope.scaling.attn_factor", 1.5);
        if (*type != '\0') file.set("rope.scaling.type", type).set("rope.scaling.factor", 4.0);
        file.set("rope.scaling.original_context_length", 2048);
        file.tensors = {std::vector<float>(freqs, 2.0f), std::vector<float>(longer, 3.0f),
                        std::vector<float>(shorter, 5.0f)};
        return file;
    };
    rope::schedule::LongRope s;
    s.long_factor.assign(32, 3.0);
    s.short_factor.assign(32, 5.0);
    s.original_max_position_embeddings = 2048;
    s.attention_factor = 1.5;
    for (const char* type : {"", "longrope"}) {
        const ModelConfig model = has_tensors(0, 32, 32, type).read();
        check_frequencies(model.layer(0), with(s), 2048);
        check_frequencies(model.layer(0), with(s), 2049);
        CHECK(warns_of(model, "qwen2.rope.scaling.factor was not used: rope.scaling.type is longrope.") ==
              (*type != 0));
    }
    const ModelConfig divided = has_tensors(32, 0, 0, "").read();
    Config c = with(rope::schedule::FreqFactors{std::vector<double>(32, 2.0)});
    c.attention_factor = 1.5;
    check_frequencies(divided.layer(0), c);

    const std::string with_type = "; with qwen2.rope.scaling.type ";
    CHECK(has_tensors(0, 0, 0, "longrope").refused() ==
          "rope_factors_long.weight has 0 entries" + with_type + "longrope it must have one per pair.");
    CHECK(has_tensors(0, 32, 0, "longrope").refused() ==
          "rope_factors_short.weight has 0 entries" + with_type + "longrope it must have one per pair.");
    CHECK(has_tensors(0, 0, 32, "").refused() ==
          "rope_factors_long.weight has 0 entries" + with_type + "longrope it must have one per pair.");
    CHECK(has_tensors(0, 31, 32, "").refused() ==
          "rope_factors_long.weight has 31 entries; it must have one per pair (32).");
    CHECK(has_tensors(0, 32, 33, "").refused() ==
          "rope_factors_short.weight has 33 entries; it must have one per pair (32).");
    for (const std::string type : {"none", "linear", "yarn"}) {
        CHECK(has_tensors(0, 32, 32, type.c_str()).refused() ==
              "rope_factors_long.weight has 32 entries" + with_type + type + " there must be none.");
        CHECK(has_tensors(0, 0, 32, type.c_str()).refused() ==
              "rope_factors_short.weight has 32 entries" + with_type + type + " there must be none.");
    }
    CHECK(has_tensors(32, 0, 0, "yarn").refused() ==
          "rope_freqs.weight has 32 entries" + with_type + "yarn there must be none.");
    CHECK(has_tensors(32, 32, 32, "longrope").refused() ==
          "rope_freqs.weight has 32 entries" + with_type + "longrope there must be none.");
    CHECK(has_tensors(31, 0, 0, "").refused() == "rope_freqs.weight has 31 entries; it must have one per pair (32).");
    GgufFile file = has_tensors(32, 0, 0, "");
    file.tensors.rope_freqs[7] = 0.0f;
    CHECK(file.refused() == "rope_freqs.weight[7] is 0; it must be from 2^-32 to 1e300.");
    file.tensors.rope_freqs[7] = std::numeric_limits<float>::infinity();
    CHECK(file.refused() == "rope_freqs.weight[7] is inf; it must be from 2^-32 to 1e300.");
    file.tensors.rope_freqs[7] = 1.0f;
    CHECK(file.set("rope.scaling.alpha", 2.0).refused() ==
          "rope_freqs.weight has 32 entries; with qwen2.rope.scaling.alpha there must be none.");
    CHECK(has_tensors(0, 32, 32, "").set("rope.scaling.original_context_length", 1).refused() ==
          "qwen2.rope.scaling.original_context_length is 1; it must be from 2 to 2^40.");
    CHECK(warns_of(has_tensors(0, 32, 32, "").set("rope.scaling.alpha", 2.0).read(),
                   "qwen2.rope.scaling.alpha was not used: rope.scaling.type is longrope."));
}

TEST_CASE("sections") {
    const auto file = [](const char* name, const Ints& list) {
        return support::small_model(name).set("rope.dimension_sections", list);
    };
    for (const Ints& list : {Ints{8, 12, 12, 0}, Ints{8, 8, 8, 8}})
        CHECK(file("qwen2vl", list).read().axis_map.axis_of ==
              rope::mrope_sections(std::vector<Index>(list.begin(), list.end())).axis_of);
    const std::string rule = "; there must be 2 to 4 with as many pairs as rotate (32).";
    const auto refused = [&](const Ints& list) { return file("qwen2vl", list).refused(); };
    CHECK(refused({8, 12, 13, 0}) == "qwen2vl.rope.dimension_sections has 3 sections with a sum of 33" + rule);
    CHECK(refused({32, 0, 0, 0}) == "qwen2vl.rope.dimension_sections has 1 sections with a sum of 32" + rule);
    CHECK(refused({8, 8, 8, 4, 4}) == "qwen2vl.rope.dimension_sections has 5 sections with a sum of 32" + rule);
    CHECK(refused({}) == "qwen2vl.rope.dimension_sections has 0 sections with a sum of 0" + rule);
    const ModelConfig model = file("qwen2", {8, 12, 12, 0}).read();
    CHECK(model.axis_map.axis_of.empty());
    CHECK(warns_of(model, "qwen2.rope.dimension_sections was not used: architecture qwen2 is not known to have "));
    CHECK(file("qwen2", {0, 0, 0, 0}).read().warnings.empty());
}

TEST_CASE("the temperature of attention") {
    const GgufFile file = support::small_model().set("attention.temperature_scale", 0.25);
    CHECK(file.read().attention_temperature.scale == 0.25);
    CHECK(file.read().attention_temperature.period == 8192.0);
    CHECK(file.with("rope.scaling.original_context_length", 2048).read().attention_temperature.period == 2048.0);
    CHECK(file.with("attention.temperature_length", 1024).read().attention_temperature.period == 1024.0);
    CHECK(file.with("attention.temperature_scale", 0.0).read().attention_temperature.scale == 0.0);
    CHECK(support::small_model().read().attention_temperature.scale == 0.0);
    CHECK(warns_of(support::small_model().set("attention.temperature_length", 1024).read(),
                   "qwen2.attention.temperature_length was not used: attention.temperature_scale is missing or 0."));
}
