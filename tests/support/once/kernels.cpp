// SPDX-License-Identifier: MIT
#define ROPE_TEST_TEMPLATE template
#include "kernels.hpp"
