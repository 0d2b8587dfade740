# SPDX-License-Identifier: MIT
# find_package(rope) gives rope::core (standard library only) and rope::rope (with Eigen, when it is found).
include(${CMAKE_CURRENT_LIST_DIR}/ropeEigen.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/ropeTargets.cmake)
