// SPDX-License-Identifier: MIT
// What a refused call says, and how it says it.
#pragma once

#include <string_view>

#include "types.hpp"
#include "version.hpp"

#include "detail/containers.hpp"
#include "detail/message.hpp"

#if ROPE_EXCEPTIONS
#    include <stdexcept>
#else
#    include <cstdio>
#    include <cstdlib>
#endif

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

enum class StatusCode : unsigned char {
    ok,
    invalid_argument,  ///< a shape, a stride, a pointer or a configuration that no call could accept
    out_of_range       ///< a position that this table does not hold
};

/// The answer of every check(...): a code, and a sentence that names the argument, its value and what is allowed.
/// Plain data of fixed size: making, copying and returning one allocates nothing.
class Status {
 public:
    // Not `= default`: that would fill the whole message with zeros, and ok is what nearly every check answers.
    ROPE_ABI Status() noexcept {}
    ROPE_ABI Status(StatusCode code, const detail::Message& message) noexcept : message_(message), code_(code) {}
    ROPE_COLD Status(StatusCode code, const char* sentence, detail::Pieces pieces) noexcept
        : message_(sentence, pieces), code_(code) {}

    ROPE_ABI bool ok() const noexcept { return code_ == StatusCode::ok; }
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

#if !ROPE_EXCEPTIONS
/// Without exceptions (-fno-exceptions) a refused call hands its Status to this handler. The default prints the
/// sentence to stderr and aborts. A handler of your own may return: the refused call then does nothing and returns,
/// and an object under construction stays empty (a CosSinCache of zero positions). Not synchronised: set it before
/// other threads use the library.
using ErrorHandler = void (*)(const Status&);

namespace detail {
ROPE_ABI inline void print_and_abort(const Status& status) {
    std::fputs("rope: ", stderr);
    std::fputs(status.message(), stderr);
    std::fputs("\n", stderr);
    std::abort();
}
inline ErrorHandler error_handler = nullptr;  // null: print_and_abort
}  // namespace detail

/// Sets the handler (null: the default) and returns the one before.
ROPE_ABI inline ErrorHandler set_error_handler(ErrorHandler handler) noexcept {
    const ErrorHandler before = detail::error_handler;
    detail::error_handler = handler;
    return before;
}
#endif

namespace detail {

/// Throws std::invalid_argument or std::out_of_range, or, without exceptions, calls the handler and returns false.
ROPE_COLD bool refuse(const Status& status) {
#if ROPE_EXCEPTIONS
    if (status.code() == StatusCode::out_of_range) throw std::out_of_range(status.message());
    throw std::invalid_argument(status.message());
#else
    if (error_handler != nullptr) {
        error_handler(status);
    } else {
        print_and_abort(status);
    }
    return false;
#endif
}

/// True when the call may go on. Otherwise refuses it.
ROPE_ABI inline bool proceed(const Status& status) { return status.ok() || refuse(status); }

/// A refusal with the sentence that says why, where text, integers and doubles stand for each "{}".
ROPE_INLINE Status invalid(const char* sentence, Pieces pieces = {}) noexcept {
    return Status(StatusCode::invalid_argument, sentence, pieces);
}
ROPE_INLINE Status out_of_range(const char* sentence, Pieces pieces = {}) noexcept {
    return Status(StatusCode::out_of_range, sentence, pieces);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
