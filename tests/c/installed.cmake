# SPDX-License-Identifier: MIT
# cmake -DSOURCE=... -DWORK=... -DCOMPILER=c++ -DC_COMPILER=cc -DGENERATOR=... -DPROGRAM=page.c -DVERSION=... -P installed.cmake
# Installs the C library, moves the installation, and links the page's program against it in every way that the page
# names: as rope::c, as rope::c_static, by pkg-config. Each runs.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake)

file(REMOVE_RECURSE ${WORK})
run(output ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${WORK}/rope -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug
    -DROPE_INSTALL_C=ON -DROPE_BUILD_TESTS=OFF -DROPE_BUILD_BENCHMARKS=OFF -DROPE_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_LIBDIR=lib)
run(output ${CMAKE_COMMAND} --build ${WORK}/rope)
run(output ${CMAKE_COMMAND} --install ${WORK}/rope --prefix ${WORK}/installed)
file(RENAME ${WORK}/installed ${WORK}/prefix)

run(output ${CMAKE_COMMAND} -G ${GENERATOR} -S ${CMAKE_CURRENT_LIST_DIR}/installed -B ${WORK}/user -DROPE=${WORK}/prefix
    -DPROGRAM=${PROGRAM} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_C_COMPILER=${C_COMPILER})
run(output ${CMAKE_COMMAND} --build ${WORK}/user)
run(output ${WORK}/user/user_c)
run(output ${WORK}/user/user_c_static)

find_program(pkg_config NAMES pkg-config pkgconf)
if(NOT pkg_config)
  message("SKIPPED: no pkg-config. Debian has it in pkg-config.")
  return()
endif()
set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/lib/pkgconfig)  # of the library alone
run(output ${pkg_config} --modversion rope-c)
if(NOT output STREQUAL "${VERSION}\n")
  message(FATAL_ERROR "pkg-config says that rope-c has version ${output}")
endif()
run(output ${pkg_config} --cflags --libs rope-c)
separate_arguments(flags UNIX_COMMAND "${output}")
run(output ${C_COMPILER} -std=c99 ${PROGRAM} ${flags} -o ${WORK}/user_pkg_config)
set(ENV{LD_LIBRARY_PATH} ${WORK}/prefix/lib)
run(output ${WORK}/user_pkg_config)
