// SPDX-License-Identifier: MIT
#pragma once
#include <vcruntime_new.h>
