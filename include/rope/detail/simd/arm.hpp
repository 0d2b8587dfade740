// SPDX-License-Identifier: MIT
// Detection of optional instructions of aarch64. Compiled with the flags of the translation unit, so that every machine can
// run it.
#pragma once

#include "../base/arithmetic.hpp"
#include "system.hpp"

#if defined(__aarch64__) && !ROPE_FOR_DEVICE

ROPE_DETAIL_BEGIN

/// Whether it has FEAT_BF16, the conversion to bfloat16: the system is asked, unless the flags of the translation unit say.
inline bool machine_has_neon_bf16() noexcept {
#    if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    return true;
#    else
    static const bool has = (hardware_capabilities(26) & 1ul << 14) != 0 ||  // HWCAP2_BF16
                            system_has("hw.optional.arm.FEAT_BF16") ||
                            windows_has(68);  // PF_ARM_V86_BF16_INSTRUCTIONS_AVAILABLE
    return has;
#    endif
}

ROPE_DETAIL_END
#endif
