// SPDX-License-Identifier: MIT
#pragma once
#include <corecrt.h>
