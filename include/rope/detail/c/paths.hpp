// SPDX-License-Identifier: MIT
// rope_path and its parts as a Path.
#pragma once

#include <cstdint>

#include "../../destinations.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../recipe.hpp"
#include "../../rope.h"
#include "../../types.hpp"
#include "../paths/heads_in_memory.hpp"
#include "../paths/steps.hpp"
#include "../positions/position_numbers.hpp"
#include "../views/any_view.hpp"
#include "arguments.hpp"
#include "handles.hpp"
#include "structs.hpp"

ROPE_DETAIL_BEGIN

/// Numbers in memory, as views and pages have them. `is_const`: they are only read.
inline Status read_buffer(Name name, Name shape_name, const rope_buffer* given, bool is_const, bool may_be_codes,
                          HeadsInMemory& m) noexcept {
    Struct<rope_buffer> b;
    if (const Status s = b.read(name, "rope_buffer", given); !s.ok()) return s;
    if (const Status s = read_tensor("", shape_name, b->shape, b->data, may_be_codes, m); !s.ok()) return s;
    set_effective_strides(m);
    m.is_const = is_const;
    m.is_paged = b->is_paged != 0 || b->slot_list != nullptr;
    if (!m.is_paged) return Status();
    if (b->slot_type != ROPE_INT32 && b->slot_type != ROPE_INT64)
        return invalid("{}{}.slot_type is {}; it must be ROPE_INT32 (6) or ROPE_INT64 (7).",
                       {name.of, name.member, b->slot_type});
    m.slot_list = b->slot_type == ROPE_INT32 ? NumberList(static_cast<const std::int32_t*>(b->slot_list), 1)
                                             : NumberList(static_cast<const std::int64_t*>(b->slot_list), 1);
    m.slot_count = b->slot_count;
    return Status();
}

/// Numbers that a step reads, or none.
inline Status read_numbers(const char* name, const rope_buffer* given, StepNumbers& numbers) noexcept {
    if (given == nullptr) return Status();
    Struct<rope_buffer> b;
    if (const Status s = b.read(name, "rope_buffer", given); !s.ok()) return s;
    if (b->slot_list != nullptr || b->is_paged != 0)
        return invalid("{} has slots; the numbers of a step are no pages.", {name});
    const Name shape_name = {name, ".shape"};
    GivenNumbers g;
    g.kind = NumbersKind::view;
    if (b->shape != nullptr) {
        if (const Status s = read_buffer(name, shape_name, given, true, false, g.numbers); !s.ok()) return s;
    } else {
        const rope_tensor per_feature = {sizeof(rope_tensor), b->type, 1, 1, 1, 0, 0, 0, 0, 1};
        g.kind = NumbersKind::per_feature;
        if (const Status s = read_tensor("", name, &per_feature, b->data, false, g.numbers); !s.ok()) return s;
        if (b->data == nullptr) return invalid("{}.data is NULL; it must be numbers.", {name});
    }
    numbers = PathAccess::make<StepNumbers>(g);
    return Status();
}
/// Sums of squares for a norm over heads of several ranks, or none.
inline Status read_squares(const rope_buffer* given, TensorView<const double>& squares) noexcept {
    if (given == nullptr) return Status();
    HeadsInMemory m;
    if (const Status s = read_buffer("squares", "squares.shape", given, true, false, m); !s.ok()) return s;
    if (m.type != ElementType::f64 || m.is_paged)
        return invalid("squares must be a view of ROPE_FLOAT64 (1), [batch, seq, 1, 1].");
    squares = typed<const double>(m);
    return Status();
}

/// Scales or zeros beside codes.
inline Status read_parameter(Name name, Name shape_name, const rope_buffer* given, bool is_const, const rope_heads& h,
                             QuantParameter& parameter) noexcept {
    StoredHeads stored;
    stored.scales.numbers.type = stored.zeros.numbers.type = kNoElements;
    if (const Status s = read_buffer(name, shape_name, given, is_const, true, stored.codes); !s.ok()) return s;
    parameter = QuantParameter(PathAccess::make<Destination>(stored));
    if (h.are_given == 0) return Status();
    if (stored.codes.is_paged)
        return invalid("{}{} has slots; numbers that are given are a view, with an extent of 1 where one serves all.",
                       {name.of, name.member});
    ParameterData data = PathAccess::data(parameter);
    data.is_given = true;
    parameter = PathAccess::make<QuantParameter>(data);
    return Status();
}

inline Status with_scales(const char* name, const rope_heads& h, const Destination& codes, bool is_const,
                          Destination& result) noexcept {
    QuantParameter scales = 1.0f, zeros = 0;
    if (h.scales == nullptr)
        return invalid("{}.scales is NULL; format {} has scales beside its codes.", {name, h.format});
    if (const Status s = read_parameter({name, ".scales"}, {name, ".scales.shape"}, h.scales, is_const, h, scales);
        !s.ok())
        return s;
    const bool has_zeros = h.zeros != nullptr;
    if (has_zeros) {
        if (const Status s = read_parameter({name, ".zeros"}, {name, ".zeros.shape"}, h.zeros, is_const, h, zeros);
            !s.ok())
            return s;
        if (h.zeros_are_points != 0) zeros = zero_points(zeros);
    }
    const bool needs_zeros = h.format == ROPE_FORMAT_UINT8 || h.format == ROPE_FORMAT_UINT4;
    const bool may_have = needs_zeros || h.format == ROPE_FORMAT_INT8 || h.format == ROPE_FORMAT_INT4;
    if (needs_zeros != has_zeros && (needs_zeros || !may_have))
        return invalid("{}.zeros is {}; format {} has {}.",
                       {name, has_zeros ? "not NULL" : "NULL", h.format, may_have ? "zeros" : "none"});
    const float tensor = h.scale == 0.0 ? 1.0f : static_cast<float>(h.scale);
    switch (h.format) {
        case ROPE_FORMAT_INT8: result = has_zeros ? int8(codes, scales, zeros) : int8(codes, scales); break;
        case ROPE_FORMAT_UINT8: result = uint8(codes, scales, zeros); break;
        case ROPE_FORMAT_INT4: result = has_zeros ? int4(codes, scales, zeros) : int4(codes, scales); break;
        case ROPE_FORMAT_UINT4: result = uint4(codes, scales, zeros); break;
        case ROPE_FORMAT_FP8_E4M3: result = fp8_e4m3(codes, scales); break;
        case ROPE_FORMAT_MXFP4: result = mxfp4(codes, scales); break;
        case ROPE_FORMAT_NVFP4: result = nvfp4(codes, scales, tensor); break;
        default: return no_case({name, ".format"}, h.format);
    }
    return Status();
}

/// Requires that a format without scales of its own has none, nor what would say how to read them.
inline Status check_no_scales(const char* name, const rope_heads& h) noexcept {
    if (h.scales == nullptr && h.zeros == nullptr && h.are_given == 0 && h.zeros_are_points == 0) return Status();
    return invalid("{} has scales or zeros, or says how they are made, and format {}, which has none beside its codes.",
                   {name, h.format});
}

/// Where heads come from or go to, in any format.
inline Status read_heads(const char* name, const rope_heads* given, bool is_const, Destination& result) noexcept {
    Struct<rope_heads> h;
    if (const Status s = h.read(name, "rope_heads", given); !s.ok()) return s;
    if (const Status s = check_named({name, ".format"}, h->format, ROPE_FORMAT_GGML_MXFP4 + 1); !s.ok()) return s;
    StoredHeads stored;
    stored.scales.numbers.type = stored.zeros.numbers.type = kNoElements;
    const bool is_plain = h->format == ROPE_PLAIN;
    if (const Status s = read_buffer({name, ".codes"}, {name, ".codes.shape"}, h->codes, is_const, true, stored.codes);
        !s.ok())
        return s;
    if (is_plain && is_byte(stored.codes.type))
        return invalid("{}.format is ROPE_PLAIN (0), and its codes are bytes; a format must say what they mean.",
                       {name});
    const Destination codes = PathAccess::make<Destination>(stored);
    const bool is_fp8 = h->format == ROPE_FORMAT_FP8_E4M3 || h->format == ROPE_FORMAT_FP8_E5M2;
    const bool has_one_scale = is_fp8 && h->scales == nullptr;
    if (h->scale != 0.0 && !has_one_scale && h->format != ROPE_FORMAT_NVFP4)
        return invalid("{}.scale is {}; it is for FP8 without scales and for NVFP4, and the format is {}.",
                       {name, h->scale, h->format});
    if (h->scale_divides != 0 && !has_one_scale)
        return invalid("{}.scale_divides is {}; it is for FP8 without scales, and the format is {}.",
                       {name, h->scale_divides, h->format});
    if (!is_plain && h->format < ROPE_FORMAT_Q8_0 && !has_one_scale && h->format != ROPE_FORMAT_FP8_E5M2)
        return with_scales(name, *h, codes, is_const, result);
    if (const Status s = check_no_scales(name, *h); !s.ok()) return s;
    const float scale = h->scale == 0.0 ? 1.0f : static_cast<float>(h->scale);
    const ScaleUse use = h->scale_divides != 0 ? ScaleUse::divides : ScaleUse::multiplies;
    switch (h->format) {
        case ROPE_PLAIN: result = codes; break;
        case ROPE_FORMAT_FP8_E4M3: result = fp8_e4m3(codes, scale, use); break;
        case ROPE_FORMAT_FP8_E5M2: result = fp8_e5m2(codes, scale, use); break;
        case ROPE_FORMAT_Q8_0: result = q8_0(codes); break;
        case ROPE_FORMAT_Q4_0: result = q4_0(codes); break;
        case ROPE_FORMAT_Q4_1: result = q4_1(codes); break;
        case ROPE_FORMAT_Q5_0: result = q5_0(codes); break;
        case ROPE_FORMAT_Q5_1: result = q5_1(codes); break;
        case ROPE_FORMAT_IQ4_NL: result = iq4_nl(codes); break;
        case ROPE_FORMAT_GGML_MXFP4: result = mxfp4(codes); break;
        default: return no_case({name, ".format"}, h->format);
    }
    return Status();
}

/// A place for a Destination that is set later.
inline Destination no_heads() noexcept {
    StoredHeads none;
    none.codes.type = kNoElements;
    return PathAccess::make<Destination>(none);
}

// ---- Steps ----

inline Status add_norm(const rope_head_step& s, const StepNumbers& weight, const StepNumbers& bias,
                       Path& path) noexcept {
    NormOptions o;
    if (const Status e = check_named("step.rounding", s.rounding, ROPE_NORM_ROUNDS_ROOT + 1); !e.ok()) return e;
    o.over = s.over_token != 0 ? NormSpan::token : NormSpan::head;
    o.rounding = static_cast<NormRounding>(s.rounding);
    o.adds_one = s.adds_one != 0;
    o.all_heads = s.all_heads;
    if (const Status e = read_squares(s.squares, o.squares); !e.ok()) return e;
    if (s.kind == ROPE_LAYER_NORM)
        path.layer_norm(weight, bias, s.number, o);
    else if (s.kind == ROPE_L2_NORM)
        path.l2_norm(weight, s.number, o);
    else
        path.rms_norm(weight, s.number, o);
    return Status();
}

inline Status add_rotation(const rope_head_step& s, Path& path) noexcept {
    if (const Status e = check_named("step.rounding", s.rounding, ROPE_ROTATE_ROUNDS_ALL + 1); !e.ok()) return e;
    const auto rounding = static_cast<RotateRounding>(s.rounding);
    std::optional<Layout> layout;
    if (const Status e = read_layout("step.layout", s.layout, layout); !e.ok()) return e;
    const bool is_back = s.kind == ROPE_ROTATE_BACK;
    if (layout && (is_back || s.rows != nullptr))
        return invalid(
            "step.layout is {}; pairs are left in another order by the rotation forward, by the rows of the "
            "pass, alone.",
            {s.layout});
    if (s.rows == nullptr) {
        if (s.call != nullptr || s.ids != nullptr)
            return invalid(
                "step.call or step.ids is not NULL beside step.rows of NULL; they are the positions of these.");
        if (layout)
            path.rotate_into(*layout, rounding);
        else if (is_back)
            path.rotate_back(rounding);
        else
            path.rotate(rounding);
        return Status();
    }
    if (const Status e = check_handle("step.rows", s.rows); !e.ok()) return e;
    Positions positions;
    if (s.call != nullptr) {
        Struct<rope_call> c;
        if (const Status e = c.read("step.call", "rope_call", s.call); !e.ok()) return e;
        if (const Status e = read_positions("step.call", *c, s.ids, positions); !e.ok()) return e;
    } else if (s.ids != nullptr) {
        return invalid("step.ids is not NULL beside step.call of NULL, which says how many there are.");
    }
    with_rows(*s.rows, [&](const auto& rows) {
        if (is_back)
            path.rotate_back(rows, positions, rounding);
        else
            path.rotate(rows, positions, rounding);
    });
    return Status();
}

/// Requires that every member that is set is one that the kind reads.
inline Status check_members(const rope_head_step& s) noexcept {
    constexpr unsigned norms = bit_of(ROPE_RMS_NORM) | bit_of(ROPE_L2_NORM) | bit_of(ROPE_LAYER_NORM);
    constexpr unsigned rotations = bit_of(ROPE_ROTATE) | bit_of(ROPE_ROTATE_BACK);
    const Member members[] = {
        {"number", s.number != 0.0, norms | bit_of(ROPE_CLAMP) | bit_of(ROPE_MULTIPLY)},
        {"numbers", s.numbers != nullptr, norms | bit_of(ROPE_ADD) | bit_of(ROPE_MULTIPLY)},
        {"bias", s.bias != nullptr, bit_of(ROPE_LAYER_NORM)},
        {"rounding", s.rounding != 0, norms | rotations},
        {"layout", s.layout != 0, bit_of(ROPE_ROTATE)},
        {"over_token", s.over_token != 0, norms},
        {"adds_one", s.adds_one != 0, norms},
        {"squares", s.squares != nullptr, norms},
        {"all_heads", s.all_heads != 0, norms},
        {"block", s.block != 0, bit_of(ROPE_HADAMARD)},
        {"rows", s.rows != nullptr, rotations},
        {"call", s.call != nullptr, rotations},
        {"ids", s.ids != nullptr, rotations},
    };
    if (const Member* m = first_unread(members, s.kind))
        return invalid("step.{} is set, and a step of kind {} does not read it.", {m->name, s.kind});
    if (s.kind == ROPE_CLAMP && s.number == 0.0) return invalid("step.number is 0; a clamp needs its limit.");
    if (s.kind == ROPE_MULTIPLY && (s.number == 0.0) == (s.numbers == nullptr))
        return invalid("step.number is {} and step.numbers {}NULL; one of the two must be the factor.",
                       {s.number, s.numbers == nullptr ? "" : "not "});
    return Status();
}

inline Status add_step(const rope_head_step& s, Path& path) noexcept {
    if (s.kind < ROPE_ADD || s.kind > ROPE_ROUND)
        return invalid("step.kind is {}; it must be from ROPE_ADD (1) to ROPE_ROUND (10).", {s.kind});
    if (const Status e = check_members(s); !e.ok()) return e;
    StepNumbers numbers, bias;
    if (const Status e = read_numbers("step.numbers", s.numbers, numbers); !e.ok()) return e;
    if (const Status e = read_numbers("step.bias", s.bias, bias); !e.ok()) return e;
    switch (s.kind) {
        case ROPE_ADD: path.add(numbers); break;
        case ROPE_CLAMP: path.clamp(s.number); break;
        case ROPE_MULTIPLY:
            if (s.numbers != nullptr)
                path.multiply(numbers);
            else
                path.multiply(s.number);
            break;
        case ROPE_HADAMARD: path.hadamard(s.block); break;
        case ROPE_ROUND: path.round(); break;
        case ROPE_ROTATE:
        case ROPE_ROTATE_BACK: return add_rotation(s, path);
        case ROPE_RMS_NORM:
        case ROPE_L2_NORM:
        case ROPE_LAYER_NORM: return add_norm(s, numbers, bias, path);
        default: return no_case("step.kind", s.kind);
    }
    return Status();
}

inline Status add_recipe(const rope_recipe* given, Path& path) {
    Struct<rope_recipe> r;
    if (const Status s = r.read("recipe", "rope_recipe", given); !s.ok()) return s;
    if (const Status s = check_handle("recipe.model", r->model); !s.ok()) return s;
    if (const Status s = check_named("recipe.heads", r->heads, ROPE_INDEXER_KEYS + 1); !s.ok()) return s;
    StepNumbers weight, bias, temperatures;
    TensorView<const double> squares;
    if (const Status s = read_numbers("recipe.weight", r->weight, weight); !s.ok()) return s;
    if (const Status s = read_numbers("recipe.bias", r->bias, bias); !s.ok()) return s;
    if (const Status s = read_numbers("recipe.temperatures", r->temperatures, temperatures); !s.ok()) return s;
    if (const Status s = read_squares(r->squares, squares); !s.ok()) return s;
    HeadWeights w;
    const bool is_q = r->heads == ROPE_QUERIES || r->heads == ROPE_INDEXER_QUERIES;
    const bool is_v = r->heads == ROPE_VALUES;
    (is_q ? w.q_norm : is_v ? w.v_norm : w.k_norm) = weight;
    (is_q ? w.q_norm_bias : is_v ? w.v_norm_bias : w.k_norm_bias) = bias;
    (is_q ? w.q_squares : w.k_squares) = squares;
    w.temperatures = temperatures;
    RecipeOptions o;
    o.rounding = r->as_published != 0 ? RecipeRounding::as_published : RecipeRounding::once;
    o.in_published_order = r->in_published_order != 0;
    o.axes_are_alike = r->axes_are_alike != 0;
    const ModelConfig& m = r->model->model;
    switch (r->heads) {
        case ROPE_QUERIES: path = query_path(m, r->layer, path, w, o); break;
        case ROPE_KEYS: path = key_path(m, r->layer, path, w, o); break;
        case ROPE_VALUES: path = value_path(m, r->layer, path, w, o); break;
        case ROPE_OUTPUT: path = output_path(m, r->layer, path, o); break;
        case ROPE_INDEXER_QUERIES: path = indexer_query_path(m, r->layer, path, w, o); break;
        case ROPE_INDEXER_KEYS: path = indexer_key_path(m, r->layer, path, w, o); break;
        default: return no_case("recipe.heads", r->heads);
    }
    return Status();
}

/// The beginning of a path: memory that a path can begin in as a view, or a cache.
inline Path begin_path(const Destination& from) noexcept {
    const StoredHeads& stored = PathAccess::data(from);
    if (stored.format == nullptr && !stored.codes.is_paged) return PathAccess::make<Path>(stored.codes);
    return heads(from);
}

inline Status read_path(const rope_path& p, Path& path) {
    Destination from = no_heads(), to = no_heads();
    const bool is_in_place = p.destination == nullptr;
    if (const Status s = read_heads("source", p.source, !is_in_place, from); !s.ok()) return s;
    path = begin_path(from);
    if (p.recipe != nullptr)
        if (const Status s = add_recipe(p.recipe, path); !s.ok()) return s;
    if (p.step_count < 0 || p.step_count > kMaxSteps || (p.step_count > 0 && p.steps == nullptr))
        return invalid("path.step_count is {}{}; it must be from 0 to {}.",
                       {p.step_count, p.steps == nullptr ? " at steps of NULL" : "", kMaxSteps});
    for (Index i = 0; i < p.step_count; ++i) {
        Struct<rope_head_step> step;
        if (const Status s = read_element("steps", "rope_head_step", p.steps, i, step); !s.ok()) return s;
        if (const Status s = add_step(*step, path); !s.ok()) return s;
    }
    if (p.features != 0 || p.first_feature != 0) path.slice_features(p.first_feature, p.features);
    if (is_in_place) return Status();
    if (const Status s = read_heads("destination", p.destination, false, to); !s.ok()) return s;
    path.to(to);
    return Status();
}

ROPE_DETAIL_END
