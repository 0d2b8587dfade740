// SPDX-License-Identifier: MIT
// Shared by the tests of rope.h in C99: checks of codes and sentences; small tables and tensors. Each failure is printed; the
// exit status of a program is their number.
#ifndef ROPE_TESTS_C_CHECKS_H
#define ROPE_TESTS_C_CHECKS_H

#include <rope/rope.h>

#include <stdio.h>
#include <string.h>

static int failures = 0;
static char message[ROPE_MESSAGE_ROOM];

static void check(int is_right, int line, const char* said) {
    if (is_right) return;
    ++failures;
    printf("line %d: failed; the last sentence is: %s\n", line, said);
}
#define CHECK(condition) check(condition, __LINE__, message)

static int ends_with(const char* text, const char* end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}
static int begins_with(const char* text, const char* begin) { return strncmp(text, begin, strlen(begin)) == 0; }

// A call must have a code, and a sentence that begins so and is whole.
#define REFUSES(code, sentence, call)          \
    do {                                       \
        memset(message, '?', sizeof message);  \
        CHECK((call) == (code));               \
        message[sizeof message - 1] = 0;       \
        CHECK(begins_with(message, sentence)); \
        CHECK(ends_with(message, "."));        \
    } while (0)
#define PASSES(call) CHECK((call) == ROPE_OK)
#define M message, sizeof message

enum { kTokens = 2, kHeads = 2, kDim = 8, kCount = kTokens * kHeads * kDim };

static rope_rows* table(int32_t layout) {
    rope_rows* rows = NULL;
    const rope_config config = {.size = sizeof config, .head_dim = kDim, .layout = layout};
    const rope_table_options options = {.size = sizeof options, .max_positions = 16};
    PASSES(rope_table_new(&config, &options, &rows, M));
    return rows;
}
static rope_tensor shape(int32_t type) {
    const rope_tensor t = {
        .size = sizeof t, .type = type, .batch = 1, .seq = kTokens, .heads = kHeads, .head_dim = kDim};
    return t;
}

static const char kModel[] =
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"hidden_size\": 16,"
    " \"max_position_embeddings\": 32, \"rope_theta\": 10000}";

static int count_failures(void) {
    printf("%d failures, rope %s\n", failures, rope_version());
    return failures > 255 ? 255 : failures;
}

#endif
