// SPDX-License-Identifier: MIT
// Every mistake in a call for gradients has a sentence, and nothing is written.
#include <rope/gradients.hpp>
#include <rope/rows.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::view;

namespace {

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kBatch = 2, kSeq = 3, kHeads = 4, kDim = 12, kPairs = 5, kTokens = kBatch * kSeq;

rope::Config config() {
    rope::Config config;
    config.head_dim = kDim;
    config.rotary_dim = 2 * kPairs;
    return config;
}

struct Tensors {
    std::vector<float> y = support::normal<float>(kTokens * kHeads * kDim, 1), g = y, dx = y;
    std::vector<float> w = std::vector<float>(kHeads * kDim, 1.0f);
    std::vector<double> angles = std::vector<double>(1000, 5.0), magnitudes = angles, out = angles, d = angles;
    rope::Frequencies f = rope::frequencies(config());
    rope::AxisMap map;

    rope::TensorView<float> of_y() { return view(y, kBatch, kSeq, kHeads, kDim); }
    rope::TensorView<float> of_g() { return view(g, kBatch, kSeq, kHeads, kDim); }
    rope::TensorView<float> of_dx() { return view(dx, kBatch, kSeq, kHeads, kDim); }
    rope::TensorView<double> of_angles(Index heads = 1, Index pairs = kPairs) {
        return view(angles.data(), kBatch, kSeq, heads, pairs);
    }
    rope::TensorView<double> of_magnitudes() { return view(magnitudes.data(), kBatch, kSeq, 1, kPairs); }
    rope::TensorView<double> of_out(Index count = kPairs) { return view(out.data(), 1, 1, count); }
    rope::TensorView<double> of_dw(Index rows = 1, Index heads = 1) { return view(out.data(), rows, heads, kDim); }
    rope::Path path() { return rope::heads(of_y()).rms_norm(w.data(), 1e-6).rotate(); }
};

bool are_equal(const Tensors& a, const Tensors& b) {
    return a.y == b.y && a.g == b.g && a.dx == b.dx && a.angles == b.angles && a.magnitudes == b.magnitudes &&
           a.out == b.out && a.d == b.d;
}

/// What a call and its check say: the same. Nothing is written.
template <class Call, class Check>
std::string said(const Call& call, const Check& check) {
    Tensors t;
    const Tensors before = t;
    const rope::Status status = check(t);
    const support::Refusal refusal = support::refusal([&] { call(t); });
    CHECK(refusal.code == status.code());
    if (!status.ok()) CHECK(refusal.message == status.message());
    CHECK(are_equal(t, before));
    return refusal.message;
}

#define ROPE_SAID(name, ...)                                                 \
    said([&]([[maybe_unused]] Tensors& t) { rope::add_##name __VA_ARGS__; }, \
         [&]([[maybe_unused]] Tensors& t) { return rope::check_##name __VA_ARGS__; })

const rope::CosSinCache<float>& cache() {
    static const rope::CosSinCache<float> table(config(), 16);
    return table;
}
#define ANGLES(...) ROPE_SAID(angle_gradients<kLayout>, (__VA_ARGS__))
#define FREQUENCIES(...) ROPE_SAID(frequency_gradients, (__VA_ARGS__))
#define POSITIONS(...) ROPE_SAID(position_gradients, (__VA_ARGS__))
#define SUMS(...) ROPE_SAID(row_sums, (__VA_ARGS__))

/// What pass_backward and its check say.
template <class Change>
std::string backward(const Change& change) {
    Tensors t;
    const Tensors before = t;
    rope::Path path = t.path();
    rope::TensorView<float> g = t.of_g(), dx = t.of_dx();
    rope::TensorView<double> dw = t.of_dw();
    Index first = 0;
    change(t, path, g, dx, dw, first);
    const rope::Status status = rope::check_pass_backward<kLayout>(cache(), rope::start_at(first), path, g, dx, dw);
    const support::Refusal refusal =
        support::refusal([&] { rope::pass_backward<kLayout>(cache(), rope::start_at(first), path, g, dx, dw); });
    CHECK(refusal.code == status.code());
    if (!status.ok()) CHECK(refusal.message == status.message());
    CHECK(are_equal(t, before));
    return refusal.message;
}
using Float = rope::TensorView<float>;
using Double = rope::TensorView<double>;

}  // namespace

TEST_CASE("angles") {
    CHECK(ANGLES(t.of_y().slice_features(0, 10), t.of_g(), cache(), t.of_angles()) ==
          "y.head_dim is 10; its cache was made for a head_dim of 12.");
    CHECK(ANGLES(t.of_y(), t.of_g().slice_heads(0, 2), cache(), t.of_angles()) ==
          "g.heads is 2; it must be that of y (4).");
    CHECK(ANGLES(t.of_y(), t.of_g().slice_tokens(0, 2), cache(), t.of_angles()) ==
          "g.seq is 2; it must be that of y (3).");
    CHECK(ANGLES(t.of_y(), view(static_cast<float*>(nullptr), kBatch, kSeq, kHeads, kDim), cache(), t.of_angles()) ==
          "g.data is null; a view of 288 elements needs memory to point to.");
    CHECK(ANGLES(t.of_y(), t.of_g(), cache(), t.of_angles(3)) ==
          "angles.heads is 3; it must be 1 (the sum over all heads) or divide the heads of y (4).");
    CHECK(ANGLES(t.of_y(), t.of_g(), cache(), t.of_angles(0)) ==
          "angles.heads is 0; it must be 1 (the sum over all heads) or divide the heads of y (4).");
    CHECK(ANGLES(t.of_y(), t.of_g(), cache(), t.of_angles(1, 6)) == "angles is [2, 3, 1, 6]; it must be [2, 3, 1, 5].");
    CHECK(ANGLES(t.of_y(), t.of_g(), cache(), t.of_angles(), t.of_magnitudes().slice_tokens(0, 2)) ==
          "magnitudes is [2, 2, 1, 5]; it must be [2, 3, 1, 5].");
    CHECK(ANGLES(t.of_y(), t.of_g(), cache(), t.of_angles(2), t.of_magnitudes()) ==
          "magnitudes is [2, 3, 1, 5]; it must be [2, 3, 2, 5].");
    CHECK(ANGLES(t.of_y(), t.of_g(), cache(), t.of_angles(), t.of_angles()) ==
          "magnitudes and angles may share elements; they must be shown to share none by their strides.");
    CHECK(ANGLES(t.of_y(), t.of_g(), cache(), Double({t.angles.data(), 2, 3, 1, 5, 15, 5, 0, 0})) ==
          "angles overlaps itself: head_dim has stride 0; in a view that is written, its absolute value must be at "
          "least 1, "
          "which is what the axes inside it span.");
    CHECK(ANGLES(t.of_y(), t.of_g(), cache(), t.of_angles(), Double({t.magnitudes.data(), 2, 3, 1, 5, 0, 5, 0, 1})) ==
          "magnitudes overlaps itself: batch has stride 0; in a view that is written, its absolute value must be at "
          "least "
          "1, which is what the axes inside it span.");
    const rope::CosSinCache<double> table(config(), 4);
    CHECK(ANGLES(view(t.d.data(), 1, 1, 1, kDim), view(t.out.data(), 1, 1, 1, kDim), table,
                 view(t.d.data() + 5, 1, 1, 1, kPairs)) ==
          "angles and y may share elements; they must be shown to share none by their strides.");
    CHECK(ANGLES(view(t.d.data(), 1, 1, 1, kDim), view(t.out.data(), 1, 1, 1, kDim), table,
                 view(t.out.data() + 5, 1, 1, 1, kPairs)) ==
          "angles and g may share elements; they must be shown to share none by their strides.");
    CHECK(ANGLES(view(t.d.data(), 1, 1, 1, kDim), view(t.out.data(), 1, 1, 1, kDim), table,
                 view(t.angles.data(), 1, 1, 1, kPairs), view(t.out.data(), 1, 1, 1, kPairs)) ==
          "magnitudes and g may share elements; they must be shown to share none by their strides.");
    rope::Config other = config();
    other.layout = rope::Layout::interleaved;
    const rope::CosSinCache<float> interleaved(other, 4);
    CHECK(ANGLES(t.of_y(), t.of_g(), interleaved, t.of_angles()) ==
          "layout is half_split; the cache of y was made from a Config whose layout is interleaved.");
    Tensors t;
    CHECK(support::invalid([&] {
              rope::add_angle_gradients(static_cast<rope::Layout>(7), t.of_y(), t.of_g(), cache(), t.of_angles());
          }) == support::invalid([&] { rope::apply(static_cast<rope::Layout>(7), t.of_y(), cache()); }));
}

TEST_CASE("frequencies") {
    CHECK(FREQUENCIES(t.of_angles(), rope::start_at(0), t.of_out(4)) ==
          "out is [1, 1, 1, 4]; it must be [1, 1, 1, 5].");
    CHECK(FREQUENCIES(t.of_angles(), rope::start_at(0), view(t.out.data(), 1, 2, kPairs)) ==
          "out is [1, 1, 2, 5]; it must be [1, 1, 1, 5].");
    CHECK(FREQUENCIES(t.of_angles(), rope::start_at(0), view(t.angles.data() + 3, 1, 1, kPairs)) ==
          "out and angles may share elements; they must be shown to share none by their strides.");
    CHECK(FREQUENCIES(view(static_cast<double*>(nullptr), 2, 3, 1, kPairs), rope::start_at(0), t.of_out()) ==
          "angles.data is null; a view of 30 elements needs memory to point to.");
    CHECK(FREQUENCIES(t.of_angles(), rope::start_at(0), view(static_cast<double*>(nullptr), 1, 1, kPairs)) ==
          "out.data is null; a view of 5 elements needs memory to point to.");
    CHECK(
        FREQUENCIES(t.of_angles(), rope::start_at(0), Double({t.out.data(), 1, 1, 1, 5, 0, 0, 0, 0})) ==
        "out overlaps itself: head_dim has stride 0; in a view that is written, its absolute value must be at least 1, "
        "which is what the axes inside it span.");
    const std::vector<int> four = {1, 2, 3, 4};
    CHECK(FREQUENCIES(t.of_angles(), four, t.of_out()) ==
          "positions has 4 ids; there must be seq (3) or batch * seq (6) of them.");
    CHECK(FREQUENCIES(t.of_angles(), rope::start_at(Index(1) << 60), t.of_out()) ==
          "positions start at 1152921504606846976 and seq is 3; this schedule holds positions -4503599627370496 to "
          "4503599627370496.");
    const std::vector<double> places(12, 1.5);
    const rope::AxisPositions two(places, 2);
    const rope::AxisMap mixed = rope::mixed_axes(2), sections = rope::mrope_sections({3, 2}),
                        few = rope::mrope_sections({1, 2});
    CHECK(FREQUENCIES(t.of_angles(), two, rope::AxisMap(), t.of_out()) == "positions has 2 axes; the map has 1.");
    CHECK(FREQUENCIES(t.of_angles(), two, mixed, t.of_out()) == "out is [1, 1, 1, 5]; it must be [1, 1, 1, 10].");
    CHECK(FREQUENCIES(t.of_angles().slice_batch(0, 1), two, sections, t.of_out()) ==
          "positions has 6 tokens; there must be batch * seq (3) of them.");
    CHECK(FREQUENCIES(t.of_angles(), two, few, t.of_out()) ==
          "The sections of the map (or its axis_of) have 3 pairs; they must add up to 5, one pair for two features "
          "that rotate.");
    rope::AxisMap none;
    none.axes = 9;
    CHECK(FREQUENCIES(t.of_angles(), two, none, t.of_out()) == "axes is 9; it must be from 1 to 8.");
    std::vector<double> bad(12, 1.5);
    bad[7] = support::nan_value();
    const rope::AxisPositions not_numbers(bad, 2);
    CHECK(FREQUENCIES(t.of_angles(), not_numbers, sections, t.of_out()) ==
          "positions[1][1] is nan; it must be from -2^52 to 2^52.");
}

TEST_CASE("positions") {
    CHECK(POSITIONS(t.of_angles(), t.f, t.map, t.of_out(6)) == "out is [1, 1, 1, 6]; it must be [1, 6, 1, 1].");
    CHECK(POSITIONS(t.of_angles(1, 4), t.f, t.map, view(t.out.data(), 6, 1, 1)) ==
          "angles.head_dim is 4; it must be the number of pairs of the frequencies (5).");
    CHECK(POSITIONS(t.of_angles(), t.f, rope::mixed_axes(2), view(t.out.data(), 2, 6, 1, 1)) ==
          "inv_freq has 5 entries; with mixed axes it must have as many for each of the 2 axes.");
    CHECK(POSITIONS(t.of_angles(), rope::Frequencies(), t.map, view(t.out.data(), 6, 1, 1)) ==
          "inv_freq has 0 entries; it must have one per pair, from 1 to 524288.");
    CHECK(POSITIONS(t.of_angles(), t.f, t.map, view(t.angles.data(), 6, 1, 1)) ==
          "out and angles may share elements; they must be shown to share none by their strides.");
}

TEST_CASE("positions of magnitudes that grow") {
    rope::Frequencies f = Tensors().f;  // growth of zero is none
    f.log_growth.resize(f.inv_freq.size());
    Tensors tensors;
    CHECK(rope::check_position_gradients(tensors.of_angles(), f, {}, view(tensors.out.data(), 6, 1, 1)).ok());
    f.log_growth[2] = -1e-3;
    CHECK(
        POSITIONS(t.of_angles(), f, t.map, view(t.out.data(), 6, 1, 1)) ==
        "log_growth[2] is -0.001; gradients of positions are those of angles alone, so it must be 0: no magnitude may "
        "grow with the position (xPos).");
}

TEST_CASE("sums of rows, and the attention factor") {
    CHECK(SUMS(t.of_angles(4), view(t.out.data(), 1, 3, kPairs)) ==
          "out.heads is 3; it must be 1 (the sum over all heads) or divide the heads of rows (4).");
    CHECK(SUMS(t.of_angles(4), t.of_out(4)) == "out is [1, 1, 1, 4]; it must be [1, 1, 1, 5].");
    CHECK(SUMS(t.of_angles(4), view(t.angles.data() + 7, 1, 1, kPairs)) ==
          "out and rows may share elements; they must be shown to share none by their strides.");
    Tensors t;
    CHECK(support::invalid([&] { rope::attention_factor_gradient(t.of_magnitudes(), 0.0); }) ==
          "attention_factor is 0; it must be from 2^-32 to 2^32.");
    CHECK(support::invalid([&] {
              rope::attention_factor_gradient(view(static_cast<double*>(nullptr), 1, 1, 1, 2), 1.0);
          }) == "magnitudes.data is null; a view of 2 elements needs memory to point to.");
}

TEST_CASE("the way back through a norm") {
    const char* const steps =
        "for gradients its first must be rms_norm or l2_norm over a head, and the second, if there is "
        "one, rotate().";
    const auto of = [&](const char* count, const rope::Path& path) {
        CHECK(backward([&](Tensors&, rope::Path& p, Float&, Float&, Double&, Index&) { p = path; }) ==
              std::string("The path has ") + count + "; " + steps);
    };
    Tensors other;
    const auto heads = [&] { return rope::heads(other.of_y()); };
    of("0 steps", heads());
    of("1 step", heads().rotate());
    of("2 steps", heads().rotate().rms_norm(1e-6));
    of("2 steps", heads().rms_norm(1e-6).rotate_back());
    of("2 steps", heads().rms_norm(1e-6).rotate_into(rope::Layout::interleaved));
    of("1 step", heads().rms_norm(1e-6, {rope::NormSpan::token}));
    of("1 step", heads().layer_norm(other.w.data(), nullptr, 1e-6));
    of("3 steps", heads().rms_norm(1e-6).rotate().multiply(2.0));
    of("9 steps", heads().rms_norm(1e-6).round().round().round().round().round().round().round().round());

    CHECK(backward([](Tensors& t, rope::Path& p, Float&, Float&, Double&, Index&) {
              p = rope::heads(t.of_y()).rms_norm(t.w.data(), -1.0);
          }) == "eps of a norm is -1; it must be finite and at least 0.");
    CHECK(backward([](Tensors& t, rope::Path& p, Float&, Float&, Double&, Index&) {
              p = rope::heads(t.of_y()).rms_norm(view(t.w.data(), 1, 1, 2, kDim), 1.0);
          }) == "The numbers of a norm have an extent of 2 along heads; it must be 1 or that of the heads (4).");
    CHECK(backward([](Tensors& t, rope::Path& p, Float&, Float&, Double&, Index&) {
              p = rope::heads(t.of_y()).rms_norm(view(t.w.data(), 1, kSeq, 1, kDim), 1.0);
          }) ==
          "The weight of the norm is [1, 3, 1, 12]; for gradients it must be one for all tokens: [1, 1, 1 or heads, "
          "head_dim].");
    CHECK(backward([](Tensors& t, rope::Path& p, Float&, Float&, Double&, Index&) {
              p = rope::heads(t.of_y()).rms_norm(view(t.w.data(), 1, 1, 1, 1), 1.0);
          }) ==
          "The weight of the norm is [1, 1, 1, 1]; for gradients it must be one for all tokens: [1, 1, 1 or heads, "
          "head_dim].");
    CHECK(backward([](Tensors& t, rope::Path& p, Float&, Float&, Double&, Index&) {
              p = rope::heads(view(t.d.data(), kBatch, kSeq, kHeads, kDim)).rms_norm(1.0);
          }) == "x is double; with rows of float it must be float, half or bfloat16.");
    CHECK(backward([](Tensors& t, rope::Path& p, Float&, Float&, Double&, Index&) {
              p = rope::heads(view(t.y.data(), 1, 1, 1, 4096)).rms_norm(1.0);
          }) == "x has head_dim 4096; it must be at most 2048.");
    CHECK(backward([](Tensors& t, rope::Path& p, Float&, Float&, Double&, Index&) {
              p = rope::heads(t.of_y().slice_features(0, 6)).rms_norm(1.0).rotate();
          }) == "path.head_dim is 6; its cache was made for a head_dim of 12.");
    CHECK(backward([](Tensors&, rope::Path&, Float&, Float&, Double&, Index& first) { first = 14; }) ==
          "positions start at 14 and seq is 3; this cache holds positions 0 to 15.");
}

TEST_CASE("the tensors of the way back") {
    const auto of = [](const auto& change) {
        return backward(
            [&](Tensors& t, rope::Path&, Float& g, Float& dx, Double& dw, Index&) { change(t, g, dx, dw); });
    };
    CHECK(of([](Tensors&, Float& g, Float&, Double&) { g = g.slice_heads(0, 2); }) ==
          "g.heads is 2; it must be that of x (4).");
    CHECK(of([](Tensors&, Float&, Float& dx, Double&) { dx = dx.slice_tokens(1, 2); }) ==
          "dx.seq is 2; it must be that of x (3).");
    CHECK(of([](Tensors&, Float&, Float& dx, Double&) { dx.head_stride = 0; }) ==
          "dx overlaps itself: heads has stride 0; in a view that is written, its absolute value must be at least 1, "
          "which is "
          "what the axes inside it span.");
    CHECK(of([](Tensors& t, Float& g, Float& dx, Double&) {
              g = t.of_g().slice_heads(0, 2);
              dx = t.of_g().slice_heads(0, 2);
          }) == "g.heads is 2; it must be that of x (4).");
    CHECK(of([](Tensors& t, Float&, Float& dx, Double&) {
              dx = t.of_g();
              dx.data += 3;
          }) ==
          "dx and g are different views that may share elements; they must be the same view (pointer, type, extents "
          "and strides) or be shown to share none by their strides.");
    CHECK(of([](Tensors& t, Float&, Float& dx, Double&) {
              dx = t.of_y();
              dx.data -= 3;
          }) ==
          "dx and x are different views that may share elements; they must be the same view (pointer, type, extents "
          "and strides) or be shown to share none by their strides.");
    CHECK(of([](Tensors& t, Float&, Float& dx, Double&) { dx.data = t.w.data() + 4; }) ==
          "dx and the weight of the norm may share elements; they must be shown to share none by their strides.");
    CHECK(of([](Tensors& t, Float&, Float&, Double& dw) { dw = t.of_dw(2); }) ==
          "dw is [1, 2, 1, 12]; it must be [1, 1, 1, 12].");
    CHECK(of([](Tensors& t, Float&, Float&, Double& dw) { dw = t.of_dw(1, 4); }) ==
          "dw is [1, 1, 4, 12]; it must be [1, 1, 1, 12].");
    CHECK(of([](Tensors&, Float&, Float&, Double& dw) { dw.feature_stride = 2; }) ==
          "dw has a feature stride of 2; it must be 1.");
    CHECK(of([](Tensors&, Float&, Float&, Double& dw) { dw.data = nullptr; }) ==
          "dw.data is null; a view of 12 elements needs memory to point to.");
    CHECK(backward([](Tensors& t, rope::Path& p, Float&, Float&, Double&, Index&) {
              p = rope::heads(t.of_y()).rms_norm(1.0).rotate();
          }) == "dw is given, and the norm has no weight; leave dw out.");
}

TEST_CASE("dw shares nothing, and double goes with double") {
    const rope::CosSinCache<double> table(config(), 16);
    std::vector<double> x(kDim, 2.0), g(kDim, 3.0), dx(kDim, 4.0), w(kDim, 5.0);
    const std::vector<double> all[] = {x, g, dx, w};
    const auto head = [](std::vector<double>& v) { return view(v, 1, 1, kDim); };
    const auto with_dw = [&](std::vector<double>& dw) {
        return support::invalid([&] {
            rope::pass_backward<kLayout>(table, rope::start_at(0), rope::heads(head(x)).rms_norm(w, 1.0).rotate(),
                                         head(g), head(dx), head(dw));
        });
    };
    const char* const shown = " may share elements; they must be shown to share none by their strides.";
    CHECK(with_dw(x) == std::string("dw and x") + shown);
    CHECK(with_dw(g) == std::string("dw and g") + shown);
    CHECK(with_dw(dx) == std::string("dw and dx") + shown);
    CHECK(with_dw(w) == std::string("dw and the weight of the norm") + shown);
    Tensors t;
    CHECK(support::invalid([&] {
              rope::pass_backward<kLayout>(table, rope::start_at(0),
                                           rope::heads(view(t.y.data(), 1, 1, kDim)).rms_norm(1.0), head(g), head(dx));
          }) == "x is not double; with rows of double it must be double.");
    CHECK(support::invalid([&] {
              rope::pass_backward<kLayout>(table, rope::start_at(0), rope::heads(head(x)).rms_norm(t.w.data(), 1.0),
                                           head(g), head(dx));
          }) == "The numbers of a norm are not double; with rows of double they must be double.");
    CHECK(std::vector<double>(all[0]) == x);
    CHECK(all[1] == g);
    CHECK(all[2] == dx);
    CHECK(all[3] == w);
}

TEST_CASE("calls on nothing are accepted") {
    rope::TensorView<float> no_tokens = view(static_cast<float*>(nullptr), 1, 0, kHeads, kDim);
    rope::TensorView<double> no_rows = view(static_cast<double*>(nullptr), 1, 0, 1, kPairs);
    double one[kPairs] = {1.0, 1.0, 1.0, 1.0, 1.0};
    rope::add_angle_gradients<kLayout>(no_tokens, no_tokens, cache(), no_rows);
    rope::add_frequency_gradients(no_rows, rope::start_at(0), view(one, 1, 1, kPairs));
    rope::add_row_sums(no_rows, view(one, 1, 1, kPairs));
    rope::add_position_gradients(no_rows, rope::frequencies(config()), view(static_cast<double*>(nullptr), 0, 1, 1));
    rope::pass_backward<kLayout>(cache(), rope::start_at(0), rope::heads(no_tokens).rms_norm(1.0).rotate(), no_tokens,
                                 no_tokens);
    for (const double x : one) CHECK(x == 1.0);
    CHECK(rope::attention_factor_gradient(no_rows, 2.0) == 0.0);
    // Tokens without heads: their sums are zero.
    rope::TensorView<float> no_heads = view(static_cast<float*>(nullptr), 1, 1, 0, kDim);
    rope::add_angle_gradients<kLayout>(no_heads, no_heads, cache(), view(one, 1, 1, kPairs));
    for (const double x : one) CHECK(x == 1.0);
}
