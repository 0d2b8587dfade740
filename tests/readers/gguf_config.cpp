// SPDX-License-Identifier: MIT
// The metadata of GGUF files of published models gives their rotations: layouts, frequencies and magnitudes as the
// formula has them, in every layer.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/schedules.hpp"
#include "support/readers/gguf.hpp"
#include "support/readers/head_steps.hpp"

using rope::Config;
using rope::Index;
using rope::LayerType;
using rope::Layout;
using rope::ModelConfig;
using support::agrees;
using support::check_frequencies;
using support::GgufFile;
using support::Ints;
using support::published;
using support::Real;
using support::warns_of;

namespace {

/// The divisors that conversions of Llama 3.1 store, in float, from its four numbers.
std::vector<float> llama3_factors(double base, Index d) {
    std::vector<float> factors;
    for (Index i = 0; i < d / 2; ++i) {
        const double wavelength = 2.0 * 3.14159265358979324 * std::pow(base, 2.0 * double(i) / double(d));
        if (wavelength < 8192.0 / 4.0) {
            factors.push_back(1.0f);
        } else if (wavelength > 8192.0 / 1.0) {
            factors.push_back(8.0f);
        } else {
            const double smooth = (8192.0 / wavelength - 1.0) / (4.0 - 1.0);
            factors.push_back(static_cast<float>(1.0 / ((1.0 - smooth) / 8.0 + smooth)));
        }
    }
    return factors;
}

GgufFile llama31() {
    GgufFile file("llama", {{"block_count", 32},
                            {"context_length", 131072},
                            {"embedding_length", 4096},
                            {"attention.head_count", 32},
                            {"attention.head_count_kv", 8},
                            {"rope.dimension_count", 128},
                            {"rope.freq_base", 500000.0}});
    file.tensors.rope_freqs = llama3_factors(500000.0, 128);
    return file;
}

GgufFile qwen3() {
    return {"qwen3",
            {{"block_count", 36},
             {"context_length", 40960},
             {"embedding_length", 4096},
             {"attention.head_count", 32},
             {"attention.head_count_kv", 8},
             {"attention.key_length", 128},
             {"attention.value_length", 128},
             {"rope.freq_base", 1000000.0}}};
}

GgufFile deepseek_v3() {
    return {"deepseek2",
            {{"block_count", 61},
             {"context_length", 163840},
             {"embedding_length", 7168},
             {"attention.head_count", 128},
             {"attention.head_count_kv", 1},
             {"attention.key_length", 576},
             {"attention.value_length", 512},
             {"attention.key_length_mla", 192},
             {"rope.dimension_count", 64},
             {"rope.freq_base", 10000.0},
             {"rope.scaling.type", "yarn"},
             {"rope.scaling.factor", 40.0},
             {"rope.scaling.original_context_length", 4096},
             {"rope.scaling.yarn_log_multiplier", double(0.1f)}}};
}

}  // namespace

TEST_CASE("Llama 3.1: rope_freqs divides, and is the schedule llama3") {
    const GgufFile file = llama31();
    const ModelConfig model = file.read();
    CHECK(model.model_type == "llama");
    CHECK(model.layers() == 32);
    CHECK(model.max_position_embeddings == 131072);
    CHECK(model.warnings.empty());
    CHECK(model.configs.size() == 1);
    CHECK(model.reference_uses_other_layout);
    CHECK(model.softmax_scale_factor == 1.0);
    CHECK(model.axis_map.axis_of.empty());
    CHECK(model.heads[31].q == 32);
    CHECK(model.heads[31].k == 8);
    CHECK(model.heads[31].v == 8);
    Config c = published(128, 500000.0, Layout::interleaved);
    std::vector<double> factors(file.tensors.rope_freqs.begin(), file.tensors.rope_freqs.end());
    c.schedule = rope::schedule::FreqFactors{factors};
    for (const Index i : {0, 31}) check_frequencies(model.layer(i), c);
    // What the file means is Llama 3's rule; the tensor has the precision of float.
    c.schedule = rope::schedule::Llama3{8.0, 1.0, 4.0, 8192};
    const support::RealFrequencies rule = support::real_frequencies(c);
    const rope::Frequencies f = rope::frequencies(*model.layer(0));
    for (std::size_t i = 0; i < 64; ++i) CHECK(agrees(f.inv_freq[i], rule.inv_freq[i], 1e-6));
    CHECK(factors.front() == 1.0);
    CHECK(factors.back() == 8.0);

    // Linear scaling beside it divides once more.
    const ModelConfig both = file.with("rope.scaling.type", "linear").set("rope.scaling.factor", 4.0).read();
    c.schedule = rope::schedule::FreqFactors{factors};
    c.interpolation_factor = 4.0;
    check_frequencies(both.layer(0), c);
    CHECK(both.layer(0)->interpolation_factor == 4.0);
}

TEST_CASE("Qwen 2.5 and Qwen 3, with and without YaRN") {
    GgufFile file("qwen2", {{"block_count", 28},
                            {"context_length", 32768},
                            {"embedding_length", 3584},
                            {"attention.head_count", 28},
                            {"attention.head_count_kv", 4},
                            {"rope.freq_base", 1000000.0}});
    ModelConfig model = file.read();
    CHECK(model.warnings.empty());
    CHECK_FALSE(model.reference_uses_other_layout);
    Config c = published(128, 1000000.0, Layout::half_split);
    check_frequencies(model.layer(27), c);

    file.set("rope.scaling.type", "yarn")
        .set("rope.scaling.factor", 4.0)
        .set("rope.scaling.original_context_length", 32768)
        .set("context_length", 131072);
    rope::schedule::Yarn yarn;
    yarn.factor = 4.0;
    yarn.original_max_position_embeddings = 32768;
    c.schedule = yarn;
    model = file.read();
    CHECK(model.warnings.empty());
    check_frequencies(model.layer(0), c);
    CHECK(rope::frequencies(*model.layer(0)).attention_factor == Approx(1.1386294361119891));

    c = published(128, 1000000.0, Layout::half_split);
    check_frequencies(qwen3().read().layer(0), c);

    // DeepSeek-R1-0528-Qwen3-8B: attn_factor is what cancels YaRN's own magnitude.
    for (const char* key : {"rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"}) {
        model = qwen3()
                    .set("rope.scaling.type", "yarn")
                    .set("rope.scaling.factor", 4.0)
                    .set("rope.scaling.original_context_length", 32768)
                    .set(key, 0.8782488562869419)
                    .read();
        yarn.attn_factor = 0.8782488562869419;
        c.schedule = yarn;
        check_frequencies(model.layer(0), c);
        CHECK(std::fabs(rope::frequencies(*model.layer(0)).attention_factor - 1.0) < 1e-9);
    }
}

TEST_CASE("Qwen2-VL, Qwen3-VL and Qwen3.5: positions of several axes") {
    ModelConfig model = GgufFile("qwen2vl", {{"block_count", 28},
                                             {"context_length", 32768},
                                             {"embedding_length", 3584},
                                             {"attention.head_count", 28},
                                             {"attention.head_count_kv", 4},
                                             {"rope.dimension_sections", Ints{16, 24, 24, 0}},
                                             {"rope.freq_base", 1000000.0}})
                            .read();
    CHECK(model.axis_map.axis_of == rope::mrope_sections({16, 24, 24}).axis_of);
    CHECK(model.warnings.empty());
    check_frequencies(model.layer(0), published(128, 1000000.0, Layout::half_split));

    model = GgufFile("qwen3vl", {{"block_count", 36},
                                 {"context_length", 262144},
                                 {"embedding_length", 4096},
                                 {"attention.head_count", 32},
                                 {"attention.head_count_kv", 8},
                                 {"attention.key_length", 128},
                                 {"rope.dimension_sections", Ints{24, 20, 20, 0}},
                                 {"rope.freq_base", 5000000.0}})
                .read();
    // ggml has a fourth axis for pairs whose section is used up.
    CHECK(model.axis_map.axis_of == rope::mrope_interleaved({24, 20, 20}, rope::LeftOver::fourth_axis).axis_of);
    CHECK(model.axis_map.axes == 4);
    REQUIRE(model.axis_map.axis_of.size() == 64);
    for (std::size_t i = 0; i < 64; ++i)
        CHECK(model.axis_map.axis_of[i] == (i == 61 || i == 62 ? 3 : static_cast<int>(i % 3)));
    check_frequencies(model.layer(0), published(128, 5000000.0, Layout::half_split));

    // Three layers of four have linear attention; the last layer, which predicts a further token, has attention.
    model = GgufFile("qwen35", {{"block_count", 33},
                                {"nextn_predict_layers", 1},
                                {"context_length", 262144},
                                {"embedding_length", 4096},
                                {"attention.head_count", 16},
                                {"attention.head_count_kv", 4},
                                {"attention.key_length", 256},
                                {"full_attention_interval", 4},
                                {"rope.dimension_count", 64},
                                {"rope.dimension_sections", Ints{11, 11, 10, 0}},
                                {"rope.freq_base", 10000000.0}})
                .read();
    CHECK(model.axis_map.axis_of == rope::mrope_interleaved({11, 11, 10}, rope::LeftOver::fourth_axis).axis_of);
    for (const Index i : {0, 1, 2, 30}) {
        CHECK(model.layer(i) == nullptr);
        CHECK(model.layer_types[support::size(i)] == LayerType::no_attention);
        CHECK(model.heads[support::size(i)].q == 0);
    }
    for (const Index i : {3, 31, 32})
        check_frequencies(model.layer(i), published(256, 10000000.0, Layout::half_split, 64));
}

TEST_CASE("DeepSeek: latent attention, YaRN's magnitudes cancel, and the softmax has its factor") {
    ModelConfig model = deepseek_v3().read();
    CHECK(model.warnings.empty());
    CHECK(model.reference_uses_other_layout);
    CHECK(model.heads[60].q == 128);
    CHECK(model.heads[60].k == 1);
    CHECK(model.heads[60].v == 128);
    Config c = published(64, 10000.0, Layout::interleaved);
    rope::schedule::Yarn yarn;
    yarn.factor = 40.0;
    yarn.original_max_position_embeddings = 4096;
    yarn.mscale = yarn.mscale_all_dim = 1.0;
    c.schedule = yarn;
    check_frequencies(model.layer(60), c);
    CHECK(rope::frequencies(*model.layer(0)).attention_factor == 1.0);
    const Real g = Real(0.1) * log(Real(40.0)) + Real(1.0);
    CHECK(agrees(model.softmax_scale_factor, g * g, 1e-14));

    // V2-Lite, converted before there was key_length_mla: mscale and mscale_all_dim 0.707.
    model = deepseek_v3()
                .remove("attention.key_length_mla")
                .set("block_count", 27)
                .set("attention.head_count", 16)
                .set("attention.head_count_kv", 16)
                .set("attention.key_length", 192)
                .set("rope.scaling.yarn_log_multiplier", double(0.0707f))
                .read();
    CHECK(model.heads[0].k == 1);
    CHECK(model.layer(0)->head_dim == 64);
    CHECK(rope::frequencies(*model.layer(0)).attention_factor == 1.0);
    const Real g2 = Real(0.0707) * log(Real(40.0)) + Real(1.0);
    CHECK(agrees(model.softmax_scale_factor, g2 * g2, 1e-7));

    // Without the multiplier: mscale_all_dim is 0, so the magnitude stands and the softmax is as usual.
    model = deepseek_v3().remove("rope.scaling.yarn_log_multiplier").read();
    CHECK(agrees(rope::frequencies(*model.layer(0)).attention_factor, g, 1e-15));
    CHECK(model.softmax_scale_factor == 1.0);
}

TEST_CASE("DeepSeek-V4: the last features turn, and the ratio of compression decides how") {
    GgufFile file = support::small_model("deepseek4").set("block_count", 5).set("attention.key_length", 512);
    file.set("attention.head_count_kv", 1);
    file.set("attention.sliding_window", 128).set("attention.compress_ratios", Ints{0, 128, 4, 0, 0, 0});
    file.set("rope.dimension_count", 64).set("rope.scaling.type", "yarn").set("rope.scaling.factor", 16.0);
    file.set("rope.scaling.original_context_length", 4096).set("attention.compress_rope_freq_base", 80000.0);
    const auto types = [](const ModelConfig& m) {
        std::string letters;
        for (const LayerType type : m.layer_types) letters += "fscizlx-"[static_cast<int>(type)];
        return letters;
    };
    ModelConfig model = file.read();
    CHECK(model.warnings.empty());
    CHECK(types(model) == "szzss");
    CHECK(model.heads[1].k == 1);
    CHECK(model.heads[1].v == 1);
    CHECK(model.configs.size() == 2);
    for (const Config& c : model.configs) CHECK(c.rotary_offset == 448);
    check_frequencies(model.layer(3), published(512, 500000.0, Layout::interleaved, 64));
    Config c = published(512, 80000.0, Layout::interleaved, 64);
    rope::schedule::Yarn yarn;
    yarn.factor = 16.0;
    yarn.original_max_position_embeddings = 4096;
    yarn.magnitude = rope::schedule::YarnMagnitude::none;
    c.schedule = yarn;
    check_frequencies(model.layer(1), c);
    CHECK(rope::frequencies(*model.layer(1)).attention_factor == 1.0);
    CHECK(model.steps[1].keys_are_values);
    CHECK((support::order_of(model.steps[1].q) == "nr" && support::order_of(model.steps[1].output) == "b"));
    CHECK(support::norm(model.steps[1].q).kind == rope::NormKind::rms);
    CHECK(support::norm(model.steps[1].q).weight == rope::NormWeight::none);
    CHECK(support::norm(model.steps[1].k).weight == rope::NormWeight::head_dim);
    CHECK(model.steps[1].softmax_scale == Approx(1.0 / std::sqrt(512.0)));

    for (const char* key :
         {"rope.scaling.attn_factor", "rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_attn_factor"}) {
        model = file.with(key, 0.5).read();
        check_frequencies(model.layer(2), c);
        CHECK(model.warnings ==
              std::vector<std::string>{std::string("deepseek4.") + key +
                                       " was not used: the magnitude of architecture deepseek4 is 1."});
    }
    CHECK(warns_of(file.with("rope.freq_base_swa", 7.0).read(),
                   "deepseek4.rope.freq_base_swa was not used: architecture deepseek4 does not read it."));
    model = file.with("attention.key_length_mla", 512).remove("attention.compress_rope_freq_base").read();
    CHECK(warns_of(model, "deepseek4.attention.compress_rope_freq_base is missing; 160000 was taken, the default of "));
    c.base = 160000.0;
    check_frequencies(model.layer(1), c);
    // The layer at the end, which predicts further tokens, slides.
    model = file.with("nextn_predict_layers", 1).set("attention.compress_ratios", Ints{4, 4, 4, 4}).read();
    CHECK(types(model) == "zzzzs");

    // A drafter of it.
    GgufFile drafter =
        support::small_model("dflash").set("hyper_connection.count", 4).set("attention.sliding_window", 128);
    model = drafter.set("rope.dimension_count", 32).read();
    CHECK(types(model) == "ssss");
    CHECK(model.warnings.empty());
    CHECK(model.layer(0)->rotary_offset == 32);
    CHECK(model.layer(0)->layout == Layout::interleaved);
}

TEST_CASE("Ministral 3 stores mscale_all_dim itself, DeepSeek a tenth of it") {
    const auto model = GgufFile("mistral3", {{"block_count", 34},
                                             {"context_length", 262144},
                                             {"embedding_length", 4096},
                                             {"attention.head_count", 32},
                                             {"attention.head_count_kv", 8},
                                             {"attention.key_length", 128},
                                             {"attention.temperature_scale", double(0.1f)},
                                             {"rope.dimension_count", 128},
                                             {"rope.freq_base", 1000000.0},
                                             {"rope.scaling.type", "yarn"},
                                             {"rope.scaling.factor", 16.0},
                                             {"rope.scaling.original_context_length", 16384},
                                             {"rope.scaling.yarn_beta_fast", 32.0},
                                             {"rope.scaling.yarn_beta_slow", 1.0},
                                             {"rope.scaling.yarn_log_multiplier", 1.0}})
                           .read();
    CHECK(model.warnings.empty());
    CHECK(model.reference_uses_other_layout);
    CHECK(rope::frequencies(*model.layer(0)).attention_factor == 1.0);
    CHECK(model.softmax_scale_factor == 1.0);
    CHECK(model.attention_temperature.scale == double(0.1f));
    CHECK(model.attention_temperature.period == 16384.0);
    CHECK(model.attention_temperature.shift == 0);
    CHECK(model.attention_temperature.on_layers_with_rope);
    CHECK_FALSE(model.attention_temperature.on_layers_without_rope);
}

TEST_CASE("Phi-3: LongRoPE from tensors, without a scaling type") {
    GgufFile file("phi3", {{"block_count", 32},
                           {"context_length", 131072},
                           {"embedding_length", 3072},
                           {"attention.head_count", 32},
                           {"attention.head_count_kv", 32},
                           {"attention.sliding_window", 262144},
                           {"rope.dimension_count", 96},
                           {"rope.freq_base", 10000.0},
                           {"rope.scaling.attn_factor", double(1.1902381f)},
                           {"rope.scaling.original_context_length", 4096}});
    rope::schedule::LongRope s;
    for (int i = 0; i < 48; ++i) {
        file.tensors.rope_factors_short.push_back(1.0f + 0.05f * static_cast<float>(i));
        file.tensors.rope_factors_long.push_back(1.1f + 1.3f * static_cast<float>(i));
        s.short_factor.push_back(file.tensors.rope_factors_short.back());
        s.long_factor.push_back(file.tensors.rope_factors_long.back());
    }
    s.original_max_position_embeddings = 4096;
    s.attention_factor = double(1.1902381f);
    Config c = published(96, 10000.0, Layout::half_split);
    c.schedule = s;
    ModelConfig model = file.read();
    CHECK(model.warnings.empty());
    CHECK(model.layer_types[0] == LayerType::full_attention);
    for (const Index seq_len : {0, 4096, 4097}) check_frequencies(model.layer(0), c, seq_len);

    model = file.with("rope.scaling.type", "longrope").remove("rope.scaling.attn_factor").read();
    CHECK(warns_of(model, "phi3.rope.scaling.attn_factor is missing; the magnitude was taken from"));
    s.attention_factor.reset();
    s.max_position_embeddings = 131072;
    c.schedule = s;
    check_frequencies(model.layer(0), c, 131072);
    CHECK(rope::frequencies(*model.layer(0)).attention_factor == Approx(1.1902380714238083));
}

TEST_CASE("Falcon, GPT-NeoX and GPT-J") {
    ModelConfig model = GgufFile("falcon", {{"block_count", 32},
                                            {"context_length", 2048},
                                            {"embedding_length", 4544},
                                            {"attention.head_count", 71},
                                            {"attention.head_count_kv", 1}})
                            .read();
    CHECK(warns_of(model, "falcon.rope.freq_base is missing; 10000 was taken, the default of GGUF."));
    check_frequencies(model.layer(0), published(64, 10000.0, Layout::half_split));
    CHECK(model.heads[0].k == 1);

    model = GgufFile("gptneox", {{"block_count", 44},
                                 {"context_length", 2048},
                                 {"embedding_length", 6144},
                                 {"attention.head_count", 64},
                                 {"rope.dimension_count", 24},
                                 {"rope.freq_base", 10000.0}})
                .read();
    check_frequencies(model.layer(43), published(96, 10000.0, Layout::half_split, 24));
    CHECK(model.heads[0].k == 64);

    model = GgufFile("gptj", {{"block_count", 28},
                              {"embedding_length", 4096},
                              {"attention.head_count", 16},
                              {"rope.dimension_count", 64},
                              {"rope.freq_base", 10000.0}})
                .read();
    check_frequencies(model.layer(0), published(256, 10000.0, Layout::interleaved, 64));
    CHECK_FALSE(model.reference_uses_other_layout);
}
