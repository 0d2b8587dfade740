// SPDX-License-Identifier: MIT
// Passes through rope.h have the bits of those of the C++ headers: every cache format, written and read, every step, rows of
// a step's own, pages, and places.
#include <rope/rope.h>
#include <rope/rope.hpp>

#include <functional>
#include <string>
#include <vector>

#include "c/c_interface.hpp"
#include "support/cache_store.hpp"

using c_test::make;
using c_test::pass;
using rope::Index;
using rope::Layout;
using rope::Path;
using support::kCacheDim;
using support::kCacheHeads;
using support::Kind;
using support::kKinds;
using support::same_bits;
using support::size;
using support::Store;

namespace {

constexpr Index kTokens = 6;
const std::vector<int> kSlots = {9, 2, -1, 3, 11, 0};

rope::Config config_in_cpp() {
    rope::Config c;
    c.head_dim = kCacheDim;
    c.rotary_dim = 48;
    c.rotary_offset = 8;
    c.layout = Layout::half_split;
    return c;
}
const rope::CosSinCache<float>& expected_table() {
    static const rope::CosSinCache<float> table(config_in_cpp(), 100);
    return table;
}
const rope_rows* given_table() {
    static const auto table = [] {
        auto c = make<rope_config>();
        c.head_dim = kCacheDim;
        c.rotary_dim = 48;
        c.rotary_offset = 8;
        c.layout = ROPE_HALF_SPLIT;
        return c_test::table(c, 100);
    }();
    return table.get();
}

// ---- Memory that C++ describes, described in C ----

/// A buffer, and the shape to which it points.
struct Buffer {
    rope_tensor shape;
    rope_buffer buffer;
    float number;

    void read(const rope::detail::HeadsInMemory& m) {
        shape = make<rope_tensor>();
        shape.type = static_cast<std::int32_t>(m.type);
        shape.batch = m.extents[0];
        shape.seq = m.extents[1];
        shape.heads = m.extents[2];
        shape.head_dim = m.extents[3];
        shape.batch_stride = m.strides[0];
        shape.seq_stride = m.strides[1];
        shape.head_stride = m.strides[2];
        shape.feature_stride = m.strides[3];
        buffer = make<rope_buffer>();
        buffer.shape = &shape;
        buffer.data = m.data;
        if (!m.is_paged) return;
        buffer.slot_list = m.slot_list.data();
        buffer.slot_count = m.slot_count;
        buffer.slot_type = ROPE_INT32;
    }
    /// Scales or zeros. A number that is given is a list of one.
    const rope_buffer* read(const rope::detail::ParameterData& p) {
        if (!rope::detail::is_somewhere(p)) return nullptr;
        read(p.numbers);
        number = p.number;
        if (p.is_number) buffer.data = &number;
        return &buffer;
    }
};
std::int32_t format_of(Kind kind) {
    switch (kind) {
        case Kind::f32:
        case Kind::f16:
        case Kind::bf16: return ROPE_PLAIN;
        case Kind::int8:
        case Kind::int8_groups:
        case Kind::int8_given:
        case Kind::int8_channels:
        case Kind::int8_zeros: return ROPE_FORMAT_INT8;
        case Kind::uint8:
        case Kind::uint8_points: return ROPE_FORMAT_UINT8;
        case Kind::int4: return ROPE_FORMAT_INT4;
        case Kind::uint4:
        case Kind::uint4_given: return ROPE_FORMAT_UINT4;
        case Kind::e4m3:
        case Kind::by_head:
        case Kind::by_power:
        case Kind::by_groups: return ROPE_FORMAT_FP8_E4M3;
        case Kind::e5m2: return ROPE_FORMAT_FP8_E5M2;
        case Kind::mxfp4: return ROPE_FORMAT_MXFP4;
        case Kind::nvfp4: return ROPE_FORMAT_NVFP4;
        case Kind::q8_0: return ROPE_FORMAT_Q8_0;
        case Kind::q4_0: return ROPE_FORMAT_Q4_0;
        case Kind::q4_1: return ROPE_FORMAT_Q4_1;
        case Kind::q5_0: return ROPE_FORMAT_Q5_0;
        case Kind::q5_1: return ROPE_FORMAT_Q5_1;
        case Kind::iq4_nl: return ROPE_FORMAT_IQ4_NL;
        case Kind::ggml_mxfp4:
        case Kind::count: break;
    }
    return ROPE_FORMAT_GGML_MXFP4;
}
/// Heads that are described in C++, described in C.
struct Heads {
    Buffer codes, scales, zeros;
    rope_heads heads;

    Heads(const rope::Destination& d, std::int32_t format) {
        const rope::detail::StoredHeads& stored = rope::detail::PathAccess::data(d);
        heads = make<rope_heads>();
        heads.format = format;
        codes.read(stored.codes);
        heads.codes = &codes.buffer;
        if (format == ROPE_PLAIN) return;
        heads.scales = scales.read(stored.scales);
        heads.zeros = zeros.read(stored.zeros);
        heads.are_given = stored.scales.is_given ? 1 : 0;
        heads.zeros_are_points = stored.zeros.use == rope::detail::ZeroUse::code ? 1 : 0;
        if (format == ROPE_FORMAT_NVFP4 || (heads.scales == nullptr && format < ROPE_FORMAT_Q8_0))
            heads.scale = static_cast<double>(stored.factor);
        heads.scale_divides = stored.use == rope::ScaleUse::divides ? 1 : 0;
    }
    Heads(const Heads&) = delete;
};

auto view(std::vector<float>& x) { return rope::view(x.data(), kTokens, kCacheHeads, kCacheDim); }
std::vector<float> numbers() { return support::normal<float>(kTokens * kCacheHeads * kCacheDim, 3); }

void run(const rope_rows* rows, const rope_call* call, const rope_path* paths, Index count = 1) {
    pass([&](auto... a) { return rope_pass(rows, call, nullptr, paths, count, a...); });
}

}  // namespace

TEST_CASE("every cache format, written and read") {
    std::vector<float> weight = support::normal<float>(kCacheDim, 4), x = numbers();
    auto w = make<rope_buffer>();
    w.data = weight.data();
    rope_head_step steps[] = {make<rope_head_step>(), make<rope_head_step>()};
    steps[0].kind = ROPE_RMS_NORM;
    steps[0].numbers = &w;
    steps[0].number = 1e-6;
    steps[1].kind = ROPE_ROTATE;
    auto call = make<rope_call>();
    call.start = 5;
    for (const Kind kind : kKinds)
        for (const bool is_heads_first : {false, true}) {
            INFO("kind " << static_cast<int>(kind));
            Store in_c = {kind, is_heads_first}, in_cpp = in_c;
            const Heads from(view(x), ROPE_PLAIN), to(in_c.at(kSlots), format_of(kind));
            auto path = make<rope_path>();
            path.source = &from.heads;
            path.destination = &to.heads;
            path.steps = steps;
            path.step_count = 2;
            run(given_table(), &call, &path);
            rope::pass<Layout::half_split>(
                expected_table(), rope::start_at(5),
                rope::heads(view(x)).rms_norm(weight.data(), 1e-6).rotate().to(in_cpp.at(kSlots)));
            CHECK(in_c == in_cpp);

            std::vector<float> read(x.size(), -7.0f), read_cpp = read;
            const Heads back(view(read), ROPE_PLAIN);
            path.source = &to.heads;
            path.destination = &back.heads;
            path.step_count = 0;
            run(nullptr, nullptr, &path);
            rope::dequantise(in_cpp.at(kSlots), view(read_cpp));
            CHECK(same_bits(read, read_cpp));
        }
}

namespace {

/// One step, said in both languages.
struct Step {
    std::string name;
    std::function<void(rope_head_step&)> in_c;
    std::function<void(Path&)> in_cpp;
};

}  // namespace

TEST_CASE("every step") {
    std::vector<rope::bfloat16> weight = support::normal<rope::bfloat16>(kCacheDim, 5),
                                bias = support::normal<rope::bfloat16>(kCacheDim, 6);
    std::vector<float> by_token = support::normal<float>(kTokens, 7),
                       by_head = support::normal<float>(kCacheHeads * kCacheDim, 8);
    std::vector<double> squares(kTokens, 500.0);
    auto w = make<rope_buffer>();
    w.type = ROPE_BFLOAT16;
    auto b = w;
    w.data = weight.data();
    b.data = bias.data();
    const rope_tensor of_tokens = c_test::shape<float>(1, kTokens, 1, 1),
                      of_heads = c_test::shape<float>(1, 1, kCacheHeads, kCacheDim),
                      of_squares = c_test::shape<double>(1, kTokens, 1, 1);
    auto temperatures = make<rope_buffer>(), heads = temperatures, sums = temperatures;
    temperatures.data = by_token.data();
    temperatures.shape = &of_tokens;
    heads.data = by_head.data();
    heads.shape = &of_heads;
    sums.data = squares.data();
    sums.shape = &of_squares;
    const auto tokens_in_cpp = rope::view(by_token.data(), 1, kTokens, 1, 1);
    const auto heads_in_cpp = rope::view(by_head.data(), 1, kCacheHeads, kCacheDim);
    const std::vector<std::int64_t> ids = {90, 4, 4, 0, 1, 99};
    auto other = make<rope_call>();
    other.positions = ROPE_IDS;
    other.ids_type = ROPE_INT64;
    other.ids_count = kTokens;
    const rope::Positions ids_in_cpp(ids);

    const std::vector<Step> steps = {
        {"add", [&](auto& s) { s.kind = ROPE_ADD, s.numbers = &b; }, [&](Path& p) { p.add(bias); }},
        {"clamp", [](auto& s) { s.kind = ROPE_CLAMP, s.number = 0.5; }, [](Path& p) { p.clamp(0.5); }},
        {"multiply by a number", [](auto& s) { s.kind = ROPE_MULTIPLY, s.number = 0.125; },
         [](Path& p) { p.multiply(0.125); }},
        {"multiply by numbers", [&](auto& s) { s.kind = ROPE_MULTIPLY, s.numbers = &temperatures; },
         [&](Path& p) { p.multiply(tokens_in_cpp); }},
        {"rms norm",
         [&](auto& s) { s.kind = ROPE_RMS_NORM, s.numbers = &w, s.number = 1e-5, s.adds_one = 1, s.rounding = 1; },
         [&](Path& p) {
             p.rms_norm(weight, 1e-5, {rope::NormSpan::head, rope::NormRounding::normalised, true});
         }},
        {"rms norm without weight", [](auto& s) { s.kind = ROPE_RMS_NORM, s.number = 1e-5; },
         [](Path& p) { p.rms_norm(1e-5); }},
        {"rms norm over tokens", [&](auto& s) { s.kind = ROPE_RMS_NORM, s.numbers = &heads, s.over_token = 1; },
         [&](Path& p) { p.rms_norm(heads_in_cpp, 0.0, {rope::NormSpan::token}); }},
        {"rms norm over the tokens of several ranks",
         [&](auto& s) {
             s.kind = ROPE_RMS_NORM, s.numbers = &heads, s.over_token = 1, s.squares = &sums, s.all_heads = 9;
         },
         [&](Path& p) {
             rope::NormOptions o = {rope::NormSpan::token};
             o.squares = rope::view(squares.data(), 1, kTokens, 1, 1);
             o.all_heads = 9;
             p.rms_norm(heads_in_cpp, 0.0, o);
         }},
        {"l2 norm", [&](auto& s) { s.kind = ROPE_L2_NORM, s.numbers = &w, s.number = 1e-4; },
         [&](Path& p) { p.l2_norm(weight, 1e-4); }},
        {"layer norm", [&](auto& s) { s.kind = ROPE_LAYER_NORM, s.numbers = &w, s.bias = &b, s.number = 1e-4; },
         [&](Path& p) { p.layer_norm(weight, bias, 1e-4); }},
        {"rotate", [](auto& s) { s.kind = ROPE_ROTATE, s.rounding = 2; },
         [](Path& p) { p.rotate(rope::RotateRounding::all); }},
        {"rotate back", [](auto& s) { s.kind = ROPE_ROTATE_BACK; }, [](Path& p) { p.rotate_back(); }},
        {"rotate into", [](auto& s) { s.kind = ROPE_ROTATE, s.layout = ROPE_INTERLEAVED; },
         [](Path& p) { p.rotate_into(Layout::interleaved); }},
        {"rotate by rows of its own",
         [&](auto& s) { s.kind = ROPE_ROTATE, s.rows = given_table(), s.call = &other, s.ids = ids.data(); },
         [&](Path& p) { p.rotate(expected_table(), ids_in_cpp); }},
        {"rotate back by rows of its own", [&](auto& s) { s.kind = ROPE_ROTATE_BACK, s.rows = given_table(); },
         [&](Path& p) { p.rotate_back(expected_table()); }},
        {"hadamard", [](auto& s) { s.kind = ROPE_HADAMARD, s.block = 16; }, [](Path& p) { p.hadamard(16); }},
        {"hadamard of the head", [](auto& s) { s.kind = ROPE_HADAMARD; }, [](Path& p) { p.hadamard(); }},
        {"round", [](auto& s) { s.kind = ROPE_ROUND; }, [](Path& p) { p.round(); }},
    };
    const auto x = support::normal<rope::bfloat16>(kTokens * kCacheHeads * kCacheDim, 9);
    auto call = make<rope_call>();
    call.start = 11;
    for (const Step& step : steps) {
        INFO(step.name);
        std::vector<rope::bfloat16> y = x, y_cpp = x;
        const auto in_cpp = rope::view(y_cpp.data(), kTokens, kCacheHeads, kCacheDim);
        const Heads memory(rope::view(y.data(), kTokens, kCacheHeads, kCacheDim), ROPE_PLAIN);
        // A factor before it makes the numbers of this step those that only float has.
        rope_head_step both[] = {make<rope_head_step>(), make<rope_head_step>()};
        both[0].kind = ROPE_MULTIPLY;
        both[0].number = 1.1;
        step.in_c(both[1]);
        auto path = make<rope_path>();
        path.source = &memory.heads;
        path.steps = both;
        path.step_count = 2;
        run(given_table(), &call, &path);
        Path expected = rope::heads(in_cpp).multiply(1.1);
        step.in_cpp(expected);
        rope::pass<Layout::half_split>(expected_table(), rope::start_at(11), expected);
        CHECK(same_bits(y, y_cpp));
        CHECK_FALSE(same_bits(y, x));
    }
}

TEST_CASE("several paths, some features, parts, and sums of squares") {
    std::vector<float> x = numbers(), v = support::normal<float>(kTokens * kCacheHeads * kCacheDim, 10);
    std::vector<float> out(size(kTokens * kCacheHeads * 16)), out_cpp = out, all(x.size()), all_cpp = all;
    const auto part_of = [](std::vector<float>& list) { return rope::view(list.data(), kTokens, kCacheHeads, 16); };
    const Heads of_x(view(x), ROPE_PLAIN), of_v(view(v), ROPE_PLAIN), of_out(part_of(out), ROPE_PLAIN),
        of_all(view(all), ROPE_PLAIN);
    auto rotation = make<rope_head_step>();
    rotation.kind = ROPE_ROTATE;
    rope_path paths[] = {make<rope_path>(), make<rope_path>()};
    paths[0].source = &of_x.heads;
    paths[0].destination = &of_out.heads;
    paths[0].steps = &rotation;
    paths[0].step_count = 1;
    paths[0].first_feature = 8;
    paths[0].features = 16;
    paths[1].source = &of_v.heads;
    paths[1].destination = &of_all.heads;
    for (Index i = 0; i < 3; ++i) {
        auto call = make<rope_call>();
        call.part = i;
        call.parts = 3;
        run(given_table(), &call, paths, 2);
    }
    rope::pass<Layout::half_split>(expected_table(),
                                   rope::heads(view(x)).rotate().slice_features(8, 16).to(part_of(out_cpp)),
                                   rope::heads(view(v)).to(view(all_cpp)));
    CHECK(same_bits(out, out_cpp));
    CHECK(same_bits(all, all_cpp));

    std::vector<double> sums(kTokens), sums_cpp(kTokens);
    const rope_tensor of_sums = c_test::shape<double>(1, kTokens, 1, 1);
    pass([&](auto... a) { return rope_sum_squares(&paths[1], nullptr, sums.data(), &of_sums, a...); });
    rope::sum_squares(rope::heads(view(v)), rope::view(sums_cpp.data(), 1, kTokens, 1, 1));
    CHECK(same_bits(sums, sums_cpp));
}

TEST_CASE("moves in caches of every format") {
    auto c = make<rope_config>();
    c.head_dim = kCacheDim;
    c.rotary_dim = 48;
    c.rotary_offset = 8;
    const auto moves = c_test::made<rope_rows>(
        [&](auto... a) { return rope_moves_new(&c, nullptr, nullptr, nullptr, nullptr, a...); });
    pass([&](auto... a) { return rope_moves_build(moves.get(), -3, a...); });
    rope::Config config = config_in_cpp();
    config.layout = {};
    rope::Moves<float> in_cpp(config);
    in_cpp.build(-3);
    auto call = make<rope_call>();
    call.layout = ROPE_HALF_SPLIT;
    for (const Kind kind : kKinds) {
        INFO("kind " << static_cast<int>(kind));
        Store a = {kind, false};
        std::vector<float> x = numbers();
        rope::pass(rope::heads(view(x)).to(a.at(kSlots)));
        Store b = a;
        const Heads keys(a.at(kSlots), format_of(kind));
        pass([&](auto... m) { return rope_reposition(moves.get(), &call, &keys.heads, 0, m...); });
        rope::reposition<Layout::half_split>(b.at(kSlots), in_cpp);
        CHECK(a == b);
    }
}
