// SPDX-License-Identifier: MIT
// The bits of a fixed workload are those that were stored: with fma the same ones on every machine, without likewise.
#include "support/catch.hpp"
#include "support/isas.hpp"
#include "support/stored_bits.hpp"
#include "support/workload.hpp"

namespace {

template <class T, class Table>
void compare(const char* type) {
    support::for_each_isa([&](const char* isa) {
        CAPTURE(type, isa);
        CHECK(support::workload_hash<T, Table>() == support::stored_bits<T>());
    });
}

}  // namespace

TEST_CASE("bits are as stored") {
    compare<float, float>("float");
    compare<double, double>("double");
    compare<rope::half, float>("half");
    compare<rope::bfloat16, float>("bfloat16");
}
