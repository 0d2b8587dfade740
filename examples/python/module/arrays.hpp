// SPDX-License-Identifier: MIT
// Arrays of Python, by DLPack or the buffer protocol, as tensors of rope.h.
#pragma once
#include <rope/rope.h>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <cstdint>
#include <optional>
#include <string>

namespace rotary {
namespace nb = nanobind;

[[noreturn]] void raise_value(const std::string& sentence);
[[noreturn]] void raise_type(const std::string& sentence);
std::string text_of(nb::handle x);

enum class Use { read, write };
using Layout = std::optional<const char*>;  // its name, or None

// Address, type, shape and strides of an array. One made by `array` is valid during a call, since torch may give a tensor other
// memory later. One made by `kept_array` keeps the memory.
struct Array {
    static constexpr int most_dimensions = 8;
    void* data = nullptr;
    int32_t type = ROPE_FLOAT32;
    int dimensions = 0;
    int64_t shape[most_dimensions] = {};
    int64_t strides[most_dimensions] = {};  // in elements
    nb::ndarray<nb::ro> exported;           // empty where the array answered by DLPack's C interface
    nb::object held;

    int64_t size() const noexcept;
    bool is_contiguous() const noexcept;
};

// Reads the shape and the address of an array. Raises TypeError if x is no array, and ValueError if it is on another device, has
// another dtype, requires a gradient, or is read-only and would be written. Sentences call it `name`.
Array array(nb::handle x, const char* name, Use use);
// The same for numbers that are read after the call has returned: the result keeps their memory.
Array kept_array(nb::handle x, const char* name);

// The object of a class of the module that x is; null if x is of another class. One whose __init__ was not called is refused.
template <class T>
const T* instance(nb::handle x) {
    if (!nb::isinstance<T>(x)) return nullptr;
    if (!nb::inst_ready(x))
        raise_type("an object of this module was made without its __init__; " + text_of(x) + " cannot be used.");
    return nb::inst_ptr<T>(x);
}

// [batch, seq, heads, head_dim] or [seq, heads, head_dim]; with heads_first heads stand before seq.
rope_tensor tensor(const Array& x, const char* name, bool heads_first);
// The same for numbers of which leading extents may be left out: [head_dim], [heads, head_dim], ...
rope_tensor trailing_tensor(const Array& x, const char* name, bool heads_first);

// ROPE_HALF_SPLIT for "half_split", ...; 0 for None.
int32_t layout_of(Layout name);
// The other way: None for 0.
nb::object layout_name(int32_t layout);
// ROPE_FLOAT32 for "float32", ...: the types that tables have.
int32_t table_type_of(const char* name);

// One of the names of a list, as its place there; a sentence with all of them if it is none.
template <std::size_t N>
int32_t place_of(const char* (&names)[N], const char* argument, const char* value) {
    std::string allowed;
    for (std::size_t i = 0; i < N; ++i) {
        if (std::string(value) == names[i]) return static_cast<int32_t>(i);
        allowed += (i == 0 ? "'" : i + 1 == N ? " and '" : ", '") + std::string(names[i]) + "'";
    }
    raise_value(std::string(argument) + " is '" + value + "'; " + allowed + " are allowed.");
}

}  // namespace rotary
