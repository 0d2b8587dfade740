// SPDX-License-Identifier: MIT
// 2^20 elements of every type in every layout, turned: their bits have the SHA-256 that is stored here, one for
// instruction sets with fma and one for those without. The test is run natively and, by foreign.cmake, on other
// machines. A change of this file is a change of what users get, and belongs into the release notes.
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/isas.hpp"
#include "support/sha256.hpp"
#include "support/workload.hpp"

namespace {

constexpr const char* kWithFma = "7ef260082914dd4434252a33310556549029d6a0834113e1c493b8b9545e26fd";
constexpr const char* kWithout = "7b70b7179bc4cf38624a6e5cf69b17e6f4dcf268fe48cf44f275cfac19d991ed";

constexpr rope::Index kSeq = 512, kHeads = 16, kDim = 128, kFirst = 1000003;

/// The hash grows by one type in both layouts.
template <class T, class Table>
void add(support::Sha256& sha) {
    rope::Config config;
    config.head_dim = kDim;
    config.rotary_dim = 118;  // with a remainder of every vector width
    config.rotary_offset = 6;
    config.attention_factor = 1.25;
    const rope::CosSinCache<Table> cache(config, kSeq, kFirst);
    const std::vector<T> numbers = support::workload_numbers<T>(kSeq * kHeads * kDim);
    for (const rope::Layout layout : {rope::Layout::interleaved, rope::Layout::half_split}) {
        std::vector<T> x = numbers;
        rope::apply(layout, rope::view(x.data(), kSeq, kHeads, kDim), cache, rope::start_at(kFirst));
        support::for_each_byte(x.data(), x.size(), [&](unsigned char byte) { sha.add(byte); });
    }
}

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
    static_assert(kSeq * kHeads * kDim == 1 << 20);
    support::for_each_isa([&](const char* isa) {
        support::Sha256 sha;
        add<float, float>(sha);
        const std::string after_float = sha.text();
        add<double, double>(sha);
        const std::string after_double = sha.text();
        add<rope::half, float>(sha);
        const std::string after_half = sha.text();
        add<rope::bfloat16, float>(sha);
        CAPTURE(isa, after_float, after_double, after_half);  // to compare with another machine's, where this fails
        CHECK(sha.text() == (rope::detail::active_isa_has_fma() ? kWithFma : kWithout));
    });
}
