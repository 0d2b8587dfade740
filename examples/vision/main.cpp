// SPDX-License-Identifier: MIT
// vision [maps.svg]: attention scores between the patches of a small image, for five ways to say where a patch stands.
// Prints what holds for each, and draws the scores against one patch. Exit status 0 when all of it holds.
#include <rope/rope.hpp>
#include <rope/rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "heat_maps.hpp"
#include "schemes.hpp"

namespace {

using vision::Grid;
using vision::Index;
using vision::kHeadDim;
using vision::Scheme;
using Features = Eigen::Matrix<float, Eigen::Dynamic, kHeadDim, Eigen::RowMajor>;  // [tokens, head_dim]

constexpr Grid kGrid = {12, 18}, kFiner = {3 * kGrid.height, 3 * kGrid.width};
constexpr Index kQueryY = 5, kQueryX = 14;

// Scores are parts of a patch's score with itself. What is equal by the formula differs by rounding, about ten times
// 2^-24 in each of two scores. What is not equal differs by more than kClear.
constexpr double kBound = 2e-6, kClear = 0.05;

// ---- Images ----

/// 1 where the image shows something, 0 elsewhere: a disc around the query patch, and another one.
Eigen::MatrixXd two_discs() {
    Eigen::MatrixXd image(kGrid.height, kGrid.width);
    for (Index y = 0; y < kGrid.height; ++y)
        for (Index x = 0; x < kGrid.width; ++x) {
            const Index down = y - kQueryY, right = x - kQueryX, left = x - 5;
            image(y, x) = down * down + std::min(right * right, left * left) <= 6 ? 1.0 : 0.0;
        }
    return image;
}

/// Patches that show the same have the same features, of length 1. Queries are keys.
Features features_of(const Eigen::MatrixXd& image) {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    Features kinds(2, kHeadDim);
    for (Index i = 0; i < kHeadDim; ++i) {
        kinds(0, i) = normal(engine);
        kinds(1, i) = normal(engine);
    }
    kinds.rowwise().normalize();
    Features x(kGrid.tokens(), kHeadDim);
    for (Index y = 0; y < kGrid.height; ++y)
        for (Index column = 0; column < kGrid.width; ++column)
            x.row(kGrid.token(y, column)) = kinds.row(image(y, column) > 0.0 ? 1 : 0);
    return x;
}

/// All patches alike, and all pairs of a patch: what is left is the positions.
Features equal_features() {
    return Features::Constant(kGrid.tokens(), kHeadDim, 1.0f / std::sqrt(static_cast<float>(kHeadDim)));
}

// ---- Scores ----

/// Of every patch with every patch, [tokens, tokens], once they are turned by the rows that `patches` name.
Eigen::MatrixXd scores(Features x, rope::Layout layout, const rope::Rows<float>& rows, const rope::Positions& patches) {
    rope::apply(layout, rope::view(x, 1), rows, patches);
    const Eigen::MatrixXd turned = x.cast<double>();
    return turned * turned.transpose();
}

/// Patches of the finer grid: of the nine that a patch became, the one in the middle.
std::vector<Index> middles() {
    std::vector<Index> list;
    for (Index y = 0; y < kGrid.height; ++y)
        for (Index x = 0; x < kGrid.width; ++x) list.push_back(kFiner.token(3 * y + 1, 3 * x + 1));
    return list;
}

/// By the formula, the score of a patch with the query patch when all patches are alike: the mean over the pairs of the
/// cosine of the angle between them.
double score_by_formula(const Scheme& scheme, const std::vector<double>& positions, Index token) {
    constexpr Index kPairs = kHeadDim / 2;
    const Index query = kGrid.token(kQueryY, kQueryX);
    double sum = 0.0;
    for (Index pair = 0; pair < kPairs; ++pair) {
        double angle = 0.0;
        for (Index axis = 0; axis < scheme.map.axes; ++axis) {
            const std::vector<unsigned char>& axis_of = scheme.map.axis_of;
            if (!axis_of.empty() && axis_of[static_cast<std::size_t>(pair)] != axis) continue;
            const Index entry = scheme.map.is_mixed ? axis * kPairs + pair : pair;
            const double* const p = positions.data() + axis * kGrid.tokens();
            angle += (p[token] - p[query]) * scheme.frequencies.inv_freq[static_cast<std::size_t>(entry)];
        }
        sum += std::cos(angle);
    }
    return sum / static_cast<double>(kPairs);
}

double difference_from_formula(const Scheme& scheme, const Eigen::MatrixXd& s) {
    const std::vector<double> positions = scheme.positions(kGrid);
    double worst = 0.0;
    for (Index token = 0; token < kGrid.tokens(); ++token)
        worst = std::max(
            worst, std::fabs(s(kGrid.token(kQueryY, kQueryX), token) - score_by_formula(scheme, positions, token)));
    return worst;
}

/// The largest change of a score when both patches move by the same number of rows and columns.
double change_when_moved(const Eigen::MatrixXd& s) {
    double worst = 0.0;
    for (Index down = 0; down < kGrid.height; ++down)
        for (Index right = 1 - kGrid.width; right < kGrid.width; ++right) {
            double least = 2.0, most = -2.0;
            for (Index y = 0; y + down < kGrid.height; ++y)
                for (Index x = std::max<Index>(0, -right); x < std::min(kGrid.width, kGrid.width - right); ++x) {
                    const double score = s(kGrid.token(y, x), kGrid.token(y + down, x + right));
                    least = std::min(least, score);
                    most = std::max(most, score);
                }
            worst = std::max(worst, most - least);
        }
    return worst;
}

/// The scores against the query patch, as a map.
Eigen::MatrixXd map_of(const Eigen::MatrixXd& s) {
    Eigen::MatrixXd map(kGrid.height, kGrid.width);
    for (Index y = 0; y < kGrid.height; ++y)
        for (Index x = 0; x < kGrid.width; ++x) map(y, x) = s(kGrid.token(kQueryY, kQueryX), kGrid.token(y, x));
    return map;
}

// ---- What holds ----

/// Prints a number that must be rounding, or must not; true when it is so.
bool print(double difference, bool is_zero) {
    const bool ok = is_zero ? difference <= kBound : difference >= kClear;
    std::printf("   %12.1e%s", difference, ok ? "" : " FAILED");
    return ok;
}

/// One line of the table.
bool check(const Scheme& scheme, const Eigen::MatrixXd& s, const Eigen::MatrixXd& finer) {
    const Index query = kGrid.token(kQueryY, kQueryX);
    const double right = s(query, query + 1), below = s(query, query + kGrid.width);
    const double seam = s(kGrid.token(kQueryY, kGrid.width - 1), kGrid.token(kQueryY + 1, 0));
    std::printf("%-20s%8.3f%8.3f%10.3f", scheme.name, right, below, seam);
    bool ok = s.allFinite() && finer.allFinite();
    ok = print(difference_from_formula(scheme, s), true) && ok;
    ok = print(change_when_moved(s), true) && ok;
    ok = print(std::fabs(seam - right), scheme.is_line) && ok;
    ok = print((finer - s).cwiseAbs().maxCoeff(), scheme.is_fraction) && ok;
    std::printf("\n");
    return ok;
}

bool compare(std::vector<std::string>& titles, std::vector<vision::Row>& pictures) {
    const Eigen::MatrixXd nothing = Eigen::MatrixXd::Zero(kGrid.height, kGrid.width), discs = two_discs();
    const Features equal = equal_features(), shown = features_of(discs);
    titles = {"image"};
    pictures = {{"all patches alike: the positions alone", {0.4 * nothing}},
                {"two discs of the same texture: content and positions", {0.4 * discs}}};
    const std::vector<Index> in_the_middle = middles();
    bool ok = true;
    for (const Scheme& scheme : vision::schemes()) {
        rope::Rows<float> rows(scheme.frequencies, scheme.map);
        const auto build = [&](Grid grid) {
            const std::vector<double> positions = scheme.positions(grid);
            rows.build(rope::AxisPositions(positions.data(), scheme.map.axes, grid.tokens()), grid.tokens());
        };
        build(kFiner);
        const Eigen::MatrixXd of_finer = scores(equal, scheme.layout, rows, in_the_middle);
        build(kGrid);
        const Eigen::MatrixXd of_equal = scores(equal, scheme.layout, rows, {});
        ok = check(scheme, of_equal, of_finer) && ok;
        titles.emplace_back(scheme.name);
        pictures[0].maps.push_back(map_of(of_equal));
        pictures[1].maps.push_back(map_of(scores(shown, scheme.layout, rows, {})));
    }
    return ok;
}

constexpr const char* kHelp =
    "vision: scores of an image under two-dimensional schemes, as numbers and as heat maps.\n"
    "\n"
    "  vision [FILE]   print the numbers, and draw the maps into a file, as SVG\n"
    "  --help          print this and stop\n";

int run(int argc, const char* const* argv) {
    if (const auto status = arguments::answer(argc, argv, kHelp, 1)) return *status;
    std::printf("Scores of an image of %td x %td patches that are all alike, 1 being that of a patch with itself\n\n",
                kGrid.height, kGrid.width);
    std::printf(
        "                    patch to   patch    across      minus the    change when     seam minus    change when\n");
    std::printf(
        "                       right   below    a seam        formula      both move          right     made finer\n");
    std::vector<std::string> titles;
    std::vector<vision::Row> pictures;
    const bool ok = compare(titles, pictures);
    if (argc == 2) {
        std::ofstream file(argv[1], std::ios::binary);
        file << vision::draw(titles, pictures, kQueryY, kQueryX) << std::flush;
        if (!file) throw std::runtime_error("The file \"" + std::string(argv[1]) + "\" cannot be written.");
    }
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "vision: %s\n", error.what());
        return 1;
    }
}
