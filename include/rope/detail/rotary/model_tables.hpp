// SPDX-License-Identifier: MIT
// Definitions of rotary_embedding.hpp: the tables of a model, and the rows of a step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "../../config.hpp"
#include "../../cos_sin_cache.hpp"
#include "../../errors.hpp"
#include "../../list.hpp"
#include "../../model_config.hpp"
#include "../../moves.hpp"
#include "../../rotary_embedding.hpp"
#include "../../rows.hpp"
#include "../../schedule.hpp"
#include "../../types.hpp"
#include "../angles/model_config.hpp"
#include "../base/mutex.hpp"
#include "../tables/table_source.hpp"

ROPE_DETAIL_BEGIN

/// The Config of one side's table; the sides differ in xPos alone.
inline Config config_of(const Config& both, schedule::Xpos::Side side) {
    Config config = both;
    if (auto* const xpos = std::get_if<schedule::Xpos>(&config.schedule)) xpos->side = side;
    return config;
}

/// The order of two numbers, of two lists and of two tables, by all that distinguishes them: negative, 0 or positive.
/// (Translation units share the comparison of a std::tuple, with the instructions of one of them.)
template <class N>
inline int order(const N& a, const N& b) noexcept {
    return a < b ? -1 : b < a ? 1 : 0;
}
inline int order(const List<double>& a, const List<double>& b) noexcept {
    int o = order(a.size(), b.size());
    for (std::size_t i = 0; o == 0 && i < a.size(); ++i) o = order(a[i], b[i]);
    return o;
}
inline int order(const TableSource& a, const TableSource& b) noexcept {
    int o = order(a.f.inv_freq, b.f.inv_freq);
    if (o == 0) o = order(a.f.inv_freq_low, b.f.inv_freq_low);
    if (o == 0) o = order(a.f.log_growth, b.f.log_growth);
    if (o == 0) o = order(a.f.attention_factor, b.f.attention_factor);
    if (o == 0) o = order(a.f.centre, b.f.centre);
    if (o == 0) o = order(*a.layout, *b.layout);
    if (o == 0) o = order(a.slice.head_dim, b.slice.head_dim);
    return o != 0 ? o : order(a.slice.rotary_offset, b.slice.rotary_offset);
}

/// The sources of the tables of a layer, whose layout is known.
struct BothSources {
    TableSource q, k;
    bool is_one() const noexcept { return order(q, k) == 0; }
    bool operator<(const BothSources& other) const noexcept {
        const int o = order(q, other.q);
        return o < 0 || (o == 0 && order(k, other.k) < 0);
    }
};

inline Status check_options(const TableOptions& options) noexcept {
    if (options.max_positions < 1 || options.max_positions > kMaxLength)
        return invalid(
            "max_positions is {}; it must be from 1 to 2^40, or 0 if the model says it (max_position_embeddings).",
            {options.max_positions});
    if (options.positions >= 1 && options.positions <= options.max_positions) return Status();
    return invalid("positions is {}; it must be from 1 to {} (max_positions).",
                   {options.positions, options.max_positions});
}

ROPE_DETAIL_END

ROPE_BEGIN

template <class T>
struct RotaryEmbedding<T>::State {
    using Tables = std::shared_ptr<const List<Table>>;

    ModelConfig model;
    Index max_positions = 0;
    Index seq_len = 0;
    Index max_bytes = 0;
    Index row_bytes = 0;  // of a row of every table
    List<std::size_t> table_of_config;
    List<detail::BothSources> sources;  // of each table
    List<std::size_t> in_order;         // numbers of tables, in the order of their sources
    Tables tables;
    Index positions = 0;
    mutable detail::Mutex reading;  // of the two above; held for as long as it takes to copy a pointer
    detail::Mutex growing;

    ROPE_ABI void build(ModelConfig&& given, TableOptions options) {
        detail::ok_or_raise(check(given));
        if (options.max_positions == 0) options.max_positions = scaled_length(given);
        if (options.max_positions == 0 && given.configs.empty()) options.max_positions = 1;  // there is nothing to hold
        if (options.positions == 0) options.positions = std::min<Index>(options.max_positions, 4096);
        detail::ok_or_raise(detail::check_options(options));
        max_positions = options.max_positions;
        positions = options.positions;
        seq_len = options.seq_len != 0 ? options.seq_len : options.max_positions;
        max_bytes = options.max_bytes;
        model = std::move(given);
        List<Table> made;
        for (const Config& config : model.configs) add(config, made);
        tables = std::make_shared<const List<Table>>(std::move(made));
    }

    /// Finds the table of a rotary embedding among those that are made, or makes one.
    ROPE_ABI void add(const Config& config, List<Table>& made) {
        if (!config.layout)
            detail::refuse(
                detail::invalid("layout of configs[{}] of the model is left open; it must be set to the one that the "
                                "weights are stored for, which not every file says.",
                                {table_of_config.size()}));
        // A table that exceeds max_bytes by itself is refused before its frequencies are computed.
        const bool is_xpos = std::holds_alternative<schedule::Xpos>(config.schedule);
        const Index own_bytes = detail::rotary_dim(config) * static_cast<Index>(sizeof(T)) * (is_xpos ? 2 : 1);
        if (!check_bytes(positions, own_bytes).ok()) detail::refuse(check_bytes(positions, row_bytes + own_bytes));
        const auto source_of = [this, &config](schedule::Xpos::Side side) {
            return detail::table_source(detail::config_of(config, side), seq_len);
        };
        detail::BothSources both = {source_of(schedule::Xpos::Side::query), {}};
        both.k = is_xpos ? source_of(schedule::Xpos::Side::key) : both.q;
        detail::ok_or_raise(both.q.status);
        detail::ok_or_raise(both.k.status);
        const auto is_before = [this](std::size_t table, const detail::BothSources& b) { return sources[table] < b; };
        const auto place = std::lower_bound(in_order.begin(), in_order.end(), both, is_before);
        const bool is_there = place != in_order.end() && !(both < sources[*place]);
        const std::size_t i = is_there ? *place : made.size();
        if (!is_there) {
            in_order.insert(place, i);
            row_bytes += own_bytes;
            detail::ok_or_raise(check_bytes(positions, row_bytes));
        }
        // A table that would be refused when it grows is refused now: its last row is made, and dropped.
        CosSinCache<T>::of(both.q, 1, max_positions - 1);
        table_of_config.push_back(i);
        if (is_there) return;

        const CosSinCache<T> q_table = CosSinCache<T>::of(both.q, positions, 0);
        made.push_back({q_table, both.is_one() ? q_table : CosSinCache<T>::of(both.k, positions, 0)});
        sources.push_back(std::move(both));
    }

    /// Requires tables of so many positions, with so many bytes for each, to fit into max_bytes.
    ROPE_ABI Status check_bytes(Index count, Index bytes_of_row) const noexcept {
        const Index rows = std::max<Index>(count, 1024);
        if (bytes_of_row == 0 || rows <= max_bytes / bytes_of_row) return Status();
        const double bytes = static_cast<double>(rows) * static_cast<double>(bytes_of_row);  // may be beyond 2^63
        return detail::invalid(
            "positions is {}; the tables of this model, with {} {byte|bytes} per position, would take {} {byte|bytes}, "
            "and max_bytes of the TableOptions is {}.",
            {count, bytes_of_row, bytes, max_bytes});
    }

    ROPE_ABI void reserve(Index count) {
        if (count < 0 || count > max_positions)
            detail::refuse(detail::out_of_range("positions is {}; it must be from 0 to {} (max_positions).",
                                                {count, max_positions}));
        if (count <= positions_now()) return;
        const std::lock_guard<detail::Mutex> lock_growing(growing);
        if (count <= positions_now()) return;  // another thread was faster
        detail::ok_or_raise(check_bytes(count, row_bytes));
        const Index most = std::min(max_positions, max_bytes / std::max<Index>(row_bytes, 1));
        const Index wanted = std::max(count, std::min(2 * positions_now(), most));
        List<Table> longer;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const Table& t = (*tables)[i];  // written below only, by one thread at a time
            const CosSinCache<T> q = t.q.extended(sources[i].q.f, wanted);
            longer.push_back({q, is_one(t) ? q : t.k.extended(sources[i].k.f, wanted)});
        }
        Tables made = std::make_shared<const List<Table>>(std::move(longer));
        const std::lock_guard<detail::Mutex> lock(reading);
        tables.swap(made);
        positions = wanted;
    }

    ROPE_ABI Index positions_now() const {
        const std::lock_guard<detail::Mutex> lock(reading);
        return positions;
    }
    ROPE_ABI std::size_t table_of(const Config* config) const noexcept {
        return table_of_config[static_cast<std::size_t>(config - model.configs.data())];
    }
    ROPE_ABI static bool is_one(const Table& t) noexcept { return t.q.data() == t.k.data(); }
};

template <class T>
ROPE_API RotaryEmbedding<T>::RotaryEmbedding(ModelConfig model, TableOptions options)
    : state_(std::make_shared<State>()) {
    state_->build(std::move(model), options);
}
template <class T>
ROPE_API const ModelConfig& RotaryEmbedding<T>::model() const noexcept {
    return state_->model;
}
template <class T>
ROPE_API Index RotaryEmbedding<T>::max_positions() const noexcept {
    return state_->max_positions;
}
template <class T>
ROPE_API Index RotaryEmbedding<T>::positions() const {
    return state_->positions_now();
}
template <class T>
ROPE_API Index RotaryEmbedding<T>::tables() const noexcept {
    return static_cast<Index>(state_->sources.size());
}
template <class T>
ROPE_API std::size_t RotaryEmbedding<T>::bytes() const {
    const auto now = tables_now();
    std::size_t sum = 0;
    for (const Table& t : *now) sum += t.q.bytes() + (State::is_one(t) ? 0 : t.k.bytes());
    return sum;
}
template <class T>
ROPE_API void RotaryEmbedding<T>::reserve(Index positions) {
    state_->reserve(positions);
}
template <class T>
ROPE_API std::optional<typename RotaryEmbedding<T>::Table> RotaryEmbedding<T>::table(Index layer) const {
    const Config* const config = model().layer(layer);
    if (config == nullptr) return std::nullopt;
    return (*tables_now())[state_->table_of(config)];
}
template <class T>
ROPE_API Status RotaryEmbedding<T>::find(Index layer, Index& table) const noexcept {
    const ModelConfig& m = model();
    if (layer < 0 || layer >= m.layers()) return detail::no_layer(layer, m.layers());
    const Config* const config = m.layer(layer);
    table = config == nullptr ? -1 : static_cast<Index>(state_->table_of(config));
    return Status();
}
template <class T>
ROPE_API std::shared_ptr<const List<typename RotaryEmbedding<T>::Table>> RotaryEmbedding<T>::tables_now() const {
    const std::lock_guard<detail::Mutex> lock(state_->reading);
    return state_->tables;
}
template <class T>
ROPE_API Moves<T> RotaryEmbedding<T>::moves_of(const Config& config) const {
    return Moves<T>(detail::config_of(config, schedule::Xpos::Side::key), model().axis_map, state_->seq_len);
}

template <class T>
ROPE_API RotaryStep<T>::RotaryStep(const RotaryEmbedding<T>& rotary)
    : whole_(rotary), tables_(static_cast<std::size_t>(rotary.tables())) {
    const auto& state = *whole_.state_;
    const auto rows_of = [&state](const Config& config, schedule::Xpos::Side side) {
        return std::make_unique<Rows<T>>(detail::config_of(config, side), state.model.axis_map, state.seq_len);
    };
    for (const Config& config : state.model.configs) {
        const std::size_t i = state.table_of(&config);
        Table& t = tables_[i];
        if (t.config != nullptr) continue;
        t.config = &config;
        t.q_rows = rows_of(config, schedule::Xpos::Side::query);
        if (!state.sources[i].is_one()) t.k_rows = rows_of(config, schedule::Xpos::Side::key);
    }
}

template <class T>
ROPE_API std::optional<typename RotaryStep<T>::LayerRows> RotaryStep<T>::rows(Index layer) const {
    const Config* const config = whole_.model().layer(layer);
    if (config == nullptr) return std::nullopt;
    const Table& t = tables_[whole_.state_->table_of(config)];
    return LayerRows{*t.q_rows, t.k_rows ? *t.k_rows : *t.q_rows};
}

ROPE_END
