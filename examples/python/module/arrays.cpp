// SPDX-License-Identifier: MIT
#include "arrays.hpp"

#include "exchange.hpp"

#include <algorithm>

namespace rotary {
namespace {

std::string class_name(nb::handle x) { return nb::cast<std::string>(nb::str(x.type().attr("__name__"))); }

// The sentence of the error that Python has set, up to the first line's end: torch writes its own stack behind it.
std::string taken_error() {
    nb::python_error error;  // takes it
    const std::string text = nb::cast<std::string>(nb::str(error.value()));
    return text.substr(0, text.find('\n'));
}

void refuse_dtype(const char* name, const std::string& dtype) {
    raise_value(std::string(name) + " has the dtype " + dtype +
                "; float64, float32, float16 and bfloat16 are allowed, int32 and int64 for positions and slots, int8, "
                "uint8 and float8 for codes.");
}

int32_t type_of(const char* name, DlType t) {
    enum { integer = 0, unsigned_integer = 1, real = 2, brain = 4, first_float8 = 7, last_float8 = 14 };
    if (t.lanes == 1) {
        if (t.code == real && t.bits == 64) return ROPE_FLOAT64;
        if (t.code == real && t.bits == 32) return ROPE_FLOAT32;
        if (t.code == real && t.bits == 16) return ROPE_FLOAT16;
        if (t.code == brain && t.bits == 16) return ROPE_BFLOAT16;
        if (t.code == integer && t.bits == 8) return ROPE_INT8;
        if (t.code == integer && t.bits == 32) return ROPE_INT32;
        if (t.code == integer && t.bits == 64) return ROPE_INT64;
        if (t.bits == 8 && (t.code == unsigned_integer || (t.code >= first_float8 && t.code <= last_float8))) {
            return ROPE_UINT8;
        }
    }
    const char* kinds[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    refuse_dtype(name,
                 (t.code < 7 ? kinds[t.code] : "kind " + std::to_string(t.code) + " of ") + std::to_string(t.bits));
    return 0;
}

void take_shape(Array& a, const char* name, int64_t dimensions, const int64_t* shape, const int64_t* strides) {
    if (dimensions > Array::most_dimensions) {
        raise_value(std::string(name) + " has " + std::to_string(dimensions) + " dimensions; at most 8 are allowed.");
    }
    a.dimensions = static_cast<int>(dimensions);
    std::copy(shape, shape + dimensions, a.shape);
    if (strides != nullptr) {
        std::copy(strides, strides + dimensions, a.strides);
        return;
    }
    int64_t stride = 1;
    for (int i = a.dimensions - 1; i >= 0; --i) {
        a.strides[i] = stride;
        stride *= a.shape[i];
    }
}

void check_device(const char* name, int32_t device_type) {
    if (device_type != dl_cpu) {
        raise_value(std::string(name) + " is on a device (DLPack's number " + std::to_string(device_type) +
                    "); memory of the CPU is allowed.");
    }
}

// Refuses tensors of torch that require a gradient, and views that are negated when they are read. Whether x is torch's.
bool check_torch(nb::handle x, const char* name) {
    static PyObject* requires_grad = PyUnicode_InternFromString("requires_grad");
    static PyObject* is_neg = PyUnicode_InternFromString("is_neg");
    PyObject* grad = PyObject_GetAttr(x.ptr(), requires_grad);
    if (grad == nullptr) {
        PyErr_Clear();
        return false;  // of another library
    }
    Py_DECREF(grad);
    if (grad == Py_True) {
        raise_value(std::string(name) + " requires a gradient, which this function would lose; " + name +
                    ".detach() and rotary_cpu.torch.rotate are allowed.");
    }
    PyObject* self = x.ptr();
    PyObject* negated = PyObject_VectorcallMethod(is_neg, &self, 1, nullptr);
    if (negated == nullptr) {
        PyErr_Clear();
        return false;
    }
    Py_DECREF(negated);
    if (negated == Py_True) {
        raise_value(std::string(name) + " is a view that negates numbers; " + name + ".resolve_neg() is allowed.");
    }
    return true;
}

// Torch refuses to go back through an operation whose input was written since; it knows of writes by this counter. Behind a call
// that is refused it has counted one too many.
void count_write(nb::handle x) {
    static PyObject* const count = [] {
        PyObject* torch = PyImport_ImportModule("torch._C");
        PyObject* found = torch != nullptr ? PyObject_GetAttrString(torch, "_increment_version") : nullptr;
        if (found == nullptr) PyErr_Clear();
        Py_XDECREF(torch);
        return found;
    }();
    if (count == nullptr) return;
    PyObject* tensors = PyTuple_Pack(1, x.ptr());
    PyObject* none = tensors != nullptr ? PyObject_CallFunctionObjArgs(count, tensors, nullptr) : nullptr;
    Py_XDECREF(tensors);
    if (none == nullptr) throw nb::python_error();
    Py_DECREF(none);
}

void describe(const DlExchange& exchange, nb::handle x, const char* name, Use use, Array& a) {
    const bool is_torchs = check_torch(x, name);
    DlTensor t = {};
    if (exchange.describe(x.ptr(), &t) != 0) {
        raise_value(std::string(name) + " cannot be read as memory: " + taken_error() + ".");
    }
    check_device(name, t.device_type);
    a.type = type_of(name, t.type);
    take_shape(a, name, t.dimensions, t.shape, t.strides);
    if (t.data == nullptr && a.size() != 0) {
        raise_value(std::string(name) + " has no memory (it is a " + class_name(x) + "); real numbers are allowed.");
    }
    a.data = static_cast<char*>(t.data) + t.byte_offset;
    a.held = nb::borrow(x);
    if (is_torchs && use == Use::write) count_write(x);
}

// Views an array of ml_dtypes (bfloat16, float8), which numpy does not export, as unsigned integers of the same size. Empty if x
// has no named dtype; raises for any other dtype.
nb::object with_known_dtype(nb::handle x, const char* name, int32_t& type) {
    nb::object dtype_name = nb::getattr(nb::getattr(x, "dtype", nb::none()), "name", nb::none());
    if (!nb::isinstance<nb::str>(dtype_name) || !nb::hasattr(x, "view")) return nb::object();
    const std::string dtype = nb::cast<std::string>(dtype_name);
    if (dtype == "bfloat16") {
        type = ROPE_BFLOAT16;
        return x.attr("view")("uint16");
    }
    if (dtype.rfind("float8_", 0) == 0) {
        type = ROPE_UINT8;
        return x.attr("view")("uint8");
    }
    const char* known[] = {"float64", "float32", "float16", "int64", "int32", "int8", "uint8"};
    if (std::find(std::begin(known), std::end(known), dtype) != std::end(known)) {
        raise_value(std::string(name) +
                    " has numbers in another byte order, or strides that are no multiples of a number; arrays of " +
                    dtype + " in this machine's order are allowed.");
    }
    refuse_dtype(name, dtype);
    return nb::object();
}

// Raises why x cannot be used: the error of its own library, or a TypeError if it is no array.
[[noreturn]] void refuse_export(nb::handle x, const char* name) {
    if (nb::hasattr(x, "__dlpack__")) {
        PyObject* capsule = PyObject_CallMethod(x.ptr(), "__dlpack__", nullptr);
        if (capsule == nullptr) {
            raise_value(std::string(name) + " cannot be read as memory: " + taken_error() + ".");
        }
        Py_DECREF(capsule);
        raise_value(std::string(name) + " cannot be read as memory of the CPU.");
    }
    raise_type(std::string(name) + " is of the type " + class_name(x) +
               "; arrays of numpy, torch and others with DLPack or the buffer protocol are allowed.");
}

template <class Exported>
bool take(nb::handle x, const char* name, Array& a, bool has_known_type) {
    Exported t;
    if (!nb::try_cast<Exported>(x, t, false)) return false;
    check_device(name, t.device_type());
    if (!has_known_type) a.type = type_of(name, {t.dtype().code, t.dtype().bits, t.dtype().lanes});
    take_shape(a, name, static_cast<int64_t>(t.ndim()), t.shape_ptr(), t.stride_ptr());
    a.data = const_cast<void*>(static_cast<const void*>(t.data()));
    a.exported = nb::ndarray<nb::ro>(t);
    return true;
}

}  // namespace

std::string text_of(nb::handle x) { return nb::cast<std::string>(nb::repr(x)); }
void raise_value(const std::string& sentence) { throw nb::value_error(sentence.c_str()); }
void raise_type(const std::string& sentence) { throw nb::type_error(sentence.c_str()); }

int64_t Array::size() const noexcept {
    int64_t n = 1;
    for (int i = 0; i < dimensions; ++i) n *= shape[i];
    return n;
}

bool Array::is_contiguous() const noexcept {
    int64_t stride = 1;
    for (int i = dimensions - 1; i >= 0; --i) {
        if (shape[i] != 1 && strides[i] != stride) return false;
        stride *= shape[i];
    }
    return true;
}

namespace {

Array exported_array(nb::handle x, const char* name, Use use) {
    Array a;
    if (use == Use::write && take<nb::ndarray<>>(x, name, a, false)) return a;
    if (take<nb::ndarray<nb::ro>>(x, name, a, false)) {
        if (use == Use::read) return a;
        raise_value(std::string(name) +
                    " is read-only, and would be written; an array that can be written is allowed.");
    }
    const nb::object same_bits = with_known_dtype(x, name, a.type);
    if (!same_bits.is_valid()) refuse_export(x, name);
    if (use == Use::write ? take<nb::ndarray<>>(same_bits, name, a, true)
                          : take<nb::ndarray<nb::ro>>(same_bits, name, a, true)) {
        return a;
    }
    if (use == Use::write && take<nb::ndarray<nb::ro>>(same_bits, name, a, true)) {
        raise_value(std::string(name) +
                    " is read-only, and would be written; an array that can be written is allowed.");
    }
    refuse_export(same_bits, name);
}

std::size_t bytes_of(int32_t type) {
    switch (type) {
        case ROPE_FLOAT64:
        case ROPE_INT64: return 8;
        case ROPE_FLOAT32:
        case ROPE_INT32: return 4;
        case ROPE_FLOAT16:
        case ROPE_BFLOAT16: return 2;
        default: return 1;
    }
}

Array aligned(Array a, const char* name) {
    const std::size_t bytes = bytes_of(a.type);
    if (reinterpret_cast<std::uintptr_t>(a.data) % bytes != 0) {
        raise_value(std::string(name) + " begins at an address that is no multiple of " + std::to_string(bytes) +
                    ", the bytes of its numbers; aligned memory is allowed.");
    }
    return a;
}

rope_tensor with_four(const Array& x, bool heads_first) {
    const int lead = 4 - x.dimensions;
    int64_t shape[4] = {1, 1, 1, 1}, strides[4] = {};
    for (int i = 0; i < x.dimensions; ++i) {
        shape[lead + i] = x.shape[i];
        strides[lead + i] = x.strides[i];
    }
    if (heads_first) {
        std::swap(shape[1], shape[2]);
        std::swap(strides[1], strides[2]);
    }
    // Strides of an extent of 1 are never used, and libraries write anything there; but four of 0 would mean "contiguous".
    if (strides[3] == 0 && shape[3] <= 1) strides[3] = 1;
    return {sizeof(rope_tensor), x.type,     shape[0],   shape[1],  shape[2], shape[3],
            strides[0],          strides[1], strides[2], strides[3]};
}

void check_not_one_number(const rope_tensor& t, const char* name) {
    if (t.batch_stride == 0 && t.seq_stride == 0 && t.head_stride == 0 && t.feature_stride == 0) {
        raise_value(std::string(name) +
                    " is one number, expanded to a shape; elements with memory of their own are allowed.");
    }
}

std::string shape_text(const Array& x) {
    std::string text = "[";
    for (int i = 0; i < x.dimensions; ++i) text += (i == 0 ? "" : ", ") + std::to_string(x.shape[i]);
    return text + "]";
}

}  // namespace

Array array(nb::handle x, const char* name, Use use) {
    const DlExchange* exchange = exchange_of(x);
    if (exchange == nullptr) return aligned(exported_array(x, name, use), name);
    Array a;
    describe(*exchange, x, name, use, a);
    return aligned(std::move(a), name);
}

Array kept_array(nb::handle x, const char* name) {
    if (exchange_of(x) != nullptr) check_torch(x, name);
    return aligned(exported_array(x, name, Use::read), name);
}

rope_tensor tensor(const Array& x, const char* name, bool heads_first) {
    if (x.dimensions != 3 && x.dimensions != 4) {
        raise_value(std::string(name) + " has the shape " + shape_text(x) +
                    (heads_first ? "; [batch, heads, seq, head_dim] and [heads, seq, head_dim] are allowed."
                                 : "; [batch, seq, heads, head_dim] and [seq, heads, head_dim] are allowed."));
    }
    const rope_tensor t = with_four(x, heads_first);
    check_not_one_number(t, name);
    return t;
}

rope_tensor trailing_tensor(const Array& x, const char* name, bool heads_first) {
    if (x.dimensions < 1 || x.dimensions > 4) {
        raise_value(std::string(name) + " has the shape " + shape_text(x) + "; 1 to 4 dimensions are allowed.");
    }
    const rope_tensor t = with_four(x, heads_first && x.dimensions > 2);
    check_not_one_number(t, name);
    return t;
}

int32_t layout_of(Layout name) {
    if (!name) return 0;
    static const char* names[] = {"interleaved", "half_split"};
    return ROPE_INTERLEAVED + place_of(names, "layout", *name);
}

nb::object layout_name(int32_t layout) {
    if (layout == 0) return nb::none();
    return nb::str(layout == ROPE_INTERLEAVED ? "interleaved" : "half_split");
}

int32_t table_type_of(const char* name) {
    static const char* names[] = {"float32", "float64"};
    return ROPE_FLOAT32 + place_of(names, "dtype", name);
}

}  // namespace rotary
