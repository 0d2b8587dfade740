// SPDX-License-Identifier: MIT
// q and k rotated at two kinds of positions, and a refusal. cpp/demo.cpp is the same in C++.
#include <inttypes.h>
#include <rope/rope.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 2, HEAD_DIM = 64 };

static char message[ROPE_MESSAGE_ROOM];  // the sentence of the last refusal

static void must(int32_t code) {
    if (code == ROPE_OK) return;
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static void show(const char* what, const float* x, size_t count) {
    uint32_t sum = 2166136261u, word;
    printf("%-14s", what);
    for (size_t i = 0; i < count; ++i) {
        memcpy(&word, &x[i], sizeof word);
        sum = (sum ^ word) * 16777619u;
        if (i >= count - HEAD_DIM && i < count - HEAD_DIM + 8) printf(" %08" PRIx32, word);
    }
    printf(" sum %08" PRIx32 "\n", sum);
}

int main(void) {
    // Structs begin with their size; a member that is left out is 0, which stands for the default.
    rope_config config = {.size = sizeof config, .layout = ROPE_HALF_SPLIT, .head_dim = HEAD_DIM, .base = 500000.0};
    config.schedule = ROPE_LLAMA3;  // of Llama 3.2 1B
    config.factor = 32.0, config.low_freq_factor = 1.0, config.high_freq_factor = 4.0,
    config.original_max_position_embeddings = 8192;
    const rope_table_options options = {.size = sizeof options, .max_positions = 131072};
    rope_rows* table = NULL;
    must(rope_table_new(&config, &options, &table, message, sizeof message));

    float q[TOKENS * 2 * HEAD_DIM], k[TOKENS * 1 * HEAD_DIM];  // [tokens, heads, head_dim]
    for (int i = 0; i < TOKENS * 2 * HEAD_DIM; ++i) q[i] = ((float)i - 100.0f) / 8.0f;
    for (int i = 0; i < TOKENS * 1 * HEAD_DIM; ++i) k[i] = (50.0f - (float)i) / 8.0f;
    const rope_tensor of_q = {.size = sizeof of_q, .batch = 1, .seq = TOKENS, .heads = 2, .head_dim = HEAD_DIM};
    const rope_tensor of_k = {.size = sizeof of_k, .batch = 1, .seq = TOKENS, .heads = 1, .head_dim = HEAD_DIM};

    rope_call call = {.size = sizeof call, .start = 100000};  // positions 100000 and 100001
    must(rope_apply_qk(table, NULL, &call, NULL, q, &of_q, k, &of_k, message, sizeof message));
    show("q from 100000:", q, TOKENS * 2 * HEAD_DIM);
    show("k from 100000:", k, TOKENS * 1 * HEAD_DIM);
    const int64_t ids[TOKENS] = {7, 131071};
    const rope_call by_ids = {
        .size = sizeof by_ids, .positions = ROPE_IDS, .ids_type = ROPE_INT64, .ids_count = TOKENS};
    must(rope_apply_qk(table, NULL, &by_ids, ids, q, &of_q, k, &of_k, message, sizeof message));
    show("q by ids:", q, TOKENS * 2 * HEAD_DIM);
    show("k by ids:", k, TOKENS * 1 * HEAD_DIM);
    call.start = 131071;  // the second token stands behind the table
    if (rope_apply_qk(table, NULL, &call, NULL, q, &of_q, k, &of_k, message, sizeof message) == ROPE_OUT_OF_RANGE)
        printf("refused: %s\n", message);
    show("q as it was:", q, TOKENS * 2 * HEAD_DIM);
    rope_rows_free(table);
}
