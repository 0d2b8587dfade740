// SPDX-License-Identifier: MIT
// NEON: every little-endian aarch64 machine; vectors of 16-bit types rely on that order of bytes. See ../isa_list.hpp.
#if defined(__aarch64__) && defined(__AARCH64EL__) && defined(__ARM_NEON) && ROPE_HAS_VECTORS
#    if defined(ROPE_ISA_ENTRY)
ROPE_ISA_ENTRY(neon, true, true)
#    else
#        include <arm_neon.h>
#        define ROPE_ISA neon
#        if (defined(__GNUC__) && __GNUC__ >= 10) || (defined(__clang__) && __clang_major__ >= 19) || \
            defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#            define ROPE_BFLOAT16_CONVERSION machine_has_neon_bf16()  // older assemblers do not know the instruction
#        endif
#        include "registers.hpp"
#        include ROPE_FOR_EACH_ISA
#        undef ROPE_BFLOAT16_CONVERSION
#        undef ROPE_ISA
#    endif
#endif
