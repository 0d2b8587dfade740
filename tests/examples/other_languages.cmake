# SPDX-License-Identifier: MIT
# examples/other_languages: the commands in the README.md of each folder build its program without a warning, and it
# prints what the C++ program prints, byte for byte. Included by CMakeLists.txt, and a script for the tests:
#   cmake -DLANGUAGE=rust -DSOURCE=... -DLIBRARY=librope.so "-DEXPECTED=program" -DWORK=scratch -P other_languages.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
  if(NOT TARGET other_languages_demo OR "once" IN_LIST ROPE_TEST_WITHOUT OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
  endif()
  add_custom_target(other_languages_library ALL)
  add_dependencies(other_languages_library rope_c)
  foreach(language c rust go java node python)
    set(expected $<TARGET_FILE:other_languages_demo>)
    if(language STREQUAL "c")
      list(APPEND expected $<TARGET_FILE:other_languages_pages>)
    endif()
    add_test(NAME other_languages_${language}
             COMMAND ${CMAKE_COMMAND} -DLANGUAGE=${language} -DSOURCE=${PROJECT_SOURCE_DIR}
                     -DLIBRARY=$<TARGET_FILE:rope_c> "-DEXPECTED=${expected}"
                     -DWORK=${CMAKE_CURRENT_BINARY_DIR}/other_languages_${language}
                     -P ${CMAKE_CURRENT_LIST_FILE})
    set_tests_properties(other_languages_${language} PROPERTIES LABELS once SKIP_REGULAR_EXPRESSION "SKIPPED: no ")
  endforeach()
  return()
endif()

cmake_policy(SET CMP0054 NEW)  # "node" is a word here, not the list of this name

# The programs that the commands call, and the Debian packages that have them.
set(c cc:gcc)
set(rust rustc:rustc)
set(go go:golang-go cc:gcc)
set(java javac:default-jdk-headless java:default-jdk-headless cc:gcc)
set(node node:nodejs cc:gcc)
set(python python3:python3)
foreach(need IN LISTS ${LANGUAGE})
  string(REPLACE ":" ";" need ${need})
  list(GET need 0 name)
  list(GET need 1 package)
  find_program(ROPE_${name} ${name})
  if(NOT ROPE_${name})
    message("SKIPPED: no ${name}. Debian has it in ${package}.")
    return()
  endif()
endforeach()
if(LANGUAGE STREQUAL "node" AND NOT EXISTS /usr/include/node/node_api.h)
  message("SKIPPED: no node_api.h. Debian has it in libnode-dev.")
  return()
endif()

# A folder that looks like the root of the repository, with a build folder of its own.
file(REMOVE_RECURSE ${WORK}/build)
file(MAKE_DIRECTORY ${WORK}/build)
foreach(folder include examples)
  file(CREATE_LINK ${SOURCE}/${folder} ${WORK}/${folder} SYMBOLIC)
endforeach()
get_filename_component(folder ${LIBRARY} DIRECTORY)
file(GLOB libraries ${folder}/librope.so*)
if(NOT libraries)
  message(FATAL_ERROR "There is no ${LIBRARY}; build the target rope_c.")
endif()
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)
  file(CREATE_LINK ${library} ${WORK}/build/${name} SYMBOLIC)
endforeach()

# The lines of README.md that are indented by four.
file(STRINGS ${SOURCE}/examples/other_languages/${LANGUAGE}/README.md lines REGEX "^    ")
string(REPLACE ";" "\n" commands "${lines}")
set(expected "")
foreach(program IN LISTS EXPECTED)
  execute_process(COMMAND ${program} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND expected "${output}")
endforeach()
if(NOT expected MATCHES "\nrefused: positions start at 131071 and seq is 2;")
  message(FATAL_ERROR "The C++ program printed\n${expected}")
endif()

# Python and Go keep nothing outside the scratch folder.
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
set(ENV{GOCACHE} ${WORK}/go_cache)
function(expect_same commands)
  execute_process(COMMAND sh -e -c "${commands}" WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE output ERROR_VARIABLE errors
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR NOT output STREQUAL expected OR errors MATCHES "warning:")
    message(FATAL_ERROR "The commands\n${commands}\nended with ${result} and printed\n${output}${errors}(expected: "
                        "no warning, and\n${expected})")
  endif()
endfunction()
expect_same("${commands}")

# C is compiled by the other compiler, too.
find_program(clang clang)
if(LANGUAGE MATCHES "^(c|java|node)$" AND clang)
  string(REPLACE "    cc " "    clang " commands "${commands}")
  expect_same("${commands}")
endif()
