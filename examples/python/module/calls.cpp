// SPDX-License-Identifier: MIT
#include "calls.hpp"

#include "threads.hpp"

#include <nanobind/stl/vector.h>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace rotary {
namespace {

std::atomic<int64_t>& thread_count() {
    static std::atomic<int64_t> count{std::max<int64_t>(1, std::thread::hardware_concurrency())};
    return count;
}

// A whole number of Python, numpy or torch.
int64_t whole(nb::handle x, const char* name) {
    PyObject* index = PyNumber_Index(x.ptr());
    if (index == nullptr) throw nb::python_error();
    const long long value = PyLong_AsLongLong(index);
    Py_DECREF(index);
    if (value == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        raise_value(std::string(name) + " is a number that 64 bits do not hold.");
    }
    return value;
}

// Copies the numbers of an array of any strides in row-major order.
template <class T>
void gather(const Array& a, std::vector<int64_t>& to) {
    static_assert(sizeof(T) <= sizeof(int64_t), "");
    to.resize(static_cast<std::size_t>(a.size()));
    T* const out = reinterpret_cast<T*>(to.data());
    std::vector<int64_t> at(static_cast<std::size_t>(a.dimensions), 0);
    for (int64_t i = 0; i < a.size(); ++i) {
        int64_t offset = 0, rest = i;
        for (int d = a.dimensions - 1; d >= 0; --d) {
            offset += rest % a.shape[d] * a.strides[d];
            rest /= a.shape[d];
        }
        out[i] = static_cast<const T*>(a.data)[offset];
    }
}

}  // namespace

void Call::take_ids(nb::handle positions, const char* name) {
    call_.ids_type = ROPE_INT64;
    is_list_ = PyList_Check(positions.ptr()) || PyTuple_Check(positions.ptr());
    if (is_list_) {
        if (!nb::try_cast<std::vector<int64_t>>(positions, list_)) {
            raise_value(std::string(name) +
                        " is a list with other things than whole numbers; whole numbers are allowed.");
        }
        call_.ids_count = static_cast<int64_t>(list_.size());
        return;
    }
    array_ = array(positions, name, Use::read);
    call_.ids_type = array_.type;
    double count = 1;
    for (int d = 0; d < array_.dimensions; ++d) count *= static_cast<double>(array_.shape[d]);
    if (count > 1e9)
        raise_value(std::string(name) + " has more than 1000000000 numbers; one for each token is allowed.");
    call_.ids_count = array_.size();
    if (!array_.is_contiguous()) {
        const bool has_four_bytes = array_.type == ROPE_INT32 || array_.type == ROPE_FLOAT32;
        if (has_four_bytes) gather<int32_t>(array_, list_);
        if (array_.type == ROPE_INT64 || array_.type == ROPE_FLOAT64) gather<int64_t>(array_, list_);
    }
}

// Takes a number, or Starts; whether it was a number.
bool Call::take_start(nb::handle positions) {
    if (PyLong_Check(positions.ptr()) || (PyIndex_Check(positions.ptr()) && !nb::hasattr(positions, "__len__"))) {
        call_.start = whole(positions, "positions");  // of Python, or of numpy
        return true;
    }
    if (const Starts* starts = instance<Starts>(positions)) {
        take_ids(starts->ids, "starts");
        call_.positions = ROPE_STARTS;
    }
    return false;
}

Call::Call(nb::handle positions, Layout layout, int32_t direction) {
    call_.size = sizeof(rope_call);
    call_.layout = layout_of(layout);
    call_.direction = direction;
    use_threads(call_);
    if (positions.is_none()) return;
    if (take_start(positions)) return;
    if (call_.positions != ROPE_STARTS) {
        take_ids(positions, "positions");
        call_.positions = ROPE_IDS;
        if (!is_list_ && array_.dimensions == 0) {
            raise_value("positions has no dimensions; a number of Python, or [seq] or [batch, seq], is allowed.");
        }
    }
    if (call_.ids_type != ROPE_INT32 && call_.ids_type != ROPE_INT64) {
        raise_value("positions are no whole numbers; int32 and int64 are allowed. Fractions are for Rows.build.");
    }
}

Call Call::of_tokens(nb::handle positions, int64_t axes, std::optional<int64_t> seq, int64_t batch) {
    Call c;
    c.call_.size = sizeof(rope_call);
    use_threads(c.call_);
    c.batch_ = batch;
    const bool is_start = c.take_start(positions);
    if (is_start || c.call_.positions == ROPE_STARTS) {
        if (!seq) raise_value("seq is None; beside first positions, the number of tokens is needed.");
        c.seq_ = *seq;
        return c;
    }
    c.take_ids(positions, "positions");
    const int dimensions = c.is_list_ ? 1 : c.array_.dimensions;
    const int64_t* shape = c.is_list_ ? &c.call_.ids_count : c.array_.shape;
    if (dimensions < 1 || dimensions > 3) {
        raise_value("positions has " + std::to_string(dimensions) +
                    " dimensions; [seq], [batch, seq], [axes, seq] and [axes, batch, seq] are allowed.");
    }
    const bool has_axes = dimensions == 3 || (dimensions == 2 && axes > 1);
    if (has_axes && shape[0] != axes) {
        raise_value("positions has " + std::to_string(shape[0]) + " for its axes, and the rows have " +
                    std::to_string(axes) + "; [seq], [axes, seq] and [axes, batch, seq] are allowed.");
    }
    const int lead = has_axes ? 1 : 0;
    c.seq_ = seq.value_or(shape[dimensions - 1]);
    if (dimensions - lead == 2) c.batch_ = shape[lead];
    const bool is_whole = c.call_.ids_type == ROPE_INT32 || c.call_.ids_type == ROPE_INT64;
    if (has_axes || !is_whole) {
        c.call_.positions = ROPE_AXES;
        c.call_.axes = has_axes ? shape[0] : 1;
        c.call_.ids_count /= std::max<int64_t>(c.call_.axes, 1);
    } else {
        c.call_.positions = ROPE_IDS;
    }
    return c;
}

namespace {

// Sentences of rope.h, with the names that its members and numbers have in Python.
std::string in_python(std::string sentence) {
    static const std::pair<const char*, const char*> names[] = {{"_shape.type", ".dtype"},
                                                                {"call.ids_type", "the dtype of positions"},
                                                                {"call.layout is 0", "layout is None"},
                                                                {"ROPE_INTERLEAVED (1)", "'interleaved'"},
                                                                {"ROPE_HALF_SPLIT (2)", "'half_split'"},
                                                                {"ROPE_FLOAT32 (0)", "float32"},
                                                                {"ROPE_FLOAT64 (1)", "float64"},
                                                                {"ROPE_FLOAT16 (2)", "float16"},
                                                                {"ROPE_BFLOAT16 (3)", "bfloat16"},
                                                                {"ROPE_INT8 (4)", "int8"},
                                                                {"ROPE_UINT8 (5)", "uint8"},
                                                                {"ROPE_INT32 (6)", "int32"},
                                                                {"ROPE_INT64 (7)", "int64"}};
    for (const auto& [in_c, name] : names) {
        for (std::size_t at = 0; (at = sentence.find(in_c, at)) != std::string::npos;)
            sentence.replace(at, std::strlen(in_c), name);
    }
    return sentence;
}

}  // namespace

void raise(int32_t code, const char* in_c) {
    const std::string sentence = in_python(in_c);
    const char* message = sentence.c_str();
    if (code == ROPE_OUT_OF_RANGE) throw nb::index_error(message);
    if (code == ROPE_OUT_OF_MEMORY) {
        PyErr_SetString(PyExc_MemoryError, message);
        throw nb::python_error();
    }
    if (code == ROPE_INVALID_ARGUMENT) throw nb::value_error(message);
    throw std::runtime_error(message);
}

void set_threads(int64_t threads) {
    if (threads < 1 || threads > 1024) {
        raise_value("threads is " + std::to_string(threads) + "; 1 to 1024 are allowed.");
    }
    thread_count() = threads;
}

int64_t get_threads() { return thread_count(); }

void use_threads(rope_call& call) {
    if (thread_count() < 2) return;
    call.executor = run_in_threads;
    call.executor_context = &thread_count();
}

}  // namespace rotary
