// SPDX-License-Identifier: MIT
// Sequences, the pages they take and give back, and what their attention should be.
#pragma once

#include <rope/rope.hpp>

#include <vector>

#include "paged_cache.hpp"

/// One request. Its tokens have positions 0, 1, 2, ..., whichever pages they lie in.
struct Sequence {
    Index number;
    Index prompt;     ///< tokens that it begins with
    Index generated;  ///< tokens that are decoded after them, one in each step
    /// Its prompt ends with the first tokens of this sequence, which still stand in the cache; -1: with its own.
    Index cites = -1;
    Index cited = 0;  ///< how many

    Index length = 0;    ///< tokens in the cache
    Slots slots = {};    ///< of all tokens that it will have
    double error = 0.0;  ///< the largest of its steps

    Index last_length() const { return prompt + generated; }
    Slots first_slots(Index tokens) const { return Slots(slots.begin(), slots.begin() + tokens); }
    Slots cited_slots() const { return Slots(slots.begin() + own(), slots.begin() + prompt); }
    /// Tokens of the prompt before those that it cites.
    Index own() const { return prompt - cited; }
    Index pages() const { return (last_length() + kPageSize - 1) / kPageSize; }
};

/// The free pages of a cache.
class FreePages {
 public:
    explicit FreePages(Index pages);

    Index count() const { return static_cast<Index>(pages_.size()); }
    /// Takes the pages that a sequence needs, of which there must be enough, and gives it their slots.
    void give_to(Sequence& sequence);
    void take_back(const Sequence& sequence);

 private:
    std::vector<Index> pages_;
};

/// Tokens first .. first + count - 1 of a sequence, as a projection would leave them: standard normal numbers, always
/// the same for the same token.
Tokens project(const Sequence& sequence, Index first, Index count);

/// The attention output of the last token, computed in float from the sequence alone, without pages.
Row attention_in_float(const Sequence& sequence, const rope::CosSinCache<float>& cos_sin);

/// |value - expected| / |expected|, in the Euclidean norm.
double relative_error(const Row& value, const Row& expected);
