// SPDX-License-Identifier: MIT
// Keys of bfloat16, normalised, rotated and written to pages of int8 by one call. cpp/pages.cpp is the same in C++.
#include <inttypes.h>
#include <rope/rope.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 2, HEAD_DIM = 64, PAGES = 2, PAGE_SIZE = 16 };

static uint32_t bits(float x) {
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static rope_tensor tensor(int32_t type, int64_t batch, int64_t seq, int64_t head_dim) {
    return (rope_tensor){sizeof(rope_tensor), type, batch, seq, 1, head_dim, 0, 0, 0, 0};  // contiguous
}

int main(void) {
    char message[ROPE_MESSAGE_ROOM];
    const rope_config config = {.size = sizeof config, .layout = ROPE_HALF_SPLIT, .head_dim = HEAD_DIM};
    const rope_table_options options = {.size = sizeof options, .max_positions = 4096};
    rope_rows* table = NULL;
    if (rope_table_new(&config, &options, &table, message, sizeof message) != ROPE_OK) return puts(message), 1;

    uint16_t k[TOKENS * HEAD_DIM];  // bfloat16 is the upper half of a float; these numbers are exact
    for (int i = 0; i < TOKENS * HEAD_DIM; ++i) k[i] = (uint16_t)(bits(((float)i - 50.0f) / 8.0f) >> 16);
    float weight[HEAD_DIM];
    for (int i = 0; i < HEAD_DIM; ++i) weight[i] = 1.5f;
    static int8_t codes[PAGES * PAGE_SIZE * HEAD_DIM];
    static float scales[PAGES * PAGE_SIZE];

    // Numbers in memory are a pointer and a shape, pages also the slots: page 0, place 3, and page 1, place 1.
    const int32_t ids[TOKENS] = {41, 42}, slots[TOKENS] = {3, 17};
    const rope_tensor of_k = tensor(ROPE_BFLOAT16, 1, TOKENS, HEAD_DIM);
    const rope_tensor of_codes = tensor(ROPE_INT8, PAGES, PAGE_SIZE, HEAD_DIM);
    const rope_tensor of_scales = tensor(ROPE_FLOAT32, PAGES, PAGE_SIZE, 1);
    const rope_buffer keys = {.size = sizeof keys, .data = k, .shape = &of_k};
    const rope_buffer norm_weight = {.size = sizeof norm_weight, .data = weight};
    rope_buffer pages = {.size = sizeof pages, .slot_list = slots, .slot_count = TOKENS, .slot_type = ROPE_INT32};
    rope_buffer scale_pages = pages;
    pages.data = codes, pages.shape = &of_codes;
    scale_pages.data = scales, scale_pages.shape = &of_scales;
    const rope_heads from = {.size = sizeof from, .codes = &keys};
    const rope_heads to = {.size = sizeof to, .format = ROPE_FORMAT_INT8, .codes = &pages, .scales = &scale_pages};
    const rope_head_step steps[] = {
        {.size = sizeof steps[0], .kind = ROPE_RMS_NORM, .number = 1e-6, .numbers = &norm_weight},
        {.size = sizeof steps[0], .kind = ROPE_ROTATE}};
    const rope_path path = {.size = sizeof path, .source = &from, .destination = &to, .steps = steps, .step_count = 2};
    const rope_call call = {.size = sizeof call, .positions = ROPE_IDS, .ids_type = ROPE_INT32, .ids_count = TOKENS};
    if (rope_pass(table, &call, ids, &path, 1, message, sizeof message) != ROPE_OK) return puts(message), 1;

    for (int t = 0; t < TOKENS; ++t) {
        printf("slot %2" PRId32 ": scale %08" PRIx32 ", codes", slots[t], bits(scales[slots[t]]));
        for (int i = 0; i < 16; ++i) printf(" %d", codes[slots[t] * HEAD_DIM + i]);
        printf("\n");
    }
    rope_rows_free(table);
}
