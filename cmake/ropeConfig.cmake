# SPDX-License-Identifier: MIT
# find_package(rope) gives rope::core (standard library only) and rope::rope (with Eigen, when it is
# found); rope::compiled, where it was installed with ROPE_INSTALL_COMPILED; rope::c and rope::c_static, with ROPE_INSTALL_C.
include(${CMAKE_CURRENT_LIST_DIR}/ropeEigen.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/ropeTargets.cmake)
