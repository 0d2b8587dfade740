// SPDX-License-Identifier: MIT
// Classes of the module whose objects other files take: handles of rope.h with an owner.
#pragma once
#include "calls.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace rotary {

// Memory of a handle of rope.h: Owned<rope_rows, rope_rows_free>.
template <class T, void (*free_handle)(T*)>
class Owned {
 public:
    Owned() = default;
    explicit Owned(T* handle) : handle_(handle, free_handle) {}
    T* get() const noexcept { return handle_.get(); }

 private:
    std::shared_ptr<T> handle_;
};

// One configuration, and the memory of its numbers.
class Config {
 public:
    rope_config members = {};
    std::vector<double> numbers;

    // numbers moves when a Config is copied, so its address is set last.
    rope_config get() const noexcept {
        rope_config c = members;
        c.numbers = numbers.empty() ? nullptr : numbers.data();
        c.numbers_count = static_cast<int64_t>(numbers.size());
        return c;
    }
};

class AxisMap {
 public:
    rope_axes members = {};
    std::vector<unsigned char> axis_of;

    rope_axes get() const noexcept {
        rope_axes a = members;
        a.axis_of = axis_of.empty() ? nullptr : axis_of.data();
        a.axis_of_count = static_cast<int64_t>(axis_of.size());
        return a;
    }
    // How many axes positions have.
    int64_t axes() const noexcept {
        if (members.scheme != ROPE_LISTED_AXES) return members.count;
        return axis_of.empty() ? 0 : *std::max_element(axis_of.begin(), axis_of.end()) + 1;
    }
};

// Base of all classes of rows: CosSinCache, Rows, WrappedRows, Moves, and what a model hands out.
class CosSinRows {
 public:
    Owned<rope_rows, rope_rows_free> handle;
    int64_t axes = 1;
    std::vector<Array> memory;  // of wrapped rows

    rope_rows* get() const noexcept { return handle.get(); }
    rope_rows_info info() const;
};
// The handle that `make(rows, message, room)` writes, as rope.h's functions that end in _new do.
template <class F>
Owned<rope_rows, rope_rows_free> owned_rows(F&& make) {
    rope_rows* rows = nullptr;
    checked([&](char* message, size_t room) { return make(&rows, message, room); });
    return Owned<rope_rows, rope_rows_free>(rows);
}

class CosSinCache : public CosSinRows {};
class Rows : public CosSinRows {};
class WrappedRows : public CosSinRows {};
class Moves : public CosSinRows {};

class ModelConfig {
 public:
    Owned<rope_model, rope_model_free> handle;
    rope_model* get() const noexcept { return handle.get(); }
};

// Each file's part of the module.
void bind_rows(nb::module_& m);
void bind_rotations(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_models(nb::module_& m);
void bind_gradients(nb::module_& m);

}  // namespace rotary
