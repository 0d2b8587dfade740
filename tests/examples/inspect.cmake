# SPDX-License-Identifier: MIT
# examples/inspect prints what a file says, draws it, and refuses bad options and files with one sentence.
#   cmake -DINSPECT=program -DMODELS=folder -DWORK=scratch -P inspect.cmake
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

# expect(<status> <out|err> <pattern> <arguments>...): what the program must print there.
function(expect status where pattern)
  execute_process(COMMAND "${INSPECT}" ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE result)
  if(NOT result STREQUAL status OR NOT "${${where}}" MATCHES "${pattern}")
    message(FATAL_ERROR "inspect ${ARGN}\nended with ${result} and printed\n${out}\n${err}\nwhere ${status} and '${pattern}' were expected.")
  endif()
endfunction()

set(llama "${WORK}/config.json")
file(WRITE "${llama}" [=[{"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
  "num_hidden_layers": 32, "max_position_embeddings": 131072, "rope_theta": 500000.0, "rope_unheard_of": 1,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192}}]=])
expect(0 out "model_type llama, 32 layers, 131072 positions" "${llama}")
expect(0 out "warning: rope_unheard_of is not understood" "${llama}")
expect(0 out "layers 0-31\n  layout             half_split" "${llama}")
expect(0 out "schedule           llama3: factor 8, low_freq_factor 1" "${llama}")
# The published wavelengths: pair 35 is in the band that turns 8 times slower, pair 28 stays what it is.
expect(0 out "35 +8218.72 +65749.7 +8 +1.9935\n" "${llama}")
expect(0 out "28 +1956.5 +1956.5 +1 +66.9932\n" "${llama}")
expect(0 out "25 of 64 pairs never complete a turn in 131072 positions" "${llama}")
expect(0 out "layers 0-31" "${llama}" --layer 31)
expect(0 out "steps on q, k, v and the output:\nlayers 0-31: q and k rotated; scores times 0.08838834765\n" "${llama}")
set(gemma "${WORK}/gemma.json")
file(WRITE "${gemma}" [=[{"text_config": {"model_type": "gemma4_text", "hidden_size": 2304, "num_attention_heads": 8,
  "num_key_value_heads": 4, "num_hidden_layers": 6, "max_position_embeddings": 4096, "num_kv_shared_layers": 1}}]=])
expect(0 out "read from text_config\n" "${gemma}")
expect(0 out "layers 0-5: q and k RMS, weight .head_dim., eps 1e-06, then rotated; v RMS, no weight, eps 1e-06; scores times 1\n" "${gemma}")
set(llama4 "${WORK}/llama4.json")
file(WRITE "${llama4}" [=[{"model_type": "llama4_text", "hidden_size": 1024, "num_attention_heads": 8, "rope_theta": 500000.0,
  "num_hidden_layers": 4, "max_position_embeddings": 4096}]=])
expect(0 out "layers 0-2: q and k rotated, then RMS, no weight, eps 1e-05; scores times" "${llama4}")
expect(0 out "layers 3: q times the attention temperature; scores times" "${llama4}")
expect(0 out "inspect config.json" --help)

expect(0 out "pair" "${llama}" --plot "${WORK}/waves.svg")
file(READ "${WORK}/waves.svg" svg)
string(REGEX MATCHALL "<polyline" curves "${svg}")
list(LENGTH curves count)
if(NOT count EQUAL 2 OR NOT svg MATCHES "^<svg .*</svg>\n$")
  message(FATAL_ERROR "the picture has ${count} curves, where two were expected:\n${svg}")
endif()

# YaRN times 40: numbers and picture count what the scaling is made for.
set(yarn "${WORK}/yarn.json")
file(WRITE "${yarn}" [=[{"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
  "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
  "rope_scaling": {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096}}]=])
expect(0 out "model_type llama, 2 layers, 163840 positions .4096 before scaling." "${yarn}" --plot "${WORK}/yarn.svg")
expect(0 out "pairs never complete a turn in 163840 positions" "${yarn}")
file(READ "${WORK}/yarn.svg" svg)
if(NOT svg MATCHES ">context: 163840 positions<")
  message(FATAL_ERROR "the picture does not end at 163840 positions:\n${svg}")
endif()

# Every file of the tests can be inspected.
file(GLOB files "${MODELS}/*.json")
list(LENGTH files count)
if(count LESS 25)
  message(FATAL_ERROR "${MODELS} has ${count} models, where at least 25 were expected")
endif()
foreach(file IN LISTS files)
  expect(0 out "inverse frequency" "${file}" --seq-len 4096)
endforeach()

expect(1 err "No file is named" --layer 1)
expect(1 err "cannot be read" "${WORK}/nothing.json")
expect(1 err "layer is 32; this model has 32 layers, counted from 0" "${llama}" --layer 32)
expect(1 err "The value of --layer is \"x\"" "${llama}" --layer x)
expect(1 err "The option --plot needs a value" "${llama}" --plot)
expect(1 err "There is no option --nonsense" "${llama}" --nonsense)
expect(1 err "name one config.json" "${llama}" "${llama}")
expect(1 err "cannot be written" "${llama}" --plot "${WORK}/no/folder.svg")
file(WRITE "${WORK}/bad.json" "{\"model_type\": \"llama\", ")
expect(1 err "^inspect: The file \"[^\n]*/bad.json\" is not JSON: it goes wrong at byte 25, where it ends, near model_type.\n$"
       "${WORK}/bad.json")
file(WRITE "${WORK}/words.txt" "some words about a model")
expect(1 err "^inspect: The file \"[^\n]*/words.txt\" begins with \"some words about a m\"; it must be the text of a config.json, which begins with {.\n$"
       "${WORK}/words.txt")
file(WRITE "${WORK}/empty.json" "")
expect(1 err "/empty.json\" is empty; it must be the text of a config.json" "${WORK}/empty.json")
expect(1 err "The file \"[^\n]*\" cannot be read" "${WORK}")
