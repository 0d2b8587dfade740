// SPDX-License-Identifier: MIT
// All of rope that needs only the standard library.
#pragma once

#include "apply.hpp"
#include "config.hpp"
#include "cos_sin_cache.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "isa.hpp"
#include "positions.hpp"
#include "tensor_view.hpp"
#include "types.hpp"
#include "version.hpp"
