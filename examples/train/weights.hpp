// SPDX-License-Identifier: MIT
// Weights: every trained number of the network in one array, so that the optimiser, the sum of gradients and the
// checkpoint need not know one from another.
#pragma once

#include <string>
#include <vector>

#include "random.hpp"
#include "shape.hpp"

namespace train {

/// Where a weight lies in the array, and how it begins.
struct Place {
    std::string name;
    Index rows = 0, cols = 0;  // 0 where the network has no such weight
    Index offset = 0;
    double mean = 0.0, deviation = 0.0;  // of the first values
    bool decays = false;                 // whether AdamW lets it decay
};

/// The weights of a network, in order.
struct WeightList {
    explicit WeightList(const Shape& shape) {
        const double fan_in = 1.0 / std::sqrt(static_cast<double>(shape.dim));
        const double fan_in_hidden = 1.0 / std::sqrt(static_cast<double>(shape.hidden()));
        // The addends of a layer to the state of a token begin small, so that the state does not grow with the layers.
        const double residual = 1.0 / std::sqrt(2.0 * static_cast<double>(shape.layers));
        const bool is_learned = shape.encoding == Encoding::learned, is_t5 = shape.encoding == Encoding::t5;
        embedding = add({"embedding", kBytes, shape.dim, 0, 0.0, fan_in, false});
        position = add({"position", is_learned ? shape.context : 0, shape.dim, 0, 0.0, fan_in, false});
        const bool learns_frequencies = shape.encoding == Encoding::rotary_learned;
        frequency = add({"frequency", learns_frequencies ? 1 : 0, shape.pairs(), 0, 0.0, 0.0, false});
        bias = add({"bias", is_t5 ? shape.heads : 0, kBuckets, 0, 0.0, 0.02, false});
        for (Index i = 0; i < shape.layers; ++i) {
            const std::string n = std::to_string(i);
            Layer layer;
            layer.norm_attention = add({"norm_attention" + n, 1, shape.dim, 0, 1.0, 0.0, false});
            layer.wq = add({"wq" + n, shape.dim, shape.dim, 0, 0.0, fan_in, true});
            layer.wk = add({"wk" + n, shape.dim, shape.dim, 0, 0.0, fan_in, true});
            layer.wv = add({"wv" + n, shape.dim, shape.dim, 0, 0.0, fan_in, true});
            layer.wo = add({"wo" + n, shape.dim, shape.dim, 0, 0.0, fan_in * residual, true});
            layer.norm_mlp = add({"norm_mlp" + n, 1, shape.dim, 0, 1.0, 0.0, false});
            layer.up = add({"up" + n, shape.hidden(), shape.dim, 0, 0.0, fan_in, true});
            layer.down = add({"down" + n, shape.dim, shape.hidden(), 0, 0.0, fan_in_hidden * residual, true});
            layers.push_back(layer);
        }
        norm_final = add({"norm_final", 1, shape.dim, 0, 1.0, 0.0, false});
    }

    static constexpr Index kBuckets = 32;  // of T5's distances
    struct Layer {
        std::size_t norm_attention, wq, wk, wv, wo, norm_mlp, up, down;
    };

    std::vector<Place> places;
    Index size = 0;
    std::size_t embedding, position, frequency, bias, norm_final;  // indices into places
    std::vector<Layer> layers;

 private:
    std::size_t add(Place place) {
        place.offset = size;
        // Whole cache lines, because the order in which Eigen adds depends on the alignment of its operands, and the
        // results of two runs must be the same bits.
        size += (place.rows * place.cols + 15) / 16 * 16;
        places.push_back(place);
        return places.size() - 1;
    }
};

/// The numbers themselves: weights, gradients or moments of the optimiser.
template <class T>
struct Weights {
    explicit Weights(const WeightList& weight_list) : list(&weight_list), numbers(Vector<T>::Zero(weight_list.size)) {}

    Eigen::Map<Matrix<T>> operator[](std::size_t i) {
        const Place& p = list->places[i];
        return {numbers.data() + p.offset, p.rows, p.cols};
    }
    Eigen::Map<const Matrix<T>> operator[](std::size_t i) const {
        const Place& p = list->places[i];
        return {numbers.data() + p.offset, p.rows, p.cols};
    }

    /// The first values. A weight that two networks share begins with the same numbers in both, because they depend on
    /// the seed and on its name alone: encodings are compared from equal beginnings.
    void draw(std::uint64_t seed) {
        for (const Place& p : list->places) {
            std::uint64_t name = 0;
            for (const char c : p.name) name = mix(name, static_cast<unsigned char>(c));
            for (Index i = 0; i < p.rows * p.cols; ++i)
                numbers[p.offset + i] = static_cast<T>(
                    p.mean +
                    (p.deviation > 0.0 ? p.deviation * normal(mix(seed, name), static_cast<std::uint64_t>(i)) : 0.0));
        }
    }

    const WeightList* list;
    Vector<T> numbers;
};

}  // namespace train
