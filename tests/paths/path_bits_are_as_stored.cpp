// SPDX-License-Identifier: MIT
// The bits of every step and format of a path, of gradients and of the other operations are those that were stored: where
// nothing rotates, the same ones in both classes.
#include "support/catch.hpp"
#include "support/isas.hpp"
#include "support/path_workload.hpp"
#include "support/stored_bits.hpp"

TEST_CASE("bits of every step and format are as stored") {
    support::for_each_isa([](const char* isa) {
        std::uint64_t of_all = 1, of_class = 1;
        support::run_path_workload([&](bool has_class, const std::string&, std::uint64_t hash) {
            std::uint64_t& all = has_class ? of_class : of_all;
            all = all * 6364136223846793005u + hash;
        });
        const support::StoredBits& stored = support::kStoredBitsOfRotatingPaths;
        CAPTURE(isa);
        CHECK(of_all == support::kStoredPathBits);
        CHECK(of_class == (rope::detail::active_isa_has_fma() ? stored.with_fma : stored.without));
    });
}
