# SPDX-License-Identifier: MIT
# rope::rope is rope::core plus Eigen's include folder. Included by the build and by the installed package alike, so
# that where Eigen lies is always found out on the machine that compiles against it.
function(rope_add_target_with_eigen)
  if(TARGET rope::rope)
    return()
  endif()
  add_library(rope_with_eigen INTERFACE)
  add_library(rope::rope ALIAS rope_with_eigen)
  target_link_libraries(rope_with_eigen INTERFACE rope::core)
  if(NOT TARGET Eigen3::Eigen)
    find_package(Eigen3 3.4 QUIET NO_MODULE GLOBAL)
  endif()
  if(TARGET Eigen3::Eigen)
    target_link_libraries(rope_with_eigen INTERFACE Eigen3::Eigen)
  else()
    message(STATUS "rope: Eigen 3.4 was not found; <rope/core.hpp> works, <rope/rope.hpp> needs it")
  endif()
endfunction()
