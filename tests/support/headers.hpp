// SPDX-License-Identifier: MIT
// Headers of others that take long to parse; mutations/run.sh precompiles them. No test relies on getting them from here.
#pragma once

#include <rapidcheck.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
