# SPDX-License-Identifier: MIT
# cmake "-DCOMPILERS=g++;clang++" -DINCLUDE=include -DSOURCE=build_matrix/calls.cpp -DOBJECTS=build/test -DWORK=... -P no_runtime_detection.cmake
# No object asks the compiler's runtime what the processor has, which some runtimes do not know: not of a user's calls, and
# none of this build.
cmake_minimum_required(VERSION 3.25)  # GLOB_RECURSE follows no links: wine has one to the root
include(${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake)
file(MAKE_DIRECTORY ${WORK})
set(asked "__cpu_model|__cpu_indicator_init|__cpu_features2|__aarch64_cpu_features|__init_cpu_features")
set(objects "")
foreach(compiler IN LISTS COMPILERS)
  get_filename_component(name ${compiler} NAME)
  foreach(level -O0 -O2)
    set(object ${WORK}/${name}${level}.o)
    run(out ${compiler} -std=c++17 ${level} -I${INCLUDE} -c ${SOURCE} -o ${object})
    list(APPEND objects ${object})
  endforeach()
endforeach()
list(LENGTH objects calls)
file(GLOB_RECURSE built ${OBJECTS}/*.o)
list(FILTER built INCLUDE REGEX "/CMakeFiles/")  # and not those of other machines
string(REPLACE ";" "\n" lines "${objects};${built}")
file(WRITE ${WORK}/objects "${lines}\n")
run(out sh -c "xargs nm -A <'${WORK}/objects' >'${WORK}/symbols'")
file(STRINGS ${WORK}/symbols choices REGEX "this_x86")
list(LENGTH choices count)
if(count LESS calls)
  message(FATAL_ERROR "${count} objects of ${calls} choose a set; this test sees nothing")
endif()
file(STRINGS ${WORK}/symbols found REGEX "${asked}")
if(found)
  string(REPLACE ";" "\n" found "${found}")
  message(FATAL_ERROR "the compiler's runtime is asked:\n${found}")
endif()
message(STATUS "${count} symbols of the choice, and none of the runtime's")
