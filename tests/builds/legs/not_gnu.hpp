// SPDX-License-Identifier: MIT
// Read before every other file by the leg `not_gnu`: what others have to include, and then a compiler that has C++17 and
// nothing beside, as Microsoft's: no attributes, assembly or vector types of GNU's.
#pragma once
#pragma GCC system_header

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <forward_list>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unsupported/Eigen/CXX11/Tensor>
#include <utility>
#include <variant>
#include <vector>

#undef __GNUC__
#undef __clang__
#undef __has_attribute
#undef __has_builtin
#undef __has_cpp_attribute
#define __has_cpp_attribute(name) 0
#undef __x86_64__
#undef __SSE__
#undef __SSE2__
#undef __FLT16_MANT_DIG__
#undef __BFLT16_MANT_DIG__
#define _M_X64 100
#define _MSVC_LANG __cplusplus
