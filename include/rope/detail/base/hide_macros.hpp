// SPDX-License-Identifier: MIT
// Hides macros of other headers that share a name with this library: min and max (windows.h), Status (Xlib), check and
// require (Unreal Engine, Apple's AssertMacros.h). A public header that uses such a name, or whose definitions in detail/ do,
// includes this file before them and ends with restore_macros.hpp, which restores every macro; headers of detail/ rely on
// that. So the order of a program's includes does not matter, and the library's names are the same in all its translation
// units. Both files stand in pairs, may be nested, and have no include guard. tests/builds/public_headers tries the macros
// of macros_of_others.hpp, and that no header of others which is read in between defines one that is hidden here.
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
