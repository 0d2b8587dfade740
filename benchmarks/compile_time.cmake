# SPDX-License-Identifier: MIT
# How long it takes to compile a unit that includes a header, at -O2, and how much of that is the header's own.
# cmake -DCOMPILER=... -DLIBRARY=folder -DEIGEN=folder -DWORK=folder -P compile_time.cmake
set(rounds 7)
set(goal 800)
set(units empty standard core apply rope eigen pass apply_declared pass_declared source)
set(title_empty "nothing")
set(title_standard "what <rope/core.hpp> includes of others")
set(title_core "<rope/core.hpp>")
set(title_apply "<rope/core.hpp>, and calls apply")
set(title_rope "<rope/rope.hpp>")
set(title_eigen "<Eigen/Core>")
set(title_pass "<rope/heads.hpp>, and a pass")
set(title_apply_declared "apply, compiled separately")
set(title_pass_declared "a pass, compiled separately")
set(title_source "<rope/src.hpp>")
set(text_empty "")
set(text_core "#include <rope/core.hpp>\n")
set(text_apply "#include <rope/core.hpp>
void turn(float* x, const rope::CosSinCache<float>& cache, rope::Index position) {
    rope::apply<rope::Layout::half_split>(rope::view(x, 1, 32, 128), cache, rope::start_at(position));
}\n")
set(text_pass "#include <rope/heads.hpp>
void turn(float* q, float* k, const float* w, const rope::CosSinCache<float>& cache, rope::Index position) {
    rope::pass<rope::Layout::half_split>(cache, rope::start_at(position), rope::heads(rope::view(q, 1, 32, 128)).rms_norm(w, 1e-6).rotate(),
                                         rope::heads(rope::view(k, 1, 8, 128)).rms_norm(w, 1e-6).rotate());
}\n")
foreach(unit apply pass)
  set(text_${unit}_declared "#define ROPE_SEPARATE_COMPILATION\n${text_${unit}}")
endforeach()
set(text_source "#define ROPE_SEPARATE_COMPILATION\n#include <rope/src.hpp>\n")
set(text_rope "#include <rope/rope.hpp>\n")
set(text_eigen "#include <Eigen/Core>\n")

# The standard and intrinsic headers are those that the library's own files, as the compiler lists them, include in
# angle brackets.
set(flags -std=c++17 -O2)
file(WRITE ${WORK}/core.cpp "${text_core}")
execute_process(COMMAND ${COMPILER} ${flags} -I ${LIBRARY} -M ${WORK}/core.cpp OUTPUT_VARIABLE needed
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \\\n]+/rope/[^ \\\n]+\\.hpp" files "${needed}")
foreach(file IN LISTS files)
  file(STRINGS ${file} lines REGEX "^# *include <")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*<(.*)>.*" "\\1" header "${line}")
    if(needed MATCHES "/${header}[ \n]")  # and not another machine's
      list(APPEND standard "#include <${header}>")
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES standard)
list(JOIN standard "\n" text_standard)
string(APPEND text_standard "\n")

list(APPEND flags -isystem ${LIBRARY})
foreach(folder IN LISTS EIGEN)
  list(APPEND flags -isystem ${folder})
endforeach()
foreach(unit IN LISTS units)
  file(WRITE ${WORK}/${unit}.cpp "${text_${unit}}")
endforeach()

# One unit after the other in each round, so that a slow moment of the machine falls on all of them.
foreach(round RANGE 1 ${rounds})
  foreach(unit IN LISTS units)
    string(TIMESTAMP begin "%s%f")
    execute_process(COMMAND ${COMPILER} ${flags} -c ${WORK}/${unit}.cpp -o ${WORK}/${unit}.o
                    RESULT_VARIABLE result ERROR_VARIABLE message)
    string(TIMESTAMP end "%s%f")
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "This unit does not compile: ${title_${unit}}\n${message}")
    endif()
    math(EXPR time "(${end} - ${begin}) / 1000")
    list(APPEND times_${unit} ${time})
  endforeach()
endforeach()

set(report "\nCompiling a unit that includes one header, -O2: milliseconds, median of ${rounds}\n\n")
math(EXPR middle "${rounds} / 2")
foreach(unit IN LISTS units)
  list(SORT times_${unit} COMPARE NATURAL)
  list(GET times_${unit} ${middle} median_${unit})
  string(LENGTH "${title_${unit}}${median_${unit}}" length)
  math(EXPR gap "48 - ${length}")
  string(REPEAT " " ${gap} spaces)
  string(APPEND report "${title_${unit}}${spaces}${median_${unit}}\n")
endforeach()
math(EXPR own "${median_apply} - ${median_standard}")
if(own LESS_EQUAL goal)
  string(APPEND report "The library's own share of a unit that calls apply: ${own} <= ${goal}\n")
else()
  string(APPEND report "The library's own share of a unit that calls apply: ${own} > ${goal} *\n")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${report}")
