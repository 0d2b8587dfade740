# SPDX-License-Identifier: MIT
# cmake -DPROGRAM=... -P abort_message.cmake: without exceptions and without a handler, a bad call says why and aborts.
execute_process(COMMAND ${PROGRAM} abort RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(result EQUAL 0 OR NOT out STREQUAL "")
  message(FATAL_ERROR "the bad call came back: result ${result}, stdout '${out}'")
endif()
string(FIND "${err}" "rope: positions[1] is 16; this cache holds positions 0 to 15.\n" at)
if(NOT at EQUAL 0)
  message(FATAL_ERROR "stderr does not begin with the sentence: '${err}'")
endif()
