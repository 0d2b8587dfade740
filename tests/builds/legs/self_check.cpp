// SPDX-License-Identifier: MIT
// One program that looks at a build of the library as a whole: every element type in both layouts, all kinds of
// positions, in place, copied and inverted, batches, the dense matrix, tables that grow, refusals, and the stored bits of
// a workload with its table. No test framework, so that a compiler and a standard library are all it takes. Prints a line
// per instruction set (its class, its name, the SHA-256 of its bits) and what went wrong; exit status 0 if nothing did. See
// README.md.
#include <rope/gguf_config.hpp>
#include <rope/rope.hpp>
#include <rope/testing.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>
#include <vector>

#include "../../support/class_of_bits.hpp"
#include "../../support/isas.hpp"
#include "../../support/stored_bits.hpp"
#include "../../support/workload.hpp"

// The registers of the x87 round at other places than the types, so there the bits are of no class.
#if !defined(__FLT_EVAL_METHOD__) || __FLT_EVAL_METHOD__ == 0
#    define ROPE_BITS_HAVE_A_CLASS 1
#else
#    define ROPE_BITS_HAVE_A_CLASS 0
#endif

namespace {

using rope::Index;
using rope::Layout;

static_assert(sizeof(Index) == 8 && std::is_signed_v<Index>, "An Index has 64 bits on every machine.");

int failures = 0;

void expect(bool is_right, const std::string& what) {
    if (is_right) return;
    ++failures;
    std::printf("FAILED with %s: %s\n", rope::active_isa(), what.c_str());
}

template <class T>
constexpr const char* kName = "float";
template <>
constexpr const char* kName<double> = "double";
template <>
constexpr const char* kName<rope::half> = "half";
template <>
constexpr const char* kName<rope::bfloat16> = "bfloat16";

template <class T>
std::string subject(Layout layout, const char* what) {
    return std::string(kName<T>) + (layout == Layout::interleaved ? ", interleaved, " : ", half_split, ") + what;
}

constexpr Index kBatch = 3, kSeq = 37, kHeads = 5, kDim = 40, kTokens = kBatch * kSeq;

rope::Config config() {
    rope::Config c;
    c.head_dim = kDim;
    c.rotary_dim = 34;  // with a remainder of every vector width
    c.rotary_offset = 4;
    c.attention_factor = 1.25;
    return c;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Every token of `x` in a call of its own, at positions[token].
template <class T, class Table>
std::vector<T> token_by_token(Layout layout, std::vector<T> x, const Table& table,
                              const std::vector<Index>& positions) {
    for (Index t = 0; t < kTokens; ++t)
        rope::apply(layout, rope::view(x.data() + t * kHeads * kDim, 1, kHeads, kDim), table,
                    rope::start_at(positions[static_cast<std::size_t>(t)]));
    return x;
}

/// Calls on [batch, seq, heads, head_dim] with positions in each form they may have, in place and from one place to
/// another, give the bits that each token has alone; the inverse leads back.
template <class T, class Table>
void check_calls(Layout layout) {
    const rope::CosSinCache<Table> table(config(), 300);
    const std::vector<T> numbers = support::workload_numbers<T>(static_cast<std::size_t>(kTokens * kHeads * kDim));
    const auto view_of = [](std::vector<T>& x) { return rope::view(x.data(), kBatch, kSeq, kHeads, kDim); };

    const auto check = [&](const char* form, const rope::Positions& given, const std::vector<Index>& meant) {
        const std::vector<T> expected = token_by_token(layout, numbers, table, meant);
        std::vector<T> x = numbers, y(x.size());
        rope::apply_copy(layout, view_of(x), view_of(y), table, given);
        expect(same_bits(y, expected), subject<T>(layout, form) + ", copied");
        rope::apply(layout, view_of(x), table, given);
        expect(same_bits(x, expected), subject<T>(layout, form) + ", in place");
        const auto pieces = [](Index count, const auto& f) {
            for (Index i = 0; i < count; ++i) f(i, i + 1);
        };
        x = numbers;
        rope::apply(layout, view_of(x), table, given, pieces);
        expect(same_bits(x, expected), subject<T>(layout, form) + ", by an executor");
        rope::apply_inverse(layout, view_of(x), table, given);
        double farthest = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            using Storage = typename rope::ElementTraits<T>::storage;
            using Compute = std::conditional_t<sizeof(T) == 8, double, float>;
            using Element = rope::detail::Element<Compute, Storage>;
            const double distance = static_cast<double>(Element::load(&x[i]) - Element::load(&numbers[i]));
            farthest = distance > farthest ? distance : -distance > farthest ? -distance : farthest;
        }
        const double most = sizeof(T) == 8 ? 1e-14 : sizeof(T) == 4 ? 5e-6 : std::is_same_v<T, rope::half> ? 0.02 : 0.2;
        expect(farthest < most, subject<T>(layout, form) + ", inverted, is off by " + std::to_string(farthest));
    };

    std::vector<Index> meant(kTokens);
    const auto set = [&](auto&& position) {
        for (Index b = 0; b < kBatch; ++b)
            for (Index s = 0; s < kSeq; ++s) meant[static_cast<std::size_t>(b * kSeq + s)] = position(b, s);
    };
    set([](Index, Index s) { return s; });
    check("positions from 0", {}, meant);
    set([](Index, Index s) { return 77 + s; });
    check("a start", rope::start_at(77), meant);
    const std::array<std::uint8_t, 3> starts = {200, 3, 0};
    set([&](Index b, Index s) { return starts[static_cast<std::size_t>(b)] + s; });
    check("a start per entry", rope::start_at(starts), meant);
    std::vector<std::int32_t> shared(kSeq);
    for (Index s = 0; s < kSeq; ++s)
        shared[static_cast<std::size_t>(s)] = static_cast<std::int32_t>(s * s % 89 + s % 2 * 200);
    set([&](Index, Index s) { return shared[static_cast<std::size_t>(s)]; });
    check("ids for all entries", shared, meant);
    std::vector<std::uint64_t> ids(kTokens);
    for (Index t = 0; t < kTokens; ++t) ids[static_cast<std::size_t>(t)] = static_cast<std::uint64_t>(t * 7919 % 300);
    set([&](Index b, Index s) { return static_cast<Index>(ids[static_cast<std::size_t>(b * kSeq + s)]); });
    check("ids of 64 bits", ids, meant);
    check("ids by a pointer", rope::ids(ids.data(), kTokens), meant);

    // One row per token, built for the step, and what comes heads first.
    rope::Rows<Table> rows(rope::frequencies(config()), {}, {kDim, 4});
    rows.build(ids, kSeq, kBatch);
    const std::vector<T> expected = token_by_token(layout, numbers, table, meant);
    std::vector<T> x = numbers, heads_first(x.size()), back(x.size());
    rope::apply(layout, view_of(x), rows);
    expect(same_bits(x, expected), subject<T>(layout, "rows of a step"));
    const auto transposed = rope::view_heads_first(heads_first.data(), kBatch, kHeads, kSeq, kDim);
    x = numbers;
    rope::apply_copy(layout, view_of(x), transposed, table, ids);
    for (Index b = 0; b < kBatch; ++b)
        for (Index s = 0; s < kSeq; ++s)
            for (Index h = 0; h < kHeads; ++h)
                for (Index i = 0; i < kDim; ++i) view_of(back)(b, s, h, i) = transposed(b, s, h, i);
    expect(same_bits(back, expected), subject<T>(layout, "heads first"));
}

/// Against the dense matrix, by the library's own checks of any rotation.
template <class T, class Table>
void check_against_matrix(Layout layout) {
    rope::testing::Options options;
    options.max_position = 20000;
    const rope::CosSinCache<Table> table(config(), options.max_position + 100);
    const auto turn = [&](T* x, Index seq, Index heads, const Index* positions) {
        rope::apply(layout, rope::view(x, seq, heads, kDim), table, rope::ids(positions, seq));
    };
    const auto turn_back = [&](T* x, Index seq, Index heads, const Index* positions) {
        rope::apply_inverse(layout, rope::view(x, seq, heads, kDim), table, rope::ids(positions, seq));
    };
    const rope::testing::Report report = rope::testing::measure<T>(turn, turn_back, layout, config(), options);
    expect(report.ok(), subject<T>(layout, "against the matrix:\n") + rope::testing::to_string(report));
}

template <class T, class Table>
void check_type() {
    for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
        check_calls<T, Table>(layout);
        // That of the others is told by their bits, and what measures it takes as long to compile as all of this.
        if constexpr (std::is_same_v<T, float>) check_against_matrix<T, Table>(layout);
    }
#if ROPE_BITS_HAVE_A_CLASS
    expect(support::workload_hash<T, Table>() == support::stored_bits<T>(),
           std::string(kName<T>) + ": these bits are not those that are stored");
#endif
}

// ---- Once, whatever the instruction set ----

void expect_sentence(const rope::Status& status, const std::string& beginning) {
    expect(std::strncmp(status.message(), beginning.c_str(), beginning.size()) == 0,
           "\"" + beginning + "\" is said as \"" + status.message() + "\"");
}

template <class F>
void expect_refused(const char* what, F&& f) {
    try {
        f();
    } catch (const std::exception&) {  // invalid_argument, or bad_alloc where addresses could reach so far
        return;
    }
    expect(false, std::string(what) + " is not refused");
}

void check_sentences() {
    rope::Config c;
    c.head_dim = 8;
    for (const auto& [base, text] : {std::pair(-0.1, "-0.1"), std::pair(-1e-300 / 3.0, "-3.3333333333333334e-301"),
                                     std::pair(-1e22, "-1e+22"), std::pair(-123456789.0, "-123456789")}) {
        c.base = base;
        expect_sentence(rope::check(c), std::string("base is ") + text + ";");
    }
    c.base = 10000.0;
    const rope::CosSinCache<float> table(c, 10);
    float x[8] = {};
    const rope::TensorView<float> one = rope::view(x, 1, 1, 8);
    expect_sentence(rope::check(one, table, rope::start_at(Index(1) << 40)),
                    "positions start at 1099511627776 and seq");
    expect_sentence(rope::check(one, table, rope::start_at(UINT64_MAX)),
                    "positions start at 9223372036854775807 or more");
    expect_refused("a table of 2^40 rows", [&] { rope::CosSinCache<float> too_large(c, Index(1) << 40); });
    expect_refused("a table of 2^62 rows", [&] { rope::CosSinCache<double> too_large(c, Index(1) << 62); });

    // Slices of one buffer that turn its tokens from the last to the first, k below q.
    std::vector<float> fused(6 * 3 * 8);
    rope::TensorView<float> q = rope::view(fused.data() + 5 * 24 + 16, 6, 1, 8),
                            k = rope::view(&fused[5 * 24], 6, 1, 8);
    q.seq_stride = k.seq_stride = -24;
    expect(rope::check(q, k, table).ok(), "slices of one buffer are said to share elements");

    // What no memory holds: 2^33 bytes where pointers have 32 bits, 2^64 where they have 64. As token strides, as an
    // extent, and in a call with two tensors.
    const Index too_far = sizeof(void*) == 4 ? Index(1) << 31 : Index(1) << 62;
    rope::TensorView<float> far = rope::view(x, 2, 1, 8);
    far.seq_stride = too_far;
    expect_sentence(rope::check(far, table), "x has extents [1, 2, 1, 8]");
    expect_sentence(rope::check(one, far, table, rope::start_at(0)), "k has extents [1, 2, 1, 8]");
    far.seq = 3;
    far.seq_stride = too_far / 4;  // the sum alone is too large
    expect_sentence(rope::check(far, table), sizeof(void*) == 4 ? "x has extents [1, 3, 1, 8]" : "");
    expect_sentence(rope::check(rope::view(x, too_far, 1, 8), table), "x has extents [1, ");
    expect_refused("a slice beyond memory", [&] {
        rope::TensorView<float> v = rope::view(x, 9, 1, 8);
        v.seq_stride = too_far / 4;
        (void)v.slice_tokens(8, 1);
    });
    if (sizeof(void*) == 4) {
        expect_refused("a grid of 2^30 patches", [] { (void)rope::image_grid(1 << 15, 1 << 15); });
        std::vector<unsigned char> weights(64);
        const rope::HeadRows rows = {1, 8, 0, 0, 1, Index(1) << 32};
        expect_sentence(rope::check_rows(weights.data(), weights.data(), rows, Layout::interleaved, Layout::half_split),
                        "stride_bytes is 4294967296; it must be at least row_bytes (1) and at most 2^31 - 1.");
    }
}

void check_eigen() {
    rope::Config c;
    c.head_dim = 4;
    const rope::CosSinCache<float> table(c, 10);
    Eigen::MatrixXf q = Eigen::MatrixXf::Ones(2, 8);
    rope::apply<Layout::half_split>(rope::view(q, 2), table);
    const float difference = q(1, 0) + 0.30116868f;
    expect(difference < 1e-6f && difference > -1e-6f && q(0, 0) == 1.0f, "an Eigen matrix");
}

/// The tables of a model lock a mutex while they grow.
void check_growing() {
    rope::ModelConfig model;
    model.max_position_embeddings = 64;
    model.configs = {config()};
    model.configs[0].layout = Layout::half_split;
    model.config_of_layer = {0};
    model.layer_types = {rope::LayerType::full_attention};
    model.heads = {{1, 1, 1}};
    rope::RotaryEmbedding<float> rotary(model, {0, 8, 0});
    rotary.reserve(40);
    const float* const grown = rotary.table(0)->q.data();
    const rope::CosSinCache<float> table(model.configs[0], 40);
    expect(rotary.positions() == 40 && std::memcmp(grown, table.data(), table.bytes()) == 0, "tables that grow");
}

}  // namespace

int main() {
    support::for_each_isa([](const char* isa) {
        const bool has_fma = rope::detail::active_isa_has_fma();
        check_type<float, float>();
        check_type<double, double>();
        check_type<rope::half, float>();
        check_type<rope::bfloat16, float>();
        std::string bits = "of no class";
#if ROPE_BITS_HAVE_A_CLASS
        bits = support::hashes_of_bits()[3];
        expect(bits == (has_fma ? support::kBitsWithFma : support::kBitsWithout), "2^20 results have other bits");
#endif
        std::printf("%s %s %s\n", has_fma ? "fma" : "plain", isa, bits.c_str());
    });
    check_sentences();
    check_eigen();
    check_growing();
    std::puts(failures == 0 ? "self-check: ok" : "self-check: FAILED");
    return failures == 0 ? 0 : 1;
}
