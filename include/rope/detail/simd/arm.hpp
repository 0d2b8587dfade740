// SPDX-License-Identifier: MIT
// Detection of optional instructions of aarch64. Compiled with the flags of the translation unit, so that every machine can
// run it.
#pragma once

#include "../base/arithmetic.hpp"

#if defined(__aarch64__) && defined(__GNUC__) && !ROPE_FOR_DEVICE
#    if defined(__linux__)
#        include <sys/auxv.h>
#    endif

ROPE_DETAIL_BEGIN

/// Whether it has FEAT_BF16, the conversion to bfloat16. Where nobody can be asked, the flags of the translation unit say.
inline bool machine_has_neon_bf16() noexcept {
#    if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    return true;
#    elif defined(__linux__)
    static const bool has = (getauxval(AT_HWCAP2) & 1ul << 14) != 0;
    return has;
#    else
    return false;
#    endif
}

ROPE_DETAIL_END
#endif
