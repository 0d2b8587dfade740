// SPDX-License-Identifier: MIT
// rope.h: the library for C99, and for every language that calls C. Its functions are those of the C++ headers, with the
// same bits; guide/c.md has whole programs.
//
// Handles    rope_rows, rope_model, rope_embedding and rope_step are made by the functions that end in _new, and freed by
//            those that end in _free, which take NULL, too. A handle of another kind, and one that was freed, is refused
//            where the memory still shows it; that cannot be promised of freed memory.
// Structs    begin with their size: clear a struct, set size to sizeof, and fill in what differs. A member of 0, or NULL, is
//            left out, and has the default of the C++ member of its name (but for extents of a tensor, which are what they
//            say). A program that was compiled with an older rope.h goes on working: the members that it does not know are
//            left out. One with a newer rope.h than the library's is refused where it sets a member that the library does
//            not know. Elements of an array of structs have one size.
// Errors     Functions that return an int32_t return ROPE_OK (0) or the code of a refusal, and then write a sentence to
//            `message`: the argument, its value, what is allowed. It has room for `room` characters; the sentence is cut to
//            that, and ends with a zero. ROPE_MESSAGE_ROOM is enough for any; NULL and 0 are for no sentence. Everything is
//            checked before the first write: a refused call leaves tensors as they were, and *result NULL. Valid ranges and
//            largest errors are those of the C++ header that stands beside each function.
// Memory     Data are arguments of their own, so that languages with a garbage collector may give a pointer for the
//            duration of a call. rope_apply and its kind, and rope_pass, allocate nothing.
// Threads    Rows, models and embeddings may be used by any number of threads, and rows and steps that are built while
//            nobody builds. No function starts a thread.
#ifndef ROPE_H
#define ROPE_H

#include <stddef.h>
#include <stdint.h>

#ifndef ROPE_C_API
#    if defined(_WIN32) && defined(ROPE_C_EXPORTS)
#        define ROPE_C_API __declspec(dllexport)
#    elif defined(_WIN32) && defined(ROPE_C_SHARED)
#        define ROPE_C_API __declspec(dllimport)
#    elif defined(__GNUC__) || defined(__clang__)
#        define ROPE_C_API __attribute__((visibility("default")))
#    else
#        define ROPE_C_API
#    endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- Numbers with names. All members that hold one are int32_t. ----

enum {
    ROPE_OK = 0,
    ROPE_INVALID_ARGUMENT = 1,  // a shape, a stride, a pointer, a configuration that no call could accept
    ROPE_OUT_OF_RANGE = 2,      // a position that the rows do not hold, a slot that the pages do not have
    ROPE_OUT_OF_MEMORY = 3,
    ROPE_FAILED = 4  // an exception of another kind, from the C++ code of an executor or a lookup
};
enum { ROPE_MESSAGE_ROOM = 320 };

// Which features form a pair: (x[2i], x[2i+1]), "rotate_every_two", or (x[i], x[i + rotary_dim/2]), "rotate_half".
enum { ROPE_INTERLEAVED = 1, ROPE_HALF_SPLIT = 2 };
// Forward; back with 1/m (the inverse); back with m (the transpose: the way of a gradient).
enum { ROPE_FORWARD = 0, ROPE_INVERSE = 1, ROPE_TRANSPOSE = 2 };
// Types of numbers in memory.
enum {
    ROPE_FLOAT32 = 0,
    ROPE_FLOAT64 = 1,
    ROPE_FLOAT16 = 2,
    ROPE_BFLOAT16 = 3,
    ROPE_INT8 = 4,   // codes, zeros, slots
    ROPE_UINT8 = 5,  // the same
    ROPE_INT32 = 6,  // positions, slots
    ROPE_INT64 = 7   // the same
};
enum {
    ROPE_QUERIES = 0,
    ROPE_KEYS = 1,
    ROPE_VALUES = 2,
    ROPE_OUTPUT = 3,
    ROPE_INDEXER_QUERIES = 4,
    ROPE_INDEXER_KEYS = 5
};

typedef struct rope_rows rope_rows;            // cos and sin: tables by position, rows by token, moves of keys
typedef struct rope_model rope_model;          // what a model's file says
typedef struct rope_embedding rope_embedding;  // the tables of a model
typedef struct rope_step rope_step;            // rows for the tokens of one step, for all layers of a model

// The version of the library, "0.1.0".
ROPE_C_API const char* rope_version(void);

// ---- Tensors, positions, threads ----

// The shape of heads in memory: element (b, s, h, i) is data[b * batch_stride + s * seq_stride + h * head_stride +
// i * feature_stride]. Strides count elements, and may be negative; four of 0: contiguous. Pages of a cache have their
// number for batch and their places for seq.
typedef struct rope_tensor {
    uint32_t size;
    int32_t type;
    int64_t batch, seq, heads, head_dim;
    int64_t batch_stride, seq_stride, head_stride, feature_stride;
} rope_tensor;

// Work of an executor: call it for pieces that cover 0 .. count - 1 once each, on any threads.
typedef void (*rope_work)(void* job, int64_t begin, int64_t end);
// Calls work(job, begin, end) for pieces of 0 .. count - 1 and returns when all are done.
typedef void (*rope_executor)(void* context, int64_t count, rope_work work, void* job);

enum {
    ROPE_START = 0,   // start, start + 1, ... in every batch entry
    ROPE_STARTS = 1,  // ids[b], ids[b] + 1, ... in batch entry b
    ROPE_IDS = 2,     // ids: seq of them, for all batch entries, or batch * seq
    ROPE_AXES = 3     // ids [axes, batch * seq], also fractions; for rope_rows_build and rope_step_build
};
// What a call does, where its tokens stand, and on which threads. NULL in place of a rope_call: forward, positions 0, 1,
// 2, ..., the layout of the rows, the calling thread.
typedef struct rope_call {
    uint32_t size;
    int32_t layout;          // 0: the one that the rows are made for; without one a layout must be given
    int32_t direction;       // ROPE_FORWARD, ...
    int32_t positions;       // ROPE_START, ...: what `ids`, the argument behind a rope_call, is
    int32_t ids_type;        // ROPE_INT32 or ROPE_INT64; on axes ROPE_FLOAT32 and ROPE_FLOAT64, too
    int32_t only_checks;     // not 0: the answer alone; nothing is written
    int64_t start;           // of ROPE_START
    int64_t ids_count;       // numbers in `ids`; on axes: for each
    int64_t axes;            // of ROPE_AXES, 1 to 8
    int64_t axis_stride;     // numbers from an axis to the next; 0: ids_count
    int64_t part, parts;     // this is thread `part` of `parts` that all make this call; 0: no others do
    rope_executor executor;  // asked for calls that write at least 1 MiB; not beside parts
    void* executor_context;
    int64_t at_every_size;  // not 0: for smaller ones, too
} rope_call;

// ---- Rows of cos and sin ----

// How frequencies are made. The members below with the same names are the parameters; 0: the default of schedule.hpp.
enum {
    ROPE_DEFAULT = 0,        // base^(-2i / rotary_dim)
    ROPE_NTK = 1,            // factor, mixed_b
    ROPE_DYNAMIC_NTK = 2,    // factor, max_position_embeddings
    ROPE_YARN = 3,           // factor, both lengths, and the members from beta_fast to magnitude
    ROPE_LLAMA3 = 4,         // factor, low_freq_factor, high_freq_factor, original_max_position_embeddings
    ROPE_LONGROPE = 5,       // numbers: short factors of all pairs, then long ones; factor, both lengths
    ROPE_PROPORTIONAL = 6,   // partial_rotary_factor, factor
    ROPE_AXIAL = 7,          // axes
    ROPE_XPOS_QUERIES = 8,   // scale_base, centre
    ROPE_XPOS_KEYS = 9,      // the same
    ROPE_FREQ_FACTORS = 10,  // numbers: one for each pair, which divides its frequency
    ROPE_CUSTOM = 11  // numbers: frequencies, radians per position, one for each pair (axes of them, if axes are mixed)
};
enum { ROPE_YARN_STANDARD = 0, ROPE_YARN_DEEPSEEK = 1, ROPE_YARN_NO_MAGNITUDE = 2 };
// One rotary embedding (config.hpp).
typedef struct rope_config {
    uint32_t size;
    int32_t layout;  // the layout of the weights; 0: calls say it
    int64_t head_dim, rotary_dim, rotary_offset;
    double base, interpolation_factor, attention_factor;
    int32_t schedule;
    int32_t is_reversed;
    double factor, mixed_b, beta_fast, beta_slow, extrapolation_factor, mscale, mscale_all_dim, attn_factor;
    double schedule_attention_factor;  // YaRN's and LongRoPE's own; 0: by their formula
    double low_freq_factor, high_freq_factor, partial_rotary_factor, scale_base, centre;
    int64_t original_max_position_embeddings;  // the length of the model's training
    int64_t max_position_embeddings;           // the length to which the schedule extends it
    int64_t axes;
    int32_t keeps_fractions;  // YaRN: not 0: the bounds of its ramp are no whole pairs ("truncate": false)
    int32_t magnitude;        // YaRN: ROPE_YARN_STANDARD, ...
    const double* numbers;
    int64_t numbers_count;
} rope_config;

// The axis of positions that each pair follows (axis_map.hpp).
enum {
    ROPE_ONE_AXIS = 0,
    ROPE_SECTIONS = 1,            // Qwen2-VL
    ROPE_INTERLEAVED_AXES = 2,    // Qwen3-VL
    ROPE_INTERLEAVED_AXES_4 = 3,  // the same in ggml: pairs that are left over follow a fourth axis
    ROPE_ALTERNATING_AXES = 4,    // Ernie 4.5 VL
    ROPE_APPORTIONED_AXES = 5,    // openPangu VL
    ROPE_MIXED_AXES = 6,          // rope-vit: `count` axes, each with a frequency for every pair
    ROPE_LISTED_AXES = 7          // axis_of
};
typedef struct rope_axes {
    uint32_t size;
    int32_t scheme;
    int64_t sections[8];
    int64_t count;                 // of sections, or of axes
    const unsigned char* axis_of;  // the axis of each pair
    int64_t axis_of_count;
} rope_axes;

typedef struct rope_table_options {
    uint32_t size;
    int32_t type;           // of the entries: ROPE_FLOAT32, for data of up to 32 bits, or ROPE_FLOAT64, for data of 64
    int64_t max_positions;  // that the table holds, from first_position on
    int64_t first_position;
    int64_t seq_len;     // of dynamic NTK and LongRoPE: the length of the sequence; 0: within the original context
    int32_t is_compact;  // not 0: two rows are combined for each, a few megabytes for millions of positions
    int32_t is_float32_chain;  // not 0: the table that eager float32 frameworks compute, with its errors
} rope_table_options;

// Writes inv_freq, radians per position, one for each pair, `count` of them, and the magnitude (frequencies.hpp). Any of
// the three may be NULL. inv_freq_low is what rounding to double has cut off.
ROPE_C_API int32_t rope_frequencies(const rope_config* config, int64_t seq_len, double* inv_freq, double* inv_freq_low,
                                    int64_t count, double* attention_factor, char* message, size_t room);

// A table of options->max_positions rows, by position (cos_sin_cache.hpp): entries within 0.501 ulp in float, at positions
// below 2^31. Refuses ROPE_OUT_OF_MEMORY, too.
ROPE_C_API int32_t rope_table_new(const rope_config* config, const rope_table_options* options, rope_rows** result,
                                  char* message, size_t room);
// Rows for tokens, one each, which rope_rows_build makes for every step: positions on several axes, fractions (rows.hpp).
// Of the options type and seq_len count; NULL: float. axes NULL: one.
ROPE_C_API int32_t rope_token_rows_new(const rope_config* config, const rope_axes* axes,
                                       const rope_table_options* options, rope_rows** result, char* message,
                                       size_t room);
// Makes the rows of batch * seq tokens, at positions from -2^52 to 2^52. Of the call positions and the executor count;
// parts are refused. A rope_apply over them reads row s for token s, unless its positions say other rows.
ROPE_C_API int32_t rope_rows_build(rope_rows* rows, const rope_call* call, const void* ids, int64_t seq, int64_t batch,
                                   char* message, size_t room);

// Moves of cached keys, from one position to another (moves.hpp), which one of the three functions below builds. `to` NULL:
// within the schedule `from`; else from one to the other. Of from_options type and seq_len count, of to_options seq_len.
ROPE_C_API int32_t rope_moves_new(const rope_config* from, const rope_table_options* from_options,
                                  const rope_config* to, const rope_table_options* to_options, const rope_axes* axes,
                                  rope_rows** result, char* message, size_t room);
// All keys by delta positions, on every axis.
ROPE_C_API int32_t rope_moves_build(rope_rows* moves, int64_t delta, char* message, size_t room);
// Each token by a number of positions of its own: ids of the call, seq of them or batch * seq.
ROPE_C_API int32_t rope_moves_build_each(rope_rows* moves, const rope_call* deltas, const void* ids, int64_t seq,
                                         int64_t batch, char* message, size_t room);
// Each token from an old position to a new one, given as for rope_apply; or both on axes.
ROPE_C_API int32_t rope_moves_build_between(rope_rows* moves, const rope_call* old_positions, const void* old_ids,
                                            const rope_call* new_positions, const void* new_ids, int64_t seq,
                                            int64_t batch, char* message, size_t room);

// Cosines and sines that another program has made (wrapped_rows.hpp): the cosine of pair i in row r of batch entry b is
// cos[(b * rows + r) * row_stride + i], and the sine likewise. They must live as long as the rows, which read them in place.
typedef struct rope_wrapped {
    uint32_t size;
    int32_t type;   // ROPE_FLOAT32 or ROPE_FLOAT64
    int64_t batch;  // 0: 1, shared by all entries of a call
    int64_t rows, pairs;
    int64_t row_stride;  // 0: pairs
    int64_t head_dim;    // 0: 2 * pairs
    int64_t rotary_offset;
    double attention_factor;    // that the numbers contain, for the inverse; 0: 1
    int64_t has_other_numbers;  // not 0: the rest of a row is no repetition of its numbers, and not compared
} rope_wrapped;
ROPE_C_API int32_t rope_wrap(const void* cos, const void* sin, const rope_wrapped* shape, rope_rows** result,
                             char* message, size_t room);

typedef struct rope_rows_info {
    uint32_t size;
    int32_t type;
    int32_t layout;           // 0: any
    int32_t magnitude_grows;  // xPos: there is no inverse
    int64_t pairs, head_dim, rotary_offset;
    int64_t rows, first_position;
    double attention_factor;
} rope_rows_info;
// Writes what rows are.
ROPE_C_API int32_t rope_rows_describe(const rope_rows* rows, rope_rows_info* info, char* message, size_t room);
// Writes the rows of batch * seq tokens (write_rows.hpp) to `to`, [batch, seq, 2 * pairs] numbers of the type of the rows: of
// each token the cosines, then the sines. With axes, positions are ROPE_AXES of whole numbers.
ROPE_C_API int32_t rope_rows_write(const rope_rows* rows, const rope_axes* axes, const rope_call* call, const void* ids,
                                   int64_t seq, int64_t batch, void* to, char* message, size_t room);
ROPE_C_API void rope_rows_free(rope_rows* rows);

// ---- Rotate (apply.hpp): data of 32 bits and less with rows of float, data of 64 with rows of double ----

// Rotates x, [batch, seq, heads, head_dim], in place. head_dim is that of the rows.
ROPE_C_API int32_t rope_apply(const rope_rows* rows, const rope_call* call, const void* ids, void* x,
                              const rope_tensor* x_shape, char* message, size_t room);
// Rotates q and k in place, of one batch and seq, each with its own heads. k_rows NULL: the rows of q. Neither is written
// unless both pass every check.
ROPE_C_API int32_t rope_apply_qk(const rope_rows* rows, const rope_rows* k_rows, const rope_call* call, const void* ids,
                                 void* q, const rope_tensor* q_shape, void* k, const rope_tensor* k_shape,
                                 char* message, size_t room);
// Writes `in`, rotated, to `out`, whose extents are the same; type and strides are its own. They are one tensor or apart.
ROPE_C_API int32_t rope_apply_copy(const rope_rows* rows, const rope_call* call, const void* ids, const void* in,
                                   const rope_tensor* in_shape, void* out, const rope_tensor* out_shape, char* message,
                                   size_t room);

// ---- Instruction sets (isa.hpp) ----

// The one that calls use, "avx2" for example; NULL if the environment variable ROPE_ISA names none that there is.
ROPE_C_API const char* rope_active_isa(void);
// Number i of those that this machine runs, best first; NULL behind the last.
ROPE_C_API const char* rope_available_isa(int64_t i);
// For tests: from now on all calls use this one; NULL: back to the choice by ROPE_ISA and the machine.
ROPE_C_API int32_t rope_force_isa(const char* name, char* message, size_t room);

#ifdef __cplusplus
}
#endif

#include "rope_models.h"
#include "rope_passes.h"

#endif
