# SPDX-License-Identifier: MIT
# cmake -DLEG=i386|armhf|wasm32|wasm32_simd|mingw|mingw_win32|libcxx -DINCLUDE=... -DEIGEN=... -DSOURCE=self_check.cpp
#       -DWORK=... -P leg.cmake
# Compiles the self-check for one of the machines and standard libraries that are not this one's, and runs it.
set(flags -std=c++17 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
set(program ${WORK}/self_check)
set(environment "")

# ROPE_BUILDS in the environment names the legs of this turn (.ci/run), separated by commas; all, if it is not set.
if(DEFINED ENV{ROPE_BUILDS} AND NOT ",$ENV{ROPE_BUILDS}," MATCHES ",${LEG},")
  message("SKIPPED: no turn of this leg; ROPE_BUILDS is $ENV{ROPE_BUILDS}.")
  return()
endif()

# need(VARIABLE package name... [PATHS folder...]): the program, or the end of this leg.
macro(need variable package)
  find_program(${variable} NAMES ${ARGN})
  if(NOT ${variable})
    message("SKIPPED: no ${ARGV2}. Debian has it in ${package}.")
    return()
  endif()
endmacro()

if(LEG STREQUAL "i386")
  # Not g++ -m32, whose package cannot be installed beside cross compilers.
  need(compiler g++-i686-linux-gnu i686-linux-gnu-g++)
  list(APPEND flags -msse2 -mfpmath=sse -static)
  cmake_host_system_information(RESULT machine QUERY OS_PLATFORM)
  if(NOT machine MATCHES "^(x86_64|AMD64|i.86)$")
    need(runner qemu-user qemu-i386)
  endif()
elseif(LEG STREQUAL "armhf")
  need(compiler g++-arm-linux-gnueabihf arm-linux-gnueabihf-g++)
  need(runner qemu-user qemu-arm)
  list(APPEND flags -static -Wno-psabi)  # which warns of nothing but g++ 7
elseif(LEG MATCHES "^wasm32")
  need(compiler emscripten em++)
  need(runner nodejs node nodejs)
  set(program ${WORK}/self_check.js)
  # Loops that are told to be vectors, where there are none, are not this check's matter.
  list(APPEND flags -fexceptions -sSINGLE_FILE=1 -sEXIT_RUNTIME=1 -sALLOW_MEMORY_GROWTH=1)
  if(LEG STREQUAL "wasm32_simd")
    list(APPEND flags -msimd128)
  endif()
elseif(LEG MATCHES "^mingw")
  set(threads posix)
  if(LEG STREQUAL "mingw_win32")
    set(threads win32)
  endif()
  need(compiler g++-mingw-w64-x86-64-${threads} x86_64-w64-mingw32-g++-${threads})
  need(objdump binutils-mingw-w64-x86-64 x86_64-w64-mingw32-objdump)
  find_program(runner NAMES wine64 wine PATHS /usr/lib/wine)  # the folder of Debian's wine64
  if(NOT runner)
    message("SKIPPED: no wine64. Debian has it in wine64.")
    return()
  endif()
  set(program ${WORK}/self_check.exe)
  list(APPEND flags -static)
  set(environment WINEPREFIX=${WORK}/wine WINEDEBUG=-all)
elseif(LEG STREQUAL "libcxx")
  need(compiler clang clang++)
  list(APPEND flags -stdlib=libc++)
  file(WRITE ${WORK}/is_there.cpp "#include <vector>\nint main() { return std::vector<int>().size() != 0; }\n")
  execute_process(COMMAND ${compiler} -std=c++17 -stdlib=libc++ ${WORK}/is_there.cpp -o ${WORK}/is_there
                  RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
  if(missing)
    message("SKIPPED: no libc++ for ${compiler}. Debian has it in libc++-dev and libc++abi-dev.")
    return()
  endif()
else()
  message(FATAL_ERROR "there is no leg '${LEG}'")
endif()

file(MAKE_DIRECTORY ${WORK})
foreach(folder IN LISTS EIGEN)
  list(APPEND flags -isystem ${folder})
endforeach()
execute_process(COMMAND ${compiler} ${flags} -I${INCLUDE} ${SOURCE} -o ${program} COMMAND_ERROR_IS_FATAL ANY)

# Windows aligns the stack to 16 bytes, and this compiler, unless patched, does not align it further for wider vectors:
# there must be none in the program. The fault itself shows under neither a patched compiler nor wine.
if(LEG MATCHES "^mingw")
  execute_process(COMMAND ${objdump} -d ${program} OUTPUT_VARIABLE code COMMAND_ERROR_IS_FATAL ANY)
  if(NOT code MATCHES "%xmm0")
    message(FATAL_ERROR "${objdump} shows no code")
  elseif(code MATCHES "[^\n]*%[yz]mm[^\n]*")
    message(FATAL_ERROR "the program has vectors wider than 16 bytes:\n${CMAKE_MATCH_0}")
  endif()
endif()

execute_process(COMMAND ${CMAKE_COMMAND} -E env ${environment} ${runner} ${program}
                OUTPUT_VARIABLE out ERROR_VARIABLE error RESULT_VARIABLE failed)
message("${out}")
if(failed OR NOT out MATCHES "self-check: ok")
  message(FATAL_ERROR "${LEG}: the self-check ended with ${failed}\n${error}")
endif()
