// SPDX-License-Identifier: MIT
// ggml's parameters: checks, their translation to frequencies and axes, and the tables of far positions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>

#include "../../axis_map.hpp"
#include "../../compact_cos_sin_cache.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../ggml.hpp"
#include "../../list.hpp"
#include "../../types.hpp"
#include "../angles/double_double.hpp"
#include "../base/bits.hpp"
#include "../base/mutex.hpp"

ROPE_DETAIL_BEGIN

enum GgmlMode { kGgmlNormal = 0, kGgmlNeox = 2, kGgmlMrope = 8, kGgmlVision = 24, kGgmlImrope = 40 };
enum GgmlType { kGgmlF32 = 0, kGgmlF16 = 1, kGgmlI32 = 26, kGgmlI64 = 27, kGgmlBf16 = 30 };

inline bool has_axes(const ggml::RopeParams& p) noexcept { return (p.mode & kGgmlMrope) != 0; }
inline Index pairs_of(const ggml::RopeParams& p) noexcept { return p.mode == kGgmlVision ? p.n_dims : p.n_dims / 2; }

inline Status check_params(const ggml::RopeParams& p, Index head_dim) noexcept {
    const int modes[] = {kGgmlNormal, kGgmlNeox, kGgmlMrope, kGgmlVision, kGgmlImrope};
    if (std::find(std::begin(modes), std::end(modes), p.mode) == std::end(modes))
        return invalid("mode is {}; it must be 0 (normal), 2 (NeoX), 8 (mrope), 24 (vision) or 40 (imrope).", {p.mode});
    if (p.n_dims < 2 || p.n_dims % 2 != 0 || p.n_offs < 0 || p.n_offs % 2 != 0)
        return invalid("n_dims is {} and n_offs {}; they must be even, at least 2 and 0.", {p.n_dims, p.n_offs});
    const Index features = 2 * pairs_of(p), end = p.n_offs + features;
    if (end > head_dim || (p.mode == kGgmlVision && end != head_dim) || head_dim > kMaxHeadDim)
        return invalid("n_dims is {} and n_offs {}, in mode {}; {} features of heads of {} cannot rotate there.",
                       {p.n_dims, p.n_offs, p.mode, features, head_dim});
    if (!is_finite(p.freq_base) || p.freq_base <= 0.0f || !is_finite(p.freq_scale) || !is_finite(p.ext_factor))
        return invalid("freq_base is {}, freq_scale {}, ext_factor {}; they must be finite, and freq_base above 0.",
                       {double(p.freq_base), double(p.freq_scale), double(p.ext_factor)});
    const std::int32_t* const s = p.sections;
    const auto is_section = [](Index n) { return n >= 0 && n <= kMaxHeadDim; };
    if (has_axes(p) && (!std::all_of(s, s + 4, is_section) || (s[0] == 0 && s[1] == 0 && s[2] == 0)))
        return invalid("sections are {}, {}, {}, {}; they must be from 0 to {}, and one of the first three above 0.",
                       {s[0], s[1], s[2], s[3], kMaxHeadDim});
    const auto is_beta = [&](float b) { return is_finite(b) && b >= 0.0f && (b != 0.0f || p.n_ctx_orig != 0); };
    const bool are_betas = is_beta(p.beta_fast) && is_beta(p.beta_slow);
    if (p.ext_factor == 0.0f || (are_betas && p.n_ctx_orig >= 0 && p.freq_base != 1.0f && p.freq_scale > 0.0f))
        return Status();
    return invalid(
        "ext_factor is {}; with it n_ctx_orig ({}) must be at least 0, freq_base ({}) not 1, freq_scale ({}) above 0, "
        "and the betas ({}, {}) finite and at least 0, above 0 if n_ctx_orig is 0.",
        {double(p.ext_factor), p.n_ctx_orig, double(p.freq_base), double(p.freq_scale), double(p.beta_fast),
         double(p.beta_slow)});
}

/// Requires strides in whole elements of `size` bytes, and data. (Blocks may begin at any byte.)
inline Status check_tensor(const char* name, const ggml::Tensor& t, Index size) noexcept {
    const std::size_t bytes = static_cast<std::size_t>(size);
    for (int axis = 0; axis < 4; ++axis)
        if (t.ne[axis] < 0 || t.nb[axis] % bytes != 0 || t.nb[axis] > static_cast<std::size_t>(kMemoryBytes))
            return invalid(
                "{}.ne[{}] is {} and its nb {}; they must be at least 0, nb a multiple of {} (bytes of an element).",
                {name, axis, t.ne[axis], t.nb[axis], size});
    const bool is_empty = std::find(t.ne, t.ne + 4, 0) != t.ne + 4;
    if ((t.data != nullptr || is_empty) && reinterpret_cast<std::uintptr_t>(t.data) % bytes == 0) return Status();
    return invalid("{}.data is null or begins at no multiple of {}, the bytes of an element.", {name, size});
}
/// Requires a list of `least` numbers; or, if they are factors, of more.
inline Status check_list(const char* name, const ggml::Tensor& t, int type, Index least) noexcept {
    const bool are_factors = type == kGgmlF32;
    if (const Status s = check_tensor(name, t, 4); !s.ok()) return s;
    if (t.type == type && (t.ne[0] == least || (t.ne[0] > least && are_factors)) && t.ne[1] == 1 && t.ne[2] == 1 &&
        t.ne[3] == 1 && (t.nb[0] == 4 || t.ne[0] < 2))
        return Status();
    return invalid(
        "{} has type {}, shape [{}, {}, {}, {}] and nb[0] = {}; it must be a list of {}{} {number|numbers} of type "
        "{}, without gaps.",
        {name, t.type, t.ne[0], t.ne[1], t.ne[2], t.ne[3], t.nb[0], are_factors ? "at least " : "", least,
         are_factors ? "0 (F32)" : "26 (I32)"});
}

/// A description, and its meaning.
struct GgmlRotation {
    ggml::RopeParams params;
    Index head_dim;
    List<float> factors;
    Frequencies frequencies;
    AxisMap map;
};

/// The pair, as a fraction, that makes b revolutions within the context. log(0) and log(infinity) are large numbers.
inline double ggml_corner(const ggml::RopeParams& p, float b) noexcept {
    double log_revolutions = p.n_ctx_orig == 0 ? -1e30 : 1e30;
    if (p.n_ctx_orig != 0 && b != 0.0f) log_revolutions = std::log(p.n_ctx_orig / (kTwoPi.hi * double(b)));
    return p.n_dims * log_revolutions / (2.0 * std::log(double(p.freq_base)));
}

/// The translation of parameters that are checked.
inline Status make_rotation(GgmlRotation& made) {
    const ggml::RopeParams& p = made.params;
    const std::int32_t* const section = p.sections;
    const Index begin[5] = {0, section[0], section[0] + section[1], section[0] + section[1] + section[2],
                            section[0] + section[1] + section[2] + section[3]};
    const double low = std::max(0.0, std::floor(ggml_corner(p, p.beta_fast)));
    const double high = std::min(p.n_dims - 1.0, std::ceil(ggml_corner(p, p.beta_slow)));
    const DoubleDouble log_base = log(exact(double(p.freq_base))), scale = exact(double(p.freq_scale));
    made.map.axes = has_axes(p) ? 4 : 1;
    Index exponents[4] = {};
    for (Index pair = 0; pair < pairs_of(p); ++pair) {
        Index exponent = pair;
        if (has_axes(p)) {
            const Index s = pair % begin[4];
            Index axis = s < 3 * Index(section[s % 3]) ? s % 3 : 3;
            if (p.mode != kGgmlImrope) axis = s < begin[1] ? 0 : s < begin[2] ? 1 : s < begin[3] ? 2 : 3;
            made.map.axis_of.push_back(static_cast<unsigned char>(axis));
            // Where sections are empty several begin at one pair: ggml restarts the first, and the others go on.
            const Index* const restarted = std::find(begin, begin + 4, s);
            if (restarted != begin + 4) exponents[restarted - begin] = 0;
            if (p.mode == kGgmlVision) exponent = exponents[axis];
            for (Index& e : exponents) ++e;
        }
        DoubleDouble w = exp(exact(-static_cast<double>(exponent)) / exact(Index(p.n_dims / 2)) * log_base);
        const DoubleDouble ramp = exact(static_cast<double>(pair) - low) / exact(std::max(0.001, high - low));
        DoubleDouble keep = exact(ramp.hi <= 0.0 ? 1.0 : 0.0);
        if (ramp.hi > 0.0 && ramp.hi < 1.0) keep = exact(1.0) - ramp;
        if (p.ext_factor != 0.0f) keep = exact(double(p.ext_factor)) * keep;
        w = p.ext_factor != 0.0f ? w * (scale * (exact(1.0) - keep) + keep) : w * scale;
        if (!made.factors.empty()) w = w / exact(double(made.factors[static_cast<std::size_t>(pair)]));
        made.frequencies.inv_freq.push_back(w.hi);
        made.frequencies.inv_freq_low.push_back(w.lo);
    }
    const double growth = p.ext_factor != 0.0f ? 1.0 - 0.1 * std::log(double(p.freq_scale)) : 1.0;
    made.frequencies.attention_factor = double(p.attn_factor) * growth;
    if (check_attention_factor(made.frequencies.attention_factor).ok()) return check(made.frequencies);
    return invalid("attn_factor is {}; times {}, which ext_factor and freq_scale make, it must be from 2^-32 to 2^32.",
                   {double(p.attn_factor), growth});
}

/// The translation of a description: one of the 64 that were last asked for, or a new one.
inline Status find_rotation(const ggml::RopeParams& p, Index head_dim, const ggml::Tensor& freq_factors,
                            std::shared_ptr<const GgmlRotation>& found) {
    using Found = std::shared_ptr<const GgmlRotation>;
    static Mutex& mutex = *new Mutex;  // never destroyed, so that static objects may call to their end
    static Found *const first = new Found[64], *const last = first + 63;  // null where there is none yet
    if (const Status s = check_params(p, head_dim); !s.ok()) return s;
    const float* const factors = static_cast<const float*>(freq_factors.data);
    const Index count = factors == nullptr ? 0 : pairs_of(p);
    if (factors != nullptr)
        if (const Status s = check_list("freq_factors", freq_factors, kGgmlF32, count); !s.ok()) return s;
    for (Index i = 0; i < count; ++i)
        if (!is_finite(factors[i]) || factors[i] == 0.0f)
            return invalid("freq_factors[{}] is {}; it must be finite and not 0.", {i, double(factors[i])});
    const auto is_it = [&](const GgmlRotation& r) {
        const std::size_t n = static_cast<std::size_t>(count);
        if (std::memcmp(&r.params, &p, sizeof(p)) != 0 || r.head_dim != head_dim || r.factors.size() != n) return false;
        return n == 0 || std::memcmp(r.factors.data(), factors, n * sizeof(float)) == 0;
    };
    const std::lock_guard<Mutex> lock(mutex);
    Found* const place = std::find_if(first, last, [&](const Found& r) { return r == nullptr || is_it(*r); });
    if (*place == nullptr || !is_it(**place)) {
        const auto made = std::make_shared<GgmlRotation>();
        made->params = p;
        made->head_dim = head_dim;
        made->factors.assign(factors, factors + count);
        if (const Status s = make_rotation(*made); !s.ok()) return s;
        *place = made;
    }
    found = *place;
    std::rotate(first, place, place + 1);
    return Status();
}

/// The table of all magnitudes of an int32, kept for the last 16 rotations that needed one. One thread at a time.
inline CompactCosSinCache<float> find_far_table(const std::shared_ptr<const GgmlRotation>& rotation) {
    struct Far {
        std::shared_ptr<const GgmlRotation> rotation;
        std::optional<CompactCosSinCache<float>> table;
    };
    static Mutex& mutex = *new Mutex;
    static Far* const tables = new Far[16];
    static unsigned next = 0;
    const std::lock_guard<Mutex> lock(mutex);
    for (Far* t = tables; t < tables + 16; ++t)
        if (t->rotation == rotation) return *t->table;
    const HeadSlice slice = {rotation->head_dim, rotation->params.n_offs};
    const CompactCosSinCache<float> made(rotation->frequencies, (Index(1) << 31) + 1, slice);
    tables[next++ % 16] = {rotation, made};
    return made;
}

ROPE_DETAIL_END
