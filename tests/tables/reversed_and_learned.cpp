// SPDX-License-Identifier: MIT
// A Config that turns backwards is the forward one at minus the position, in every table, bit for bit; one whose
// frequencies have factors that the model learned makes no table before it has them.
#include <rope/axis_map.hpp>
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>
#include <rope/moves.hpp>
#include <rope/reference.hpp>
#include <rope/rotary_embedding.hpp>
#include <rope/rows.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/schedules.hpp"
#include "support/refusal.hpp"

namespace {

using rope::Config;
using rope::Index;
using rope::Layout;
using support::invalid;
using support::Real;

constexpr Index kHalf = 300;  // positions on either side of 0

/// A slice of a head, with a magnitude, so that nothing is 0 or 1 by chance.
Config forward() {
    Config config;
    config.head_dim = 40;
    config.rotary_dim = 26;
    config.rotary_offset = 6;
    config.base = 50000.0;
    config.interpolation_factor = 3.0;
    config.attention_factor = 1.25;
    return config;
}
Config scaled() {
    Config config = forward();
    config.schedule = rope::schedule::Yarn{4.0, 4096};
    return config;
}
Config reversed(Config config) {
    config.is_reversed = true;
    return config;
}
Config learned(std::vector<double> log_scale = {}) {
    Config config = forward();
    config.has_log_scale = true;
    config.log_scale = log_scale;
    return config;
}
std::vector<double> alphas() {
    std::vector<double> list;
    for (int i = 0; i < 13; ++i) list.push_back(0.37 * i - 2.1);
    return list;
}

template <class T>
bool same(const T* a, const T* b, Index count) {
    return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(T)) == 0;
}
/// Row `i` of one table against row `j` of another.
template <class A, class B>
bool is_row_of(const A& a, Index i, const B& b, Index j) {
    return a.pairs() == b.pairs() && same(a.cos_row(i), b.cos_row(j), a.pairs()) &&
           same(a.sin_row(i), b.sin_row(j), a.pairs());
}

}  // namespace

// ---- backwards ----

TEST_CASE("frequencies of a reversed Config are those of the forward one, negative") {
    for (const Config& config : {forward(), scaled()}) {
        const rope::Frequencies f = rope::frequencies(config), r = rope::frequencies(reversed(config));
        REQUIRE(r.inv_freq.size() == 13);
        for (std::size_t i = 0; i < 13; ++i) {
            CHECK(f.inv_freq[i] > 0.0);
            CHECK(r.inv_freq[i] == -f.inv_freq[i]);
            CHECK(r.inv_freq_low[i] == -f.inv_freq_low[i]);
        }
        CHECK(r.attention_factor == f.attention_factor);
    }
}

TEST_CASE("the table of a reversed Config has the rows of the forward one at minus the position") {
    for (const Config& config : {forward(), scaled()}) {
        const rope::CosSinCache<float> table(reversed(config), kHalf), other(config, 2 * kHalf + 1, -kHalf);
        const rope::CosSinCache<double> table64(reversed(config), kHalf), other64(config, 2 * kHalf + 1, -kHalf);
        for (Index p = 0; p < kHalf; ++p) {
            INFO("position " << p);
            CHECK(is_row_of(table, p, other, -p));
            CHECK(is_row_of(table64, p, other64, -p));
        }
        CHECK_FALSE(is_row_of(table, 1, other, 1));
        CHECK((table.head_dim() == 40 && table.rotary_offset() == 6));
    }
}

TEST_CASE("so has the table of the float32 chain") {
    const auto table = rope::CosSinCache<float>::float32_chain(reversed(forward()), kHalf);
    const auto other = rope::CosSinCache<float>::float32_chain(forward(), 2 * kHalf + 1, -kHalf);
    for (Index p = 0; p < kHalf; ++p) {
        INFO("position " << p);
        CHECK(is_row_of(table, p, other, -p));
    }
    CHECK_FALSE(is_row_of(table, 1, other, 1));
}

TEST_CASE("so have Rows, at near and far positions") {
    const std::vector<std::int64_t> there = {0, 1, 2, 127, 128, 129, 4097, 1000003, (std::int64_t(1) << 40) + 5};
    std::vector<std::int64_t> back;
    for (const std::int64_t p : there) back.push_back(-p);
    const Index n = static_cast<Index>(there.size());
    rope::Rows<float> rows(reversed(forward())), other(forward());
    rows.build(there, n);
    other.build(back, n);
    for (Index i = 0; i < n; ++i) {
        INFO("position " << there[static_cast<std::size_t>(i)]);
        CHECK(is_row_of(rows, i, other, i));
    }
}

TEST_CASE("so have Moves, by minus the distance, and from one schedule to another") {
    rope::Moves<float> moves(reversed(forward())), other(forward());
    for (const Index delta : {0, 1, -1, -1024, 77777}) {
        INFO("delta " << delta);
        moves.build(delta);
        other.build(-delta);
        CHECK(is_row_of(moves, 0, other, 0));
    }
    const std::vector<std::int64_t> from = {5, 900, 70000}, to = {7, 100, 70000}, minus_from = {-5, -900, -70000},
                                    minus_to = {-7, -100, -70000};
    rope::Moves<float> longer(reversed(forward()), 0, reversed(scaled()), 0), forwards(forward(), 0, scaled(), 0);
    longer.build(from, to, 3);
    forwards.build(minus_from, minus_to, 3);
    for (Index i = 0; i < 3; ++i)  // products of two rows, which round as they are cut up
        for (Index pair = 0; pair < 13; ++pair) {
            CHECK(std::fabs(longer.cos_row(i)[pair] - forwards.cos_row(i)[pair]) < 0x1p-22f);
            CHECK(std::fabs(longer.sin_row(i)[pair] - forwards.sin_row(i)[pair]) < 0x1p-22f);
        }
}

TEST_CASE("and so has the matrix of the reference, which is the transpose where there is no magnitude") {
    for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
        for (const Index p : {0, 1, 17, 4096}) {
            const Eigen::MatrixXd r = rope::reference::rotation_matrix(layout, reversed(forward()), p);
            CHECK(r == rope::reference::rotation_matrix(layout, forward(), -p));
        }
        Config plain = forward();
        plain.attention_factor = 1.0;
        const Eigen::MatrixXd r = rope::reference::rotation_matrix(layout, reversed(plain), 17);
        CHECK((r * rope::reference::rotation_matrix(layout, plain, 17) - Eigen::MatrixXd::Identity(40, 40)).norm() <
              1e-14);
    }
}

TEST_CASE("apply with a reversed table turns the other way") {
    Config config;
    config.head_dim = 2;
    const rope::CosSinCache<double> table(reversed(config), 2);
    double x[2] = {1.0, 0.0};
    rope::apply<Layout::interleaved>(rope::view(x, 1, 1, 2), table, rope::start_at(1));
    CHECK(x[0] == table.cos_row(1)[0]);
    CHECK(x[1] < -0.84);  // -sin 1
}

// ---- factors that were learned ----

TEST_CASE("frequencies that lack their learned factors are those without, and say so") {
    const rope::Frequencies f = rope::frequencies(learned()), plain = rope::frequencies(forward());
    CHECK(f.lacks_log_scale);
    CHECK_FALSE(plain.lacks_log_scale);
    CHECK(f.inv_freq == plain.inv_freq);
    CHECK(f.attention_factor == plain.attention_factor);
    CHECK(check(learned()).ok());
    CHECK_FALSE(check(f).ok());
}

TEST_CASE("no table is made of them") {
    const std::string sentence =
        "log_scale is empty; this model learned a factor for each of its 13 frequencies, which its weights hold.";
    const Config config = learned();
    const rope::Frequencies f = rope::frequencies(config);
    CHECK(invalid([&] { rope::CosSinCache<float>(config, 8); }) == sentence);
    CHECK(invalid([&] { rope::CosSinCache<double>(config, 8); }) == sentence);
    CHECK(invalid([&] { rope::CosSinCache<float>(f, 8); }) == sentence);
    CHECK(invalid([&] { (void)rope::CosSinCache<float>::float32_chain(config, 8); }) == sentence);
    CHECK(invalid([&] { rope::CompactCosSinCache<float>(config, 1000); }) == sentence);
    CHECK(invalid([&] { rope::CompactCosSinCache<float>(f, 1000); }) == sentence);
    CHECK(invalid([&] { rope::Rows<float> rows(config); }) == sentence);
    CHECK(invalid([&] { rope::Rows<double> rows(f); }) == sentence);
    CHECK(invalid([&] { rope::Moves<float> moves(config); }) == sentence);
    CHECK(invalid([&] { rope::Moves<float> moves(f); }) == sentence);
    CHECK(invalid([&] { rope::Moves<float> moves(forward(), 0, config, 0); }) == sentence);
    CHECK(invalid([&] { rope::Moves<float> moves(config, 0, forward(), 0); }) == sentence);
    CHECK(invalid([&] { (void)rope::reference::rotation_matrix(Layout::half_split, config, 1); }) == sentence);
    CHECK(invalid([&] { (void)rope::dealt_out(f, 1); }) == sentence);

    rope::ModelConfig model;
    model.configs = {config};
    model.configs[0].layout = Layout::half_split;
    model.config_of_layer = {0};
    model.layer_types = {rope::LayerType::full_attention};
    model.heads = {{2, 1, 1}};
    model.max_position_embeddings = 64;
    CHECK(invalid([&] { rope::RotaryEmbedding<float> rotary(model); }).find("log_scale is empty") != std::string::npos);
    model.configs[0].log_scale = alphas();
    CHECK(rope::RotaryEmbedding<float>(model).table(0).has_value());
}

TEST_CASE("with log_scale, frequencies are w_i * e^alpha, after the schedule") {
    Config config = learned(alphas());
    config.schedule = scaled().schedule;
    const rope::Frequencies f = rope::frequencies(config);
    const std::vector<Real> w = support::real_frequencies(scaled(), 0).inv_freq;
    REQUIRE(f.inv_freq.size() == 13);
    CHECK_FALSE(f.lacks_log_scale);
    for (std::size_t i = 0; i < 13; ++i) {
        const Real exact = w[i] * exp(Real(alphas()[i]));
        CHECK(abs(Real(f.inv_freq[i]) - exact) <= exact * Real(1e-15));
        CHECK(abs(Real(f.inv_freq[i]) + Real(f.inv_freq_low[i]) - exact) <= exact * support::power_of_two(-90));
    }
    // A table of them is one of given frequencies.
    rope::Frequencies given = rope::frequencies(scaled());
    given.inv_freq = f.inv_freq;
    given.inv_freq_low = f.inv_freq_low;
    const rope::CosSinCache<float> table(config, 8), other(given, 8, {40, 6});
    for (Index p = 0; p < 8; ++p) CHECK(is_row_of(table, p, other, p));
}

TEST_CASE("the float32 chain begins with the learned frequency, rounded to float") {
    const rope::Frequencies f = rope::frequencies(learned(alphas()));
    for (const bool is_reversed : {false, true}) {
        Config config = learned(alphas());
        config.is_reversed = is_reversed;
        const auto table = rope::CosSinCache<float>::float32_chain(config, 5);
        for (Index p = 0; p < 5; ++p)
            for (std::size_t i = 0; i < 13; ++i) {
                const float w = static_cast<float>(is_reversed ? -f.inv_freq[i] : f.inv_freq[i]);
                const double angle = static_cast<double>(static_cast<float>(p) * w);
                CHECK(std::fabs(static_cast<double>(table.cos_row(p)[i]) - 1.25 * std::cos(angle)) < 2e-7);
                CHECK(std::fabs(static_cast<double>(table.sin_row(p)[i]) - 1.25 * std::sin(angle)) < 2e-7);
            }
    }
}

TEST_CASE("learned factors of 0 change nothing, and those of a reversed Config turn it backwards") {
    const rope::Frequencies plain = rope::frequencies(forward());
    CHECK(rope::frequencies(learned(std::vector<double>(13, 0.0))).inv_freq == plain.inv_freq);
    const rope::Frequencies f = rope::frequencies(learned(alphas()));
    const rope::Frequencies r = rope::frequencies(reversed(learned(alphas())));
    for (std::size_t i = 0; i < 13; ++i) CHECK(r.inv_freq[i] == -f.inv_freq[i]);
}

TEST_CASE("a log_scale of the wrong size, that is no number, too large, or that nobody asked for is refused") {
    CHECK(invalid([] { (void)rope::frequencies(learned(std::vector<double>(12, 0.0))); }) ==
          "log_scale has 12 entries; it must have one per pair (13), and none unless has_log_scale.");
    CHECK(invalid([] {
              (void)rope::frequencies(learned(std::vector<double>(26, 0.0)));
          }).find("log_scale has 26 entries") == 0);
    Config unasked = forward();
    unasked.log_scale = alphas();
    CHECK(invalid([&] { (void)rope::frequencies(unasked); }).find("log_scale has 13 entries") == 0);
    for (const double bad : {support::nan_value(), support::infinity(), -22.001, 22.001}) {
        std::vector<double> list = alphas();
        list[12] = bad;
        const std::string message = invalid([&] { (void)rope::frequencies(learned(list)); });
        CHECK(message.find("log_scale[12] is ") == 0);
        CHECK(message.find("; it must be from -22 to 22.") != std::string::npos);
    }
    for (const double good : {-22.0, 22.0}) CHECK(check(learned(std::vector<double>(13, good))).ok());
}
