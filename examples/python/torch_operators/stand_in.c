// SPDX-License-Identifier: MIT
// A library with the name of torch's, which the operators are linked with in its place; in a program, torch's own is loaded first.
// Functions that are only to be found by their names need no parameters, so torch_abi.h is not included.
#define STAND_IN(name) \
    void name(void);   \
    void name(void) {}

STAND_IN(aoti_torch_library_init_impl)
STAND_IN(torch_library_impl)
STAND_IN(aoti_torch_call_dispatcher)
STAND_IN(aoti_torch_new_tensor_handle)
STAND_IN(aoti_torch_delete_tensor_object)
STAND_IN(aoti_torch_get_data_ptr)
STAND_IN(aoti_torch_get_dim)
STAND_IN(aoti_torch_get_sizes)
STAND_IN(aoti_torch_get_strides)
STAND_IN(aoti_torch_get_dtype)
STAND_IN(aoti_torch_dtype_float64)
STAND_IN(aoti_torch_dtype_float32)
STAND_IN(aoti_torch_dtype_float16)
STAND_IN(aoti_torch_dtype_bfloat16)
STAND_IN(torch_parallel_for)
