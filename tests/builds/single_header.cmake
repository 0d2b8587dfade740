# SPDX-License-Identifier: MIT
# cmake -DCOMPILERS="g++;clang++" -DJOIN=cmake/ropeSingle.cmake -DINCLUDE=... -DINCLUDES="eigen" -DTESTS=tests
#       -DVERSION=... -DWORK=... -P single_header.cmake
# The headers joined into one file serve a user's programs as they are, and two units of one program.
include(${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/include/rope)
run(out ${CMAKE_COMMAND} -DINCLUDE=${INCLUDE} -DOUTPUT=${WORK} -P ${JOIN})
file(RENAME ${WORK}/rope.hpp ${WORK}/include/rope/rope.hpp)
file(RENAME ${WORK}/rope_core.hpp ${WORK}/include/rope/core.hpp)
set(flags -std=c++17 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror -I${WORK}/include)
foreach(folder IN LISTS INCLUDES)
  list(APPEND flags -isystem ${folder})
endforeach()
# With everything, and after the core alone; after the macros of others.
file(MAKE_DIRECTORY ${WORK}/more)
run(out ${CMAKE_COMMAND} -DINCLUDE=${INCLUDE} -DOUTPUT=${WORK}/more "-DMORE=gguf_config\\;gradients\\;hf_config\\;testing" -P ${JOIN})
file(WRITE ${WORK}/more/both.cpp "#include \"macros_of_others.hpp\"\n#include \"rope_core.hpp\"\n#include \"rope.hpp\"\n"
                                 "static_assert(noexcept(rope::check_row_sums({}, {})));\n"
                                 "static_assert(sizeof(rope::testing::Options) + sizeof(rope::read_hf_config(\"\")) > 0);\n")
list(GET COMPILERS 0 compiler)
run(out ${compiler} ${flags} -I${TESTS}/builds/public_headers -fsyntax-only ${WORK}/more/both.cpp)
execute_process(COMMAND ${compiler} ${flags} -DROPE_SEPARATE_COMPILATION -fsyntax-only ${TESTS}/builds/consumption/core.cpp
                RESULT_VARIABLE code ERROR_VARIABLE said)
if(code EQUAL 0 OR NOT said MATCHES "one file has all definitions")
  message(FATAL_ERROR "with ROPE_SEPARATE_COMPILATION (${code}): ${said}")
endif()
foreach(program core eigen)
  run(out ${compiler} ${flags} ${TESTS}/builds/consumption/${program}.cpp -c -o ${WORK}/${program}.o)
  run(out ${compiler} ${flags} -Wno-return-type -Dmain=elsewhere ${TESTS}/builds/consumption/${program}.cpp -c -o ${WORK}/other.o)
  run(out ${compiler} ${WORK}/${program}.o ${WORK}/other.o -o ${WORK}/program)
  run(said ${WORK}/program)
  if(NOT said STREQUAL "rope ${VERSION}: ok\n")
    message(FATAL_ERROR "${program} printed '${said}'")
  endif()
endforeach()

# Tests that include <rope/core.hpp> or <rope/rope.hpp> only, as one program: they find the joined headers under these
# names, and that of the one detail they look into, which is in the joined core. By the other compiler, if there is one.
list(GET COMPILERS -1 compiler)
list(TRANSFORM flags REPLACE "^-O1$" -O0)
file(WRITE ${WORK}/include/rope/detail/simd/isa_choice.hpp "#include <rope/core.hpp>\n")
set(objects "")
foreach(test support/once/main results/bits_are_as_stored errors/bad_tensors_are_refused call/eigen_views
        positions/positions_of_every_kind)
  string(MAKE_C_IDENTIFIER ${test} name)
  run(out ${compiler} ${flags} -I${TESTS} ${TESTS}/${test}.cpp -c -o ${WORK}/${name}.o)
  list(APPEND objects ${WORK}/${name}.o)
endforeach()
run(out ${compiler} ${objects} -o ${WORK}/tests)
run(said ${WORK}/tests)
if(NOT said MATCHES "All tests passed")
  message(FATAL_ERROR "${said}")
endif()
message("${said}")
