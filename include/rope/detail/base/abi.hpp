// SPDX-License-Identifier: MIT
// The attributes of functions and classes. ../../version.hpp says why names are tagged.
#pragma once

#include "compiler.hpp"
#include "machine.hpp"

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#    define ROPE_EXCEPTIONS 1
#    define ROPE_ABI_ERRORS ""
#else
#    define ROPE_EXCEPTIONS 0
#    define ROPE_ABI_ERRORS "_noexcept"
#endif

// ROPE_DETAIL_NAMESPACE is the inline namespace of rope::detail's functions, which translation units for different machines
// must not share. ROPE_BEGIN and ROPE_END open and close the public namespace, ROPE_DETAIL_BEGIN and ROPE_DETAIL_END that
// of rope::detail.
#if ROPE_EXCEPTIONS
#    define ROPE_DETAIL_NAMESPACE ROPE_MACHINE
#else
#    define ROPE_PASTE_(a, b) a##b
#    define ROPE_PASTE(a, b) ROPE_PASTE_(a, b)
#    define ROPE_DETAIL_NAMESPACE ROPE_PASTE(ROPE_MACHINE, _noexcept)
#endif
#define ROPE_BEGIN   \
    namespace rope { \
    inline namespace ROPE_VERSION_NAMESPACE {
#define ROPE_END \
    }            \
    }
#define ROPE_DETAIL_BEGIN \
    ROPE_BEGIN            \
    namespace detail {    \
    inline namespace ROPE_DETAIL_NAMESPACE {
#define ROPE_DETAIL_END \
    }                   \
    }                   \
    ROPE_END

// Separate compilation. By default every translation unit compiles what it uses. Where ROPE_SEPARATE_COMPILATION is defined,
// in all translation units of a program, the functions with ROPE_API are only declared, and one source file defines them by
// including <rope/src.hpp>. Their names, and the namespace of what they take, have no machine in them: all translation units
// share that one body. Instead they have the version, to the patch, and whether there are exceptions, so that a source file
// that differs does not link. ROPE_HAS_DEFINITIONS stands around the definitions. A shared object with hidden symbols
// exports these functions if its source file defines ROPE_SOURCE_EXPORTS. Classes that are template arguments of such
// functions have ROPE_VISIBLE, too: a hidden class would hide the function.
#if defined(ROPE_SEPARATE_COMPILATION)
#    if ROPE_EXCEPTIONS
#        define ROPE_SOURCE_NAMESPACE \
            ROPE_SOURCE_NAME(ROPE_VERSION_MAJOR, ROPE_VERSION_MINOR, ROPE_VERSION_PATCH, with_exceptions)
#    else
#        define ROPE_SOURCE_NAMESPACE \
            ROPE_SOURCE_NAME(ROPE_VERSION_MAJOR, ROPE_VERSION_MINOR, ROPE_VERSION_PATCH, without_exceptions)
#    endif
#    define ROPE_SOURCE_NAME(major, minor, patch, errors) ROPE_SOURCE_NAME_(major, minor, patch, errors)
#    define ROPE_SOURCE_NAME_(major, minor, patch, errors) rope_src_hpp_##major##_##minor##_##patch##_##errors
#    if defined(ROPE_SOURCE)
#        define ROPE_HAS_DEFINITIONS 1
#    else
#        define ROPE_HAS_DEFINITIONS 0
#    endif
#    if defined(ROPE_SOURCE) && !defined(ROPE_SOURCE_EXPORTS)
#        define ROPE_API ROPE_TAG(ROPE_SOURCE_NAMESPACE)
#    else
#        define ROPE_API ROPE_VISIBLE ROPE_TAG(ROPE_SOURCE_NAMESPACE)
#    endif
#else
#    define ROPE_SOURCE_NAMESPACE ROPE_DETAIL_NAMESPACE
#    define ROPE_API ROPE_ABI inline
#    define ROPE_HAS_DEFINITIONS 1
#endif
#define ROPE_SOURCE_BEGIN \
    ROPE_BEGIN            \
    namespace detail {    \
    inline namespace ROPE_SOURCE_NAMESPACE {
#define ROPE_SOURCE_END ROPE_DETAIL_END

// name(layout, ...) for a function name<layout>(...), where the layout is known only at run time. Files
// that use it include <utility> and ../../errors.hpp.
#define ROPE_WITH_RUN_TIME_LAYOUT(name)                                                                        \
    template <class... Args>                                                                                   \
    ROPE_ABI inline decltype(auto) name(Layout layout, Args&&... args) {                                       \
        using Result = decltype(rope::name<Layout::interleaved>(std::forward<Args>(args)...));                 \
        if (const Status s = detail::check_layout(layout); !s.ok()) return detail::return_or_raise<Result>(s); \
        return layout == Layout::interleaved ? rope::name<Layout::interleaved>(std::forward<Args>(args)...)    \
                                             : rope::name<Layout::half_split>(std::forward<Args>(args)...);    \
    }
/// The same for a check, which never throws.
#define ROPE_CHECK_WITH_RUN_TIME_LAYOUT(name)                                                               \
    template <class... Args>                                                                                \
    ROPE_ABI inline Status name(Layout layout, Args&&... args) noexcept {                                   \
        if (const Status s = detail::check_layout(layout); !s.ok()) return s;                               \
        return layout == Layout::interleaved ? rope::name<Layout::interleaved>(std::forward<Args>(args)...) \
                                             : rope::name<Layout::half_split>(std::forward<Args>(args)...); \
    }

#define ROPE_STRING_(x) #x
#define ROPE_STRING(x) ROPE_STRING_(x)
#define ROPE_CROSSES(Class)                                \
    ROPE_ABI Class(const Class&) = default;                \
    ROPE_ABI Class(Class&&) noexcept = default;            \
    ROPE_ABI Class& operator=(const Class&) = default;     \
    ROPE_ABI Class& operator=(Class&&) noexcept = default; \
    ROPE_ABI ~Class() = default;
#if ROPE_CPLUSPLUS > 201703L
#    define ROPE_CROSSES_AGGREGATE(Class)
#else
#    define ROPE_CROSSES_AGGREGATE(Class) \
        ROPE_ABI Class() = default;       \
        ROPE_CROSSES(Class)
#endif
// ROPE_INLINE is for the pieces of a kernel, which are worth nothing as calls. They are never called, so their names
// clash with no others and need no tag. ROPE_NOINLINE is for code that would be repeated in every kernel or call;
// ROPE_COLD for code that runs once, or when a call is refused; ROPE_KERNEL for the loops that take most of the time:
// their speed depends on their place in a cache line, so the function begins with a line. So does its stack frame:
// clang rounds the stack pointer only where it knows of that need before it shares out the registers, and registers
// read across two lines cost interleaved doubles a good part of their time (benchmarks/tuning.md).
#if ROPE_HAS_ATTRIBUTES
#    define ROPE_TAG(name) [[gnu::abi_tag(ROPE_STRING(name))]]
#    define ROPE_ABI [[gnu::abi_tag(ROPE_STRING(ROPE_MACHINE) ROPE_ABI_ERRORS)]]
#    define ROPE_VISIBLE [[gnu::visibility("default")]]
#    define ROPE_INLINE [[gnu::always_inline]] inline
#    define ROPE_NOINLINE [[gnu::noinline]] inline
#    define ROPE_IS_COLD [[gnu::cold]]
#    define ROPE_COLD [[gnu::noinline]] [[gnu::cold]] inline
#    if defined(__clang__) && __has_cpp_attribute(gnu::force_align_arg_pointer)
#        define ROPE_KERNEL [[gnu::aligned(64)]] [[gnu::force_align_arg_pointer]]
#    else
#        define ROPE_KERNEL [[gnu::aligned(64)]]
#    endif
#else
#    define ROPE_TAG(name)
#    define ROPE_ABI
#    define ROPE_VISIBLE
#    define ROPE_INLINE inline
#    define ROPE_NOINLINE inline
#    define ROPE_IS_COLD
#    define ROPE_COLD inline
#    define ROPE_KERNEL
#endif
