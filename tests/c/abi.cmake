# SPDX-License-Identifier: MIT
# cmake -DLIBRARY=librope.so -DINCLUDE=include -DLIST=abi.txt -DCOMPILER=cc -DWORK=folder -P abi.cmake
# Requires that the library exports the functions of abi.txt and nothing else, each with the version that it says, and that
# numbers, structs and declarations are as they were. A line may be added, with the next version; none may change. With
# -DUPDATE=ON it writes the list.
cmake_minimum_required(VERSION 3.16...3.25)

# ---- A program that prints the interface ----
file(GLOB headers ${INCLUDE}/rope/*.h)
set(declared "")
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REGEX MATCHALL "ROPE_C_API [a-z0-9_ *]*rope_[a-z_]+\\(" declarations "${text}")
  list(APPEND declared ${declarations})
endforeach()
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND awk -f ${CMAKE_CURRENT_LIST_DIR}/interface.awk ${headers} OUTPUT_FILE ${WORK}/interface.c COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${COMPILER} -std=c99 -I ${INCLUDE} ${WORK}/interface.c -o ${WORK}/interface COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/interface OUTPUT_VARIABLE interface COMMAND_ERROR_IS_FATAL ANY)

# ---- The symbols of the library ----
execute_process(COMMAND nm -D --defined-only --format=posix ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+\n" symbols "${symbols}")
set(functions "")
foreach(symbol IN LISTS symbols)
  if(symbol MATCHES "^(rope_[a-z_]+)@@(ROPE_[0-9.]+) T ")
    list(APPEND functions "function ${CMAKE_MATCH_1} ${CMAKE_MATCH_2}\n")
  elseif(NOT symbol MATCHES "^ROPE_[0-9.]+[ @]")
    message(FATAL_ERROR "${LIBRARY} exports ${symbol}, which is no function of rope.h.")
  endif()
endforeach()
list(SORT functions)
list(JOIN functions "" functions)

set(found "${functions}${interface}")
if(UPDATE)
  file(WRITE ${LIST} "${found}")
endif()
file(READ ${LIST} expected)
if(NOT found STREQUAL expected)
  file(WRITE ${WORK}/abi.txt "${found}")
  execute_process(COMMAND diff ${LIST} ${WORK}/abi.txt)
  message(FATAL_ERROR "The interface of ${LIBRARY} is not the one of ${LIST}; the lines above differ. Programs that were compiled "
                      "before may break: see .github/CONTRIBUTING.md.")
endif()

# ---- Each function of the headers is in the library ----
foreach(declaration IN LISTS declared)
  string(REGEX MATCH "rope_[a-z_]+\\(" name "${declaration}")
  string(REPLACE "(" "" name "${name}")
  if(NOT functions MATCHES "function ${name} ")
    message(FATAL_ERROR "${name} is declared in rope.h, and ${LIBRARY} does not have it.")
  endif()
endforeach()
list(LENGTH declared count)

# ---- Small enough to be carried along ----
execute_process(COMMAND strip -o ${WORK}/stripped.so ${LIBRARY} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${WORK}/stripped.so size)
if(size GREATER 3000000)
  message(FATAL_ERROR "${LIBRARY} has ${size} bytes when stripped; it may have 3000000.")
endif()
message(STATUS "${count} functions; ${size} bytes when stripped")
