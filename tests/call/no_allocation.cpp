// SPDX-License-Identifier: MIT
// apply and check allocate nothing; copying a cache copies no table.
#include <rope/core.hpp>
#include <rope/gradients.hpp>
#include <rope/heads.hpp>
#include <rope/recipe.hpp>

#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/data.hpp"

using support::allocations;

namespace {

/// One layer, whose queries have a norm with a weight for each of 4 heads.
rope::ModelConfig normed_model(const rope::Config& config) {
    rope::ModelConfig model;
    model.configs = {config};
    model.config_of_layer = {0};
    model.layer_types = {rope::LayerType::full_attention};
    model.heads = {{4, 2, 2}};
    model.steps.resize(1);
    model.steps[0].q[0] = {rope::HeadStepKind::norm, {rope::NormKind::rms, rope::NormWeight::heads_x_head_dim}};
    model.steps[0].q[1] = model.steps[0].k[0] = {rope::HeadStepKind::rotation};
    return model;
}

}  // namespace

TEST_CASE("a call allocates nothing, accepted or asked about") {
    rope::Config config;
    config.head_dim = 64;
    config.attention_factor = 1.25;
    long before = allocations;
    const rope::CosSinCache<float> cache(config, 100);
    REQUIRE(allocations > before);  // the counter counts

    std::vector<float> q(10 * 4 * 64), k(10 * 2 * 64), out(q.size());
    std::vector<rope::bfloat16> narrow(q.size());
    std::vector<double> angles(10 * 32), sums(32), dw(64);
    const rope::Frequencies frequencies = rope::frequencies(config);
    const std::vector<int> ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 99};
    const std::vector<int> bad = {0, 1, 2, 3, 4, 5, 6, 7, 8, 100};
    const auto q_view = rope::view(q.data(), 10, 4, 64);
    const auto k_view = rope::view(k.data(), 10, 2, 64);
    const rope::ModelConfig model = normed_model(config);
    rope::HeadWeights weights;
    const std::vector<float> norm(4 * 64, 1.0f);
    weights.q_norm = norm;
    before = allocations;
    for (const rope::Layout layout : {rope::Layout::interleaved, rope::Layout::half_split}) {
        rope::apply(layout, q_view, k_view, cache, ids);
        rope::apply_inverse(layout, q_view, cache, rope::start_at(3));
        rope::apply_transpose(layout, k_view, cache);
        rope::apply_copy(layout, q_view, rope::view(out.data(), 10, 4, 64), cache, ids);
        rope::apply_copy<rope::Layout::half_split>(q_view, rope::view(narrow.data(), 10, 4, 64), cache,
                                                   {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    }
    rope::pass<rope::Layout::half_split>(
        cache, ids,
        rope::heads(q_view)
            .rms_norm(1e-6, {rope::NormSpan::token})
            .rotate()
            .hadamard()
            .to(rope::view(narrow.data(), 10, 4, 64)),
        rope::heads(k_view).layer_norm(q.data(), out.data(), 1e-6).rotate_into(rope::Layout::interleaved));
    rope::pass<rope::Layout::half_split>(cache, ids, rope::query_path(model, 0, rope::heads(q_view), weights),
                                         rope::key_path(model, 0, rope::heads(k_view)));
    const auto of_angles = rope::view(angles, 10, 1, 32);
    rope::add_angle_gradients<rope::Layout::half_split>(k_view, k_view, cache, of_angles);
    rope::add_frequency_gradients(of_angles, ids, rope::view(sums, 1, 1, 32));
    rope::add_position_gradients(of_angles, frequencies, rope::view(sums.data(), 10, 1, 1));
    rope::pass_backward<rope::Layout::half_split>(cache, ids, rope::heads(q_view).rms_norm(k.data(), 1e-6).rotate(),
                                                  q_view, q_view, rope::view(dw, 1, 1, 64));
    const bool fine = rope::check(q_view, k_view, cache, ids).ok();
    const rope::Status refused = rope::check(q_view, cache, bad);
    const rope::CosSinCache<float> copy = cache;  // NOLINT(performance-unnecessary-copy-initialization): counted
    const long after = allocations;
    CHECK(after == before);
    CHECK(fine);
    CHECK(!refused.ok());
    CHECK(copy.cos_row(5) == cache.cos_row(5));
}
