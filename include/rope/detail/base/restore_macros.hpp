// SPDX-License-Identifier: MIT
// The end of what hide_macros.hpp began.
#pragma pop_macro("Success")
#pragma pop_macro("require")
#pragma pop_macro("check")
#pragma pop_macro("Status")
#pragma pop_macro("max")
#pragma pop_macro("min")
