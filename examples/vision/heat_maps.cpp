// SPDX-License-Identifier: MIT
#include "heat_maps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace vision {
namespace {

using Eigen::Index;

constexpr Index kPatch = 9, kGap = 16, kLine = 20;  // pixels
constexpr int kShades = 20;                         // on either side of 0

std::string number(Index n) { return std::to_string(n); }

std::string text(Index x, Index y, const std::string& what, const char* more = "") {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + more + ">" + what + "</text>\n";
}

std::string rectangle(Index x, Index y, Index width, Index height, const std::string& style) {
    return "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" +
           number(height) + "\" " + style + "/>\n";
}

int shade_of(double value) {
    return static_cast<int>(std::lround(std::clamp(value, -1.0, 1.0) * static_cast<double>(kShades)));
}

/// From white at 0 to blue at one end, and by orange to dark red at the other.
std::string colour(int shade) {
    static constexpr double stops[4][3] = {{32, 64, 192}, {255, 255, 255}, {244, 150, 70}, {120, 0, 20}};
    const double part = static_cast<double>(shade) / static_cast<double>(kShades);
    const int stop = part < 0.0 ? 0 : part < 0.5 ? 1 : 2;
    const double along = part < 0.0 ? part + 1.0 : part < 0.5 ? 2.0 * part : 2.0 * part - 1.0;
    int rgb[3];
    for (int i = 0; i < 3; ++i)
        rgb[i] = static_cast<int>(std::lround(stops[stop][i] + along * (stops[stop + 1][i] - stops[stop][i])));
    char code[16];
    std::snprintf(code, sizeof(code), "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
    return code;
}

/// Neighbours in a row, as a part of a path.
std::string strip(Index x, Index y, Index width) {
    return "M" + number(x) + " " + number(y) + "h" + number(width) + "v1h-" + number(width) + "z";
}

/// One path for all patches of a shade.
std::string heat_map(const Map& map, Index left, Index top) {
    std::string svg = "<g transform=\"translate(" + number(left) + " " + number(top) + ") scale(" + number(kPatch) +
                      ")\" shape-rendering=\"crispEdges\">\n";
    for (int shade = -kShades; shade <= kShades; ++shade) {
        std::string path;
        for (Index y = 0; y < map.rows(); ++y)
            for (Index x = 0; x < map.cols(); ++x) {
                const Index begin = x;
                while (x < map.cols() && shade_of(map(y, x)) == shade) ++x;
                if (x > begin) path += strip(begin, y, x - begin);
            }
        if (!path.empty()) svg += "<path fill=\"" + colour(shade) + "\" d=\"" + path + "\"/>\n";
    }
    return svg + "</g>\n";
}

}  // namespace

std::string draw(const std::vector<std::string>& titles, const std::vector<Row>& rows, Index y, Index x) {
    const Index map_width = kPatch * rows.front().maps.front().cols();
    const Index map_height = kPatch * rows.front().maps.front().rows();
    const Index across = map_width + kGap, down = kLine + map_height + kGap;
    const Index width = kGap + across * static_cast<Index>(titles.size());
    const Index height = 2 * kLine + down * static_cast<Index>(rows.size()) + 2 * kLine;
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
                      number(height) + "\" font-family=\"sans-serif\" font-size=\"12\">\n";
    svg += rectangle(0, 0, width, height, "fill=\"white\"");
    for (std::size_t i = 0; i < titles.size(); ++i)
        svg += text(kGap + across * static_cast<Index>(i), kLine, titles[i], " font-weight=\"bold\"");

    Index top = 2 * kLine;
    for (const Row& row : rows) {
        svg += text(kGap, top, row.title);
        for (std::size_t i = 0; i < row.maps.size(); ++i) {
            const Index left = kGap + across * static_cast<Index>(i), upper = top + kLine / 2;
            svg += heat_map(row.maps[i], left, upper);
            svg += rectangle(left, upper, map_width, map_height, "fill=\"none\" stroke=\"#999\"");
            svg += rectangle(left + kPatch * x, upper + kPatch * y, kPatch, kPatch,
                             "fill=\"none\" stroke=\"black\" stroke-width=\"2\"");
        }
        top += down;
    }

    svg += text(kGap, top + kLine, "score -1");
    const Index scale = kGap + 56, step = 6;
    for (int shade = -kShades; shade <= kShades; ++shade)
        svg += rectangle(scale + step * (shade + kShades), top + kLine - 11, step, 14,
                         "fill=\"" + colour(shade) + "\" shape-rendering=\"crispEdges\"");
    svg += text(scale + step * (2 * kShades + 1) + 6, top + kLine,
                "1, that of the query patch (framed) with itself; white is 0");
    return svg + "</svg>\n";
}

}  // namespace vision
