// SPDX-License-Identifier: MIT
#include "share.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "adamw.hpp"
#include "transformer.hpp"

namespace train {
namespace {

constexpr Index kWidths[] = {128, 256, 512}, kHeadDim = 64, kSteps = 9;

struct Times {
    std::vector<double> all, rotation;

    template <class F>
    void add(const F& f) {
        const double before = rotation_time.seconds();
        timing::Stopwatch watch;
        watch.time(f);
        all.push_back(watch.seconds());
        rotation.push_back(rotation_time.seconds() - before);
    }
    static double median(std::vector<double> x) {
        std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
        return x[x.size() / 2];
    }
    void print() const {
        std::printf("  %9.2f ms  %5.2f %%", 1e3 * median(all), 100.0 * median(rotation) / median(all));
    }
};

}  // namespace

void share(const Settings& settings, const Text& text) {
    std::printf("The rotation's share, one thread, %td layers, heads of %td features, %td sequences of %td bytes\n\n",
                settings.shape.layers, kHeadDim, settings.batch, settings.shape.context);
    std::printf("width        forward             training step\n");
    for (const Index width : kWidths) {
        Settings one = settings;
        one.shape.dim = width;
        one.shape.heads = width / kHeadDim;
        one.shape.encoding = Encoding::rotary;
        const Index batch = one.batch, context = one.shape.context;
        const WeightList list(one.shape);
        Weights<float> weights(list), gradients(list);
        weights.draw(one.shape.seed);
        AdamW optimiser(list);
        Positions<float> positions(one.shape, context);
        Transformer<float> network(one.shape, positions);
        Times forward, step;
        for (Index i = 0; i < kSteps; ++i) {
            const Text::Bytes bytes = text.training_batch(one.shape.seed, i, batch, context);
            const Sequences sequences(bytes.data(), batch, context);
            const auto read = [&] {
                network.forward(weights, sequences.inputs.data(), sequences.targets.data(), batch, context);
            };
            forward.add(read);
            step.add([&] {
                positions.update(weights);
                read();
                gradients.numbers.setZero();
                network.backward(weights, gradients, 1.0f / static_cast<float>(batch * context));
                optimiser.update(weights, gradients, one, i);
            });
        }
        std::printf("%5td", width);
        forward.print();
        step.print();
        std::printf("\n");
        std::fflush(stdout);
    }
    std::printf("\nMedians of %td steps.\n", kSteps);
}

}  // namespace train
