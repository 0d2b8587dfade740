// SPDX-License-Identifier: MIT
// NEON: every little-endian aarch64 machine; vectors of 16-bit types rely on that order of bytes. See ../isa_list.hpp.
#if defined(__aarch64__) && defined(__AARCH64EL__) && defined(__ARM_NEON) && defined(__GNUC__) && !ROPE_FOR_DEVICE
#    if defined(ROPE_ISA_ENTRY)
ROPE_ISA_ENTRY(neon, true, true)
#    else
#        include <arm_neon.h>
#        define ROPE_ISA neon
#        include "registers.hpp"
#        include ROPE_FOR_EACH_ISA
#        undef ROPE_ISA
#    endif
#endif
