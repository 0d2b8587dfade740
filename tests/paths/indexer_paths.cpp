// SPDX-License-Identifier: MIT
// The indexer of sparse attention, from a model's file: its paths against the formulas of the published code, in double.
#include <rope/hf_config.hpp>
#include <rope/recipe.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using support::size;

namespace {

constexpr Index kTokens = 5, kFirst = 40;

ModelConfig model_of(const std::string& type, const std::string& more = "") {
    return rope::read_hf_config(R"({"model_type": ")" + type +
                                R"(", "hidden_size": 1024, "head_dim": 128, "num_attention_heads": 8,
        "num_key_value_heads": 8, "num_hidden_layers": 3, "max_position_embeddings": 4096, "rope_theta": 10000.0,
        "rms_norm_eps": 1e-05, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "q_lora_rank": 512)" +
                                more + "}");
}

/// The indexer of one published code: which features rotate, in pairs of which kind, and which norm comes first.
struct Published {
    const char* type;
    const char* more;
    Layout layout;
    Index heads, offset;
    bool is_rms, has_hadamard;  // RMS of q and k with 1 + weight, in place of LayerNorm of k
    double eps;
};
const char* const kMiniMax =
    R"(, "rotary_dim": 64, "sparse_attention_config": {"sparse_num_index_heads": 4, "sparse_index_dim": 128,
        "use_sparse_attention": true, "sparse_attention_freq": [0, 1, 1]})";
const Published kPublished[] = {
    {"deepseek_v32", "", Layout::half_split, 64, 0, false, true, 1e-6},
    {"deepseek_v32", R"(, "index_n_heads": 16)", Layout::half_split, 16, 0, false, true, 1e-6},
    {"glm_moe_dsa", "", Layout::interleaved, 32, 0, false, true, 1e-6},
    {"glm_moe_dsa", R"(, "indexer_rope_interleave": true)", Layout::interleaved, 32, 0, false, true, 1e-6},
    {"glm_moe_dsa", R"(, "indexer_rope_interleave": false)", Layout::half_split, 32, 0, false, true, 1e-6},
    {"hy_v4", "", Layout::half_split, 16, 64, false, false, 1e-5},
    {"minimax_m3_vl_text", kMiniMax, Layout::half_split, 4, 0, true, false, 1e-5},
};
Index sparse_layer(const ModelConfig& m) {
    const auto at = std::find(m.layer_types.begin(), m.layer_types.end(), rope::LayerType::sparse_attention);
    REQUIRE(at != m.layer_types.end());
    return at - m.layer_types.begin();
}

/// A head as the published code leaves it.
std::vector<double> head_of(const Published& p, std::vector<double> x, bool is_key, Index position,
                            const std::vector<float>& w, const std::vector<float>& b) {
    const double n = static_cast<double>(x.size());
    double mean = 0, squares = 0;
    for (const double v : x) mean += p.is_rms ? 0 : v / n;
    for (const double v : x) squares += (v - mean) * (v - mean) / n;
    for (std::size_t i = 0; i < x.size() && (is_key || p.is_rms); ++i) {
        const double normed = (x[i] - mean) / std::sqrt(squares + p.eps);
        x[i] = p.is_rms ? normed * (1.0 + double(w[i])) : normed * double(w[i]) + double(b[i]);
    }
    for (Index i = 0; i < 32; ++i) {
        const bool is_split = p.layout == Layout::half_split;
        double& a = x[size(p.offset + (is_split ? i : 2 * i))];
        double& c = x[size(p.offset + (is_split ? i + 32 : 2 * i + 1))];
        const double angle = static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(i) / 32.0),
                     first = a;
        a = first * std::cos(angle) - c * std::sin(angle);
        c = c * std::cos(angle) + first * std::sin(angle);
    }
    for (std::size_t distance = 1; distance < x.size() && p.has_hadamard; distance *= 2)
        for (std::size_t i = 0; i < x.size(); ++i)
            if ((i & distance) == 0) {
                const double sum = x[i] + x[i + distance];
                x[i + distance] = (x[i] - x[i + distance]) * std::sqrt(0.5);
                x[i] = sum * std::sqrt(0.5);
            }
    return x;
}

}  // namespace

TEST_CASE("paths of an indexer are the published code's") {
    for (const Published& p : kPublished) {
        CAPTURE(p.type, p.more);
        const ModelConfig model = model_of(p.type, p.more);
        REQUIRE(model.indexer);
        const rope::Indexer& indexer = *model.indexer;
        CHECK(indexer.heads == p.heads);
        CHECK(indexer.config.layout == p.layout);
        CHECK(indexer.has_hadamard == p.has_hadamard);
        for (const std::string& warning : model.warnings)
            CHECK(warning.find("indexer were not used") == std::string::npos);
        const Index layer = sparse_layer(model), dim = indexer.config.head_dim;
        REQUIRE(dim == 128);
        const std::vector<float> w = support::normal<float>(dim, 5), b = support::normal<float>(dim, 6);
        const std::vector<float> of_q = support::normal<float>(kTokens * p.heads * dim, 1),
                                 of_k = support::normal<float>(kTokens * dim, 2);
        std::vector<float> q(of_q.size()), k(of_k.size());
        rope::HeadWeights of_query, of_key;
        of_key.k_norm = w;
        if (p.is_rms) of_query.q_norm = w;
        if (!p.is_rms) of_key.k_norm_bias = b;
        const rope::CosSinCache<float> rows(indexer.config, 64);
        const auto q_in = rope::view(of_q.data(), kTokens, p.heads, dim);
        const auto k_in = rope::view(of_k.data(), kTokens, 1, dim);
        rope::pass(
            p.layout, rows, rope::start_at(kFirst),
            rope::indexer_query_path(model, layer, rope::heads(q_in), of_query)
                .to(rope::view(q.data(), kTokens, p.heads, dim)),
            rope::indexer_key_path(model, layer, rope::heads(k_in), of_key).to(rope::view(k.data(), kTokens, 1, dim)));
        double worst = 0;
        const auto compare = [&](const std::vector<float>& got, const std::vector<float>& given, Index heads,
                                 bool is_key) {
            for (Index t = 0; t < kTokens; ++t)
                for (Index h = 0; h < heads; ++h) {
                    const auto at = static_cast<std::ptrdiff_t>((t * heads + h) * dim);
                    const std::vector<double> want =
                        head_of(p, {given.begin() + at, given.begin() + at + dim}, is_key, kFirst + t, w, b);
                    for (Index i = 0; i < dim; ++i)
                        worst = std::max(worst, std::abs(double(got[size(at + i)]) - want[size(i)]));
                }
        };
        compare(q, of_q, p.heads, false);
        compare(k, of_k, 1, true);
        CHECK(worst < 2e-5);
        // And to the format of these caches.
        std::vector<unsigned char> codes(of_k.size()), powers(size(kTokens));
        std::vector<float> read(of_k.size());
        const auto fp8 =
            rope::fp8_e4m3(rope::view(codes.data(), kTokens, 1, dim), rope::view(powers.data(), kTokens, 1, 1));
        rope::pass(p.layout, rows, rope::start_at(kFirst),
                   rope::indexer_key_path(model, layer, rope::heads(k_in), of_key).to(fp8));
        rope::dequantise(fp8, rope::view(read.data(), kTokens, 1, dim));
        float most = 0, far = 0;
        for (std::size_t i = 0; i < k.size(); ++i) {
            most = std::max(most, std::abs(k[i]));
            far = std::max(far, std::abs(k[i] - read[i]));
        }
        CHECK(far <= most / 16);
    }
}

TEST_CASE("layers and models without an indexer, and one that no Indexer describes") {
    std::vector<float> x(128, 1.0f);
    const auto key = [&](const ModelConfig& m, Index layer) {
        return support::invalid(
            [&] { (void)rope::indexer_key_path(m, layer, rope::heads(rope::view(x.data(), 1, 1, 128))); });
    };
    const ModelConfig deepseek = model_of("deepseek_v32");
    CHECK(key(deepseek, 0) == "k_norm is missing; layer 0 of this model needs it, with the shape [1, 1, 1, 128].");
    CHECK(key(model_of("llama"), 1) == "layer 1 of this model has no indexer: its attention is not sparse.");
    ModelConfig unknown = deepseek;
    unknown.indexer.reset();
    CHECK(key(unknown, 0) == "the indexer of this model is not known; make its paths by hand.");
    CHECK(support::out_of_range([&] {
              (void)rope::indexer_query_path(deepseek, 3, rope::heads(rope::view(x.data(), 1, 1, 128)));
          }) == "layer is 3; this model has 3 layers, counted from 0.");
    rope::HeadWeights weights;
    weights.q_norm = x.data();
    CHECK(support::invalid([&] {
              (void)rope::indexer_query_path(deepseek, 0, rope::heads(rope::view(x.data(), 1, 1, 128)), weights);
          }) == "q_norm is given; layer 0 of this model has no such numbers: leave it empty.");
    CHECK(support::invalid([] {
              (void)model_of("deepseek_v32", R"(, "index_head_dim": 32)");
          }).find("index_head_dim is 32; it must be at least the number of features that rotate (64).") !=
          std::string::npos);
    ModelConfig bad = deepseek;
    bad.indexer->config.head_dim = 63;
    CHECK_FALSE(rope::check(bad).ok());
}
