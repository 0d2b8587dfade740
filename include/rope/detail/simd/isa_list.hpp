// SPDX-License-Identifier: MIT
// The list of instruction sets, best first. One line each, and a folder with the same name.
//
// This file has no include guard: it is included once for every piece of code that exists once per instruction set.
//
//     #define ROPE_FOR_EACH_ISA "../../kernels/rotate_kernels.hpp"    that file is included once per set, compiled for it, with
//     #include "isa_list.hpp"                              ROPE_ISA defined as the name of the set and its namespace
//
//     #define ROPE_ISA_ENTRY(name) ...                     or: this macro is expanded once per set
//     #include "isa_list.hpp"
//
//     #include "isa_list.hpp"                              or: cpu.hpp of each set, to ask whether this machine has it
//
// Both macros are undefined at the end. Sets that this unit cannot be compiled for are left out, and so are those
// without fma where its flags allow fma: the compiler would use it, and change the class of bits.

// What the folders use, before any region begins: a function that is first seen inside one belongs to it.
#include <cmath>

#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "tail_mask.hpp"

#include "avx512/isa.hpp"

#include "avx2/isa.hpp"
#include "neon/isa.hpp"
#include "sse2/isa.hpp"

#include "portable/isa.hpp"

#include "emulated/isa.hpp"

#undef ROPE_FOR_EACH_ISA
#undef ROPE_ISA_ENTRY
