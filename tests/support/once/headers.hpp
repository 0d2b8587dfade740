// SPDX-License-Identifier: MIT
// Headers of others that most tests need and that take long to parse; mutations/run.sh precompiles them. No test relies on
// getting them from here. Every unit pays for what is in here and not used: a second for nlohmann/json.hpp.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "../catch.hpp"
