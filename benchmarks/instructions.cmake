# SPDX-License-Identifier: MIT
# How many instructions a call takes, by valgrind --tool=callgrind: a program that makes it three times less one that makes
# it twice, so that what only the first call of a process does (the linker's search for symbols) is left out.
# cmake -DCOMPILER=g++ -DWORK=folder -P benchmarks/instructions.cmake, in the project's folder; -DMODEL=... is another file.
set(works one_token one_token_in_c one_tensor one_tensor_in_c one_id inverse 16_tokens read pass_rotating pass_1_token_bfloat16 pass_16_tokens_bfloat16 pass_1_token_int8)
set(title_one_token "apply, q [1, 32, 128] and k [1, 8, 128], start_at(7)")
set(title_one_token_in_c "the same through rope.h")
set(title_one_tensor "apply, q [1, 32, 128] alone")
set(title_one_tensor_in_c "the same through rope.h")
set(title_one_id "apply, q and k, one id in a list")
set(title_inverse "apply_inverse, as the first")
set(title_16_tokens "apply, 16 tokens")
set(title_pass_rotating "pass that only rotates, q [1, 32, 128] and k [1, 8, 128]")
set(title_pass_1_token_bfloat16 "pass of float: q [1, 32, 128] and k [1, 8, 128] normed and rotated, k and v to bfloat16 pages")
set(title_pass_16_tokens_bfloat16 "the same, 16 tokens")
set(title_pass_1_token_int8 "the same, 1 token, k in int8")
foreach(format bfloat16 int8 int8_groups int8_halves int8_given int8_channels uint8 uint8_groups uint8_codes int4 uint4 fp8
        fp8_groups mxfp4 nvfp4 q8_0 q4_0 q4_1 q5_0 q5_1 iq4_nl ggml_mxfp4)
  string(REPLACE "_" "" name ${format})
  list(APPEND works write_${name} read_${name} move_${name} change_${name})
  set(title_write_${name} "8 heads of 128 floats to pages of ${format}")
  set(title_read_${name} "and back")
  set(title_move_${name} "moved there")
  set(title_change_${name} "and to pages of int8")
endforeach()
if(NOT MODEL)
  set(MODEL ${CMAKE_CURRENT_LIST_DIR}/../tests/readers/models/Llama-3.1-8B.json)
endif()
get_filename_component(title_read ${MODEL} NAME)
string(PREPEND title_read "read_hf_config of ")

file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${COMPILER} -std=c++17 -O2 -I ${CMAKE_CURRENT_LIST_DIR}/../include
                        ${CMAKE_CURRENT_LIST_DIR}/instructions.cpp -o ${WORK}/instructions COMMAND_ERROR_IS_FATAL ANY)
# The C library as programs load it.
execute_process(COMMAND ${COMPILER} -std=c++17 -O2 -fPIC -shared -fvisibility=hidden -I ${CMAKE_CURRENT_LIST_DIR}/../include
                        ${CMAKE_CURRENT_LIST_DIR}/../cmake/rope_c.cpp -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/../cmake/rope_c.map
                        -o ${WORK}/librope.so COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND cc -std=c99 -O2 -I ${CMAKE_CURRENT_LIST_DIR}/../include ${CMAKE_CURRENT_LIST_DIR}/instructions_c.c
                        ${WORK}/librope.so -Wl,-rpath,${WORK} -o ${WORK}/instructions_c COMMAND_ERROR_IS_FATAL ANY)
foreach(work IN LISTS works)
  set(program ${WORK}/instructions ${work})
  set(more ${MODEL})
  if(work MATCHES "_in_c$")
    set(program ${WORK}/instructions_c ${work})
    set(more "")
  endif()
  foreach(times 2 3)
    execute_process(COMMAND valgrind --tool=callgrind --callgrind-out-file=/dev/null ${program} ${times} ${more}
                    OUTPUT_QUIET ERROR_VARIABLE log COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX REPLACE ".*Collected : ([0-9]+).*" "\\1" count_${times} "${log}")
  endforeach()
  math(EXPR count "${count_3} - ${count_2}")
  message("${title_${work}}: ${count}")
endforeach()
