// SPDX-License-Identifier: MIT
// The bits of a fixed workload are those that were stored: with fma the same ones on every machine, without likewise. A
// change of this file is a change of what users get, and belongs into the release notes.
#include "support/catch.hpp"
#include "support/isas.hpp"
#include "support/workload.hpp"

namespace {

struct Stored {
    std::uint64_t with_fma, without;
};

template <class T, class Table>
void compare(const char* type, Stored stored) {
    support::for_each_isa([&](const char* isa) {
        CAPTURE(type, isa);
        CHECK(support::workload_hash<T, Table>() ==
              (rope::detail::active_isa_has_fma() ? stored.with_fma : stored.without));
    });
}

}  // namespace

TEST_CASE("bits are as stored") {
    compare<float, float>("float", {0x492f56b882ef99aa, 0xfef20fff3b92606d});
    compare<double, double>("double", {0x3288647938d5c527, 0x73bc25aca7b9f271});
    compare<rope::half, float>("half", {0x001723cd9446f97f, 0xff4a7d1a24142383});
    compare<rope::bfloat16, float>("bfloat16", {0xb3880d61515a0441, 0x7c535c230697720d});
}
