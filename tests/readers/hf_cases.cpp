// SPDX-License-Identifier: MIT
// read_hf_config beside the models' own code: each line of a .jsonl file has a config.json, and what transformers makes
// of it (which layers rotate, which features, which way, how fast, along which axes). Not in this repository: name the
// folder in the environment variable or CMake option ROPE_HF_CASES; without it the test is skipped.
//
//     hf_cases [folder]    prints a line per case that fails, `N passed, M failed` by class, and the sum. Exit status:
//                          0 when all pass, 77 without a folder, else 1.
#include <rope/axis_map.hpp>
#include <rope/frequencies.hpp>
#include <rope/hf_config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#ifndef ROPE_TEST_HF_CASES
#    define ROPE_TEST_HF_CASES ""
#endif

namespace {

using Json = nlohmann::json;
using rope::Index;

constexpr double kTolerance = 2e-6;  // transformers makes its numbers in float32

/// Cases that say something else than the models: they must fail, and this list must shrink when they are mended.
const std::map<std::string, const char*> kContradicted = {
    {"default/zaya",
     "layers 1, 5 and 24 are said not to rotate; transformers 5.24's code and a run of it rotate all 40"},
    {"crafted/dbrx", "transformers 5.24 leaves out attn_config.rope_theta (500000), which DBRX was trained with"},
};

/// The features that turn together, and how fast; negative: backwards.
using Pairs = std::map<std::pair<Index, Index>, double>;
Pairs pairs_of(bool interleaved, Index offset, const std::vector<double>& inv_freq, double direction) {
    Pairs pairs;
    const Index n = static_cast<Index>(inv_freq.size());
    for (Index i = 0; i < n; ++i) {
        const Index first = offset + (interleaved ? 2 * i : i), second = first + (interleaved ? 1 : n);
        if (inv_freq[static_cast<std::size_t>(i)] != 0.0)
            pairs[{first, second}] = inv_freq[static_cast<std::size_t>(i)] * direction;
    }
    return pairs;
}
bool is_near(double a, double b) { return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b)); }

/// What differs between two rotary embeddings; empty: nothing.
std::string compare_embedding(const rope::Config& config, const Json& want) {
    if (config.head_dim != want["head_dim"].get<Index>())
        return "head_dim " + std::to_string(config.head_dim) + ", not " + want["head_dim"].dump();
    if (!config.layout) return "the layout is left open";
    const bool is_interleaved = want["layout"] == "interleaved";
    if ((*config.layout == rope::Layout::interleaved) != is_interleaved)
        return "layout is not " + want["layout"].dump();
    if (config.rotary_offset != want["rotary_offset"].get<Index>())
        return "rotary_offset " + std::to_string(config.rotary_offset) + ", not " + want["rotary_offset"].dump();
    const rope::Frequencies f = rope::frequencies(config, 0);
    const Pairs got =
        pairs_of(is_interleaved, config.rotary_offset, std::vector<double>(f.inv_freq.begin(), f.inv_freq.end()), 1.0);
    const Pairs exact = pairs_of(is_interleaved, config.rotary_offset, want["inv_freq"].get<std::vector<double>>(),
                                 want["direction"].get<double>());
    if (got.size() != exact.size())
        return std::to_string(got.size()) + " pairs turn, not " + std::to_string(exact.size());
    for (auto i = got.begin(), j = exact.begin(); i != got.end(); ++i, ++j)
        if (i->first != j->first || !is_near(i->second, j->second))
            return "features " + std::to_string(j->first.first) + " and " + std::to_string(j->first.second) +
                   " turn by " + std::to_string(i->second) + ", not " + std::to_string(j->second);
    if (!is_near(f.attention_factor, want["attention_factor"].get<double>()))
        return "attention_factor " + std::to_string(f.attention_factor) + ", not " + want["attention_factor"].dump();
    return "";
}

/// The axes, as the public functions make them of the case's sections.
std::string compare_axes(const rope::ModelConfig& model, const Json& want) {
    rope::AxisMap map;
    if (!want["mrope"].is_null()) {
        const std::vector<Index> sections = want["mrope_section"].get<std::vector<Index>>();
        map = want["mrope"] == "chunked"       ? rope::mrope_sections(sections)
              : want["mrope"] == "interleaved" ? rope::mrope_interleaved(sections)
                                               : rope::mrope_alternating(sections);
    }
    const bool is_same = model.axis_map.axes == map.axes && model.axis_map.axis_of == map.axis_of;
    return is_same ? "" : "the axis map is not that of " + want["mrope"].dump();
}

std::string compare(const rope::ModelConfig& model, const Json& want, bool layout_is_given) {
    const Json& layers = want["layers"];
    if (static_cast<std::size_t>(model.layers()) != layers.size())
        return std::to_string(model.layers()) + " layers, not " + std::to_string(layers.size());
    bool reorders = false;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const rope::Config* const config = model.layer(static_cast<Index>(i));
        const int e = layers[i].get<int>();
        std::string reason;
        if ((e < 0) != (config == nullptr))
            reason = e < 0 ? "is rotated, and must not be" : "is not rotated, and must be";
        else if (e >= 0)
            reason = compare_embedding(*config, want["embeddings"][static_cast<std::size_t>(e)]);
        if (!reason.empty()) return "layer " + std::to_string(i) + ": " + reason;
    }
    for (const Json& e : want["embeddings"]) reorders = reorders || e["reorders"].get<bool>();
    if (!layout_is_given && reorders != model.reference_uses_other_layout)
        return std::string("reference_uses_other_layout must be ") + (reorders ? "true" : "false");
    return want.contains("mrope") ? compare_axes(model, want) : "";
}

/// What is wrong with what is read; empty: nothing.
std::string judge(const Json& c, bool with_layout) {
    const std::string text = c.contains("config_text") ? c["config_text"].get<std::string>() : c["config"].dump();
    std::optional<rope::Layout> layout;
    if (with_layout && c["layout_given"] == "half_split") layout = rope::Layout::half_split;
    if (with_layout && c["layout_given"] == "interleaved") layout = rope::Layout::interleaved;
    const Json& want = c["expect"];
    try {
        const rope::ModelConfig model = rope::read_hf_config(text, layout);
        if (want.contains("refuse")) return "taken for RoPE: " + want["refuse"].get<std::string>();
        return compare(model, want, layout.has_value());
    } catch (const std::exception& e) {
        return want.contains("refuse") ? "" : std::string("refused though valid: ") + e.what();
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* const variable = std::getenv("ROPE_HF_CASES");
    std::string folder = argc > 1 ? argv[1] : ROPE_TEST_HF_CASES;
    if (folder.empty() && variable != nullptr) folder = variable;
    if (folder.empty()) {
        std::puts(
            "SKIPPED: no cases. Point -DROPE_HF_CASES or the environment variable ROPE_HF_CASES to their folder.");
        return 77;
    }
    std::map<std::string, std::pair<int, int>> sums;  // passed and failed, by class
    int contradicted = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".jsonl") continue;
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) {
            const Json c = Json::parse(line);
            const std::string name = c["name"].get<std::string>();
            std::string reason = judge(c, true);
            if (reason.empty()) reason = judge(c, false);
            if (const auto known = kContradicted.find(name); known != kContradicted.end()) {
                if (!reason.empty()) {
                    ++contradicted;
                    std::cout << name << ": not as the case says (" << reason << "): " << known->second << "\n";
                    continue;
                }
                reason = "passes, and is in the list of cases that cannot";
            }
            auto& [passed, failed] = sums[c["source"].get<std::string>()];
            ++(reason.empty() ? passed : failed);
            if (!reason.empty()) std::cout << name << ": " << reason << "\n";
        }
    }
    int passed = 0, failed = 0;
    for (const auto& [source, sum] : sums) {
        std::cout << source << ": " << sum.first << " passed, " << sum.second << " failed\n";
        passed += sum.first;
        failed += sum.second;
    }
    std::cout << "with and without the layout: " << passed << " passed, " << failed << " failed; " << contradicted
              << " contradict the models\n";
    return passed > 0 && failed == 0 ? 0 : 1;
}
