# SPDX-License-Identifier: MIT
# cmake -DCOMPILERS="g++;clang++" -DINCLUDE=... -DINCLUDES="eigen" -DSOURCE=tests/builds/build_matrix -DWORK=...
#       -P build_matrix.cmake
# A user's program compiles without a warning, and is right, in every kind of build.
file(MAKE_DIRECTORY ${WORK})
set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
set(includes "")
foreach(folder IN LISTS INCLUDES)
  list(APPEND includes -isystem ${folder})
endforeach()
set(builds "-std=c++17 -O0" "-std=c++20 -O2" "-std=c++2b -O3 -DROPE_TEST_EIGEN" "-std=c++17 -O2 -flto"
           "-std=c++17 -O1 -fno-exceptions -fno-rtti"
           "-std=c++20 -O1 -D_GLIBCXX_ASSERTIONS -D_GLIBCXX_DEBUG -D_GLIBCXX_DEBUG_PEDANTIC"
           "-std=c++17 -Ofast UNITY")
file(WRITE ${WORK}/unity.cpp "#include \"${SOURCE}/calls.cpp\"\n#include \"${SOURCE}/program.cpp\"\n")
set(count 0)
foreach(compiler IN LISTS COMPILERS)
  set(own_warnings -Wcast-align=strict)
  if(compiler MATCHES "clang")
    set(own_warnings -Wcast-align)
  endif()
  foreach(build IN LISTS builds)
    set(source ${SOURCE}/program.cpp)
    if(build MATCHES " UNITY")
      set(source ${WORK}/unity.cpp)
      string(REPLACE " UNITY" "" build ${build})
    endif()
    separate_arguments(flags UNIX_COMMAND "${build}")
    set(link_flags "")
    if(build MATCHES "-flto")
      if(compiler MATCHES "clang")
        continue()  # needs a linker that knows it, which not every machine has
      endif()
      set(link_flags -flto=auto -O2)
    endif()
    execute_process(COMMAND ${compiler} ${flags} ${warnings} ${own_warnings} -I${INCLUDE} ${includes} -c ${source} -o ${WORK}/program.o
                    RESULT_VARIABLE result ERROR_VARIABLE said)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "${compiler} ${build}:\n${said}")
    endif()
    execute_process(COMMAND ${compiler} ${link_flags} ${WORK}/program.o -o ${WORK}/program COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${WORK}/program RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "${compiler} ${build}: the program ended with ${result}")
    endif()
    math(EXPR count "${count} + 1")
  endforeach()

  # Nothing prints or ends the process, but for what stands in for an exception where there are none.
  foreach(build "-O2" "-O2 -fno-exceptions -fno-rtti")
    separate_arguments(flags UNIX_COMMAND "${build}")
    execute_process(COMMAND ${compiler} -std=c++17 ${flags} ${warnings} -I${INCLUDE} -c ${SOURCE}/calls.cpp
                            -o ${WORK}/calls.o COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND nm -u ${WORK}/calls.o OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
    set(forbidden "printf|putchar|exit|terminate|iostream|ios_base|ostream|_ZSt4cout|_ZSt4cerr|_ZSt4clog|__assert_fail")
    if(NOT build MATCHES "no-exceptions")
      string(APPEND forbidden "|puts|fwrite|abort|stderr")
    endif()
    string(REGEX MATCHALL "[^\n]*(${forbidden})[^\n]*" found "${needed}")
    list(FILTER found EXCLUDE REGEX "_ZSt9terminatev|__cxa_atexit")
    if(found)
      message(FATAL_ERROR "${compiler} ${build}: an object that only turns needs\n${found}")
    endif()
    if(NOT needed MATCHES "_Znw")
      message(FATAL_ERROR "${compiler} ${build}: nm shows not even operator new, which a table needs:\n${needed}")
    endif()
  endforeach()
endforeach()

# A unit that turns one tensor in place compiles nothing that only copies, two tensors or executors need.
file(WRITE ${WORK}/in_place.cpp "#include <rope/core.hpp>
void turn(float* x, const rope::CosSinCache<float>& cache, rope::Index position) {
    rope::apply<rope::Layout::half_split>(rope::view(x, 1, 32, 128), cache, rope::start_at(position));
}\n")
list(GET COMPILERS 0 compiler)
execute_process(COMMAND ${compiler} -std=c++17 -O2 -I${INCLUDE} -c ${WORK}/in_place.cpp -o ${WORK}/in_place.o
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND nm -C ${WORK}/in_place.o OUTPUT_VARIABLE functions COMMAND_ERROR_IS_FATAL ANY)
if(NOT functions MATCHES "rotate_all[^<\n]*<false" OR NOT functions MATCHES "check_tensor")
  message(FATAL_ERROR "${compiler}: nm does not show what a call needs:\n${functions}")
endif()
string(REGEX MATCHALL "[^\n]*(rotate_all[^<\n]*<true|copy_unrotated|copy_bits|copy_columns|Stage|units|std::variant)[^\n]*" found "${functions}")
if(found)
  message(FATAL_ERROR "${compiler}: a unit that turns in place has\n${found}")
endif()
message(STATUS "${count} builds")
