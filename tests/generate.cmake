# SPDX-License-Identifier: MIT
set(ROPE_MODELS "" CACHE PATH "Folder of stories260K.bin, tok512.bin and expected.txt; empty: the environment variable of this name")

add_test(NAME generate_errors
         COMMAND ${CMAKE_COMMAND} -DGENERATE=$<TARGET_FILE:generate> -DWORK=${CMAKE_CURRENT_BINARY_DIR}/generate_errors
                 -P ${CMAKE_CURRENT_SOURCE_DIR}/generate_errors.cmake)
add_test(NAME generate_text
         COMMAND ${CMAKE_COMMAND} -DGENERATE=$<TARGET_FILE:generate> -DMODELS=${ROPE_MODELS}
                 -DWORK=${CMAKE_CURRENT_BINARY_DIR}/generate_text -P ${CMAKE_CURRENT_SOURCE_DIR}/generate_text.cmake)
set_tests_properties(generate_text PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED: no model")

add_test(NAME context_shift_errors
         COMMAND ${CMAKE_COMMAND} -DCONTEXT_SHIFT=$<TARGET_FILE:context_shift>
                 -P ${CMAKE_CURRENT_SOURCE_DIR}/context_shift_errors.cmake)
add_test(NAME context_shift
         COMMAND ${CMAKE_COMMAND} -DCONTEXT_SHIFT=$<TARGET_FILE:context_shift> -DMODELS=${ROPE_MODELS}
                 -DWORK=${CMAKE_CURRENT_BINARY_DIR}/context_shift -P ${CMAKE_CURRENT_SOURCE_DIR}/context_shift.cmake)
set_tests_properties(context_shift PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED: no model")
