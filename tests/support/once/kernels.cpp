// SPDX-License-Identifier: MIT
#define ROPE_TEST_TEMPLATE template
#define ROPE_TEST_BODY(layout, In, Out, T) \
    { return choose_kernels<Layout::layout, In, Out, T>(isa, pairs, is_contiguous); }
#include "kernels.hpp"
