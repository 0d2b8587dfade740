// SPDX-License-Identifier: MIT
// Restores the macros that hide_macros.hpp hides.
#pragma pop_macro("Success")
#pragma pop_macro("require")
#pragma pop_macro("check")
#pragma pop_macro("Status")
#pragma pop_macro("max")
#pragma pop_macro("min")
