// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4), so that a value stored here can be checked by any tool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace support {

class Sha256 {
 public:
    void add(unsigned char byte) {
        block_[bytes_++ % 64] = byte;
        if (bytes_ % 64 == 0) add_block();
    }

    /// The hash of all bytes so far, as 64 hexadecimal digits. More bytes may be added to this object afterwards.
    std::string text() const {
        Sha256 end = *this;
        end.add(0x80);
        while (end.bytes_ % 64 != 56) end.add(0);
        for (int shift = 56; shift >= 0; shift -= 8) end.add(static_cast<unsigned char>(8 * bytes_ >> shift & 0xff));
        std::string digits;
        for (const std::uint32_t word : end.state_)
            for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
        return digits;
    }

 private:
    static std::uint32_t turned(std::uint32_t x, int right) { return x >> right | x << (32 - right); }

    void add_block() {
        std::uint32_t w[64];
        for (std::size_t i = 0; i < 16; ++i) {
            const unsigned char* const p = block_ + 4 * i;
            w[i] = std::uint32_t(p[0]) << 24 | std::uint32_t(p[1]) << 16 | std::uint32_t(p[2]) << 8 | p[3];
        }
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t a = w[i - 15], b = w[i - 2];
            w[i] = w[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[i - 7] +
                   (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
        }
        std::uint32_t s[8];
        for (std::size_t i = 0; i < 8; ++i) s[i] = state_[i];
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
            const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
            const std::uint32_t first =
                s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) + choice + kPrimes[i] + w[i];
            const std::uint32_t second = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) + majority;
            for (std::size_t k = 7; k > 0; --k) s[k] = s[k - 1];
            s[4] += first;
            s[0] = first + second;
        }
        for (std::size_t i = 0; i < 8; ++i) state_[i] += s[i];
    }

    /// The first 32 bits of the fractions of the cube roots of the first 64 primes; below, of the square roots of eight.
    static constexpr std::uint32_t kPrimes[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    std::uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char block_[64] = {};
    std::uint64_t bytes_ = 0;
};

}  // namespace support
