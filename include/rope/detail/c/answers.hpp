// SPDX-License-Identifier: MIT
// The end of every function of rope.h: a code, and a sentence in the caller's buffer. No exception leaves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

#include "../../errors.hpp"
#include "../../rope.h"

ROPE_DETAIL_BEGIN

static_assert(ROPE_INVALID_ARGUMENT == static_cast<int>(StatusCode::invalid_argument));
static_assert(ROPE_OUT_OF_RANGE == static_cast<int>(StatusCode::out_of_range));
static_assert(ROPE_OUT_OF_MEMORY == static_cast<int>(StatusCode::out_of_memory));

/// The buffer of a caller for a sentence.
struct Reply {
    char* message;
    std::size_t room;
};

/// Writes a sentence, cut to the room that there is.
ROPE_COLD std::int32_t reply(const Reply& to, std::int32_t code, const char* sentence) noexcept {
    if (to.message == nullptr || to.room == 0) return code;
    const std::size_t length = std::strlen(sentence), most = to.room - 1;
    const std::size_t count = length < most ? length : most;
    std::memcpy(to.message, sentence, count);
    to.message[count] = '\0';
    return code;
}
ROPE_COLD std::int32_t reply(const Reply& to, const Status& status) noexcept {
    return reply(to, static_cast<std::int32_t>(status.code()), status.message());
}
/// For a handler: the exception that it has caught.
ROPE_COLD std::int32_t reply_exception(const Reply& to) noexcept {
    try {
        throw;
    } catch (const std::invalid_argument& e) {
        return reply(to, ROPE_INVALID_ARGUMENT, e.what());
    } catch (const std::out_of_range& e) {
        return reply(to, ROPE_OUT_OF_RANGE, e.what());
    } catch (const std::bad_alloc& e) {
        return reply(to, ROPE_OUT_OF_MEMORY, e.what());
    } catch (const std::exception& e) {
        return reply(to, ROPE_FAILED, e.what());
    } catch (...) {
        return reply(to, ROPE_FAILED, "An exception of a type that is not known has left a function of the caller.");
    }
}

/// Runs f, which returns a Status or throws.
template <class F>
ROPE_INLINE std::int32_t answer(char* message, std::size_t room, const F& f) noexcept {
    try {
        const Status status = f();
        return status.ok() ? ROPE_OK : reply({message, room}, status);
    } catch (...) {
        return reply_exception({message, room});
    }
}

ROPE_DETAIL_END
