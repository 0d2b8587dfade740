// SPDX-License-Identifier: MIT
// rope.h: models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../gguf_config.hpp"
#include "../../head_steps.hpp"
#include "../../hf_config.hpp"
#include "../../model_config.hpp"
#include "../../moves.hpp"
#include "../../recipe.hpp"
#include "../../rope.h"
#include "../../schedule.hpp"
#include "../../types.hpp"
#include "answers.hpp"
#include "arguments.hpp"
#include "handles.hpp"
#include "structs.hpp"
#include "tables.hpp"

ROPE_DETAIL_BEGIN

static_assert(ROPE_NO_ATTENTION == static_cast<int>(LayerType::no_attention));
static_assert(ROPE_NORM_LAYER == static_cast<int>(NormKind::layer_norm));
static_assert(ROPE_WEIGHT_ALL_HEADS == static_cast<int>(NormWeight::all_heads));

inline rope_model* new_model(ModelConfig&& model) { return new rope_model{HandleKind::model, std::move(model)}; }

/// No key that is asked for has a longer list: 16384 layers, or the name of a type.
inline constexpr Index kLargestGgufList = Index(1) << 20;

/// The value of a key as the caller's lookup gave it.
inline GgufValue gguf_value(const char* key, const rope_gguf_value& v) {
    const auto count = static_cast<std::size_t>(v.count);
    const bool has_list = v.kind == ROPE_GGUF_STRING || v.kind == ROPE_GGUF_INTEGERS || v.kind == ROPE_GGUF_REALS;
    const void* const list = v.kind == ROPE_GGUF_STRING     ? static_cast<const void*>(v.text)
                             : v.kind == ROPE_GGUF_INTEGERS ? static_cast<const void*>(v.integers)
                                                            : static_cast<const void*>(v.reals);
    if (has_list && (v.count < 0 || v.count > kLargestGgufList || (v.count > 0 && list == nullptr)))
        refuse(
            invalid("value of key {} has a count of {}{}; it must be that of its numbers or characters, at most 2^20.",
                    {key, v.count, list == nullptr ? " at NULL" : ""}));
    switch (v.kind) {
        case ROPE_GGUF_BOOL: return v.integer != 0;
        case ROPE_GGUF_INTEGER: return v.integer;
        case ROPE_GGUF_UNSIGNED: return static_cast<std::uint64_t>(v.integer);
        case ROPE_GGUF_REAL: return v.real;
        case ROPE_GGUF_STRING: return std::string(v.text, count);
        case ROPE_GGUF_INTEGERS: return std::vector<std::int64_t>(v.integers, v.integers + count);
        case ROPE_GGUF_REALS: return std::vector<double>(v.reals, v.reals + count);
        default: break;
    }
    refuse(invalid("value of key {} has kind {}; it must be from ROPE_GGUF_BOOL (1) to ROPE_GGUF_REALS (7).",
                   {key, v.kind}));
}
inline Status read_tensor_list(const char* name, const float* numbers, Index count, std::vector<float>& to) {
    if (numbers == nullptr) return Status();
    if (count < 0 || count > kMaxHeadDim)
        return invalid("{}_count is {}; it must be one number for each pair.", {name, count});
    to.assign(numbers, numbers + count);
    return Status();
}

/// The rotary embedding of a layer, or null where it has none.
inline const Config* config_of(const rope_model& m, Index layer) { return m.model.layer(layer); }
inline Status no_embedding(Index layer) noexcept { return invalid("layer {} has no rotary embedding.", {layer}); }

inline rope_layer_info describe(const ModelConfig& m, Index layer) {
    rope_layer_info a = {};
    const auto i = static_cast<std::size_t>(layer);
    const Config* const c = m.layer(layer);  // which says when there is no such layer
    a.attention = i < m.layer_types.size() ? static_cast<std::int32_t>(m.layer_types[i]) : ROPE_FULL_ATTENTION;
    a.embedding = m.config_of_layer[i];
    if (c != nullptr) {
        a.layout = number_of(c->layout);
        a.head_dim = c->head_dim;
        a.rotary_dim = c->rotary_dim == 0 ? c->head_dim : c->rotary_dim;
        a.rotary_offset = c->rotary_offset;
        a.base = c->base;
        a.interpolation_factor = c->interpolation_factor;
        a.attention_factor = c->attention_factor;
        a.schedule = schedule_name(c->schedule);
    }
    if (i < m.heads.size()) {
        a.q_heads = m.heads[i].q;
        a.k_heads = m.heads[i].k;
        a.v_heads = m.heads[i].v;
    }
    a.has_recipe = check_recipe(m, layer).ok() ? 1 : 0;
    if (a.has_recipe == 0) return a;
    const HeadSteps& steps = m.steps[i];
    a.makes_keys = makes_keys(m, layer) ? 1 : 0;
    a.makes_values = makes_values(m, layer) ? 1 : 0;
    a.values_from_key_projection = steps.values_from_key_projection ? 1 : 0;
    a.keys_are_values = steps.keys_are_values ? 1 : 0;
    a.keys_of_layer = steps.keys_of_layer;
    a.softmax_scale = steps.softmax_scale;
    return a;
}
inline rope_model_info describe(const ModelConfig& m) {
    rope_model_info a = {};
    a.reference_uses_other_layout = m.reference_uses_other_layout ? 1 : 0;
    a.model_type = m.model_type.c_str();
    a.path = m.path.c_str();
    a.layers = m.layers();
    a.embeddings = static_cast<Index>(m.configs.size());
    a.max_position_embeddings = m.max_position_embeddings;
    a.scaled_length = scaled_length(m);
    a.axes = m.axis_map.axes;
    a.warnings = static_cast<Index>(m.warnings.size());
    a.softmax_scale_factor = m.softmax_scale_factor;
    a.temperature_scale = m.attention_temperature.scale;
    a.temperature_period = m.attention_temperature.period;
    a.temperature_shift = m.attention_temperature.shift;
    a.temperature_with_rope = m.attention_temperature.on_layers_with_rope ? 1 : 0;
    a.temperature_without_rope = m.attention_temperature.on_layers_without_rope ? 1 : 0;
    a.indexer_heads = m.indexer ? m.indexer->heads : 0;
    return a;
}

/// Finds the steps for the queries, keys, values or output of a layer, or for its indexer: `heads` is ROPE_QUERIES, ...
inline Status find_steps(const ModelConfig& m, Index layer, std::int32_t heads, const HeadStepList*& list) {
    if (const Status s = check_named("heads", heads, ROPE_INDEXER_KEYS + 1); !s.ok()) return s;
    if (const Status s = check_recipe(m, layer); !s.ok()) return s;
    const HeadSteps& steps = m.steps[static_cast<std::size_t>(layer)];
    if (heads >= ROPE_INDEXER_QUERIES) {
        if (!m.indexer) return invalid("heads is {}, but the model has no indexer that is known.", {heads});
        list = heads == ROPE_INDEXER_QUERIES ? &m.indexer->q : &m.indexer->k;
        return Status();
    }
    const HeadStepList* const lists[] = {&steps.q, &steps.k, &steps.v, &steps.output};
    list = lists[heads];
    return Status();
}

extern "C" {

ROPE_C_API int32_t rope_model_from_json(const char* text, size_t length, int32_t layout, rope_model** result,
                                        char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        if (text == nullptr) return missing("text", "config.json");
        std::optional<Layout> given;
        if (const Status s = read_layout("layout", layout, given); !s.ok()) return s;
        *result = new_model(read_hf_config(std::string_view(text, length), given));
        return Status();
    });
}

ROPE_C_API int32_t rope_model_from_gguf(rope_gguf_lookup lookup, void* context, const rope_gguf_tensors* tensors,
                                        int32_t layout, rope_model** result, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        if (lookup == nullptr) return missing("lookup", "function that finds keys");
        std::optional<Layout> given;
        if (const Status s = read_layout("layout", layout, given); !s.ok()) return s;
        GgufTensors lists;
        if (tensors != nullptr) {
            Struct<rope_gguf_tensors> t;
            if (const Status s = t.read("tensors", "rope_gguf_tensors", tensors); !s.ok()) return s;
            Status s = read_tensor_list("rope_freqs", t->rope_freqs, t->rope_freqs_count, lists.rope_freqs);
            if (s.ok())
                s = read_tensor_list("rope_factors_long", t->rope_factors_long, t->rope_factors_long_count,
                                     lists.rope_factors_long);
            if (s.ok())
                s = read_tensor_list("rope_factors_short", t->rope_factors_short, t->rope_factors_short_count,
                                     lists.rope_factors_short);
            if (!s.ok()) return s;
        }
        const GgufLookup get = [&](std::string_view key) -> std::optional<GgufValue> {
            const std::string name(key);
            rope_gguf_value v = {};
            v.size = sizeof(v);
            if (lookup(context, name.c_str(), &v) == 0) return std::nullopt;
            return gguf_value(name.c_str(), v);
        };
        *result = new_model(read_gguf_config(get, lists, given));
        return Status();
    });
}

ROPE_C_API int32_t rope_model_describe(const rope_model* model, rope_model_info* info, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("model", model); !s.ok()) return s;
        return fill("info", "rope_model_info", describe(model->model), info);
    });
}

ROPE_C_API const char* rope_model_warning(const rope_model* model, int64_t i) {
    if (!check_handle("model", model).ok() || i < 0 || i >= static_cast<Index>(model->model.warnings.size()))
        return nullptr;
    return model->model.warnings[static_cast<std::size_t>(i)].c_str();
}

ROPE_C_API int32_t rope_model_layer(const rope_model* model, int64_t layer, rope_layer_info* info, char* message,
                                    size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("model", model); !s.ok()) return s;
        return fill("info", "rope_layer_info", describe(model->model, layer), info);
    });
}

ROPE_C_API int32_t rope_model_norm(const rope_model* model, int64_t layer, int32_t heads, rope_norm_info* info,
                                   char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("model", model); !s.ok()) return s;
        const HeadStepList* list = nullptr;
        if (const Status s = find_steps(model->model, layer, heads, list); !s.ok()) return s;
        rope_norm_info a = {};
        if (const HeadNorm* const norm = norm_of(*list); norm != nullptr) {
            a.kind = static_cast<std::int32_t>(norm->kind);
            a.weight = static_cast<std::int32_t>(norm->weight);
            a.adds_one = norm->adds_one ? 1 : 0;
            a.has_bias = norm->has_bias ? 1 : 0;
            a.rounding = static_cast<std::int32_t>(norm->rounding);
            a.eps = norm->eps;
        }
        return fill("info", "rope_norm_info", a, info);
    });
}

ROPE_C_API int32_t rope_fill_temperatures(const rope_model* model, const rope_call* call, const void* ids, void* to,
                                          const rope_tensor* to_shape, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("model", model); !s.ok()) return s;
        Call c;
        if (const Status s = c.read_for_building(call, "call"); !s.ok()) return s;
        if (call == nullptr && ids != nullptr) return needs_a_call("call");
        if (call != nullptr)
            if (const Status s = read_positions("call", *c.given, ids, c.positions); !s.ok()) return s;
        AnyView v;
        if (const Status s = read_tensor("to", "to_shape", to_shape, to, false, v); !s.ok()) return s;
        const auto fill_with = [&](auto number) {
            fill_temperatures(model->model, c.positions, typed<decltype(number)>(v));
            return Status();
        };
        switch (v.type) {
            case ElementType::f16: return fill_with(half());
            case ElementType::bf16: return fill_with(bfloat16());
            case ElementType::f64: return fill_with(double());
            case ElementType::f32: return fill_with(float());
            default: return no_case("to_shape.type", to_shape->type);
        }
    });
}

ROPE_C_API int32_t rope_model_frequencies(const rope_model* model, int64_t layer, int64_t seq_len, double* inv_freq,
                                          double* inv_freq_low, int64_t count, double* attention_factor, char* message,
                                          size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("model", model); !s.ok()) return s;
        const Config* const c = config_of(*model, layer);
        if (c == nullptr) return no_embedding(layer);
        return write_frequencies(frequencies(*c, seq_len), inv_freq, inv_freq_low, count, attention_factor);
    });
}

ROPE_C_API int32_t rope_model_moves_new(const rope_model* model, int64_t layer, const rope_table_options* options,
                                        rope_rows** result, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        if (const Status s = check_handle("model", model); !s.ok()) return s;
        const Config* const c = config_of(*model, layer);
        if (c == nullptr) return Status();
        Struct<rope_table_options> o;
        if (const Status s = read_options("options", options, o); !s.ok()) return s;
        return with_entry("options.type", o->type, [&](auto entry) {
            *result = new_rows<Moves<decltype(entry)>>(RowsKind::moves, *c, model->model.axis_map, o->seq_len);
            return Status();
        });
    });
}

ROPE_C_API int32_t rope_model_indexer_table_new(const rope_model* model, const rope_table_options* options,
                                                rope_rows** result, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_result(result); !s.ok()) return s;
        if (const Status s = check_handle("model", model); !s.ok()) return s;
        if (!model->model.indexer) return invalid("model has no indexer that is known.");
        return make_table(model->model.indexer->config, options, result);
    });
}

ROPE_C_API void rope_model_free(rope_model* model) { free_handle(model); }

}  // extern "C"

ROPE_DETAIL_END
