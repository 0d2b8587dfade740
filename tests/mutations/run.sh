#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Breaks the library once per block of list.txt and runs the test named there, which must then fail. The unbroken library
# must pass all of those tests first.
#   tests/mutations/run.sh [NAME...]      all mutations, or those named; CXX and JOBS are read from the environment
#   tests/mutations/run.sh --every N TURN every N-th block, others in each of N turns; for .ci/run, where the unbroken
#                                         library has just passed all tests
set -euo pipefail
cd "$(dirname "$0")/../.."
export CXX=${CXX:-g++}
export work
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
eigen=$(for d in /usr/include/eigen3 /usr/local/include/eigen3; do [ -d "$d" ] && echo "$d" && break; done)
export flags="-std=c++17 -Itests -isystem $eigen"
export RC_PARAMS=seed=20261121

# sets_for FILE NAME: faults in what is for AVX-512 show in the emulated set, on machines that have none.
sets_for() { case $1:$2 in detail/simd/avx512/* | *:wide_*) echo emulated ;; *) echo usual ;; esac; }

# build_and_run INCLUDE TEST PROGRAM SETS: 0 when the test passes, 1 when it fails, 2 when it does not compile.
build_and_run() {
    local level=-O1
    case $2 in bits_are_as_stored | c_*) level=-O0 ;; esac  # they run for a moment, so compiling is what takes time
    local emulated=-UROPE_EMULATED
    if [ "$4" = emulated ]; then emulated='-DROPE_EMULATED="support/emulated_registers.hpp"'; fi
    # Each test is in one of the rooms. A header of tests/support may have a source beside it.
    local source more
    source=$(ls tests/*/"$2.cpp")
    more=$(grep -oE 'support/[a-z_0-9/]+\.hpp' "$source" | sed 's|hpp$|cpp|; s|^|tests/|' | xargs -r ls 2>/dev/null) || true
    case $2 in c_*) more="$more cmake/rope_c.cpp" ;; esac  # they call the C library
    $CXX $flags "$emulated" $level -include "$work/headers.hpp" -I"$1" "$source" $more "$work/main.o" -lrapidcheck -lmpfr -lgmp -pthread -o "$3" >"$3.log" 2>&1 || return 2
    timeout 60 "$3" >"$3.log" 2>&1 && return 0 || return 1  # a test that hangs has noticed, too
}

# try NAME FILE TEST: one line of output; 0 when the mutation is caught.
try() {
    local name=$1 file=$2 test=$3 status=0
    local include=$work/$name
    cp -r include "$include"
    if ! awk -v name="$name" -f tests/mutations/mutate.awk tests/mutations/list.txt "include/rope/$file" >"$include/rope/$file"; then
        echo "STALE   $name: what it replaces is not in $file exactly once"
        return 1
    fi
    build_and_run "$include" "$test" "$work/$name.program" "$(sets_for "$file" "$name")" || status=$?
    rm -rf "$include"
    case $status in
        1) echo "caught  $name, by $test" ;;
        0) echo "MISSED  $name: $test passes" && return 1 ;;
        *) echo "BROKEN  $name does not compile:" && head -5 "$work/$name.program.log" && return 1 ;;
    esac
}
# check_unbroken TEST SETS
check_unbroken() {
    build_and_run include "$1" "$work/unbroken.$1.$2" "$2" && echo "passes  $1, unbroken, with the $2 sets" && return 0
    echo "FAILED  $1 without any mutation, with the $2 sets" && tail -5 "$work/unbroken.$1.$2.log" && return 1
}
export -f sets_for build_and_run try check_unbroken

$CXX $flags -c tests/support/once/main.cpp -o "$work/main.o"
# What all tests include of others, parsed once. The library is not in it.
echo '#include "support/once/headers.hpp"' >"$work/headers.hpp"
mkdir "$work/headers.hpp.gch"  # one for each level
for level in -O0 -O1; do $CXX $flags $level -x c++-header "$work/headers.hpp" -o "$work/headers.hpp.gch/$level"; done
lines=$(sed -n 's/^== //p' tests/mutations/list.txt | tr -d ' ')  # name|file|test
if [ "${1:-}" = --every ]; then
    lines=$(awk -v n="$2" -v turn="$3" '(NR + turn) % n == 0' <<<"$lines")
elif [ $# -gt 0 ]; then lines=$(for name in "$@"; do grep "^$name|" <<<"$lines"; done); fi
jobs=${JOBS:-$(nproc)}
[ "${1:-}" = --every ] || while IFS='|' read -r name file test; do
    echo "$test $(sets_for "$file" "$name")"
done <<<"$lines" | sort -u | xargs -P "$jobs" -I{} bash -c 'check_unbroken {}' || { echo "mutations: the unbroken tests must pass first"; exit 1; }

failed=0
tr '|\n' '\0\0' <<<"$lines" | xargs -0 -n 3 -P "$jobs" bash -c 'try "$@"' try || failed=1
count=$(wc -l <<<"$lines")
[ "$failed" -eq 0 ] || { echo "mutations: not all of $count caught"; exit 1; }
echo "mutations: all $count caught"
