// SPDX-License-Identifier: MIT
// Text that is no config.json, or was made to do harm: an error in a sentence, soon and in bounded memory.
#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"

using support::refusal;

// ---- bytes on the heap, now and at most ----

namespace {
std::atomic<std::size_t> bytes_now{0}, most_bytes{0};

void* counted_or_null(std::size_t bytes) noexcept {
    void* const p = std::malloc(bytes);
    const std::size_t now = bytes_now += malloc_usable_size(p);  // 0 of null
    if (now > most_bytes) most_bytes = now;
    return p;
}
void* counted(std::size_t bytes) {
    void* const p = counted_or_null(bytes);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void released(void* p) noexcept {
    bytes_now -= malloc_usable_size(p);
    std::free(p);
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void operator delete(void* p) noexcept { released(p); }
void operator delete[](void* p) noexcept { released(p); }
void operator delete(void* p, std::size_t) noexcept { released(p); }
void operator delete[](void* p, std::size_t) noexcept { released(p); }

namespace {

std::string repeated(const std::string& piece, std::size_t times) {
    std::string text;
    text.reserve(piece.size() * times);
    for (std::size_t i = 0; i < times; ++i) text += piece;
    return text;
}
std::string model(const std::string& more) {
    return R"({"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 8, "hidden_size": 512,
               "max_position_embeddings": 4096, "rope_theta": 20000)" +
           std::string(more.empty() ? "" : ", ") + more + "}";
}

/// Reads a text that must be refused, and says what it took.
std::string refused(const std::string& name, const std::string& text, std::size_t most) {
    CAPTURE(name);
    const std::size_t before = bytes_now;
    most_bytes = before;
    const auto start = std::chrono::steady_clock::now();
    const auto result = refusal([&] { rope::read_hf_config(text); });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::size_t took = most_bytes - before;
    std::printf("%-40s %9.3f MB: %7.3f s, %8.3f MB\n", name.c_str(), double(text.size()) * 1e-6, seconds,
                double(took) * 1e-6);
    CHECK(result.code == rope::StatusCode::invalid_argument);
    CHECK(took <= most);
    CHECK(result.message.back() == '.');
    CHECK(result.message.size() < 319);  // not cut
    return result.message;
}

constexpr std::size_t kLittle = 64 << 10;
constexpr std::size_t kMB = 1000000;

}  // namespace

TEST_CASE("a text that is no JSON is an error that says where") {
    const auto refuses = [](const std::string& text, const std::string& sentence) {
        CAPTURE(text);
        CHECK(refusal([&] { rope::read_hf_config(text); }).message == sentence);
        CHECK(refusal([&] { rope::read_hf_config(text); }).code == rope::StatusCode::invalid_argument);
    };
    const std::string not_json = "json_text is not JSON: it goes wrong at byte ";
    const std::string good = model("");
    const std::string end = std::to_string(good.size() + 1);
    const std::string no_config = "; it must be the text of a config.json, which begins with {.";
    refuses("", "json_text is empty" + no_config);
    refuses(" \n ", "json_text is empty" + no_config);
    refuses("model/config.json", "json_text begins with \"model/config.json\"" + no_config);
    refuses(" # The model, in words", "json_text begins with \"# The model, in word\"" + no_config);
    refuses("nul", "json_text begins with \"nul\"" + no_config);
    refuses("null null", not_json + R"(9, the last of "null null".)");
    refuses("null", "json_text is null; it must be an object.");
    refuses("[]", "json_text is a list of 0; it must be an object.");
    refuses("3", "json_text is 3; it must be an object.");
    refuses("\"config\"", "json_text is \"config\"; it must be an object.");
    refuses("1e400", "json_text is 1e400; it must be a number that a double can hold.");
    refuses(good + "}", not_json + end + ", the last of \"rope_theta\\\": 20000}}\".");
    refuses(good + good, not_json + end + ", the last of \"rope_theta\\\": 20000}{\".");
    refuses(R"({"a": tru})", not_json + R"(10, the last of "{\"a\": tru}", near a.)");
    refuses("{\"a\": 1, // theta\n}", not_json + R"(10, the last of "{\"a\": 1, /", near a.)");
    refuses(R"({"a": 1,})", not_json + R"(9, the last of "{\"a\": 1,}", near a.)");
    refuses(R"({"a": 1)", not_json + "8, where it ends, near a.");
    refuses(R"({'a': 1})", not_json + R"(2, the last of "{'", near "".)");
    refuses(R"({"a": Nan})", not_json + R"(7, the last of "{\"a\": N", near a.)");
    // After what Python writes and JSON does not have, a place is still that in the text.
    refuses(R"({"b": NaN, "c": [-Infinity, "NaN"], "a": x})",
            not_json + R"(42, the last of "nity, \"NaN\"], \"a\": x", near a.)");
    refuses(R"({"a": [1, {"b": [2, x]}]})",
            not_json + R"(21, the last of "\"a\": [1, {\"b\": [2, x", near a[1].b[1].)");
    refuses("\xEF\xBB\xBF" + good, "json_text begins with a byte order mark; JSON must not.");
    refuses(good + std::string(1, '\0'), "json_text has a zero at byte " + end + "; JSON must not.");
    refuses("{\"a\": \"\xff\"}", not_json + R"(8, the last of "{\"a\": \"\xff", near a.)");
    refuses("{\"\xc3\xa9\": \"\\ud800\"}",
            not_json + R"(15, the last of "{\"\xc3\xa9\": \"\\ud800\"", near "\xc3\xa9".)");
}

TEST_CASE("a key that stands twice in an object is an error, wherever it is") {
    const auto refuses = [](const std::string& more, const std::string& path) {
        CHECK(refusal([&] { rope::read_hf_config(model(more)); }).message ==
              path + " is there twice; a key must stand once in an object.");
    };
    refuses(R"("rope_theta": 20000)", "rope_theta");
    refuses(R"("rope_\u0074heta": 5)", "rope_theta");
    refuses(R"("x": [0, {"rope_theta": 1, "y": {"rope_theta": 2}, "rope_theta": 3}])", "x[1].rope_theta");
    refuses(R"("rope_scaling": {"factor": 1, "factor": 1})", "rope_scaling.factor");
    refuses(R"("x": {"\u0000": 1, "\u0000": 1})", "x.\"\\x00\"");
    CHECK(rope::read_hf_config(model(R"("x": [{"a": 1}, {"a": 1}, {"x": {"x": 1}}])")).warnings.empty());
}

TEST_CASE("a hundred megabytes are refused at once") {
    const std::string too_large = " bytes; a config.json must have at most 4194304.";
    for (const auto& [name, text] :
         std::vector<std::pair<std::string, std::string>>{{"[ repeated", repeated("[", 100 * kMB)},
                                                          {"digits", repeated("1", 100 * kMB)},
                                                          {"one string", "\"" + repeated("x", 100 * kMB)},
                                                          {"{\"a\": repeated", repeated("{\"a\":", 20 * kMB)},
                                                          {"50 million numbers", "[" + repeated("1,", 50 * kMB) + "1]"},
                                                          {"spaces", repeated(" ", 100 * kMB)},
                                                          {"a model and spaces", model("") + repeated(" ", 100 * kMB)}})
        CHECK(refused(name, text, kLittle) == "json_text has " + std::to_string(text.size()) + too_large);
}

TEST_CASE("so are texts of just the size that is read, in at most 50 times the memory") {
    const std::size_t most = rope::kMaxConfigBytes;
    const auto filled = [&](const std::string& before, const std::string& piece, const std::string& after) {
        return before + repeated(piece, (most - before.size() - after.size()) / piece.size()) + after;
    };
    std::string distinct = "{", strings = "[\"\"";
    for (std::size_t i = 0; distinct.size() + 20 < most; ++i) distinct += "\"" + std::to_string(i) + "\":0,";
    const std::string rope_keys = [&] {
        std::string text = model("").substr(0, model("").size() - 1);
        for (std::size_t i = 0; text.size() + 40 < most; ++i) text += ",\"rope" + std::to_string(i) + "\":0";
        return text + ", \"rope_theta\": 3}";
    }();
    for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
             {"[ repeated", filled("", "[", "")},
             {"digits", filled("", "1", "")},
             {"digits of a member", filled("{\"rope_theta\":", "1", "}")},
             {"a fraction", filled("{\"rope_theta\": 1.", "1", "x}")},
             {"one string", filled("{\"model_type\": \"", "x", "\"}")},
             {"one escaped string", filled("{\"model_type\": \"", "\\u0001", "\"}")},
             {"one key", filled("{\"", "x", "\": 3}")},
             {"{\"a\": repeated", filled("", "{\"a\":", "")},
             {"a list of numbers", filled("[", "1,", "1]")},
             {"a list of numbers in a member", filled("{\"layer_types\":[", "1,", "1]}")},
             {"lists of nothing", filled("{\"x\":[", "[],", "[]]}")},
             {"objects of nothing", filled("{\"x\":[", "{},", "{}]}")},
             {"objects of one", filled("{\"x\":[", "{\"\":0},", "{}]}")},
             {"strings of nothing", filled("{\"x\":[", "\"\",", "\"\"]}")},
             {"distinct keys", distinct + "\"x\":0}"},
             {"keys that concern RoPE", rope_keys},
             {"spaces", filled("", " ", "")}}) {
        REQUIRE(text.size() <= most);
        refused(name, text, 50 * most);
    }
}

TEST_CASE("a model beside a hundred thousand keys of any kind is read") {
    const auto beside = [](const std::string& before, const std::string& key, const std::string& value) {
        std::string text = model("");
        text.back() = ',';
        text += before;
        for (int i = 0; i < 100000; ++i) text += "\"" + key + std::to_string(i) + "\":" + value + ",";
        return text + "\"last\":0}";
    };
    CHECK(rope::read_hf_config(beside("", "", "{}")).warnings.empty());
    CHECK(rope::read_hf_config(beside("", "", "{\"rope\":1}")).warnings.size() == 100000);
    CHECK(rope::read_hf_config(beside("", "rope", "0")).warnings.size() == 100000);
    // 5000 Configs, each of which finds that a key is beaten by another one.
    std::string parts = "\"rotary_emb_base\":5,\"partial_rotary_factors\":[1";
    for (int i = 1; i < 5000; ++i) parts += ",0." + std::to_string(500000 + i);
    std::string text = beside(parts + "],", "rope", "0");
    text.replace(text.find(": 4,"), 4, ": 5000,");
    const rope::ModelConfig read = rope::read_hf_config(text);
    CHECK(read.configs.size() == 5000);
    CHECK(read.warnings.size() >= 100000);
}

TEST_CASE("nesting is refused from the 33rd level on") {
    for (const std::size_t levels : {std::size_t(33), std::size_t(100000)}) {
        const std::string too_deep =
            " is nested too deep; a config.json must have at most 32 objects and lists within one "
            "another.";
        const std::string end = repeated("[0]", 30);
        CHECK(refused("lists", repeated("[", levels) + repeated("]", levels), kLittle) ==
              "..." + (repeated("[0]", 32)).substr(96 - 87) + too_deep);
        CHECK(refused("objects", repeated("{\"a\":", levels) + "1" + repeated("}", levels), kLittle) ==
              repeated("a.", 31) + "a" + too_deep);
        CHECK(refused("text_config", repeated("{\"text_config\":", levels) + "1" + repeated("}", levels), kLittle) ==
              "..." + (repeated("text_config.", 31) + "text_config").substr(12 * 32 - 1 - 87) + too_deep);
        CHECK(refused("half open", "{\"model_type\":" + repeated("[", levels - 1), kLittle) ==
              "..." + ("model_type" + repeated("[0]", 31)).substr(10 + 93 - 87) + too_deep);
    }
    // 32 levels are fine, and so are the sentences about what is down there.
    const std::string deep =
        repeated("{\"text_config\":", 30) + model(R"("rope_scaling": {"type": "x"})") + repeated("}", 30);
    const std::string sentence = refused("text_config, 32 levels", deep, 20 * kLittle);
    CHECK(sentence.find("text_config.rope_scaling.type is \"x\"; it must be one of default, linear") != sentence.npos);
    const std::string types =
        repeated("{\"text_config\":", 30) +
        model("\"layer_types\": [\"mamba\", \"mamba\", \"mamba\", \"" + std::string(1000, 'x') + "\"]") +
        repeated("}", 30);
    CHECK(refused("the longest sentence", types, 20 * kLittle).find("; it must be one of full_attention") !=
          sentence.npos);
    const std::string fine = repeated("{\"text_config\":", 30) + model(R"("rope_foo": 1)") + repeated("}", 30);
    CHECK(rope::read_hf_config(fine).warnings.size() == 1);
    CHECK(rope::read_hf_config(model("\"x\": " + repeated("[", 31) + repeated("]", 31))).layers() == 4);
}

TEST_CASE("huge counts are refused before anything has their size") {
    CHECK(refused("layers", R"({"rope_theta": 10000, "num_hidden_layers": 1099511627776})", kLittle) ==
          "num_hidden_layers is 1099511627776; it must be a whole number from 1 to 16384.");
    CHECK(
        refused("pairs",
                R"({"rope_theta": 10000, "num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 1099511627776})",
                kLittle) == "head_dim is 1099511627776; it must be a whole number from 1 to 2^20.");
    const std::string types = "\"layer_types\": [\"mamba\"" + repeated(",\"mamba\"", 500000) + "]";
    CHECK(refused("layer types", model(types), 50 * types.size()) ==
          "layer_types has 500001 entries; it must have at most 65536.");
    const std::string flags = "\"num_attention_heads_per_layer\": [1" + repeated(",1", 999999) + "]";
    CHECK(refused("a million entries", model(flags), 50 * flags.size()) ==
          "num_attention_heads_per_layer has 1000000 entries; it must have at most 65536.");
    // Neither are there as many steps as layers times entries.
    const std::string full =
        R"({"rope_theta": 10000, "num_hidden_layers": 16384, "num_attention_heads": "x", "full_attn_idxs": [1)" +
        repeated(",1", 1999999) + "]}";
    CHECK(refused("indices of layers", full, 50 * full.size()) ==
          "full_attn_idxs has 2000000 entries; it must have at most 65536.");
    const std::string divisors = repeated("1,", 600000) + "1]";
    CHECK(refused("factors",
                  model("\"rope_scaling\": {\"type\": \"su\", \"short_factor\": [" + divisors + ", \"long_factor\": [" +
                        divisors + "}"),
                  50 * 2 * divisors.size()) ==
          "rope_scaling.short_factor has 600001 entries; it must have at most 65536.");
    const std::string sections = "\"rope_scaling\": {\"mrope_section\": [" + repeated("1099511627776,", 200000) + "1]}";
    CHECK(refused("sections", model(sections), 50 * sections.size())
              .find("mrope_section has 200001 entries; it must have one for each axis, at most 16.") !=
          std::string::npos);
}
