# SPDX-License-Identifier: MIT
# cmake -DHOW=subdirectory|fetch|package -DSOURCE=... -DBUILD=... -DWORK=... -DCOMPILER=... -DGENERATOR=... -DVERSION=...
#       -P consumption.cmake
# Builds tests/consumption, a user's project, against the source folder or against a fresh install, and runs it.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN} failed (${result}):\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(rope ${SOURCE})
if(HOW STREQUAL "package")
  set(rope ${WORK}/prefix)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${rope})
  # The installed package must not lead back to the source.
  file(GLOB_RECURSE files ${rope}/*.cmake)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(FIND "${text}" "${SOURCE}" at)
    if(at GREATER_EQUAL 0)
      message(FATAL_ERROR "${file} names the source folder")
    endif()
  endforeach()
endif()
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/tests/consumption -B ${WORK}/build -DHOW=${HOW} -DROPE=${rope}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program user_core user_eigen)
  run(${WORK}/build/${program})
  if(NOT output STREQUAL "rope ${VERSION}: ok\n")
    message(FATAL_ERROR "${program} printed '${output}'")
  endif()
  message(STATUS "${HOW}: ${program} printed ${output}")
endforeach()
