// SPDX-License-Identifier: MIT
#include "count_allocations.hpp"

#include <cstdlib>
#include <new>

namespace support {
std::atomic<long> allocations{0};
std::atomic<long> alive{0};
std::atomic<long> until_none_is_left{-1};
}  // namespace support

namespace {

void* counted(std::size_t bytes, std::size_t alignment = 0) noexcept {
    using namespace support;
    ++allocations;
    if (until_none_is_left >= 0 && until_none_is_left-- == 0) {
        until_none_is_left = 0;
        return nullptr;
    }
    void* const p = alignment == 0 ? std::malloc(bytes)
                                   : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (p != nullptr) ++alive;
    return p;
}
void* counted_or_thrown(std::size_t bytes) {
    void* const p = counted(bytes);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void freed(void* p) noexcept {
    if (p != nullptr) --support::alive;
    std::free(p);
}

}  // namespace

// Every form that the library or the standard library may call ends here.
void* operator new(std::size_t bytes) { return counted_or_thrown(bytes); }
void* operator new[](std::size_t bytes) { return counted_or_thrown(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { freed(p); }
void operator delete[](void* p) noexcept { freed(p); }
void operator delete(void* p, std::size_t) noexcept { freed(p); }
void operator delete[](void* p, std::size_t) noexcept { freed(p); }
void operator delete(void* p, std::align_val_t) noexcept { freed(p); }
