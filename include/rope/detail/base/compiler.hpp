// SPDX-License-Identifier: MIT
// Macros for the features of a compiler beyond C++17. Other files test these macros, not the name of the compiler, so an unknown
// compiler with the same features gets the same kernels. A name is tested where no macro exists (assembly, pragmas) and, with
// the version, where a compiler has a bug.
#pragma once

/// The version of C++. MSVC has it in __cplusplus only with /Zc:__cplusplus.
#if defined(_MSVC_LANG)
#    define ROPE_CPLUSPLUS _MSVC_LANG
#else
#    define ROPE_CPLUSPLUS __cplusplus
#endif

// ROPE_FOR_DEVICE: the compiler reads this translation unit for a device (HIP, CUDA, OpenMP offload, SYCL). It then has
// the host's macros without the host's instructions, and compiles no host code: the portable loops suffice.
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__) || defined(__AMDGCN__) || defined(__NVPTX__) || \
    defined(__SPIR__) || defined(__SPIRV__) || defined(__SYCL_DEVICE_ONLY__)
#    define ROPE_FOR_DEVICE 1
#else
#    define ROPE_FOR_DEVICE 0
#endif

// ROPE_IS_X86_64: the machine is an x86-64, and not Windows' ARM64EC, which has its macros.
#if defined(__x86_64__) && !defined(__arm64ec__)
#    define ROPE_IS_X86_64 1
#else
#    define ROPE_IS_X86_64 0
#endif

// ROPE_HAS_ASM: assembly with operands, as GCC writes it. (g++ and what says that it is one; clang, which does not say so
// with Microsoft's ABI.)
#if defined(__GNUC__) || defined(__clang__)
#    define ROPE_HAS_ASM 1
#else
#    define ROPE_HAS_ASM 0
#endif

// ROPE_HAS_ATTRIBUTES: [[gnu::...]]. ROPE_HAS_VECTORS: all that the kernels with vectors are written in: vector types of the
// compiler's, functions for other machines than the unit's, assembly.
#define ROPE_HAS_ATTRIBUTES 0
#define ROPE_HAS_VECTORS 0
#if defined(__has_cpp_attribute)
#    if __has_cpp_attribute(gnu::always_inline)
#        undef ROPE_HAS_ATTRIBUTES
#        define ROPE_HAS_ATTRIBUTES 1
#    endif
#endif
#if defined(__has_attribute) && ROPE_HAS_ASM && !ROPE_FOR_DEVICE
#    if __has_attribute(vector_size) && __has_attribute(target)
#        undef ROPE_HAS_VECTORS
#        define ROPE_HAS_VECTORS 1
#    endif
#endif

// ROPE_WIDE_VECTORS_ON_STACK: the compiler aligns vectors of 32 and 64 bytes on the stack. g++ for Windows does not: it
// stores them by instructions that fault at unaligned addresses, and the stack is aligned to 16 bytes (GCC's bug 54412,
// https://gcc.gnu.org/bugzilla/show_bug.cgi?id=54412; some builds are patched, Debian's among them, but no header can
// tell). The compiler chooses which vectors it spills, so instruction sets with such vectors are not offered there;
// clang for Windows has them all.
#if defined(__GNUC__) && !defined(__clang__) && (defined(_WIN64) || defined(__CYGWIN__))
#    define ROPE_WIDE_VECTORS_ON_STACK 0
#else
#    define ROPE_WIDE_VECTORS_ON_STACK 1
#endif

// ---- Pragmas ----

// ROPE_INDEPENDENT_ITERATIONS: no iteration of the next loop reads a result of another one, though pointers may be
// equal. clang takes this for a demand: where it cannot vectorise the loop (on machines without vectors, with -Oz,
// under sanitizers) it warns in every translation unit that calls a kernel, even of a system header. ROPE_LOOPS_BEGIN
// silences that warning. It stands before the first declaration of a function with such a loop, which clang names where
// it knows no line. The function is ROPE_NOINLINE, or clang would name the function that it is inlined into.
// ROPE_UNROLL: the next loop has a small constant number of iterations, and becomes as many statements. ROPE_UNROLL_4:
// four iterations of the next loop become one.
#if defined(__clang__)
#    define ROPE_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#    define ROPE_LOOPS_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpass-failed\"")
#    define ROPE_LOOPS_END _Pragma("clang diagnostic pop")
#    define ROPE_UNROLL _Pragma("clang loop unroll(full)")
#    define ROPE_UNROLL_4 _Pragma("clang loop unroll_count(4)")
#elif defined(__GNUC__)
#    define ROPE_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#    define ROPE_LOOPS_BEGIN
#    define ROPE_LOOPS_END
#    define ROPE_UNROLL _Pragma("GCC unroll 16")
#    define ROPE_UNROLL_4 _Pragma("GCC unroll 4")
#else
#    define ROPE_INDEPENDENT_ITERATIONS
#    define ROPE_LOOPS_BEGIN
#    define ROPE_LOOPS_END
#    define ROPE_UNROLL
#    define ROPE_UNROLL_4
#endif

// ROPE_DEPRECATED_BEGIN, ROPE_DEPRECATED_END: around a use of std::getenv, which Microsoft's headers call deprecated.
#if defined(_MSC_VER) && defined(__clang__)
#    define ROPE_DEPRECATED_BEGIN \
        _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wdeprecated-declarations\"")
#    define ROPE_DEPRECATED_END _Pragma("clang diagnostic pop")
#elif defined(_MSC_VER)
#    define ROPE_DEPRECATED_BEGIN __pragma(warning(push)) __pragma(warning(disable : 4996))
#    define ROPE_DEPRECATED_END __pragma(warning(pop))
#else
#    define ROPE_DEPRECATED_BEGIN
#    define ROPE_DEPRECATED_END
#endif
