// SPDX-License-Identifier: MIT
// AVX2 with FMA and F16C: x86-64 machines since 2013 (Haswell) and 2015 (Excavator). See ../isa_list.hpp.
#if ROPE_IS_X86_64 && ROPE_HAS_VECTORS && ROPE_WIDE_VECTORS_ON_STACK
#    if defined(ROPE_ISA_ENTRY)
ROPE_ISA_ENTRY(avx2, true, machine_has_avx2())
#    else
#        include "../immintrin.hpp"
#        define ROPE_ISA avx2
#        if defined(__clang__)
#            pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#        else
#            pragma GCC push_options
#            pragma GCC target("avx2,fma,f16c")
#        endif
#        include "registers.hpp"
#        include ROPE_FOR_EACH_ISA
#        if defined(__clang__)
#            pragma clang attribute pop
#        else
#            pragma GCC pop_options
#        endif
#        undef ROPE_ISA
#    endif
#endif
