// SPDX-License-Identifier: MIT
// The bits of every step and every cache format of a path, and of the operations beside apply: for each a name and a hash.
// A stage or a format without an example here does not compile.
#pragma once

#include <rope/additive.hpp>
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/gradients.hpp>
#include <rope/heads.hpp>
#include <rope/reposition.hpp>
#include <rope/write_rows.hpp>

#include <rope/detail/kernels/formats.hpp>
#include <rope/detail/paths/stages.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/workload.hpp"

namespace support {

using rope::Index;
using rope::Path;

inline constexpr Index kPathSeq = 60, kPathHeads = 5;

/// Numbers with all bits of their mantissas, of many magnitudes; zeros of both signs, and, in some tokens, a NaN or an
/// infinity. If `has_ties`, multiples of 3/8, so that codes have ties.
template <class T>
std::vector<T> path_numbers(std::size_t count, std::size_t token, bool has_ties) {
    std::vector<T> list(count);
    std::uint64_t state = has_ties ? 2 : 3;
    const auto next = [&state] { return state = state * 6364136223846793005u + 1442695040888963407u; };
    for (std::size_t i = 0; i < count; ++i) {
        double value = static_cast<double>(static_cast<std::int64_t>(next())) * 0x1p-63;
        if (has_ties)
            value = std::floor(value * 1024.0) * 0.375;
        else
            value = std::ldexp(value, -static_cast<int>(next() >> 61));
        const std::uint64_t kind = next() >> 57, of_token = i / token % 16;
        std::uint64_t bits = rope::detail::bit_cast<std::uint64_t>(value);  // -ffast-math knows no -0, infinity or NaN
        if (kind < 6) bits = kind < 3 ? 0 : std::uint64_t(1) << 63;
        if (kind == 6 && of_token == 5) bits = std::uint64_t(0x7ff) << 52;
        if (kind == 6 && of_token == 9) bits = std::uint64_t(0xfff) << 51;
        value = rope::detail::hide_from_optimizer(rope::detail::bit_cast<double>(bits));
        using Storage = typename rope::ElementTraits<T>::storage;
        if constexpr (sizeof(T) == 8)
            list[i] = value;
        else
            rope::detail::Element<float, Storage>::store(&list[i], static_cast<float>(value));
    }
    return list;
}

/// The hash of numbers, all NaNs as one.
template <class T>
std::uint64_t hash_of_numbers(std::uint64_t h, const std::vector<T>& list) {
    std::vector<T> same = list;
    for (T& x : same) {
        using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
        constexpr Bits magnitude = static_cast<Bits>(~Bits(0)) >> 1;
        constexpr Bits infinity = sizeof(T) == 8   ? static_cast<Bits>(std::uint64_t(0x7ff) << 52)
                                  : sizeof(T) == 4 ? static_cast<Bits>(0x7f800000u)
                                  : std::is_same_v<typename rope::ElementTraits<T>::storage, rope::half>
                                      ? static_cast<Bits>(0x7c00u)
                                      : static_cast<Bits>(0x7f80u);
        if ((rope::detail::bit_cast<Bits>(x) & magnitude) > infinity) x = rope::detail::bit_cast<T>(magnitude);
    }
    return hash(h, same.data(), same.size());
}
inline constexpr std::uint64_t kHashBegins = 14695981039346656037u;

/// Runs paths over numbers of type X, and reports name and hash of what each has written.
template <class X, class Report>
class PathWorkload {
 public:
    using T = std::conditional_t<sizeof(X) == 8, double, float>;

    PathWorkload(const char* type, Index head_dim, bool has_ties, const Report& report)
        : type_(type), head_dim_(head_dim), report_(report), table_(config(head_dim), 200) {
        const std::size_t token = static_cast<std::size_t>(kPathHeads * head_dim);
        x_ = path_numbers<X>(static_cast<std::size_t>(kPathSeq) * token, token, has_ties);
        w_ = path_numbers<T>(token, 16 * token, false);
        codes_.resize(2 * x_.size());
        scales_.resize(static_cast<std::size_t>(kPathSeq * kPathHeads));
        zeros_ = scales_;
        powers_.resize(scales_.size());
        if (has_ties) type_ += "_ties";
        type_ += std::to_string(head_dim);
    }

    Index head_dim() const { return head_dim_; }
    Path from() const { return rope::heads(rope::view(x_.data(), 1, kPathSeq, kPathHeads, head_dim_)); }
    const T* weight() const { return w_.data(); }
    rope::StepNumbers weight_of_token() const { return rope::view(w_.data(), 1, 1, kPathHeads, head_dim_); }
    template <class Code = unsigned char>
    auto codes(Index width) {
        return rope::view(reinterpret_cast<Code*>(codes_.data()), 1, kPathSeq, kPathHeads, width);
    }
    rope::TensorView<float> scales() { return rope::view(scales_.data(), 1, kPathSeq, kPathHeads, 1); }
    rope::TensorView<float> zeros() { return rope::view(zeros_.data(), 1, kPathSeq, kPathHeads, 1); }
    rope::TensorView<unsigned char> powers() { return rope::view(powers_.data(), 1, kPathSeq, kPathHeads, 1); }
    /// Scales of blocks of so many features.
    rope::TensorView<unsigned char> block_scales(Index features) {
        block_scales_.resize(scales_.size() * static_cast<std::size_t>(head_dim_ / features));
        return rope::view(block_scales_.data(), 1, kPathSeq, kPathHeads, head_dim_ / features);
    }

    /// Into elements of type Y.
    template <class Y>
    void run_into(const std::string& name, Path path) {
        std::vector<Y> y(x_.size());
        path.to(rope::view(y.data(), 1, kPathSeq, kPathHeads, head_dim_));
        pass(path);
        say(path, name, hash_of_numbers(kHashBegins, y));
    }
    void run(const std::string& name, const Path& path) { run_into<T>(name, path); }
    /// Into a format, and read back from it.
    void run_format(const std::string& name, const rope::Destination& d) {
        codes_.assign(codes_.size(), 0);
        powers_.assign(powers_.size(), 0);
        scales_.assign(scales_.size(), 0.0f);
        zeros_.assign(zeros_.size(), 0.0f);
        Path path = from();
        pass(path.to(d));
        std::uint64_t h = kHashBegins;
        const rope::detail::CacheFormat& format = rope::detail::format_of(rope::detail::PathAccess::data(d));
        const auto bytes = static_cast<std::size_t>(format.bytes);
        const bool has_halves = format.features == 32 && bytes != 16 && bytes != 17;
        for (std::size_t i = 0; i < codes_.size(); ++i) {
            const bool is_minimum = (bytes == 20 || bytes == 24) && i % bytes == 2;
            if (has_halves && (i % bytes == 0 || is_minimum)) {  // a block begins with a half or two
                std::uint16_t scale;
                std::memcpy(&scale, &codes_[i++], 2);
                h = hash(h, &scale, 1);
            } else {
                h = (h ^ codes_[i]) * 1099511628211u;
            }
        }
        for (const unsigned char power : powers_) h = (h ^ power) * 1099511628211u;
        for (const unsigned char scale : block_scales_) h = (h ^ scale) * 1099511628211u;
        say(path, name, hash_of_numbers(hash_of_numbers(h, scales_), zeros_));
        std::vector<float> back(x_.size());
        rope::dequantise(d, rope::view(back.data(), 1, kPathSeq, kPathHeads, head_dim_));
        say(path, name + "_read", hash_of_numbers(kHashBegins, back));
        block_scales_.clear();
    }
    /// The gradients of a norm and a rotation.
    void run_backward(const std::string& name, const Path& path) {
        std::vector<T> dx(x_.size());
        const Index rows = rope::weight_gradient_rows(1, kPathSeq);
        std::vector<double> dw(static_cast<std::size_t>(rows * head_dim_));
        rope::pass_backward<rope::Layout::half_split>(
            table_, rope::start_at(7), path, rope::view(x_.data(), 1, kPathSeq, kPathHeads, head_dim_),
            rope::view(dx.data(), 1, kPathSeq, kPathHeads, head_dim_), rope::view(dw.data(), 1, rows, 1, head_dim_));
        say(path, name, hash_of_numbers(hash_of_numbers(kHashBegins, dx), dw));
    }
    /// The gradients of angles, magnitudes, frequencies and positions; the sums of rows.
    void run_gradients() {
        const Index pairs = head_dim_ / 2;
        std::vector<double> angles(static_cast<std::size_t>(kPathSeq * pairs)), magnitudes = angles;
        std::vector<double> frequencies(static_cast<std::size_t>(pairs)), positions(static_cast<std::size_t>(kPathSeq));
        std::vector<double> sums = frequencies;
        for (const rope::Layout layout : {rope::Layout::interleaved, rope::Layout::half_split}) {
            const auto x = rope::view(x_.data(), 1, kPathSeq, kPathHeads, head_dim_);
            rope::add_angle_gradients(layout, x, x, table_, rope::view(angles.data(), 1, kPathSeq, 1, pairs),
                                      rope::view(magnitudes.data(), 1, kPathSeq, 1, pairs));
        }
        const rope::TensorView<const double> rows = rope::view(angles.data(), 1, kPathSeq, 1, pairs);
        rope::add_frequency_gradients(rows, rope::start_at(7), rope::view(frequencies.data(), 1, 1, 1, pairs));
        rope::add_position_gradients(rows, rope::frequencies(config(head_dim_)),
                                     rope::view(positions.data(), 1, kPathSeq, 1, 1));
        rope::add_row_sums(rows, rope::view(sums.data(), 1, 1, 1, pairs));
        const double factor = rope::attention_factor_gradient(
            rope::TensorView<const double>(rope::view(magnitudes.data(), 1, kPathSeq, 1, pairs)), 1.25);
        std::uint64_t h = kHashBegins;
        for (const std::vector<double>& list :
             {angles, magnitudes, frequencies, positions, sums, std::vector<double>{factor}})
            h = hash_of_numbers(h, list);
        report_(false, "gradients_" + type_, h);
    }
    /// The other operations: they rotate, add a table, or write one.
    void run_others() {
        std::vector<X> x = x_;
        const auto v = rope::view(x.data(), 1, kPathSeq, kPathHeads, head_dim_);
        const rope::SinusoidalEmbedding<T> added(kPathHeads * head_dim_, 200);
        added.add(v, rope::start_at(9));
        report_(false, "additive_" + type_, hash_of_numbers(kHashBegins, x));
        rope::Config other = config(head_dim_);
        other.interpolation_factor = 3.0;
        x = x_;
        rope::reposition<rope::Layout::half_split>(v, other, Index(-12345));
        report_(true, "reposition_" + type_, hash_of_numbers(kHashBegins, x));
        const rope::CompactCosSinCache<T> compact(config(head_dim_), 100000);
        x = x_;
        rope::apply<rope::Layout::interleaved>(v, compact, rope::start_at(99000));
        report_(true, "compact_" + type_, hash_of_numbers(kHashBegins, x));
        std::vector<T> rows(static_cast<std::size_t>(kPathSeq * head_dim_));
        rope::write_rows(compact, rope::start_at(4321), kPathSeq, 1, rows.data());
        report_(true, "rows_" + type_, hash_of_numbers(kHashBegins, rows));
        for (Index p = 0; p < kPathSeq; ++p) {
            T* const row = rows.data() + p * head_dim_;
            compact.row(77777 + p, row, row + head_dim_ / 2);
        }
        report_(false, "compact_row_" + type_, hash_of_numbers(kHashBegins, rows));
    }

 private:
    static rope::Config config(Index head_dim) {
        rope::Config c;
        c.head_dim = head_dim;
        c.attention_factor = 1.1;
        return c;
    }
    void pass(const Path& path) { rope::pass<rope::Layout::half_split>(table_, rope::start_at(7), path); }
    void say(const Path& path, const std::string& name, std::uint64_t h) {
        const rope::detail::PathData& data = rope::detail::PathAccess::data(path);
        bool rotates = false;
        for (int i = 0; i < data.count; ++i)
            rotates = rotates || rope::detail::is_step_of<rope::detail::RotateStage>(data.steps[i]);
        report_(rotates, name + "_" + type_, h);
    }

    std::string type_;
    Index head_dim_;
    const Report& report_;
    rope::CosSinCache<T> table_;
    std::vector<X> x_;
    std::vector<T> w_;
    std::vector<unsigned char> codes_, powers_, block_scales_;
    std::vector<float> scales_, zeros_;
};

// ---- Examples of each stage, the code of one kind of step: all functions of Path that make it, and their options ----

template <class Stage>
struct StepExamples;

template <>
struct StepExamples<rope::detail::AddStage> {
    template <class Work>
    static void run(Work& w) {
        w.run("add", w.from().add(w.weight()));
    }
};
template <>
struct StepExamples<rope::detail::ClampStage> {
    template <class Work>
    static void run(Work& w) {
        w.run("clamp", w.from().clamp(0.3));
        w.run("clamp_to_zero", w.from().clamp(0.0));
    }
};
template <>
struct StepExamples<rope::detail::MultiplyStage> {
    template <class Work>
    static void run(Work& w) {
        w.run("multiply", w.from().multiply(0.3));
        w.run("multiply_by_zero", w.from().multiply(0.0));
        w.run("multiply_numbers", w.from().multiply(w.weight()));
        w.run("add_multiply_add", w.from().add(w.weight()).multiply(w.weight()).add(w.weight()));
    }
};
template <>
struct StepExamples<rope::detail::NormStage> {
    template <class Work>
    static void run(Work& w) {
        for (const rope::NormSpan span : {rope::NormSpan::head, rope::NormSpan::token})
            for (const rope::NormRounding rounding :
                 {rope::NormRounding::none, rope::NormRounding::normalised, rope::NormRounding::root}) {
                const std::string name =
                    "_" + std::to_string(static_cast<int>(span)) + std::to_string(static_cast<int>(rounding));
                const rope::StepNumbers weight = w.weight_of_token();
                w.run("rms_norm" + name, w.from().rms_norm(w.weight(), 1e-6, {span, rounding, true}));
                w.run("rms_norm_alone" + name, w.from().rms_norm(1e-6, {span, rounding}));
                w.run("l2_norm" + name, w.from().l2_norm(weight, 1e-6, {span, rounding}));
                w.run("layer_norm" + name, w.from().layer_norm(weight, w.weight(), 1e-6, {span, rounding}));
                w.run("layer_norm_alone" + name, w.from().layer_norm(nullptr, nullptr, 1e-6, {span, rounding}));
            }
    }
};
template <>
struct StepExamples<rope::detail::RotateStage> {
    template <class Work>
    static void run(Work& w) {
        for (const rope::RotateRounding rounding :
             {rope::RotateRounding::none, rope::RotateRounding::rows, rope::RotateRounding::all}) {
            const std::string name = "_" + std::to_string(static_cast<int>(rounding));
            w.run("rotate" + name, w.from().rotate(rounding));
            w.run("rotate_back" + name, w.from().rotate_back(rounding));
            w.run("rotate_into" + name, w.from().rotate_into(rope::Layout::interleaved, rounding));
            w.run("norm_and_rotate" + name, w.from().rms_norm(w.weight(), 1e-6).rotate(rounding));
        }
        w.run_backward("norm_and_rotate_backward", w.from().rms_norm(w.weight(), 1e-6).rotate());
        w.run_backward("l2_norm_backward", w.from().l2_norm(w.weight(), 1e-6));
    }
};
template <>
struct StepExamples<rope::detail::HadamardStage> {
    template <class Work>
    static void run(Work& w) {
        w.run("hadamard", w.from().hadamard(w.head_dim() % 32 == 0 ? 32 : 2));
    }
};
template <>
struct StepExamples<rope::detail::RoundStage> {
    template <class Work>
    static void run(Work& w) {
        w.run("round", w.from().multiply(w.weight()).round());
    }
};

template <class Work, class... Stages>
void run_steps(Work& w, rope::detail::TypeList<rope::detail::StepKind, Stages...>) {
    (StepExamples<Stages>::run(w), ...);
}

// ---- An example of each format ----

namespace formats = rope::detail::portable;

template <class Format>
struct FormatExample;

template <>
struct FormatExample<rope::detail::Elements> {
    template <class Work>
    static void run(Work& w) {
        w.run("float", w.from());
        w.template run_into<rope::half>("half", w.from());
        w.template run_into<rope::bfloat16>("bfloat16", w.from());
    }
};
#define ROPE_TEST_FORMAT(format, name, ...)                                                                 \
    template <>                                                                                             \
    struct FormatExample<formats::format> {                                                                 \
        template <class Work>                                                                               \
        static void run(Work& w) {                                                                          \
            for (const rope::ScaleUse use : {rope::ScaleUse::multiplies, rope::ScaleUse::divides})          \
                w.run_format(#name + std::string(use == rope::ScaleUse::divides ? "_d" : ""), __VA_ARGS__); \
        }                                                                                                   \
    };
ROPE_TEST_FORMAT(Int8, int8, rope::int8(w.template codes<signed char>(w.head_dim()), w.scales()))
ROPE_TEST_FORMAT(Uint8, uint8, rope::uint8(w.codes(w.head_dim()), w.scales(), w.zeros()))
ROPE_TEST_FORMAT(Int4, int4, rope::int4(w.codes(w.head_dim() / 2), w.scales()))
ROPE_TEST_FORMAT(Uint4, uint4, rope::uint4(w.codes(w.head_dim() / 2), w.scales(), w.zeros()))
ROPE_TEST_FORMAT(Fp8<formats::E4m3>, fp8_e4m3, rope::fp8_e4m3(w.codes(w.head_dim()), 0.7f, use))
ROPE_TEST_FORMAT(Fp8<formats::E5m2>, fp8_e5m2, rope::fp8_e5m2(w.codes(w.head_dim()), 0.7f, use))
ROPE_TEST_FORMAT(Fp8E4m3ByHead, fp8_e4m3_by_head, rope::fp8_e4m3(w.codes(w.head_dim()), w.scales()))
ROPE_TEST_FORMAT(Fp8E4m3ByPower, fp8_e4m3_by_power, rope::fp8_e4m3(w.codes(w.head_dim()), w.powers()))
ROPE_TEST_FORMAT(Q8_0, q8_0, rope::q8_0(w.codes(w.head_dim() / 32 * 34)))
ROPE_TEST_FORMAT(Q4_0, q4_0, rope::q4_0(w.codes(w.head_dim() / 32 * 18)))
ROPE_TEST_FORMAT(Q4_1, q4_1, rope::q4_1(w.codes(w.head_dim() / 32 * 20)))
ROPE_TEST_FORMAT(Q5_0, q5_0, rope::q5_0(w.codes(w.head_dim() / 32 * 22)))
ROPE_TEST_FORMAT(Q5_1, q5_1, rope::q5_1(w.codes(w.head_dim() / 32 * 24)))
ROPE_TEST_FORMAT(Iq4_nl, iq4_nl, rope::iq4_nl(w.codes(w.head_dim() / 32 * 18)))
ROPE_TEST_FORMAT(GgmlMxfp4, ggml_mxfp4, rope::mxfp4(w.codes(w.head_dim() / 32 * 17)))
ROPE_TEST_FORMAT(Mxfp4, mxfp4, rope::mxfp4(w.codes(w.head_dim() / 2), w.block_scales(32)))
ROPE_TEST_FORMAT(Nvfp4, nvfp4, rope::nvfp4(w.codes(w.head_dim() / 2), w.block_scales(16), 0.01f))
#undef ROPE_TEST_FORMAT

template <class Work, class... Formats>
void run_formats(Work& w, rope::detail::TypeList<int, Formats...>) {
    const auto run = [&w](auto format) {
        if (w.head_dim() % decltype(format)::kFeatures == 0) FormatExample<decltype(format)>::run(w);
    };
    (run(Formats()), ...);
}

/// report(whether the bits are those of a class, name, hash) for everything.
template <class Report>
void run_path_workload(const Report& report) {
    for (const Index head_dim : {Index(96), Index(38)}) {  // 38: with a remainder of every vector
        const auto steps = [&](auto work) {
            run_steps(work, rope::detail::Stages());
            work.run_gradients();
            work.run_others();
        };
        steps(PathWorkload<float, Report>("float", head_dim, false, report));
        steps(PathWorkload<rope::bfloat16, Report>("bfloat16", head_dim, false, report));
        steps(PathWorkload<double, Report>("double", head_dim, false, report));
        for (const bool has_ties : {false, true}) {
            PathWorkload<float, Report> work("float", head_dim, has_ties, report);
            run_formats(work, rope::detail::Formats());
        }
        PathWorkload<rope::half, Report> halves("half", head_dim, false, report);
        FormatExample<rope::detail::Elements>::run(halves);
    }
}

}  // namespace support
