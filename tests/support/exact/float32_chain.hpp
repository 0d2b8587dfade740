// SPDX-License-Identifier: MIT
// The float32 chain in 256-bit arithmetic, every step rounded once to float: 2i/d, base^(.), 1/(.), (.)/factor,
// position * (.), cos and sin, (.) * m.
#pragma once

#include <rope/core.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

#include "../data.hpp"
#include "mpfr.hpp"

namespace support {

/// x rounded once to float. Every step of the chain is one operation in 256 bits, then this.
inline Real to_float32(const Real& x) { return Real(static_cast<double>(x.to_float())); }

/// The definition, one pair at a time.
class Float32Chain {
 public:
    explicit Float32Chain(const rope::Config& config) : magnitude_(to_float32(Real(config.attention_factor))) {
        const Index d = config.rotary_dim != 0 ? config.rotary_dim : config.head_dim;
        const Real base = to_float32(Real(config.base));
        const Real factor = to_float32(Real(config.interpolation_factor));
        for (Index i = 0; i < d / 2; ++i) {
            const Real exponent = to_float32(Real::integer(2 * i) / Real::integer(d));
            const Real reciprocal = to_float32(Real(1.0) / to_float32(pow(base, exponent)));
            frequencies_.push_back(to_float32(reciprocal / factor));
        }
    }

    struct Entry {
        float cos, sin;
    };
    Entry entry(Index position, Index pair) const {
        const Real angle = to_float32(to_float32(Real::integer(position)) * frequencies_[size(pair)]);
        const RealCosSin exact = cos_sin(angle);
        return {(to_float32(exact.cos) * magnitude_).to_float(), (to_float32(exact.sin) * magnitude_).to_float()};
    }

 private:
    Real magnitude_;
    std::vector<Real> frequencies_;
};

/// How many entries of the table differ from the definition in any bit.
inline std::uint64_t different_entries(const rope::CosSinCache<float>& table, const Float32Chain& chain) {
    std::uint64_t different = 0;
    for (Index p = table.first_position(); p < table.first_position() + table.max_positions(); ++p)
        for (Index i = 0; i < table.pairs(); ++i) {
            const Float32Chain::Entry expected = chain.entry(p, i);
            if (std::memcmp(table.cos_row(p) + i, &expected.cos, sizeof(float)) != 0) ++different;
            if (std::memcmp(table.sin_row(p) + i, &expected.sin, sizeof(float)) != 0) ++different;
        }
    return different;
}

}  // namespace support
