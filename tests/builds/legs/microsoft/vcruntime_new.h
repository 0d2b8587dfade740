// SPDX-License-Identifier: MIT
#pragma once
#include <stddef.h>
namespace std {
struct nothrow_t {
    explicit nothrow_t() = default;
};
extern const nothrow_t nothrow;
enum class align_val_t : size_t {};
using new_handler = void (*)();
new_handler set_new_handler(new_handler);
new_handler get_new_handler();
}  // namespace std
void* operator new(size_t, std::align_val_t);
void* operator new(size_t, const std::nothrow_t&) noexcept;
void* operator new[](size_t, const std::nothrow_t&) noexcept;
void* operator new(size_t, std::align_val_t, const std::nothrow_t&) noexcept;
void operator delete(void*, std::align_val_t) noexcept;
void operator delete(void*, std::align_val_t, const std::nothrow_t&) noexcept;
inline void* operator new(size_t, void* at) noexcept { return at; }
inline void* operator new[](size_t, void* at) noexcept { return at; }
