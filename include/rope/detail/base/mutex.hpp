// SPDX-License-Identifier: MIT
// Mutex: std::mutex, or the nearest thing to it in a standard library that has none.
#pragma once

#include <mutex>

#include "../../types.hpp"

// Before GCC 13, libstdc++ has no std::mutex on win32 threads (MinGW). The mutex of its own shared_ptr is there always.
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAS_GTHREADS)
#    include <ext/concurrence.h>

ROPE_DETAIL_BEGIN
using Mutex = __gnu_cxx::__mutex;
ROPE_DETAIL_END
#else
ROPE_DETAIL_BEGIN
using Mutex = std::mutex;
ROPE_DETAIL_END
#endif
