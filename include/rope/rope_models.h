// SPDX-License-Identifier: MIT
// rope_models.h: the part of rope.h, which includes it, that is for models, their files and their tables.
#ifndef ROPE_MODELS_H
#define ROPE_MODELS_H

#include "rope.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Model files ----

// Reads the text of a config.json, `length` bytes, at most 4 MiB. layout 0: as the model's code has it (hf_config.hpp).
ROPE_C_API int32_t rope_model_from_json(const char* text, size_t length, int32_t layout, rope_model** result,
                                        char* message, size_t room);

// A value of a GGUF file, which a lookup fills in: integers of all widths as one of 64 bits, floats as double.
enum {
    ROPE_GGUF_BOOL = 1,
    ROPE_GGUF_INTEGER = 2,
    ROPE_GGUF_UNSIGNED = 3,
    ROPE_GGUF_REAL = 4,
    ROPE_GGUF_STRING = 5,
    ROPE_GGUF_INTEGERS = 6,  // an array of integers or bools
    ROPE_GGUF_REALS = 7
};
typedef struct rope_gguf_value {
    uint32_t size;
    int32_t kind;
    int64_t integer;  // ROPE_GGUF_BOOL, ROPE_GGUF_INTEGER; the bits of ROPE_GGUF_UNSIGNED
    double real;
    const char* text;         // `count` bytes, valid until the lookup is called again
    const int64_t* integers;  // `count` numbers, the same
    const double* reals;
    int64_t count;
} rope_gguf_value;
// Fills in the value of a key and returns 1, or returns 0 if the file does not have the key.
typedef int32_t (*rope_gguf_lookup)(void* context, const char* key, rope_gguf_value* value);
// Tensors of the file, one number for each pair (gguf_config.hpp); NULL: not in the file.
typedef struct rope_gguf_tensors {
    uint32_t size;
    int32_t rope_freqs_count, rope_factors_long_count, rope_factors_short_count;
    const float* rope_freqs;
    const float* rope_factors_long;
    const float* rope_factors_short;
} rope_gguf_tensors;
// Reads the metadata of a GGUF file (gguf_config.hpp). tensors NULL: it has none of them. layout 0: as its architecture has it.
ROPE_C_API int32_t rope_model_from_gguf(rope_gguf_lookup lookup, void* context, const rope_gguf_tensors* tensors,
                                        int32_t layout, rope_model** result, char* message, size_t room);

// Text lives as long as the model.
typedef struct rope_model_info {
    uint32_t size;
    int32_t reference_uses_other_layout;
    const char* model_type;
    const char* path;            // where in the file the language model is described; "": the file itself
    int64_t layers, embeddings;  // embeddings: distinct ones
    int64_t max_position_embeddings, scaled_length;  // 0: not known
    int64_t axes;
    int64_t warnings;
    double softmax_scale_factor;
    double temperature_scale, temperature_period;  // scale 0: no temperature
    int64_t temperature_shift;
    int32_t temperature_with_rope, temperature_without_rope;
    int64_t indexer_heads;  // 0: no indexer is known
} rope_model_info;
// Writes what the model is.
ROPE_C_API int32_t rope_model_describe(const rope_model* model, rope_model_info* info, char* message, size_t room);
// Sentence i, from 0 to warnings - 1, about what was not used or guessed; NULL if there is none.
ROPE_C_API const char* rope_model_warning(const rope_model* model, int64_t i);

enum {
    ROPE_FULL_ATTENTION = 0,
    ROPE_SLIDING_ATTENTION = 1,
    ROPE_CHUNKED_ATTENTION = 2,
    ROPE_SPARSE_ATTENTION = 3,
    ROPE_COMPRESSED_ATTENTION = 4,
    ROPE_LINEAR_ATTENTION = 5,
    ROPE_CROSS_ATTENTION = 6,
    ROPE_NO_ATTENTION = 7
};
typedef struct rope_layer_info {
    uint32_t size;
    int32_t attention;
    int64_t embedding;   // its number; -1: the layer has none, and what follows up to `schedule` is 0
    int32_t layout;      // 0: not known
    int32_t has_recipe;  // not 0: the steps are known, and what follows from makes_keys on
    int64_t head_dim, rotary_dim, rotary_offset;
    double base, interpolation_factor, attention_factor;
    const char* schedule;  // "default", "yarn", ...
    int64_t q_heads, k_heads, v_heads;
    int32_t makes_keys, makes_values;
    int32_t values_from_key_projection, keys_are_values;
    int64_t keys_of_layer;
    double softmax_scale;
} rope_layer_info;
// Writes what a layer is, counted from 0. ROPE_OUT_OF_RANGE if there is none.
ROPE_C_API int32_t rope_model_layer(const rope_model* model, int64_t layer, rope_layer_info* info, char* message,
                                    size_t room);

enum { ROPE_NO_NORM = 0, ROPE_NORM_RMS = 1, ROPE_NORM_L2 = 2, ROPE_NORM_LAYER = 3 };
enum { ROPE_NO_WEIGHT = 0, ROPE_WEIGHT_HEAD_DIM = 1, ROPE_WEIGHT_HEADS_X_HEAD_DIM = 2, ROPE_WEIGHT_ALL_HEADS = 3 };
typedef struct rope_norm_info {
    uint32_t size;
    int32_t kind;
    int32_t weight;  // its shape
    int32_t adds_one, has_bias, rounding;
    double eps;
} rope_norm_info;
// Writes the norm of a layer's queries, keys, values, ...: ROPE_NO_NORM if they have none. Refused where the steps of the layer
// are not known.
ROPE_C_API int32_t rope_model_norm(const rope_model* model, int64_t layer, int32_t heads, rope_norm_info* info,
                                   char* message, size_t room);
// Writes the factor on each token's queries, 1 if the model has none, to `to`, [batch, seq, 1, 1] (recipe.hpp).
ROPE_C_API int32_t rope_fill_temperatures(const rope_model* model, const rope_call* call, const void* ids, void* to,
                                          const rope_tensor* to_shape, char* message, size_t room);
// The frequencies of a layer, as rope_frequencies has them. count is rotary_dim / 2.
ROPE_C_API int32_t rope_model_frequencies(const rope_model* model, int64_t layer, int64_t seq_len, double* inv_freq,
                                          double* inv_freq_low, int64_t count, double* attention_factor, char* message,
                                          size_t room);
// Moves of a layer's keys, on the axes of the model. Of the options type and seq_len count. *result is NULL where the
// layer has no rotary embedding.
ROPE_C_API int32_t rope_model_moves_new(const rope_model* model, int64_t layer, const rope_table_options* options,
                                        rope_rows** result, char* message, size_t room);
// A table for the heads of a sparse layer's indexer.
ROPE_C_API int32_t rope_model_indexer_table_new(const rope_model* model, const rope_table_options* options,
                                                rope_rows** result, char* message, size_t room);
ROPE_C_API void rope_model_free(rope_model* model);

// ---- The tables of a model (rotary_embedding.hpp) ----

typedef struct rope_embedding_options {
    uint32_t size;
    int32_t type;           // ROPE_FLOAT32 or ROPE_FLOAT64
    int64_t max_positions;  // the most there will ever be; 0: the longest that the model's scaling is made for
    int64_t positions;      // computed at once; 0: max_positions or 4096, whichever is less
    int64_t seq_len;        // for dynamic NTK and LongRoPE; 0: max_positions
    int64_t max_bytes;      // of all tables; 0: 1 GiB
} rope_embedding_options;
// The model may be freed behind it. options NULL: all 0.
ROPE_C_API int32_t rope_embedding_new(const rope_model* model, const rope_embedding_options* options,
                                      rope_embedding** result, char* message, size_t room);
// Makes the tables hold at least `positions`, up to max_positions: once per step. Rows that were handed out keep the number
// that they had.
ROPE_C_API int32_t rope_embedding_reserve(rope_embedding* embedding, int64_t positions, char* message, size_t room);
// The table of a layer as it is now, for ROPE_QUERIES or ROPE_KEYS (the same, but for xPos); to be freed by
// rope_rows_free. *result is NULL where the layer has no rotary embedding.
ROPE_C_API int32_t rope_embedding_rows(const rope_embedding* embedding, int64_t layer, int32_t heads,
                                       rope_rows** result, char* message, size_t room);
// Rotates q and k of a layer, and does nothing where it has no rotary embedding.
ROPE_C_API int32_t rope_embedding_apply(const rope_embedding* embedding, int64_t layer, const rope_call* call,
                                        const void* ids, void* q, const rope_tensor* q_shape, void* k,
                                        const rope_tensor* k_shape, char* message, size_t room);
ROPE_C_API void rope_embedding_free(rope_embedding* embedding);

// Rows for the tokens of one step, on all axes of the model, for all layers. The embedding may be freed behind it. A call
// counts as for rope_rows_build.
ROPE_C_API int32_t rope_step_new(const rope_embedding* embedding, rope_step** result, char* message, size_t room);
ROPE_C_API int32_t rope_step_build(rope_step* step, const rope_call* call, const void* ids, int64_t seq, int64_t batch,
                                   char* message, size_t room);
// The rows of a layer, which each build writes anew, as rope_embedding_rows. They may outlive the step.
ROPE_C_API int32_t rope_step_rows(const rope_step* step, int64_t layer, int32_t heads, rope_rows** result,
                                  char* message, size_t room);
ROPE_C_API void rope_step_free(rope_step* step);

#ifdef __cplusplus
}
#endif

#endif
