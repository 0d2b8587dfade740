// SPDX-License-Identifier: MIT
// context_shift: text beyond the positions a model knows. See README.md in this folder.
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../stopwatch.hpp"
#include "model.hpp"
#include "option_values.hpp"
#include "sampler.hpp"
#include "shifting.hpp"
#include "tokenizer.hpp"

namespace llama {
namespace {

/// The two runs round differently, and the network adds that up: as far apart are the logits of either run in programs
/// of two compilers.
constexpr float kLargestDifference = 2e-5f;
/// With keys in 8 bits, whose rounding the network adds up as well. Keys that did not move make it 21.
constexpr float kLargestOfQuantised = 1.5f;

constexpr const char* kHelp =
    "context_shift: tells stories with a Llama model in the llama2.c format, beyond the positions it knows.\n"
    "\n"
    "  --model FILE       weights, llama2.c version 0 (required)\n"
    "  --tokenizer FILE   vocabulary, llama2.c tokenizer.bin (required)\n"
    "  --cache KIND       keys that move: float (default), or q8_0 in pages, behind a Hadamard transform\n"
    "  --tokens N         tokens to choose, always the most likely (default: 1500)\n"
    "  --keep N           first tokens, which stay for ever (default: 1, the mark that begins a text)\n"
    "  --drop N           tokens after them to forget when all positions are taken (default: half of these)\n"
    "  --help             print this and stop\n"
    "\n"
    "The text goes to standard output, figures to standard error.\n";

struct Options {
    std::string model, tokenizer;
    bool is_quantised = false;
    int tokens = 1500;
    int keep = 1;
    int drop = 0;  // half
    bool help = false;
};

Options parse_options(int argc, const char* const* argv) {
    Options options;
    read_options(argc, argv, options, [&options](const std::string& name, const auto& value) {
        if (name == "--cache") {
            const std::string kind = value();
            if (kind != "float" && kind != "q8_0")
                throw std::runtime_error("--cache is \"" + kind + "\"; it must be float or q8_0.");
            options.is_quantised = kind == "q8_0";
        } else if (name == "--tokens") {
            options.tokens = whole_number<int>(name, value(), 1);
        } else if (name == "--keep") {
            options.keep = whole_number<int>(name, value(), 0);
        } else if (name == "--drop") {
            options.drop = whole_number<int>(name, value(), 1);
        } else {
            return false;
        }
        return true;
    });
    return options;
}

/// How many tokens to forget at a time: what was asked for, or half of those that are not kept.
Index dropped_at_once(const Options& options, Index positions) {
    const std::string knows = "this model knows " + std::to_string(positions) + " positions";
    if (options.keep >= positions)
        throw std::runtime_error("--keep is " + std::to_string(options.keep) + "; " + knows +
                                 ", and one at least must be left for new tokens.");
    const Index most = positions - options.keep;
    if (options.drop > most)
        throw std::runtime_error("--drop is " + std::to_string(options.drop) + "; " + knows + ", of which " +
                                 std::to_string(most) + " are not kept.");
    return options.drop != 0 ? options.drop : std::max<Index>(most / 2, 1);
}

/// Writes at once, so that the text appears as it is made.
void print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw std::runtime_error("The text cannot be written to standard output.");
}

/// A number for all tokens chosen, in their order: FNV-1a of 64 bits over four bytes each, the lowest first.
class Hash {
 public:
    void add(int token) {
        for (int shift = 0; shift < 32; shift += 8)
            value_ = (value_ ^ (static_cast<std::uint32_t>(token) >> shift & 0xFF)) * 0x100000001B3;
    }
    std::uint64_t value() const { return value_; }

 private:
    std::uint64_t value_ = 0xCBF29CE484222325;
};

/// How far the chosen token is ahead of the next.
float lead(const Eigen::VectorXf& logits, int chosen) {
    float next = -std::numeric_limits<float>::infinity();
    for (Index token = 0; token < logits.size(); ++token)
        if (token != chosen) next = std::max(next, logits[token]);
    return logits[chosen] - next;
}

/// Tells the stories and returns whether the two caches agreed.
bool tell(const Options& options) {
    const Model model = read_model(options.model, rope::Layout::interleaved);
    const Tokenizer tokenizer(options.tokenizer, model.shape.vocab_size);
    const Index positions = model.shape.seq_len;
    const Index drop = dropped_at_once(options, positions);

    std::unique_ptr<ShiftingTransformer> cache;
    if (options.is_quantised)
        cache = std::make_unique<QuantisedKeys>(model, positions);
    else
        cache = std::make_unique<MovedKeys>(model, positions);
    ShiftingTransformer& moved = *cache;
    const float most = options.is_quantised ? kLargestOfQuantised : kLargestDifference;
    UnrotatedKeys unrotated(model, positions);
    Sampler sampler(0.0f, 1.0f, 0);
    timing::Stopwatch moved_shifts, unrotated_shifts;
    Hash hash;
    int shifts = 0, other_choices = 0;
    float difference = 0.0f, least_lead = std::numeric_limits<float>::infinity();

    int token = kBeginOfText;
    for (int chosen = 0; chosen < options.tokens; ++chosen) {
        // Both runs get the tokens that the first one chooses, so that their scores can be compared to the end.
        if (moved.position() == positions) {
            moved_shifts.time([&] { moved.drop(options.keep, drop); });
            unrotated_shifts.time([&] { unrotated.drop(options.keep, drop); });
            ++shifts;
        }
        const Eigen::VectorXf& logits = moved.forward({token});
        const Eigen::VectorXf& others = unrotated.forward({token});

        const int previous = token;
        token = sampler.choose(logits);
        other_choices += sampler.choose(others) != token;
        difference = std::max(difference, (logits - others).cwiseAbs().maxCoeff());
        least_lead = std::min(least_lead, lead(logits, token));
        hash.add(token);
        // The marks around a text are tokens like any other: the model ends one story and begins the next.
        const bool is_mark = token == kBeginOfText || token == kEndOfText;
        print(is_mark ? "\n\n" : tokenizer.decode(previous, token));
    }
    print("\n");

    std::fprintf(stderr, "tokens      %d chosen, %td positions, hash %016" PRIx64 "\n", options.tokens, positions,
                 hash.value());
    std::fprintf(stderr, "shifts      %d; first %d kept, next %td dropped, last %td moved\n", shifts, options.keep,
                 drop, positions - options.keep - drop);
    std::fprintf(stderr, "difference  %.2e at most, to the logits of unrotated keys\n",
                 static_cast<double>(difference));
    std::fprintf(stderr, "choices     %d differ; the closest was ahead by %.2e\n", other_choices,
                 static_cast<double>(least_lead));
    std::fprintf(stderr, "time        %.2f ms in rotations and shifts; %.2f ms with unrotated keys\n",
                 1e3 * (moved.rope_seconds() + moved_shifts.seconds()),
                 1e3 * (unrotated.rope_seconds() + unrotated_shifts.seconds()));
    if (difference <= most) return true;
    std::fprintf(stderr, "context_shift: The largest difference is %.2e; it must be at most %.2g.\n",
                 static_cast<double>(difference), static_cast<double>(most));
    return false;
}

}  // namespace
}  // namespace llama

int main(int argc, char** argv) {
    try {
        const llama::Options options = llama::parse_options(argc, argv);
        if (!options.help) return llama::tell(options) ? 0 : 1;
        std::fputs(llama::kHelp, stdout);
        return 0;
    } catch (const std::bad_alloc&) {
        std::fputs("context_shift: There is not enough memory for this model.\n", stderr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "context_shift: %s\n", error.what());
    }
    return 1;
}
