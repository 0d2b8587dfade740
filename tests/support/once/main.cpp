// SPDX-License-Identifier: MIT
// main() for Catch2 2.13, compiled once; Catch2 3 brings its own.
#define CATCH_CONFIG_MAIN
#include "../catch.hpp"
