// SPDX-License-Identifier: MIT
#pragma once
#include <vcruntime_exception.h>

#include <stddef.h>
class type_info {
 public:
    type_info(const type_info&) = delete;
    virtual ~type_info() = default;
    const char* name() const noexcept { return ""; }
    size_t hash_code() const noexcept { return 0; }
    bool operator==(const type_info& other) const noexcept { return this == &other; }
    bool operator!=(const type_info& other) const noexcept { return this != &other; }
    bool before(const type_info&) const noexcept { return false; }
};
namespace std {
using ::type_info;
class bad_cast : public exception {};
class bad_typeid : public exception {};
}  // namespace std
