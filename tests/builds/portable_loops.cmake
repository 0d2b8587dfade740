# SPDX-License-Identifier: MIT
# cmake -DCOMPILER=g++ -DINCLUDE=... -DSOURCE=tests/builds/build_matrix/calls.cpp -DWORK=... -P portable_loops.cmake
# At -O2, g++ makes vectors of the portable loops, which is what machines without an instruction set of their own have.
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${COMPILER} -std=c++17 -O2 -I${INCLUDE} -S ${SOURCE} -o ${WORK}/calls.s COMMAND_ERROR_IS_FATAL ANY)
file(READ ${WORK}/calls.s text)
string(REPLACE ";" " " text "${text}")
string(REGEX MATCH "\n_ZN[A-Za-z0-9_]*8portable15rotate_by_pairs[^\n]*:\n.*" function "${text}")
string(FIND "${function}" "\n\t.size" end)
string(SUBSTRING "${function}" 0 ${end} function)
string(REGEX MATCHALL "\tv?mulps" products "${function}")
list(LENGTH products count)
message(STATUS "${count} products of vectors in the portable loops")
if(count LESS 4)
  message(FATAL_ERROR "of a portable loop, ${COMPILER} -O2 makes ${count} products of vectors, or there is no such function")
endif()
