# SPDX-License-Identifier: MIT
# Looks for Eigen, which rope::rope links when it is there. Included by the build and by the installed package alike.
if(NOT TARGET Eigen3::Eigen)
  find_package(Eigen3 3.4 QUIET NO_MODULE)
endif()
if(TARGET Eigen3::Eigen)
  get_target_property(rope_eigen_is_imported Eigen3::Eigen IMPORTED)
  if(rope_eigen_is_imported)
    set_target_properties(Eigen3::Eigen PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
else()
  message(STATUS "rope: Eigen 3.4 was not found; <rope/core.hpp> works, <rope/rope.hpp> needs it")
endif()
