# SPDX-License-Identifier: MIT
# cmake -DROOT=. -P names.cmake
# Refuses a class or function of a public header that the table of names in include/rope/README.md does not have. The
# table may have apply for apply_copy, and pass or add_row_sums for check_pass and check_row_sums. The classes of
# namespace schedule are not looked for.
cmake_minimum_required(VERSION 3.25)
set(include ${ROOT}/include/rope)

file(READ ${include}/README.md table)
string(REGEX REPLACE ".*\n#+ Names\n" "" table "${table}")
string(REGEX REPLACE "\n# .*" "" table "${table}")

set(missing "")
set(count 0)
file(GLOB files ${include}/*.hpp)
foreach(file IN LISTS files)
  set(is_public TRUE)
  file(STRINGS ${file} lines
       REGEX "^(class|struct|enum class|ROPE_(ABI|API|IS_COLD)|ROPE_DETAIL_|namespace (detail|schedule)|}  // namespace (detail|schedule))")
  foreach(line IN LISTS lines)
    string(REPLACE "decltype(auto)" "auto" line "${line}")
    if(line MATCHES "^(ROPE_DETAIL_BEGIN|namespace)")
      set(is_public FALSE)
    elseif(line MATCHES "^(ROPE_DETAIL_END|})")
      set(is_public TRUE)
    elseif(is_public AND line MATCHES "^((class|struct)( ROPE_VISIBLE)?|enum class|ROPE_(ABI|API|IS_COLD) [^(]*) ([A-Za-z0-9_]+)(\\(| :| {|;| final)")
      set(name ${CMAKE_MATCH_5})
      string(REGEX REPLACE "^check_|_copy$" "" short ${name})
      math(EXPR count "${count} + 1")
      if(NOT table MATCHES "`${name}`" AND NOT table MATCHES "`(add_)?${short}`")
        string(APPEND missing "${file}: ${name}\n")
      endif()
    endif()
  endforeach()
endforeach()
if(count LESS 100)
  message(FATAL_ERROR "Only ${count} names were found in the public headers.")
endif()
if(missing)
  message(FATAL_ERROR "The table of names in include/rope/README.md lacks:\n${missing}")
endif()
message(STATUS "${count} names of public headers are in the table")
