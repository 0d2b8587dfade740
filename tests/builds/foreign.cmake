# SPDX-License-Identifier: MIT
# Tests on a machine that is not this one, by a cross compiler and qemu-user.
# cmake -DMACHINE=aarch64 -DSOURCE=... -DEIGEN=... -DCATCH=... -DTESTS=... -DWORK=... -P foreign.cmake
# Those tests that need no library but Catch2's single header, as one program: kernels, bits, views, errors. What is
# compared with MPFR stays native.
set(tests
    results/bfloat16_by_instruction
    results/bits_are_as_stored
    results/bits_are_the_same_on_every_machine
    results/bits_are_those_of_the_formula
    results/bits_do_not_depend_on_strides
    results/sixteen_bit_types
    paths/cache_formats
    paths/codes_are_read
    call/no_byte_outside_is_touched
    call/eigen_views
    positions/positions_of_every_kind
    errors/bad_configurations_are_refused
    errors/bad_tensors_are_refused)

find_program(COMPILER ${MACHINE}-linux-gnu-g++)
find_program(QEMU NAMES qemu-${MACHINE} qemu-${MACHINE}-static)
if(NOT COMPILER)
  message("SKIPPED: no compiler for ${MACHINE}. Debian has it as g++-${MACHINE}-linux-gnu.")
  return()
endif()
if(NOT QEMU)
  message("SKIPPED: no qemu-${MACHINE}. Debian has it as qemu-user.")
  return()
endif()
if(NOT EXISTS ${CATCH}/catch2/catch.hpp)
  message("SKIPPED: no single header of Catch2 2.13. Debian 12 has it as catch2.")
  return()
endif()

# The folder of Catch2 may be that of this machine's C library, whose headers must not be found.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/others)
file(CREATE_LINK ${CATCH}/catch2 ${WORK}/others/catch2 SYMBOLIC)
set(flags -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-align=strict -Werror -I${TESTS} -I${SOURCE}/include)
foreach(folder IN LISTS EIGEN ITEMS ${WORK}/others)
  list(APPEND flags -isystem ${folder})
endforeach()

function(compile from to)
  execute_process(COMMAND ${COMPILER} ${flags} ${ARGN} ${from} -o ${WORK}/${to} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
# Compiled once: Catch2's main, and the library. Parsed once: what most tests begin with.
compile(${TESTS}/support/once/main.cpp main.o -O0 -c)
list(APPEND flags -DROPE_SEPARATE_COMPILATION)
compile(${SOURCE}/cmake/rope.cpp rope.o -O2 -c)
file(WRITE ${WORK}/first.hpp "#include \"support/catch.hpp\"\n#include <rope/rope.hpp>\n")
compile(${WORK}/first.hpp first.hpp.gch -O1 -x c++-header)
set(objects ${WORK}/main.o ${WORK}/rope.o)
foreach(test IN LISTS tests)
  get_filename_component(name ${test} NAME)
  compile(${TESTS}/${test}.cpp ${name}.o -O1 -Winvalid-pch -include ${WORK}/first.hpp -c)
  list(APPEND objects ${WORK}/${name}.o)
endforeach()
# Static: qemu then needs none of the machine's libraries.
execute_process(COMMAND ${COMPILER} -static ${objects} -o ${WORK}/tests COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${COMPILER} ${flags} -static ${SOURCE}/tests/builds/legs/sets.cpp ${WORK}/rope.o -o ${WORK}/sets
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${QEMU} ${WORK}/sets OUTPUT_VARIABLE sets COMMAND_ERROR_IS_FATAL ANY)
# Every NaN there is takes minutes here and seconds natively; other tests here have thousands of them.
execute_process(COMMAND ${QEMU} ${WORK}/tests --durations yes "~no float NaN is lost*"
                OUTPUT_VARIABLE out RESULT_VARIABLE failed)
message("${out}")
if(failed OR NOT out MATCHES "All tests passed")
  message(FATAL_ERROR "on ${MACHINE}: ${failed}")
endif()
# qemu has what the newest machines have. An older one rounds to bfloat16 by integers.
if(MACHINE STREQUAL aarch64)
  execute_process(COMMAND ${QEMU} -cpu neoverse-n1 ${WORK}/tests "*bfloat16*" OUTPUT_VARIABLE out RESULT_VARIABLE failed)
  message("without FEAT_BF16:\n${out}")
  if(failed OR NOT out MATCHES "All tests passed")
    message(FATAL_ERROR "on ${MACHINE} without FEAT_BF16: ${failed}")
  endif()
endif()

# A row of the table of machines. The hashes are those of the class, as bits_are_the_same_on_every_machine has passed.
include(${CMAKE_CURRENT_LIST_DIR}/legs/row.cmake)
file(STRINGS ${TESTS}/support/class_of_bits.hpp hashes REGEX "^inline constexpr const char[*] kBits")
set(bits "")
foreach(class fma:kBitsWithFma plain:kBitsWithout)
  string(REPLACE ":" ";" class ${class})
  list(GET class 1 name)
  list(GET class 0 class)
  if(sets MATCHES "${class} ")
    string(REGEX MATCH "${name} = .(........)" hash "${hashes}")
    list(APPEND bits "${class} ${CMAKE_MATCH_1}")
  endif()
endforeach()
string(REGEX REPLACE "(fma|plain) ([a-z0-9]+)\n" "\\2;" sets "${sets}")
list(REMOVE_ITEM sets "")
write_row(${MACHINE} "${MACHINE} Linux" ${COMPILER} "${sets}" qemu "tests of kernels, bits, views, errors" "${bits}" no)
