# SPDX-License-Identifier: MIT
# Every example answers --help, and refuses arguments that it does not take: with one sentence, exit status 1, and
# without having begun. None writes a file that nobody has named.
#   cmake "-DPROGRAMS=program;program" -DWORK=scratch -P arguments.cmake
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

# run(<program> <arguments>...): sets out, err, result and name.
macro(run program)
  get_filename_component(name "${program}" NAME_WE)
  execute_process(COMMAND "${program}" ${ARGN} WORKING_DIRECTORY "${WORK}" OUTPUT_VARIABLE out ERROR_VARIABLE err
                  RESULT_VARIABLE result TIMEOUT 60)
endmacro()
function(complain)
  message(SEND_ERROR "${name} ${ARGN}\nended with ${result} and printed\n${out}\n${err}")
endfunction()

foreach(program IN LISTS PROGRAMS)
  run("${program}" --help)
  if(NOT result EQUAL 0 OR NOT out MATCHES "^${name}: [^\n]+\n\n  .*--help +print this and stop\n" OR NOT err STREQUAL "")
    complain(--help)
  endif()
  foreach(arguments "--nonsense" "--nonsense;--help;3" "one;two" "-h")
    run("${program}" ${arguments})
    if(NOT result EQUAL 1 OR NOT err MATCHES "^${name}: [A-Z][^\n]+\\.\n$" OR NOT out STREQUAL "")
      complain(${arguments})
    endif()
  endforeach()
endforeach()

file(GLOB written "${WORK}/*")
if(written)
  message(SEND_ERROR "These files were written: ${written}")
endif()
list(LENGTH PROGRAMS count)
if(count LESS 6)
  message(SEND_ERROR "There are ${count} examples, where at least 6 were expected: ${PROGRAMS}")
endif()
