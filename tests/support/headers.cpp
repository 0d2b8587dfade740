// SPDX-License-Identifier: MIT
#include "headers.hpp"
