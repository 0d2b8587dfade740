// SPDX-License-Identifier: MIT
// Usual passes are accepted before the full checks look at them. Nothing that these refuse is accepted, and the prologues of
// decoding and of prompts are.
#include <rope/heads.hpp>
#include <rope/isa.hpp>

#include <rope/detail/paths/run.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/drawn_views.hpp"

using rope::Index;
using rope::Path;
using rope::detail::AnyView;
using rope::detail::ElementType;
using rope::detail::PathCall;
using support::address;
using support::Draw;
using support::typed;

namespace {

/// f(the view with its type)
template <class F>
auto with_type(const AnyView& v, const F& f) {
    if (v.type == ElementType::f64) return f(typed<double>(v));
    if (v.type == ElementType::f16) return f(typed<rope::half>(v));
    if (v.type == ElementType::bf16) return f(typed<rope::bfloat16>(v));
    return f(typed<float>(v));
}

/// A path of memory at random. Nothing is read or written there but slots.
struct DrawnPass {
    Draw& draw;
    std::vector<std::vector<Index>> slot_lists;

    rope::Destination pages(const AnyView& v, Index tokens) {
        std::vector<Index>& slots = slot_lists.emplace_back();
        const Index count = tokens < 0 || tokens > 10000 ? 0 : tokens + (draw.one_in(20) ? draw.of({-1, 1}) : 0);
        for (Index i = 0; i < count; ++i)
            slots.push_back(draw.one_in(40) ? draw.hostile()
                                            : draw.below(3 + v.extents[0] / 2) - (draw.one_in(8) ? 1 : 0));
        return with_type(v, [&](auto t) {
            auto p = rope::paged(t.data, t.batch, t.seq, t.heads, t.head_dim, slots);
            p.page_stride = t.batch_stride;
            p.place_stride = t.seq_stride;
            p.head_stride = t.head_stride;
            p.feature_stride = t.feature_stride;
            return rope::Destination(p);
        });
    }
    void add_steps(Path& p, const AnyView& x) {
        for (Index count = draw.below(4); count > 0; --count) {
            AnyView n = draw.beside(x, {draw.one_in(3) ? x.extents[0] : 1, draw.one_in(3) ? x.extents[1] : 1,
                                        draw.one_in(3) ? x.extents[2] : 1, draw.one_in(9) ? 1 : x.extents[3]});
            if (!draw.one_in(9)) n.type = x.type == ElementType::f64 ? ElementType::f64 : ElementType::f32;
            if (!draw.one_in(9)) n.data = address(std::uintptr_t(1) << 46);
            const double number = draw.one_in(9) ? static_cast<double>(draw.hostile()) : 0.5;
            const auto numbers = with_type(n, [](auto t) { return rope::StepNumbers(t); });
            rope::NormOptions options;
            options.over = static_cast<rope::NormSpan>(draw.one_in(9) ? draw.below(3) : 0);
            options.rounding = static_cast<rope::NormRounding>(draw.one_in(9) ? draw.below(4) : 0);
            switch (draw.below(8)) {
                case 0: p.rms_norm(numbers, number, options); break;
                case 4: p.layer_norm(numbers, draw.one_in(2) ? numbers : rope::StepNumbers(), number, options); break;
                case 5:
                    draw.one_in(2) ? p.rotate_back() : p.rotate_into(static_cast<rope::Layout>(draw.below(3)));
                    break;
                case 1: p.clamp(number); break;
                case 2: p.add(draw.one_in(9) ? rope::StepNumbers() : numbers); break;
                case 3: p.hadamard(draw.of({0, 2, 3})); break;
                default: p.rotate();
            }
        }
    }
    rope::Destination destination(const AnyView& x) {
        AnyView y = draw.beside(x, {x.extents[0], x.extents[1], x.extents[2], x.extents[3]});
        if (!draw.one_in(3)) y.data = address(std::uintptr_t(1) << 45);
        if (!draw.one_in(9)) y.type = x.type;
        y.element_size = y.type == ElementType::f64 ? 8 : y.type == ElementType::f32 ? 4 : 2;
        if (draw.one_in(3)) return with_type(y, [](auto t) { return rope::Destination(t); });
        if (draw.one_in(2)) return pages(y, rope::detail::clamped_product(x.extents[0], x.extents[1]));
        AnyView scales = draw.beside(x, {x.extents[0], x.extents[1], x.extents[2], 1});
        if (!draw.one_in(9)) scales.type = ElementType::f32;
        if (!draw.one_in(9)) scales.data = address(std::uintptr_t(1) << 44);
        const auto of_heads = with_type(scales, [](auto t) { return rope::Destination(t); });
        const Index format = draw.below(4);
        if (format == 0) return rope::fp8_e4m3(typed<unsigned char>(y), draw.one_in(9) ? -1.0f : 2.0f);
        if (format == 1) return rope::fp8_e4m3(typed<unsigned char>(y), of_heads);
        if (format == 2) {
            AnyView zeros = scales;
            zeros.data = draw.one_in(9) ? draw.place_near(scales, zeros) : address(std::uintptr_t(1) << 47);
            return rope::uint8(typed<unsigned char>(y), of_heads, rope::Destination(typed<const float>(zeros)));
        }
        return rope::int8(typed<signed char>(y), of_heads);
    }
};

}  // namespace

TEST_CASE("accept_pass takes nothing that check_all_paths refuses") {
    static_cast<void>(rope::active_isa());  // one is chosen
    Draw draw;
    constexpr int kRounds = 200000;
    int accepted = 0, right = 0, of_two = 0, rotating = 0, normed = 0, paged = 0, coded = 0, cached = 0, moved = 0;
    for (int round = 0; round < kRounds; ++round) {
        DrawnPass drawn = {draw, {}};
        drawn.slot_lists.reserve(8);
        const auto extents = draw.extents();
        const AnyView first = draw.view(extents, address(std::uintptr_t(1) << 40));
        std::vector<Path> paths;
        for (Index i = 0; i < 1 + draw.below(2); ++i) {
            AnyView x = i == 0 ? first : draw.beside(first, extents);
            if (i > 0 && draw.one_in(2)) x.data = address(std::uintptr_t(1) << 43);
            if (draw.one_in(3))
                paths.push_back(rope::heads(drawn.destination(x)));
            else
                paths.push_back(with_type(x, [](auto t) { return rope::heads(t); }));
            drawn.add_steps(paths.back(), x);
            if (!draw.one_in(3)) paths.back().to(drawn.destination(x));
        }
        const Index* const shape = rope::detail::PathAccess::data(paths[0]).source.extents;
        const rope::detail::TableShape table = draw.table(shape[3]);
        std::vector<Index> list;
        const rope::Positions positions = draw.positions(table, shape[0], shape[1], list);
        using rope::detail::kHalfSplit;
        const PathCall call = {table, kHalfSplit,
                               static_cast<rope::detail::Capabilities>(kHalfSplit | rope::detail::kInverse),
                               first.type == ElementType::f64, !draw.one_in(8)};
        std::vector<const Path*> all;
        for (const Path& p : paths) all.push_back(&p);
        const Index count = static_cast<Index>(all.size());
        const bool is_accepted = rope::detail::accept_pass(all.data(), count, positions, call);
        const rope::Status s = rope::detail::check_all_paths(all.data(), count, positions, call);
        if (is_accepted && !s.ok()) {
            CAPTURE(round, std::string(s.message()));
            FAIL("accept_pass takes a pass that check_all_paths refuses");
        }
        right += s.ok();
        if (!is_accepted) continue;
        const rope::detail::PathData& p = rope::detail::PathAccess::data(paths.back());
        accepted += 1;
        of_two += count == 2;
        for (int i = 0; i < p.count; ++i) {
            rotating += rope::detail::is_step_of<rope::detail::RotateStage>(p.steps[i]);
            normed += rope::detail::is_step_of<rope::detail::NormStage>(p.steps[i]);
        }
        paged += p.destination.codes.is_paged;
        coded += p.destination.format != nullptr;
        cached += rope::detail::begins_in_cache(p);
        moved += rope::detail::begins_in_cache(p) && !rope::detail::has_destination(p) && p.cache.codes.is_paged;
    }
    CAPTURE(accepted, right, of_two, rotating, normed, paged, coded, cached, moved);
    CHECK(accepted > kRounds / 100);
    CHECK(right > accepted);
    CHECK(right < kRounds / 2);
    for (const int kind : {of_two, rotating, normed, paged, coded, cached, moved}) CHECK(kind > kRounds / 2000);
}

TEST_CASE("what dequantise accepts is nothing that its checks refuse") {
    static_cast<void>(rope::active_isa());
    Draw draw;
    constexpr int kRounds = 100000;
    int accepted = 0, right = 0;
    const PathCall call = {{}, {}, {}, false, false, true};
    for (int round = 0; round < kRounds; ++round) {
        DrawnPass drawn = {draw, {}};
        drawn.slot_lists.reserve(1);
        AnyView x = draw.view(draw.extents(), address(std::uintptr_t(1) << 40));
        x.type = ElementType::f32;
        x.element_size = sizeof(float);
        const Path path = rope::heads(drawn.destination(x)).to(typed<float>(x));
        const Path* const paths[] = {&path};
        const bool is_accepted = rope::detail::accept_pass(paths, 1, rope::Positions(), call);
        const rope::Status s = rope::detail::check_all_paths(paths, 1, rope::Positions(), call);
        if (is_accepted && !s.ok()) {
            CAPTURE(round, std::string(s.message()));
            FAIL("accept_pass takes a reading that check_all_paths refuses");
        }
        accepted += is_accepted;
        right += s.ok();
    }
    CAPTURE(accepted, right);
    CHECK(accepted > kRounds / 100);
    CHECK(right > accepted);
    CHECK(right < kRounds / 2);
}

TEST_CASE("the prologues of decoding and of prompts are accepted") {
    static_cast<void>(rope::active_isa());
    const rope::CosSinCache<float> cache(rope::Config{8}, 64);
    std::vector<float> q(4096), k(4096), weight(8), scales(512);
    std::vector<rope::bfloat16> keys(4096);
    std::vector<signed char> codes(4096);
    const std::vector<int> slots = {5, 6, -1};
    const auto is_accepted = [&](const rope::PositionsArgument& positions, const Path& a, const Path& b) {
        const Path* const paths[] = {&a, &b};
        return rope::detail::accept_pass(paths, 2, positions, rope::detail::call_of<rope::Layout::half_split>(cache));
    };
    for (const Index seq : {Index(1), Index(3)}) {
        CAPTURE(seq);
        const auto pages = [&](auto* data, Index width) {
            auto p = rope::paged(data, 4, 16, 2, width, slots);
            p.slot_count = seq;
            return p;
        };
        const auto heads_first = [&] {
            auto p = rope::paged_heads_first(keys.data(), 4, 2, 16, 8, slots);
            p.slot_count = seq;
            return p;
        };
        const Path of_q = rope::heads(rope::view(q.data(), seq, 4, 8)).rms_norm(weight, 1e-6).rotate();
        const auto of_k = [&] {
            return rope::heads(rope::view(k.data(), seq, 2, 8)).rms_norm(weight.data(), 1e-6).rotate();
        };
        const rope::Destination int8 = rope::int8(pages(codes.data(), 8), pages(scales.data(), 1));
        for (const rope::Destination& to :
             {rope::Destination(pages(keys.data(), 8)), rope::Destination(heads_first()), int8,
              rope::Destination(rope::view(keys.data(), seq, 2, 8)),
              rope::Destination(rope::view_heads_first(keys.data(), 1, 2, 64, 8).slice_tokens(3, seq))}) {
            CHECK(is_accepted(rope::start_at(5), of_q, of_k().to(to)));
            CHECK_FALSE(is_accepted(rope::start_at(64), of_q, of_k().to(to)));
        }
        const std::vector<Index> ids = {3, 60, 2};
        CHECK(is_accepted(rope::ids(ids.data(), seq), of_q, of_k()));
        const auto half_of_q = rope::view(q.data(), seq, 4, 8).slice_heads(1, 2);
        CHECK_FALSE(is_accepted(rope::start_at(5), of_q, rope::heads(half_of_q)));
    }
}
