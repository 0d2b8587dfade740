// SPDX-License-Identifier: MIT
// The native methods of Table.java, by JNI.
#include <rope/rope.h>

#include "Table.h"  // by javac -h

static void throw_refusal(JNIEnv* env, int32_t code, const char* sentence) {
    const char* name = code == ROPE_OUT_OF_RANGE    ? "java/lang/IndexOutOfBoundsException"
                       : code == ROPE_OUT_OF_MEMORY ? "java/lang/OutOfMemoryError"
                                                    : "java/lang/IllegalArgumentException";
    (*env)->ThrowNew(env, (*env)->FindClass(env, name), sentence);
}

JNIEXPORT jlong JNICALL Java_Table_create(JNIEnv* env, jclass table, jint head_dim, jdouble base, jdouble factor,
                                          jlong positions) {
    (void)table;
    rope_config config = {.size = sizeof config, .layout = ROPE_HALF_SPLIT, .head_dim = head_dim, .base = base};
    config.schedule = ROPE_LLAMA3;
    config.factor = factor;
    const rope_table_options options = {.size = sizeof options, .max_positions = positions};
    rope_rows* rows = NULL;
    char message[ROPE_MESSAGE_ROOM];
    const int32_t code = rope_table_new(&config, &options, &rows, message, sizeof message);
    if (code != ROPE_OK) throw_refusal(env, code, message);
    return (jlong)(intptr_t)rows;
}

JNIEXPORT void JNICALL Java_Table_apply(JNIEnv* env, jclass table, jlong handle, jobject q, jint q_heads, jobject k,
                                        jint k_heads, jint tokens, jint head_dim, jlong start, jlongArray ids) {
    (void)table;
    const rope_tensor of_q = {.size = sizeof of_q, .batch = 1, .seq = tokens, .heads = q_heads, .head_dim = head_dim};
    const rope_tensor of_k = {.size = sizeof of_k, .batch = 1, .seq = tokens, .heads = k_heads, .head_dim = head_dim};
    rope_call call = {.size = sizeof call, .start = start};
    jlong* numbers = NULL;
    if (ids != NULL) {
        numbers = (*env)->GetLongArrayElements(env, ids, NULL);
        if (numbers == NULL) return;  // OutOfMemoryError was thrown
        call.positions = ROPE_IDS;
        call.ids_type = ROPE_INT64;
        call.ids_count = (*env)->GetArrayLength(env, ids);
    }
    char message[ROPE_MESSAGE_ROOM];
    const int32_t code =
        rope_apply_qk((rope_rows*)(intptr_t)handle, NULL, &call, numbers, (*env)->GetDirectBufferAddress(env, q), &of_q,
                      (*env)->GetDirectBufferAddress(env, k), &of_k, message, sizeof message);
    if (numbers != NULL) (*env)->ReleaseLongArrayElements(env, ids, numbers, JNI_ABORT);
    if (code != ROPE_OK) throw_refusal(env, code, message);
}

JNIEXPORT void JNICALL Java_Table_free(JNIEnv* env, jclass table, jlong handle) {
    (void)env, (void)table;
    rope_rows_free((rope_rows*)(intptr_t)handle);
}
