// SPDX-License-Identifier: MIT
// What a program adds that is compiled separately.
#include <rope/src.hpp>
