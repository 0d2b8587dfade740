// SPDX-License-Identifier: MIT
// What CMake precompiles for the test programs: headers of others, and the library. No test relies on getting them from
// here.
#pragma once

#include <rope/rope.hpp>

#include "headers.hpp"
