// SPDX-License-Identifier: MIT
// train: trains a small transformer with the encoding of positions that you choose. See README.md in this folder.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <numeric>
#include <stdexcept>
#include <system_error>

#include "compare.hpp"
#include "options.hpp"
#include "run.hpp"
#include "share.hpp"
#include "text.hpp"

namespace train {
namespace {

void train_one(const Options& options, const Text& text) {
    const Settings& settings = options.settings;
    const Index context = settings.shape.context;
    Run run(settings, text, options.folder);
    std::printf("%s: %td weights, %td steps of %td sequences of %td bytes\n", run_name(settings.shape).c_str(),
                run.weight_count(), settings.steps, settings.batch, context);
    run.train(options.stop_at > 0 ? options.stop_at : settings.steps, run_name(settings.shape));
    std::printf("\n  step   training   validation\n");
    const std::vector<CurvePoint>& curve = run.curve();
    for (std::size_t i = 0; i < curve.size(); ++i)
        if ((i + 1) % 5 == 0 || i + 1 == curve.size())
            std::printf("%6.0f     %6.4f       %6.4f\n", curve[i].step, curve[i].training, curve[i].validation);
    if (run.step() < settings.steps) {
        std::printf("\nStopped after step %td; the same command goes on from there.\n", run.step());
        return;
    }
    const std::vector<double> nats = run.validate(kWindows, context, context);
    std::printf("\nvalidation loss %.6f nats per byte, %td windows of %td bytes\n",
                std::accumulate(nats.begin(), nats.end(), 0.0) / static_cast<double>(kWindows), kWindows, context);
}

void train(const Options& options) {
    const Index context = options.settings.shape.context;
    const Text text(options.data, options.mode == Mode::extrapolate ? kLongest * context : context);
    if (!options.folder.empty()) {
        std::error_code error;
        std::filesystem::create_directories(options.folder, error);
        if (error) throw std::runtime_error("The folder " + options.folder + " cannot be made.");
    }
    switch (options.mode) {
        case Mode::single: train_one(options, text); break;
        case Mode::compare: compare(options.settings, text, options.seeds, options.folder); break;
        case Mode::extrapolate: extrapolate(options.settings, text, options.seeds, options.folder); break;
        case Mode::share: share(options.settings, text); break;
    }
}

}  // namespace
}  // namespace train

int main(int argc, char** argv) {
    try {
        const train::Options options = train::parse_options(argc, argv);
        if (options.help)
            std::fputs(train::kHelp, stdout);
        else
            train::train(options);
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
            throw std::runtime_error("The results cannot be written to standard output.");
        return 0;
    } catch (const std::bad_alloc&) {
        std::fputs("train: There is not enough memory for this network.\n", stderr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "train: %s\n", error.what());
    }
    return 1;
}
