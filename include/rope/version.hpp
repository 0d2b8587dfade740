// SPDX-License-Identifier: MIT
// rope: rotary position embedding on the CPU. Version, namespace and ABI macros.
#pragma once

#if defined(__GNUC__) && __cplusplus < 201703L
#    error "rope needs C++17: -std=c++17"
#endif

#include "detail/base/machine.hpp"

#define ROPE_VERSION_MAJOR 0
#define ROPE_VERSION_MINOR 1
#define ROPE_VERSION_PATCH 0
#define ROPE_VERSION_STRING "0.1.0"

// The inline namespace that everything lives in, so that two versions can be linked into one program. Programs write
// rope::apply and never see it.
#define ROPE_VERSION_NAMESPACE v0_1

// Every function that can be called, and the classes of namespace detail that have any, carry ROPE_ABI. Programs link
// translation units that were compiled with different -m flags; an inline function or a template then becomes one weak
// symbol with several bodies, and the linker may keep the one that the oldest machine cannot run. The tag makes the
// instruction set (and the way errors leave a function) part of the symbol's name; the tag of a class is in the names
// of all functions that compilers and the standard library make for it. tests/builds/linking looks for symbols without one.
//
// Classes that a program can name carry none, or a function of the program's that takes one could not be called from a
// translation unit with other flags. (schedule::Default carries one, so that the names of std::variant's functions are
// tagged.) ROPE_CROSSES declares and tags the implicit functions of such a class (copies, destruction), and
// ROPE_CROSSES_AGGREGATE does so for an aggregate. C++20 forbids aggregates to declare them: there, and for TensorView
// anywhere, all translation units of a program share such a function, where a compiler does not inline it (all do when
// they optimise, but for copies of classes with lists in them). So is a std::vector of them, as any std::vector<float>
// is: it is not the library's. (With -flto g++ warns of classes whose members are tagged.)
// ROPE_INLINE is for the pieces of a kernel, which are worth nothing as calls. They are never called, so their names
// clash with no others and need no tag. ROPE_NOINLINE is for code that would be repeated in every kernel or call;
// ROPE_COLD for code that runs once, or when a call is refused; ROPE_KERNEL for the loops that take most of the time:
// their speed depends on their place in a cache line, so the function begins with a line. So does its stack frame:
// clang rounds the stack pointer only where it knows of that need before it shares out the registers, and registers
// read across two lines cost interleaved doubles a good part of their time (benchmarks/tuning.md).
#if defined(__cpp_exceptions)
#    define ROPE_EXCEPTIONS 1
#    define ROPE_ABI_ERRORS ""
#else
#    define ROPE_EXCEPTIONS 0
#    define ROPE_ABI_ERRORS "_noexcept"
#endif

#define ROPE_STRING_(x) #x
#define ROPE_STRING(x) ROPE_STRING_(x)
#define ROPE_CROSSES(Class)                                \
    ROPE_ABI Class(const Class&) = default;                \
    ROPE_ABI Class(Class&&) noexcept = default;            \
    ROPE_ABI Class& operator=(const Class&) = default;     \
    ROPE_ABI Class& operator=(Class&&) noexcept = default; \
    ROPE_ABI ~Class() = default;
#if __cplusplus > 201703L
#    define ROPE_CROSSES_AGGREGATE(Class)
#else
#    define ROPE_CROSSES_AGGREGATE(Class) \
        ROPE_ABI Class() = default;       \
        ROPE_CROSSES(Class)
#endif
#if defined(__GNUC__)
#    define ROPE_ABI [[gnu::abi_tag(ROPE_STRING(ROPE_MACHINE) ROPE_ABI_ERRORS)]]
#    define ROPE_VISIBLE [[gnu::visibility("default")]]
#    define ROPE_INLINE [[gnu::always_inline]] inline
#    define ROPE_NOINLINE ROPE_ABI [[gnu::noinline]] inline
#    define ROPE_COLD ROPE_ABI [[gnu::noinline]] [[gnu::cold]] inline
#    if defined(__clang__) && __has_attribute(force_align_arg_pointer)
#        define ROPE_KERNEL ROPE_ABI [[gnu::aligned(64)]] [[gnu::force_align_arg_pointer]]
#    else
#        define ROPE_KERNEL ROPE_ABI [[gnu::aligned(64)]]
#    endif
#else
#    define ROPE_ABI
#    define ROPE_VISIBLE
#    define ROPE_INLINE inline
#    define ROPE_NOINLINE inline
#    define ROPE_COLD inline
#    define ROPE_KERNEL
#endif
