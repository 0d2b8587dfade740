// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "curves.hpp"
#include "run.hpp"
#include "statistics.hpp"

namespace train {
namespace {

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

/// All networks are evaluated with the rotation they were trained with; rotary embedding with the usual base also with the
/// others.
bool is_read(const Shape& shape, const Reading& reading) {
    return reading.rotation == as_trained || (rotates(shape.encoding) && shape.base == Shape().base);
}

/// Losses of one encoding, by seed and window.
using Losses = std::vector<std::vector<double>>;

void print_spread(const Losses& losses) {
    std::vector<double> means(losses.size());
    std::transform(losses.begin(), losses.end(), means.begin(), [](const auto& windows) { return mean(windows); });
    std::printf("  %.4f (%.4f, %.4f)", mean(means), *std::min_element(means.begin(), means.end()),
                *std::max_element(means.begin(), means.end()));
}
void print_difference(const Losses& losses, const Losses& first) {
    const PairedDifference difference = paired_difference(losses, first);
    std::printf("  %+.4f, error %.4f (", mean(difference.by_window), standard_error(difference.by_window));
    for (std::size_t s = 0; s < losses.size(); ++s) std::printf("%s%+.4f", s > 0 ? ", " : "", difference.by_seed[s]);
    std::printf(")");
}
constexpr char kAboutDifferences[] =
    "Minus the first: the mean difference over the same windows and seeds; its standard error over windows, which\n"
    "leaves out the variation between training runs; and in brackets the difference with each seed.\n";

int width_of(const std::vector<std::string>& names) {
    std::size_t length = 0;
    for (const std::string& name : names) length = std::max(length, name.size());
    return static_cast<int>(length);
}

}  // namespace

void compare(const Settings& settings, const Text& text, Index seeds, const std::string& folder) {
    const std::vector<Shape> shapes = entrants(settings.shape);
    const std::size_t seed_count = static_cast<std::size_t>(seeds);
    std::vector<Losses> nats(shapes.size());                                  // by entrant
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
    std::vector<std::string> names(shapes.size());
    std::transform(shapes.begin(), shapes.end(), names.begin(),
                   [](const Shape& shape) { return run_name(shape, false); });
    std::vector<Curve> curves;
    for (std::size_t i = 0; i < shapes.size(); ++i) curves.push_back({names[i], mean_curve(points[i]), true});
    const std::string of_window = settings.shape.window > 0 ? "-window" + std::to_string(settings.shape.window) : "";
    if (!folder.empty())
        write_svg(folder + "/compare-" + name_of(settings.shape.attention) + of_window + ".svg", curves);

    const int width = width_of(names);
    std::printf("Validation loss in nats per byte, %td windows of %td bytes; %td steps of %td sequences, %td seeds\n\n",
                kWindows, settings.shape.context, settings.steps, settings.batch, seeds);
    std::printf("%-*s  mean (lowest, highest)   minus the first, error (by seeds)\n", width, "encoding");
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        std::printf("%-*s", width, names[i].c_str());
        print_spread(nats[i]);
        if (i > 0) print_difference(nats[i], nats[0]);
        std::printf("\n");
    }
    std::printf("\n%s\n", kAboutDifferences);
    for (std::size_t i = 1; i < shapes.size(); ++i) {
        if (rotates(shapes[i].encoding)) continue;
        const double last = curves[i].points.back().validation, step = step_with(curves[0].points, last);
        std::printf("%-*s  ends at %.4f; %s ", width, names[i].c_str(), last, names[0].c_str());
        if (step > 0.0)
            std::printf("has that in step %.0f of %td\n", step, settings.steps);
        else
            std::printf("does not reach that\n");
    }
    std::printf(
        "\nSteps are from the mean curves. These use %td validation windows, so their last losses are other than the\n"
        "table's. In that step the learning rate is still above its last value.\n",
        kCurveWindows);
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
        "Validation loss in nats per byte over %td windows of %td bytes, cut into sequences of so many bytes as stand\n"
        "above a column; %td steps, %td seeds: mean (lowest, highest)\n\n",
        kLongWindows, length, settings.steps, seeds);
    std::vector<std::string> names;  // of the rows
    for (const Shape& shape : shapes)
        for (const Reading& reading : kReadings)
            if (is_read(shape, reading)) names.push_back(run_name(shape, false) + reading.name);
    const int width = width_of(names);
    const auto heading = [&](int column) {
        std::printf("%-*s", width, "encoding");
        for (Index times = 1; times <= kLongest; times *= 2) std::printf("  %-*td", column, context * times);
        std::printf("\n");
    };
    heading(24);
    std::vector<std::vector<Losses>> rows;  // by column
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
            if (!is_read(shape, reading)) continue;
            std::printf("%-*s", width, names[rows.size()].c_str());
            std::vector<Losses>& columns = rows.emplace_back();
            for (Index times = 1; times <= kLongest; times *= 2) {
                const rope::Config rotation = reading.rotation(static_cast<double>(times), context);
                Losses& losses = columns.emplace_back();
                for (const std::unique_ptr<Run>& run : runs)
                    losses.push_back(run->validate(kLongWindows, length, context * times, rotation));
                print_spread(losses);
            }
            std::printf("\n");
        }
        std::fflush(stdout);
    }
    std::printf("\n%s\n", kAboutDifferences);
    heading(22 + 9 * static_cast<int>(seeds));
    for (std::size_t i = 1; i < rows.size(); ++i) {
        std::printf("%-*s", width, names[i].c_str());
        for (std::size_t column = 0; column < rows[i].size(); ++column)
            print_difference(rows[i][column], rows[0][column]);
        std::printf("\n");
    }
    std::printf(
        "\nInterpolated: Config::interpolation_factor is 1, 2 and 4; YaRN: its factor is 1, 2 and 4. A network with\n"
        "another base was trained with it. Learned positions are not here: they end where training ended.\n");
}

}  // namespace train
