// SPDX-License-Identifier: MIT
// A program for separate compilation: what it prints depends on the tables, the call and the pass of <rope/src.hpp>.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>
#include <rope/heads.hpp>
#include <rope/moves.hpp>
#include <rope/reposition.hpp>
#include <rope/rotary_embedding.hpp>
#include <rope/rows.hpp>
#include <rope/shared_table.hpp>
#include <rope/write_rows.hpp>

#include <cstdio>
#include <vector>

int main() {
    const rope::CosSinCache<float> cache(rope::Config{8}, 16);
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    const auto v = rope::view(x.data(), 1, 1, 8);
    rope::apply<rope::Layout::half_split>(v, cache, rope::start_at(3));
    rope::pass<rope::Layout::half_split>(cache, rope::start_at(2), rope::heads(v).rms_norm(1e-6).rotate());
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(i + 1) * static_cast<double>(x[i]);
    const rope::Status refused = rope::check(rope::view(x.data(), 1, 2, 4), cache);
    std::printf("%.6f %s\n", sum, refused.message());

    // Tables and rows of tokens.
    const auto rows_of = [](auto number) {
        using T = decltype(number);
        const rope::Config config = {8};
        std::vector<T> head = {1, 2, 3, 4, 5, 6, 7, 8}, cos(4), sin(4);
        const auto k = rope::view(head.data(), 1, 1, 8);
        rope::Rows<T> rows(config, rope::mrope_sections({2, 2}));
        const double places[] = {3, 5, 2.5, 7};
        rows.build(rope::AxisPositions(places, 2, 2), 2);
        rope::apply<rope::Layout::half_split>(k, rows, rope::start_at(1));
        rope::Moves<T> moves(rope::frequencies(config));
        moves.build(3);
        rope::Moves<T> between(config, 0, config, 0);
        between.build({5}, {2}, 1);
        const rope::CompactCosSinCache<T> compact(config, 100000);
        compact.row(77777, cos.data(), sin.data());
        rope::reposition<rope::Layout::half_split>(k, moves);
        std::vector<T> memory(2 * 8);
        const auto table = rope::shared_table<T>(rope::frequencies(config), 100);
        const rope::WrappedRows<T> written(rope::write_rows(table, {9, 4}, 2, 1, memory.data()));
        rope::apply<rope::Layout::half_split>(k, written, rope::start_at(1));
        rope::drop_shared_tables();

        rope::ModelConfig model;
        model.configs = {{8}};
        model.configs[0].layout = rope::Layout::interleaved;
        model.config_of_layer = {0, -1};
        model.layer_types.resize(2);
        model.heads.resize(2);
        model.max_position_embeddings = 64;
        rope::RotaryEmbedding<T> rotary(model, {0, 8});
        rotary.reserve(12);
        std::vector<T> query = {8, 7, 6, 5, 4, 3, 2, 1};
        const auto q = rope::view(query.data(), 1, 1, 8);
        rotary.apply(0, q, k, rope::start_at(11));
        rotary.apply(1, q, k, rope::start_at(100));
        rotary.reposition(0, k, -2);
        rope::RotaryStep<T> step(rotary);
        step.build(rope::start_at(3), 1);
        step.apply(0, q, k);
        step.build_moves(7);
        step.reposition(0, k);
        head.insert(head.end(), query.begin(), query.end());
        for (int i = 0; i < 4; ++i)
            std::printf("%.17g %.17g %.17g %.17g ", static_cast<double>(rows.cos_row(1)[i]),
                        static_cast<double>(moves.sin_row(0)[i]), static_cast<double>(between.sin_row(0)[i]),
                        static_cast<double>(cos[static_cast<std::size_t>(i)]));
        for (const T moved : head) std::printf("%.17g ", static_cast<double>(moved));
        std::printf("%lld %lld %lld %d\n", static_cast<long long>(rows.map().axes),
                    static_cast<long long>(rotary.positions()), static_cast<long long>(rotary.bytes()),
                    step.rows(0)->layout() == rotary.table(0)->layout());
    };
    rows_of(0.0F);
    rows_of(0.0);
}
