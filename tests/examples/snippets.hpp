// SPDX-License-Identifier: MIT
// For the tests of the code on the pages for users, include/rope/guide. It compiles as it stands there, and does what
// the page says: each block is included into a function that declares the names which the page takes for granted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using support::normal;
using support::same_bits;
using support::size;

/// The largest difference of a and b, relative to the largest number of b.
template <class A, class B>
double distance(const std::vector<A>& a, const std::vector<B>& b) {
    REQUIRE(a.size() == b.size());
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = std::max(difference, std::abs(support::to_double(a[i]) - support::to_double(b[i])));
        largest = std::max(largest, std::abs(support::to_double(b[i])));
    }
    return difference / largest;
}
