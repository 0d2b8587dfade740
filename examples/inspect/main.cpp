// SPDX-License-Identifier: MIT
// inspect config.json: what a model's configuration says about its rotary embedding, in words, numbers and a picture.
#include <rope/hf_config.hpp>
#include <rope/rope.hpp>

#include <charconv>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "describe.hpp"
#include "plot.hpp"

namespace {

using rope::Index;

constexpr const char* kHelp =
    "inspect: shows what a model's config.json says about its rotary embedding.\n"
    "\n"
    "  inspect config.json [options]\n"
    "  --layer N        only the rotary embedding of layer N\n"
    "  --seq-len N      the sequence length that dynamic NTK and LongRoPE are made for\n"
    "                   (default: the longest that the model's scaling is made for)\n"
    "  --plot FILE      draw the wavelengths, as SVG\n"
    "  --help           print this and stop\n";

struct Options {
    std::string config, plot;
    Index layer = -1, seq_len = 0;
    bool help = false;
};

Index whole_number(const std::string& name, const std::string& value, Index least) {
    Index number = 0;
    const char* const end = value.data() + value.size();
    const std::from_chars_result result = std::from_chars(value.data(), end, number);
    if (result.ec != std::errc() || result.ptr != end || number < least)
        throw std::runtime_error("The value of " + name + " is \"" + value + "\"; it must be a whole number from " +
                                 std::to_string(least) + " on.");
    return number;
}

Options parse_options(int argc, const char* const* argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const auto value = [&]() -> std::string {
            if (i + 1 == argc) throw std::runtime_error("The option " + name + " needs a value.");
            return argv[++i];
        };
        if (name == "--help") {
            options.help = true;
        } else if (name == "--layer") {
            options.layer = whole_number(name, value(), 0);
        } else if (name == "--seq-len") {
            options.seq_len = whole_number(name, value(), 1);
        } else if (name == "--plot") {
            options.plot = value();
        } else if (name.rfind("--", 0) == 0) {
            throw std::runtime_error("There is no option " + name + "; see --help.");
        } else if (!options.config.empty()) {
            throw std::runtime_error("There are two files, \"" + options.config + "\" and \"" + name +
                                     "\"; name one config.json.");
        } else {
            options.config = name;
        }
    }
    if (options.config.empty() && !options.help) throw std::runtime_error("No file is named; see --help.");
    return options;
}

std::string read_file(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    // One byte more than may be: read_hf_config says that it is too much, and nothing larger comes into memory.
    std::string text(rope::kMaxConfigBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    // One that ends before is not bad; a folder is.
    if (!file.is_open() || file.bad()) throw std::runtime_error("The file \"" + name + "\" cannot be read.");
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

/// The library speaks of the text that it was given, and this program of the file.
rope::ModelConfig read_model(const std::string& name) {
    const std::string text = read_file(name), argument = "json_text ";
    try {
        return rope::read_hf_config(text);
    } catch (const std::invalid_argument& error) {
        const std::string sentence = error.what();
        if (sentence.rfind(argument, 0) != 0) throw;
        throw std::runtime_error("The file \"" + name + "\" " + sentence.substr(argument.size()));
    }
}

void print_model(const rope::ModelConfig& m) {
    const Index longest = rope::scaled_length(m);
    std::printf("model_type %s, %td layers, %td positions%s\n", m.model_type.empty() ? "(none)" : m.model_type.c_str(),
                m.layers(), longest,
                longest == m.max_position_embeddings
                    ? ""
                    : (" (" + std::to_string(m.max_position_embeddings) + " before scaling)").c_str());
    if (!m.path.empty()) std::printf("read from %s\n", m.path.c_str());
    if (m.layers() > 0)
        std::printf("heads of layer 0: %td for queries, %td for keys, %td for values\n", m.heads[0].q, m.heads[0].k,
                    m.heads[0].v);
    if (m.axis_map.axes > 1) {
        Index pairs[8] = {};
        for (const unsigned char axis : m.axis_map.axis_of) ++pairs[axis];
        std::printf("pairs of each axis:");
        for (Index axis = 0; axis < m.axis_map.axes; ++axis) std::printf(" %td", pairs[axis]);
        std::printf("\n");
        std::printf("axis of each pair: ");
        for (const unsigned char axis : m.axis_map.axis_of) std::printf("%d", axis);
        std::printf("\n");
    }
    if (m.softmax_scale_factor != 1.0) std::printf("softmax: 1 / sqrt(head_dim) times %.17g\n", m.softmax_scale_factor);
    const rope::AttentionTemperature& t = m.attention_temperature;
    if (t.scale != 0.0)
        std::printf("queries of layers with%s RoPE: times 1 + %.10g ln(1 + floor((p + %td) / %.10g))\n",
                    t.on_layers_with_rope ? "" : "out", t.scale, t.shift, t.period);
    if (m.reference_uses_other_layout)
        std::printf("note: the published code reorders features and rotates in the other layout\n");
    std::printf("layers without RoPE: %s\n", inspect::layers_with(m, -1).c_str());
    std::printf("steps on q, k, v and the output:\n%s", m.steps.empty() ? "not known\n" : inspect::steps(m).c_str());
}

int run(const Options& options) {
    const rope::ModelConfig model = read_model(options.config);
    const rope::Config* const only = options.layer >= 0 ? model.layer(options.layer) : nullptr;
    const Index positions = options.seq_len != 0 ? options.seq_len : rope::scaled_length(model);
    if (positions == 0) throw std::runtime_error("The file does not say max_position_embeddings; say --seq-len.");
    print_model(model);
    for (const std::string& warning : model.warnings) std::printf("warning: %s\n", warning.c_str());
    if (options.layer >= 0 && only == nullptr) std::printf("\nLayer %td has no RoPE.\n", options.layer);

    std::vector<inspect::Spectrum> spectra;
    std::vector<std::string> titles;
    for (std::size_t i = 0; i < model.configs.size(); ++i) {
        if (options.layer >= 0 && &model.configs[i] != only) continue;
        spectra.push_back(inspect::spectrum(model.configs[i], positions));
        titles.push_back("layers " + inspect::layers_with(model, static_cast<Index>(i)));
        std::printf("\n%s\n%s", titles.back().c_str(), inspect::describe(spectra.back(), positions).c_str());
    }
    if (options.plot.empty()) return 0;
    std::ofstream file(options.plot, std::ios::binary);
    file << inspect::plot(spectra, titles, positions);
    file.close();
    if (!file) throw std::runtime_error("The file \"" + options.plot + "\" cannot be written.");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = parse_options(argc, argv);
        if (options.help) return std::fputs(kHelp, stdout), 0;
        return run(options);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "inspect: %s\n", e.what());
        return 1;
    }
}
