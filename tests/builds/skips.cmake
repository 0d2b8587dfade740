# SPDX-License-Identifier: MIT
# ctest says which tests were skipped and not why, and not that it ran a selection. What tests print is in its log, so this
# is run when all tests have ended, and prints each skipped test with its reason, and how many tests there are. Included by
# CMakeLists.txt, which tells ctest so; then a script:
#   cmake -DBUILD=folder -P skips.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/CTestCustom.cmake @ONLY CONTENT
       "set(CTEST_CUSTOM_POST_TEST [[\"@CMAKE_COMMAND@\" \"-DBUILD=@PROJECT_BINARY_DIR@\" -P \"@CMAKE_CURRENT_LIST_FILE@\"]])\n")
  return()
endif()

cmake_minimum_required(VERSION 3.25)  # from then on file(GLOB_RECURSE) follows no links; those of wine lead to /
set(log "${BUILD}/Testing/Temporary/LastTest.log")
if(EXISTS "${log}.tmp")  # its name while ctest runs
  set(log "${log}.tmp")
endif()
file(STRINGS "${log}" lines REGEX "^([0-9]+/[0-9]+ Testing: | *SKIPPED: )")
set(ran 0)
set(said "Skipped, because of what is not here:")
foreach(line IN LISTS lines)
  if(line MATCHES "Testing: (.*)$")
    set(test ${CMAKE_MATCH_1})
    math(EXPR ran "${ran} + 1")
  elseif(line MATCHES "SKIPPED: (.*)$")
    if(said)
      message("\n${said}")
      set(said "")
    endif()
    message("  ${test}: ${CMAKE_MATCH_1}")
  endif()
endforeach()

set(there 0)
file(GLOB_RECURSE files "${BUILD}/CTestTestfile.cmake")
foreach(file IN LISTS files)
  file(STRINGS "${file}" tests REGEX "^ *add_test\\(")
  list(LENGTH tests here)
  math(EXPR there "${there} + ${here}")
endforeach()
if(ran GREATER 0 AND ran LESS there)
  message("\nThis was a selection, ${ran} of ${there} tests. All of them: cmake --workflow --preset test-all")
endif()
