# SPDX-License-Identifier: MIT
# Included by the tests that run a trained model. MODELS is a folder that holds stories260K.bin, tok512.bin and
# expected.txt; empty, it is taken from the environment's ROPE_MODELS. Still empty afterwards: the test is skipped.
if(NOT MODELS)
  set(MODELS "$ENV{ROPE_MODELS}")
endif()
if(NOT MODELS)
  message("SKIPPED: no model. Point -DROPE_MODELS or the environment variable ROPE_MODELS to a folder with "
          "stories260K.bin, tok512.bin and expected.txt; examples/generate/README.md says where they come from.")
  return()
endif()
foreach(file stories260K.bin tok512.bin expected.txt)
  if(NOT EXISTS "${MODELS}/${file}")
    message(FATAL_ERROR "ROPE_MODELS is ${MODELS}, and there is no ${file} in that folder.")
  endif()
endforeach()
