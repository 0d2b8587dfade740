// SPDX-License-Identifier: MIT
// paged_decode: sequences that come and go are decoded together, over pages of int8 keys. See README.md in this folder.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "paged_cache.hpp"
#include "sequences.hpp"

namespace {

constexpr std::size_t kBatch = 7;  // sequences that are decoded together
constexpr Index kPages = 42;       // as many as the first seven requests need, so that others wait for theirs
constexpr Index kMaxPositions = 256;
constexpr double kBound = 1.5e-2;  // of the errors: about twice what the rounding of keys to int8 makes of them

/// Numbers, tokens in the prompt, and tokens to decode. Request 10 cites 64 tokens of 1 behind 17 of its own.
const std::deque<Sequence> kRequests = {{0, 5, 12},  {1, 130, 30}, {2, 48, 6},         {3, 200, 20},
                                        {4, 17, 25}, {5, 96, 9},   {6, 1, 16},         {7, 60, 10},
                                        {8, 33, 18}, {9, 16, 8},   {10, 81, 14, 1, 64}};

class Engine {
 public:
    Engine(const rope::Config& config, const rope::CosSinCache<float>& cos_sin)
        : cos_sin_(cos_sin), cache_(config, cos_sin, kPages), free_pages_(kPages) {}

    /// Runs all requests to their end and returns them in the order in which they ended.
    std::vector<Sequence> run() {
        for (int step = 0;; ++step) {
            end_and_begin(step);
            if (std::none_of(batch_.begin(), batch_.end(), [](const auto& row) { return row.has_value(); }))
                return ended_;
            decode();
        }
    }

 private:
    /// A sequence that has all its tokens leaves its pages, and requests that wait begin where pages suffice.
    void end_and_begin(int step) {
        std::string news;
        for (auto& row : batch_)
            if (row && row->length == row->last_length()) {
                news += " " + std::to_string(row->number) + " ends;";
                free_pages_.take_back(*row);
                ended_.push_back(*row);
                row.reset();
            }
        for (auto& row : batch_)
            if (!row && !waiting_.empty() && waiting_.front().pages() <= free_pages_.count()) {
                row = waiting_.front();
                waiting_.pop_front();
                free_pages_.give_to(*row);
                news += " " + std::to_string(row->number) + " begins" + prefill(*row) + ";";
            }
        if (!news.empty())
            std::printf("step %2d:%s %d pages are free\n", step, news.c_str(), static_cast<int>(free_pages_.count()));
    }

    /// The prompt of one sequence, at positions 0, 1, 2, ... The scores that it would give are not needed here. Tokens that
    /// it cites, of a sequence that still has its pages, are not computed again: their keys and values are copied from
    /// these, and the keys move to where they stand here. Returns what there is to say of it.
    std::string prefill(Sequence& sequence) {
        const auto cited = std::find_if(batch_.begin(), batch_.end(), [&](const auto& row) {
            return row && row->number == sequence.cites && row->length >= sequence.cited;
        });
        const bool copies = cited != batch_.end();
        Tokens tokens = project(sequence, 0, copies ? sequence.own() : sequence.prompt);
        cache_.write(tokens, rope::start_at(0), sequence.first_slots(tokens.rows()));
        if (copies) cache_.copy((*cited)->first_slots(sequence.cited), sequence.cited_slots(), sequence.own());
        sequence.length = sequence.prompt;
        return copies ? ", " + std::to_string(sequence.cited) + " tokens moved from " + std::to_string(sequence.cites)
                      : "";
    }

    /// One more token for every sequence of the batch, each at its own position and in its own slot. The batch always
    /// has kBatch rows; a row without a sequence has slot -1, so nothing is written for it.
    void decode() {
        Tokens tokens = Tokens::Zero(kBatch, kTokenWidth);
        std::array<Index, kBatch> positions = {};
        Slots slots(kBatch, -1);
        for (std::size_t r = 0; r < kBatch; ++r)
            if (const auto& sequence = batch_[r]) {
                tokens.row(static_cast<Index>(r)) = project(*sequence, sequence->length, 1);
                positions[r] = sequence->length;
                slots[r] = sequence->slots[static_cast<std::size_t>(sequence->length)];
            }
        cache_.write(tokens, positions, slots);

        for (std::size_t r = 0; r < kBatch; ++r)
            if (auto& sequence = batch_[r]) {
                ++sequence->length;
                const Row query = tokens.row(static_cast<Index>(r)).head(kWidth);
                const Row out = cache_.attend(query, sequence->first_slots(sequence->length));
                const double error = relative_error(out, attention_in_float(*sequence, cos_sin_));
                sequence->error = std::max(sequence->error, error);
            }
    }

    const rope::CosSinCache<float>& cos_sin_;
    PagedCache cache_;
    FreePages free_pages_;
    std::deque<Sequence> waiting_ = kRequests;
    std::array<std::optional<Sequence>, kBatch> batch_;
    std::vector<Sequence> ended_;
};

/// Prints the table and returns whether all errors are within the bound.
bool report(std::vector<Sequence> sequences, double bound) {
    std::sort(sequences.begin(), sequences.end(),
              [](const Sequence& a, const Sequence& b) { return a.number < b.number; });
    std::printf("\nsequence  prompt  decoded  pages  error\n");
    bool ok = true;
    for (const Sequence& s : sequences) {
        const bool is_within = s.error <= bound;
        std::printf("%8d  %6d  %7d  %5d  %.1e%s\n", static_cast<int>(s.number), static_cast<int>(s.prompt),
                    static_cast<int>(s.generated), static_cast<int>(s.pages()), s.error, is_within ? "" : " (FAILED)");
        ok = ok && is_within;
    }
    std::printf("\nThe error is the largest of all steps; at most %.1e is allowed.\n", bound);
    return ok;
}

constexpr const char* kHelp =
    "paged_decode: sequences that come and go, decoded together over pages of int8 keys.\n"
    "\n"
    "  paged_decode       run, and print the error of every sequence\n"
    "  --bound E          the largest error that is allowed (default: 0.015)\n"
    "  --help             print this and stop\n";

/// The value of --bound; nothing if it is no finite decimal number above 0.
std::optional<double> bound_from(const std::string& value) {
    char* end = nullptr;
    const double bound = std::strtod(value.c_str(), &end);
    const bool is_decimal = !value.empty() && value.find_first_not_of("+-.0123456789eE") == std::string::npos &&
                            end == value.c_str() + value.size();
    if (!is_decimal || !std::isfinite(bound) || bound <= 0.0) return std::nullopt;
    return bound;
}

}  // namespace

int main(int argc, char** argv) {
    double bound = kBound;
    if (argc > 1 && std::string(argv[1]) == "--bound") {
        const std::string value = argc > 2 ? argv[2] : "";
        const std::optional<double> given = bound_from(value);
        if (!given) {
            std::fprintf(stderr, "paged_decode: The value of --bound is \"%s\"; it must be a number above 0.\n",
                         value.c_str());
            return 1;
        }
        bound = *given;
        argc -= 2, argv += 2;
    }
    if (const auto status = arguments::answer(argc, argv, kHelp)) return *status;
    rope::Config config;
    config.head_dim = kHeadDim;
    const rope::CosSinCache<float> cos_sin(config, kMaxPositions);
    std::printf("Decoding of %d sequences at once over %d pages of %d tokens; %d query heads and %d key heads of %d.\n",
                static_cast<int>(kBatch), static_cast<int>(kPages), static_cast<int>(kPageSize),
                static_cast<int>(kHeads), static_cast<int>(kKvHeads), static_cast<int>(kHeadDim));
    return report(Engine(config, cos_sin).run(), bound) ? 0 : 1;
}
