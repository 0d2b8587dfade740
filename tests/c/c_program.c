// SPDX-License-Identifier: MIT
// rope.h for a C99 program: calls that are refused have a code and a sentence and change nothing; structs of other versions;
// handles that are none.
#include <rope/rope.h>

#include <string.h>

#include "checks.h"

static void calls_that_are_refused(void) {
    rope_rows *rows = table(0), *of_double = NULL;
    const rope_config config = {.size = sizeof config, .head_dim = kDim};
    rope_table_options options = {.size = sizeof options, .type = ROPE_FLOAT64, .max_positions = 16};
    PASSES(rope_table_new(&config, &options, &of_double, M));
    float x[kCount], before[kCount];
    for (int i = 0; i < kCount; ++i) x[i] = before[i] = (float)i;
    const rope_tensor t = shape(ROPE_FLOAT32);
    const rope_call usual = {.size = sizeof usual, .layout = ROPE_HALF_SPLIT};
    rope_call c = usual;

    REFUSES(ROPE_INVALID_ARGUMENT, "rows is NULL; it must be a rope_rows", rope_apply(NULL, &c, NULL, x, &t, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "x_shape is NULL; it must be a rope_tensor", rope_apply(rows, &c, NULL, x, NULL, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "x.data is null", rope_apply(rows, &c, NULL, NULL, &t, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "call.layout is 0, and the rows are made for no layout",
            rope_apply(rows, NULL, NULL, x, &t, M));
    c.layout = 3;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.layout is 3", rope_apply(rows, &c, NULL, x, &t, M));
    c.layout = -1;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.layout is -1", rope_apply(rows, &c, NULL, x, &t, M));
    c = usual;
    c.direction = 3;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.direction is 3; it must be from 0 to 2", rope_apply(rows, &c, NULL, x, &t, M));
    c = usual;
    c.positions = 4;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.positions is 4; it must be from 0 to 3", rope_apply(rows, &c, NULL, x, &t, M));
    c.positions = ROPE_AXES;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.positions is ROPE_AXES (3)", rope_apply(rows, &c, NULL, x, &t, M));
    const int32_t ids[kTokens] = {3, 16};
    c.positions = ROPE_IDS;
    c.ids_count = kTokens;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.ids_type is 0", rope_apply(rows, &c, ids, x, &t, M));
    c.ids_type = ROPE_INT32;
    REFUSES(ROPE_OUT_OF_RANGE, "positions", rope_apply(rows, &c, ids, x, &t, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "positions", rope_apply(rows, &c, NULL, x, &t, M));
    c.ids_count = 1;
    REFUSES(ROPE_INVALID_ARGUMENT, "positions", rope_apply(rows, &c, ids, x, &t, M));
    c = usual;
    REFUSES(ROPE_INVALID_ARGUMENT, "ids is not NULL, but call.positions is ROPE_START (0)",
            rope_apply(rows, &c, ids, x, &t, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "ids is not NULL, but call is", rope_apply(rows, NULL, ids, x, &t, M));
    c.start = 15;
    REFUSES(ROPE_OUT_OF_RANGE, "positions start at 15", rope_apply(rows, &c, NULL, x, &t, M));
    c.start = INT64_MIN;
    REFUSES(ROPE_OUT_OF_RANGE, "positions start at -9223372036854775808", rope_apply(rows, &c, NULL, x, &t, M));
    c = usual;
    c.parts = 2;
    c.part = 2;
    REFUSES(ROPE_INVALID_ARGUMENT, "number of part is 2; of 2 parts", rope_apply(rows, &c, NULL, x, &t, M));
    c.parts = -1;
    REFUSES(ROPE_INVALID_ARGUMENT, "count of part is -1", rope_apply(rows, &c, NULL, x, &t, M));
    c.parts = 0;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.part is 2 of 0 parts", rope_apply(rows, &c, NULL, x, &t, M));
    c = usual;
    c.ids_count = kTokens;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.ids_count is 2, but positions is ROPE_START (0)",
            rope_apply(rows, &c, NULL, x, &t, M));
    c.positions = ROPE_IDS;
    c.ids_type = ROPE_INT32;
    c.start = 1;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.start is 1, beside a list of ids", rope_apply(rows, &c, ids, x, &t, M));

    rope_tensor u = t;
    u.type = ROPE_INT8;
    REFUSES(ROPE_INVALID_ARGUMENT, "x_shape.type is 4; it must be from 0 to 3",
            rope_apply(rows, &usual, NULL, x, &u, M));
    u.type = ROPE_FLOAT64;
    REFUSES(ROPE_INVALID_ARGUMENT, "x_shape.type is ROPE_FLOAT64 (1); with rows of float",
            rope_apply(rows, &usual, NULL, x, &u, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "x_shape.type is 0; with rows of double",
            rope_apply(of_double, &usual, NULL, x, &t, M));
    u = t;
    u.head_dim = kDim + 1;
    REFUSES(ROPE_INVALID_ARGUMENT, "x.head_dim is 9", rope_apply(rows, &usual, NULL, x, &u, M));
    u = t;
    u.seq = -1;
    REFUSES(ROPE_INVALID_ARGUMENT, "x.seq is -1", rope_apply(rows, &usual, NULL, x, &u, M));
    u.seq = INT64_MAX;
    REFUSES(ROPE_INVALID_ARGUMENT, "x", rope_apply(rows, &usual, NULL, x, &u, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "k_rows are of another type than rows",
            rope_apply_qk(rows, of_double, &usual, NULL, x, &t, x, &t, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "q and k", rope_apply_qk(rows, NULL, &usual, NULL, x, &t, x + 1, &t, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "rows is NULL", rope_apply_qk(NULL, NULL, &usual, NULL, x, &t, x, &t, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "out_shape is NULL", rope_apply_copy(rows, &usual, NULL, x, &t, x, NULL, M));
    CHECK(memcmp(x, before, sizeof x) == 0);

    // A sentence is cut to the room that there is, and may be left out.
    char small[10];
    memset(small, '?', sizeof small);
    CHECK(rope_apply(NULL, &usual, NULL, x, &t, small, sizeof small) == ROPE_INVALID_ARGUMENT);
    CHECK(strcmp(small, "rows is N") == 0);
    small[0] = '?';
    CHECK(rope_apply(NULL, &usual, NULL, x, &t, small, 0) == ROPE_INVALID_ARGUMENT && small[0] == '?');
    CHECK(rope_apply(NULL, &usual, NULL, x, &t, NULL, 100) == ROPE_INVALID_ARGUMENT);

    // An extent of 0 is no call of 1, and needs no data.
    u = t;
    u.seq = 0;
    PASSES(rope_apply(rows, &usual, NULL, NULL, &u, M));
    u = t;
    u.batch = 0;
    PASSES(rope_apply(rows, &usual, NULL, NULL, &u, M));
    PASSES(rope_apply(rows, &usual, NULL, x, &t, M));
    CHECK(memcmp(x, before, sizeof x) != 0);
    rope_rows_free(rows);
    rope_rows_free(of_double);
}

static void structs_of_other_versions(void) {
    rope_rows* rows = table(ROPE_HALF_SPLIT);
    float x[kCount] = {1}, y[kCount] = {1};
    rope_tensor t = shape(ROPE_FLOAT32);
    PASSES(rope_apply(rows, NULL, NULL, y, &t, M));

    const uint32_t sizes[] = {0, 1, sizeof t - 8, sizeof t + 1, 1u << 20, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        t.size = sizes[i];
        REFUSES(ROPE_INVALID_ARGUMENT, "x_shape.size is ", rope_apply(rows, NULL, NULL, x, &t, M));
    }
    // A newer one passes as long as the library can know all that it says.
    struct {
        rope_tensor t;
        int64_t newer[2];
    } longer = {shape(ROPE_FLOAT32), {0, 0}};
    longer.t.size = sizeof longer;
    PASSES(rope_apply(rows, NULL, NULL, x, &longer.t, M));
    CHECK(memcmp(x, y, sizeof x) == 0);
    longer.newer[1] = 7;
    REFUSES(ROPE_INVALID_ARGUMENT, "x_shape.size is 88, of a newer rope.h",
            rope_apply(rows, NULL, NULL, x, &longer.t, M));

    // Answers: no byte behind the struct that the program knows.
    struct {
        rope_rows_info info;
        unsigned char behind[8];
    } of_rows = {{.size = sizeof(rope_rows_info)}, "behind"};
    PASSES(rope_rows_describe(rows, &of_rows.info, M));
    CHECK(of_rows.info.head_dim == kDim && of_rows.info.layout == ROPE_HALF_SPLIT);
    CHECK(strcmp((const char*)of_rows.behind, "behind") == 0);
    of_rows.info.size = sizeof of_rows;
    PASSES(rope_rows_describe(rows, &of_rows.info, M));
    CHECK(of_rows.info.size == sizeof of_rows && of_rows.behind[0] == 0);
    of_rows.info.size = 1u << 20;
    REFUSES(ROPE_INVALID_ARGUMENT, "info.size is 1048576", rope_rows_describe(rows, &of_rows.info, M));
    of_rows.info.size = 4;
    REFUSES(ROPE_INVALID_ARGUMENT, "info.size is 4", rope_rows_describe(rows, &of_rows.info, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "info is NULL; it must be a rope_rows_info", rope_rows_describe(rows, NULL, M));
    rope_rows_free(rows);
}

static void handles_that_are_none(void) {
    rope_rows* rows = table(ROPE_HALF_SPLIT);
    rope_model* model = NULL;
    PASSES(rope_model_from_json(kModel, sizeof kModel - 1, 0, &model, M));
    rope_embedding* embedding = NULL;
    PASSES(rope_embedding_new(model, NULL, &embedding, M));
    rope_step* step = NULL;
    PASSES(rope_step_new(embedding, &step, M));
    float x[kCount] = {0};
    const rope_tensor t = shape(ROPE_FLOAT32);

    REFUSES(ROPE_INVALID_ARGUMENT, "rows is a rope_model; it must be a rope_rows",
            rope_apply((rope_rows*)model, NULL, NULL, x, &t, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "rows is a rope_step; it must be a rope_rows",
            rope_apply((rope_rows*)step, NULL, NULL, x, &t, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "model is a rope_rows; it must be a rope_model",
            rope_embedding_new((rope_model*)rows, NULL, &(rope_embedding*){NULL}, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "embedding is a rope_model",
            rope_step_new((rope_embedding*)model, &(rope_step*){NULL}, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "step is a rope_embedding",
            rope_step_build((rope_step*)embedding, NULL, NULL, 1, 1, M));
    rope_rows* result = rows;
    REFUSES(ROPE_INVALID_ARGUMENT, "embedding is NULL", rope_embedding_rows(NULL, 0, ROPE_KEYS, &result, M));
    CHECK(result == NULL);
    REFUSES(ROPE_INVALID_ARGUMENT, "result is NULL", rope_embedding_rows(embedding, 0, ROPE_KEYS, NULL, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "heads is 2", rope_embedding_rows(embedding, 0, ROPE_VALUES, &result, M));
    REFUSES(ROPE_OUT_OF_RANGE, "layer is 2; this model has 2 layers",
            rope_embedding_rows(embedding, 2, ROPE_KEYS, &result, M));
    CHECK(rope_model_warning(NULL, 0) == NULL && rope_model_warning((rope_model*)rows, 0) == NULL);

    // Rows that cannot be built, or by another function.
    REFUSES(ROPE_INVALID_ARGUMENT, "rows were not made by rope_token_rows_new",
            rope_rows_build(rows, NULL, NULL, 1, 1, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "moves were not made by rope_moves_new", rope_moves_build(rows, 1, M));

    // Freed: in memory that still shows it. (Under AddressSanitizer reading it would end the program.)
#if !defined(__SANITIZE_ADDRESS__) && !defined(ROPE_TEST_SANITIZED)
    rope_rows* const freed = rows;
    rope_rows_free(rows);
    REFUSES(ROPE_INVALID_ARGUMENT, "rows is no rope_rows, or one that was freed",
            rope_apply(freed, NULL, NULL, x, &t, M));
#else
    rope_rows_free(rows);
#endif
    rope_rows_free((rope_rows*)model);  // does nothing
    rope_model_free(model);
    rope_embedding_free(embedding);
    rope_step_free(step);
    rope_rows_free(NULL);
    rope_model_free(NULL);
    rope_embedding_free(NULL);
    rope_step_free(NULL);
}

static void functions_that_read_less_of_a_call(void) {
    rope_rows *rows = NULL, *moves = NULL, *fixed = table(ROPE_HALF_SPLIT);
    const rope_config config = {.size = sizeof config, .head_dim = kDim};
    PASSES(rope_token_rows_new(&config, NULL, NULL, &rows, M));
    PASSES(rope_moves_new(&config, NULL, NULL, NULL, NULL, &moves, M));
    PASSES(rope_moves_build(moves, 3, M));
    const int32_t ids[kTokens] = {1, 2};
    rope_call c = {.size = sizeof c, .only_checks = 1};
    float row[kTokens * kDim] = {7}, x[kCount] = {1};
    double sums[kTokens] = {7}, doubles[kTokens * 4] = {7}, out[4] = {0};
    const rope_tensor
        t = shape(ROPE_FLOAT32),
        of_sums = {.size = sizeof of_sums, .type = ROPE_FLOAT64, .batch = 1, .seq = kTokens, .heads = 1, .head_dim = 1},
        of_pairs =
            {.size = sizeof of_pairs, .type = ROPE_FLOAT64, .batch = 1, .seq = kTokens, .heads = 1, .head_dim = 4},
        of_one = {.size = sizeof of_one, .type = ROPE_FLOAT64, .batch = 1, .seq = 1, .heads = 1, .head_dim = 4};
    const rope_buffer buffer = {.size = sizeof buffer, .data = x, .shape = &t};
    const rope_heads heads = {.size = sizeof heads, .codes = &buffer};
    const rope_path path = {.size = sizeof path, .source = &heads};
    const char* const has_only_a_result = "call.only_checks is 1; this function has no answer but its result";
    REFUSES(ROPE_INVALID_ARGUMENT, has_only_a_result, rope_rows_build(rows, &c, NULL, kTokens, 1, M));
    REFUSES(ROPE_INVALID_ARGUMENT, has_only_a_result, rope_rows_write(fixed, NULL, &c, NULL, kTokens, 1, row, M));
    REFUSES(ROPE_INVALID_ARGUMENT, has_only_a_result, rope_sum_squares(&path, &c, sums, &of_sums, M));
    CHECK(row[0] == 7 && sums[0] == 7);
    // The gradients can be asked.
    PASSES(rope_add_row_sums(doubles, &of_pairs, &c, out, &of_one, M));
    PASSES(rope_add_frequency_gradients(doubles, &of_pairs, NULL, &c, NULL, out, &of_one, M));
    PASSES(rope_add_position_gradients(doubles, &of_pairs, NULL, &config, 0, &c, sums, &of_sums, M));
    CHECK(sums[0] == 7 && out[0] == 0);
    c.only_checks = 0;
    c.parts = 2;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.parts is 2; one thread makes these numbers",
            rope_rows_build(rows, &c, NULL, kTokens, 1, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "deltas.parts is 2", rope_moves_build_each(moves, &c, NULL, kTokens, 1, M));
    c.only_checks = 1;
    REFUSES(ROPE_INVALID_ARGUMENT, "deltas.only_checks is 1", rope_moves_build_each(moves, &c, NULL, kTokens, 1, M));
    c.only_checks = 0;
    c.parts = 0;
    REFUSES(ROPE_INVALID_ARGUMENT, "ids is not NULL, but call is", rope_rows_build(rows, NULL, ids, kTokens, 1, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "ids is not NULL, but call is",
            rope_rows_write(fixed, NULL, NULL, ids, kTokens, 1, row, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "ids is not NULL, but old_positions is",
            rope_moves_build_between(moves, NULL, ids, &c, NULL, kTokens, 1, M));
    const rope_axes axes = {.size = sizeof axes, .scheme = ROPE_SECTIONS, .sections = {2, 2}, .count = 2};
    REFUSES(ROPE_INVALID_ARGUMENT, "axes is not NULL, and call.positions is not ROPE_AXES",
            rope_rows_write(fixed, &axes, &c, NULL, kTokens, 1, row, M));
    c.direction = ROPE_INVERSE;
    c.layout = ROPE_HALF_SPLIT;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.direction is 1; this function has one direction",
            rope_reposition(moves, &c, &heads, 0, M));
    c.direction = 0;
    c.start = 4;
    REFUSES(ROPE_INVALID_ARGUMENT, "call.positions is 0, and start 4; this function reads no positions",
            rope_reposition(moves, &c, &heads, 0, M));
    c.start = 0;
    REFUSES(ROPE_INVALID_ARGUMENT, "hadamard_block is -2", rope_reposition(moves, &c, &heads, -2, M));
    PASSES(rope_reposition(moves, &c, &heads, 0, M));

    // A table without inverse says so when it is asked, too.
    rope_config xpos = config;
    xpos.schedule = ROPE_XPOS_QUERIES;
    const rope_table_options options = {.size = sizeof options, .max_positions = 16};
    rope_rows* grows = NULL;
    PASSES(rope_table_new(&xpos, &options, &grows, M));
    c.direction = ROPE_INVERSE;
    c.only_checks = 1;
    REFUSES(ROPE_INVALID_ARGUMENT, "the cache of x has a magnitude that grows", rope_apply(grows, &c, NULL, x, &t, M));
    rope_rows_free(grows);
    rope_rows_free(rows);
    rope_rows_free(moves);
    rope_rows_free(fixed);
}

int main(void) {
    CHECK(ROPE_MESSAGE_ROOM >= 320);
    calls_that_are_refused();
    structs_of_other_versions();
    handles_that_are_none();
    functions_that_read_less_of_a_call();
    return count_failures();
}
