// SPDX-License-Identifier: MIT
// AVX-512's vectors in plain C++, slow on every machine, so that machines without AVX-512 test their logic. Exists only
// where ROPE_EMULATED is defined, in all translation units of a program, as the quoted path of the registers' file. See
// ../isa_list.hpp.
#if defined(ROPE_EMULATED) && ROPE_IS_X86_64 && ROPE_HAS_VECTORS && ROPE_WIDE_VECTORS_ON_STACK
#    if defined(ROPE_ISA_ENTRY)
ROPE_ISA_ENTRY(emulated, true, machine_has_avx2())
#    else
#        define ROPE_ISA emulated
#        define ROPE_FALLBACK_ISA avx2
#        define ROPE_BFLOAT16_CONVERSION emulated::has_bfloat16_conversion()
#        include ROPE_EMULATED
#        include ROPE_FOR_EACH_ISA
#        undef ROPE_BFLOAT16_CONVERSION
#        undef ROPE_FALLBACK_ISA
#        undef ROPE_ISA
#    endif
#endif
