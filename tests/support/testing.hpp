// SPDX-License-Identifier: MIT
// What every test of <rope/testing.hpp> begins with.
#pragma once

#include <rope/core.hpp>
#include <rope/testing.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "rotation_loop.hpp"

using rope::Index;
using rope::Layout;
using support::kLayouts;
using support::Loop;
using support::telling_config;
namespace testing = rope::testing;
