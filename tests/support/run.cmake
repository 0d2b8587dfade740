# SPDX-License-Identifier: MIT
# run(output command...): the standard output; an error when the command fails. Commands run in RUN_IN, if it is set.
function(run output)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}")
  if(RUN_IN)
    set(folder "${RUN_IN}")
  endif()
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${folder}" RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN} failed (${code}):\n${out}${err}")
  endif()
  set(${output} "${out}" PARENT_SCOPE)
endfunction()
