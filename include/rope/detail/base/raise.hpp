// SPDX-License-Identifier: MIT
// Definitions of errors.hpp: how a refusal leaves a function.
#pragma once

#include <type_traits>
#include <utility>

#include "../../errors.hpp"
#include "../../version.hpp"
#include "containers.hpp"
#include "executor.hpp"
#include "message.hpp"

#if !ROPE_HAS_DEFINITIONS
#elif ROPE_EXCEPTIONS
#    include <new>
#    include <stdexcept>
#else
#    include <cstdio>
#    include <cstdlib>
#endif

ROPE_BEGIN

namespace detail {

#if !ROPE_EXCEPTIONS
/// Shared by all translation units; null: refuse prints the sentence.
inline ErrorHandler error_handler = nullptr;
#endif

inline namespace ROPE_SOURCE_NAMESPACE {
/// Throws std::invalid_argument, std::out_of_range or std::bad_alloc, or, without exceptions, calls the handler and
/// aborts.
[[noreturn]] ROPE_IS_COLD ROPE_API void refuse(const Status& status);
}  // namespace ROPE_SOURCE_NAMESPACE

inline namespace ROPE_DETAIL_NAMESPACE {

/// Refuses the call, unless the status is ok.
inline void ok_or_raise(const Status& status) {
    if (!status.ok()) refuse(status);
}

// ---- The end of a call, which its executor decides: a void function raises a refusal; with NoThrow it is returned. ----

template <class Executor>
inline constexpr bool returns_status = false;
template <class Executor>
inline constexpr bool returns_status<NoThrow<Executor>> = true;
/// The return type of a call with this executor.
template <class Executor>
using ResultOf = std::conditional_t<returns_status<Plain<Executor>>, Status, void>;

/// The executor that a NoThrow holds, or the executor itself.
struct NoThrowAccess {
    template <class Executor>
    static auto& inner(Executor& executor) noexcept {
        if constexpr (returns_status<std::remove_const_t<Executor>>)
            return executor.executor_;
        else
            return executor;
    }
};
template <class Executor>
using InnerOf = std::remove_reference_t<decltype(NoThrowAccess::inner(std::declval<Executor&>()))>;

// The requirements are those on the executor inside a NoThrow.
template <class Executor>
inline constexpr bool is_executor<NoThrow<Executor>> = is_executor<std::remove_reference_t<Executor>>;
template <class Executor>
inline constexpr bool is_executor<const NoThrow<Executor>> = is_executor<std::remove_reference_t<Executor>>;

/// Whether an executor may throw: any but those of the library.
template <class Executor>
inline constexpr bool may_throw = true;
template <>
inline constexpr bool may_throw<CallingThread> = false;
/// Whether a call with this executor is noexcept.
template <class Executor>
inline constexpr bool throws_nothing = returns_status<Plain<Executor>> && !may_throw<Plain<InnerOf<Executor>>>;

/// The executor of a call.
template <class Given>
inline AnyExecutor executor_of(Given& given) noexcept {
    expect_executor<Given>();
    return any_executor(NoThrowAccess::inner(given));
}
/// The executor of a function that cannot return a Status.
template <class Executor>
auto& only_throwing(Executor& executor) noexcept {
    static_assert(!returns_status<std::remove_const_t<Executor>>,
                  "rope::no_throw() is for operations that can return a Status and nothing else (apply and its kind, "
                  "pass, gradients, reposition with Moves); this function has an answer of its own, or makes tables.");
    return NoThrowAccess::inner(executor);
}

/// The end of a call.
template <class Result>
inline Result return_or_raise(const Status& status) {
    if constexpr (std::is_void_v<Result>)
        ok_or_raise(status);
    else
        return status;
}

/// A refusal with the sentence that says why, where text, integers and doubles stand for each "{}".
ROPE_INLINE Status invalid(const char* sentence, Pieces pieces = {}) noexcept {
    return Status(StatusCode::invalid_argument, sentence, pieces);
}
ROPE_INLINE Status out_of_range(const char* sentence, Pieces pieces = {}) noexcept {
    return Status(StatusCode::out_of_range, sentence, pieces);
}
ROPE_INLINE Status out_of_memory(const char* sentence, Pieces pieces = {}) noexcept {
    return Status(StatusCode::out_of_memory, sentence, pieces);
}

/// A layout read from a file may be neither.
inline Status check_layout(Layout layout) noexcept {
    if (layout == Layout::interleaved || layout == Layout::half_split) return Status();
    return invalid("layout is {}; it must be Layout::interleaved (0) or Layout::half_split (1).",
                   {static_cast<int>(layout)});
}

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

#if ROPE_HAS_DEFINITIONS
namespace detail {
inline namespace ROPE_SOURCE_NAMESPACE {

#    if ROPE_EXCEPTIONS
/// A std::bad_alloc whose text names the object and size that memory cannot hold.
class OutOfMemory : public std::bad_alloc {
 public:
    explicit OutOfMemory(const Status& status) noexcept : status_(status) {}
    const char* what() const noexcept override { return status_.message(); }

 private:
    Status status_;
};
#    endif

ROPE_API void refuse(const Status& status) {
#    if ROPE_EXCEPTIONS
    if (status.code() == StatusCode::out_of_range) throw std::out_of_range(status.message());
    if (status.code() == StatusCode::out_of_memory) throw OutOfMemory(status);
    throw std::invalid_argument(status.message());
#    else
    if (error_handler != nullptr) {
        error_handler(status);
    } else {
        std::fputs("rope: ", stderr);
        std::fputs(status.message(), stderr);
        std::fputs("\n", stderr);
    }
    std::abort();
#    endif
}

}  // namespace ROPE_SOURCE_NAMESPACE
}  // namespace detail

#    if !ROPE_EXCEPTIONS
ROPE_API ErrorHandler set_error_handler(ErrorHandler handler) noexcept {
    const ErrorHandler before = detail::error_handler;
    detail::error_handler = handler;
    return before;
}
#    endif
#endif

ROPE_END
