// SPDX-License-Identifier: MIT
// RotaryStep: one set of rows, or of moves, per step serves all layers of a model, also on several axes and in a pass;
// RotaryEmbedding moves the keys of a layer, and its tables reach the length that the model's scaling is made for.
#include <rope/core.hpp>
#include <rope/heads.hpp>
#include <rope/position_builders.hpp>
#include <rope/recipe.hpp>
#include <rope/rotary_embedding.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/models.hpp"
#include "support/refusal.hpp"

using rope::AxisPositions;
using rope::Config;
using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using support::config_of;
using support::model_of;
using support::refusal;
using support::size;

namespace {

constexpr Index kTokens = 5;

/// q and k of one layer, [tokens, heads, head_dim].
template <class T>
struct Heads {
    Index head_dim;
    std::vector<T> q, k;

    explicit Heads(Index dim) : head_dim(dim) {
        for (Index i = 0; i < kTokens * 3 * dim; ++i) q.push_back(static_cast<T>(std::sin(static_cast<double>(i))));
        for (Index i = 0; i < kTokens * 2 * dim; ++i) k.push_back(static_cast<T>(std::cos(static_cast<double>(i))));
    }
    auto q_view() { return rope::view(q.data(), kTokens, 3, head_dim); }
    auto k_view() { return rope::view(k.data(), kTokens, 2, head_dim); }
};

/// Two schedules, two layouts, partial heads, xPos and a layer without RoPE.
ModelConfig mixed() {
    Config partial = config_of(32, 1e6), xpos = config_of(32, 1e4), other = config_of(32, 1e4);
    partial.rotary_dim = 16;
    partial.rotary_offset = 16;
    xpos.schedule = rope::schedule::Xpos();
    other.layout = Layout::interleaved;
    return model_of({config_of(32, 1e4), partial, xpos, other}, {0, 1, 2, 3, -1, 0}, 300);
}

}  // namespace

TEMPLATE_TEST_CASE("a step at text positions gives each layer the bits of its table", "", float, double) {
    using T = TestType;
    const rope::RotaryEmbedding<T> rotary(mixed());
    rope::RotaryStep<T> step(rotary);
    step.build(rope::start_at(7), kTokens);
    for (Index layer = 0; layer < rotary.model().layers(); ++layer) {
        CAPTURE(layer);
        Heads<T> by_table(32), by_step(32);
        rotary.apply(layer, by_table.q_view(), by_table.k_view(), rope::start_at(7));
        step.apply(layer, by_step.q_view(), by_step.k_view());
        CHECK(by_step.q == by_table.q);
        CHECK(by_step.k == by_table.k);
        CHECK((by_step.q == Heads<T>(32).q) == (layer == 4));
    }
}

TEST_CASE("a step on several axes is that of the model's axis map") {
    ModelConfig model = model_of({config_of(32, 1e4)}, {0, -1}, 300);
    model.axis_map = rope::mrope_interleaved({6, 5, 5});
    const std::vector<Index> ids = {0, 1, 2, 3, 4, 7, 7, 8, 8, 9, 20, 21, 20, 21, 20};  // t, h, w
    const rope::RotaryEmbedding<float> rotary(model);
    rope::RotaryStep<float> step(rotary);
    step.build(AxisPositions(ids, 3), kTokens);
    Heads<float> got(32), want(32);
    step.apply(0, got.q_view(), got.k_view());
    rope::Rows<float> rows(model.configs[0], model.axis_map);
    rows.build(AxisPositions(ids, 3), kTokens);
    rope::apply(*model.configs[0].layout, want.q_view(), want.k_view(), rows);
    CHECK(got.q == want.q);
    CHECK(got.k == want.k);
    step.apply(1, got.q_view(), got.k_view());  // without RoPE
    CHECK(got.q == want.q);
    CHECK(refusal([&] { step.build(AxisPositions(ids, 5), 3); }).message == "positions has 5 axes; the map has 3.");
    // A map that is not for the model's pairs is none.
    model.axis_map = rope::mrope_sections({8, 9});
    CHECK(refusal([&] { rope::RotaryEmbedding<float> bad(model); }).message ==
          "The sections of the map (or its axis_of) have 17 pairs; they must add up to 16, one pair for two features "
          "that rotate.");
}

TEST_CASE("a pass with the rows of a step is the step's apply") {
    // An image of 2 x 1 between texts, layers with and without RoPE, and xPos, whose keys have rows of their own.
    ModelConfig model = mixed();
    model.configs.erase(model.configs.begin() + 1);  // whose pairs are fewer
    model.config_of_layer = {0, -1, 1, 2, -1, 0};
    model.axis_map = rope::mrope_interleaved({6, 5, 5});
    model.steps.resize(6);
    for (Index layer = 0; layer < 6; ++layer) model.steps[size(layer)].keys_of_layer = layer;
    const rope::RotaryEmbedding<float> rotary(model);
    rope::RotaryStep<float> step(rotary);
    CHECK(refusal([&] { (void)step.rows(6); }).message == "layer is 6; this model has 6 layers, counted from 0.");
    CHECK(refusal([&] {
              Heads<float> x(32);
              rope::pass<Layout::half_split>(step.rows(0)->q, rope::start_at(0), rope::heads(x.q_view()).rotate());
          }).message == "positions are those of 5 tokens; this table of rows holds none (yet).");
    const auto prompt = rope::mrope_prompt<double>({rope::text_span(2), rope::video_span(2, 1, 1, 0.5, 13.0),  //
                                                    rope::text_span(1)});
    REQUIRE(prompt.tokens == kTokens);
    const double next = static_cast<double>(prompt.tokens) + prompt.delta;  // a fraction
    CHECK(next == 10.5);
    for (const bool is_prompt : {true, false}) {
        const std::vector<double> decoding(kTokens, next);
        REQUIRE_NOTHROW(step.build(
            is_prompt ? AxisPositions(prompt.positions, 3) : AxisPositions(decoding.data(), 3, kTokens, 0), kTokens));
        for (Index layer = 0; layer < 6; ++layer) {
            CAPTURE(is_prompt, layer);
            Heads<float> by_apply(32), by_pass(32), by_text(32);
            step.apply(layer, by_apply.q_view(), by_apply.k_view());
            const auto rows = step.rows(layer);
            CHECK(rows.has_value() == (model.layer(layer) != nullptr));
            if (!rows) continue;
            CHECK(rows->layout() == *model.layer(layer)->layout);
            CHECK((&rows->q == &rows->k) == (layer != 2));
            const auto run = [&](Heads<float>& x, const rope::CosSinRows<float>& q, const rope::CosSinRows<float>& k,
                                 const rope::RecipeOptions& options) {
                constexpr Index first = 0;
                const auto path_of_q = rope::query_path(model, layer, rope::heads(x.q_view()), {}, options);
                const auto path_of_k = rope::key_path(model, layer, rope::heads(x.k_view()), {}, options);
                if (rows->layout() == Layout::half_split) {
                    rope::pass<Layout::half_split>(q, rope::start_at(first), path_of_q);
                    rope::pass<Layout::half_split>(k, rope::start_at(first), path_of_k);
                } else {
                    rope::pass<Layout::interleaved>(q, rope::start_at(first), path_of_q);
                    rope::pass<Layout::interleaved>(k, rope::start_at(first), path_of_k);
                }
            };
            run(by_pass, rows->q, rows->k, {});
            CHECK(by_pass.q == by_apply.q);
            CHECK(by_pass.k == by_apply.k);
            const auto by_position = rotary.table(layer);
            const Heads<float> before = by_text;
            CHECK(refusal([&] { run(by_text, by_position->q, by_position->k, {}); }).message ==
                  "path 1 is of a model with several axes of positions, and its cache has one: give it the rows of a "
                  "RotaryStep, or, for text alone, set axes_are_alike of RecipeOptions.");
            CHECK(by_text.q == before.q);
            rope::RecipeOptions of_text;
            of_text.axes_are_alike = true;
            run(by_text, by_position->q, by_position->k, of_text);
            CHECK(by_text.q != by_apply.q);
        }
    }
    // The rows know the layout of the layer's weights, as its table does.
    Heads<float> x(32);
    CHECK(refusal([&] {
              rope::pass<Layout::interleaved>(step.rows(0)->q, rope::start_at(0), rope::heads(x.q_view()).rotate());
          }).message.find("layout is interleaved") != std::string::npos);
}

TEST_CASE("rows and moves of a step end where the tables' numbers for a sequence length do") {
    Config config = config_of(32, 1e4);
    rope::schedule::LongRope longrope;
    longrope.short_factor = std::vector<double>(16, 1.0);
    longrope.long_factor = std::vector<double>(16, 4.0);
    longrope.original_max_position_embeddings = 4096;
    longrope.factor = 32.0;
    config.schedule = longrope;
    rope::TableOptions options;
    options.max_positions = options.seq_len = 4096;
    const ModelConfig model = model_of({config}, {0}, 131072);
    const rope::RotaryEmbedding<float> rotary(model, options), longer(model);
    rope::RotaryStep<float> step(rotary), longer_step(longer);
    // The long factors serve all positions, also those that the short ones would.
    longer_step.build(rope::start_at(7), kTokens);
    longer_step.build_moves(Index(7));
    Heads<float> by_table(32), by_step(32);
    longer.apply(0, by_table.q_view(), by_table.k_view(), rope::start_at(7));
    longer_step.apply(0, by_step.q_view(), by_step.k_view());
    CHECK(by_step.q == by_table.q);
    longer.reposition(0, by_table.k_view(), Index(7));
    longer_step.reposition(0, by_step.k_view());
    CHECK(by_step.k == by_table.k);
    Heads<float> by_moves(32);
    longer.apply(0, by_moves.q_view(), by_moves.k_view(), rope::start_at(7));
    rope::Moves<float> moves(config, {}, 131072);
    moves.build(Index(7));
    rope::reposition(*config.layout, by_moves.k_view(), moves);
    CHECK(by_step.k == by_moves.k);
    // The short ones end at the original context.
    step.build(rope::start_at(4096 - kTokens), kTokens);
    const std::vector<Index> from = {0}, to = {4096};
    CHECK(
        refusal([&] { step.build(to, 1); }).message ==
        "positions[0] is 4096; this schedule holds positions -4503599627370496 to 4095. (Name the longest sequence as "
        "seq_len.)");
    CHECK(
        refusal([&] { step.build_moves(rope::Positions(from), rope::Positions(to), 1); }).message ==
        "new_positions[0] is 4096; this schedule holds positions -4503599627370496 to 4095. (Name the longest sequence "
        "as seq_len.)");
}

TEST_CASE("moved keys of a layer are those that were rotated at the new positions") {
    const rope::RotaryEmbedding<double> rotary(mixed());
    rope::RotaryStep<double> step(rotary);
    CHECK(refusal([&] { step.reposition(0, Heads<double>(32).k_view()); }).message ==
          "moves are missing; build_moves must come before reposition.");
    const std::vector<Index> from = {3, 4, 5, 6, 7}, to = {100, 90, 80, 70, 60};
    for (const bool is_delta : {true, false}) {
        if (is_delta)
            step.build_moves(Index(40));
        else
            step.build_moves(rope::Positions(from), rope::Positions(to), kTokens);
        for (Index layer = 0; layer < rotary.model().layers(); ++layer) {
            CAPTURE(is_delta, layer);
            Heads<double> alone(32), want(32);
            rotary.apply(layer, alone.q_view(), alone.k_view(), from);
            Heads<double> by_step = alone;
            if (is_delta) {
                rotary.reposition(layer, alone.k_view(), Index(40));
                rotary.apply(layer, want.q_view(), want.k_view(), rope::start_at(43));
            } else {
                rotary.reposition(layer, alone.k_view(), rope::Positions(from), rope::Positions(to));
                rotary.apply(layer, want.q_view(), want.k_view(), to);
            }
            step.reposition(layer, by_step.k_view());
            CHECK(by_step.k == alone.k);
            // The same by a list of deltas.
            Heads<double> by_list(32);
            rotary.apply(layer, by_list.q_view(), by_list.k_view(), from);
            std::vector<int> deltas(from.size(), 40);
            for (std::size_t t = 0; t < from.size() && !is_delta; ++t)
                deltas[t] = static_cast<int>(to[t]) - static_cast<int>(from[t]);
            rotary.reposition(layer, by_list.k_view(), deltas);
            CHECK(by_list.k == alone.k);
            // And in pages.
            Heads<double> here(32);
            rotary.apply(layer, here.q_view(), here.k_view(), from);
            Heads<double> there = here;
            const std::vector<int> slots = {0, 1, 2, 3, 4};
            const auto pages = [&](Heads<double>& x) { return rope::paged(x.k.data(), 1, kTokens, 2, 32, slots); };
            if (is_delta)
                rotary.reposition(layer, pages(here), Index(40));
            else
                rotary.reposition(layer, pages(here), rope::Positions(from), rope::Positions(to));
            step.reposition(layer, rope::Destination(pages(there)));
            CHECK(here.k == alone.k);
            CHECK(there.k == alone.k);
            const std::vector<double> once = there.k;  // rotated, and moved again
            step.reposition(layer, pages(there));
            Heads<double> transformed(32);
            transformed.k = once;
            const auto as_keys = [&] { return rope::heads(pages(transformed)); };
            const rope::CosSinCache<double> any(rope::Config{32}, 1);
            const auto transform = [&] {
                rope::pass<Layout::half_split>(any, std::vector<int>(slots.size(), 0), as_keys().hadamard());
            };
            transform();
            step.reposition(layer, rope::under_hadamard(pages(transformed)));
            transform();
            for (std::size_t i = 0; i < once.size(); ++i) CHECK(std::abs(transformed.k[i] - there.k[i]) < 1e-14);
            for (std::size_t i = 0; i < want.k.size(); ++i) CHECK(std::abs(alone.k[i] - want.k[i]) < 1e-14);
        }
    }
    CHECK(refusal([&] { rotary.reposition(6, Heads<double>(32).k_view(), Index(1)); }).message ==
          "layer is 6; this model has 6 layers, counted from 0.");
}

TEST_CASE("tables reach the length that the scaling is made for") {
    const auto reaches = [](const rope::Schedule& schedule, double interpolation_factor, Index length) {
        Config c = config_of(32, 1e4);
        c.schedule = schedule;
        c.interpolation_factor = interpolation_factor;
        ModelConfig model = model_of({c, config_of(32, 1e4)}, {0, 1}, 32768);
        CHECK(rope::scaled_length(model) == length);
        CHECK(rope::RotaryEmbedding<float>(model).max_positions() == length);
    };
    rope::schedule::Yarn yarn;
    yarn.factor = 4.0;
    yarn.original_max_position_embeddings = 32768;
    reaches(yarn, 1.0, 131072);  // Qwen's files for long texts
    yarn.original_max_position_embeddings = 4096;
    reaches(yarn, 1.0, 32768);  // a file may say less, and then says the scaled length itself
    reaches(rope::schedule::Llama3(), 1.0, 65536);
    reaches(rope::schedule::Default(), 2.5, 81920);
    rope::schedule::LongRope longrope;
    longrope.short_factor = longrope.long_factor = std::vector<double>(16, 1.5);
    longrope.original_max_position_embeddings = 4096;
    longrope.factor = 32.0;
    reaches(longrope, 1.0, 131072);
    reaches(rope::schedule::Default(), 1.0, 32768);
}
