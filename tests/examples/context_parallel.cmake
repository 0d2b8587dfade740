# SPDX-License-Identifier: MIT
# examples/context_parallel, on several numbers of ranks. Included by CMakeLists.txt, and a script for one of the tests:
#   cmake "-DRUN=mpiexec;-n;7;program" -P context_parallel.cmake
# 7 ranks cannot share the sequences: one of them says so, and all end, with another status than 0.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND ${RUN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result TIMEOUT 60)
  if(NOT result MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "7 ranks should be refused; the run ended with ${result}:\n${output}${errors}")
  endif()
  string(REGEX MATCHALL "7 ranks need a multiple of 14\\.\n" sentences "${output}${errors}")
  list(LENGTH sentences count)
  if(NOT count EQUAL 1 OR "${output}${errors}" MATCHES "rotated q and k")
    message(FATAL_ERROR "7 ranks should be refused in one sentence; there are ${count}:\n${output}${errors}")
  endif()
  return()
endif()

if(NOT TARGET context_parallel OR NOT MPIEXEC_EXECUTABLE)
  add_test(NAME context_parallel
           COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: no MPI. Debian has it as libopenmpi-dev and openmpi-bin.")
  set_tests_properties(context_parallel PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED: no MPI")
  return()
endif()

# More ranks than cores, and as root, as in a container: Open MPI wants to be told, version 5 by a name of its own, and
# complains where a process may not read another's memory, unless it is told not to. MPICH does not look at these.
set(environment OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none)
foreach(ranks 1 2 4 7 8)
  set(run ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS} $<TARGET_FILE:context_parallel>)
  if(ranks EQUAL 7)
    add_test(NAME context_parallel_${ranks} COMMAND ${CMAKE_COMMAND} "-DRUN=${run}" -P ${CMAKE_CURRENT_LIST_FILE})
  else()
    add_test(NAME context_parallel_${ranks} COMMAND ${run})
  endif()
  set_tests_properties(context_parallel_${ranks} PROPERTIES ENVIRONMENT "${environment}" PROCESSORS ${ranks}
                                                            TIMEOUT 120)
endforeach()
