// SPDX-License-Identifier: MIT
// A schedule of schedules.py, as the members of a rope_config.
#pragma once
#include "rows.hpp"

namespace rotary {

void take_schedule(Config& config, nb::handle schedule);
void bind_config(nb::module_& m);

}  // namespace rotary
