// SPDX-License-Identifier: MIT
// The source file of the C library, the targets rope::c and rope::c_static.
#include <rope/c_src.hpp>
