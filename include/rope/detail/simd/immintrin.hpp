// SPDX-License-Identifier: MIT
// The intrinsics of AVX2 and AVX-512, for regions of these sets.
#pragma once

#include <immintrin.h>

// clang before 19 leaves out of <immintrin.h> what the flags do not allow, where it compiles for Microsoft's ABI. These files
// are clang's own, and are read once; they may be included behind that one, in this order.
#if defined(__IMMINTRIN_H)
//
// clang-format off
#    include <tmmintrin.h>
#    include <smmintrin.h>
#    include <avxintrin.h>
#    include <avx2intrin.h>
#    include <f16cintrin.h>
#    include <fmaintrin.h>
#    include <avx512fintrin.h>
#    include <avx512vlintrin.h>
#    include <avx512bwintrin.h>
#    include <avx512dqintrin.h>
#    include <avx512vlbwintrin.h>
#    include <avx512vldqintrin.h>
// clang-format on
#endif
