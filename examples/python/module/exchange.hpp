// SPDX-License-Identifier: MIT
// DLPack's C interface (1.2 and later): a type has a table of functions, one of which describes an object's memory without a
// call of Python. It is six times as fast as __dlpack__, which makes a capsule.
#pragma once
#include <nanobind/nanobind.h>
#include <cstdint>

namespace rotary {

struct DlType {
    uint8_t code, bits;
    uint16_t lanes;
};
struct DlTensor {
    void* data;
    int32_t device_type, device_id;
    int32_t dimensions;
    DlType type;
    int64_t* shape;
    int64_t* strides;  // in elements; null: contiguous
    uint64_t byte_offset;
};
// The table of a type. Members that are never called here are declared as pointers.
struct DlExchange {
    uint32_t major, minor;
    void* previous;
    void *allocate, *managed_from_object, *managed_to_object;
    int (*describe)(void* object, DlTensor* out);  // not 0: an error of Python is set
    void* current_stream;
};
constexpr int32_t dl_cpu = 1;

// The table of an object's type; null if it has none that is understood here.
const DlExchange* exchange_of(nanobind::handle x);

}  // namespace rotary
