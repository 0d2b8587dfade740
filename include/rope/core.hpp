// SPDX-License-Identifier: MIT
// The rotation, from a Config to rotated tensors. Needs only the standard library.
//
// Here are schedules, tables by position (CosSinCache), views of tensors in memory and the operations on them. Not
// here: positions on several axes and rows per token (rows.hpp), compact tables, keys that move, Eigen, whole models;
// each of these headers can be included beside this one.
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
