// SPDX-License-Identifier: MIT
// RotaryEmbedding hands every layer of a model the table of its own schedule, keeps no table twice, and turns queries
// and keys with it; a model, an option or a call that cannot be right is refused in a sentence.
#include <rope/core.hpp>
#include <rope/rotary_embedding.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/models.hpp"
#include "support/refusal.hpp"

using rope::Config;
using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using rope::TableOptions;
using support::config_of;
using support::model_of;
using support::Real;
using support::refusal;
using support::same_table;
using support::size;
using support::Tokens;

namespace {

/// Whether a row is magnitude_i * cos and sin of position * w_i, computed elsewhere, to an ulp of float.
template <class T, class Frequency, class Magnitude>
bool is_row(const rope::CosSinCache<T>& table, Index position, const Frequency& w, const Magnitude& magnitude) {
    for (Index i = 0; i < table.pairs(); ++i) {
        const support::RealCosSin want = support::cos_sin(position, w(i));
        const Real m = magnitude(i), allowed = m * support::power_of_two(-23);
        const Real cos = Real(static_cast<double>(table.cos_row(position)[i]));
        const Real sin = Real(static_cast<double>(table.sin_row(position)[i]));
        if (!(abs(cos - m * want.cos) <= allowed) || !(abs(sin - m * want.sin) <= allowed)) return false;
    }
    return true;
}
const auto kOne = [](Index) { return Real(1.0); };

}  // namespace

TEMPLATE_TEST_CASE("every layer gets the table of its config, and no table is there twice", "", float, double) {
    using T = TestType;
    Config global = config_of(32, 1e6);
    global.interpolation_factor = 8.0;
    Config same_as_global = config_of(32, 1e6);  // other words for the same numbers
    same_as_global.schedule = rope::schedule::Ntk{1.0};
    same_as_global.interpolation_factor = 8.0;
    const Config local = config_of(32, 1e4);
    Config partial = config_of(32, 1e4), shifted = partial, louder = local, other_layout = local;
    partial.rotary_dim = 16;
    shifted.rotary_dim = 16;
    shifted.rotary_offset = 8;
    louder.attention_factor = 1.25;
    other_layout.layout = Layout::interleaved;
    const Config wide = config_of(64, 1e4);
    const std::vector<Config> configs = {global, local, same_as_global, partial, shifted,
                                         louder, wide,  local,          global,  other_layout};
    const std::vector<Index> config_of_layer = {1, 1, 0, 2, -1, 3, 4, 5, 6, 7, 8, 9, 0};
    const rope::RotaryEmbedding<T> rotary(model_of(configs, config_of_layer, 300), {0, 200, 0});
    CHECK(rotary.tables() == 7);
    CHECK(rotary.bytes() == sizeof(T) * 200 * (32 * 4 + 16 * 2 + 64));
    CHECK(rotary.positions() == 200);
    CHECK(rotary.max_positions() == 2400);
    CHECK(rotary.model().configs.size() == configs.size());

    for (Index layer = 0; layer < rotary.model().layers(); ++layer) {
        CAPTURE(layer);
        const auto table = rotary.table(layer);
        const Index c = config_of_layer[size(layer)];
        REQUIRE(table.has_value() == (c >= 0));
        if (c < 0) continue;
        const rope::CosSinCache<T> want(configs[size(c)], 200);
        REQUIRE(same_table(table->q, want));
        REQUIRE(same_table(table->k, want));
        REQUIRE(table->q.data() == table->k.data());
        REQUIRE(table->layout() == configs[size(c)].layout);
    }
    const auto shared = [&](Index a, Index b) { return rotary.table(a)->q.data() == rotary.table(b)->q.data(); };
    CHECK(shared(0, 1));
    CHECK(shared(2, 3));
    CHECK(shared(2, 10));
    CHECK(shared(0, 9));
    CHECK(!shared(5, 6));

    // The numbers themselves, from the formula.
    CHECK(is_row(
        rotary.table(2)->q, 199, [](Index i) { return support::inverse_frequency(1e6, i, 32, 8.0); }, kOne));
    CHECK(is_row(
        rotary.table(0)->q, 77, [](Index i) { return support::inverse_frequency(1e4, i, 32, 1.0); }, kOne));
}

TEMPLATE_TEST_CASE("q and k turn as rope::apply turns them; a layer without RoPE leaves them alone", "", float, double,
                   rope::half, rope::bfloat16) {
    using T = support::TableOf<TestType>;
    Config interleaved = config_of(24, 5e5, Layout::interleaved);
    interleaved.rotary_dim = 16;
    interleaved.rotary_offset = 4;
    interleaved.attention_factor = 0.75;
    const std::vector<Config> configs = {config_of(24, 1e4), interleaved};
    const rope::RotaryEmbedding<T> rotary(model_of(configs, {0, -1, 1}, 64));

    const std::vector<int> ids = {63, 0, 7, 7, 31};
    for (const rope::Positions& positions :
         {rope::Positions(), rope::start_at(59), rope::Positions(ids), rope::Positions()})
        for (const Index layer : {0, 1, 2}) {
            CAPTURE(layer);
            Tokens<TestType> got(24), want(24);
            const Tokens<TestType> before(24);
            rotary.apply(layer, got.q_view(), got.k_view(), positions);
            if (layer == 1) {
                REQUIRE(got == before);
                continue;
            }
            const Config& config = configs[layer == 0 ? 0 : 1];
            rope::apply(*config.layout, want.q_view(), want.k_view(), rope::CosSinCache<T>(config, 64), positions);
            REQUIRE(got == want);
            REQUIRE(!(got == before));
        }
}

TEST_CASE("an executor and a list in braces go where rope::apply takes them") {
    const rope::RotaryEmbedding<float> rotary(model_of({config_of(64, 1e4)}, {0}, 64));
    const auto x = support::normal<float>(64 * 64 * 64, 1), y = support::normal<float>(64 * 64 * 64, 2);
    auto q = x, k = y, q_want = x, k_want = y;
    bool asked = false;
    rotary.apply(0, rope::view(q.data(), 64, 64, 64), rope::view(k.data(), 64, 64, 64), {},
                 [&asked](Index count, auto&& f) {
                     asked = true;
                     f(0, count);
                 });
    rope::apply<Layout::half_split>(rope::view(q_want.data(), 64, 64, 64), rope::view(k_want.data(), 64, 64, 64),
                                    rotary.table(0)->q);
    CHECK(asked);
    CHECK(support::same_bits(q, q_want));
    CHECK(support::same_bits(k, k_want));

    q = k = q_want = k_want = support::normal<float>(2 * 64, 3);
    rotary.apply(0, rope::view(q.data(), 2, 1, 64), rope::view(k.data(), 2, 1, 64), {9, 5});
    rope::apply<Layout::half_split>(rope::view(q_want.data(), 2, 1, 64), rotary.table(0)->q, {9, 5});
    CHECK(support::same_bits(q, q_want));
    CHECK(support::same_bits(k, q_want));
}

TEMPLATE_TEST_CASE("xPos gives queries and keys tables of their own", "", float, double) {
    using T = TestType;
    Config config = config_of(16, 1e4);
    rope::schedule::Xpos xpos;
    xpos.scale_base = 64.0;
    xpos.centre = 40.0;
    xpos.side = rope::schedule::Xpos::Side::key;  // whichever side the model names
    config.schedule = xpos;
    rope::RotaryEmbedding<T> rotary(model_of({config, config_of(16, 1e4)}, {0, 1}, 128), {0, 50, 0});
    CHECK(rotary.tables() == 2);
    CHECK(rotary.bytes() == sizeof(T) * 50 * 16 * 3);

    const auto w = [](Index i) { return support::inverse_frequency(1e4, i, 16, 1.0); };
    const auto zeta_to = [](double e) {  // zeta_i^e, zeta_i = (2i + 0.4 d) / (1.4 d) = (20 i + 4 d) / (14 d)
        return [e](Index i) { return pow(Real::integer(20 * i + 64) / Real::integer(14 * 16), Real(e)); };
    };
    for (const Index max : {50, 128}) {
        rotary.reserve(max);
        const auto table = rotary.table(0);
        for (const Index p : {Index(0), Index(40), Index(49), max - 1}) {
            const double e = static_cast<double>(p - 40) / 64.0;
            CHECK(is_row(table->q, p, w, zeta_to(e)));
            CHECK(is_row(table->k, p, w, zeta_to(-e)));
        }
        REQUIRE(same_table(table->k, rope::CosSinCache<T>(config, rotary.positions())));
        CHECK(table->q.magnitude_grows());
        CHECK(rotary.table(1)->q.data() == rotary.table(1)->k.data());
    }
    CHECK(rotary.bytes() == sizeof(T) * 128 * 16 * 3);

    const auto table = rotary.table(0);
    Tokens<T> got(16), want(16);
    rotary.apply(0, got.q_view(), got.k_view(), rope::start_at(123));
    rope::apply<Layout::half_split>(want.q_view(), want.k_view(), table->q, table->k, rope::start_at(123));
    CHECK(got == want);
}

TEMPLATE_TEST_CASE("schedules that ask for the length of the sequence are made for seq_len", "", float, double) {
    using T = TestType;
    rope::schedule::LongRope longrope;
    longrope.short_factor = {1.0, 1.5, 2.0, 2.5};
    longrope.long_factor = {1.0, 4.0, 16.0, 64.0};
    longrope.original_max_position_embeddings = 100;
    longrope.attention_factor = 1.0;
    Config config = config_of(8, 1e4);
    config.schedule = longrope;
    const auto model = model_of({config}, {0}, 1000);
    const auto divided_by = [](const std::vector<double>& factors) {
        return [factors](Index i) { return support::inverse_frequency(1e4, i, 8, factors[size(i)]); };
    };
    const auto is_long = divided_by(longrope.long_factor), is_short = divided_by(longrope.short_factor);
    const auto table = [&](TableOptions options) { return rope::RotaryEmbedding<T>(model, options).table(0)->q; };

    CHECK(is_row(table({}), 99, is_long, kOne));  // of the whole context, unless said otherwise
    CHECK(is_row(table({0, 100, 0}), 99, is_long, kOne));
    CHECK(is_row(table({101, 0, 0}), 99, is_long, kOne));
    CHECK(is_row(table({100, 0, 0}), 99, is_short, kOne));
    CHECK(is_row(table({100, 0, 100}), 99, is_short, kOne));
    CHECK(is_row(table({100, 0, 101}), 99, is_long, kOne));
    CHECK(!is_row(table({100, 0, 101}), 99, is_short, kOne));
    // Factors for short sequences are not for a table that may grow beyond them.
    CHECK(refusal([&] {
              table({0, 50, 100});
          }).message ==
          "seq_len is 100; with this schedule (longrope) its frequencies are for sequences of at most 100 tokens, and "
          "the table is to hold positions up to 999: name the longest sequence as seq_len.");

    Config ntk = config_of(8, 1e4);
    ntk.schedule = rope::schedule::DynamicNtk{2.0, 100};
    const auto ntk_table = [&](TableOptions options) {
        return rope::RotaryEmbedding<T>(model_of({ntk}, {0}, 1000), options).table(0)->q;
    };
    const auto grown_to = [](Index length) {  // base * (factor * L / max - (factor - 1))^(d / (d - 2))
        return [length](Index i) {
            const Real growth = Real(2.0) * Real::integer(length) / Real(100.0) - Real(1.0);
            const Real base = Real(1e4) * pow(growth, Real(8.0) / Real(6.0));
            return pow(base, Real::integer(-2 * i) / Real(8.0));
        };
    };
    CHECK(is_row(ntk_table({}), 99, grown_to(1000), kOne));
    CHECK(is_row(ntk_table({500, 0, 0}), 99, grown_to(500), kOne));
    CHECK(is_row(ntk_table({500, 0, 700}), 99, grown_to(700), kOne));
    CHECK(is_row(ntk_table({100, 0, 0}), 99, grown_to(100), kOne));
    CHECK(refusal([&] {
              ntk_table({500, 100, 300});
          }).message.find("seq_len is 300; with this schedule (dynamic)") == 0);
}

TEST_CASE("models without RoPE, and without layers") {
    rope::RotaryEmbedding<float> none(model_of({}, {-1, -1}, 100));
    Tokens<float> x(8);
    none.apply(1, x.q_view(), x.k_view(), rope::start_at(1000));
    CHECK(x == Tokens<float>(8));
    CHECK(none.tables() == 0);
    CHECK(none.bytes() == 0);
    CHECK(!none.table(0).has_value());
    none.reserve(100);
    CHECK(rope::RotaryEmbedding<float>(model_of({}, {-1, -1}, 0)).tables() == 0);  // which needs no length
    const rope::RotaryEmbedding<double> empty(model_of({config_of(8, 1e4)}, {}, 100));
    CHECK(empty.tables() == 1);
    CHECK(refusal([&] { (void)empty.table(0); }).code == rope::StatusCode::out_of_range);
}

TEST_CASE("a temperature that would give no number is refused with its model") {
    rope::ModelConfig model = model_of({config_of(8, 1e4)}, {0}, 100);
    model.attention_temperature = {0.1, 8192.0, 1, false, true};
    CHECK(rope::check(model).ok());
    CHECK(model.attention_temperature.at(8190) == 1.0);
    CHECK(model.attention_temperature.at(8191) == 1.0 + 0.1 * std::log(2.0));
    CHECK(model.attention_temperature.at(-5) == 1.0);
    CHECK(model.attention_temperature.at(std::numeric_limits<Index>::max()) > 4.0);
    model.attention_temperature.period = 0.0;
    CHECK(
        rope::check(model).message() ==
        std::string("attention_temperature has scale 0.1 and period 0; both must be finite, and the period above 0."));
}

TEST_CASE("calls that cannot be right are refused, and nothing is written") {
    rope::RotaryEmbedding<float> rotary(model_of({config_of(8, 1e4)}, {0, -1, 0}, 100), {0, 7, 0});
    Tokens<float> x(8);
    const auto refuses = [&](auto&& call, const std::string& sentence, rope::StatusCode code) {
        const auto [message, kind] = refusal(call);
        CHECK(message == sentence);
        CHECK(kind == code);
        CHECK(x == Tokens<float>(8));
        CHECK(rotary.positions() == 7);
    };
    const auto out = rope::StatusCode::out_of_range, invalid = rope::StatusCode::invalid_argument;
    constexpr Index most = std::numeric_limits<Index>::max();

    const auto at = [&](Index start) {
        return [&rotary, &x, start] { rotary.apply(2, x.q_view(), x.k_view(), rope::start_at(start)); };
    };
    refuses(at(3), "positions start at 3 and seq is 5; this cache holds positions 0 to 6.", out);
    refuses(at(-1), "positions start at -1 and seq is 5; this cache holds positions 0 to 6.", out);
    const std::vector<int> ids = {0, 1, 7, 3, 4};
    refuses([&] { rotary.apply(0, x.q_view(), x.k_view(), ids); },
            "positions[2] is 7; this cache holds positions 0 to 6.", out);
    for (const Index layer : {Index(-1), Index(3), most}) {
        const std::string sentence = "layer is " + std::to_string(layer) + "; this model has 3 layers, counted from 0.";
        refuses([&] { rotary.apply(layer, x.q_view(), x.k_view()); }, sentence, out);
        refuses([&] { (void)rotary.table(layer); }, sentence, out);
    }
    Tokens<float> wide(16);
    refuses([&] { rotary.apply(0, wide.q_view(), wide.k_view()); },
            "q.head_dim is 16; its cache was made for a head_dim of 8.", invalid);
    refuses([&] { rope::apply<Layout::interleaved>(x.q_view(), rotary.table(0)->q); },
            "layout is interleaved; the cache of x was made from a Config whose layout is half_split.", invalid);
    for (const Index positions : {Index(-1), Index(101), most})
        refuses([&] { rotary.reserve(positions); },
                "positions is " + std::to_string(positions) + "; it must be from 0 to 100 (max_positions).", out);

    rotary.reserve(8);
    Tokens<float> want(8);
    rope::apply<Layout::half_split>(want.q_view(), want.k_view(), rotary.table(2)->q, rope::start_at(3));
    at(3)();
    CHECK(x == want);
}

TEMPLATE_TEST_CASE("models and options that cannot be right are refused", "", float, double) {
    const auto refuses = [](const ModelConfig& model, TableOptions options, const std::string& sentence) {
        const auto [message, code] = refusal([&] { rope::RotaryEmbedding<TestType> r(model, options); });
        CHECK(message == sentence);
        CHECK(code == rope::StatusCode::invalid_argument);
    };
    const auto good = model_of({config_of(8, 1e4)}, {0}, 100);
    auto open = model_of({config_of(8, 1e4), config_of(8, 1e4)}, {0, 1}, 100);
    open.configs[1].layout.reset();
    refuses(open, {},
            "layout of configs[1] of the model is left open; it must be set to the one that the weights are stored "
            "for, which not every file says.");
    refuses(model_of({config_of(8, 1e4)}, {0, 1}, 100), {},
            "config_of_layer[1] is 1; it must be -1 (no RoPE) or an index into configs (0 to 0).");
    refuses(model_of({config_of(8, -1.0)}, {0}, 100), {}, "base is -1; it must be finite and above 0.");
    auto short_list = good;
    short_list.heads.clear();
    CHECK(refusal([&] { rope::RotaryEmbedding<TestType> r(short_list); }).message == rope::check(short_list).message());

    const std::string count = "; it must be from 1 to 2^40, or 0 if the model says it (max_position_embeddings).";
    const std::string above = std::to_string((Index(1) << 40) + 1);
    refuses(model_of({config_of(8, 1e4)}, {0}, 0), {}, "max_positions is 0" + count);
    refuses(model_of({config_of(8, 1e4)}, {0}, -5), {}, "max_positions is -5" + count);
    refuses(good, {-1, 0, 0}, "max_positions is -1" + count);
    refuses(good, {(Index(1) << 40) + 1, 0, 0}, "max_positions is " + above + count);
    refuses(good, {0, -1, 0}, "positions is -1; it must be from 1 to 100 (max_positions).");
    refuses(good, {0, 101, 0}, "positions is 101; it must be from 1 to 100 (max_positions).");
    refuses(good, {0, 0, -1}, "seq_len is -1; it must be from 0 to 2^40.");
    refuses(good, {0, 0, (Index(1) << 40) + 1}, "seq_len is " + above + "; it must be from 0 to 2^40.");

    // What only a later reserve would run into is refused at once.
    auto xpos = good;
    xpos.configs[0].schedule = rope::schedule::Xpos();
    CHECK(refusal([&] { rope::RotaryEmbedding<TestType> r(xpos, {1000, 0, 0}); }).message == "(accepted)");
    CHECK(refusal([&] { rope::RotaryEmbedding<TestType> r(xpos, {1000000, 10, 0}); }).message.find("At ") == 0);

    // The largest number there may be: nothing is made before it is asked for, and there is no such memory.
    rope::RotaryEmbedding<TestType> large(model_of({config_of(2048, 1e4)}, {0}, 100),
                                          {Index(1) << 40, 4, 0, Index(1) << 62});
    CHECK(large.positions() == 4);
    CHECK(refusal([&] { large.reserve(Index(1) << 40); }).message ==
          "There is no memory for 1099511627776 rows of 2048 entries of " + std::to_string(sizeof(TestType)) +
              " bytes.");
    CHECK(large.positions() == 4);
    CHECK(large.table(0)->q.max_positions() == 4);
}
