// SPDX-License-Identifier: MIT
// expect: rope::mrope_prompt makes positions of type rope::Index or double
#include <rope/rope.hpp>

auto user() { return rope::mrope_prompt<float>({rope::text_span(5)}); }
