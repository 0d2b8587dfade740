# SPDX-License-Identifier: MIT
# A file that cannot be opened, or that opens and cannot be read (an I/O error, or an end before the size that it had), is
# refused by every example that reads files, with one sentence.
#   cmake -DTRAIN=program -DGENERATE=program -DCONTEXT_SHIFT=program -DINSPECT=program -DTEXT=small.txt -DSHIM=failing_read.so
#         -DWORK=scratch -P read_errors.cmake
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
file(WRITE "${WORK}/model" "0123456789")
file(WRITE "${WORK}/config.json" "{}")
file(CREATE_LINK loop "${WORK}/loop" SYMBOLIC)  # which no program can open
set(tiny --data "${TEXT}" --dim 16 --heads 2 --layers 1 --context 32 --batch 2 --steps 2 --out "${WORK}")
execute_process(COMMAND "${TRAIN}" ${tiny} OUTPUT_QUIET ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
set(checkpoint "${WORK}/rotary-softmax-1.checkpoint")

# refused(<how> <file> <sentence> <command>...): the file fails when it is read.
function(refused how file sentence)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env "LD_PRELOAD=${SHIM}" "FAILING_FILE=${file}" FAILING_HOW=${how} ${ARGN}
                  OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE result)
  if(NOT result EQUAL 1 OR NOT out STREQUAL "" OR NOT err MATCHES "^[a-z_]+: ${sentence}\n$")
    message(SEND_ERROR "${how} in ${file}: ${ARGN}\nended with ${result} and printed\n${out}\n${err}\n(expected: ${sentence})")
  endif()
endfunction()

foreach(how error end)
  refused(${how} "${TEXT}" "The file ${TEXT} cannot be read\\." "${TRAIN}" ${tiny})
  refused(${how} "${checkpoint}" "The checkpoint ${checkpoint} cannot be read\\." "${TRAIN}" ${tiny})
  foreach(program "${GENERATE}" "${CONTEXT_SHIFT}")
    refused(${how} "${WORK}/model" "The file ${WORK}/model cannot be read\\."
            "${program}" --model "${WORK}/model" --tokenizer "${WORK}/model")
  endforeach()
endforeach()
if(INSPECT)
  refused(error "${WORK}/config.json" "The file \"${WORK}/config.json\" cannot be read\\." "${INSPECT}" "${WORK}/config.json")
  foreach(name loop nowhere .)
    refused(none . "The file \"${WORK}/${name}\" cannot be read\\." "${INSPECT}" "${WORK}/${name}")
  endforeach()
endif()
refused(none . "The file ${WORK}/loop cannot be read\\." "${TRAIN}" --data "${WORK}/loop")
refused(none . "The file ${WORK}/loop cannot be read\\." "${GENERATE}" --model "${WORK}/loop" --tokenizer "${WORK}/model")

# A checkpoint that is there and cannot be read is not begun anew.
file(REMOVE "${checkpoint}")
file(CREATE_LINK rotary-softmax-1.checkpoint "${checkpoint}" SYMBOLIC)
refused(none . "The checkpoint ${checkpoint} cannot be read\\." "${TRAIN}" ${tiny})
