// SPDX-License-Identifier: MIT
// The bits of support/workload.hpp's workload, release after release: with fma the same ones on every machine, without
// likewise. A change of this file is a change of what users get, and belongs into the release notes.
#pragma once

#include <rope/core.hpp>

#include <cstdint>

namespace support {

struct StoredBits {
    std::uint64_t with_fma, without;
};

template <class T>
inline constexpr StoredBits kStoredBits = {0, 0};
template <>
inline constexpr StoredBits kStoredBits<float> = {0x492f56b882ef99aa, 0xfef20fff3b92606d};
template <>
inline constexpr StoredBits kStoredBits<double> = {0x3288647938d5c527, 0x73bc25aca7b9f271};
template <>
inline constexpr StoredBits kStoredBits<rope::half> = {0x001723cd9446f97f, 0xff4a7d1a24142383};
template <>
inline constexpr StoredBits kStoredBits<rope::bfloat16> = {0xb3880d61515a0441, 0x7c535c230697720d};

/// The hash that workload_hash<T, Table>() must give with the instruction set in use.
template <class T>
std::uint64_t stored_bits() {
    return rope::detail::active_isa_has_fma() ? kStoredBits<T>.with_fma : kStoredBits<T>.without;
}

/// The bits of all of support/path_workload.hpp together: where nothing rotates, the same ones in both classes.
inline constexpr std::uint64_t kStoredPathBits = 0x9ffa7c18fb757bfb;
inline constexpr StoredBits kStoredBitsOfRotatingPaths = {0x450a3729be529f54, 0x14270f8ec4ea3baa};

}  // namespace support
