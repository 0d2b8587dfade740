// SPDX-License-Identifier: MIT
// Plain loops: every machine and compiler. See ../isa_list.hpp.
#if defined(ROPE_ISA_ENTRY)
ROPE_ISA_ENTRY(portable, ROPE_HAS_FMA != 0, true)
#else
#    define ROPE_ISA portable
#    include "vectors.hpp"
#    include ROPE_FOR_EACH_ISA
#    undef ROPE_ISA
#endif
