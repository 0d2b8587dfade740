// SPDX-License-Identifier: MIT
// A path of a pass as plain loops, slow and obvious, to check the fast one against.
#pragma once

#include "cos_sin_rows.hpp"
#include "heads.hpp"
#include "positions.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN
namespace reference {

/// One path as plain loops over the whole tensor, one operation after the other: what pass computes, bit for bit, with the
/// same instruction set. The rotation is apply's, which rotation_matrix checks; everything else shares nothing with pass
/// but the codes of cache formats. For tests: allocates, and checks nothing but what apply checks; the path must be one
/// that check_pass accepts.
template <class T>
ROPE_ABI inline void pass(Layout layout, const CosSinRows<T>& rows, PositionsArgument&& positions, const Path& path);

}  // namespace reference
ROPE_END

#include "detail/testing/reference_path.hpp"

#include "detail/base/restore_macros.hpp"
