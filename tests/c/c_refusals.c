// SPDX-License-Identifier: MIT
// rope.h for a C99 program: tables, axes, models, paths, buffers and cache formats that are refused have a code and a sentence
// with the member, its value and what is allowed.
#include <rope/rope.h>

#include "checks.h"

static void tables_and_models_that_are_refused(void) {
    rope_rows* rows = NULL;
    const rope_config usual = {.size = sizeof usual, .head_dim = kDim};
    rope_config c = usual;
    rope_table_options o = {.size = sizeof o, .max_positions = 16};
    REFUSES(ROPE_INVALID_ARGUMENT, "config is NULL", rope_table_new(NULL, &o, &rows, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "max_positions is 0", rope_table_new(&c, NULL, &rows, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "result is NULL", rope_table_new(&c, &o, NULL, M));
    c.schedule = 12;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.schedule is 12; it must be from 0 to 11", rope_table_new(&c, &o, &rows, M));
    c.schedule = ROPE_CUSTOM;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.numbers_count is 0", rope_table_new(&c, &o, &rows, M));
    c.numbers_count = 4;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.numbers is NULL; schedule 11 reads 4", rope_table_new(&c, &o, &rows, M));
    const double numbers[4] = {1, 0.5, 0.25, 0.125};
    c.numbers = numbers;
    c.numbers_count = INT64_MAX;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.numbers_count is 9223372036854775807", rope_table_new(&c, &o, &rows, M));
    c.numbers_count = 3;
    REFUSES(ROPE_INVALID_ARGUMENT, "schedule.inv_freq", rope_table_new(&c, &o, &rows, M));
    c.schedule = ROPE_LONGROPE;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.numbers_count is 3; of LongRoPE", rope_table_new(&c, &o, &rows, M));
    c.schedule = ROPE_NTK;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.numbers is set, and schedule 1 does not read it",
            rope_table_new(&c, &o, &rows, M));
    c = usual;
    c.beta_fast = 16;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.beta_fast is set, and schedule 0 does not read it",
            rope_table_new(&c, &o, &rows, M));
    c = usual;
    c.schedule = ROPE_YARN;
    c.magnitude = 3;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.magnitude is 3", rope_table_new(&c, &o, &rows, M));
    c = usual;
    c.layout = 9;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.layout is 9", rope_table_new(&c, &o, &rows, M));
    c = usual;
    c.head_dim = 7;
    REFUSES(ROPE_INVALID_ARGUMENT, "head_dim is 7", rope_table_new(&c, &o, &rows, M));
    o.type = ROPE_FLOAT16;
    REFUSES(ROPE_INVALID_ARGUMENT, "options.type is 2", rope_table_new(&usual, &o, &rows, M));
    o.type = ROPE_FLOAT64;
    o.is_float32_chain = 1;
    REFUSES(ROPE_INVALID_ARGUMENT, "options.is_float32_chain is 1", rope_table_new(&usual, &o, &rows, M));
    CHECK(rows == NULL);

    rope_axes axes = {.size = sizeof axes, .scheme = 8};
    REFUSES(ROPE_INVALID_ARGUMENT, "axes.scheme is 8", rope_token_rows_new(&usual, &axes, NULL, &rows, M));
    axes.scheme = ROPE_SECTIONS;
    axes.count = 9;
    REFUSES(ROPE_INVALID_ARGUMENT, "axes.count is 9; it must be from 1 to 8",
            rope_token_rows_new(&usual, &axes, NULL, &rows, M));
    axes.count = 2;
    axes.sections[0] = 3;
    REFUSES(ROPE_INVALID_ARGUMENT, "The sections of the map (or its axis_of) have 3 pairs",
            rope_token_rows_new(&usual, &axes, NULL, &rows, M));
    axes.scheme = ROPE_ONE_AXIS;
    REFUSES(ROPE_INVALID_ARGUMENT, "axes.count is 2, and axes.scheme ROPE_ONE_AXIS (0)",
            rope_token_rows_new(&usual, &axes, NULL, &rows, M));
    axes.scheme = ROPE_LISTED_AXES;
    REFUSES(ROPE_INVALID_ARGUMENT, "axes.axis_of has 0 axes at NULL",
            rope_token_rows_new(&usual, &axes, NULL, &rows, M));
    axes.scheme = ROPE_MIXED_AXES;
    REFUSES(ROPE_INVALID_ARGUMENT, "config.schedule must be ROPE_CUSTOM (11) for mixed axes",
            rope_token_rows_new(&usual, &axes, NULL, &rows, M));

    rope_model* model = NULL;
    REFUSES(ROPE_INVALID_ARGUMENT, "text is NULL", rope_model_from_json(NULL, 3, 0, &model, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "json_text is not JSON", rope_model_from_json("{\"a\": ", 6, 0, &model, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "layout is 5", rope_model_from_json(kModel, sizeof kModel - 1, 5, &model, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "lookup is NULL", rope_model_from_gguf(NULL, NULL, NULL, 0, &model, M));
    CHECK(model == NULL);
    double inv_freq[4];
    REFUSES(ROPE_INVALID_ARGUMENT, "count is 3; it must be the number of pairs (4)",
            rope_frequencies(&usual, 0, inv_freq, NULL, 3, NULL, M));
    PASSES(rope_frequencies(&usual, 0, NULL, NULL, 0, NULL, M));
}

static void passes_that_are_refused(void) {
    rope_rows* rows = table(ROPE_HALF_SPLIT);
    float x[kCount] = {0}, y[kCount] = {0};
    int8_t codes[kCount];
    rope_tensor t = shape(ROPE_FLOAT32), of_codes = shape(ROPE_INT8), one = t;
    one.head_dim = 1;
    float scale_numbers[kTokens * kHeads];
    rope_buffer from = {.size = sizeof from, .data = x, .shape = &t}, to = {.size = sizeof to, .data = y, .shape = &t};
    rope_buffer to_codes = {.size = sizeof to_codes, .data = codes, .shape = &of_codes};
    rope_buffer scales = {.size = sizeof scales, .data = scale_numbers, .shape = &one};
    rope_heads source = {.size = sizeof source, .codes = &from},
               destination = {.size = sizeof destination, .codes = &to};
    rope_head_step step = {.size = sizeof step, .kind = ROPE_ROTATE};
    const rope_path usual = {
        .size = sizeof usual, .source = &source, .destination = &destination, .steps = &step, .step_count = 1};
    rope_path p = usual;
    PASSES(rope_pass(rows, NULL, NULL, &p, 1, M));
    const rope_call back = {.size = sizeof back, .direction = ROPE_INVERSE};
    REFUSES(ROPE_INVALID_ARGUMENT, "call.direction is 1; this function has one direction",
            rope_pass(rows, &back, NULL, &p, 1, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "call.direction is 1; this function has one direction",
            rope_pass_backward(rows, &back, NULL, &p, x, &t, y, &t, NULL, NULL, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "path_count is 0; it must be from 1 to 8", rope_pass(rows, NULL, NULL, &p, 0, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "path_count is 9", rope_pass(rows, NULL, NULL, &p, 9, M));
    REFUSES(ROPE_INVALID_ARGUMENT, "paths is NULL; it must be a rope_path", rope_pass(rows, NULL, NULL, NULL, 1, M));
    p.source = NULL;
    REFUSES(ROPE_INVALID_ARGUMENT, "source is NULL; it must be a rope_heads", rope_pass(rows, NULL, NULL, &p, 1, M));
    p = usual;
    p.step_count = 9;
    REFUSES(ROPE_INVALID_ARGUMENT, "path.step_count is 9; it must be from 0 to 8",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    p.step_count = 1;
    p.steps = NULL;
    REFUSES(ROPE_INVALID_ARGUMENT, "path.step_count is 1 at steps of NULL", rope_pass(rows, NULL, NULL, &p, 1, M));
    p = usual;
    step.kind = 11;
    REFUSES(ROPE_INVALID_ARGUMENT, "step.kind is 11", rope_pass(rows, NULL, NULL, &p, 1, M));
    step.kind = ROPE_RMS_NORM;
    step.rounding = 3;
    REFUSES(ROPE_INVALID_ARGUMENT, "step.rounding is 3", rope_pass(rows, NULL, NULL, &p, 1, M));
    step.rounding = 0;
    step.number = -1;
    REFUSES(ROPE_INVALID_ARGUMENT, "eps", rope_pass(rows, NULL, NULL, &p, 1, M));
    step.number = 0;
    step.kind = ROPE_ADD;
    REFUSES(ROPE_INVALID_ARGUMENT, "add has no numbers", rope_pass(rows, NULL, NULL, &p, 1, M));
    step.kind = ROPE_MULTIPLY;
    REFUSES(ROPE_INVALID_ARGUMENT, "step.number is 0 and step.numbers NULL; one of the two",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    step.kind = ROPE_CLAMP;
    REFUSES(ROPE_INVALID_ARGUMENT, "step.number is 0; a clamp needs its limit", rope_pass(rows, NULL, NULL, &p, 1, M));
    step.kind = ROPE_RMS_NORM;
    step.bias = &from;
    REFUSES(ROPE_INVALID_ARGUMENT, "step.bias is set, and a step of kind 4 does not read it",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    step.bias = NULL;
    const int32_t ids[] = {0, 1};
    step.kind = ROPE_ROTATE;
    step.ids = ids;
    REFUSES(ROPE_INVALID_ARGUMENT, "step.call or step.ids is not NULL beside step.rows of NULL",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    step.rows = rows;
    REFUSES(ROPE_INVALID_ARGUMENT, "step.ids is not NULL beside step.call of NULL",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    step.ids = NULL;
    step.layout = ROPE_INTERLEAVED;
    REFUSES(ROPE_INVALID_ARGUMENT, "step.layout is 1", rope_pass(rows, NULL, NULL, &p, 1, M));
    step.layout = 0;
    step.rows = NULL;
    REFUSES(ROPE_INVALID_ARGUMENT, "path 1 rotates", rope_pass(NULL, NULL, NULL, &p, 1, M));

    // Codes of which nobody says what they mean are not read as floats.
    source.codes = &to_codes;
    REFUSES(ROPE_INVALID_ARGUMENT, "source.format is ROPE_PLAIN (0), and its codes are bytes",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    source.codes = NULL;
    REFUSES(ROPE_INVALID_ARGUMENT, "source.codes is NULL; it must be a rope_buffer",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    source.codes = &from;
    from.shape = NULL;
    REFUSES(ROPE_INVALID_ARGUMENT, "source.codes.shape is NULL; it must be a rope_tensor",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    from.shape = &t;
    t.type = 9;
    REFUSES(ROPE_INVALID_ARGUMENT, "source.codes.shape.type is 9", rope_pass(rows, NULL, NULL, &p, 1, M));
    t.type = ROPE_FLOAT32;
    source.are_given = 1;
    REFUSES(ROPE_INVALID_ARGUMENT, "source has scales or zeros, or says how they are made, and format 0",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    source.are_given = 0;
    source.scale_divides = 1;
    REFUSES(ROPE_INVALID_ARGUMENT, "source.scale_divides is 1", rope_pass(rows, NULL, NULL, &p, 1, M));
    source.scale_divides = 0;
    // Elements of an array have one size.
    struct {
        rope_head_step first;
        rope_head_step second;
    } steps = {step, step};
    steps.second.size += 8;
    p.steps = &steps.first;
    p.step_count = 2;
    REFUSES(ROPE_INVALID_ARGUMENT, "steps[1].size is ", rope_pass(rows, NULL, NULL, &p, 1, M));
    p = usual;

    destination.format = 16;
    REFUSES(ROPE_INVALID_ARGUMENT, "destination.format is 16; it must be from 0 to 15",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    destination.format = ROPE_FORMAT_INT8;
    destination.codes = &to_codes;
    REFUSES(ROPE_INVALID_ARGUMENT, "destination.scales is NULL; format 1 has scales",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    destination.scales = &scales;
    PASSES(rope_pass(rows, NULL, NULL, &p, 1, M));
    destination.scale = 0.5;
    REFUSES(ROPE_INVALID_ARGUMENT, "destination.scale is 0.5; it is for FP8", rope_pass(rows, NULL, NULL, &p, 1, M));
    destination.scale = 0;
    destination.format = ROPE_FORMAT_UINT8;
    REFUSES(ROPE_INVALID_ARGUMENT, "destination.zeros is NULL; format 2 has zeros",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    destination.format = ROPE_FORMAT_Q8_0;
    REFUSES(ROPE_INVALID_ARGUMENT, "destination has scales or zeros, or says how they are made, and format 9",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    destination.format = ROPE_FORMAT_INT8;
    const int64_t slots[kTokens] = {5, 0};
    scales.slot_list = slots;
    scales.slot_count = kTokens;
    scales.slot_type = ROPE_INT64;
    destination.are_given = 1;
    REFUSES(ROPE_INVALID_ARGUMENT, "destination.scales has slots; numbers that are given are a view",
            rope_pass(rows, NULL, NULL, &p, 1, M));
    destination.are_given = 0;
    scales.slot_list = NULL;
    rope_tensor pages = shape(ROPE_INT8);
    to_codes.shape = &pages;
    to_codes.slot_list = slots;
    to_codes.slot_count = kTokens;
    REFUSES(ROPE_INVALID_ARGUMENT, "destination.codes.slot_type is 0", rope_pass(rows, NULL, NULL, &p, 1, M));
    to_codes.slot_type = ROPE_INT64;
    REFUSES(ROPE_OUT_OF_RANGE, "destination", rope_pass(rows, NULL, NULL, &p, 1, M));
    rope_rows_free(rows);
}

int main(void) {
    tables_and_models_that_are_refused();
    passes_that_are_refused();
    return count_failures();
}
