// SPDX-License-Identifier: MIT
// The rotation, from a Config to rotated tensors. Needs only the standard library.
#pragma once

#include "apply.hpp"
#include "config.hpp"
#include "cos_sin_cache.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "isa.hpp"
#include "positions.hpp"
#include "schedule.hpp"
#include "tensor_view.hpp"
#include "types.hpp"
#include "version.hpp"
