// SPDX-License-Identifier: MIT
// Wavelengths as a picture.
#pragma once

#include <rope/rope.hpp>

#include <string>
#include <vector>

#include "describe.hpp"

namespace inspect {

/// An SVG: for each spectrum the wavelength of each pair before and after scaling, on a logarithmic axis, and the
/// length of the context.
std::string plot(const std::vector<Spectrum>& spectra, const std::vector<std::string>& titles, rope::Index positions);

}  // namespace inspect
