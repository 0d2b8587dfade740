// SPDX-License-Identifier: MIT
// The header's version is CMake's.
#include <rope/version.hpp>

#include <string>

#include "support/catch.hpp"

TEST_CASE("the header and CMake name one version") {
    const std::string header = std::to_string(ROPE_VERSION_MAJOR) + "." + std::to_string(ROPE_VERSION_MINOR) + "." +
                               std::to_string(ROPE_VERSION_PATCH);
    CHECK(header == ROPE_VERSION_STRING);
    CHECK(header == ROPE_CMAKE_VERSION);
}
