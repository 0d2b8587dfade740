// SPDX-License-Identifier: MIT
// Memory whose last byte is followed, or whose first byte is preceded, by a page that may not be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace support {

enum class Guard { before, after };

/// Room for a given number of bytes, between two such pages. Mapped once and used many times.
class GuardedMemory {
 public:
    explicit GuardedMemory(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        room_ = (bytes + page_ - 1) / page_ * page_;
        void* const all = mmap(nullptr, room_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED) std::abort();
        begin_ = static_cast<char*>(all) + page_;
        if (mprotect(begin_, room_, PROT_READ | PROT_WRITE) != 0) std::abort();
    }
    ~GuardedMemory() { munmap(begin_ - page_, room_ + 2 * page_); }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    /// A copy of the numbers, as close to the guard as can be.
    template <class T>
    T* put(const T* numbers, std::size_t count, Guard guard) {
        const std::size_t bytes = count * sizeof(T);
        if (bytes > room_) std::abort();
        void* const at = guard == Guard::before ? begin_ : begin_ + room_ - bytes;
        if (bytes > 0) std::memcpy(at, static_cast<const void*>(numbers), bytes);
        return static_cast<T*>(at);
    }
    template <class T>
    T* put(const std::vector<T>& numbers, Guard guard) {
        return put(numbers.data(), numbers.size(), guard);
    }

 private:
    std::size_t page_, room_ = 0;
    char* begin_;
};

}  // namespace support
