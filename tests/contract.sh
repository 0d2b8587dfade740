#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/contract.sh FOLDER [--few|--least]: compiles every .cpp of the folder unchanged, with both compilers, two standards and
# three levels of optimisation, without a warning from the library; each must print "ok". Few: the ends of that range; least: one of them.
set -euo pipefail
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
export work include
include=${ROPE_INCLUDE:-include}  # the joined headers, or the ordinary ones
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
try() {
    local source=$1 compiler=$2 standard=$3 optimise=$4
    local program
    program=$work/$(echo "$*" | tr -c 'a-z0-9' _)
    # The user's own lines may warn; the library's may not.
    $compiler -std="$standard" $optimise -Wall -Wextra -Wpedantic -I"$include" -isystem /usr/include/eigen3 "$source" \
        -o "$program" 2>"$program.log" || { cat "$program.log"; return 1; }
    if grep -E '^(In file included from )?'"$include"'/rope.*warning' "$program.log"; then return 1; fi
    local said
    said=$("$program")
    echo "$(basename "$source") $compiler $standard $optimise: $said"
    [ "$said" = ok ]
}
export -f try
for source in "$folder"/*.cpp; do
    for compiler in g++ clang++; do
        for standard in c++17 c++20; do
            for optimise in -O0 -O2 "-O3 -march=native"; do
                case "${2:-} $standard $optimise" in
                    "--few c++17 -O0" | "--few c++20 -O3 -march=native" | "--least c++17 -O0") ;;
                    --*) continue ;;
                esac
                printf '%s\0%s\0%s\0%s\0' "$source" "$compiler" "$standard" "$optimise"
            done
        done
    done
done | xargs -0 -n 4 -P "$(nproc)" bash -c 'try "$@"' try
