// SPDX-License-Identifier: MIT
// Includes <Eigen/Core>, which does not compile after Xlib's `#define Success 0`: where that is hidden.
#pragma once

#include <Eigen/Core>
