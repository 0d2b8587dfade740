// SPDX-License-Identifier: MIT
#include "sequences.hpp"

#include <cmath>
#include <limits>
#include <random>

FreePages::FreePages(Index pages) {
    for (Index page = 0; page < pages; ++page) pages_.push_back(page);
}

void FreePages::give_to(Sequence& sequence) {
    for (Index i = 0; i < sequence.pages(); ++i) {
        for (Index place = 0; place < kPageSize; ++place) sequence.slots.push_back(pages_.back() * kPageSize + place);
        pages_.pop_back();
    }
}

void FreePages::take_back(const Sequence& sequence) {
    for (std::size_t i = 0; i < sequence.slots.size(); i += kPageSize) pages_.push_back(sequence.slots[i] / kPageSize);
}

Tokens project(const Sequence& sequence, Index first, Index count) {
    Tokens tokens(count, kTokenWidth);
    for (Index t = 0; t < count; ++t) {
        const Index at = first + t;
        const bool is_cited = at >= sequence.own() && at < sequence.prompt;
        const Index of = is_cited ? sequence.cites : sequence.number, place = is_cited ? at - sequence.own() : at;
        std::mt19937 engine(static_cast<unsigned>(1000 * of + place));
        std::normal_distribution<float> normal;
        for (Index i = 0; i < kTokenWidth; ++i) tokens(t, i) = normal(engine);
    }
    return tokens;
}

Row attention_in_float(const Sequence& sequence, const rope::CosSinCache<float>& cos_sin) {
    Tokens tokens = project(sequence, 0, sequence.length);
    rope::apply<kLayout>(rope::view(tokens.leftCols((kHeads + kKvHeads) * kHeadDim), kHeads + kKvHeads), cos_sin);

    Row out(kWidth);
    for (Index h = 0; h < kHeads; ++h) {
        const Index key_head = kHeads + h / (kHeads / kKvHeads), value_head = key_head + kKvHeads;
        const auto head = [&tokens](Index i) { return tokens.middleCols<kHeadDim>(i * kHeadDim); };
        Row weights = head(h).bottomRows(1) * head(key_head).transpose() / std::sqrt(static_cast<float>(kHeadDim));
        weights = (weights.array() - weights.maxCoeff()).exp();
        out.segment<kHeadDim>(h * kHeadDim) = weights * head(value_head) / weights.sum();
    }
    return out;
}

double relative_error(const Row& value, const Row& expected) {
    const double error = static_cast<double>((value - expected).norm() / expected.norm());
    return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}
