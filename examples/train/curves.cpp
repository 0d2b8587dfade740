// SPDX-License-Identifier: MIT
#include "curves.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace train {
namespace {

constexpr double kWidth = 640.0, kHeight = 360.0, kLeft = 60.0, kTop = 40.0, kRight = 200.0, kBottom = 50.0;
constexpr const char* kColours[] = {"#06c", "#c33", "#393", "#939", "#c80", "#0aa", "#666", "#000"};

std::string number(double x, const char* format = "%.1f") {
    char text[400];  // the largest double has 309 digits
    std::snprintf(text, sizeof text, format, x);
    return text;
}

std::string text_at(double x, double y, const std::string& text, const char* more = "") {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + more + ">" + text + "</text>\n";
}

std::string begin_svg(double right) {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(kLeft + kWidth + right) + "\" height=\"" +
           number(kTop + kHeight + kBottom) +
           "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
}

/// A horizontal line with its number on the left.
std::string ruler(double y, const std::string& label) {
    return "<line x1=\"" + number(kLeft) + "\" x2=\"" + number(kLeft + kWidth) + "\" y1=\"" + number(y) + "\" y2=\"" +
           number(y) + "\" stroke=\"#ddd\"/>\n" + text_at(kLeft - 8.0, y + 4.0, label, "text-anchor=\"end\"");
}

void write(const std::string& path, const std::string& text) {
    std::ofstream stream(path, std::ios::binary);
    stream << text;
    stream.close();
    if (!stream) throw std::runtime_error("The file " + path + " cannot be written.");
}

double value(const CurvePoint& point, bool is_validation) { return is_validation ? point.validation : point.training; }

}  // namespace

std::vector<CurvePoint> mean_curve(const std::vector<std::vector<CurvePoint>>& curves) {
    std::vector<CurvePoint> result = curves.front();
    for (std::size_t i = 0; i < result.size(); ++i) {
        result[i].training = result[i].validation = 0.0;
        for (const std::vector<CurvePoint>& curve : curves) {
            result[i].training += curve[i].training / static_cast<double>(curves.size());
            result[i].validation += curve[i].validation / static_cast<double>(curves.size());
        }
    }
    return result;
}

double step_with(const std::vector<CurvePoint>& curve, double loss) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
        if (curve[i].validation > loss) continue;
        if (i == 0) return curve[0].step;
        const CurvePoint &a = curve[i - 1], &b = curve[i];
        return a.step + (b.step - a.step) * (a.validation - loss) / (a.validation - b.validation);
    }
    return 0.0;
}

void write_csv(const std::string& path, const std::vector<CurvePoint>& points) {
    std::string text = "step,training,validation\n";
    for (const CurvePoint& p : points)
        text += number(p.step, "%.0f") + "," + number(p.training, "%.6f") + "," + number(p.validation, "%.6f") + "\n";
    write(path, text);
}

void write_svg(const std::string& path, const std::vector<Curve>& curves) {
    // The first points are far above the rest and would make the differences small: the axis ends at 3.5, or at the
    // last loss of a curve that is still above.
    double last = 1.0, least = 1e9, most = 3.5;
    for (const Curve& curve : curves)
        for (const CurvePoint& p : curve.points) {
            last = std::max(last, p.step);
            least = std::min(least, value(p, curve.is_validation));
        }
    least = std::floor(4.0 * std::min(least, 3.0)) / 4.0;
    for (const Curve& curve : curves)
        if (!curve.points.empty()) most = std::max(most, value(curve.points.back(), curve.is_validation));
    const auto x = [&](double step) { return kLeft + kWidth * step / last; };
    const auto y = [&](double loss) { return kTop + kHeight * (most - loss) / (most - least); };

    std::string svg = begin_svg(kRight);
    svg += text_at(kLeft, 20.0, "Loss, nats per byte", "font-weight=\"bold\"");
    double step = 0.25;
    while ((most - least) / step > 40.0) step *= 2.0;  // of a run that diverged
    for (int i = 0; least + i * step <= most + 1e-9; ++i)
        svg += ruler(y(least + i * step), number(least + i * step, "%.2f"));
    for (int i = 0; i <= 4; ++i)
        svg += text_at(x(last * i / 4), kTop + kHeight + 20.0, number(last * i / 4, "%.0f"), "text-anchor=\"middle\"");
    svg += text_at(kLeft + kWidth / 2, kTop + kHeight + 40.0, "step", "text-anchor=\"middle\"");
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const std::string colour = kColours[i % std::size(kColours)];
        std::string points;
        for (const CurvePoint& p : curves[i].points)
            if (value(p, curves[i].is_validation) <= most)
                points += number(x(p.step)) + "," + number(y(value(p, curves[i].is_validation))) + " ";
        svg += "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" + colour + "\" points=\"";
        svg += points + "\"/>\n";
        svg += text_at(kLeft + kWidth + 12.0, kTop + 14.0 + 18.0 * static_cast<double>(i), curves[i].label,
                       ("fill=\"" + colour + "\"").c_str());
    }
    write(path, svg + "</svg>\n");
}

void write_frequencies(const std::string& path, const std::vector<float>& log_factors) {
    std::string csv = "pair,log_factor\n";
    double most = 0.01;
    for (std::size_t i = 0; i < log_factors.size(); ++i) {
        csv += std::to_string(i) + "," + number(log_factors[i], "%.6f") + "\n";
        most = std::max(most, std::fabs(static_cast<double>(log_factors[i])));
    }
    write(path + ".csv", csv);
    const double count = static_cast<double>(log_factors.size());
    const auto y = [&](double log_factor) { return kTop + 0.5 * kHeight * (1.0 - log_factor / most); };
    std::string svg = begin_svg(kLeft);
    svg += text_at(kLeft, 20.0, "Learned frequency over the first one, by pair", "font-weight=\"bold\"");
    for (const double part : {-1.0, -0.5, 0.0, 0.5, 1.0})
        svg += ruler(y(part * most), number(std::exp(part * most), "%.3f"));
    for (std::size_t i = 0; i < log_factors.size(); ++i) {
        const double x = kLeft + kWidth * (static_cast<double>(i) + 0.5) / count;
        svg += "<line x1=\"" + number(x) + "\" x2=\"" + number(x) + "\" y1=\"" + number(y(0.0)) + "\" y2=\"" +
               number(y(log_factors[i])) + "\" stroke=\"#06c\" stroke-width=\"6\"/>\n";
        svg += text_at(x, kTop + kHeight + 20.0, std::to_string(i), "text-anchor=\"middle\"");
    }
    svg += text_at(kLeft + kWidth / 2, kTop + kHeight + 40.0, "pair, from the fastest", "text-anchor=\"middle\"");
    write(path + ".svg", svg + "</svg>\n");
}

}  // namespace train
