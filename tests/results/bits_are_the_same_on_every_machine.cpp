// SPDX-License-Identifier: MIT
// The bits of rotations have the SHA-256 of their class (support/class_of_bits.hpp). The test is run natively, by
// foreign.cmake on other machines, and its hash by the self-check of builds/legs on more of them.
#include <string>

#include "support/catch.hpp"
#include "support/class_of_bits.hpp"
#include "support/isas.hpp"

namespace {

std::string sha_of(const std::string& text) {
    support::Sha256 sha;
    for (const char c : text) sha.add(static_cast<unsigned char>(c));
    return sha.text();
}

}  // namespace

TEST_CASE("this is SHA-256") {  // the examples of FIPS 180-4
    CHECK(sha_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(sha_of(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("bits are the same on every machine") {
    support::for_each_isa([&](const char* isa) {
        const auto [after_float, after_double, after_half, all] = support::hashes_of_bits();
        const std::string f = after_float, d = after_double, h = after_half;
        CAPTURE(isa, f, d, h);  // to compare with another machine's, where this fails
        CHECK(all == (rope::detail::active_isa_has_fma() ? support::kBitsWithFma : support::kBitsWithout));
    });
}
