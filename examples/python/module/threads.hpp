// SPDX-License-Identifier: MIT
// A few threads that wait for pieces of a call.
#pragma once
#include <rope/rope.h>

namespace rotary {

// An executor of rope.h. context: a std::atomic<int64_t>, how many threads are to work, this one included. While one call uses the threads,
// others do their work alone. A process that was forked starts threads of its own.
void run_in_threads(void* context, int64_t count, rope_work work, void* job);

}  // namespace rotary
