# SPDX-License-Identifier: MIT
# ctest ends with the reason of every test that was skipped, and with the number of all tests where it ran a selection; it
# says nothing more where neither is so.
#   cmake -DSKIPS=skips.cmake -DWORK=scratch -DGENERATOR=name -P skips_are_explained.cmake
file(REMOVE_RECURSE "${WORK}")
file(WRITE "${WORK}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(skips NONE)
enable_testing()
include(${SKIPS})
add_test(NAME without_a_dog COMMAND ${CMAKE_COMMAND} -E echo \"SKIPPED: no dog. Debian has one as dog.\")
set_tests_properties(without_a_dog PROPERTIES SKIP_REGULAR_EXPRESSION \"SKIPPED: no \")
add_test(NAME right COMMAND ${CMAKE_COMMAND} -E true)
")
execute_process(COMMAND ${CMAKE_COMMAND} -S "${WORK}" -B "${WORK}/a build" -G ${GENERATOR} OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)
# expect(<pattern> <arguments of ctest>...): how it must end, twice, because the log of the first run is still there.
function(expect pattern)
  foreach(run 1 2)
    execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir "${WORK}/a build" ${ARGN} OUTPUT_VARIABLE out
                    ERROR_VARIABLE err RESULT_VARIABLE result)
    if(NOT result EQUAL 0 OR NOT "${out}${err}" MATCHES "${pattern}")
      message(FATAL_ERROR "ctest ${ARGN} ended with ${result} and printed\n${out}${err}\nwhich should match ${pattern}")
    endif()
  endforeach()
endfunction()
expect("without_a_dog .Skipped.\n+Skipped, because of what is not here:\n  without_a_dog: no dog. Debian has one as dog.\n$"
       --output-on-failure -j 2)
expect("Total Test time [^\n]*\n+This was a selection, 1 of 2 tests. All of them: cmake --workflow --preset test-all\n$" -R right)
file(WRITE "${WORK}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(skips NONE)
enable_testing()
include(${SKIPS})
add_test(NAME right COMMAND ${CMAKE_COMMAND} -E true)
")
execute_process(COMMAND ${CMAKE_COMMAND} "${WORK}/a build" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
expect("Total Test time [^\n]*\n$")
