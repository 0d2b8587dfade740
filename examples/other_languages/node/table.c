// SPDX-License-Identifier: MIT
// The addon behind table.js, by Node-API. An argument that is no number is as 0.
#include <node_api.h>
#include <rope/rope.h>

static napi_value refuse(napi_env env, int32_t code, const char* sentence) {
    (code == ROPE_OUT_OF_RANGE ? napi_throw_range_error : napi_throw_type_error)(env, NULL, sentence);
    return NULL;
}

// The garbage collector frees tables; it is told their bytes, because it does not see them.
static void release(napi_env env, void* rows, void* bytes) {
    int64_t all;
    napi_adjust_external_memory(env, -(int64_t)(intptr_t)bytes, &all);
    rope_rows_free(rows);
}
// create(headDim, positions, base, factor)
static napi_value create(napi_env env, napi_callback_info info) {
    napi_value given[4], handle = NULL;
    napi_get_cb_info(env, info, &(size_t){4}, given, NULL, NULL);
    rope_config config = {.size = sizeof config, .layout = ROPE_HALF_SPLIT, .schedule = ROPE_LLAMA3};
    rope_table_options options = {.size = sizeof options};
    napi_get_value_int64(env, given[0], &config.head_dim);
    napi_get_value_int64(env, given[1], &options.max_positions);
    napi_get_value_double(env, given[2], &config.base);
    napi_get_value_double(env, given[3], &config.factor);
    rope_rows* rows = NULL;
    char message[ROPE_MESSAGE_ROOM];
    const int32_t code = rope_table_new(&config, &options, &rows, message, sizeof message);
    if (code != ROPE_OK) return refuse(env, code, message);
    int64_t bytes = options.max_positions * config.head_dim * 4, all;
    napi_adjust_external_memory(env, bytes, &all);
    napi_create_external(env, rows, release, (void*)(intptr_t)bytes, &handle);
    return handle;
}
// apply(rows, q, k, ids, qHeads, kHeads, tokens, headDim, start)
static napi_value apply(napi_env env, napi_callback_info info) {
    napi_value given[9];
    napi_get_cb_info(env, info, &(size_t){9}, given, NULL, NULL);
    void *rows = NULL, *data[4] = {NULL};
    size_t counts[4] = {0};
    int64_t n[9] = {0};
    napi_get_value_external(env, given[0], &rows);
    for (int i = 1; i < 4; ++i) napi_get_typedarray_info(env, given[i], NULL, &counts[i], &data[i], NULL, NULL);
    for (int i = 4; i < 9; ++i) napi_get_value_int64(env, given[i], &n[i]);
    const rope_tensor of_q = {.size = sizeof of_q, .batch = 1, .seq = n[6], .heads = n[4], .head_dim = n[7]};
    const rope_tensor of_k = {.size = sizeof of_k, .batch = 1, .seq = n[6], .heads = n[5], .head_dim = n[7]};
    rope_call call = {.size = sizeof call, .start = n[8], .ids_type = ROPE_INT64, .ids_count = (int64_t)counts[3]};
    if (counts[3] > 0) call.positions = ROPE_IDS;
    char message[ROPE_MESSAGE_ROOM];
    const int32_t code =
        rope_apply_qk(rows, NULL, &call, data[3], data[1], &of_q, data[2], &of_k, message, sizeof message);
    return code == ROPE_OK ? NULL : refuse(env, code, message);
}

NAPI_MODULE_INIT() {
    const napi_property_descriptor both[] = {{.utf8name = "create", .method = create},
                                             {.utf8name = "apply", .method = apply}};
    return napi_define_properties(env, exports, 2, both) == napi_ok ? exports : NULL;
}
