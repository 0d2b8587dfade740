// SPDX-License-Identifier: MIT
// expect: This type must stand in the list.
struct NegateStage : rope::detail::Stage {};
void negate(rope::detail::PathData& path) { rope::detail::append_step<NegateStage>(path, 0.0); }
