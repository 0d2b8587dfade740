// SPDX-License-Identifier: MIT
// heads and pass: everything that is done to q, k and v between their projection and attention, in one pass.
#pragma once

#include <type_traits>

#include "apply.hpp"
#include "cos_sin_cache.hpp"
#include "cos_sin_rows.hpp"
#include "destinations.hpp"
#include "errors.hpp"
#include "head_steps.hpp"
#include "part.hpp"
#include "positions.hpp"
#include "tensor_view.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/executor.hpp"
#include "detail/paths/steps.hpp"

ROPE_BEGIN

/// Numbers that a step reads: weights, biases, factors. A pointer to float, half or bfloat16 (double for data in double)
/// has one number for each feature, the same for all heads. A view has 1 or the whole extent along each axis of the
/// path's heads, and what has 1 serves all:
///
///     w.data(), or w, a std::vector         [head_dim]; of a norm over all heads of a token [heads, head_dim]
///     rope::view(w, 1, 1, heads, head_dim)  [heads, head_dim]
///     rope::view(t, batch, seq, 1, 1)       one for each token: a temperature
///     rope::view(t, batch, seq, heads, 1)   one for each head of each token
class StepNumbers {
 public:
    template <class T, std::enable_if_t<!std::is_void_v<typename ElementTraits<T>::storage>, int> = 0>
    ROPE_ABI StepNumbers(const T* per_feature) noexcept  // NOLINT(google-explicit-constructor)
        : data_{detail::in_memory(TensorView<const T>{per_feature, 1, 1, 1, 0, 0, 0, 0, 1}),
                detail::NumbersKind::per_feature} {}
    /// A contiguous container of head_dim numbers.
    template <class C, detail::IfNumberContainer<C> = 0>
    ROPE_ABI StepNumbers(const C& per_feature ROPE_LIFETIMEBOUND) noexcept  // NOLINT(google-explicit-constructor)
        : StepNumbers(rope::view(per_feature.data(), 1, 1, static_cast<Index>(per_feature.size()))) {
        data_.kind = detail::NumbersKind::list;
    }
    template <class T,
              std::enable_if_t<!std::is_void_v<typename ElementTraits<std::remove_const_t<T>>::storage>, int> = 0>
    ROPE_ABI StepNumbers(const TensorView<T>& v) noexcept  // NOLINT(google-explicit-constructor)
        : data_{detail::in_memory(TensorView<const T>(v)), detail::NumbersKind::view} {}
    /// None: a norm without weight or without bias.
    ROPE_ABI StepNumbers(std::nullptr_t = nullptr) noexcept {}  // NOLINT(google-explicit-constructor)
    ROPE_CROSSES(StepNumbers)

 private:
    friend struct detail::PathAccess;
    ROPE_ABI explicit StepNumbers(const detail::GivenNumbers& data) noexcept : data_(data) {}
    detail::GivenNumbers data_;
};

/// The numbers over which a norm takes its mean: those of a head, or those of all heads of a token.
enum class NormSpan : unsigned char { head, token };

struct NormOptions {
    ROPE_CROSSES_AGGREGATE(NormOptions)
    NormSpan over = NormSpan::head;
    NormRounding rounding = NormRounding::none;
    bool adds_one = false;  ///< the weight is stored around 0, and 1 is added to it: Gemma
    /// With NormSpan::token, where the path has only some heads of a token (other ranks of a tensor-parallel engine have the
    /// others): for each token the sum of squares over all ranks' heads, [batch, seq, 1, 1], which is what sum_squares
    /// gives each rank, added up; and how many heads these are. For rms_norm and l2_norm, in one norm of a path at
    /// most. Results are those of the norm over all heads but for the order of the sums in double.
    TensorView<const double> squares = {};
    Index all_heads = 0;
};

/// A path: heads, the steps on them in the order of the calls, and their destination. A value of some three kilobytes
/// that owns nothing; pass reads what it refers to. At most kMaxSteps (8) steps, at most one of which rotates.
///
/// Everything is computed in float (double for data in double) and rounded once, at the destination, unless a step says
/// otherwise. Without `to` the result replaces the source.
///
/// Each step returns the path itself: to keep one, write `rope::Path p = ...` or `auto p = ...`, not `auto& p`, which would
/// refer to a temporary that is gone.
class Path {
 public:
    /// x + b
    ROPE_API Path& add(const StepNumbers& bias) noexcept ROPE_LIFETIMEBOUND;
    /// x, held within -limit .. limit; the limit is finite and at least 0
    ROPE_API Path& clamp(double limit) noexcept ROPE_LIFETIMEBOUND;
    /// x * factor, which is finite
    ROPE_API Path& multiply(double factor) noexcept ROPE_LIFETIMEBOUND;
    ROPE_API Path& multiply(const StepNumbers& factors) noexcept ROPE_LIFETIMEBOUND;

    /// x * r * w, from left to right, with r = 1 / sqrt(mean(x^2) + eps), which is computed in double and rounded to
    /// float. The sum of a head is made in double, of 16 sums of every 16th number, which are added by halves (sum k and
    /// sum k + 8, then k + 4, k + 2, k + 1); those of a token's heads are added in their order. eps is at least 0. The
    /// weight of a norm over a token has [heads, head_dim] numbers, of the path's heads, if it is a pointer or a list.
    ///
    /// The valid range of all norms. In float and narrower the root is from 2^-127 to 2^126 (5.9e-39 to 8.5e37): below, its
    /// reciprocal overflows to infinity, which an eps from 3.5e-77 on excludes; above, it is subnormal and has fewer bits.
    /// In double squares are not scaled: the largest |x| is at most 1.3e154 over the root of the number of features, and at
    /// least 1.5e-154 if eps is 0. Numbers of 1e200 become 0, and those of 1e-200 with eps 0 infinities.
    ROPE_API Path& rms_norm(const StepNumbers& weight, double eps,
                            const NormOptions& options = {}) noexcept ROPE_LIFETIMEBOUND;
    /// Without weight.
    ROPE_API Path& rms_norm(double eps, const NormOptions& options = {}) noexcept ROPE_LIFETIMEBOUND;
    /// The same with r = 1 / sqrt(sum(x^2) + eps).
    ROPE_API Path& l2_norm(const StepNumbers& weight, double eps,
                           const NormOptions& options = {}) noexcept ROPE_LIFETIMEBOUND;
    /// (x - mean(x)) * r * w + b, with r = 1 / sqrt(mean((x - mean(x))^2) + eps). Either of w and b may be nullptr. The
    /// mean is a double; from x its nearest float is taken, then what that leaves.
    ROPE_API Path& layer_norm(const StepNumbers& weight, const StepNumbers& bias, double eps,
                              const NormOptions& options = {}) noexcept ROPE_LIFETIMEBOUND;

    /// The rotation, as apply has it: of the slice that the rows of the call are made for.
    ROPE_API Path& rotate(RotateRounding rounding = RotateRounding::none) noexcept ROPE_LIFETIMEBOUND;
    /// The inverse, as apply_inverse has it: DeepSeek-V4 rotates its output back.
    ROPE_API Path& rotate_back(RotateRounding rounding = RotateRounding::none) noexcept ROPE_LIFETIMEBOUND;
    /// The rotation of pairs in the layout of the call, left in another one: DeepSeek-V3 reads interleaved pairs and
    /// leaves them half-split. (Scores are the same if q and k do so.)
    ROPE_API Path& rotate_into(Layout layout,
                               RotateRounding rounding = RotateRounding::none) noexcept ROPE_LIFETIMEBOUND;

    /// The rotation by this path's own rows and positions, in the layout of the call, whose rows and positions are
    /// ignored; without positions these are 0, 1, 2, ..., not the call's: one source can have results at several places
    /// (Self-Extend, ReRoPE), or raw and rotated. Neither is copied: rows, and a list of positions, must live until the
    /// pass. Rows are of double for data in double, else of float.
    template <class T>
    ROPE_ABI Path& rotate(const CosSinRows<T>& rows ROPE_LIFETIMEBOUND, const Positions& positions = {},
                          RotateRounding rounding = RotateRounding::none) noexcept ROPE_LIFETIMEBOUND;
    template <class T>
    ROPE_ABI Path& rotate_back(const CosSinRows<T>& rows ROPE_LIFETIMEBOUND, const Positions& positions = {},
                               RotateRounding rounding = RotateRounding::none) noexcept ROPE_LIFETIMEBOUND;
    /// Rows that would be gone: give them a name. (Of rotary.table(layer)->k it is the table that needs one.)
    template <class T>
    Path& rotate(const CosSinRows<T>&& rows, const Positions& = {}, RotateRounding = RotateRounding::none) = delete;
    template <class T>
    Path& rotate_back(const CosSinRows<T>&& rows, const Positions& = {},
                      RotateRounding = RotateRounding::none) = delete;

    /// The Walsh-Hadamard transform of the head, or of its blocks, times 1 / sqrt(block): it spreads outliers before a
    /// quantiser, and q and k both need it. Sums and differences of numbers that are 1 apart come first, then those of 2,
    /// 4, ... apart. `block` is a power of two that divides head_dim; 0: head_dim.
    ROPE_API Path& hadamard(Index block = 0) noexcept ROPE_LIFETIMEBOUND;

    /// Rounds to the type of the source, as a model does whose steps are operations of their own. (Codes of a cache are read
    /// as float, to which everything is rounded anyway.)
    ROPE_API Path& round() noexcept ROPE_LIFETIMEBOUND;

    /// Where the heads go; the last call counts.
    ROPE_API Path& to(const Destination& destination) noexcept ROPE_LIFETIMEBOUND;
    /// Only features `first` to first + count - 1 of the result go to the destination, which has heads of `count` features,
    /// one at least. The steps, before and after this, see whole heads. The path needs a destination. DeepSeek-V4's keys,
    /// with one norm for parts of two types:
    ///
    ///     rope::heads(k).rms_norm(w, eps).slice_features(0, 448).to(rope::fp8_e4m3(latent, scales)),
    ///     rope::heads(k).rms_norm(w, eps).rotate().slice_features(448, 64).to(rotated)
    ROPE_API Path& slice_features(Index first, Index count) noexcept ROPE_LIFETIMEBOUND;
    ROPE_CROSSES(Path)

 private:
    friend struct detail::PathAccess;
    ROPE_ABI explicit Path(const detail::HeadsInMemory& source) noexcept { data_.source = source; }
    template <class T>
    ROPE_ABI void use_rows(const CosSinRows<T>& rows, const Positions& positions) noexcept {
        data_.rows = &rows;
        data_.has_double_rows = std::is_same_v<T, double>;
        data_.positions = positions;
    }
    detail::PathData data_;
};

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {
/// Whether X is a Destination, or becomes one though it is no tensor: pages, and what a program has around them.
template <class X>
inline constexpr bool is_stored = std::is_convertible_v<const X&, Destination>&& is_no_tensor<X>;
template <class T>
std::true_type says_rows(const CosSinRows<T>*);
std::false_type says_rows(const void*);
template <class X>
using IfNotStored = std::enable_if_t<!is_stored<std::decay_t<X>>, int>;
/// What may be an executor before a path: no path, no layout, and no rows whose layout was forgotten.
template <class X>
using IfNoPath = std::enable_if_t<!std::is_same_v<std::decay_t<X>, Path> && !std::is_same_v<std::decay_t<X>, Layout> &&
                                      !decltype(says_rows(static_cast<std::decay_t<X>*>(nullptr)))::value,
                                  int>;
}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

/// The beginning of a path: a view, or a tensor for which ViewTraits makes one, of float, half, bfloat16 or double. A
/// slice of heads or features of one is a path of its own (q, k and v in one buffer; the latent and the rotated part of
/// a key of multi-head latent attention). head_dim is at most kMaxPathHeadDim (2048).
template <class X, detail::IfNotStored<X> = 0>
ROPE_ABI inline Path heads(X&& x) noexcept;
/// The beginning of a path in a cache: whatever a Destination can be, also of const memory. A head of a format is read as
/// dequantise reads it; tokens whose slot is -1 are left out. Pages have batch 1 and as many tokens as slots, or, with
/// a view as the destination, its batch and seq. Without `to`, or with the same cache and scales, the path works in
/// place: then no slot may stand for two tokens, which would rotate a key twice. (It is refused among the first 32768
/// places; beyond these it is the caller's promise. A page that several sequences share changes for all of them.)
ROPE_API Path heads(const Destination& cache) noexcept;
template <class T>
ROPE_ABI inline Path heads(const Paged<T>& pages) noexcept {
    return heads(Destination(pages));
}

/// Does all steps of all paths: reads every source once and writes every destination once. Paths with the same source
/// (a view, codes or pages, with the same list of slots in memory) are run together, a few tokens at a time, so that it
/// comes from memory once.
///
///     rope::pass<rope::Layout::half_split>(
///         cache, rope::start_at(n),
///         rope::heads(q).rms_norm(q_weight, 1e-6).rotate().multiply(scale).to(q_out),
///         rope::heads(k).rms_norm(k_weight, 1e-6).rotate().to(rope::paged(keys, pages, 16, 8, 128, slots)),
///         rope::heads(v).to(rope::paged(values, pages, 16, 8, 128, slots)));
///
///   rows, positions  as for apply; without positions these are 0, 1, 2, ... All paths have their batch and seq, and
///                    positions are checked whether a path rotates or not.
///   paths            one or more
///   executor         may stand before the rows: pass<layout>(executor, rows, positions, paths...). See apply.
///
/// Results      The bits of the formulas at the steps of Path: operation by operation, each rounded to float (double
///              for data in double), and once more at the destination, or as its format says. They do not depend on
///              strides, other heads, the cut into threads or, but for the rotation (see apply), on the instruction set.
///              A NaN or an infinity stays in its head, with a norm over a token in its token.
/// Aliasing     A destination is the source of its path (the same view, or the same codes and scales), or shares no
///              element with any other destination or source (places of the same pages are apart if their slots are), with
///              the numbers of a step or with slots. Sources may coincide, but for one that a path writes in place.
///              Distinct elements of a destination have distinct addresses. No list of positions lies in a destination, and
///              no destination in the memory of the rows' cosines and sines; the last is not checked.
/// Memory       No allocation; at most 36 KiB of the stack, 64 KiB in double. No byte outside the views is read or
///              written.
/// Errors       std::out_of_range for a position that the table does not hold and a slot that the pages do not have;
///              std::invalid_argument for anything else, also for the numbers of steps, which the functions of Path do
///              not check. Nothing is written before everything is checked.
template <Layout layout, class T, class... Paths>
ROPE_ABI inline void pass(const CosSinRows<T>& rows, PositionsArgument&& positions, const Paths&... paths);
template <Layout layout, class T, class... Paths>
ROPE_ABI inline void pass(const CosSinRows<T>& rows, const Path& first, const Paths&... others);
/// The same with an executor, which cuts the call for threads; <rope/part.hpp> has one for a part of the call.
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline detail::ResultOf<Executor> pass(Executor&& executor, const CosSinRows<T>& rows,
                                                PositionsArgument&& positions,
                                                const Paths&... paths) noexcept(detail::throws_nothing<Executor>);
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline detail::ResultOf<Executor> pass(Executor&& executor, const CosSinRows<T>& rows, const Path& first,
                                                const Paths&... others) noexcept(detail::throws_nothing<Executor>);

/// Without rows and positions, where nothing rotates: for data in float, half, bfloat16 and formats.
template <class... Paths>
ROPE_ABI inline void pass(const Path& first, const Paths&... others);
template <class Executor, class... Paths, detail::IfNoPath<Executor> = 0>
ROPE_ABI inline detail::ResultOf<Executor> pass(Executor&& executor, const Path& first,
                                                const Paths&... others) noexcept(detail::throws_nothing<Executor>);
template <class... Paths>
ROPE_ABI inline Status check_pass(const Path& first, const Paths&... others) noexcept;
template <class Executor, class... Paths, detail::IfNoPath<Executor> = 0>
ROPE_ABI inline Status check_pass(Executor&& executor, const Path& first, const Paths&... others) noexcept;

/// The sum of the squares of each token: of all features of all heads of a path after its steps, none of which may be a
/// rotation; its destination is not used. For norms over heads that several ranks share:
///
///     rope::sum_squares(rope::heads(q), rope::view(sums, batch, seq, 1, 1));     // of my heads
///     all_reduce(sums);                                                          // yours: sums over all ranks
///     rope::NormOptions options = {rope::NormSpan::token};
///     options.squares = rope::view(sums, batch, seq, 1, 1);
///     options.all_heads = 64;
///     rope::pass<layout>(cache, positions, rope::heads(q).rms_norm(my_weight, eps, options).rotate());
///
///   path      of any source; of double, too
///   sums      [batch, seq, 1, 1], written; tokens whose slot is -1 are left out. They share no element with what is read.
///   executor  as in apply; it gets whole tokens
///
/// Results   As rms_norm sums: each head in double, of 16 sums of every 16th square; heads are added in their order.
/// Errors    As pass.
template <class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> sum_squares(
    const Path& path, const TensorView<double>& sums,
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);

/// Whether pass would accept these arguments. Never throws; see Status.
template <Layout layout, class T, class... Paths>
ROPE_ABI inline Status check_pass(const CosSinRows<T>& rows, PositionsArgument&& positions,
                                  const Paths&... paths) noexcept;
template <Layout layout, class T, class... Paths>
ROPE_ABI inline Status check_pass(const CosSinRows<T>& rows, const Path& first, const Paths&... others) noexcept;

template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline Status check_pass(Executor&& executor, const CosSinRows<T>& rows, PositionsArgument&& positions,
                                  const Paths&... paths) noexcept;
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline Status check_pass(Executor&& executor, const CosSinRows<T>& rows, const Path& first,
                                  const Paths&... others) noexcept;

/// Reads back what a path has written: the numbers that the codes stand for, as float, half or bfloat16; the same as
/// pass(executor, heads(from).to(to)). Tokens whose slot is -1 are left as they are. Throws std::out_of_range for a slot
/// that the pages do not have, and std::invalid_argument for any other `from` or `to` that does not suit.
template <class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> dequantise(
    const Destination& from, const TensorView<T>& to,
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);

/// With the layout as a first argument, when it is known only at run time; rows and what follows are the same.
template <class... Args>
ROPE_ABI inline decltype(auto) pass(Layout layout, Args&&... args);
template <class... Args>
ROPE_ABI inline Status check_pass(Layout layout, Args&&... args) noexcept;

ROPE_END

#include "detail/paths/pass.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "detail/paths/run.hpp"
#endif

#include "detail/base/restore_macros.hpp"
