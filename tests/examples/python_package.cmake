# SPDX-License-Identifier: MIT
# examples/python: the wheel is built without a warning and is below 1 MB; its demo runs; its tests pass. Included by
# CMakeLists.txt, and a script for the test:
#   cmake -DPYTHON=... -DREQUIRED=torch,transformers -DSOURCE=... -DWORK=scratch -P python_package.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
  if("once" IN_LIST ROPE_TEST_WITHOUT)
    return()
  endif()
  set(ROPE_PYTHON "" CACHE FILEPATH "A Python with scikit-build-core, nanobind, numpy, ml_dtypes and pytest, for the test python_package")
  set(ROPE_PYTHON_REQUIRED "" CACHE STRING "Packages that it must have, too, with commas between: torch,transformers,kernels")
  add_test(NAME python_package
           COMMAND ${CMAKE_COMMAND} -DPYTHON=${ROPE_PYTHON} -DREQUIRED=${ROPE_PYTHON_REQUIRED} -DSOURCE=${PROJECT_SOURCE_DIR}
                   -DWORK=${CMAKE_CURRENT_BINARY_DIR}/python_package -P ${CMAKE_CURRENT_LIST_FILE})
  # The wheel is compiled in parallel.
  set_tests_properties(python_package PROPERTIES LABELS once SKIP_REGULAR_EXPRESSION "SKIPPED: no " PROCESSORS 2)
  return()
endif()

if(NOT PYTHON)
  message("SKIPPED: no Python with scikit-build-core, nanobind, numpy, ml_dtypes and pytest. -DROPE_PYTHON=... names one.")
  return()
endif()
string(REPLACE "," ";" modules "${REQUIRED}")
foreach(module scikit_build_core nanobind numpy ml_dtypes pytest ${modules})
  execute_process(COMMAND ${PYTHON} -c "import ${module}" RESULT_VARIABLE failed ERROR_VARIABLE error)
  if(failed)
    message(FATAL_ERROR "${PYTHON} cannot import ${module}:\n${error}")
  endif()
endforeach()

# A copy of what the wheel is made of: pip builds inside of the folder that it is given.
file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE}/examples/python DESTINATION ${WORK}/source/examples PATTERN build EXCLUDE)
foreach(part include cmake CMakeLists.txt LICENSE)
  file(CREATE_LINK ${SOURCE}/${part} ${WORK}/source/${part} SYMBOLIC)
endforeach()
execute_process(COMMAND ${PYTHON} -m pip wheel -v --no-build-isolation --no-deps -w ${WORK} ${WORK}/source/examples/python
                RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log)
if(failed OR log MATCHES "warning:")
  message(FATAL_ERROR "${log}")
endif()
file(GLOB wheel ${WORK}/rotary_cpu-*.whl)
file(SIZE ${wheel} bytes)
get_filename_component(name ${wheel} NAME)
message("${name}: ${bytes} bytes")
if(bytes GREATER 1000000)
  message(FATAL_ERROR "the wheel has more than 1,000,000 bytes")
endif()

execute_process(COMMAND ${PYTHON} -m pip install -q --no-deps --target ${WORK}/site ${wheel} COMMAND_ERROR_IS_FATAL ANY)
set(ENV{PYTHONPATH} ${WORK}/site)
execute_process(COMMAND ${PYTHON} -m rotary_cpu COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PYTHON} -m pytest -q -rs -W ignore -p no:cacheprovider ${SOURCE}/examples/python/tests
                COMMAND_ERROR_IS_FATAL ANY)
