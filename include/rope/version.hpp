
#include "detail/base/hide_macros.hpp"
// SPDX-License-Identifier: MIT
// rope: rotary position embedding on the CPU. Version, namespace and ABI macros.
#pragma once

#define ROPE_VERSION_MAJOR 0
#define ROPE_VERSION_MINOR 1
#define ROPE_VERSION_PATCH 0
#define ROPE_VERSION_STRING "0.1.0"

// The inline namespace that everything lives in, so that two versions can be linked into one program. Programs write
// rope::apply and never see it.
#define ROPE_VERSION_NAMESPACE v0_1

// Programs link translation units that were compiled with different -m flags; an inline function or a template then
// becomes one weak symbol with several bodies, and the linker may keep the one that the oldest machine cannot run. So the
// instruction set (and the way errors leave a function) is part of every name: what is in namespace detail lives in an
// inline namespace of that name, but for the variables that all translation units share, and the functions outside carry
// ROPE_ABI, a tag. tests/builds/linking looks for symbols with neither. (Where functions are compiled once, those with ROPE_API have
// one body for all, and a name without the instruction set.)
//
// Classes that a program can name carry none, or a function of the program's that takes one could not be called from a
// translation unit with other flags. (schedule::Default carries one, so that the names of std::variant's functions are
// tagged.) ROPE_CROSSES declares and tags the implicit functions of such a class (copies, destruction), and
// ROPE_CROSSES_AGGREGATE does so for an aggregate. C++20 forbids aggregates to declare them: there, and for TensorView
// anywhere, all translation units of a program share such a function, where a compiler does not inline it (all do when
// they optimise, but for copies of classes with lists in them). They also share the functions of a std::vector of such
// classes, as of a std::vector<float>. (With -flto g++ warns of classes whose members are tagged.) With Microsoft's ABI names
// have no tags: there, translation units share all that is not in namespace detail.
// detail/base/abi.hpp defines these macros, and says what the others are for.
#include "detail/base/abi.hpp"

#if ROPE_CPLUSPLUS < 201703L
#    error "rope needs C++17: -std=c++17 or /std:c++17"
#endif

#include "detail/base/restore_macros.hpp"
