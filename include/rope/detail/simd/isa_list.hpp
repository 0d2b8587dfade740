// SPDX-License-Identifier: MIT
// The list of instruction sets: one line for each, and a folder of the same name. Of the sets of one machine the best
// stands first, and `portable` after all that a machine may have; `emulated` is for tests.
//
// This file has no include guard: it is included once for every piece of code that exists once per instruction set.
//
//     #define ROPE_FOR_EACH_ISA "../../kernels/rotate_kernels.hpp"
//     #include "isa_list.hpp"               includes that file once per instruction set, compiled for it, with ROPE_ISA
//                                           defined as its name and namespace
//
//     #define ROPE_ISA_ENTRY(name, has_fma, is_available) ...
//     #include "isa_list.hpp"               expands this macro once per instruction set
//
//     #define ROPE_ISA_CHOICE(set) set::kThing
//     #include "isa_list.hpp"               returns the thing of the set whose IsaId is `isa`
//
// The macros are undefined at the end. Each isa.hpp leaves its set out where this translation unit cannot be compiled for
// it (the macros of ../base/compiler.hpp say where), and a set without fma where the flags allow fma: the compiler would
// use fma, and change the class of bits.

// The folders use these headers, which are included before any region begins: a function that is first seen inside a
// region belongs to it.
#include <cmath>

#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "arm.hpp"
#include "tail_mask.hpp"
#include "x86.hpp"

#if defined(ROPE_ISA_CHOICE)
#    define ROPE_ISA_ENTRY(name, ...) \
        if (isa == name::kIsaId) return ROPE_ISA_CHOICE(name);
#endif

// The order counts, and clang-format sorts what no empty line parts.
#include "avx512/isa.hpp"

#include "avx2/isa.hpp"
#include "neon/isa.hpp"
#include "sse2/isa.hpp"

#include "portable/isa.hpp"

#include "emulated/isa.hpp"

#if defined(ROPE_ISA_CHOICE)
return ROPE_ISA_CHOICE(portable);
#    undef ROPE_ISA_CHOICE
#endif
#undef ROPE_FOR_EACH_ISA
#undef ROPE_ISA_ENTRY
