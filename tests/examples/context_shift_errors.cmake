# SPDX-License-Identifier: MIT
# examples/context_shift refuses every bad option with one sentence that says what is wrong, and exit status 1. (It
# reads files as examples/generate does, whose test has damaged ones.)
#   cmake -DCONTEXT_SHIFT=program -P context_shift_errors.cmake
function(refused sentence)
  execute_process(COMMAND "${CONTEXT_SHIFT}" ${ARGN} OUTPUT_QUIET ERROR_VARIABLE errors RESULT_VARIABLE result)
  if(NOT result EQUAL 1 OR NOT errors MATCHES "^context_shift: ${sentence}\n$")
    message(SEND_ERROR "context_shift ${ARGN}\nended with ${result} and said\n${errors}(expected: ${sentence})")
  endif()
endfunction()

set(files --model nowhere --tokenizer nowhere)
refused("The option --model is missing; [^\n]*\\.")
refused("The option --tokenizer is missing; [^\n]*\\." --model nowhere)
refused("The file nowhere does not exist\\." ${files})
refused("There is no option \"--steps\"; [^\n]*\\." ${files} --steps 3)
refused("--cache is \"int8\"; it must be float or q8_0\\." ${files} --cache int8)
refused("The option --keep needs a value after it\\." ${files} --keep)
foreach(value 0 -1 1.5 x " 3" 2147483648)
  refused("The value of --tokens is \"${value}\"; it must be a whole number from 1 to 2147483647\\."
          ${files} --tokens "${value}")
  refused("The value of --drop is \"${value}\"; it must be a whole number from 1 to 2147483647\\."
          ${files} --drop "${value}")
endforeach()
refused("The value of --keep is \"-1\"; it must be a whole number from 0 to 2147483647\\." ${files} --keep -1)
execute_process(COMMAND "${CONTEXT_SHIFT}" --help OUTPUT_VARIABLE help RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR NOT help MATCHES "^context_shift: .*--tokens N.*--keep N.*--drop N")
  message(SEND_ERROR "--help ended with ${result} and said\n${help}")
endif()
