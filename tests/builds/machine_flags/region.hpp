// SPDX-License-Identifier: MIT
// Included in each region of the library: the machine's name is the one outside. See machine_flags.py.
static_assert(is_same(ROPE_STRING(ROPE_MACHINE), kOutside), "the machine's name changes in a region");
