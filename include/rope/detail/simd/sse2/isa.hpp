// SPDX-License-Identifier: MIT
// SSE2: every x86-64 machine. Left out where the flags of the translation unit allow fma, which would change the class
// of bits. See ../isa_list.hpp.
#if ROPE_IS_X86_64 && ROPE_HAS_VECTORS && !ROPE_HAS_FMA
#    if defined(ROPE_ISA_ENTRY)
ROPE_ISA_ENTRY(sse2, false, true)
#    else
#        include <emmintrin.h>
#        define ROPE_ISA sse2
#        include "registers.hpp"
#        include ROPE_FOR_EACH_ISA
#        undef ROPE_ISA
#    endif
#endif
