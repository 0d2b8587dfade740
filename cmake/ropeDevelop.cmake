# SPDX-License-Identifier: MIT
# What the project's own tests, benchmarks and examples are compiled with. Users of the library never see this file.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)

add_library(rope_develop INTERFACE)
target_link_libraries(rope_develop INTERFACE rope::rope)
target_compile_options(rope_develop INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
                       $<$<CXX_COMPILER_ID:GNU>:-Wcast-align=strict>
                       "$<$<CXX_COMPILER_ID:Clang>:-Wdocumentation;-Wdocumentation-unknown-command>")

# -ffast-math goes here and not into CMAKE_CXX_FLAGS: given to the linker it would make the whole process flush subnormal
# numbers to zero, which no compiled code can undo.
set(ROPE_DEVELOP_OPTIONS "" CACHE STRING "Further compile options for the project's own programs")
target_compile_options(rope_develop INTERFACE ${ROPE_DEVELOP_OPTIONS})

# A program of the project: rope_program(NAME source...)
function(rope_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE rope_develop)
endfunction()

# Leaves something out where what it needs is missing, with one line, or fails if ROPE_REQUIRE_ALL says so:
# rope_need(ALL_THERE WHAT FOUND NAME PACKAGE [LEVEL]) sets the variable ALL_THERE to OFF if the variable FOUND is false.
# The line has the level STATUS, or LEVEL. VERBOSE, which cmake --log-level=VERBOSE shows, is that of one example of many:
# who runs the demo did not ask for it.
macro(rope_need all_there what found name package)
  if(${found})
  elseif(ROPE_REQUIRE_ALL)
    message(FATAL_ERROR "rope: ${what} needs ${name}, which was not found. Debian has it in ${package}.")
  else()
    set(level STATUS ${ARGN})
    list(GET level -1 level)
    message(${level} "rope: ${what} is left out, because ${name} was not found. Debian has it in ${package}.")
    set(${all_there} OFF)
  endif()
endmacro()
