// SPDX-License-Identifier: MIT
// Five ways to tell a patch of an image where it stands.
#pragma once

#include <rope/rows.hpp>

#include <vector>

namespace vision {

using rope::Index;

constexpr Index kHeadDim = 128;

/// An image of `height` rows of `width` patches. Tokens are patches, row after row.
struct Grid {
    Index height, width;

    Index tokens() const { return height * width; }
    Index token(Index y, Index x) const { return y * width + x; }
};

/// A scheme is values: frequencies, which axis each pair follows, and where patches stand on the axes.
struct Scheme {
    const char* name;
    rope::Layout layout;
    rope::Frequencies frequencies;
    rope::AxisMap map;
    std::vector<double> (*positions)(Grid);  ///< [map.axes, tokens]
    bool is_line = false;                    ///< after the last patch of a row comes the first one of the next
    bool is_fraction = false;                ///< positions are parts of the image, however fine the grid
};

std::vector<Scheme> schemes();

}  // namespace vision
