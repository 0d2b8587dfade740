# SPDX-License-Identifier: MIT
# Takes the program on the README's first screen: the first ```cpp block. It must be short, and the same program must
# stand at the top of <rope/rope.hpp>. Sets ROPE_README_PROGRAM to a file with the block.
file(READ ${PROJECT_SOURCE_DIR}/README.md readme)
string(REGEX MATCH "```cpp\n([^`]*)```" block "${readme}")
set(program "${CMAKE_MATCH_1}")
string(REGEX MATCHALL "\n" lines "${program}")
list(LENGTH lines count)
if(count LESS 5 OR count GREATER 15)
  message(FATAL_ERROR "the first program of README.md has ${count} lines; it must have 5 to 15")
endif()
string(REGEX REPLACE "\n" "\n//     " commented "\n${program}")
string(REGEX REPLACE "//     \n" "//\n" commented "${commented}")
string(STRIP "${commented}" commented)
string(REGEX REPLACE "[ \n/]+$" "" commented "${commented}")
file(READ ${PROJECT_SOURCE_DIR}/include/rope/rope.hpp umbrella)
string(FIND "${umbrella}" "${commented}" at)
if(at LESS 0)
  message(FATAL_ERROR "include/rope/rope.hpp does not begin with README.md's program:\n${commented}")
endif()
set(ROPE_README_PROGRAM ${CMAKE_CURRENT_BINARY_DIR}/readme_program.cpp)
file(CONFIGURE OUTPUT ${ROPE_README_PROGRAM} CONTENT "${program}" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md
                                                               ${PROJECT_SOURCE_DIR}/include/rope/rope.hpp)
