// SPDX-License-Identifier: MIT
// The source file of the target rope::compiled.
#include <rope/src.hpp>
