// SPDX-License-Identifier: MIT
// RotaryEmbedding: the one object that an engine keeps per model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "apply.hpp"
#include "config.hpp"
#include "cos_sin_cache.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "list.hpp"
#include "model_config.hpp"
#include "moves.hpp"
#include "positions.hpp"
#include "reposition.hpp"
#include "rows.hpp"
#include "schedule.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

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
        ROPE_ABI Layout layout() const noexcept { return *q.layout(); }
    };

    /// Throws std::invalid_argument when check(model) is not ok; when the layout of a rotary embedding is left open;
    /// when neither the options nor the model say how many positions there are; when the tables would take more than
    /// max_bytes; and as CosSinCache does, also when it refuses only the position max_positions - 1.
    ROPE_ABI explicit RotaryEmbedding(ModelConfig model, TableOptions options = {}) {
        if (!build(std::move(model), options)) state_ = std::make_shared<State>();
    }

    // As for CosSinCache: there is no moving, so that none is ever left empty.
    ROPE_ABI RotaryEmbedding(const RotaryEmbedding&) = default;
    ROPE_ABI RotaryEmbedding& operator=(const RotaryEmbedding&) = default;
    ROPE_ABI ~RotaryEmbedding() = default;

    ROPE_ABI const ModelConfig& model() const noexcept { return state_->model; }
    /// The most positions that tables may hold.
    ROPE_ABI Index max_positions() const noexcept { return state_->max_positions; }
    /// How many they hold now: 0 .. positions() - 1.
    ROPE_ABI Index positions() const {
        const std::lock_guard<std::mutex> lock(state_->reading);
        return state_->positions;
    }
    /// The number of distinct tables; a table for queries and its table for keys count as one.
    ROPE_ABI Index tables() const noexcept { return static_cast<Index>(state_->frequencies.size()); }
    /// Memory of the tables as they are now.
    ROPE_ABI std::size_t bytes() const {
        const Tables tables = tables_now();
        std::size_t sum = 0;
        for (const Table& t : *tables) sum += t.q.bytes() + (is_one(t) ? 0 : t.k.bytes());
        return sum;
    }

    /// Makes the tables hold at least `positions`, and at least twice as many as before (but never more than
    /// max_positions() or than fit into max_bytes), so that it may be called for every token. Rows that are there are
    /// copied, not computed again; calls that run meanwhile go on with the tables they have. Throws std::out_of_range
    /// for a number that is negative or above max_positions(), std::invalid_argument when the tables would take more
    /// than max_bytes, and std::bad_alloc when there is no memory; the tables then stay as they are.
    ROPE_ABI void reserve(Index positions) {
        State& s = *state_;
        if (positions < 0 || positions > s.max_positions) {
            detail::ok_or_raise(detail::out_of_range("positions is {}; it must be from 0 to {} (max_positions).",
                                                     {positions, s.max_positions}));
            return;
        }
        if (positions <= this->positions()) return;
        const std::lock_guard<std::mutex> growing(s.growing);
        if (positions <= this->positions()) return;  // another thread was faster
        if (!detail::ok_or_raise(check_bytes(s, positions))) return;
        const Index most = std::min(s.max_positions, s.max_bytes / std::max<Index>(s.row_bytes, 1));
        const Index wanted = std::max(positions, std::min(2 * this->positions(), most));
        List<Table> longer;
        for (std::size_t i = 0; i < s.frequencies.size(); ++i) {
            const Table& t = (*s.tables)[i];  // written below only, by one thread at a time
            const CosSinCache<T> q = t.q.extended(s.frequencies[i].q, wanted);
            longer.push_back({q, is_one(t) ? q : t.k.extended(s.frequencies[i].k, wanted)});
            if (std::min(q.max_positions(), longer.back().k.max_positions()) < wanted) return;  // no memory
        }
        Tables tables = std::make_shared<const List<Table>>(std::move(longer));
        const std::lock_guard<std::mutex> reading(s.reading);
        s.tables.swap(tables);
        s.positions = wanted;
    }

    /// The tables of a layer, or nothing where it has no RoPE. They stay valid as long as they are kept, and serve the
    /// calls that apply below does not make: only queries, the inverse, out of place. Throws std::out_of_range when
    /// there is no such layer.
    ROPE_ABI std::optional<Table> table(Index layer) const {
        const Config* const config = model().layer(layer);
        if (config == nullptr) return std::nullopt;
        return (*tables_now())[table_of(config)];
    }

    /// Rotates q and k of a layer, as rope::apply does; does nothing in a layer without RoPE. Throws as rope::apply
    /// does, and std::out_of_range when there is no such layer or a position is not in the tables yet (see reserve).
    template <class Q, class K, class Executor = detail::CallingThread>
    ROPE_ABI void apply(Index layer, Q&& q, K&& k, PositionsArgument&& positions = {}, Executor&& executor = {}) const {
        const Config* const config = model().layer(layer);
        if (config == nullptr) return;
        const Tables tables = tables_now();
        const Table& t = (*tables)[table_of(config)];
        rope::apply(t.layout(), std::forward<Q>(q), std::forward<K>(k), t.q, t.k, std::move(positions),
                    std::forward<Executor>(executor));
    }

    /// Moves cached keys of a layer in place, as rope::reposition does: by `delta` positions, or from old positions to
    /// new ones. Does nothing in a layer without RoPE. Throws as rope::reposition does, and std::out_of_range when
    /// there is no such layer. Each call makes its Moves, which takes a millisecond or two; for many layers see
    /// RotaryStep.
    template <class K, class... Args>
    ROPE_ABI void reposition(Index layer, K&& k, Args&&... args) const;

 private:
    using Tables = std::shared_ptr<const List<Table>>;
    struct ROPE_ABI BothFrequencies {
        Frequencies q, k;
    };

    struct ROPE_ABI State {
        ModelConfig model;
        Index max_positions = 0;
        Index seq_len = 0;
        Index max_bytes = 0;
        Index row_bytes = 0;  // of a row of every table
        std::vector<std::size_t> table_of_config;
        std::vector<BothFrequencies> frequencies;  // of each table
        Tables tables = std::make_shared<const List<Table>>();
        Index positions = 0;
        std::mutex reading;  // of the two above; held for as long as it takes to copy a pointer
        std::mutex growing;
    };

    ROPE_ABI Tables tables_now() const {
        const std::lock_guard<std::mutex> lock(state_->reading);
        return state_->tables;
    }
    ROPE_ABI std::size_t table_of(const Config* config) const noexcept {
        return state_->table_of_config[static_cast<std::size_t>(config - model().configs.data())];
    }
    ROPE_ABI static bool is_one(const Table& t) noexcept { return t.q.data() == t.k.data(); }

    /// False when refused and the handler returned; likewise below.
    ROPE_ABI bool build(ModelConfig&& model, TableOptions options) {
        if (!detail::ok_or_raise(check(model))) return false;
        if (options.max_positions == 0) options.max_positions = scaled_length(model);
        if (options.max_positions == 0 && model.configs.empty()) options.max_positions = 1;  // there is nothing to hold
        if (options.max_positions < 1 || options.max_positions > detail::kMaxLength)
            return detail::ok_or_raise(detail::invalid(
                "max_positions is {}; it must be from 1 to 2^40, or 0 if the model says it (max_position_embeddings).",
                {options.max_positions}));
        if (options.positions == 0) options.positions = std::min<Index>(options.max_positions, 4096);
        if (options.positions < 1 || options.positions > options.max_positions)
            return detail::ok_or_raise(detail::invalid("positions is {}; it must be from 1 to {} (max_positions).",
                                                       {options.positions, options.max_positions}));
        state_->max_positions = options.max_positions;
        state_->positions = options.positions;
        state_->seq_len = options.seq_len != 0 ? options.seq_len : options.max_positions;
        state_->max_bytes = options.max_bytes;
        state_->model = std::move(model);
        List<Table> tables;
        for (const Config& config : this->model().configs)
            if (!add(config, tables)) return false;
        state_->tables = std::make_shared<const List<Table>>(std::move(tables));
        return true;
    }

    /// Finds the table of a rotary embedding among the existing ones, or makes one.
    ROPE_ABI bool add(const Config& config, List<Table>& tables) {
        State& s = *state_;
        if (!config.layout)
            return detail::ok_or_raise(
                detail::invalid("layout of configs[{}] of the model is left open; it must be set to the one that the "
                                "weights are stored for, which not every file says.",
                                {s.table_of_config.size()}));
        Config q = config, k = config;
        if (auto* const xpos = std::get_if<schedule::Xpos>(&q.schedule)) xpos->side = schedule::Xpos::Side::query;
        if (auto* const xpos = std::get_if<schedule::Xpos>(&k.schedule)) xpos->side = schedule::Xpos::Side::key;
        BothFrequencies f;
        if (!detail::ok_or_raise(detail::make_frequencies(q, s.seq_len, f.q)) ||
            !detail::ok_or_raise(detail::make_frequencies(k, s.seq_len, f.k)))
            return false;
        std::size_t i = 0;
        while (i < tables.size() &&
               !(same(f.q, s.frequencies[i].q) && same(f.k, s.frequencies[i].k) && is_for(config, tables[i].q)))
            ++i;
        if (i == tables.size()) {
            const Index row_bytes = detail::rotary_dim(config) * static_cast<Index>(sizeof(T));
            s.row_bytes += same(f.q, f.k) ? row_bytes : 2 * row_bytes;
            if (!detail::ok_or_raise(check_bytes(s, s.positions))) return false;
        }
        // A table that would be refused when it grows is refused now: its last row is made, and dropped.
        const CosSinCache<T> last(q, 1, s.max_positions - 1, s.seq_len);
        if (last.max_positions() == 0) return false;
        s.table_of_config.push_back(i);
        if (i < tables.size()) return true;

        const CosSinCache<T> q_table(q, s.positions, 0, s.seq_len);
        if (q_table.max_positions() == 0) return false;
        tables.push_back({q_table, same(f.q, f.k) ? q_table : CosSinCache<T>(k, s.positions, 0, s.seq_len)});
        s.frequencies.push_back(std::move(f));
        return tables.back().k.max_positions() > 0;
    }

    /// Tables of so many positions may take as much memory as they do.
    ROPE_ABI static Status check_bytes(const State& s, Index positions) noexcept {
        const Index rows = std::max<Index>(positions, 1024);
        if (s.row_bytes == 0 || rows <= s.max_bytes / s.row_bytes) return Status();
        const double bytes = static_cast<double>(rows) * static_cast<double>(s.row_bytes);  // may be beyond 2^63
        return detail::invalid(
            "positions is {}; the tables of this model, with {} bytes per position, would take {} bytes, and max_bytes "
            "of "
            "the TableOptions is {}.",
            {positions, s.row_bytes, bytes, s.max_bytes});
    }

    ROPE_ABI static bool is_for(const Config& config, const CosSinCache<T>& table) noexcept {
        return table.layout() == config.layout && table.head_dim() == config.head_dim &&
               table.rotary_offset() == config.rotary_offset;
    }
    ROPE_ABI static bool same(const Frequencies& a, const Frequencies& b) noexcept {
        return a.inv_freq == b.inv_freq && a.inv_freq_low == b.inv_freq_low &&
               a.attention_factor == b.attention_factor && a.log_growth == b.log_growth && a.centre == b.centre;
    }

    template <class>
    friend class RotaryStep;

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Rows for the positions of one step, or moves of cached keys, which all layers of a model share: for positions that
/// no table has, because they lie on several axes or are fractions, and for keys that move.
///
///     rope::RotaryStep<float> step(rotary);                       // once
///     step.build(rope::AxisPositions(ids, 3, tokens), tokens);    // once per step
///     step.apply(layer, q, k);                                    // in every layer
///
/// It keeps as much memory as the Rows and Moves of each distinct table (see rows.hpp, moves.hpp). Not copied or moved.
/// Any number of threads may apply while nobody builds.
template <class T>
class RotaryStep {
 public:
    /// Throws as Rows does. Positions have the axes of model().axis_map; a text token has the same position on every
    /// axis. The model and frequencies of `rotary` are used, not its tables.
    ROPE_ABI explicit RotaryStep(const RotaryEmbedding<T>& rotary) : rotary_(rotary) {
        const auto& s = *rotary_.state_;
        for (const auto& f : s.frequencies) tables_.push_back({f.q, f.k});
        for (std::size_t c = 0; c < s.table_of_config.size(); ++c) {
            const Config& config = s.model.configs[c];
            tables_[s.table_of_config[c]].slice = {config.head_dim, config.rotary_offset};
        }
        for (Table& t : tables_) {
            t.q_rows = std::make_unique<Rows<T>>(t.q, s.model.axis_map, t.slice);
            if (!is_one(t)) t.k_rows = std::make_unique<Rows<T>>(t.k, s.model.axis_map, t.slice);
        }
    }
    RotaryStep(const RotaryStep&) = delete;
    RotaryStep& operator=(const RotaryStep&) = delete;
    ROPE_ABI ~RotaryStep() = default;

    /// Makes the rows of a step. Takes the arguments of Rows::build, and throws as it does; some tables may then have
    /// new rows and others old ones, so build again before applying.
    template <class Positions, class Executor = detail::CallingThread>
    ROPE_ABI bool build(Positions&& positions, Index seq, Index batch = 1, Executor&& executor = {}) {
        for (Table& t : tables_)
            if (!t.q_rows->build(std::forward<Positions>(positions), seq, batch, executor) ||
                (t.k_rows && !t.k_rows->build(std::forward<Positions>(positions), seq, batch, executor)))
                return false;
        return true;
    }
    /// Rotates q and k of a layer, as RotaryEmbedding::apply does, token s by the row of token s.
    template <class Q, class K, class Executor = detail::CallingThread>
    ROPE_ABI void apply(Index layer, Q&& q, K&& k, Executor&& executor = {}) const {
        const Config* const config = rotary_.model().layer(layer);
        if (config == nullptr) return;
        const Table& t = tables_[rotary_.table_of(config)];
        rope::apply(*config->layout, std::forward<Q>(q), std::forward<K>(k), *t.q_rows,
                    t.k_rows ? *t.k_rows : *t.q_rows, Positions(), std::forward<Executor>(executor));
    }

    /// Makes the moves of cached keys, by a delta, or from old positions to new ones. Takes the arguments of
    /// Moves::build, and throws as it does.
    template <class... Args>
    ROPE_ABI bool build_moves(Args&&... args) {
        for (Table& t : tables_) {
            if (!t.moves) t.moves = std::make_unique<Moves<T>>(t.k, rotary_.model().axis_map, t.slice);
            if (!t.moves->build(std::forward<Args>(args)...)) return false;
        }
        return true;
    }
    /// Moves the keys of a layer in place, as rope::reposition does; does nothing in a layer without RoPE. Throws
    /// std::invalid_argument if build_moves was not called before.
    template <class K, class Executor = detail::CallingThread>
    ROPE_ABI void reposition(Index layer, K&& k, Executor&& executor = {}) const {
        const Config* const config = rotary_.model().layer(layer);
        if (config == nullptr) return;
        const Table& t = tables_[rotary_.table_of(config)];
        if (!t.moves) {
            detail::ok_or_raise(detail::invalid("moves are missing; build_moves must come before reposition."));
            return;
        }
        rope::reposition(*config->layout, std::forward<K>(k), *t.moves, std::forward<Executor>(executor));
    }

 private:
    struct ROPE_ABI Table {
        Frequencies q, k;
        HeadSlice slice = {};
        std::unique_ptr<Rows<T>> q_rows = {}, k_rows = {};  ///< k_rows: null if keys have the rows of queries
        std::unique_ptr<Moves<T>> moves = {};
    };
    ROPE_ABI static bool is_one(const Table& t) noexcept { return RotaryEmbedding<T>::same(t.q, t.k); }

    RotaryEmbedding<T> rotary_;
    std::vector<Table> tables_;
};

template <class T>
template <class K, class... Args>
ROPE_ABI void RotaryEmbedding<T>::reposition(Index layer, K&& k, Args&&... args) const {
    const Config* const config = model().layer(layer);
    if (config == nullptr) return;
    Config of_keys = *config;
    if (auto* const xpos = std::get_if<schedule::Xpos>(&of_keys.schedule)) xpos->side = schedule::Xpos::Side::key;
    Moves<T> moves(of_keys, model().axis_map, state_->seq_len);
    const auto v = detail::as_view(k);
    if constexpr (sizeof...(Args) == 1) {
        if (moves.pairs() > 0 && moves.build(std::forward<Args>(args)...))
            rope::reposition(*config->layout, std::forward<K>(k), moves);
    } else {
        if (moves.pairs() > 0 && moves.build(std::forward<Args>(args)..., v.seq, v.batch))
            rope::reposition(*config->layout, std::forward<K>(k), moves);
    }
}

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
