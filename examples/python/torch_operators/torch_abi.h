// SPDX-License-Identifier: MIT
// The functions of torch's stable ABI that the operators call: C, the same in every torch from 2.10 on, so that the wheel is built
// without torch. A value on the stack of an operator is 64 bits: an owned tensor, an integer, a bool in its lowest byte.
#ifndef ROTARY_CPU_TORCH_ABI_H
#define ROTARY_CPU_TORCH_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AtenTensorOpaque* AtenTensorHandle;
typedef struct TorchLibraryOpaque* TorchLibraryHandle;
typedef uint64_t StableIValue;

// Functions return 0, or an error that torch prints; those of dtypes return torch's number of the dtype.
int32_t aoti_torch_library_init_impl(const char* name_space, const char* key, const char* file, uint32_t line,
                                     TorchLibraryHandle* result);
int32_t torch_library_impl(TorchLibraryHandle library, const char* name,
                           void (*kernel)(StableIValue* stack, uint64_t inputs, uint64_t outputs),
                           uint64_t torch_version);
int32_t aoti_torch_call_dispatcher(const char* name, const char* overload, StableIValue* stack);
int32_t aoti_torch_new_tensor_handle(AtenTensorHandle tensor, AtenTensorHandle* result);  // another reference
int32_t aoti_torch_delete_tensor_object(AtenTensorHandle tensor);
int32_t aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** result);
int32_t aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* result);
int32_t aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** result);
int32_t aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** result);
int32_t aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* result);
int32_t aoti_torch_dtype_float64(void);
int32_t aoti_torch_dtype_float32(void);
int32_t aoti_torch_dtype_float16(void);
int32_t aoti_torch_dtype_bfloat16(void);
int32_t torch_parallel_for(int64_t begin, int64_t end, int64_t grain, void (*work)(int64_t, int64_t, void*),
                           void* context);

#ifdef __cplusplus
}
#endif

#endif
