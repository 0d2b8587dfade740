// SPDX-License-Identifier: MIT
// rope: rotary position embedding on the CPU. Version, namespace and ABI macros.
#pragma once

#define ROPE_VERSION_MAJOR 0
#define ROPE_VERSION_MINOR 1
#define ROPE_VERSION_PATCH 0
#define ROPE_VERSION_STRING "0.1.0"

// The inline namespace that everything lives in, so that two versions can be linked into one program. Programs write
// rope::apply and never see it.
#define ROPE_VERSION_NAMESPACE v0_1

// Every function that the library defines carries ROPE_ABI; what compilers define by themselves (the destructor of a
// cache) does not yet. Programs link translation units that were compiled with different
// -m flags; an inline function or a template then becomes one weak symbol with several bodies, and the linker may
// keep the body that the oldest machine cannot run. The tag makes the instruction set (and the way errors leave a
// function) part of the symbol's name. Types carry no tag: they may cross units.
// ROPE_INLINE is for the pieces of a kernel, which are worth nothing as calls; ROPE_NOINLINE for what would be
// repeated in every kernel; ROPE_COLD for what runs once, or when a call is refused.
#if defined(__AVX512F__)
#    define ROPE_ABI_MACHINE "avx512"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#    define ROPE_ABI_MACHINE "avx2_fma_f16c"
#elif defined(__AVX2__) && defined(__FMA__)
#    define ROPE_ABI_MACHINE "avx2_fma"
#elif defined(__AVX2__)
#    define ROPE_ABI_MACHINE "avx2"
#elif defined(__FMA__)
#    define ROPE_ABI_MACHINE "fma"
#elif defined(__AVX__)
#    define ROPE_ABI_MACHINE "avx"
#elif defined(__SSE4_2__)
#    define ROPE_ABI_MACHINE "sse42"
#elif defined(__SSE4_1__)
#    define ROPE_ABI_MACHINE "sse41"
#elif defined(__SSSE3__)
#    define ROPE_ABI_MACHINE "ssse3"
#elif defined(__SSE3__)
#    define ROPE_ABI_MACHINE "sse3"
#else
#    define ROPE_ABI_MACHINE "base"
#endif

#if defined(__cpp_exceptions)
#    define ROPE_EXCEPTIONS 1
#    define ROPE_ABI_ERRORS ""
#else
#    define ROPE_EXCEPTIONS 0
#    define ROPE_ABI_ERRORS "_noexcept"
#endif

#if defined(__GNUC__)
#    define ROPE_ABI [[gnu::abi_tag(ROPE_ABI_MACHINE ROPE_ABI_ERRORS)]]
#    define ROPE_VISIBLE [[gnu::visibility("default")]]
#    define ROPE_INLINE ROPE_ABI [[gnu::always_inline]] inline
#    define ROPE_NOINLINE ROPE_ABI [[gnu::noinline]] inline
#    define ROPE_COLD ROPE_ABI [[gnu::noinline]] [[gnu::cold]] inline
#else
#    define ROPE_ABI
#    define ROPE_VISIBLE
#    define ROPE_INLINE inline
#    define ROPE_NOINLINE inline
#    define ROPE_COLD inline
#endif
