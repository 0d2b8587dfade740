// SPDX-License-Identifier: MIT
// Errors: the sentence of a refused call, and the way it reaches the caller.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "version.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/containers.hpp"
#include "detail/base/executor.hpp"
#include "detail/base/message.hpp"

ROPE_BEGIN

// Memory. A function that runs out of memory throws std::bad_alloc, and leaves every object as it was (but see
// RotaryStep). Where the size is the caller's (tables, rows of a step, and their working memory), what() names the
// size, and without exceptions the handler is told (StatusCode::out_of_memory). Lists of a number per pair or layer,
// and reference counts, are the standard library's; without exceptions they end the program when there is no memory, as
// any std::vector does. Sizes that no machine could hold are std::invalid_argument.

/// Why a call is refused, and what the refused call throws: std::invalid_argument, std::out_of_range, std::bad_alloc.
enum class StatusCode : unsigned char {
    ok,
    invalid_argument,  ///< a shape, a stride, a pointer or a configuration that no call could accept
    out_of_range,      ///< a position that this table does not hold
    out_of_memory      ///< memory that cannot be had; no argument is wrong, so the sentence begins with none
};

/// The answer of every check(...): a code, and a sentence that names the argument, its value and what is allowed.
/// Plain data of fixed size: making, copying and returning one allocates nothing.
///
///     if (const rope::Status s = rope::check(config); !s.ok()) std::puts(s.message());
class [[nodiscard]] Status {
 public:
    /// Ok.
    // Not `= default`: that would fill the whole message with zeros, and nearly every check answers ok.
    ROPE_ABI Status() noexcept {}
    /// A refusal. In the sentence each "{}" stands for one of the pieces: text, an integer or a double. It is cut where
    /// the room of a Message ends.
    ROPE_ABI Status(StatusCode code, const detail::Message& message) noexcept : message_(message), code_(code) {}
    ROPE_ABI ROPE_COLD Status(StatusCode code, const char* sentence, detail::Pieces pieces) noexcept
        : message_(sentence, pieces), code_(code) {}

    /// Whether the call would be accepted.
    ROPE_ABI bool ok() const noexcept { return code_ == StatusCode::ok; }
    /// The kind of refusal; StatusCode::ok if there is none.
    ROPE_ABI StatusCode code() const noexcept { return code_; }
    /// A whole sentence, zero-terminated; empty when ok().
    ROPE_ABI const char* message() const noexcept ROPE_LIFETIMEBOUND { return message_.text(); }
    /// The name of the argument that the sentence is about, with which it begins: "schedule.beta_fast", "q.heads".
    /// Without an index; empty when ok() and where the sentence is about several things.
    ROPE_ABI std::string_view argument() const noexcept ROPE_LIFETIMEBOUND {
        return {message_.text(), message_.name_size()};
    }

 private:
    detail::Message message_;
    StatusCode code_ = StatusCode::ok;
};

/// The same under a name that is no macro of others. Xlib says `#define Status int`; a program that includes it cannot
/// write rope::Status, and writes rope::CheckResult.
using CheckResult = Status;

/// check(...) under a name that is no macro of others. Unreal Engine and Apple's AssertMacros.h have a macro check(x);
/// a program that includes them writes rope::validate(...), or (rope::check)(...), where no such macro acts: with a
/// layout in angle brackets, or positions in braces, only that. Members are called so, too: (encoding.check)(x).
template <class... Arguments>
ROPE_ABI inline Status validate(Arguments&&... arguments) noexcept {
    return check(std::forward<Arguments>(arguments)...);
}

/// An executor whose calls return their Status in place of throwing it. Everything is checked once, as without it.
///
///     if (const rope::Status s = rope::apply<layout>(q, k, cache, positions, rope::no_throw()); !s.ok()) log(s.message());
///     const rope::Status t = rope::pass<layout>(rope::no_throw(pool), cache, positions, paths...);
///
/// Nothing is written unless the Status is ok. It stands where an executor may stand and holds one, by default the
/// calling thread's; another wrapper goes inside: no_throw(at_every_size(pool)). Such a call is noexcept without an
/// executor and with rope::part(ith, nth); an exception that an executor throws itself passes through.
///
/// Taken by all operations of apply.hpp, by reposition with Moves, pass, the gradients, the members apply, add and
/// RotaryStep::reposition. Other functions refuse it when they are compiled.
template <class Executor>
class NoThrow {
 public:
    /// Keeps a copy of a temporary executor, and a reference to a named one.
    ROPE_ABI explicit NoThrow(Executor&& executor) noexcept(std::is_nothrow_constructible_v<Executor, Executor>)
        : executor_(std::forward<Executor>(executor)) {}

 private:
    friend struct detail::NoThrowAccess;
    Executor executor_;
};
/// A named executor must live as long as the result.
template <class Executor = detail::CallingThread>
ROPE_ABI inline NoThrow<Executor> no_throw(Executor&& executor = {}) noexcept(
    std::is_nothrow_constructible_v<Executor, Executor>) {
    return NoThrow<Executor>(std::forward<Executor>(executor));
}

#if !ROPE_EXCEPTIONS
/// Without exceptions (-fno-exceptions) a refused call hands its Status to this handler. The default prints the
/// sentence to stderr. A refused call does not come back: when the handler returns, std::abort is called. A program that
/// must go on asks check(...) first, or passes no_throw(). Not synchronised: set it before other threads use the library.
using ErrorHandler = void (*)(const Status&);

/// Sets the handler (null: the default) and returns the one before (null: the default).
ROPE_API ErrorHandler set_error_handler(ErrorHandler handler) noexcept;
#endif

ROPE_END

#include "detail/base/raise.hpp"

#include "detail/base/restore_macros.hpp"
