// SPDX-License-Identifier: MIT
// rope_passes.h: the part of rope.h, which includes it, that is for passes and gradients.
#ifndef ROPE_PASSES_H
#define ROPE_PASSES_H

#include "rope.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- A pass: norms, factors, rotation and cache write at once (heads.hpp, destinations.hpp) ----

// Numbers in memory. With `slot_list` it is pages: shape is [pages, page_size, heads, head_dim], and token t lies in page
// slot_list[t] / page_size at place slot_list[t] % page_size; -1 skips it.
typedef struct rope_buffer {
    uint32_t size;
    int32_t is_paged;
    void* data;                // not written where only read
    const rope_tensor* shape;  // NULL, for numbers of a step: [head_dim], the same for all heads
    const void* slot_list;
    int64_t slot_count;
    int32_t slot_type;  // ROPE_INT32 or ROPE_INT64
    int32_t type;       // where shape is NULL
} rope_buffer;

enum {
    ROPE_PLAIN = 0,
    ROPE_FORMAT_INT8 = 1,
    ROPE_FORMAT_UINT8 = 2,
    ROPE_FORMAT_INT4 = 3,
    ROPE_FORMAT_UINT4 = 4,
    ROPE_FORMAT_FP8_E4M3 = 5,
    ROPE_FORMAT_FP8_E5M2 = 6,
    ROPE_FORMAT_MXFP4 = 7,
    ROPE_FORMAT_NVFP4 = 8,
    ROPE_FORMAT_Q8_0 = 9,  // this and the following: ggml's blocks, which have their scales inside
    ROPE_FORMAT_Q4_0 = 10,
    ROPE_FORMAT_Q4_1 = 11,
    ROPE_FORMAT_Q5_0 = 12,
    ROPE_FORMAT_Q5_1 = 13,
    ROPE_FORMAT_IQ4_NL = 14,
    ROPE_FORMAT_GGML_MXFP4 = 15
};
// Where heads of a path come from or go to. Codes have the tokens and heads of the numbers, and as many bytes for a head as
// the format needs; scales and zeros have the tokens and heads of the codes, and 1 number for a head, or one for each group.
typedef struct rope_heads {
    uint32_t size;
    int32_t format;
    const rope_buffer* codes;   // or elements
    const rope_buffer* scales;  // beside the codes, where the format has them
    const rope_buffer* zeros;
    int32_t are_given;         // not 0: scales and zeros are the model's and only read, an extent of 1
                               // serving all; else a path that writes codes makes and writes them
    int32_t zeros_are_points;  // not 0: zeros of float are the codes of 0, not minima
    double scale;              // of the whole tensor: FP8 without scales, and NVFP4; 0: 1
    int64_t scale_divides;     // FP8 by such a scale: not 0: numbers are divided by it, else multiplied
} rope_heads;

enum {
    ROPE_ADD = 1,         // numbers
    ROPE_CLAMP = 2,       // number: the limit
    ROPE_MULTIPLY = 3,    // numbers, or number
    ROPE_RMS_NORM = 4,    // numbers: the weight, or NULL; number: eps
    ROPE_L2_NORM = 5,     // the same
    ROPE_LAYER_NORM = 6,  // the same, and bias
    ROPE_ROTATE = 7,      // layout: the order in which pairs are left; 0: as they are
    ROPE_ROTATE_BACK = 8,
    ROPE_HADAMARD = 9,  // block: a power of two; 0: the head
    ROPE_ROUND = 10     // to the type of the source
};
enum { ROPE_NORM_ROUNDS_NOWHERE = 0, ROPE_NORM_ROUNDS_NORMALISED = 1, ROPE_NORM_ROUNDS_ROOT = 2 };
enum { ROPE_ROTATE_ROUNDS_NOWHERE = 0, ROPE_ROTATE_ROUNDS_ROWS = 1, ROPE_ROTATE_ROUNDS_ALL = 2 };
// One step of a path; the comment of a kind names the members that it reads.
typedef struct rope_head_step {
    uint32_t size;
    int32_t kind;
    double number;
    const rope_buffer* numbers;
    const rope_buffer* bias;
    int32_t rounding;  // of a norm or a rotation, beside that at the end
    int32_t layout;
    int32_t over_token;          // norms: not 0: over all heads of a token
    int32_t adds_one;            // norms: not 0: the weight is stored around 0 (Gemma)
    const rope_buffer* squares;  // norms over a token of which other ranks have heads: see NormOptions
    int64_t all_heads;
    int64_t block;
    const rope_rows* rows;  // rotations: rows of their own, at the positions of `call`; NULL: the rows of the pass
    const rope_call* call;
    const void* ids;
} rope_head_step;

// The steps of a model's layer (recipe.hpp), with the numbers that no file has.
typedef struct rope_recipe {
    uint32_t size;
    int32_t heads;  // ROPE_QUERIES, ...
    const rope_model* model;
    int64_t layer;
    const rope_buffer* weight;  // of the norm, if rope_model_norm says that there is one
    const rope_buffer* bias;
    const rope_buffer* temperatures;  // of queries: see rope_fill_temperatures
    const rope_buffer* squares;
    int32_t as_published;        // not 0: rounds wherever the published code does
    int32_t in_published_order;  // not 0: leaves features where it does
    int64_t axes_are_alike;      // not 0: tokens stand at the same position on all axes: text
} rope_recipe;

typedef struct rope_path {
    uint32_t size;
    int32_t step_count;  // at most 8, with those of the recipe
    const rope_heads* source;
    const rope_heads* destination;  // NULL: in place
    const rope_recipe* recipe;      // NULL: none; else its steps come first
    const rope_head_step* steps;
    int64_t first_feature, features;  // that go to the destination; features 0: all
} rope_path;

// Carries out all steps of all paths, from 1 to 8, whose sources have one batch and seq: reads every source once and writes
// every destination once. rows NULL, and then positions are not read: nothing rotates. Steps have
// directions; that of the call must be 0.
ROPE_C_API int32_t rope_pass(const rope_rows* rows, const rope_call* call, const void* ids, const rope_path* paths,
                             int64_t path_count, char* message, size_t room);
// Writes the sum of squares of each token, of all heads of a path without rotation, to `sums`, double [batch, seq, 1, 1].
ROPE_C_API int32_t rope_sum_squares(const rope_path* path, const rope_call* call, double* sums,
                                    const rope_tensor* sums_shape, char* message, size_t room);
// Moves keys in a cache of any format, in place (reposition.hpp): token s by row s of the moves, or all by one delta.
// hadamard_block not 0: keys under a Hadamard transform of such blocks (-1: of the head).
ROPE_C_API int32_t rope_reposition(const rope_rows* moves, const rope_call* call, const rope_heads* keys,
                                   int64_t hadamard_block, char* message, size_t room);

// ---- Gradients (gradients.hpp). The one with respect to x is ROPE_TRANSPOSE. Outputs are double, and added to. ----

// From y, rotated numbers, and g, the gradient with respect to them, [batch, seq, heads, head_dim] both: of each token's and
// pair's angle, [batch, seq, n, pairs] with an n that divides heads, and, unless NULL, of the logarithm of its magnitude.
ROPE_C_API int32_t rope_add_angle_gradients(const rope_rows* rows, const rope_call* call, const void* y,
                                            const rope_tensor* y_shape, const void* g, const rope_tensor* g_shape,
                                            double* angles, const rope_tensor* angles_shape, double* magnitudes,
                                            const rope_tensor* magnitudes_shape, char* message, size_t room);
// Of each frequency: `out` [1, 1, 1, frequencies], from angles [batch, seq, n, pairs]. axes NULL: one.
ROPE_C_API int32_t rope_add_frequency_gradients(const double* angles, const rope_tensor* angles_shape,
                                                const rope_axes* axes, const rope_call* call, const void* ids,
                                                double* out, const rope_tensor* out_shape, char* message, size_t room);
// Of each position: `out` [axes, batch * seq, 1, 1]. Frequencies are those of the config and seq_len, as for rope_frequencies.
ROPE_C_API int32_t rope_add_position_gradients(const double* angles, const rope_tensor* angles_shape,
                                               const rope_axes* axes, const rope_config* config, int64_t seq_len,
                                               const rope_call* call, double* out, const rope_tensor* out_shape,
                                               char* message, size_t room);
// Back through a norm and the rotation: `path` has a source, one norm, and a rotation or none. g and dx are as its heads;
// dw, [1, rope_weight_gradient_rows(batch, seq), heads of the weight, head_dim], is added to; NULL: not wanted.
ROPE_C_API int32_t rope_pass_backward(const rope_rows* rows, const rope_call* call, const void* ids,
                                      const rope_path* path, const void* g, const rope_tensor* g_shape, void* dx,
                                      const rope_tensor* dx_shape, double* dw, const rope_tensor* dw_shape,
                                      char* message, size_t room);
// How many rows the dw of so many tokens has. Then their sum: `rows`, [batch, seq, heads, n], is added up in `out`,
// [1, 1, groups, n].
ROPE_C_API int64_t rope_weight_gradient_rows(int64_t batch, int64_t seq);
ROPE_C_API int32_t rope_add_row_sums(const double* rows, const rope_tensor* rows_shape, const rope_call* call,
                                     double* out, const rope_tensor* out_shape, char* message, size_t room);

#ifdef __cplusplus
}
#endif

#endif
