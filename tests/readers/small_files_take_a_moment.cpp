// SPDX-License-Identifier: MIT
// Work has a bound that does not follow from the numbers in a file: a small file is read, or refused, in a moment, and
// so are tables of what it says.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>
#include <rope/hf_config.hpp>
#include <rope/rotary_embedding.hpp>

#include <ctime>
#include <string>

#include "support/catch.hpp"
#include "support/readers/gguf.hpp"
#include "support/refusal.hpp"

using rope::Index;

namespace {

/// Seconds of the processor that a call takes.
template <class Call>
double seconds_of(Call&& call) {
    const std::clock_t start = std::clock();
    call();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}
/// Far more than any of these takes, and far less than any took that computed what nobody had asked for.
constexpr double kMoment = 3.0;

/// `times` numbers from `first` on, or the same one.
std::string numbers(Index times, Index first, Index step = 1) {
    std::string text;
    for (Index i = 0; i < times; ++i) text += (i == 0 ? "" : ",") + std::to_string(first + i * step);
    return text;
}
std::string file(const std::string& type, Index layers, Index head_dim, const std::string& more) {
    return "{\"model_type\": \"" + type + "\", \"num_attention_heads\": 1, \"max_position_embeddings\": 4096, " +
           "\"num_hidden_layers\": " + std::to_string(layers) + ", \"head_dim\": " + std::to_string(head_dim) +
           (more.empty() ? "" : ", ") + more + "}";
}
std::string bases(Index layers) { return "\"layer_rope_theta\": [" + numbers(layers, 10000) + "]"; }

constexpr Index kLargest = Index(1) << 20;

/// What a file is refused with, or "(accepted)", in a moment.
std::string read(const std::string& text) {
    std::string said;
    CHECK(seconds_of([&] { said = support::refusal([&] { rope::read_hf_config(text); }).message; }) < kMoment);
    return said;
}
std::string too_many(Index layers, Index last, Index pairs) {
    return "num_hidden_layers is " + std::to_string(layers) + "; the rotary embeddings of layers 0 to " +
           std::to_string(last) + " have " + std::to_string(pairs) +
           " pairs in all, and those of a model must have at most 1048576.";
}

}  // namespace

TEST_CASE("the pairs of all rotary embeddings of a model have a bound") {
    CHECK(read(file("llama", 2, kLargest, bases(2))) == "(accepted)");
    CHECK(read(file("llama", 3, kLargest, bases(3))) == too_many(3, 2, 3 * kLargest / 2));
    CHECK(read(file("llama", 16, kLargest, bases(16))) == too_many(16, 2, 3 * kLargest / 2));
    CHECK(read(file("llama", 16384, kLargest, bases(16384))) == too_many(16384, 2, 3 * kLargest / 2));
    CHECK(read(file("llama", 2048, 1024, bases(2048))) == "(accepted)");
    CHECK(read(file("llama", 2049, 1024, bases(2049))) == too_many(2049, 2048, 2049 * 512));
    CHECK(read(file("llama", 16384, 2, bases(16384))) == "(accepted)");
    CHECK(read(file("llama", 16385, 2, "\"rope_theta\": 20000")) ==
          "num_hidden_layers is 16385; it must be a whole number from 1 to 16384.");
    // Layers that share a rotary embedding count once.
    CHECK(read(file("llama", 16384, kLargest, "\"rope_theta\": 20000")) == "(accepted)");
    const std::string nested = "{\"text_config\": " + file("llama", 3, kLargest, bases(3)) + "}";
    CHECK(read(nested) == "text_config." + too_many(3, 2, 3 * kLargest / 2));

    rope::ModelConfig model = rope::read_hf_config(file("llama", 2, kLargest, bases(2)));
    CHECK(rope::check(model).ok());
    model.configs.push_back(model.configs[0]);
    const std::string sentence =
        "configs has 3 entries, the first 3 of which have 1572864 pairs; a model must have at most 1048576 in all.";
    CHECK(std::string(rope::check(model).message()) == sentence);
    CHECK(support::invalid([&] { rope::RotaryEmbedding<float> rotary(model); }) == sentence);
    model.configs.resize(16385, model.configs[0]);
    CHECK(std::string(rope::check(model).message()) == "configs has 16385 entries; a model must have at most 16384.");
    model.configs.resize(1000, model.configs[0]);
    CHECK(
        std::string(rope::check(model).message()) ==
        "configs has 1000 entries, the first 3 of which have 1572864 pairs; a model must have at most 1048576 in all.");
}

TEST_CASE("a head of any size and schedule is checked without computing its frequencies") {
    const auto scaled = [](const std::string& type, const std::string& more) {
        return "\"rope_scaling\": {\"rope_type\": \"" + type + "\"" + (more.empty() ? "" : ", ") + more + "}";
    };
    const std::string original = "\"original_max_position_embeddings\": 4096";
    double seconds = 0.0;
    for (const std::string& more :
         {std::string("\"rope_theta\": 20000"), std::string("\"rope_theta\": 1e-9"), scaled("linear", "\"factor\": 4"),
          scaled("ntk", "\"factor\": 4"), scaled("dynamic", "\"factor\": 4"),
          scaled("yarn", "\"factor\": 4, " + original), scaled("yarn", "\"factor\": 1e-9, " + original),
          scaled("yarn", "\"factor\": null, \"original_max_position_embeddings\": 1099511627776"),
          scaled("llama3", "\"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4, " + original),
          "\"rope_theta\": 1e-6, " +
              scaled("llama3", "\"factor\": 1e-6, \"low_freq_factor\": 1, \"high_freq_factor\": 4, " + original),
          scaled("proportional", "\"partial_rotary_factor\": 0.5"), scaled("axial", ""),
          "\"rope_theta\": 1e-12, " + scaled("proportional", "\"partial_rotary_factor\": 0.5")}) {
        CAPTURE(more);
        seconds += seconds_of([&] {
            CHECK(support::refusal([&] { rope::read_hf_config(file("llama", 1, kLargest, more)); }).message ==
                  "(accepted)");
        });
    }
    seconds += seconds_of([] {
        CHECK(
            support::refusal([] {
                rope::read_hf_config(file("llama", 1, kLargest, "\"rope_theta\": 1e-12"));
            }).message ==
            "rope_parameters.rope_type is \"default\": The frequency of pair 420871 is 4295094438.02297, with base "
            "1e-12 and interpolation_factor 1; it must be finite and of magnitude at most 2^32 radians per position.");
    });
    CHECK(seconds < kMoment / 3.0);
}

TEST_CASE("no work is a product of two numbers in a file") {
    const std::string ones = numbers(8000, 1, 0);
    CHECK(read(file("llama", 5000, 16000,
                    bases(5000) + ", \"rope_scaling\": {\"rope_type\": \"longrope\", \"short_factor\": [" + ones +
                        "], \"long_factor\": [" + ones + "], \"original_max_position_embeddings\": 4096}")) ==
          too_many(5000, 131, 132 * 8000));
    // Keys that are not read beside layers that have bases of their own.
    std::string keys;
    for (int i = 0; i < 5000; ++i) keys += ", \"k" + std::to_string(i) + "\": 0";
    CHECK(read(file("llama", 5000, 4,
                    bases(5000) + ", \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2" + keys + "}")) ==
          "(accepted)");
    // A list that each of many rotary embeddings reads again, or is compared with.
    const std::string mrope = "\"rope_scaling\": {\"rope_type\": \"mrope\", \"mrope_section\": [1, 0, 0]}";
    CHECK(read(file("llama", 16384, 2,
                    bases(16384) + ", " + mrope + ", \"mrope_section\": [" + numbers(65536, 0, 0) + "]")) ==
          "mrope_section has 65536 entries; it must have one for each axis, at most 16.");
    const std::string list = numbers(16384, 10000);
    CHECK(read(file("llama", 16384, 2,
                    "\"layer_rope_theta\": [" + list + "], \"rope_parameters\": {\"rope_theta\": [" + list + "]}")) ==
          "(accepted)");
    // Keys beside the entry of a kind of layers, and in it.
    std::string outside, inside;
    for (int i = 0; i < 80000; ++i) {
        const std::string key = (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\": ";
        outside += key + "2";
        inside += key + "1";
    }
    CHECK(seconds_of([&] {
              rope::read_hf_config(
                  file("llama", 1, 64, "\"rope_parameters\": {\"full_attention\": {" + inside + "}, " + outside + "}"));
          }) < 3.0 * kMoment);  // of 2 MB
    // Layers that read the keys of others; lists of layers that have the scaling.
    CHECK(read(file("gemma3n_text", 16384, 64, "\"num_kv_shared_layers\": 8192, \"sliding_window\": 512")) ==
          "(accepted)");
    const std::string linear = "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2}, ";
    CHECK(read(file("llama", 16384, 64, linear + "\"rope_scaling_layers\": [" + numbers(65536, 0, 0) + "]")) ==
          "(accepted)");
    std::string words = "\"full_attentiom\"";
    for (int i = 1; i < 65536; ++i) words += ",\"full_attentiom\"";
    CHECK(read(file("llama", 16384, 64, linear + "\"yarn_only_types\": [" + words + "]")) == "(accepted)");
    // A name that warnings repeat, for each of many rotary embeddings.
    std::string heads;
    for (int i = 0; i < 700; ++i)
        heads += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": {\"head_dim\": " + std::to_string(4 + 2 * i) + "}";
    const std::string long_name(3000000, 'x');
    CHECK(read(file(long_name, 700, 64,
                    "\"architectures\": [\"LlamaForCausalLM\"], \"per_layer_config\": {" + heads + "}")) ==
          "(accepted)");
    double seconds = 0.0;
    support::GgufFile shared = support::small_grouped_model("gemma4");
    shared.set("block_count", 16384).set("attention.sliding_window", 512).set("attention.shared_kv_layers", 8192);
    shared.set("attention.sliding_window_pattern", support::Ints(16384, 1));
    seconds += seconds_of([&] { CHECK(shared.read().layers() == 16384); });
    CHECK(seconds < kMoment);
}

TEST_CASE("warnings name a type in a word, however long it is and whatever is in it") {
    const rope::ModelConfig model =
        rope::read_hf_config(file("line\\nfeed", 1, 64, "\"architectures\": [\"LlamaForCausalLM\"]"));
    REQUIRE(model.warnings.size() == 2);
    CHECK(model.warnings[1] == "rope_theta is missing; 10000 was taken, the default of model_type \"line\\x0afeed\".");
}

TEST_CASE("tables of such a model are refused before anything is computed") {
    const rope::ModelConfig model = rope::read_hf_config(file("llama", 2, kLargest, bases(2)));
    CHECK(seconds_of([&] {
              for (int i = 0; i < 20; ++i)
                  CHECK(support::invalid([&] { rope::RotaryEmbedding<float> rotary(model); }) ==
                        "positions is 4096; the tables of this model, with 4194304 bytes per position, would take "
                        "17179869184 bytes, and max_bytes of the TableOptions is 1073741824.");
          }) < kMoment);
    // Many small ones are found among each other.
    const rope::ModelConfig many = rope::read_hf_config(file("llama", 16384, 4, bases(16384)));
    CHECK(seconds_of([&] {
              const rope::RotaryEmbedding<float> rotary(many, {1, 1});
              CHECK(rotary.bytes() >= 16384 * 4 * sizeof(float));
          }) < 2.0 * kMoment);
}
