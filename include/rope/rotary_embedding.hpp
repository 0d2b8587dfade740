// SPDX-License-Identifier: MIT
// RotaryEmbedding: the one object that an engine keeps per model.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "config.hpp"
#include "cos_sin_cache.hpp"
#include "errors.hpp"
#include "fwd.hpp"
#include "list.hpp"
#include "model_config.hpp"
#include "positions.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/executor.hpp"

ROPE_BEGIN

/// How many positions the tables of a RotaryEmbedding hold, and how much memory they may take.
struct TableOptions {
    ROPE_CROSSES_AGGREGATE(TableOptions)
    /// The most there will ever be; 0: scaled_length(model), the longest that the model's scaling is made for. At most
    /// 2^40. Memory: sizeof(T) * rotary_dim bytes per position that a table holds.
    Index max_positions = 0;
    /// How many are computed at once; 0: max_positions or 4096, whichever is less. reserve computes more.
    Index positions = 0;
    /// The sequence length for which schedules that ask for one (dynamic NTK, LongRoPE) are made; 0: max_positions.
    Index seq_len = 0;
    /// The most bytes that all tables may take together, now and when they grow: a file that asks for more, by mistake
    /// or to do harm, is refused and nothing is allocated. 1 GiB is 2^21 positions of 128 features in float. A table
    /// counts as at least 1024 rows, because building it, and a RotaryStep, take as much memory.
    Index max_bytes = Index(1) << 30;
};

/// The rotary embeddings of all layers of a model, with one table for each that is distinct.
///
///     rope::RotaryEmbedding<float> rotary(rope::read_hf_config(text));
///     rotary.reserve(n + seq);                              // once per step: nothing to do, nearly always
///     rotary.apply(layer, q, k, rope::start_at(n));         // in every layer
///
/// It only rotates: model() describes the other steps of the model (steps, softmax_scale_factor,
/// attention_temperature). Heads are not counted, so that q and k may be a part of a layer's. Tables are by positions
/// of one axis: text. For images, video and fractions, and for keys that move in many layers, see RotaryStep below. All
/// tables are made for one sequence length; where each sequence has its own (LongRoPE as Hugging Face does it), keep
/// one object for each length.
///
/// Copies share the tables, also when one of the copies lets them grow. All members but the assignment may be called at
/// the same time from any threads, reserve included: a longer table is built beside the one that others read, which
/// lives until its last reader is done.
template <class T>
class RotaryEmbedding {
 public:
    /// The tables for queries and for keys of a layer: the same, but for xPos. They know the layout, too.
    struct Table {
        ROPE_CROSSES_AGGREGATE(Table)
        CosSinCache<T> q, k;
        /// The layout that the weights of the layer are stored for.
        ROPE_ABI Layout layout() const noexcept { return *q.layout(); }
    };

    /// Throws std::invalid_argument when check(model) is not ok; when the layout of a rotary embedding is left open;
    /// when neither the options nor the model say how many positions there are; when the tables would take more than
    /// max_bytes; and as CosSinCache does, also when it refuses only the position max_positions - 1.
    ROPE_API explicit RotaryEmbedding(ModelConfig model, TableOptions options = {});

    // As for CosSinCache: there is no moving, so that none is ever left empty.
    ROPE_ABI RotaryEmbedding(const RotaryEmbedding&) = default;
    ROPE_ABI RotaryEmbedding& operator=(const RotaryEmbedding&) = default;
    ROPE_ABI ~RotaryEmbedding() = default;

    /// The model as it was given. Valid as long as a copy of this object lives.
    ROPE_API const ModelConfig& model() const noexcept;
    /// The most positions that tables may hold.
    ROPE_API Index max_positions() const noexcept;
    /// How many they hold now: 0 .. positions() - 1.
    ROPE_API Index positions() const;
    /// The number of distinct tables; a table for queries and its table for keys count as one.
    ROPE_API Index tables() const noexcept;
    /// Memory of the tables as they are now.
    ROPE_API std::size_t bytes() const;

    /// Makes the tables hold at least `positions`, and at least twice as many as before (but never more than
    /// max_positions() or than fit into max_bytes), so that it may be called for every token. Rows that are there are
    /// copied, not computed again; calls that run meanwhile go on with the tables they have. Throws std::out_of_range
    /// for a number that is negative or above max_positions(), std::invalid_argument when the tables would take more
    /// than max_bytes, and std::bad_alloc when there is no memory; the tables then stay as they are.
    ROPE_API void reserve(Index positions);

    /// The tables of a layer, or nothing where it has no RoPE. They stay valid as long as they are kept, and serve the
    /// calls that apply below does not make: a pass, only queries, the inverse, out of place. They are for tokens that
    /// stand at the same position on all axes of model().axis_map, and only passes of recipes can tell when others are
    /// given to them: for a prompt with images, video or fractions take RotaryStep::rows. Throws std::out_of_range when
    /// there is no such layer.
    ROPE_API std::optional<Table> table(Index layer) const;

    /// Rotates q and k of a layer, as rope::apply does; does nothing in a layer without RoPE. Throws as rope::apply
    /// does, and std::out_of_range when there is no such layer or a position is not in the tables yet (see reserve).
    template <class Q, class K, class Executor = detail::CallingThread>
    ROPE_ABI detail::ResultOf<Executor> apply(Index layer, Q&& q, K&& k, PositionsArgument&& positions = {},
                                              Executor&& executor = {}) const
        noexcept(detail::throws_nothing<Executor>);

    /// Moves cached keys of a layer in place, in a view or a cache, as rope::reposition does: by `delta` positions, by a
    /// list of deltas, or from old positions to new ones. Does nothing in a layer without RoPE. Throws as rope::reposition
    /// does, and std::out_of_range when there is no such layer. Each call makes its Moves, which takes a millisecond or
    /// two; for many layers see RotaryStep.
    template <class K, class... Args>
    ROPE_ABI void reposition(Index layer, K&& k, Args&&... args) const;

 private:
    struct ROPE_ABI State;
    template <class>
    friend class RotaryStep;

    /// Finds the number of a layer's table, -1 where it has no RoPE, or says that there is no such layer.
    ROPE_API Status find(Index layer, Index& table) const noexcept;
    ROPE_API std::shared_ptr<const List<Table>> tables_now() const;
    ROPE_API Moves<T> moves_of(const Config& config) const;

    std::shared_ptr<State> state_;
};

/// Rows for the positions of one step, or moves of cached keys, which all layers of a model share: for positions that
/// no table has, because they lie on several axes or are fractions, and for keys that move.
///
///     rope::RotaryStep<float> step(rotary);                       // once
///     step.build(rope::AxisPositions(ids, 3, tokens), tokens);    // once per step
///     step.apply(layer, q, k);                                    // in every layer
///     rope::pass<layout>(step.rows(layer)->q, rope::start_at(0), paths...);    // or a pass: row s is that of token s
///
/// It keeps as much memory as the Rows and Moves of each distinct table (see rows.hpp, moves.hpp). Not copied or moved.
/// Any number of threads may apply while nobody builds.
template <class T>
class RotaryStep {
 public:
    /// The rows for queries and for keys of a layer: the same, but for xPos. They know the layout, too.
    struct LayerRows {
        const Rows<T>& q;
        const Rows<T>& k;
        /// The layout that the weights of the layer are stored for.
        ROPE_ABI Layout layout() const noexcept { return *q.layout(); }
    };

    /// Throws as Rows does. Positions have the axes of model().axis_map; a text token has the same position on every
    /// axis. The model and frequencies of `rotary` are used, not its tables.
    ROPE_API explicit RotaryStep(const RotaryEmbedding<T>& rotary);
    RotaryStep(const RotaryStep&) = delete;
    RotaryStep& operator=(const RotaryStep&) = delete;
    ROPE_ABI ~RotaryStep() = default;

    /// Makes the rows of a step. Takes the arguments of Rows::build, and throws as it does; some tables may then have
    /// new rows and others old ones, so build again before applying.
    template <class Positions, class Executor = detail::CallingThread>
    ROPE_ABI void build(Positions&& positions, Index seq, Index batch = 1, Executor&& executor = {});
    /// Rotates q and k of a layer, as RotaryEmbedding::apply does, token s by the row of token s, of which there may be
    /// more than tokens. Throws as rope::apply does: before a build there are no rows, and so no positions.
    template <class Q, class K, class Executor = detail::CallingThread>
    ROPE_ABI detail::ResultOf<Executor> apply(Index layer, Q&& q, K&& k, Executor&& executor = {}) const
        noexcept(detail::throws_nothing<Executor>);
    /// The rows of a layer, as RotaryEmbedding::table has its tables, for the calls that apply does not make; nothing
    /// where the layer has no RoPE. They are part of this object, and each build writes them anew. A row's number is
    /// what calls take for its position: rope::start_at(0) gives token s the row s. Throws std::out_of_range when there
    /// is no such layer.
    ROPE_API std::optional<LayerRows> rows(Index layer) const ROPE_LIFETIMEBOUND;

    /// Makes the moves of cached keys, by a delta, by a list of deltas, or from old positions to new ones. Takes the
    /// arguments of Moves::build, and throws as it does.
    template <class... Args>
    ROPE_ABI void build_moves(Args&&... args);
    /// Moves the keys of a layer in place, in a view or a cache, as rope::reposition does; does nothing in a layer without
    /// RoPE. Throws std::invalid_argument if build_moves was not called before.
    template <class K, class Executor = detail::CallingThread>
    ROPE_ABI detail::ResultOf<Executor> reposition(Index layer, K&& k, Executor&& executor = {}) const
        noexcept(detail::throws_nothing<Executor>);

 private:
    struct ROPE_ABI Table {
        const Config* config = nullptr;                     // of the model that whole_ has
        std::unique_ptr<Rows<T>> q_rows = {}, k_rows = {};  // k_rows: null if keys have the rows of queries
        std::unique_ptr<Moves<T>> moves = {};
    };
    const RotaryEmbedding<T> whole_;
    std::vector<Table> tables_;
};

ROPE_END

#include "detail/rotary/rotary_embedding.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "detail/rotary/model_tables.hpp"
#endif

#include "detail/base/restore_macros.hpp"
