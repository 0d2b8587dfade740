// SPDX-License-Identifier: MIT
// rope.h: the tables of a model, and the rows of a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <variant>

#include "../../errors.hpp"
#include "../../rope.h"
#include "../../rotary_embedding.hpp"
#include "../../types.hpp"
#include "answers.hpp"
#include "arguments.hpp"
#include "calls.hpp"
#include "handles.hpp"
#include "structs.hpp"

ROPE_DETAIL_BEGIN

/// f(a RotaryEmbedding) of the type that it has.
template <class E, class F>
auto with_embedding(E& embedding, const F& f) {
    auto* const floats = std::get_if<0>(&embedding.any);
    return floats != nullptr ? f(*floats) : f(*std::get_if<1>(&embedding.any));
}

inline Status check_side(std::int32_t heads) noexcept {
    if (heads == ROPE_QUERIES || heads == ROPE_KEYS) return Status();
    return invalid("heads is {}; it must be ROPE_QUERIES (0) or ROPE_KEYS (1), which alone are rotated.", {heads});
}

template <class T>
Status make_embedding(const ModelConfig& model, const TableOptions& options, rope_embedding** result) {
    const RotaryEmbedding<T> made(model, options);
    *result = new rope_embedding{HandleKind::embedding, AnyEmbedding(made)};
    return Status();
}

/// A handle of a copy of a table, which shares its memory.
template <class T>
rope_rows* new_copy(const CosSinCache<T>& table) {
    return new_rows<CosSinCache<T>>(RowsKind::as_they_are, table);
}

extern "C" {

ROPE_C_API int32_t rope_embedding_new(const rope_model* model, const rope_embedding_options* options,
                                      rope_embedding** result, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        if (const Status s = check_handle("model", model); !s.ok()) return s;
        static constexpr rope_embedding_options kNone = {sizeof(rope_embedding_options), 0, 0, 0, 0, 0};
        Struct<rope_embedding_options> o;
        if (const Status s = o.read("options", "rope_embedding_options", options == nullptr ? &kNone : options);
            !s.ok())
            return s;
        TableOptions t;
        t.max_positions = o->max_positions;
        t.positions = o->positions;
        t.seq_len = o->seq_len;
        if (o->max_bytes != 0) t.max_bytes = o->max_bytes;
        return with_entry("options.type", o->type,
                          [&](auto entry) { return make_embedding<decltype(entry)>(model->model, t, result); });
    });
}

ROPE_C_API int32_t rope_embedding_reserve(rope_embedding* embedding, int64_t positions, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("embedding", embedding); !s.ok()) return s;
        return with_embedding(*embedding, [&](auto& e) {
            e.reserve(positions);
            return Status();
        });
    });
}

ROPE_C_API int32_t rope_embedding_rows(const rope_embedding* embedding, int64_t layer, int32_t heads,
                                       rope_rows** result, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        if (const Status s = check_handle("embedding", embedding); !s.ok()) return s;
        if (const Status s = check_side(heads); !s.ok()) return s;
        return with_embedding(*embedding, [&](const auto& e) {
            const auto table = e.table(layer);
            if (table) *result = new_copy(heads == ROPE_QUERIES ? table->q : table->k);
            return Status();
        });
    });
}

ROPE_C_API int32_t rope_embedding_apply(const rope_embedding* embedding, int64_t layer, const rope_call* call,
                                        const void* ids, void* q, const rope_tensor* q_shape, void* k,
                                        const rope_tensor* k_shape, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("embedding", embedding); !s.ok()) return s;
        return with_embedding(*embedding, [&](const auto& e) {
            const auto table = e.table(layer);
            if (!table) return Status();
            const rope_rows of_q = handle_of(table->q), of_k = handle_of(table->k);
            return apply_any(&of_q, &of_k, call, ids, q, q_shape, k, k_shape);
        });
    });
}

ROPE_C_API void rope_embedding_free(rope_embedding* embedding) { free_handle(embedding); }

ROPE_C_API int32_t rope_step_new(const rope_embedding* embedding, rope_step** result, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        if (const Status s = check_handle("embedding", embedding); !s.ok()) return s;
        return with_embedding(*embedding, [&](const auto& e) {
            using T =
                std::conditional_t<std::is_same_v<std::decay_t<decltype(e)>, RotaryEmbedding<double>>, double, float>;
            *result = new rope_step{HandleKind::step, std::make_shared<RotaryStep<T>>(e)};
            return Status();
        });
    });
}

ROPE_C_API int32_t rope_step_build(rope_step* step, const rope_call* call, const void* ids, int64_t seq, int64_t batch,
                                   char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("step", step); !s.ok()) return s;
        Call c;
        if (const Status s = c.read_for_building(call, "call"); !s.ok()) return s;
        return with_any_positions("call", c.pointer(), ids, [&](const auto& positions) {
            return with_embedding(*step, [&](auto& made) {
                made->build(positions, seq, batch, c.threads);
                return Status();
            });
        });
    });
}

ROPE_C_API int32_t rope_step_rows(const rope_step* step, int64_t layer, int32_t heads, rope_rows** result,
                                  char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        if (const Status s = check_handle("step", step); !s.ok()) return s;
        if (const Status s = check_side(heads); !s.ok()) return s;
        return with_embedding(*step, [&](const auto& made) {
            const auto rows = made->rows(layer);
            if (rows) *result = new_handle(heads == ROPE_QUERIES ? rows->q : rows->k, made);
            return Status();
        });
    });
}

ROPE_C_API void rope_step_free(rope_step* step) { free_handle(step); }

}  // extern "C"

ROPE_DETAIL_END
