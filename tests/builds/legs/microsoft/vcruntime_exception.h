// SPDX-License-Identifier: MIT
#pragma once
namespace std {
class exception {
 public:
    exception() noexcept = default;
    explicit exception(const char*) noexcept {}
    exception(const exception&) noexcept = default;
    exception& operator=(const exception&) noexcept = default;
    virtual ~exception() = default;
    virtual const char* what() const noexcept { return ""; }
};
class bad_exception : public exception {};
class bad_alloc : public exception {
 public:
    bad_alloc() noexcept = default;

 protected:
    explicit bad_alloc(const char* text) noexcept : exception(text) {}
};
class bad_array_new_length : public bad_alloc {};
}  // namespace std
