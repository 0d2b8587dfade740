// SPDX-License-Identifier: MIT
// The functions of rope.h: the source of the C library. One source file of a program, or of a shared object, is
//
//     #include <rope/c_src.hpp>
//
// and nothing before it. It needs exceptions, none of which leaves a function of rope.h, nlohmann-json, and no instruction
// set in its flags. (CMake has that file as the target rope::c; in Windows' DLLs it is compiled with ROPE_C_EXPORTS.) A
// program that is compiled with ROPE_SEPARATE_COMPILATION needs a second source file, which includes <rope/src.hpp>.
#pragma once

#if !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
#    error "rope/c_src.hpp turns exceptions into codes; compile it with exceptions (without -fno-exceptions)"
#elif !__has_include(<nlohmann/json.hpp>)
#    error "rope/c_src.hpp needs <nlohmann/json.hpp>, for rope_model_from_json; Debian has it in nlohmann-json3-dev"
#endif

#include "engine.hpp"
#include "gguf_config.hpp"
#include "gradients.hpp"
#include "hf_config.hpp"
#include "rope.h"

#include "detail/base/hide_macros.hpp"

#include "detail/c/calls.hpp"
#include "detail/c/embeddings.hpp"
#include "detail/c/gradients.hpp"
#include "detail/c/models.hpp"
#include "detail/c/passes.hpp"
#include "detail/c/tables.hpp"

#include "detail/base/restore_macros.hpp"
