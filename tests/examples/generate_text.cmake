# SPDX-License-Identifier: MIT
# A trained model, run through examples/generate, tells the story that its author published, byte for byte.
#   cmake -DGENERATE=program -DMODELS=folder -DWORK=scratch -P generate_text.cmake
# MODELS holds stories260K.bin, tok512.bin and expected.txt; empty, it is taken from the environment's ROPE_MODELS.
include(${CMAKE_CURRENT_LIST_DIR}/find_model.cmake)
if(NOT MODELS)
  return()
endif()
file(MAKE_DIRECTORY "${WORK}")

# Runs the program and leaves its text in WORK/<name>.txt and its standard error in ${errors}.
macro(tell name)
  execute_process(COMMAND "${GENERATE}" --model "${MODELS}/stories260K.bin" --tokenizer "${MODELS}/tok512.bin" ${ARGN}
                  OUTPUT_FILE "${WORK}/${name}.txt" ERROR_VARIABLE errors RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "The run ${name} ended with ${result}:\n${errors}")
  endif()
endmacro()

# Two files must be equal, or must not.
function(compare first relation second)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E compare_files "${first}" "${second}"
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(relation STREQUAL "equals" AND NOT result EQUAL 0)
    message(FATAL_ERROR "${first} differs from ${second}.")
  elseif(relation STREQUAL "differs_from" AND NOT result EQUAL 1)
    message(FATAL_ERROR "${first} should differ from ${second}; comparing them ended with ${result}.")
  endif()
endfunction()

# The most likely tokens, one at a time.
tell(greedy --steps 256 --temperature 0)
compare("${WORK}/greedy.txt" equals "${MODELS}/expected.txt")
if(NOT errors MATCHES "decode +255 tokens in .* tokens per second\nrope +[0-9.]+ % of the prefill, [0-9.]+ % of a decode step\n$")
  message(FATAL_ERROR "The times are missing or malformed:\n${errors}")
endif()

# The same text when its first sentence is given: 15 tokens and the mark before them, in one call.
tell(prompt --steps 256 --temperature 0 --prompt "Once upon a time, there was a little girl named Lily.")
compare("${WORK}/prompt.txt" equals "${MODELS}/expected.txt")
if(NOT errors MATCHES "prefill +16 tokens")
  message(FATAL_ERROR "The prompt should run as 16 tokens in one call:\n${errors}")
endif()

# Weights converted for half-split pairs, and turned so, are the same model: token by token and in one call.
foreach(layout interleaved half-split)
  tell(${layout} --steps 256 --temperature 0 --layout ${layout})
  compare("${WORK}/${layout}.txt" equals "${MODELS}/expected.txt")
  tell(${layout}_all --steps 512 --temperature 0 --layout ${layout} --prompt "One day, Tim and Lily")
endforeach()
compare("${WORK}/interleaved_all.txt" equals "${WORK}/half-split_all.txt")

# A longer beginning, a line break included, ends the same way.
file(READ "${MODELS}/expected.txt" story)
string(FIND "${story}" " Her mom said" half)
string(SUBSTRING "${story}" 0 ${half} beginning)
tell(long_prompt --steps 256 --temperature 0 --prompt "${beginning}")
compare("${WORK}/long_prompt.txt" equals "${MODELS}/expected.txt")

# A cache in pages of floats gives the same text: token by token past many pages, and with a prompt over several pages.
foreach(layout interleaved half-split)
  tell(paged_${layout} --steps 256 --temperature 0 --layout ${layout} --cache paged-float)
  compare("${WORK}/paged_${layout}.txt" equals "${MODELS}/expected.txt")
endforeach()
tell(paged_prompt --steps 256 --temperature 0 --cache paged-float --prompt "${beginning}")
compare("${WORK}/paged_prompt.txt" equals "${MODELS}/expected.txt")

# In pages of bfloat16, 2^-9 of rounding changes none of the first 100 tokens when the most likely one is chosen. It
# does change what chance chooses, where pages of floats change nothing.
tell(float_100 --steps 100 --temperature 0)
tell(bfloat16_100 --steps 100 --temperature 0 --cache paged-bfloat16)
compare("${WORK}/bfloat16_100.txt" equals "${WORK}/float_100.txt")
foreach(cache float paged-float paged-bfloat16)
  tell(any_${cache} --temperature 1.5 --top-p 1 --seed 1 --cache ${cache})
endforeach()
compare("${WORK}/any_paged-float.txt" equals "${WORK}/any_float.txt")
compare("${WORK}/any_paged-bfloat16.txt" differs_from "${WORK}/any_float.txt")

# Every byte of a prompt comes back, whether the vocabulary has the character or not, valid UTF-8 or not.
string(ASCII 9 65 195 169 240 159 152 128 255 195 66 odd)
tell(odd --steps 64 --temperature 0 --prompt "${odd}")
file(READ "${WORK}/odd.txt" odd_text HEX)
if(NOT odd_text MATCHES "^0941c3a9f09f9880ffc342")
  message(FATAL_ERROR "The prompt came back as other bytes: ${odd_text}")
endif()

# Chance belongs to the seed. Top-p 1 keeps every token; a tiny one leaves only the most likely.
tell(seed_1 --temperature 0.8 --seed 1)
tell(seed_1_again --temperature 0.8 --seed 1)
tell(seed_2 --temperature 0.8 --seed 2)
compare("${WORK}/seed_1.txt" equals "${WORK}/seed_1_again.txt")
compare("${WORK}/seed_1.txt" differs_from "${WORK}/seed_2.txt")
tell(any --temperature 1.5 --top-p 1 --seed 1)
compare("${WORK}/any.txt" differs_from "${WORK}/seed_1.txt")
tell(narrow --temperature 0.8 --top-p 1e-6 --seed 3)
compare("${WORK}/narrow.txt" equals "${MODELS}/expected.txt")

# The model's positions end at 512, whatever is asked for.
tell(all --steps 512 --temperature 0)
tell(too_many --steps 100000 --temperature 0)
compare("${WORK}/all.txt" equals "${WORK}/too_many.txt")
if(NOT errors MATCHES "--steps is 100000; this model knows 512 positions, so it stops there\\.")
  message(FATAL_ERROR "Nothing says that 100000 steps are too many:\n${errors}")
endif()
