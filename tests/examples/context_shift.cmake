# SPDX-License-Identifier: MIT
# A trained model, run through examples/context_shift, tells 1500 tokens with 512 positions: the same ones everywhere,
# with scores that are those of keys never moved.
#   cmake -DCONTEXT_SHIFT=program -DMODELS=folder -DWORK=scratch -P context_shift.cmake
# MODELS holds stories260K.bin, tok512.bin and expected.txt; empty, it is taken from the environment's ROPE_MODELS.
include(${CMAKE_CURRENT_LIST_DIR}/find_model.cmake)
if(NOT MODELS)
  return()
endif()
file(MAKE_DIRECTORY "${WORK}")
set(program "${CONTEXT_SHIFT}" --model "${MODELS}/stories260K.bin" --tokenizer "${MODELS}/tok512.bin")

# Runs the program, whose standard error must match, and leaves its text in WORK/<name>.txt.
function(tell name pattern)
  execute_process(COMMAND ${program} ${ARGN} OUTPUT_FILE "${WORK}/${name}.txt" ERROR_VARIABLE errors
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR NOT errors MATCHES "${pattern}")
    message(FATAL_ERROR "The run ${name} ended with ${result} and said\n${errors}(expected: ${pattern})")
  endif()
endfunction()

# The recorded run. The hash holds for every compiler whose sums, in whatever order, leave each choice ahead: the
# closest is by 8e-4, and the scores of the builds that were compared differ by up to 2e-5.
tell(stories "^tokens      1500 chosen, 512 positions, hash a1b07c9055e9f00d
shifts      4; first 1 kept, next 255 dropped, last 256 moved
difference  [1-9]\\.[0-9][0-9]e-0[56] at most, to the logits of unrotated keys
choices     0 differ; the closest was ahead by 8\\.[0-9][0-9]e-04
time        [0-9.]+ ms in rotations and shifts; [0-9.]+ ms with unrotated keys
$")

# It begins as published, when nothing has moved yet.
file(READ "${WORK}/stories.txt" stories)
file(READ "${MODELS}/expected.txt" story)
string(STRIP "${story}" story)
string(FIND "${stories}" "${story}" begin)
if(NOT begin EQUAL 0)
  message(FATAL_ERROR "${WORK}/stories.txt does not begin with ${MODELS}/expected.txt.")
endif()

# While all tokens have positions, the two caches give the same bits.
tell(short "difference  0\\.00e\\+00 at most" --tokens 512)

# Keys of 8 bits: another text, as near to unrotated keys after the shifts as before them, but for the rounding of a move.
tell(quantised "shifts      4; first 1 kept, next 255 dropped, last 256 moved
difference  ([1-9]\\.[0-9][0-9]e-0[12]|1\\.[0-4][0-9]e\\+00) at most" --cache q8_0)

# Nothing kept, nothing left to move, a single position free at the end.
tell(none_kept "first 0 kept, next 256 dropped, last 256 moved" --tokens 600 --keep 0)
tell(none_moved "first 4 kept, next 508 dropped, last 0 moved" --tokens 600 --keep 4 --drop 508)
tell(one_free "shifts      88; first 511 kept, next 1 dropped, last 0 moved" --tokens 600 --keep 511)

# What the model has no positions for is refused.
function(refused sentence)
  execute_process(COMMAND ${program} ${ARGN} OUTPUT_QUIET ERROR_VARIABLE errors RESULT_VARIABLE result)
  if(NOT result EQUAL 1 OR NOT errors MATCHES "^context_shift: ${sentence}\n$")
    message(FATAL_ERROR "${ARGN} ended with ${result} and said\n${errors}(expected: ${sentence})")
  endif()
endfunction()
refused("--keep is 512; this model knows 512 positions, and one at least must be left for new tokens\\." --keep 512)
refused("--drop is 512; this model knows 512 positions, of which 511 are not kept\\." --drop 512)
