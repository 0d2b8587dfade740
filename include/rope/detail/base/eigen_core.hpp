// SPDX-License-Identifier: MIT
// Includes <Eigen/Core>, which does not compile after Xlib's `#define Success 0`.
#pragma once

#include "hide_macros.hpp"

#include <Eigen/Core>

#include "restore_macros.hpp"
