# SPDX-License-Identifier: MIT
# README.md is read in two minutes: a feature gets a page of include/rope/guide, and one row or link there.
#   cmake -DREADME=file -P readme_is_short.cmake
file(READ ${README} text)
string(REGEX MATCHALL "\n" lines "${text}")
string(REGEX REPLACE "[][;]" "x" text "${text}")
string(REGEX MATCHALL "[^ \t\n]+" words "${text}")
list(LENGTH lines lines)
list(LENGTH words words)
message(STATUS "README.md has ${lines} lines and ${words} words")
if(lines GREATER 140 OR words GREATER 1500)
  message(FATAL_ERROR "README.md has ${lines} lines and ${words} words; it may have 140 and 1500.")
endif()
