// SPDX-License-Identifier: MIT
#include "precompiled.hpp"
