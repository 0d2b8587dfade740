// SPDX-License-Identifier: MIT
// The compiler's sentence for calls that no function of a name takes, in place of its list of candidates.
#pragma once

#include "../../types.hpp"

ROPE_DETAIL_BEGIN

/// Any argument, by a conversion that is worse than all others: a call comes to a function of these only if no other of
/// that name takes it, neither one of the library nor one of the program.
struct AnyArgument {
    template <class... T>
    AnyArgument(const T&...) noexcept {}  // NOLINT(google-explicit-constructor): braces, too
};

// The sentences stand in functions of their own, outside the macro, and know of no layout: the compilers explain each line
// of a macro, and a call with the layout at run time makes a call for each layout. (A bool, because g++ explains more.)

template <bool never>
inline void refuse_missing_layout() noexcept {
    static_assert(
        never,
        "This function needs the layout, which no tensor knows: name<rope::Layout::half_split>(...) for weights "
        "as Hugging Face stores most, <rope::Layout::interleaved> for those of GPT-J and Meta's Llama. Where it "
        "is known only at run time it is the first argument, and each of the others has a type, no braces.");
}

#define ROPE_SAYS_ROWS                                                                                       \
    "Rows of cosines and sines are rope::CosSinCache<float> cache(config, max_positions), made once, or "    \
    "rope::Rows, no Config, Frequencies or ModelConfig; a RotaryEmbedding has them in table(layer)->q, and " \
    "has an apply(layer, q, k, positions)."

template <bool never>
inline void refuse_arguments() noexcept {
    static_assert(
        never,
        "No function of this name takes these arguments. In this order it takes one tensor, or two (q and k, in "
        "and out); their rows, or rows for each of q and k; positions, or none for 0, 1, 2, ..., which "
        "are written {} before an executor (a variable of them is a rope::Positions, no PositionsArgument); and "
        "after these an executor, or none. " ROPE_SAYS_ROWS);
}

template <bool never>
inline void refuse_build() noexcept {
    static_assert(
        never,
        "No build takes these arguments. They are positions and how many tokens they are for, build(positions, "
        "seq), and then perhaps batch and an executor; for Moves one delta, build(delta), a list of them, "
        "build(deltas, seq), or two lists, build(old_positions, new_positions, seq).");
}
template <bool never>
inline void refuse_shared_table() noexcept {
    static_assert(
        never,
        "shared_table takes Frequencies and how many positions: shared_table<float>(rope::frequencies(config), "
        "positions), and perhaps a HeadSlice.");
}

ROPE_DETAIL_END

#define ROPE_ANY_ARGUMENTS                                                                                  \
    detail::AnyArgument = {}, detail::AnyArgument = {}, detail::AnyArgument = {}, detail::AnyArgument = {}, \
    detail::AnyArgument = {}, detail::AnyArgument = {}, detail::AnyArgument = {}, detail::AnyArgument = {}

/// Refuses all other calls name(...) and name<layout>(...), by a function `refuse` with the sentence. The macro stands before
/// ROPE_WITH_RUN_TIME_LAYOUT(name), which makes such calls.
#define ROPE_REFUSE_OTHER_CALLS(Result, name, refuse)          \
    template <Layout..., bool never = false>                   \
    ROPE_ABI inline Result name(ROPE_ANY_ARGUMENTS) noexcept { \
        return detail::refuse<never>(), Result();              \
    }
/// The same for a function that must have a layout.
#define ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(Result, name, refuse) \
    template <bool never = false>                                 \
    ROPE_ABI inline Result name(ROPE_ANY_ARGUMENTS) noexcept {    \
        return detail::refuse_missing_layout<never>(), Result();  \
    }                                                             \
    template <Layout, bool never = false>                         \
    ROPE_ABI inline Result name(ROPE_ANY_ARGUMENTS) noexcept {    \
        return detail::refuse<never>(), Result();                 \
    }
