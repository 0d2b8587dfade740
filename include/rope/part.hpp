// SPDX-License-Identifier: MIT
// Executors for programs whose threads are inside the operator already, and for cutting calls of every size.
#pragma once

#include <type_traits>
#include <utility>

#include "types.hpp"

#include "detail/base/executor.hpp"

ROPE_BEGIN

class Part;
/// Part `number` of `count`, counted from 0. Throws std::invalid_argument unless 0 <= number < count <= 2^20.
ROPE_ABI inline Part part(Index number, Index count);

/// An executor that does one of `count` parts of every call, at every size: thread i of n makes the same call as the
/// others, with rope::part(i, n), and a barrier of the caller's stands behind it. Heads are divided evenly (tokens, where
/// a norm is over a token). Each thread checks the whole call. Bits are those of one call.
///
///     rope::apply<layout>(q, k, cache, positions, rope::part(ith, nth));
///
/// A refused call throws in each thread, and an exception that leaves an OpenMP region or the function of a std::thread
/// ends the program. Ask check (check_pass, ...) before the region: where it is ok, the call with the same arguments does
/// not throw. guide/threads.md shows it. With any other executor a refused call throws on the thread that makes it,
/// before the executor is asked.
///
/// Hand it over as it is: a function that calls a Part is an executor like any other, which small calls do not use.
/// Rows::build and Moves::build make all rows with any part, because there every thread builds an object of its own.
class Part final {
 public:
    /// Calls f(begin, end) once, for this part's share of `items` work items.
    template <class F>
    ROPE_ABI void operator()(Index items, const F& f) const {
        f(begin(items, number_), begin(items, number_ + 1));
    }
    ROPE_CROSSES(Part)

 private:
    friend Part rope::part(Index number, Index count);
    ROPE_ABI Part(Index number, Index count) noexcept : number_(number), count_(count) {}
    /// items * k / count, which does not overflow.
    ROPE_ABI Index begin(Index items, Index k) const noexcept {
        return count_ == 0 ? 0 : items / count_ * k + items % count_ * k / count_;
    }
    Index number_, count_;
};

/// An executor that is asked for calls of every size, where the others are asked for those that write at least 1 MiB.
template <class Executor>
class AtEverySize {
 public:
    /// Keeps a copy of a temporary executor, and a reference to a named one.
    ROPE_ABI explicit AtEverySize(Executor&& executor) : executor_(std::forward<Executor>(executor)) {}
    template <class F>
    ROPE_ABI void operator()(Index items, const F& f) const {
        executor_(items, f);
    }

 private:
    Executor executor_;
};
/// A named executor must live as long as the result.
template <class Executor>
ROPE_ABI inline AtEverySize<Executor> at_every_size(Executor&& executor);

ROPE_END

#include "detail/base/part.hpp"
