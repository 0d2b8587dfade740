// SPDX-License-Identifier: MIT
// Positions, threads and exceptions of the calls of rope.h.
#pragma once
#include "arrays.hpp"

#include <utility>
#include <vector>

namespace rotary {

// A first position for each batch entry: the class Starts of the module.
struct Starts {
    nb::object ids;
};

// A rope_call, and the memory of its position ids.
class Call {
 public:
    // positions: a number (the first), a list or array of whole numbers [seq] or [batch, seq], or Starts.
    explicit Call(nb::handle positions, Layout layout = {}, int32_t direction = ROPE_FORWARD);
    // Positions of rows of tokens, on `axes` axes; fractions are allowed. An array is [seq], [axes, batch, seq], or of two
    // dimensions: [batch, seq] on one axis, [axes, seq] on several. It gives batch, and seq unless the argument does; a number
    // needs the argument.
    static Call of_tokens(nb::handle positions, int64_t axes, std::optional<int64_t> seq, int64_t batch);

    const rope_call* get() const noexcept { return &call_; }
    const void* ids() const noexcept { return list_.empty() ? array_.data : list_.data(); }
    int64_t seq() const noexcept { return seq_; }
    int64_t batch() const noexcept { return batch_; }

 private:
    Call() = default;
    void take_ids(nb::handle positions, const char* name);
    bool take_start(nb::handle positions);

    rope_call call_ = {};
    Array array_;
    std::vector<int64_t> list_;
    bool is_list_ = false;
    int64_t seq_ = 0, batch_ = 1;
};

// Raises the exception for a code of rope.h.
[[noreturn]] void raise(int32_t code, const char* message);

// Runs `call(message, room)`, during which other threads of Python run, and raises its refusal.
template <class F>
void checked(F&& call) {
    char message[ROPE_MESSAGE_ROOM];
    int32_t code = ROPE_OK;
    {
        nb::gil_scoped_release released;
        code = call(message, sizeof message);
    }
    if (code != ROPE_OK) raise(code, message);
}

// How many threads a call may use; calls that write less than 1 MiB use one.
void set_threads(int64_t threads);
int64_t get_threads();
// An executor of the module's own threads, for a rope_call; left out where one thread is to be used.
void use_threads(rope_call& call);

}  // namespace rotary
