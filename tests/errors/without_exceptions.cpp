// SPDX-License-Identifier: MIT
// Built with -fno-exceptions -fno-rtti, without a test framework: a refused call hands its sentence to the handler, and
// if the handler returns, does nothing. With the argument "abort" it makes one bad call and must not come back.
#include <rope/rope.hpp>
#include <rope/testing.hpp>

#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/data.hpp"

namespace {

int checks = 0;
int failures = 0;
std::string last_message;
int calls = 0;

void expect(bool ok, const char* what) {
    ++checks;
    if (ok) return;
    ++failures;
    std::printf("FAILED: %s\n", what);
}

void remember(const rope::Status& status) {
    last_message = status.message();
    ++calls;
}

void my_log(const char* message) {
    last_message = message;
    ++calls;
}

void refuses(const char* sentence, const char* what) {
    expect(calls == 1 && last_message == sentence, what);
    if (last_message != sentence) std::printf("  said: %s\n", last_message.c_str());
    calls = 0;
    last_message.clear();
}

constexpr auto kLayout = rope::Layout::half_split;

/// Tables, rows and moves that could not be made or built.
void refuse_rows() {
    const auto refused_once = [](const char* what) {
        expect(calls == 1, what);
        if (calls != 1) std::printf("  %d calls, said: %s\n", calls, last_message.c_str());
        calls = 0;
    };
    rope::Config config;
    config.head_dim = 8;
    std::vector<float> x = support::normal<float>(4 * 8, 2);
    const std::vector<float> before = x;
    const auto view = rope::view(x.data(), 4, 1, 8);

    rope::Rows<float> rows(config, rope::mrope_sections({1, 1, 2}));
    expect(rows.build(rope::start_at(3), 4) && rows.rows() == 4 && calls == 0, "rows");
    const std::vector<float> there(rows.cos_row(0), rows.cos_row(0) + 4 * 8);
    expect(!rows.build({1, 2}, 4), "rows of too few positions");
    refuses("positions has 2 ids; there must be one for each token, seq (4) of them.", "too few positions");
    const double nan = std::numeric_limits<double>::quiet_NaN();
    expect(!rows.build(rope::AxisPositions(&nan, 1, 1), 1), "one axis of three");
    refused_once("one axis of three");
    expect(rows.rows() == 4 && std::vector<float>(rows.cos_row(0), rows.cos_row(0) + 4 * 8) == there,
           "the rows there were stay");
    expect(rows.cos_row(4) == nullptr && rows.sin_row(4) == nullptr && calls == 2, "no such row");
    calls = 0;
    rope::apply<kLayout>(view, rows, rope::start_at(1));
    refused_once("more tokens than rows");
    const rope::Status s = rope::apply<kLayout>(view, rows, rope::start_at(1), rope::no_throw());
    expect(calls == 0 && s.code() == rope::StatusCode::out_of_range, "a Status is returned, and no handler is asked");
    expect(x == before, "nothing is written");

    expect(rope::mrope_sections({-1}).axes == 0 && calls == 1, "a negative section");
    calls = 0;
    rope::Rows<float> wrong(config, rope::mrope_sections({1, 1, 1}));
    refused_once("sections that are not the pairs");
    expect(!wrong.build({0}, 1) && wrong.rows() == 0, "such rows are not built");
    refuses("frequencies have 0 entries; they were refused when these rows were made.", "rows that were refused");
    rope::Moves<float> unmade(config, rope::mrope_sections({1, 1, 1}));
    refused_once("sections that are not the pairs, of moves");
    expect(!unmade.build(3) && unmade.rows() == 0, "such moves are not built");
    refuses("frequencies have 0 entries; they were refused when these rows were made.", "moves that were refused");
    expect(!unmade.build({0}, {1}, 1) && unmade.rows() == 0, "nor from positions to positions");
    refuses("frequencies have 0 entries; they were refused when these rows were made.", "moves that were refused");

    rope::Moves<float> moves(config), between(config, 0, config, 0);
    expect(!moves.build(rope::Index(1) << 60) && !between.build(1) && calls == 2, "moves that cannot be built");
    calls = 0;
    rope::reposition<kLayout>(view, moves);
    refused_once("moves that were not built");
    rope::reposition<kLayout>(view, config, {0, 1}, {1, 2});
    refused_once("positions of two tokens of four");
    config.head_dim = 7;
    rope::reposition<kLayout>(view, config, 3);
    refused_once("a Config that cannot be, of a move");
    const rope::CompactCosSinCache<float> compact(config, 16);
    refused_once("a Config that cannot be, of a compact table");
    expect(compact.max_positions() == 0 && compact.bytes() == 0, "the compact table is empty");
    rope::apply<kLayout>(view, compact);
    refused_once("an empty compact table");
    expect(rope::packed_positions({0, 3, 2}).empty() && calls == 1, "cu_seqlens that fall");
    calls = 0;
    expect(rope::image_grid(-1, 2).empty() && calls == 1, "a grid of negative height");
    calls = 0;
    expect(x == before, "nothing is written by any of these");
}

/// Paths that no recipe could be made for have no heads.
void refuse_recipes() {
    rope::Config config;
    config.head_dim = 8;
    const rope::CosSinCache<float> cache(config, 16);
    std::vector<float> x = support::normal<float>(4 * 8, 3);
    const std::vector<float> before = x;
    const rope::ModelConfig model;
    const char* const sentence = "layer is 0; this model has 0 layers, counted from 0.";
    const auto heads = [&] { return rope::heads(rope::view(x.data(), 4, 1, 8)); };
    for (const rope::Path& path : {rope::query_path(model, 0, heads()), rope::key_path(model, 0, heads()),
                                   rope::value_path(model, 0, heads()), rope::output_path(model, 0, heads())}) {
        rope::pass<kLayout>(cache, rope::start_at(1), path);
        expect(calls == 4 && last_message == sentence, "four recipes");
    }
    rope::pass<kLayout>(cache, rope::start_at(1), heads().rotate(), rope::query_path(model, 0, heads()));
    expect(calls == 6, "a recipe that is refused, and a pass with its path");
    expect(!rope::makes_keys(model, 0) && !rope::makes_values(model, 0) && calls == 8, "no such layer");
    rope::fill_temperatures(model, {1, 2}, rope::view(x.data(), 4, 1, 8));
    expect(calls == 9 && x == before, "nothing is written");
    calls = 0;
}

}  // namespace

int main(int argc, char** argv) {
    rope::Config config;
    config.head_dim = 8;
    const rope::CosSinCache<float> cache(config, 16);
    std::vector<float> x = support::normal<float>(2 * 3 * 8, 1);
    const std::vector<float> before = x;
    const std::vector<int> past = {0, 16};
    if (argc > 1 && std::strcmp(argv[1], "abort") == 0) {
        rope::apply<kLayout>(rope::view(x.data(), 2, 3, 8), cache, past);
        std::printf("apply returned\n");
        return 0;
    }

    expect(rope::set_error_handler(remember) == nullptr, "there was no handler before");
    rope::apply<kLayout>(rope::view(x.data(), 2, 3, 8), cache, past);
    refuses("positions[1] is 16; this cache holds positions 0 to 15.", "apply");
    rope::apply<kLayout>(rope::view(x.data(), 2, 3, 8), rope::view(x.data(), 2, 3, 8), cache);
    refuses(
        "q and k may share elements, which would turn twice; two views that are written must be shown to share none by "
        "their strides.",
        "q and k");
    expect(x == before, "nothing is written");

    config.head_dim = 7;
    const rope::CosSinCache<float> odd(config, 16);
    refuses(
        "head_dim is 7; it must be even, because all of it rotates where rotary_dim is 0. For a part of it, set "
        "rotary_dim.",
        "a table of an odd head_dim");
    expect(odd.max_positions() == 0 && odd.bytes() == 0, "the table is empty");
    expect(rope::CosSinCache<float>::float32_chain(config, 4).max_positions() == 0, "so is the float32 chain");
    calls = 0;
    rope::apply<kLayout>(rope::view(x.data(), 2, 3, 8), odd);
    refuses("x.head_dim is 8; its cache was made for a head_dim of 0.", "an empty table is refused");
    expect(odd.cos_row(0) == nullptr && odd.sin_row(0) == nullptr && calls == 2, "rows of an empty table");
    calls = 0;
    config.head_dim = 8;
    const rope::CosSinCache<float> none(config, 0);
    refuses("max_positions is 0; it must be at least 1.", "no positions");
    const rope::CosSinCache<double> huge(config, std::numeric_limits<rope::Index>::max());
    expect(calls == 1 && huge.max_positions() == 0, "a table beyond memory");
    calls = 0;
    const rope::CosSinCache<double> far(config, 4, std::numeric_limits<rope::Index>::max());
    expect(calls == 1 && far.max_positions() == 0, "positions beyond 2^62");
    calls = 0;
    const rope::CosSinCache<double> slice(rope::frequencies(config), 4, rope::HeadSlice{6, 0});
    expect(calls == 1 && slice.max_positions() == 0, "a slice that does not fit");
    calls = 0;
    expect(rope::view(x.data(), 2, 3, 8).slice_tokens(1, 2).seq == 0 && calls == 1, "a slice of a view");
    calls = 0;
    config.schedule = rope::schedule::Ntk{0.0};
    expect(rope::frequencies(config).inv_freq.empty(), "no frequencies");
    refuses("schedule.factor is 0; it must be from 2^-32 to 2^32.", "a schedule that cannot be");
    const rope::CosSinCache<double> scheduled(config, 4);
    expect(calls == 1 && scheduled.max_positions() == 0, "nor a table");
    calls = 0;
    config.schedule = rope::schedule::DynamicNtk{2.0, 4};
    expect(rope::CosSinCache<double>(config, 5).max_positions() == 0 && calls == 1, "a table longer than its numbers");
    calls = 0;
    config.schedule = rope::schedule::Xpos();
    const rope::CosSinCache<float> xpos(config, 16);
    const std::vector<float> turned = x;
    rope::apply_inverse<kLayout>(rope::view(x.data(), 2, 3, 8), xpos);
    expect(calls == 1 && x == turned, "the inverse of xPos");
    calls = 0;
    expect(rope::CosSinCache<float>(config, 100000).max_positions() == 0 && calls == 1, "beyond e^64");
    calls = 0;
    const rope::CosSinCache<float> far_away = xpos.extended(rope::frequencies(config), 100000);
    expect(calls == 1 && far_away.data() == xpos.data(), "extended beyond e^64");
    calls = 0;
    config.schedule = rope::schedule::Default();
    const rope::CosSinCache<float> same = xpos.extended(rope::frequencies(config), 32);
    expect(calls == 1 && same.data() == xpos.data(), "extended by other frequencies");
    calls = 0;
    expect(odd.extended(rope::frequencies(config), 32).max_positions() == 0 && calls == 1, "an empty table extended");
    calls = 0;
    config.layout = rope::Layout::interleaved;
    rope::apply<kLayout>(rope::view(x.data(), 2, 3, 8), rope::CosSinCache<float>(config, 16));
    refuses("layout is half_split; the cache of x was made from a Config whose layout is interleaved.", "layouts");
    expect(x == turned, "nothing is written");
    config.layout.reset();
    config.base = 1e-300;
    expect(rope::frequencies(config).inv_freq.empty() && calls == 1, "frequencies out of range");
    calls = 0;
    expect(rope::reference::rotation_matrix<kLayout>(config, 3).size() == 0, "the dense matrix of the same");
    calls = 0;
    Eigen::MatrixXf m(2, 10);
    expect(rope::view(m, 3).data == nullptr && calls == 1, "heads that do not divide the columns");
    calls = 0;

    refuse_rows();
    refuse_recipes();

    // And what is right works as ever.
    rope::apply<kLayout>(rope::view(x.data(), 2, 3, 8), cache, rope::start_at(3));
    expect(calls == 0 && x != before, "a right call turns");
    expect(rope::set_error_handler(nullptr) == remember, "the handler is handed back");

    // The block of the guide's page on errors.
#include "errors_3.inc"
    rope::apply<kLayout>(rope::view(x.data(), 2, 3, 8), cache, past);
    refuses("positions[1] is 16; this cache holds positions 0 to 15.", "the handler of the guide");
    rope::set_error_handler(nullptr);
    std::printf("%d checks, %d failed\n", checks, failures);
    return failures == 0 && checks > 15 ? 0 : 1;
}
