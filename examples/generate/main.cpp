// SPDX-License-Identifier: MIT
// generate: continues a text with a small Llama. See README.md in this folder.
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../stopwatch.hpp"
#include "contiguous.hpp"
#include "model.hpp"
#include "options.hpp"
#include "paged.hpp"
#include "sampler.hpp"
#include "tokenizer.hpp"
#include "transformer.hpp"

namespace llama {
namespace {

/// Writes at once, so that the text appears as it is made.
void print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw std::runtime_error("The text cannot be written to standard output.");
}

void print_rate(const char* name, Index tokens, double seconds) {
    if (tokens > 0)
        std::fprintf(stderr, "%-8s %4td tokens in %8.2f ms, %8.0f tokens per second\n", name, tokens, 1e3 * seconds,
                     static_cast<double>(tokens) / seconds);
}

std::unique_ptr<Transformer> make_transformer(Cache cache, const Model& model, Index max_positions) {
    if (cache == Cache::paged_float) return std::make_unique<PagedTransformer<float>>(model, max_positions);
    if (cache == Cache::paged_bfloat16) return std::make_unique<PagedTransformer<rope::bfloat16>>(model, max_positions);
    return std::make_unique<ContiguousTransformer>(model, max_positions);
}

void generate(const Options& options) {
    const Model model = read_model(options.model, options.layout);
    const Tokenizer tokenizer(options.tokenizer, model.shape.vocab_size);

    Index steps = options.steps;
    if (steps > model.shape.seq_len) {
        steps = model.shape.seq_len;
        std::fprintf(stderr, "generate: --steps is %d; this model knows %td positions, so it stops there.\n",
                     options.steps, steps);
    }
    const std::vector<int> prompt = tokenizer.encode(options.prompt);
    const Index prompt_size = static_cast<Index>(prompt.size());
    if (prompt_size > steps)
        throw std::runtime_error("The prompt takes " + std::to_string(prompt_size) +
                                 " positions, its beginning-of-text mark included; there are " + std::to_string(steps) +
                                 ".");

    const std::unique_ptr<Transformer> transformer = make_transformer(options.cache, model, steps);
    Sampler sampler(options.temperature, options.top_p, options.seed);
    timing::Stopwatch prefill, decode;

    for (std::size_t i = 1; i < prompt.size(); ++i) print(tokenizer.decode(prompt[i - 1], prompt[i]));
    const Eigen::VectorXf* logits = nullptr;
    prefill.time([&] { logits = &transformer->forward(prompt); });
    const double rope_of_prefill = transformer->rope_seconds();
    for (int previous = prompt.back();;) {
        const int token = sampler.choose(*logits);
        if (token == kBeginOfText || token == kEndOfText) break;
        print(tokenizer.decode(previous, token));
        if (transformer->position() == steps) break;
        decode.time([&] { logits = &transformer->forward({token}); });
        previous = token;
    }
    print("\n");

    print_rate("prefill", prompt_size, prefill.seconds());
    print_rate("decode", transformer->position() - prompt_size, decode.seconds());
    std::fprintf(stderr, "rope     %.2f %% of the prefill", 100.0 * rope_of_prefill / prefill.seconds());
    if (decode.seconds() > 0.0)
        std::fprintf(stderr, ", %.2f %% of a decode step",
                     100.0 * (transformer->rope_seconds() - rope_of_prefill) / decode.seconds());
    std::fputs("\n", stderr);
}

}  // namespace
}  // namespace llama

int main(int argc, char** argv) {
    try {
        const llama::Options options = llama::parse_options(argc, argv);
        if (options.help)
            std::fputs(llama::kHelp, stdout);
        else
            llama::generate(options);
        return 0;
    } catch (const std::bad_alloc&) {
        std::fputs("generate: There is not enough memory for this model.\n", stderr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "generate: %s\n", error.what());
    }
    return 1;
}
