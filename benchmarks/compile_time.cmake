# SPDX-License-Identifier: MIT
# How long it takes to compile a unit that includes a header, at -O2, and how much of that is the header's own.
# cmake -DCOMPILER=... -DLIBRARY=folder -DEIGEN=folder -DWORK=folder -P compile_time.cmake
cmake_minimum_required(VERSION 3.25)
set(rounds 3)
set(title_empty "nothing")
set(title_text "<vector> and <string>")
set(title_standard "what <rope/core.hpp> includes of others")
set(title_core "<rope/core.hpp>")
set(title_apply "<rope/core.hpp>, apply over a given table")
set(title_table "<rope/core.hpp>, makes a table")
set(title_pass "<rope/heads.hpp>, a pass")
set(title_rows "<rope/rows.hpp>, rows of a step")
set(title_engine "<rope/engine.hpp>, apply")
set(title_rope "<rope/rope.hpp>, apply")
set(title_eigen "<Eigen/Core>")
set(title_hf "<rope/hf_config.hpp>, reads a file")
set(title_gguf "<rope/gguf_config.hpp>, reads a file")
set(title_source "<rope/src.hpp>")
set(separate apply table pass rows engine rope hf gguf)  # measured compiled separately, too

set(apply "void rotate(float* x, const rope::CosSinCache<float>& cache, rope::Index position) {
    rope::apply<rope::Layout::half_split>(rope::view(x, 1, 32, 128), cache, rope::start_at(position));
}\n")
set(text_empty "")
set(text_text "#include <string>\n#include <vector>\n")
set(text_core "#include <rope/core.hpp>\n")
set(text_apply "#include <rope/core.hpp>\n${apply}")
set(text_table "#include <rope/core.hpp>\n${apply}rope::CosSinCache<float> make() { return {rope::Config{128}, 4096}; }\n")
set(text_pass "#include <rope/heads.hpp>
void rotate(float* q, float* k, const float* w, const rope::CosSinCache<float>& cache, rope::Index position) {
    rope::pass<rope::Layout::half_split>(cache, rope::start_at(position), rope::heads(rope::view(q, 1, 32, 128)).rms_norm(w, 1e-6).rotate(),
                                         rope::heads(rope::view(k, 1, 8, 128)).rms_norm(w, 1e-6).rotate());
}\n")
set(text_rows "#include <rope/rows.hpp>\nvoid build(rope::Rows<float>& rows) { rows.build(rope::start_at(9), 4); }\n")
set(text_engine "#include <rope/engine.hpp>\n${apply}")
set(text_rope "#include <rope/rope.hpp>\n${apply}")
set(text_eigen "#include <Eigen/Core>\n")
set(text_hf "#include <rope/hf_config.hpp>\nrope::ModelConfig read(const std::string& text) { return rope::read_hf_config(text); }\n")
set(text_gguf "#include <rope/gguf_config.hpp>\nrope::ModelConfig read(const rope::GgufLookup& get) { return rope::read_gguf_config(get); }\n")
set(text_source "#define ROPE_SEPARATE_COMPILATION\n#include <rope/src.hpp>\n")
set(units empty text standard core apply table pass rows engine rope eigen hf gguf)
foreach(unit IN LISTS separate)
  set(text_${unit}_declared "#define ROPE_SEPARATE_COMPILATION\n${text_${unit}}")
  list(APPEND units ${unit}_declared)
endforeach()
list(APPEND units source)

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

# One unit after the other in each round, so that a slow moment of the machine falls on all of them. The shell says how much
# user time its children took.
foreach(round RANGE 1 ${rounds})
  foreach(unit IN LISTS units)
    execute_process(COMMAND sh -c "\"$@\" || exit 1; times" sh ${COMPILER} ${flags} -c ${WORK}/${unit}.cpp -o ${WORK}/${unit}.o
                    RESULT_VARIABLE result OUTPUT_VARIABLE times ERROR_VARIABLE message)
    if(NOT result EQUAL 0 OR NOT times MATCHES "\n([0-9]+)m([0-9]+)\\.([0-9][0-9])[0-9]*s")
      message(FATAL_ERROR "This unit was not compiled, or its time is not known: ${title_${unit}}\n${times}${message}")
    endif()
    math(EXPR time "${CMAKE_MATCH_1} * 60000 + ${CMAKE_MATCH_2} * 1000 + (1${CMAKE_MATCH_3} - 100) * 10")
    if(NOT DEFINED least_${unit} OR time LESS least_${unit})
      set(least_${unit} ${time})
    endif()
  endforeach()
endforeach()

function(line title first second)
  string(LENGTH "${title}" length)
  math(EXPR gap "48 - ${length}")
  string(REPEAT " " ${gap} spaces)
  set(report "${report}${title}${spaces}${first}   ${second}\n" PARENT_SCOPE)
endfunction()
set(report "\nCompiling a unit, -O2: user time in milliseconds, least of ${rounds}; compiled separately\n\n")
foreach(unit IN LISTS units)
  if(unit IN_LIST separate)
    math(EXPR percent "100 * ${least_${unit}_declared} / ${least_${unit}}")
    line("${title_${unit}}" ${least_${unit}} "${least_${unit}_declared} (${percent} %)")
  elseif(NOT unit MATCHES "_declared$")
    line("${title_${unit}}" ${least_${unit}} "")
  endif()
endforeach()
foreach(unit apply pass)
  math(EXPR inline "10 * ${least_${unit}}")
  math(EXPR all "10 * ${least_${unit}_declared} + ${least_source}")
  math(EXPR percent "100 * ${all} / ${inline}")
  line("ten units with ${unit}, and <rope/src.hpp>" ${inline} "${all} (${percent} %)")
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${report}")
