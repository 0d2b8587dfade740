// SPDX-License-Identifier: MIT
// AVX-512 with F, BW, DQ and VL: x86-64 machines since 2017 (Skylake-SP) and 2022 (Zen 4). See ../isa_list.hpp.
#if ROPE_IS_X86_64 && ROPE_HAS_VECTORS && ROPE_WIDE_VECTORS_ON_STACK
#    if defined(ROPE_ISA_ENTRY)
ROPE_ISA_ENTRY(avx512, true, machine_has_avx512())
#    else
#        include "../immintrin.hpp"
#        define ROPE_ISA avx512
#        define ROPE_FALLBACK_ISA avx2
#        if defined(__clang__) || __GNUC__ >= 10  // whose assemblers know the instruction
#            define ROPE_BFLOAT16_CONVERSION machine_has_avx512_bf16()
#        endif
#        if defined(__clang__)
#            pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), \
                                         apply_to = function)
#        else
#            pragma GCC push_options
#            pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#        endif
#        include "registers.hpp"
#        include ROPE_FOR_EACH_ISA
#        if defined(__clang__)
#            pragma clang attribute pop
#        else
#            pragma GCC pop_options
#        endif
#        undef ROPE_BFLOAT16_CONVERSION
#        undef ROPE_FALLBACK_ISA
#        undef ROPE_ISA
#    endif
#endif
