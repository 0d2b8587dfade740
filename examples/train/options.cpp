// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <system_error>

namespace train {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& allowed) {
    throw std::runtime_error("The value of " + name + " is \"" + value + "\"; it must be " + allowed + ".");
}

/// A whole number: digits alone, with nothing around them.
Index whole_number(const std::string& name, const std::string& value, Index least, Index most) {
    Index number = 0;
    const char* const end = value.data() + value.size();
    const std::from_chars_result result = std::from_chars(value.data(), end, number);
    if (result.ec != std::errc() || result.ptr != end || number < least || number > most)
        refuse(name, value, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return number;
}

/// A decimal number above 0. strtod alone would also accept spaces in front, hexadecimal digits, "inf" and "nan".
double rate(const std::string& name, const std::string& value) {
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    const bool whole = !value.empty() && value.find_first_not_of("+-.0123456789eE") == std::string::npos &&
                       end == value.c_str() + value.size();
    if (!whole || !(number > 0.0) || number > 1.0) refuse(name, value, "a number above 0 and at most 1");
    return number;
}

Encoding encoding(const std::string& name, const std::string& value) {
    for (const Encoding e : {Encoding::none, Encoding::sinusoidal, Encoding::learned, Encoding::t5, Encoding::alibi,
                             Encoding::rotary, Encoding::rotary_interleaved, Encoding::rotary_learned})
        if (value == name_of(e)) return e;
    refuse(name, value, "none, sinusoidal, learned, t5, alibi, rotary, rotary-interleaved or rotary-learned");
}

Attention attention(const std::string& name, const std::string& value) {
    for (const Attention a : {Attention::softmax, Attention::favor, Attention::elu})
        if (value == name_of(a)) return a;
    refuse(name, value, "softmax, favor or elu");
}

RotateAt rotate_at(const std::string& name, const std::string& value) {
    if (value == "before") return RotateAt::before;
    if (value == "after") return RotateAt::after;
    refuse(name, value, "before or after");
}

}  // namespace

const char* const kHelp =
    "train: trains a small transformer on the bytes of a file, with the encoding of positions that you choose.\n"
    "\n"
    "  --data FILE        the text (required); its last twentieth is kept for validation\n"
    "  --compare          train rotary and the encodings it is compared with, several seeds of each, and print a "
    "table\n"
    "  --extrapolate      train rotary with three bases, and other encodings, several seeds of each, and print losses "
    "on\n"
    "                     sequences that are longer than those of training\n"
    "  --share            time a forward pass and a training step at three widths, and the rotation's part of them\n"
    "  --encoding E       none, sinusoidal, learned, t5, alibi, rotary, rotary-interleaved or\n"
    "                     rotary-learned (default: rotary)\n"
    "  --rotary-dim N     features of a head that rotate, 0 for all of them (default: 0)\n"
    "  --base N           of the rotary frequencies, base^(-2i/d), a whole number (default: 10000)\n"
    "  --window N         local attention: a byte sees the last N bytes, itself included; less than --context; 0: no\n"
    "                     limit (default: 0)\n"
    "  --attention A      softmax, or linear attention: favor or elu (default: softmax)\n"
    "  --rotate R         linear attention rotates queries and keys (before) or their features (after) (default: "
    "before)\n"
    "  --features N       random features of favor (default: 256)\n"
    "  --dim N            features of a token (default: 128)\n"
    "  --layers N         (default: 2)\n"
    "  --heads N          (default: 4)\n"
    "  --context N        bytes of a sequence (default: 256)\n"
    "  --batch N          sequences of a step (default: 16)\n"
    "  --steps N          (default: 600)\n"
    "  --rate R           learning rate after the warm-up (default: 0.002)\n"
    "  --seed S           of first weights, batches and random features (default: 1)\n"
    "  --seeds N          with --compare and --extrapolate, the seeds 1 .. N (default: 3)\n"
    "  --out FOLDER       checkpoints and curves are written there; interrupted runs continue from them\n"
    "  --stop-at N        stop after N steps, to go on another time; needs --out\n"
    "  --threads N        1 or 2; results are the same (default: 2)\n"
    "  --help             print this and stop\n"
    "\n"
    "Results go to standard output, progress to standard error.\n";

Options parse_options(int argc, const char* const* argv) {
    Options options;
    Settings& settings = options.settings;
    Shape& shape = settings.shape;
    std::set<std::string> given;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const auto value = [&]() -> std::string {
            if (++i == argc) throw std::runtime_error("The option " + name + " needs a value after it.");
            return argv[i];
        };
        const auto number = [&](Index least, Index most) { return whole_number(name, value(), least, most); };
        given.insert(name);
        if (name == "--help") {
            options.help = true;
            return options;
        } else if (name == "--compare") {
            options.mode = Mode::compare;
        } else if (name == "--extrapolate") {
            options.mode = Mode::extrapolate;
        } else if (name == "--share") {
            options.mode = Mode::share;
        } else if (name == "--data") {
            options.data = value();
        } else if (name == "--out") {
            options.folder = value();
        } else if (name == "--encoding") {
            shape.encoding = encoding(name, value());
        } else if (name == "--rotary-dim") {
            shape.rotary_dim = number(0, 1024);
        } else if (name == "--base") {
            shape.base = static_cast<double>(number(2, 1000000000));
        } else if (name == "--window") {
            shape.window = number(0, 4096);
        } else if (name == "--attention") {
            shape.attention = attention(name, value());
        } else if (name == "--rotate") {
            shape.rotate_at = rotate_at(name, value());
        } else if (name == "--features") {
            shape.features = number(2, 4096);
        } else if (name == "--dim") {
            shape.dim = number(2, 1024);
        } else if (name == "--layers") {
            shape.layers = number(1, 32);
        } else if (name == "--heads") {
            shape.heads = number(1, 64);
        } else if (name == "--context") {
            shape.context = number(2, 4096);
        } else if (name == "--batch") {
            settings.batch = number(2, 1024);
        } else if (name == "--steps") {
            settings.steps = number(1, 10000000);
        } else if (name == "--rate") {
            settings.learning_rate = rate(name, value());
        } else if (name == "--seed") {
            shape.seed = static_cast<std::uint64_t>(number(0, 1000000000));
        } else if (name == "--seeds") {
            options.seeds = number(1, 100);
        } else if (name == "--stop-at") {
            options.stop_at = number(1, 10000000);
        } else if (name == "--threads") {
            settings.threads = number(1, 2);
        } else {
            throw std::runtime_error("There is no option \"" + name + "\"; --help lists them all.");
        }
    }
    if (options.data.empty()) throw std::runtime_error("The option --data is missing; it names the text.");
    const auto without = [&](const char* mode, std::initializer_list<const char*> names) {
        for (const char* name : names)
            if (given.count(name) != 0)
                throw std::runtime_error(std::string("The option ") + name + " is of no use " + mode + ".");
    };
    const auto without_run = [&](const char* mode) {  // options of a single run, which the mode sets itself
        without(mode, {"--encoding", "--rotate", "--rotary-dim", "--base", "--seed", "--stop-at"});
    };
    if (given.count("--compare") != 0) {
        without("with --compare", {"--extrapolate", "--share"});
        without_run("with --compare");
    } else if (given.count("--extrapolate") != 0) {
        without("with --extrapolate", {"--share"});
        without_run("with --extrapolate");
    } else {
        without("without --compare or --extrapolate", {"--seeds"});
    }
    if (options.mode == Mode::share) {
        without_run("with --share");
        without("with --share", {"--dim", "--heads", "--steps", "--rate", "--out", "--threads"});
    }
    if (options.folder.empty()) without("without --out", {"--stop-at"});
    check(settings);
    return options;
}

}  // namespace train
