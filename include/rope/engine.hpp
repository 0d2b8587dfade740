// SPDX-License-Identifier: MIT
// All that an inference engine calls on its own tensors: the rotation, rows of a step, moves of cached keys, passes into a
// cache, a model's layers. It needs only the standard library; the readers of model files are headers of their own.
#pragma once

#include "additive.hpp"
#include "angle_rows.hpp"
#include "axis_map.hpp"
#include "axis_positions.hpp"
#include "compact_cos_sin_cache.hpp"
#include "core.hpp"
#include "heads.hpp"
#include "key_positions.hpp"
#include "model_config.hpp"
#include "moves.hpp"
#include "part.hpp"
#include "position_builders.hpp"
#include "recipe.hpp"
#include "reposition.hpp"
#include "rotary_embedding.hpp"
#include "rows.hpp"
#include "shared_table.hpp"
#include "weights.hpp"
#include "wrapped_rows.hpp"
#include "write_rows.hpp"
