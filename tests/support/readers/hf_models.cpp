// SPDX-License-Identifier: MIT
// The numbers that models published, once more, from their papers, model cards and code and not from the files here.
#include "hf_models.hpp"

#include <string>
#include <utility>

namespace support {

namespace {

using rope::schedule::DynamicNtk;
using rope::schedule::Llama3;
using rope::schedule::LongRope;
using rope::schedule::Ntk;
using rope::schedule::Proportional;

PublishedModel model(const char* name, Index layers, const std::string& pattern, Index q, Index kv,
                     Index max_positions) {
    return {name, layers, pattern, {q, kv, kv}, max_positions};
}
/// Multi-head latent attention: one key head turns, and values have as many heads as queries.
PublishedModel latent(const char* name, Index layers, Index heads, Index max_positions, const char* types = "f") {
    return {name, layers, types, {heads, 1, heads}, max_positions};
}
Real squared(const Real& x) { return x * x; }
std::string repeated(const std::string& letters, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += letters;
    return all;
}

LongRope phi3_mini_128k() {
    const std::vector<double> short_factor = {1.1,
                                              1.1,
                                              1.1,
                                              1.3000000000000003,
                                              1.3500000000000003,
                                              1.3500000000000003,
                                              1.4000000000000004,
                                              1.5500000000000005,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.000000000000001,
                                              2.0500000000000007,
                                              2.0500000000000007,
                                              2.0500000000000007,
                                              2.0500000000000007,
                                              2.0500000000000007,
                                              2.0500000000000007,
                                              2.1000000000000005,
                                              2.1000000000000005,
                                              2.1500000000000004,
                                              2.25,
                                              2.25,
                                              2.25,
                                              2.25,
                                              2.25,
                                              2.3999999999999995,
                                              2.4499999999999993,
                                              2.499999999999999,
                                              2.6999999999999984,
                                              2.6999999999999984,
                                              2.7499999999999982,
                                              2.799999999999998,
                                              2.8999999999999977,
                                              3.049999999999997};
    const std::vector<double> long_factor = {
        1.0700000524520874, 1.1200000047683716, 1.149999976158142,  1.4199999570846558, 1.5699999332427979,
        1.7999999523162842, 2.129999876022339,  2.129999876022339,  3.009999990463257,  5.910000324249268,
        6.950000286102295,  9.070000648498535,  9.930000305175781,  10.710000038146973, 11.130000114440918,
        14.609999656677246, 15.409998893737793, 19.809999465942383, 37.279998779296875, 38.279998779296875,
        38.599998474121094, 40.12000274658203,  46.20000457763672,  50.940006256103516, 53.66000747680664,
        54.9373893737793,   56.89738845825195,  57.28738784790039,  59.98738479614258,  60.86738586425781,
        60.887386322021484, 61.71739196777344,  62.91739273071289,  62.957393646240234, 63.41739273071289,
        63.8173942565918,   63.83739471435547,  63.897396087646484, 63.93739700317383,  64.06739807128906,
        64.11434936523438,  64.12435150146484,  64.15435028076172,  64.19435119628906,  64.24435424804688,
        64.57435607910156,  64.69000244140625,  64.76000213623047};
    LongRope s;
    s.short_factor = short_factor;
    s.long_factor = long_factor;
    s.original_max_position_embeddings = 4096;
    s.max_position_embeddings = 131072;
    return s;
}

std::vector<PublishedModel> llama_and_mistral() {
    return {
        model("Llama-2-7b", 32, "f", 32, 32, 4096).rotary(half_split(128, 1e4)).warns({"rope_theta is missing; 10000"}),
        model("Llama-3-8B", 32, "f", 32, 8, 8192).rotary(half_split(128, 5e5)),
        model("Llama-3.1-8B", 32, "f", 32, 8, 131072).rotary(half_split(128, 5e5, Llama3{8.0, 1.0, 4.0, 8192})),
        model("Llama-3.2-1B", 16, "f", 32, 8, 131072).rotary(half_split(64, 5e5, Llama3{32.0, 1.0, 4.0, 8192})),
        // Blocks of Llama 3.3 70B that a search kept; the others have lost their attention.
        model("Llama-3.3-Nemotron-Super-49B", 80,
              "ffffff--fff-" + repeated("f", 30) + repeated("-", 10) + "f" + repeated("-", 18) + repeated("f", 9), 64,
              8, 131072)
            .rotary(half_split(128, 5e5, Llama3{8.0, 1.0, 4.0, 8192})),
        model("Llama-4-Scout-17B-16E", 48, "cccF", 40, 8, 10485760)
            .rotary(interleaved(128, 5e5, Llama3{16.0, 1.0, 1.0, 8192}))
            .tempered({0.1, 8192.0, 1, false, true}),
        model("Mistral-7B-v0.1", 32, "s", 32, 8, 32768).rotary(half_split(128, 1e4)),
        model("Mixtral-8x7B-v0.1", 32, "f", 32, 8, 32768).rotary(half_split(128, 1e6)),
        model("Ministral-3-8B", 34, "f", 32, 8, 262144)
            .rotary(half_split(128, 1e6, yarn(16.0, 16384)))
            .tempered({0.1, 16384.0, 0, true, false}),
        model("DeepSeek-Coder-6.7B", 32, "f", 32, 32, 16384).rotary(slowed(half_split(128, 1e5), 4.0)),
        model("SmolLM3-3B", 36, "fffF", 16, 4, 65536).rotary(half_split(128, 5e6)),
    };
}

std::vector<PublishedModel> qwen_and_deepseek() {
    const Real r1 = magnitude_of_yarn(4.0) * Real(0.8782488562869419);
    return {
        model("Qwen2-7B", 28, "f", 28, 4, 131072).rotary(half_split(128, 1e6)),
        model("Qwen2.5-7B-Instruct-YaRN", 28, "f", 28, 4, 32768)
            .rotary(half_split(128, 1e6, yarn(4.0, 32768)), magnitude_of_yarn(4.0)),
        model("Qwen3-8B", 36, "f", 32, 8, 40960).rotary(half_split(128, 1e6)),
        model("Qwen2-VL-7B", 28, "f", 28, 4, 32768).rotary(half_split(128, 1e6)).mrope({16, 24, 24}, false),
        model("Qwen3-VL-8B", 36, "f", 32, 8, 262144).rotary(half_split(128, 5e6)).mrope({24, 20, 20}, true),
        model("Qwen3.5-397B-A17B", 60, "---f", 32, 2, 262144)
            .rotary(half_split(256, 1e7, {}, 64))
            .mrope({11, 11, 10}, true),
        latent("DeepSeek-V2", 60, 128, 163840)
            .rotary(interleaved(64, 1e4, yarn(40.0, 4096)))
            .softmax(squared(magnitude_of_yarn(40.0))),
        latent("DeepSeek-V2-Lite", 27, 16, 163840)
            .rotary(interleaved(64, 1e4, yarn(40.0, 4096)))
            .softmax(squared(magnitude_of_yarn(40.0, 0.707))),
        latent("DeepSeek-V3", 61, 128, 163840)
            .rotary(interleaved(64, 1e4, yarn(40.0, 4096)))
            .softmax(squared(magnitude_of_yarn(40.0)))
            .reordered(),
        latent("Kimi-K2", 61, 64, 131072)
            .rotary(interleaved(64, 5e4, yarn(32.0, 4096, 1.0)))
            .softmax(squared(magnitude_of_yarn(32.0)))
            .reordered(),
        model("DeepSeek-V4-Flash", 43, "ss" + std::string(41, 'z'), 64, 1, 1048576)
            .rotary('s', shifted(interleaved(512, 1e4, {}, 64), 448))
            .rotary('z', shifted(interleaved(512, 1.6e5, yarn(16.0, 65536), 64), 448)),
        model("DeepSeek-R1-0528-Qwen3-8B", 36, "f", 32, 8, 131072)
            .rotary(half_split(128, 1e6, yarn(4.0, 32768)), r1)
            .warns({"rope_scaling.attn_factor multiplies the magnitude"}),
    };
}

std::vector<PublishedModel> gemma_and_phi() {
    const Real phi3 = pow(Real(1.0) + Real(5.0) / Real(12.0), Real(0.5));  // sqrt(1 + ln 32 / ln 4096)
    return {
        model("Phi-2", 32, "f", 32, 32, 2048).rotary(half_split(80, 1e4, {}, 32)),
        model("Phi-3-mini-128k", 32, "s", 32, 32, 131072)
            .rotary(half_split(96, 1e4, phi3_mini_128k()), phi3, 4096)
            .rotary(half_split(96, 1e4, phi3_mini_128k()), phi3, 4097),
        model("Gemma-2-9b", 42, "sf", 16, 8, 8192).rotary(half_split(256, 1e4)),
        // The published file leaves these to the code of gemma3_text.
        model("Gemma-3-4b", 34, "sssssf", 8, 4, 131072)
            .rotary('s', half_split(256, 1e4))
            .rotary('f', slowed(half_split(256, 1e6), 8.0))
            .warns({"text_config.max_position_embeddings is missing; 131072",
                    "text_config.num_attention_heads is missing; 8", "text_config.num_key_value_heads is missing; 4",
                    "text_config.head_dim is missing; 256", "text_config.rope_local_base_freq is missing; 10000",
                    "text_config.rope_theta is missing; 1000000"}),
        model("Gemma-4-31B", 60, "sssssf", 32, 16, 262144)
            .rotary('s', half_split(256, 1e4))
            .rotary('f', half_split(512, 1e6, Proportional{0.25, 1.0}))
            .heads_where('f', {32, 4, 4}),
    };
}

std::vector<PublishedModel> others() {
    return {
        model("GPT-J-6B", 28, "f", 16, 16, 2048).rotary(interleaved(256, 1e4, {}, 64)),
        model("GPT-NeoX-20B", 44, "f", 64, 64, 2048).rotary(half_split(96, 1e4, {}, 24)),
        model("Pythia-1b", 16, "f", 8, 8, 2048).rotary(half_split(256, 1e4, {}, 64)),
        model("StableLM-3B-4E1T", 32, "f", 32, 32, 4096).rotary(half_split(80, 1e4, {}, 20)),
        model("GLM-4-9b-hf", 40, "f", 32, 2, 8192).rotary(interleaved(128, 1e4, {}, 64)),
        model("GLM-4-9b-chat", 40, "f", 32, 2, 131072)
            .rotary(interleaved(128, 5e6, {}, 64))
            .warns({"rope_ratio multiplied the base"}),
        latent("GLM-5", 78, 64, 202752, "i")
            .rotary(interleaved(64, 1e6))
            .reordered()
            .warns({"index_n_heads is missing", "index_head_dim is missing"}),
        model("Command-R", 40, "f", 64, 64, 8192).rotary(interleaved(128, 8e6)),
        model("Command-R7B", 32, "sssF", 32, 8, 8192).rotary(interleaved(128, 5e4)),
        model("Falcon-7b", 32, "f", 71, 1, 2048)
            .rotary(half_split(64, 1e4))
            .warns({"max_position_embeddings is missing; 2048", "rope_theta is missing; 10000"}),
        model("gpt-oss-20b", 24, "sf", 64, 8, 131072)
            .rotary(half_split(64, 1.5e5, yarn(32.0, 4096, 32.0, false)), magnitude_of_yarn(32.0)),
        model("ModernBERT-base", 22, "fss", 12, 12, 8192)
            .rotary('f', half_split(64, 1.6e5))
            .rotary('s', half_split(64, 1e4)),
        model("Hunyuan-7B", 32, "f", 32, 8, 32768).rotary(half_split(128, 1e4, Ntk{1000.0})),
        model("InternLM2.5-7B", 32, "f", 32, 8, 32768)
            .rotary(half_split(128, 1e6, DynamicNtk{2.0, 32768}), 1.0, 32768)
            .rotary(half_split(128, 1e6, DynamicNtk{2.0, 32768}), 1.0, 100000),
        model("EXAONE-4.0-32B", 64, "sssF", 40, 8, 131072).rotary(half_split(128, 1e6, Llama3{16.0, 1.0, 4.0, 8192})),
        model("EXAONE-4.0-1.2B", 30, "f", 32, 8, 65536).rotary(half_split(64, 1e6, Llama3{16.0, 1.0, 4.0, 8192})),
        model("OLMo-3-7B", 32, "sssf", 32, 32, 65536)
            .rotary('s', half_split(128, 5e5))
            .rotary('f', half_split(128, 5e5, yarn(8.0, 8192)), 1.2079441541679836),
        // 0.334 of 192 features.
        model("MiMo-V2-Flash", 48, "fssssf" + repeated("sssssf", 7), 64, 4, 262144)
            .rotary('f', half_split(192, 5e6, {}, 64))
            .rotary('s', half_split(192, 1e4, {}, 64))
            .heads_where('s', {64, 8, 8}),
        model("MiniMax-M2.5", 62, "f", 48, 8, 196608).rotary(half_split(128, 5e6, {}, 64)),
    };
}

}  // namespace

std::vector<PublishedModel> published_models() {
    std::vector<PublishedModel> all;
    for (const auto& part : {llama_and_mistral(), qwen_and_deepseek(), gemma_and_phi(), others()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace support
