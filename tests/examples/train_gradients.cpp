// SPDX-License-Identifier: MIT
// The gradient of examples/train is right, for every encoding and every attention: each kind of weight
// against central differences of the loss, in double.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "transformer.hpp"

namespace {

using namespace train;

// 70 tokens: two blocks of queries, and distances in T5's wide buckets.
constexpr Index kBatch = 2, kSeq = 70;
constexpr Index kSamples = 5;  // numbers of each weight
constexpr double kBound = 1e-5;

struct Case {
    const char* name;
    Encoding encoding;
    Attention attention = Attention::softmax;
    RotateAt rotate_at = RotateAt::before;
    Index rotary_dim = 0;
    Index window = 0;
    double base = 10000.0;
};

/// The largest difference between the gradient and its estimate, as a part of the larger of both; of numbers below a
/// thousandth of the weight's largest, as a part of that.
double worst_error(const Case& c) {
    Shape shape;
    shape.dim = 8;
    shape.heads = 2;
    shape.context = kSeq;
    shape.encoding = c.encoding;
    shape.attention = c.attention;
    shape.rotate_at = c.rotate_at;
    shape.rotary_dim = c.rotary_dim;
    shape.window = c.window;
    shape.base = c.base;
    shape.features = 6;
    const WeightList list(shape);
    Weights<double> weights(list), gradients(list);
    weights.draw(1);
    Positions<double> positions(shape, kSeq);
    Transformer<double> network(shape, positions);
    std::vector<unsigned char> bytes(static_cast<std::size_t>(kBatch * kSeq + 1));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(mix(2, i) % 8);

    const double scale = 1.0 / (kBatch * kSeq);
    const auto loss = [&] {
        double sum = 0.0;
        positions.update(weights);
        for (const double nats : network.forward(weights, bytes.data(), bytes.data() + 1, kBatch, kSeq)) sum += nats;
        return sum * scale;
    };
    (void)loss();
    network.backward(weights, gradients, scale);

    double worst = 0.0;
    for (const Place& place : list.places) {
        const Index size = place.rows * place.cols;
        if (size == 0) continue;
        const double small = 1e-3 * gradients.numbers.segment(place.offset, size).cwiseAbs().maxCoeff();
        if (!(small > 0.0)) {
            std::printf("%s: %s has no gradient\n", c.name, place.name.c_str());
            return HUGE_VAL;
        }
        for (Index sample = 0; sample < kSamples; ++sample) {
            // Of the embeddings, half of the numbers belong to bytes that occur.
            const Index among = place.name == "embedding" && sample % 2 == 0 ? 8 * shape.dim : size;
            const Index i = place.offset + static_cast<Index>(mix(3, static_cast<std::uint64_t>(sample)) %
                                                              static_cast<std::uint64_t>(among));
            double& number = weights.numbers[i];
            const double before = number, step = 1e-4;
            const auto at = [&](double x) {
                number = before + x;
                const double result = loss();
                number = before;
                return result;
            };
            const double estimate = (8.0 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12.0 * step);
            const double computed = gradients.numbers[i];
            const double error =
                std::abs(computed - estimate) / std::max({std::abs(computed), std::abs(estimate), small});
            if (!(error < kBound))
                std::printf("%s: %s[%td] has the gradient %.9g, and differences say %.9g\n", c.name, place.name.c_str(),
                            i - place.offset, computed, estimate);
            worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
        }
    }
    return worst;
}

}  // namespace

int main() {
    constexpr Attention favor = Attention::favor, elu = Attention::elu;
    constexpr RotateAt before = RotateAt::before, after = RotateAt::after;
    const Case cases[] = {{"none", Encoding::none},
                          {"sinusoidal", Encoding::sinusoidal},
                          {"learned", Encoding::learned},
                          {"t5", Encoding::t5},
                          {"alibi", Encoding::alibi},
                          {"rotary", Encoding::rotary},
                          {"rotary-interleaved", Encoding::rotary_interleaved},
                          {"rotary-learned", Encoding::rotary_learned},
                          {"rotary-learned, half of the head", Encoding::rotary_learned, Attention::softmax, before, 2},
                          {"rotary, half of the head", Encoding::rotary, Attention::softmax, before, 2},
                          {"rotary, base 50", Encoding::rotary, Attention::softmax, before, 0, 0, 50.0},
                          {"rotary-learned, base 50", Encoding::rotary_learned, Attention::softmax, before, 0, 0, 50.0},
                          {"rotary, window 5", Encoding::rotary, Attention::softmax, before, 0, 5},
                          {"t5, window 66", Encoding::t5, Attention::softmax, before, 0, 66},
                          {"none, window 2", Encoding::none, Attention::softmax, before, 0, 2},
                          {"favor, none", Encoding::none, favor},
                          {"favor, learned", Encoding::learned, favor},
                          {"favor, rotary before", Encoding::rotary, favor},
                          {"favor, rotary after", Encoding::rotary, favor, after},
                          {"favor, rotary-interleaved after", Encoding::rotary_interleaved, favor, after},
                          {"favor, rotary-learned after", Encoding::rotary_learned, favor, after},
                          {"elu, sinusoidal", Encoding::sinusoidal, elu},
                          {"elu, rotary before", Encoding::rotary, elu},
                          {"elu, rotary-interleaved after", Encoding::rotary_interleaved, elu, after}};
    bool ok = true;
    for (const Case& c : cases) {
        const double worst = worst_error(c);
        std::printf("%-34s largest relative error %.1e%s\n", c.name, worst, worst < kBound ? "" : " (FAILED)");
        ok = ok && worst < kBound;
    }
    return ok ? 0 : 1;
}
