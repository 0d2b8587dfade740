// SPDX-License-Identifier: MIT
// Calls of rope.h whose instructions are counted by instructions.cmake: a name of the work, and how many times.
#include <rope/rope.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** arguments) {
    static float q[32 * 128], k[8 * 128];
    char message[ROPE_MESSAGE_ROOM];
    rope_rows* rows = NULL;
    const rope_config config = {.size = sizeof config, .head_dim = 128};
    const rope_table_options options = {.size = sizeof options, .max_positions = 64};
    const rope_tensor of_q = {.size = sizeof of_q, .batch = 1, .seq = 1, .heads = 32, .head_dim = 128};
    const rope_tensor of_k = {.size = sizeof of_k, .batch = 1, .seq = 1, .heads = 8, .head_dim = 128};
    const rope_call call = {.size = sizeof call, .layout = ROPE_HALF_SPLIT, .start = 7};
    int32_t code = rope_table_new(&config, &options, &rows, message, sizeof message);
    const int is_both = count == 3 && strcmp(arguments[1], "one_token_in_c") == 0;
    for (int i = count == 3 ? atoi(arguments[2]) : 0; i > 0 && code == ROPE_OK; --i)
        code = is_both ? rope_apply_qk(rows, NULL, &call, NULL, q, &of_q, k, &of_k, message, sizeof message)
                       : rope_apply(rows, &call, NULL, q, &of_q, message, sizeof message);
    if (code != ROPE_OK) puts(message);
    rope_rows_free(rows);
    return code;
}
