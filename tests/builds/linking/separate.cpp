// SPDX-License-Identifier: MIT
// A program for separate compilation: what it prints depends on the tables, the call and the pass of <rope/src.hpp>.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>
#include <rope/heads.hpp>
#include <rope/moves.hpp>
#include <rope/rows.hpp>

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
        for (int i = 0; i < 4; ++i)
            std::printf("%.17g %.17g %.17g %.17g ", static_cast<double>(rows.cos_row(1)[i]),
                        static_cast<double>(moves.sin_row(0)[i]), static_cast<double>(between.sin_row(0)[i]),
                        static_cast<double>(cos[static_cast<std::size_t>(i)]));
        for (const T moved : head) std::printf("%.17g ", static_cast<double>(moved));
        std::printf("%lld\n", static_cast<long long>(rows.map().axes));
    };
    rows_of(0.0F);
    rows_of(0.0);
}
