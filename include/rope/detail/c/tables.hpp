// SPDX-License-Identifier: MIT
// rope.h: rows of cos and sin.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../../compact_cos_sin_cache.hpp"
#include "../../cos_sin_cache.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../moves.hpp"
#include "../../rope.h"
#include "../../rows.hpp"
#include "../../types.hpp"
#include "../../wrapped_rows.hpp"
#include "../../write_rows.hpp"
#include "answers.hpp"
#include "arguments.hpp"
#include "configs.hpp"
#include "handles.hpp"
#include "structs.hpp"

ROPE_DETAIL_BEGIN

inline Status write_frequencies(const Frequencies& f, double* inv_freq, double* inv_freq_low, Index count,
                                double* attention_factor) noexcept {
    const auto pairs = static_cast<Index>(f.inv_freq.size());
    if ((inv_freq != nullptr || inv_freq_low != nullptr) && count != pairs)
        return invalid("count is {}; it must be the number of pairs ({}).", {count, pairs});
    if (inv_freq != nullptr) std::copy(f.inv_freq.begin(), f.inv_freq.end(), inv_freq);
    if (inv_freq_low != nullptr) {
        std::fill_n(inv_freq_low, pairs, 0.0);
        std::copy(f.inv_freq_low.begin(), f.inv_freq_low.end(), inv_freq_low);
    }
    if (attention_factor != nullptr) *attention_factor = f.attention_factor;
    return Status();
}

/// Options that may be left out.
inline Status read_options(const char* name, const rope_table_options* given,
                           Struct<rope_table_options>& options) noexcept {
    static constexpr rope_table_options kNone = {sizeof(rope_table_options), 0, 0, 0, 0, 0, 0};
    return options.read(name, "rope_table_options", given == nullptr ? &kNone : given);
}

template <class T>
rope_rows* new_table(const Config& config, const rope_table_options& o) {
    constexpr RowsKind kind = RowsKind::as_they_are;
    if (o.is_compact != 0)
        return new_rows<CompactCosSinCache<T>>(kind, config, o.max_positions, o.first_position, o.seq_len);
    if constexpr (std::is_same_v<T, float>)
        if (o.is_float32_chain != 0)
            return new_rows<CosSinCache<T>>(
                kind, CosSinCache<T>::float32_chain(config, o.max_positions, o.first_position, o.seq_len));
    return new_rows<CosSinCache<T>>(kind, config, o.max_positions, o.first_position, o.seq_len);
}
inline Status make_table(const Config& config, const rope_table_options* given, rope_rows** result) {
    Struct<rope_table_options> o;
    if (const Status s = read_options("options", given, o); !s.ok()) return s;
    if (o->is_float32_chain != 0 && (o->is_compact != 0 || o->type != ROPE_FLOAT32))
        return invalid("options.is_float32_chain is {}; it must be 0 for a compact table and for one of double.",
                       {o->is_float32_chain});
    return with_entry("options.type", o->type, [&](auto entry) {
        *result = new_table<decltype(entry)>(config, *o);
        return Status();
    });
}

/// f(the object) that can be built, if rows are of this kind.
template <template <class> class Made, class F>
Status with_built(const char* name, const char* maker, RowsKind kind, rope_rows* rows, const F& f) {
    if (const Status s = check_handle(name, rows); !s.ok()) return s;
    if (rows->kind != kind) return invalid("{} were not made by {}, so they cannot be built.", {name, maker});
    void* const made = rows->owner.get();
    return rows->floats != nullptr ? f(*static_cast<Made<float>*>(made)) : f(*static_cast<Made<double>*>(made));
}
template <class F>
Status with_moves(rope_rows* moves, const F& f) {
    return with_built<Moves>("moves", "rope_moves_new or rope_model_moves_new", RowsKind::moves, moves, f);
}

/// Requires that positions are on axes where a map is given.
inline Status check_axes_beside(const rope_axes* axes, const Call& call) noexcept {
    if (axes == nullptr || (call.is_given && call.given->positions == ROPE_AXES)) return Status();
    return invalid("axes is not NULL, and call.positions is not ROPE_AXES (3); a map is for positions on axes.");
}
/// Numbers of two wholly different types: a call that has both positions on axes and positions on one is refused.
inline Status mixed_positions() noexcept {
    return invalid(
        "old_positions and new_positions are on axes in one of the two, and not in the other; they must be alike.");
}

template <class T>
Status wrap(const rope_wrapped& w, const void* cos, const void* sin, rope_rows** result) {
    CosSinView<T> view;
    view.cos = static_cast<const T*>(cos);
    view.sin = static_cast<const T*>(sin);
    view.rows = w.rows;
    view.pairs = w.pairs;
    view.batch = w.batch == 0 ? 1 : w.batch;
    view.row_stride = w.row_stride;
    view.compares_copies = w.has_other_numbers == 0;
    *result = new_rows<WrappedRows<T>>(RowsKind::as_they_are, view, HeadSlice{w.head_dim, w.rotary_offset},
                                       w.attention_factor == 0.0 ? 1.0 : w.attention_factor);
    return Status();
}

extern "C" {

ROPE_C_API int32_t rope_frequencies(const rope_config* config, int64_t seq_len, double* inv_freq, double* inv_freq_low,
                                    int64_t count, double* attention_factor, char* message, size_t room) {
    return answer(message, room, [&] {
        Config c;
        if (const Status s = read_config("config", config, c); !s.ok()) return s;
        return write_frequencies(frequencies(c, seq_len), inv_freq, inv_freq_low, count, attention_factor);
    });
}

ROPE_C_API int32_t rope_table_new(const rope_config* config, const rope_table_options* options, rope_rows** result,
                                  char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        Config c;
        if (const Status s = read_config("config", config, c); !s.ok()) return s;
        return make_table(c, options, result);
    });
}

ROPE_C_API int32_t rope_token_rows_new(const rope_config* config, const rope_axes* axes,
                                       const rope_table_options* options, rope_rows** result, char* message,
                                       size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        RowsOrigin from;
        if (const Status s = read_origin(config, axes, from); !s.ok()) return s;
        Struct<rope_table_options> o;
        if (const Status s = read_options("options", options, o); !s.ok()) return s;
        return with_entry("options.type", o->type, [&](auto entry) {
            using Made = Rows<decltype(entry)>;
            *result = from.frequencies ? new_rows<Made>(RowsKind::tokens, *from.frequencies, from.map, from.slice())
                                       : new_rows<Made>(RowsKind::tokens, from.config, from.map, o->seq_len);
            (*result)->layout = number_of(from.config.layout);  // which Frequencies have not
            return Status();
        });
    });
}

ROPE_C_API int32_t rope_rows_build(rope_rows* rows, const rope_call* call, const void* ids, int64_t seq, int64_t batch,
                                   char* message, size_t room) {
    return answer(message, room, [&] {
        return with_built<Rows>("rows", "rope_token_rows_new", RowsKind::tokens, rows, [&](auto& made) {
            Call c;
            if (const Status s = c.read_for_building(call, "call"); !s.ok()) return s;
            return with_any_positions("call", c.pointer(), ids, [&](const auto& positions) {
                made.build(positions, seq, batch, c.threads);
                return Status();
            });
        });
    });
}

ROPE_C_API int32_t rope_moves_new(const rope_config* from, const rope_table_options* from_options,
                                  const rope_config* to, const rope_table_options* to_options, const rope_axes* axes,
                                  rope_rows** result, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        RowsOrigin old_one, new_one;
        if (const Status s = read_origin(from, axes, old_one); !s.ok()) return s;
        if (to != nullptr)
            if (const Status s = read_origin(to, axes, new_one); !s.ok()) return s;
        Struct<rope_table_options> o, p;
        if (const Status s = read_options("from_options", from_options, o); !s.ok()) return s;
        if (const Status s = read_options("to_options", to_options, p); !s.ok()) return s;
        return with_entry("from_options.type", o->type, [&](auto entry) {
            using Made = Moves<decltype(entry)>;
            const RowsKind kind = RowsKind::moves;
            const AxisMap& map = old_one.map;
            if (old_one.frequencies && to != nullptr)
                *result = new_rows<Made>(kind, *old_one.frequencies, *new_one.frequencies, map, old_one.slice());
            else if (old_one.frequencies)
                *result = new_rows<Made>(kind, *old_one.frequencies, map, old_one.slice());
            else if (to != nullptr)
                *result = new_rows<Made>(kind, old_one.config, o->seq_len, new_one.config, p->seq_len, map);
            else
                *result = new_rows<Made>(kind, old_one.config, map, o->seq_len);
            return Status();
        });
    });
}

ROPE_C_API int32_t rope_moves_build(rope_rows* moves, int64_t delta, char* message, size_t room) {
    return answer(message, room, [&] {
        return with_moves(moves, [&](auto& made) {
            made.build(delta);
            return Status();
        });
    });
}

ROPE_C_API int32_t rope_moves_build_each(rope_rows* moves, const rope_call* deltas, const void* ids, int64_t seq,
                                         int64_t batch, char* message, size_t room) {
    return answer(message, room, [&] {
        return with_moves(moves, [&](auto& made) {
            Call c;
            if (const Status s = c.read_for_building(deltas, "deltas"); !s.ok()) return s;
            if (deltas == nullptr) return missing("deltas", "rope_call");
            if (const Status s = read_positions("deltas", *c.given, ids, c.positions); !s.ok()) return s;
            made.build(c.positions, seq, batch, c.threads);
            return Status();
        });
    });
}

ROPE_C_API int32_t rope_moves_build_between(rope_rows* moves, const rope_call* old_positions, const void* old_ids,
                                            const rope_call* new_positions, const void* new_ids, int64_t seq,
                                            int64_t batch, char* message, size_t room) {
    return answer(message, room, [&] {
        return with_moves(moves, [&](auto& made) {
            Call o, n;
            if (const Status s = o.read_for_building(old_positions, "old_positions"); !s.ok()) return s;
            if (const Status s = n.read_for_building(new_positions, "new_positions"); !s.ok()) return s;
            return with_any_positions("old_positions", o.pointer(), old_ids, [&](const auto& from) {
                return with_any_positions("new_positions", n.pointer(), new_ids, [&](const auto& to) {
                    if constexpr (std::is_same_v<decltype(from), decltype(to)>) {
                        made.build(from, to, seq, batch, n.threads);
                        return Status();
                    } else {
                        return mixed_positions();
                    }
                });
            });
        });
    });
}

ROPE_C_API int32_t rope_wrap(const void* cos, const void* sin, const rope_wrapped* shape, rope_rows** result,
                             char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        Struct<rope_wrapped> w;
        if (const Status s = w.read("shape", "rope_wrapped", shape); !s.ok()) return s;
        return with_entry("shape.type", w->type,
                          [&](auto entry) { return wrap<decltype(entry)>(*w, cos, sin, result); });
    });
}

ROPE_C_API int32_t rope_rows_describe(const rope_rows* rows, rope_rows_info* info, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("rows", rows); !s.ok()) return s;
        rope_rows_info a = {};
        a.type = rows->doubles != nullptr ? ROPE_FLOAT64 : ROPE_FLOAT32;
        a.layout = rows->layout;
        with_rows(*rows, [&](const auto& r) {
            a.magnitude_grows = r.magnitude_grows() ? 1 : 0;
            a.pairs = r.pairs();
            a.head_dim = r.head_dim();
            a.rotary_offset = r.rotary_offset();
            a.rows = RowsAccess::count(r);
            a.first_position = RowsAccess::source(r).first;
            a.attention_factor = r.attention_factor();
        });
        return fill("info", "rope_rows_info", a, info);
    });
}

ROPE_C_API int32_t rope_rows_write(const rope_rows* rows, const rope_axes* axes, const rope_call* call, const void* ids,
                                   int64_t seq, int64_t batch, void* to, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("rows", rows); !s.ok()) return s;
        AxisMap map;
        if (const Status s = read_axes(axes, map); !s.ok()) return s;
        Call c;
        if (const Status s = c.read(call); !s.ok()) return s;
        if (const Status s = check_axes_beside(axes, c); !s.ok()) return s;
        if (const Status s = c.refuse_only_checks(); !s.ok()) return s;
        return with_rows(*rows, [&](const auto& r) {
            using T = std::decay_t<decltype(*RowsAccess::source(r).cos)>;
            return with_any_positions("call", c.pointer(), ids, [&](const auto& positions) {
                if constexpr (std::is_same_v<std::decay_t<decltype(positions)>, Positions>)
                    write_rows(r, positions, seq, batch, static_cast<T*>(to), c.threads);
                else
                    write_rows(r, positions, map, seq, batch, static_cast<T*>(to), c.threads);
                return Status();
            });
        });
    });
}

ROPE_C_API void rope_rows_free(rope_rows* rows) { free_handle(rows); }

}  // extern "C"

ROPE_DETAIL_END
