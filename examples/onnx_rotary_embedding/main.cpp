// SPDX-License-Identifier: MIT
// The operator on tensors of every shape that it knows, each result beside that of rope::apply with the table that the
// caches were taken from. Several runs share it, as the calls of an operator without state do.
#include "rotary_embedding.hpp"

#include <rope/shared_table.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "../arguments.hpp"

namespace {

using onnx_example::Attributes;
using onnx_example::Index;
using onnx_example::Shape;
using onnx_example::Tensor;
using onnx_example::text_of;

constexpr Index kBatch = 2, kSeq = 6, kHeads = 8, kHeadSize = 64, kPositions = 4096;
const std::vector<std::int64_t> kPositionIds = {0, 1, 2, 3, 4, 5, 4090, 4091, 4092, 4093, 4094, 4095};

/// cos_cache and sin_cache as an exporter writes them: the rows of all positions, or those of the tokens.
struct Caches {
    std::vector<float> cos, sin;
};
Caches caches_of(const rope::CosSinCache<float>& table, bool of_tokens) {
    Caches caches;
    const Index rows = of_tokens ? kBatch * kSeq : kPositions;
    for (Index r = 0; r < rows; ++r) {
        const Index p = of_tokens ? static_cast<Index>(kPositionIds[static_cast<std::size_t>(r)]) : r;
        caches.cos.insert(caches.cos.end(), table.cos_row(p), table.cos_row(p) + table.pairs());
        caches.sin.insert(caches.sin.end(), table.sin_row(p), table.sin_row(p) + table.pairs());
    }
    return caches;
}

void compare(const Shape& shape, bool has_ids, const Attributes& attributes, const char* said) {
    rope::Config config;
    config.head_dim = kHeadSize;
    config.rotary_dim = static_cast<Index>(attributes.rotary_embedding_dim);
    const auto table = rope::shared_table<float>(rope::frequencies(config), kPositions, {kHeadSize, 0});
    const Caches caches = caches_of(table, !has_ids);
    const Index pairs = table.pairs();
    const Shape cache_shape = has_ids ? Shape{kPositions, pairs} : Shape{kBatch, kSeq, pairs};

    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<std::size_t>(kBatch * kSeq * kHeads * kHeadSize)), y(x.size());
    for (float& number : x) number = normal(engine);
    const Tensor<const std::int64_t> ids = {kPositionIds.data(), {kBatch, kSeq}};
    onnx_example::rotary_embedding<float, float>({x.data(), shape}, {caches.cos.data(), cache_shape},
                                                 {caches.sin.data(), cache_shape}, has_ids ? &ids : nullptr,
                                                 {y.data(), shape}, attributes);

    const auto view = shape.size() == 4 ? rope::view_heads_first(x.data(), kBatch, kHeads, kSeq, kHeadSize)
                                        : rope::view(x.data(), kBatch, kSeq, kHeads, kHeadSize);
    rope::apply(attributes.interleaved != 0 ? rope::Layout::interleaved : rope::Layout::half_split, view, table,
                kPositionIds);
    float worst = 0.0f;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::fabs(x[i] - y[i]));
    std::printf("%-14s  %-11s  %-12s  %-38s  %g\n", text_of(shape).c_str(), text_of(cache_shape).c_str(),
                has_ids ? "[2, 6]" : "none", said, static_cast<double>(worst));
}

void refuse() {
    const std::vector<float> x(512), cos(4 * 32), sin(4 * 32);
    std::vector<float> y(512);
    const std::vector<std::int64_t> id = {4};
    const auto run = [&](const Shape& shape, const Attributes& attributes) {
        const Tensor<const std::int64_t> ids = {id.data(), {1, 1}};
        try {
            onnx_example::rotary_embedding<float, float>({x.data(), shape}, {cos.data(), {4, 32}},
                                                         {sin.data(), {4, 32}}, &ids, {y.data(), shape}, attributes);
        } catch (const std::exception& e) {
            std::printf("%s\n", e.what());
        }
    };
    run({1, 1, 512}, {});
    run({1, 4, 1, 128}, {});
    run({1, 8, 1, 64}, {});
}

constexpr const char* kHelp =
    "onnx_rotary_embedding: ONNX's operator RotaryEmbedding against rope::apply.\n"
    "\n"
    "  onnx_rotary_embedding   compare, and print differences and refusals\n"
    "  --help                  print this and stop\n";

}  // namespace

int main(int argc, char** argv) {
    if (const auto status = arguments::answer(argc, argv, kHelp)) return *status;
    const Shape three = {kBatch, kSeq, kHeads * kHeadSize}, four = {kBatch, kHeads, kSeq, kHeadSize};
    std::printf("RotaryEmbedding, and the largest difference from rope::apply\n\n");
    std::printf("%-14s  %-11s  %-12s  %-38s  difference\n", "X", "cos_cache", "position_ids", "attributes");
    compare(three, true, {0, kHeads, 0}, "num_heads 8");
    compare(four, true, {}, "");
    compare(four, false, {}, "");
    compare(four, true, {1, 0, 0}, "interleaved 1");
    compare(three, false, {0, kHeads, 24}, "num_heads 8, rotary_embedding_dim 24");
    std::printf("\nCalls that cannot be right\n\n");
    refuse();
}
