# SPDX-License-Identifier: MIT
# examples/paged_decode: sequences come and go in the order that their lengths and the pages allow, each is decoded with
# an error that int8 keys explain, and an error above the bound ends the program with 1.
#   cmake -DPAGED_DECODE=program -P paged_decode.cmake
function(run status out)
  execute_process(COMMAND "${PAGED_DECODE}" ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result)
  if(NOT result EQUAL status)
    message(FATAL_ERROR "paged_decode ${ARGN} ended with ${result} (expected: ${status}) and said\n${output}${errors}")
  endif()
  set(${out} "${output}${errors}" PARENT_SCOPE)
endfunction()

# Numbers in float would have no such error, and keys in wrong slots or at wrong positions one of 0.2 or more.
set(error "([3-9]\\.[0-9]e-03|1\\.[0-4]e-02)")
run(0 output)
set(expected "^[^\n]+
step  0: 0 begins; 1 begins; 2 begins; 3 begins; 4 begins; 5 begins; 6 begins; 0 pages are free
step  6: 2 ends; 4 pages are free
step  9: 5 ends; 7 begins; 8 begins; 2 pages are free
step 12: 0 ends; 9 begins; 2 pages are free
step 16: 6 ends; 4 pages are free
step 19: 7 ends; 10 begins, 64 tokens moved from 1; 3 pages are free
step 20: 9 ends; 3 ends; 19 pages are free
step 25: 4 ends; 22 pages are free
step 27: 8 ends; 26 pages are free
step 30: 1 ends; 36 pages are free
step 33: 10 ends; 42 pages are free

sequence  prompt  decoded  pages  error
")
foreach(row "       0       5       12      2" "       1     130       30     10" "       2      48        6      4"
            "       3     200       20     14" "       4      17       25      3" "       5      96        9      7"
            "       6       1       16      2" "       7      60       10      5" "       8      33       18      4"
            "       9      16        8      2" "      10      81       14      6")
  string(APPEND expected "${row}  @\n")
endforeach()
# CMake has ten groups at most, so the errors are taken out before the rest is compared.
string(REGEX REPLACE "  ${error}\n" "  @\n" compared "${output}")
string(APPEND expected "\nThe error is the largest of all steps; at most 1\\.5e-02 is allowed\\.\n$")
if(NOT compared MATCHES "${expected}")
  message(FATAL_ERROR "paged_decode printed\n${output}(expected, with @ for ${error}: ${expected})")
endif()

# A bound that int8 cannot meet: every sequence says so.
run(1 output --bound 1e-3)
string(REGEX MATCHALL "${error} \\(FAILED\\)\n" failed "${output}")
list(LENGTH failed count)
if(NOT count EQUAL 11)
  message(FATAL_ERROR "All 11 sequences should fail a bound of 1e-3; ${count} do:\n${output}")
endif()

foreach(value 0 -1 x nan inf 0x1 " 1" 1..2)
  run(1 output --bound "${value}")
  if(NOT output STREQUAL "paged_decode: The value of --bound is \"${value}\"; it must be a number above 0.\n")
    message(FATAL_ERROR "--bound ${value} is refused with\n${output}")
  endif()
endforeach()
foreach(arguments "--bound" "--bound;1;2" "--bound;1;--nonsense" "--nonsense;--bound;1")
  run(1 output ${arguments})
  if(NOT output MATCHES "^paged_decode: [A-Z][^\n]+\\.\n$")
    message(FATAL_ERROR "${arguments} is refused with\n${output}")
  endif()
endforeach()
