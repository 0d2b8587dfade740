// SPDX-License-Identifier: MIT
// Heat maps side by side, as SVG.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

namespace vision {

/// Values of an image's patches, from -1 (blue) through 0 (white) to 1 (red).
using Map = Eigen::MatrixXd;

struct Row {
    std::string title;
    std::vector<Map> maps;
};

/// One picture of all maps: a row of them for each Row, titles above, a scale below. All maps have the same size, and
/// the patch (y, x) is framed in each.
std::string draw(const std::vector<std::string>& titles, const std::vector<Row>& rows, Eigen::Index y, Eigen::Index x);

}  // namespace vision
