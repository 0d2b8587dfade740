// SPDX-License-Identifier: MIT
// A path and its steps as data.
#pragma once

#include <cstring>
#include <type_traits>

#include "../../positions.hpp"
#include "../../types.hpp"
#include "heads_in_memory.hpp"

ROPE_BEGIN

/// The most steps of a path, and the most features of its heads.
inline constexpr int kMaxSteps = 8;
inline constexpr Index kMaxPathHeadDim = 2048;

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

/// The number of a step's stage (see stages.hpp).
enum class StepKind : unsigned char;

/// How numbers of a step are given.
enum class NumbersKind : unsigned char { none, per_feature, list, view };  // list: of head_dim numbers

/// Containers of numbers that a step can read.
template <class C>
using IfNumberContainer =
    std::enable_if_t<is_buffer<C> && !std::is_void_v<typename ElementTraits<ContainerValue<C>>::storage>, int>;

/// Numbers of a step, by axis of the path's heads; `data` is null if there are none. A stride of 0 where one number serves
/// all.
struct Numbers : AnyView {
    bool is_given, is_list;  // a list has head_dim numbers, and one number does not serve all features
};

struct PathStep {
    StepKind kind;
    bool needs_numbers;
    unsigned char options[6];  // of the stage's own type
    double number;             // a limit, a factor, eps: what the stage takes it for
    Numbers numbers, bias;

    template <class Options>
    void set(const Options& o) noexcept {
        static_assert(std::is_trivially_copyable_v<Options> && sizeof(Options) <= sizeof(options));
        std::memcpy(options, &o, sizeof(o));
    }
};
template <class Options>
inline Options options_of(const PathStep& step) noexcept {
    static_assert(std::is_trivially_copyable_v<Options> && sizeof(Options) <= sizeof(step.options));
    Options o;
    std::memcpy(&o, step.options, sizeof(o));
    return o;
}

/// Numbers as a user gave them to a step.
struct GivenNumbers {
    HeadsInMemory numbers = {};
    NumbersKind kind = NumbersKind::none;
};

/// A path as data.
struct PathData {
    /// A path begins without cache and destination. Only their types are set: clearing 800 bytes takes as long as a head.
    PathData() noexcept { cache.codes.type = destination.codes.type = kNoElements; }

    HeadsInMemory source;     // the view where it begins; of a cache its extents and type alone
    StoredHeads cache;        // where it begins, if that is no view
    StoredHeads destination;  // or nowhere: in place
    bool is_sliced = false;   // only some features of the result go to the destination: these
    Index first_feature, features;
    const void* rows = nullptr;  // CosSinRows of float or double, with positions, in place of the call's; or null
    bool has_double_rows;
    Positions positions;
    HeadsInMemory
        squares;  // of all heads of a token, where a norm has them from elsewhere; and how many heads these are
    Index all_heads;
    int count = 0;  // of steps, also of those beyond kMaxSteps, which a check refuses
    PathStep steps[kMaxSteps];
};
inline bool begins_in_cache(const PathData& p) noexcept { return is_somewhere(p.cache); }
inline bool has_destination(const PathData& p) noexcept { return is_somewhere(p.destination); }
/// Features of a head that are written.
inline Index written_features(const PathData& p) noexcept { return p.is_sliced ? p.features : p.source.extents[3]; }
/// Heads, codes or elements that are read.
inline const HeadsInMemory& read_heads(const PathData& p) noexcept {
    return begins_in_cache(p) ? p.cache.codes : p.source;
}
/// In what format, and with what scales, heads are written.
inline const StoredHeads& written_store(const PathData& p) noexcept {
    return has_destination(p) ? p.destination : p.cache;
}
/// Heads, codes or elements that are written.
inline const HeadsInMemory& written_heads(const PathData& p) noexcept {
    return has_destination(p) ? p.destination.codes : read_heads(p);
}

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail
ROPE_END
