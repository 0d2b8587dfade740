// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>

#include "curves.hpp"
#include "run.hpp"

namespace train {
namespace {

double mean(const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

std::vector<double> minus(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> difference(a.size());
    std::transform(a.begin(), a.end(), b.begin(), difference.begin(), [](double x, double y) { return x - y; });
    return difference;
}

/// The standard error of the mean.
double standard_error(const std::vector<double>& x) {
    const double m = mean(x), n = static_cast<double>(x.size());
    double squares = 0.0;
    for (const double value : x) squares += (value - m) * (value - m);
    return std::sqrt(squares / (n * (n - 1.0)));
}

/// Rotary embedding comes first: the others are compared with it.
std::vector<Shape> entrants(const Shape& shape) {
    std::vector<Shape> all;
    const auto add = [&](Encoding encoding, RotateAt rotate_at = RotateAt::before) {
        all.push_back(shape);
        all.back().encoding = encoding;
        all.back().rotate_at = rotate_at;
    };
    add(Encoding::rotary);
    if (!shape.is_linear() && shape.window == 0) add(Encoding::rotary_learned);
    if (shape.is_linear()) add(Encoding::rotary, RotateAt::after);
    if (!shape.is_linear()) add(Encoding::t5);
    if (shape.window == 0) add(Encoding::learned);
    add(Encoding::sinusoidal);
    add(Encoding::none);
    return all;
}

rope::Config as_trained(double, Index) { return {}; }

rope::Config interpolated(double times, Index) {
    rope::Config rotation;
    rotation.interpolation_factor = times;
    return rotation;
}

rope::Config yarn(double times, Index context) {
    rope::schedule::Yarn schedule;
    schedule.factor = times;
    schedule.original_max_position_embeddings = context;
    rope::Config rotation;
    rotation.schedule = schedule;
    return rotation;
}

/// The Config of rotary embedding for sequences a number of times as long as in training.
struct Reading {
    const char* name;
    rope::Config (*rotation)(double times, Index context);
};
constexpr Reading kReadings[] = {{"", as_trained}, {", interpolated", interpolated}, {", YaRN", yarn}};

/// The mean of curves that have the same steps.
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

/// The step at which a curve first has a validation loss, between the points in a straight line; 0 if it never has.
double step_with(const std::vector<CurvePoint>& curve, double loss) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
        if (curve[i].validation > loss) continue;
        if (i == 0) return curve[0].step;
        const CurvePoint &a = curve[i - 1], &b = curve[i];
        return a.step + (b.step - a.step) * (a.validation - loss) / (a.validation - b.validation);
    }
    return 0.0;
}

}  // namespace

void compare(const Settings& settings, const Text& text, Index seeds, const std::string& folder) {
    const std::vector<Shape> shapes = entrants(settings.shape);
    const std::size_t seed_count = static_cast<std::size_t>(seeds);
    std::vector<std::vector<std::vector<double>>> nats(shapes.size());        // by entrant, seed and window
    std::vector<std::vector<std::vector<CurvePoint>>> points(shapes.size());  // by entrant and seed
    for (std::size_t s = 0; s < seed_count; ++s)
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            Settings one = settings;
            one.shape = shapes[i];
            one.shape.seed = s + 1;
            Run run(one, text, folder);
            run.train(one.steps, std::to_string(s * shapes.size() + i + 1) + "/" +
                                     std::to_string(shapes.size() * seed_count) + " " + run_name(one.shape));
            nats[i].push_back(run.validate(kWindows, one.shape.context, one.shape.context));
            points[i].push_back(run.curve());
        }
    std::vector<Curve> curves;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        curves.push_back({run_name(shapes[i], false), mean_curve(points[i]), true});
    const std::string of_window = settings.shape.window > 0 ? "-window" + std::to_string(settings.shape.window) : "";
    if (!folder.empty())
        write_svg(folder + "/compare-" + name_of(settings.shape.attention) + of_window + ".svg", curves);

    std::printf("Validation loss in nats per byte, %td windows of %td bytes; %td steps of %td sequences, %td seeds\n\n",
                kWindows, settings.shape.context, settings.steps, settings.batch, seeds);
    std::printf("encoding               mean   lowest  highest   minus rotary, by windows    by seeds\n");
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        std::vector<double> means, seed_differences, window_differences(static_cast<std::size_t>(kWindows), 0.0);
        for (std::size_t s = 0; s < seed_count; ++s) {
            means.push_back(mean(nats[i][s]));
            const std::vector<double> difference = minus(nats[i][s], nats[0][s]);
            seed_differences.push_back(mean(difference));
            for (std::size_t w = 0; w < difference.size(); ++w)
                window_differences[w] += difference[w] / static_cast<double>(seeds);
        }
        std::printf("%-20s %6.4f   %6.4f   %6.4f", run_name(shapes[i], false).c_str(), mean(means),
                    *std::min_element(means.begin(), means.end()), *std::max_element(means.begin(), means.end()));
        if (i > 0) {
            std::printf("   %+.4f, error %.4f     ", mean(window_differences), standard_error(window_differences));
            for (const double d : seed_differences) std::printf("  %+.4f", d);
        }
        std::printf("\n");
    }
    std::printf("\nThe difference is that of means over all seeds, its error the standard error over windows.\n\n");
    for (std::size_t i = 1; i < shapes.size(); ++i) {
        const double last = curves[i].points.back().validation, step = step_with(curves[0].points, last);
        std::printf("%-20s ends at %.4f; ", run_name(shapes[i], false).c_str(), last);
        if (step > 0.0)
            std::printf("rotary has that in step %.0f of %td\n", step, settings.steps);
        else
            std::printf("rotary does not reach that\n");
    }
    std::printf("\nBy the curves, whose points are of %td windows.\n", kCurveWindows);
}

void extrapolate(const Settings& settings, const Text& text, Index seeds, const std::string& folder) {
    constexpr Index kLongWindows = kWindows / kLongest;
    const Index context = settings.shape.context, length = kLongest * context;
    std::vector<Shape> shapes;
    const auto add = [&](Encoding encoding, double base = Shape().base) {
        if (settings.shape.is_linear() && has_score_bias(encoding)) return;
        shapes.push_back(settings.shape);
        shapes.back().encoding = encoding;
        shapes.back().base = base;
    };
    add(Encoding::rotary);
    for (const double base : {5e4, 5e5}) add(Encoding::rotary, base);
    for (const Encoding other : {Encoding::t5, Encoding::sinusoidal, Encoding::none, Encoding::alibi}) add(other);

    std::printf(
        "Validation loss in nats per byte, the same %td windows of %td bytes read in sequences of so many bytes;\n"
        "%td steps, %td seeds: mean (lowest, highest)\n\n",
        kLongWindows, length, settings.steps, seeds);
    std::printf("encoding                      ");
    for (Index times = 1; times <= kLongest; times *= 2) std::printf("  %5td                   ", context * times);
    std::printf("\n");
    for (const Shape& shape : shapes) {
        std::vector<std::unique_ptr<Run>> runs;
        for (Index seed = 1; seed <= seeds; ++seed) {
            Settings one = settings;
            one.shape = shape;
            one.shape.seed = static_cast<std::uint64_t>(seed);
            runs.push_back(std::make_unique<Run>(one, text, folder));
            runs.back()->train(one.steps, run_name(one.shape));
        }
        for (const Reading& reading : kReadings) {
            const bool is_plain = reading.name[0] == '\0';
            if (!is_plain && (!rotates(shape.encoding) || shape.base != Shape().base)) continue;
            std::printf("%-30s", (run_name(shape, false) + reading.name).c_str());
            for (Index times = 1; times <= kLongest; times *= 2) {
                std::vector<double> losses(runs.size());
                const rope::Config rotation = reading.rotation(static_cast<double>(times), context);
                std::transform(runs.begin(), runs.end(), losses.begin(), [&](const std::unique_ptr<Run>& run) {
                    return mean(run->validate(kLongWindows, length, context * times, rotation));
                });
                std::printf("  %6.4f (%6.4f, %6.4f)", mean(losses), *std::min_element(losses.begin(), losses.end()),
                            *std::max_element(losses.begin(), losses.end()));
            }
            std::printf("\n");
        }
        std::fflush(stdout);
    }
    std::printf(
        "\nLearned positions end where training ended. Interpolated: Config::interpolation_factor is 1, 2, 4; YaRN: "
        "its\n"
        "factor is. A base is that of training, too.\n");
}

}  // namespace train
