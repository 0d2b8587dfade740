// SPDX-License-Identifier: MIT
#include "plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace inspect {
namespace {

constexpr double kWidth = 640.0, kHeight = 300.0, kLeft = 70.0, kTop = 40.0, kGap = 50.0;

std::string number(double x) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f", x);
    return text;
}

std::string text_at(double x, double y, const std::string& text, const char* more = "") {
    std::string escaped;
    for (const char c : text) escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + more + ">" + escaped + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
    return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
           "\" " + style + "/>\n";
}

/// The exponents of ten that the vertical axis spans.
struct Decades {
    int first, last;

    double y(double top, double value) const {
        const double part = (std::log10(value) - first) / (last - first);
        return top + kHeight * (1.0 - part);
    }
};

/// The points of finite wavelengths; a pair that does not turn has none.
std::string curve(const std::vector<double>& values, const Decades& decades, double top, const char* style) {
    std::string points;
    const double last = std::max<double>(1.0, static_cast<double>(values.size()) - 1.0);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (std::isfinite(values[i]))
            points +=
                number(kLeft + kWidth * static_cast<double>(i) / last) + "," + number(decades.y(top, values[i])) + " ";
    return "<polyline fill=\"none\" points=\"" + points + "\" " + style + "/>\n";
}

std::string panel(const Spectrum& s, const std::string& title, rope::Index positions, double top) {
    double most = static_cast<double>(positions);
    for (const std::vector<double>* values : {&s.before, &s.after})
        for (const double v : *values)
            if (std::isfinite(v)) most = std::max(most, v);
    const Decades decades = {0, std::max(1, static_cast<int>(std::ceil(std::log10(most))))};
    std::string svg = text_at(kLeft, top - 12.0, title, "font-weight=\"bold\"");
    for (int e = decades.first; e <= decades.last; ++e) {
        const double y = decades.y(top, std::pow(10.0, e));
        svg += line(kLeft, y, kLeft + kWidth, y, "stroke=\"#ddd\"");
        svg += text_at(kLeft - 8.0, y + 4.0, "10^" + std::to_string(e), "text-anchor=\"end\"");
    }
    const double context = decades.y(top, static_cast<double>(positions));
    svg += line(kLeft, context, kLeft + kWidth, context, "stroke=\"#c33\" stroke-dasharray=\"6 4\"");
    svg += text_at(kLeft + 6.0, context - 5.0, "context: " + std::to_string(positions) + " positions", "fill=\"#c33\"");
    svg += curve(s.before, decades, top, "stroke=\"#999\" stroke-width=\"1.5\"");
    svg += curve(s.after, decades, top, "stroke=\"#06c\" stroke-width=\"2\"");
    svg += text_at(kLeft, top + kHeight + 18.0, "pair 0");
    svg += text_at(kLeft + kWidth, top + kHeight + 18.0, "pair " + std::to_string(s.after.size() - 1),
                   "text-anchor=\"end\"");
    return svg;
}

}  // namespace

std::string plot(const std::vector<Spectrum>& spectra, const std::vector<std::string>& titles, rope::Index positions) {
    const double step = kTop + kHeight + kGap;
    const std::string width = number(kLeft + kWidth + 30.0);
    const std::string height = number(step * static_cast<double>(spectra.size()) + 20.0);
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
                      "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    svg += text_at(kLeft, 16.0, "Wavelength in positions: by the base alone (grey), with the schedule (blue)");
    for (std::size_t i = 0; i < spectra.size(); ++i)
        svg += panel(spectra[i], titles[i], positions, 20.0 + kTop + step * static_cast<double>(i));
    return svg + "</svg>\n";
}

}  // namespace inspect
