// SPDX-License-Identifier: MIT
// in_halves: two threads. Work is always cut in two, so that the number of threads changes no number.
#pragma once

#include <exception>
#include <thread>

#include "shape.hpp"

#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAS_GTHREADS)
#    error "examples/train needs std::thread, which this standard library lacks; MinGW has it with posix threads."
#endif

namespace train {

/// Calls f(0) and f(1), at the same time if threads is 2. Exceptions of both are thrown again here.
template <class F>
void in_halves(Index threads, const F& f) {
    if (threads < 2) {
        f(0);
        f(1);
        return;
    }
    std::exception_ptr errors[2];
    const auto guarded = [&](Index half) {
        try {
            f(half);
        } catch (...) {
            errors[half] = std::current_exception();
        }
    };
    std::thread second([&] { guarded(1); });
    guarded(0);
    second.join();
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

}  // namespace train
