# SPDX-License-Identifier: MIT
# cmake -DINCLUDE=include -DSOURCE=tests/builds/other_machines -DWORK=... -P other_machines.cmake
# What the oldest and the newest clang that are installed make of the headers for machines that are not here.
file(MAKE_DIRECTORY ${WORK}/empty)
set(names clang++)
foreach(version RANGE 14 22)
  list(APPEND names clang++-${version})
endforeach()
set(clangs "")
foreach(name IN LISTS names)
  find_program(found_${name} ${name})
  if(found_${name})
    file(REAL_PATH ${found_${name}} program)
    list(APPEND clangs ${program})
  endif()
endforeach()
list(REMOVE_DUPLICATES clangs)
list(LENGTH clangs count)
if(count GREATER 2)  # the oldest and the newest
  list(GET clangs 0 -1 clangs)
endif()
if(NOT clangs)
  message("SKIPPED: no clang")
  return()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/../../support/run.cmake)

# ---- Where clang contracts a * b + c by itself, ROPE_HAS_FMA is 1: else the portable loops would have neither class of
#      bits. The standard headers of such machines are not here, so empty files stand in for them. ----
file(WRITE ${WORK}/sum.cpp "float f(float a, float b, float c) { return a * b + c; }\n"
                           "double g(double a, double b, double c) { return a * b + c; }\n")
foreach(header detail/base/arithmetic detail/base/compiler types detail/base/bits version detail/base/machine)
  file(STRINGS ${INCLUDE}/rope/${header}.hpp lines REGEX "^# *include <")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*<(.*)>.*" "\\1" name "${line}")
    file(WRITE ${WORK}/empty/${name} "")
  endforeach()
endforeach()
set(machines
    "x86_64-linux-gnu" "x86_64-linux-gnu -mfma" "x86_64-linux-gnu -mfma4" "i386-linux-gnu" "aarch64-linux-gnu"
    "arm-linux-gnueabihf" "arm-linux-gnueabihf -mfpu=neon-vfpv4" "thumbv7em-none-eabihf -mcpu=cortex-m4"
    "riscv64-linux-gnu" "riscv32-linux-gnu" "riscv32-linux-gnu -march=rv32imaf -mabi=ilp32f"
    "riscv32-linux-gnu -march=rv32imac -mabi=ilp32" "s390x-linux-gnu" "powerpc64le-linux-gnu" "powerpc-linux-gnu"
    "loongarch64-linux-gnu" "mips64el-linux-gnuabi64" "mips64el-linux-gnuabi64 -mcpu=mips64r6" "sparc64-linux-gnu"
    "hexagon-unknown-elf" "wasm32" "wasm32 -mrelaxed-simd")
foreach(clang IN LISTS clangs)
  set(contracting 0)
  foreach(machine IN LISTS machines)
    separate_arguments(target UNIX_COMMAND "--target=${machine}")
    execute_process(COMMAND ${clang} ${target} -O2 -S -ffp-contract=on ${WORK}/sum.cpp -o ${WORK}/on.s
                    RESULT_VARIABLE result ERROR_QUIET)
    if(NOT result EQUAL 0)
      continue()  # a machine that this clang does not know
    endif()
    run(out ${clang} ${target} -O2 -S -ffp-contract=off ${WORK}/sum.cpp -o ${WORK}/off.s)
    file(READ ${WORK}/on.s on)
    file(READ ${WORK}/off.s off)
    if(on STREQUAL off)
      continue()
    endif()
    math(EXPR contracting "${contracting} + 1")
    run(macros ${clang} ${target} -std=c++17 -E -dM -nostdinc -isystem ${WORK}/empty -x c++
               ${INCLUDE}/rope/detail/base/arithmetic.hpp)
    if(NOT macros MATCHES "#define ROPE_HAS_FMA 1")
      message(FATAL_ERROR "${clang} --target=${machine} contracts a * b + c, but ROPE_HAS_FMA is not 1.")
    endif()
  endforeach()
  if(contracting LESS 5)
    message(FATAL_ERROR "${clang} contracts for ${contracting} machines only; this test sees nothing.")
  endif()

  # ---- Should there be an fma that ROPE_HAS_FMA does not know, clang has nothing to contract in the portable loops. ----
  if(CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    foreach(known "-U__FMA__" "")
      run(out ${clang} -std=c++17 -O2 -mfma ${known} -I${INCLUDE} -c ${SOURCE}/kernels.cpp -o ${WORK}/kernels.o)
      # Those of other sets have their own fma.
      run(products sh -c "objdump -d ${WORK}/kernels.o | awk '/>:$/ { own = /8portable/ } own && /\tvmul[ps][sd] /' | wc -l")
      run(fused sh -c "objdump -d ${WORK}/kernels.o | awk '/>:$/ { own = /8portable/ } own && /\tvfn?m(add|sub)/' | wc -l")
      if(products EQUAL 0)
        message(FATAL_ERROR "${clang} ${known}: the portable loops have no product; this test sees nothing.")
      elseif(known AND fused GREATER 0)
        message(FATAL_ERROR "${clang} -mfma ${known}: ${fused} fused operations where two roundings are meant.")
      elseif(NOT known AND fused EQUAL 0)
        message(FATAL_ERROR "${clang} -mfma: no fma where one is meant.")
      endif()
    endforeach()
  endif()

  # ---- A unit of a user with -Werror compiles where loops are not vectorised. ----
  set(builds "-Oz")
  foreach(machine riscv64 s390x)
    if(IS_DIRECTORY /usr/${machine}-linux-gnu/include/c++)
      list(APPEND builds "-O2 --target=${machine}-linux-gnu")
    endif()
  endforeach()
  foreach(build IN LISTS builds)
    separate_arguments(flags UNIX_COMMAND "${build}")
    run(out ${clang} -std=c++17 ${flags} -Wall -Wextra -Werror -isystem ${INCLUDE} -c ${SOURCE}/kernels.cpp
            -o ${WORK}/kernels.o)
  endforeach()

  # ---- The pass of a HIP compiler for the device reads the headers, too. ----
  set(hip -x hip --cuda-device-only -nogpulib -nogpuinc --offload-arch=gfx90a -std=c++17 -fsyntax-only)
  file(WRITE ${WORK}/empty.cpp "#include <type_traits>\n")
  execute_process(COMMAND ${clang} ${hip} ${WORK}/empty.cpp RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(result EQUAL 0)
    run(out ${clang} ${hip} -Wall -Wextra -Werror -I${INCLUDE} ${SOURCE}/kernels.cpp)
  else()
    message(STATUS "${clang} has no HIP")
  endif()
  message(STATUS "${clang}: ${contracting} machines with an fma; ${builds}")
endforeach()
