// SPDX-License-Identifier: MIT
// rope: rotary position embedding on the CPU. This header is everything for tensors in memory and in Eigen;
// <rope/core.hpp> is the part that needs no Eigen.
#pragma once

#include "core.hpp"
#include "eigen.hpp"
#include "reference.hpp"
