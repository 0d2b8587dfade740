// SPDX-License-Identifier: MIT
// Macros of others whose names are words of this library: min and max (windows.h), Status (Xlib), check (Unreal Engine,
// Apple's AssertMacros.h), require (the same). A header that uses such a word includes this file after all others, so
// that it sees no such macro, and ends with restore_macros.hpp, after which every macro is as it was. So it does not
// matter what a program includes first, and the library's names are the same in all its units. Both files stand in
// pairs, which may be nested, and have no include guard. tests/public_headers/macros_of_others.hpp has the macros that are tried.
#pragma push_macro("min")
#undef min
#pragma push_macro("max")
#undef max
#pragma push_macro("Status")
#undef Status
#pragma push_macro("check")
#undef check
#pragma push_macro("require")
#undef require
#pragma push_macro("Success")
#undef Success
