// SPDX-License-Identifier: MIT
// An axis of one element may have any stride: every operation gives the bits that it gives with usual ones. With
// -fsanitize=undefined no such stride is multiplied, by any of them.
#include <rope/additive.hpp>
#include <rope/core.hpp>
#include <rope/gradients.hpp>
#include <rope/heads.hpp>
#include <rope/reposition.hpp>

#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/drawn_views.hpp"
#include "support/isas.hpp"

using rope::Index;
using rope::Layout;
using rope::TensorView;
using support::size;

namespace {

constexpr Layout kLayout = Layout::half_split;

struct Shape {
    Index batch, seq, heads, head_dim;
};

/// Views with usual strides, or with drawn ones beside one element; and the bytes that operations leave.
class Run {
 public:
    explicit Run(support::Draw* draw) : draw_(draw) {}

    template <class T>
    TensorView<T> operator()(TensorView<T> v) {
        const Index extents[] = {v.batch, v.seq, v.heads, v.head_dim};
        Index* const strides[] = {&v.batch_stride, &v.seq_stride, &v.head_stride, &v.feature_stride};
        for (int axis = 0; axis < 4; ++axis)
            if (draw_ != nullptr && extents[axis] == 1) *strides[axis] = draw_->hostile();
        return v;
    }
    template <class T>
    TensorView<T> view(std::vector<T>& x, Shape s) {
        return (*this)(rope::view(x.data(), s.batch, s.seq, s.heads, s.head_dim));
    }
    /// Pages [2, page_size, heads, width], with a slot for each token, whose stride is drawn if there is one token.
    template <class T>
    rope::Paged<T> pages(std::vector<T>& x, Shape s, Index width) {
        const Index count = s.batch * s.seq, page_size = (count + 1) / 2;
        slots_.resize(size(count));
        for (Index i = 0; i < count; ++i) slots_[size(i)] = static_cast<int>(2 * page_size - 1 - i);
        const TensorView<T> v = (*this)(rope::view(x.data(), 2, page_size, s.heads, width));
        rope::Paged<T> p = {v.data,        v.batch,          v.seq, v.heads, v.head_dim, v.batch_stride, v.seq_stride,
                            v.head_stride, v.feature_stride, {},    0};
        return p.with_slots(slots_.data(), count, draw_ != nullptr && count == 1 ? draw_->hostile() : 1);
    }
    template <class T>
    void keep(const std::vector<T>& x) {
        const auto* const bytes = reinterpret_cast<const unsigned char*>(x.data());
        kept.insert(kept.end(), bytes, bytes + x.size() * sizeof(T));
    }

    std::vector<unsigned char> kept;

 private:
    support::Draw* draw_;
    std::vector<int> slots_;
};

rope::Config config_of(Index head_dim) {
    rope::Config config;
    config.head_dim = head_dim;
    return config;
}
Index count_of(Shape s) { return s.batch * s.seq * s.heads * s.head_dim; }

/// Every rotation of a tensor.
template <class X>
void rotate(Run& run, Shape s) {
    using T = support::TableOf<X>;
    const rope::CosSinCache<T> table(config_of(s.head_dim), 40);
    std::vector<X> x = support::normal<X>(count_of(s), 1), k = support::normal<X>(count_of(s), 2), y(x.size());
    for (const Layout layout : {Layout::interleaved, kLayout}) {
        rope::apply(layout, run.view(x, s), table, rope::start_at(3));
        rope::apply(layout, run.view(x, s), run.view(k, s), table, rope::start_at(5));
        rope::apply_inverse(layout, run.view(x, s), table, rope::start_at(2));
        rope::apply_transpose(layout, run.view(x, s), table, rope::start_at(1));
        rope::apply_copy(layout, run.view(x, s), run.view(y, s), table, rope::start_at(7));
        run.keep(y);
        rope::reposition(layout, run.view(x, s), config_of(s.head_dim), Index(-2));
    }
    run.keep(x);
    run.keep(k);
}

/// Every kind of destination, written and read. head_dim 1 is not rotated.
template <class X>
void pass(Run& run, Shape s) {
    using T = support::TableOf<X>;
    const Index d = s.head_dim;
    const rope::CosSinCache<T> table(config_of(d == 1 ? 2 : d), 40);
    std::vector<X> x = support::normal<X>(count_of(s), 3);
    std::vector<T> w = support::normal<T>(s.heads * d, 4), t = support::normal<T>(s.batch * s.seq, 5);
    const auto path = [&] {
        rope::Path p = rope::heads(run.view(x, s));
        p.add(run.view(w, {1, 1, 1, d})).rms_norm(run.view(w, {1, 1, s.heads, d}), 1e-6);
        if (d > 1) p.rotate();
        p.layer_norm(w.data(), run.view(w, {1, 1, 1, 1}), 1e-6, {rope::NormSpan::token});
        return p.multiply(run.view(t, {s.batch, s.seq, 1, 1}));
    };
    const auto into = [&](const rope::Destination& to) {
        rope::pass<kLayout>(table, rope::start_at(3), path().to(to));
    };
    std::vector<T> y(x.size()), paged(size(2 * (s.batch * s.seq + 1) * s.heads * d), T(7));
    into(run.view(y, s));
    into(run.pages(paged, s, d));
    run.keep(y);
    run.keep(paged);
    if constexpr (sizeof(X) < 8) {
        std::vector<signed char> codes(size(count_of(s)));
        std::vector<unsigned char> bytes(paged.size() * 34 / 32 + 64);
        std::vector<float> scales(paged.size()), zeros(paged.size()), back(x.size());
        const auto beside = [&](std::vector<float>& numbers) {
            return run.view(numbers, {s.batch, s.seq, s.heads, 1});
        };
        const auto check = [&](const rope::Destination& to) {
            into(to);
            rope::dequantise(to, run.view(back, s));
            run.keep(back);
        };
        check(rope::int8(run.view(codes, s), beside(scales)));
        check(rope::uint8(run.view(bytes, s), beside(scales), beside(zeros)));
        check(rope::uint8(run.pages(bytes, s, d), run.pages(scales, s, 1), run.pages(zeros, s, 1)));
        check(rope::fp8_e4m3(run.view(bytes, s), 0.7f));
        check(rope::fp8_e4m3(run.view(bytes, s), beside(scales)));
        if (d % 2 == 0)
            check(rope::uint4(run.view(bytes, {s.batch, s.seq, s.heads, d / 2}), beside(scales), beside(zeros)));
        if (d % 32 == 0) check(rope::q8_0(run.view(bytes, {s.batch, s.seq, s.heads, d / 32 * 34})));
        if (d % 32 == 0) check(rope::q4_0(run.view(bytes, {s.batch, s.seq, s.heads, d / 32 * 18})));
    }
    rope::pass<kLayout>(table, rope::start_at(3), path());
    run.keep(x);
}

/// Gradients of all kinds.
template <class X>
void go_back(Run& run, Shape s) {
    using T = support::TableOf<X>;
    const Index pairs = s.head_dim / 2, rows = rope::weight_gradient_rows(s.batch, s.seq);
    const rope::CosSinCache<T> table(config_of(s.head_dim), 40);
    std::vector<X> x = support::normal<X>(count_of(s), 6), g = support::normal<X>(count_of(s), 7), dx(x.size());
    std::vector<T> w = support::normal<T>(s.heads * s.head_dim, 8);
    std::vector<double> angles(size(s.batch * s.seq * s.heads * pairs)), magnitudes = angles;
    std::vector<double> of_pairs(size(pairs)), of_tokens(size(s.batch * s.seq)), dw(size(rows * s.heads * s.head_dim));
    const Shape of_angles = {s.batch, s.seq, s.heads, pairs};
    rope::add_angle_gradients<kLayout>(run.view(x, s), run.view(g, s), table, run.view(angles, of_angles),
                                       run.view(magnitudes, of_angles));
    rope::add_frequency_gradients(run.view(angles, of_angles), rope::start_at(3), run.view(of_pairs, {1, 1, 1, pairs}));
    rope::add_row_sums(run.view(angles, of_angles), run.view(of_pairs, {1, 1, 1, pairs}));
    rope::add_position_gradients(run.view(angles, of_angles), rope::frequencies(config_of(s.head_dim)),
                                 run.view(of_tokens, {1, s.batch * s.seq, 1, 1}));
    const double factor = rope::attention_factor_gradient(run.view(magnitudes, of_angles), 1.5);
    rope::pass_backward<kLayout>(
        table, rope::start_at(3),
        rope::heads(run.view(x, s)).rms_norm(run.view(w, {1, 1, s.heads, s.head_dim}), 1e-6).rotate(), run.view(g, s),
        run.view(dx, s), run.view(dw, {1, rows, s.heads, s.head_dim}));
    for (const std::vector<double>* list : {&angles, &magnitudes, &of_pairs, &of_tokens, &dw}) run.keep(*list);
    run.keep(std::vector<double>{factor});
    run.keep(dx);
}

template <class X>
void add(Run& run, Shape s) {
    using T = support::TableOf<X>;
    std::vector<X> x = support::normal<X>(count_of(s), 9);
    const std::vector<T> w = support::normal<T>(40 * s.heads * s.head_dim, 10);
    const rope::LearnedEmbedding<T> embedding(w.data(), 40, s.heads * s.head_dim);
    embedding.add(run.view(x, s), rope::start_at(3));
    run.keep(x);
}

template <class F>
void compare(const char* name, Shape s, const F& operation) {
    support::Draw draw;
    Run usual(nullptr);
    operation(usual, s);
    for (int round = 0; round < 12; ++round) {
        Run drawn(&draw);
        operation(drawn, s);
        CAPTURE(name, s.batch, s.seq, s.heads, s.head_dim, round);
        REQUIRE(drawn.kept == usual.kept);
    }
}

template <class X>
void compare_all() {
    for (const Index batch : {1, 2})
        for (const Index seq : {1, 3})
            for (const Index heads : {1, 2})
                for (const Index head_dim : {1, 2, 8, 64}) {
                    const Shape s = {batch, seq, heads, head_dim};
                    compare("pass", s, pass<X>);
                    compare("additive", s, add<X>);
                    if (head_dim == 1) continue;
                    compare("rotations", s, rotate<X>);
                    compare("gradients", s, go_back<X>);
                }
}

}  // namespace

TEST_CASE("beside one element any stride is right, for every operation") {
    support::for_each_isa([](const char* isa) {
        CAPTURE(isa);
        compare_all<float>();
        compare_all<rope::bfloat16>();
        compare_all<double>();
    });
}

TEST_CASE("beside one element any stride is right, for calls that stream") {
    const Shape s = {1, 2100, 1, 2048};  // 17 MB
    support::Draw draw;
    Run usual(nullptr), drawn(&draw);
    for (Run* run : {&usual, &drawn}) {
        const rope::CosSinCache<float> table(config_of(s.head_dim), s.seq);
        std::vector<float> x(size(count_of(s)), 0.5f), y(x.size());
        rope::apply<kLayout>(run->view(x, s), table);
        rope::apply_copy<kLayout>(run->view(x, s), run->view(y, s), table);
        rope::pass<kLayout>(table, rope::start_at(0), rope::heads(run->view(y, s)).rotate().to(run->view(x, s)));
        rope::pass<kLayout>(table, rope::start_at(0), rope::heads(run->view(x, s)).multiply(3.0));
        run->keep(x);
    }
    REQUIRE(drawn.kept == usual.kept);
}
