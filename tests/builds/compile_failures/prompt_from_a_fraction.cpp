// SPDX-License-Identifier: MIT
// expect: write rope::mrope_prompt<double>(spans, start)
#include <rope/rope.hpp>

rope::PromptPositions user() { return rope::mrope_prompt({rope::text_span(5)}, 7.5); }
