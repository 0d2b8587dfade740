// SPDX-License-Identifier: MIT
// <Eigen/Core>, which refuses to compile after Xlib's `#define Success 0`.
#pragma once

#include "hide_macros.hpp"

#include <Eigen/Core>

#include "restore_macros.hpp"
