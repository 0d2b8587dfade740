// SPDX-License-Identifier: MIT
#include "count_allocations.hpp"

#include <cstdlib>
#include <new>

namespace support {
std::atomic<long> allocations{0};
}

namespace {
using support::allocations;

void* counted(std::size_t bytes) {
    ++allocations;
    void* p = std::malloc(bytes);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
}  // namespace

// Every form that the library or the standard library may call ends here.
void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    ++allocations;
    const std::size_t a = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(a, (bytes + a - 1) / a * a);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
