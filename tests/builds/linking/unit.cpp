// SPDX-License-Identifier: MIT
// A unit that makes and turns by everything that needs the library's own types only. linking.cmake compiles it
// several times, for older and newer machines, with UNIT as a name of each, and links them together.
#include <rope/gradients.hpp>
#include <rope/rope.hpp>

#include <rope/detail/simd/isa_choice.hpp>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include "numbers.hpp"
#include "units.hpp"

namespace {

struct InTwo {
    template <class F>
    void operator()(Index count, F&& f) const {
        f(count / 2, count);
        f(Index(0), count / 2);
    }
};

// Every call there is.
template <class T, class Table>
std::uint64_t turned(std::uint64_t h, const rope::CosSinRows<Table>& table) {
    for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
        Numbers<T> q = numbers<T>(kSeq * kHeads * kHeadDim), k = numbers<T>(kSeq * kHeadDim), copy = q;
        const auto qv = rope::view(q.data(), kSeq, kHeads, kHeadDim);
        const auto kv = rope::view(k.data(), kSeq, 1, kHeadDim);
        const auto cv = rope::view(copy.data(), kSeq, kHeads, kHeadDim);
        rope::apply(layout, qv, kv, table, rope::Positions(), InTwo());
        rope::apply_copy(layout, qv, cv, table);
        rope::apply_transpose(layout, qv, table);
        rope::apply_transpose(layout, qv, kv, table, table);
        rope::apply_inverse_copy(layout, cv, qv, table);
        rope::apply_inverse(layout, kv, table);
        h = hash(hash(hash(h, q), k), copy);
        h += static_cast<std::uint64_t>(rope::check(qv, kv, table).ok()) + rope::check_copy(qv, cv, table).ok();
    }
    return h;
}

// One call, for tables of every kind.
template <class Table>
std::uint64_t turned_by(std::uint64_t h, const rope::CosSinRows<Table>& table) {
    Numbers<Table> q = numbers<Table>(kSeq * kHeads * kHeadDim);
    rope::apply<Layout::half_split>(rope::view(q.data(), kSeq, kHeads, kHeadDim), table);
    return hash(h, q);
}

std::uint64_t tables(std::uint64_t h) {
    const rope::Config config = config_of();
    const rope::CosSinCache<float> cache(config, kSeq);
    h = turned<float>(h, cache);
    h = turned<Eigen::half>(h, cache);
    h = turned_by(h, rope::CosSinCache<double>(config, kSeq));
    h = turned_by(h, cache.extended(rope::frequencies(config), 2 * kSeq));
    h = turned_by(h, rope::CompactCosSinCache<float>(config, 100000));
    rope::CompactCosSinCache<float> compact(rope::frequencies(config), 100);
    Numbers<float> row(static_cast<std::size_t>(kHeadDim));
    compact.row(7, row.data(), row.data() + kHeadDim / 2);
    h = hash(h, row);
    compact = rope::CompactCosSinCache<float>(config, 200);
    h = turned_by(h, compact);

    rope::Rows<float> rows(config, rope::mrope_sections({3, 4, 5}));
    Numbers<double> places;
    for (Index i = 0; i < 3 * kSeq; ++i) places.push_back(static_cast<double>(i) * 0.75);
    rows.build(rope::AxisPositions(places.data(), 3, kSeq), kSeq, 1, InTwo());
    h = turned_by(h, rows);
    rows.build(rope::start_at(5), kSeq);
    h = turned_by(h, rows);
    rope::Rows<float> mixed(rope::dealt_out(rope::frequencies(config), 2), rope::mixed_axes(2), {kHeadDim, 2});
    mixed.build(rope::AxisPositions(places.data(), 2, kSeq), kSeq);
    h = turned_by(h, mixed);

    rope::Moves<float> moves(config), between(config, 0, config_of(rope::schedule::Llama3()), 0);
    const Numbers<int> old_ids(static_cast<std::size_t>(kSeq), 3);
    moves.build(17);
    between.build(old_ids, rope::start_at(1), kSeq);
    h = turned_by(turned_by(h, moves), between);
    moves.build(old_ids, kSeq);
    h = turned_by(h, moves);
    for (const Index count : {kSeq, 2 * kSeq})
        h = turned_by(h, rope::shared_table(rope::frequencies(config), count, {kHeadDim, 0}));
    rope::drop_shared_tables();

    const rope::CosSinView<float> view = {cache.data(),      cache.data() + cache.pairs(), kSeq, cache.pairs(), 1,
                                          cache.rotary_dim()};
    h = turned_by(h, rope::WrappedRows<float>(view));
    Numbers<float> copied(static_cast<std::size_t>(kSeq * kHeadDim));
    h = turned_by(h, rope::WrappedRows<float>(rope::copy_cos_sin(view, copied.data())));

    Numbers<float> keys = numbers<float>(kSeq * kHeadDim);
    const auto v = rope::view(keys.data(), kSeq, 1, kHeadDim);
    rope::reposition(Layout::half_split, v, config, 5);
    rope::reposition<Layout::interleaved>(v, config, rope::start_at(0), rope::start_at(9));
    rope::reposition<Layout::interleaved>(v, config, rope::start_at(0), config_of(rope::schedule::Ntk()),
                                          rope::start_at(9));
    rope::SinusoidalEmbedding<float> sinusoidal(kHeadDim, kSeq);
    sinusoidal.add(v);
    h += rope::apply(Layout::half_split, v, cache, rope::start_at(0), rope::no_throw()).ok() ? 1u : 0u;
    h += rope::apply(Layout::half_split, v, cache, rope::start_at(-1), rope::no_throw()).ok() ? 1u : 0u;
    h += rope::to_half(rope::to_float(rope::to_bfloat16(0.3f))).bits;
    const Numbers<float> weights = numbers<float>(kSeq * kHeadDim);
    rope::LearnedEmbedding<float> learned(weights.data(), kSeq, kHeadDim);
    rope::LearnedEmbedding<float> other = learned;
    other = learned;
    other.add(v);
    return hash(h, keys);
}

template <class T, class Table>
std::uint64_t gradients(std::uint64_t h) {
    const rope::Config config = config_of();
    constexpr Index pairs = kHeadDim / 2;
    rope::Rows<Table> rows(config);
    rows.use_frequencies(rope::frequencies(config));
    rows.build(rope::start_at(1), kSeq);
    Numbers<T> x = numbers<T>(kSeq * kHeads * kHeadDim), dx = x;
    const Numbers<Table> w = numbers<Table>(kHeadDim);
    const auto v = rope::view(x.data(), kSeq, kHeads, kHeadDim), to = rope::view(dx.data(), kSeq, kHeads, kHeadDim);
    const Index blocks = rope::weight_gradient_rows(1, kSeq);
    Numbers<double> angles(static_cast<std::size_t>(kSeq * pairs)), all(static_cast<std::size_t>(kSeq)),
        by_rows(static_cast<std::size_t>(blocks * kHeadDim)), dw(static_cast<std::size_t>(kHeadDim));
    const auto of_angles = rope::view(angles.data(), kSeq, 1, pairs);
    rope::add_angle_gradients<Layout::half_split>(v, to, rows, of_angles, {}, InTwo());
    rope::add_frequency_gradients(of_angles, rope::start_at(1), rope::view(dw.data(), 1, 1, pairs));
    rope::add_position_gradients(of_angles, rope::frequencies(config), rope::view(all.data(), kSeq, 1, 1));
    rope::pass_backward<Layout::half_split>(rope::part(0, 1), rows, rope::start_at(0),
                                            rope::heads(v).rms_norm(w.data(), 1e-6).rotate(), v, to,
                                            rope::view(by_rows.data(), blocks, 1, kHeadDim));
    rope::add_row_sums(rope::view(by_rows.data(), blocks, 1, kHeadDim), rope::view(dw.data(), 1, 1, kHeadDim));
    all[0] += rope::attention_factor_gradient(of_angles, 2.0);
    return hash(hash(hash(hash(h, angles), all), dw), dx);
}

std::uint64_t schedules(std::uint64_t h) {
    rope::schedule::Yarn yarn;
    yarn.factor = 4.0;
    yarn.original_max_position_embeddings = 64;
    rope::schedule::LongRope long_rope;
    long_rope.short_factor = long_rope.long_factor = rope::List<double>(kHeadDim / 2, 2.0);
    long_rope.original_max_position_embeddings = 64;
    long_rope.max_position_embeddings = 128;
    rope::schedule::DynamicNtk dynamic;
    dynamic.factor = 2.0;
    dynamic.max_position_embeddings = 64;
    rope::schedule::FreqFactors factors;
    factors.freq_factors = rope::List<double>(kHeadDim / 2, 1.5);
    for (const rope::Schedule& schedule :
         {rope::Schedule(), rope::Schedule(yarn), rope::Schedule(long_rope), rope::Schedule(dynamic),
          rope::Schedule(factors), rope::Schedule(rope::schedule::Llama3()), rope::Schedule(rope::schedule::Axial()),
          rope::Schedule(rope::schedule::Proportional())}) {
        const rope::Frequencies f = rope::frequencies(config_of(schedule), 64);
        h = hash(hash(h, f.inv_freq), f.inv_freq_low);
    }
    for (const rope::AxisMap& map :
         {rope::mrope_interleaved({4, 4, 4}), rope::mrope_alternating({4, 4, 4}), rope::mrope_apportioned({4, 4, 4})})
        h = hash(h, map.axis_of);
    h = gradients<float, float>(gradients<Eigen::half, float>(gradients<double, double>(h)));
    return hash(h, rope::frequencies(config_of(rope::schedule::Xpos())).log_growth);
}

}  // namespace

std::string UNIT::results() {
    const std::uint64_t basis = 14695981039346656037u;
    std::string refused;
    try {
        rope::CosSinCache<float>(config_of(), 0);
    } catch (const std::invalid_argument& error) {
        refused = error.what();
    }
    try {
        rope::CompactCosSinCache<float>(config_of(), 10).row(11, nullptr, nullptr);
    } catch (const std::out_of_range& error) {
        refused += error.what();
    }
    char text[100];
    std::snprintf(text, sizeof(text), "%s %016llx %016llx %016llx",
                  rope::detail::active_isa_has_fma() ? "fma" : "plain", static_cast<unsigned long long>(tables(basis)),
                  static_cast<unsigned long long>(schedules(basis)),
                  static_cast<unsigned long long>(hash(basis, refused)));
    return text;
}

// What one unit makes, another may use, copy and destroy.
#ifndef ROPE_OTHER_VERSION
rope::CosSinCache<float> UNIT::cache() { return rope::CosSinCache<float>(config_of(), kSeq); }
rope::CompactCosSinCache<float> UNIT::compact() { return rope::CompactCosSinCache<float>(config_of(), kSeq); }
rope::ModelConfig UNIT::model() {
    rope::schedule::LongRope long_rope;
    long_rope.short_factor = long_rope.long_factor = rope::List<double>(kHeadDim / 2, 2.0);
    long_rope.original_max_position_embeddings = 64;
    long_rope.max_position_embeddings = 128;
    rope::ModelConfig model;
    model.max_position_embeddings = 100;
    model.configs = {config_of(), config_of(long_rope)};
    model.configs[0].layout = model.configs[1].layout = Layout::half_split;
    model.config_of_layer = {0, 1};
    model.layer_types = {rope::LayerType::full_attention, rope::LayerType::full_attention};
    model.heads = {{kHeads, 1, 1}, {kHeads, 1, 1}};
    model.axis_map = rope::mrope_sections({4, 4, 4});
    return model;
}
std::string UNIT::read(rope::ModelConfig model) {
    rope::ModelConfig copy;
    copy = model;
    std::uint64_t h = 14695981039346656037u;
    for (const rope::Config& config : copy.configs) {
        rope::Frequencies f = rope::frequencies(config, 100);
        const rope::Frequencies also = f;
        f = std::move(model.configs[0]).is_reversed ? rope::Frequencies() : also;
        h = hash(hash(h, f.inv_freq), also.inv_freq_low);
    }
    rope::AxisMap map = std::move(copy.axis_map);
    model.axis_map = map;
    h = hash(hash(h, model.axis_map.axis_of), copy.config_of_layer);
    return std::to_string(h);
}
rope::RotaryEmbedding<float> UNIT::rotary() {
    rope::ModelConfig one = model();
    one.configs = {one.configs[0]};
    one.config_of_layer = {0, -1};
    one.axis_map = {};
    return rope::RotaryEmbedding<float>(one);
}
std::unique_ptr<rope::Rows<float>> UNIT::rows() {
    auto rows = std::make_unique<rope::Rows<float>>(config_of());
    rows->build(rope::start_at(2), kSeq);
    return rows;
}
std::unique_ptr<rope::Moves<float>> UNIT::moves() {
    auto moves = std::make_unique<rope::Moves<float>>(config_of());
    moves->build(17);
    return moves;
}
rope::SinusoidalEmbedding<float> UNIT::sinusoidal() { return rope::SinusoidalEmbedding<float>(kHeadDim, kSeq); }
std::string UNIT::use(const rope::CosSinCache<float>& cache, rope::CompactCosSinCache<float> compact,
                      rope::RotaryEmbedding<float> rotary, std::unique_ptr<rope::Rows<float>> rows,
                      std::unique_ptr<rope::Moves<float>> moves, rope::SinusoidalEmbedding<float> sinusoidal,
                      rope::Positions positions) {
    std::uint64_t h = turned_by(14695981039346656037u, rope::CosSinCache<float>(cache));
    compact = rope::CompactCosSinCache<float>(compact);
    h = turned_by(h, compact);
    rotary.reserve(50);
    h = turned_by(h, rotary.table(0)->q);
    h = turned_by(h, *rows);
    h = turned_by(h, *moves);
    moves->build(3);
    h = turned_by(h, *moves);
    rows->build(positions, kSeq);
    h = turned_by(h, *rows);
    Numbers<float> x = numbers<float>(kSeq * kHeadDim);
    sinusoidal.add(rope::view(x.data(), kSeq, 1, kHeadDim));
    h = hash(h, x);
    char text[40];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(h));
    return text;
}
#endif
