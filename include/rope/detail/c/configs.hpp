// SPDX-License-Identifier: MIT
// rope_config and rope_axes as a Config and an AxisMap.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "../../axis_map.hpp"
#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../list.hpp"
#include "../../rope.h"
#include "../../schedule.hpp"
#include "../../types.hpp"
#include "arguments.hpp"
#include "structs.hpp"

ROPE_DETAIL_BEGIN

/// Numbers of a struct, where 0 stands for the default.
inline void set(double& to, double given) noexcept {
    if (given != 0.0) to = given;
}
inline void set(std::optional<double>& to, double given) noexcept {
    if (given != 0.0) to = given;
}
inline List<double> list_of(const double* numbers, Index first, Index count) {
    return List<double>(numbers + first, numbers + first + count);
}

inline Status read_schedule(const rope_config& c, Schedule& schedule) {
    const Index count = c.numbers_count;
    switch (c.schedule) {
        case ROPE_DEFAULT: schedule = schedule::Default(); return Status();
        case ROPE_NTK: {
            schedule::Ntk s;
            set(s.factor, c.factor);
            set(s.mixed_b, c.mixed_b);
            schedule = s;
            return Status();
        }
        case ROPE_DYNAMIC_NTK: {
            schedule::DynamicNtk s;
            set(s.factor, c.factor);
            s.max_position_embeddings = c.max_position_embeddings;
            schedule = s;
            return Status();
        }
        case ROPE_YARN: {
            schedule::Yarn s;
            set(s.factor, c.factor);
            s.original_max_position_embeddings = c.original_max_position_embeddings;
            s.max_position_embeddings = c.max_position_embeddings;
            set(s.beta_fast, c.beta_fast);
            set(s.beta_slow, c.beta_slow);
            s.truncate = c.keeps_fractions == 0;
            set(s.extrapolation_factor, c.extrapolation_factor);
            set(s.attention_factor, c.schedule_attention_factor);
            set(s.mscale, c.mscale);
            set(s.mscale_all_dim, c.mscale_all_dim);
            set(s.attn_factor, c.attn_factor);
            s.magnitude = static_cast<schedule::YarnMagnitude>(c.magnitude);
            schedule = s;
            return Status();
        }
        case ROPE_LLAMA3: {
            schedule::Llama3 s;
            set(s.factor, c.factor);
            set(s.low_freq_factor, c.low_freq_factor);
            set(s.high_freq_factor, c.high_freq_factor);
            if (c.original_max_position_embeddings != 0)
                s.original_max_position_embeddings = c.original_max_position_embeddings;
            schedule = s;
            return Status();
        }
        case ROPE_LONGROPE: {
            schedule::LongRope s;
            s.short_factor = list_of(c.numbers, 0, count / 2);
            s.long_factor = list_of(c.numbers, count / 2, count / 2);
            s.original_max_position_embeddings = c.original_max_position_embeddings;
            s.max_position_embeddings = c.max_position_embeddings;
            set(s.factor, c.factor);
            set(s.attention_factor, c.schedule_attention_factor);
            schedule = s;
            return Status();
        }
        case ROPE_PROPORTIONAL: {
            schedule::Proportional s;
            set(s.partial_rotary_factor, c.partial_rotary_factor);
            set(s.factor, c.factor);
            schedule = s;
            return Status();
        }
        case ROPE_AXIAL: {
            schedule::Axial s;
            if (c.axes != 0) s.axes = c.axes;
            schedule = s;
            return Status();
        }
        case ROPE_XPOS_QUERIES:
        case ROPE_XPOS_KEYS: {
            schedule::Xpos s;
            s.side = c.schedule == ROPE_XPOS_KEYS ? schedule::Xpos::Side::key : schedule::Xpos::Side::query;
            set(s.scale_base, c.scale_base);
            s.centre = c.centre;
            schedule = s;
            return Status();
        }
        case ROPE_FREQ_FACTORS: {
            schedule::FreqFactors s;
            s.freq_factors = list_of(c.numbers, 0, count);
            schedule = s;
            return Status();
        }
        case ROPE_CUSTOM: {
            schedule::Custom s;
            s.inv_freq = list_of(c.numbers, 0, count);
            schedule = s;
            return Status();
        }
        default: return no_case("config.schedule", c.schedule);
    }
}

inline Status check_numbers(const char* name, const rope_config& c) noexcept {
    const bool reads = c.schedule == ROPE_LONGROPE || c.schedule == ROPE_FREQ_FACTORS || c.schedule == ROPE_CUSTOM;
    // No schedule has more numbers than these, and a count that is not one must not be allocated.
    if (reads && (c.numbers_count < 1 || c.numbers_count > kMaxHeadDim * 8))
        return invalid("{}.numbers_count is {}; it must be one for each pair.", {name, c.numbers_count});
    if (reads && c.numbers == nullptr)
        return invalid("{}.numbers is NULL; schedule {} reads {} of them.", {name, c.schedule, c.numbers_count});
    if (c.schedule == ROPE_LONGROPE && c.numbers_count % 2 != 0)
        return invalid("{}.numbers_count is {}; of LongRoPE there are as many short factors as long ones.",
                       {name, c.numbers_count});
    return Status();
}

/// Requires that every parameter that is set is one that the schedule reads.
inline Status check_members(const rope_config& c) noexcept {
    constexpr unsigned ntk = bit_of(ROPE_NTK), dynamic = bit_of(ROPE_DYNAMIC_NTK), yarn = bit_of(ROPE_YARN),
                       llama3 = bit_of(ROPE_LLAMA3), longrope = bit_of(ROPE_LONGROPE),
                       proportional = bit_of(ROPE_PROPORTIONAL),
                       xpos = bit_of(ROPE_XPOS_QUERIES) | bit_of(ROPE_XPOS_KEYS);
    const Member members[] = {
        {"factor", c.factor != 0.0, ntk | dynamic | yarn | llama3 | longrope | proportional},
        {"mixed_b", c.mixed_b != 0.0, ntk},
        {"beta_fast", c.beta_fast != 0.0, yarn},
        {"beta_slow", c.beta_slow != 0.0, yarn},
        {"extrapolation_factor", c.extrapolation_factor != 0.0, yarn},
        {"mscale", c.mscale != 0.0, yarn},
        {"mscale_all_dim", c.mscale_all_dim != 0.0, yarn},
        {"attn_factor", c.attn_factor != 0.0, yarn},
        {"schedule_attention_factor", c.schedule_attention_factor != 0.0, yarn | longrope},
        {"low_freq_factor", c.low_freq_factor != 0.0, llama3},
        {"high_freq_factor", c.high_freq_factor != 0.0, llama3},
        {"partial_rotary_factor", c.partial_rotary_factor != 0.0, proportional},
        {"scale_base", c.scale_base != 0.0, xpos},
        {"centre", c.centre != 0.0, xpos},
        {"original_max_position_embeddings", c.original_max_position_embeddings != 0, yarn | llama3 | longrope},
        {"max_position_embeddings", c.max_position_embeddings != 0, dynamic | yarn | longrope},
        {"axes", c.axes != 0, bit_of(ROPE_AXIAL)},
        {"keeps_fractions", c.keeps_fractions != 0, yarn},
        {"magnitude", c.magnitude != 0, yarn},
        {"numbers", c.numbers != nullptr || c.numbers_count != 0,
         longrope | bit_of(ROPE_FREQ_FACTORS) | bit_of(ROPE_CUSTOM)},
    };
    if (const Member* m = first_unread(members, c.schedule))
        return invalid("config.{} is set, and schedule {} does not read it.", {m->name, c.schedule});
    return Status();
}

inline Status read_config(const char* name, const rope_config* given, Config& config) {
    Struct<rope_config> c;
    if (const Status s = c.read(name, "rope_config", given); !s.ok()) return s;
    if (const Status s = check_named("config.schedule", c->schedule, ROPE_CUSTOM + 1); !s.ok()) return s;
    if (const Status s = check_named("config.magnitude", c->magnitude, ROPE_YARN_NO_MAGNITUDE + 1); !s.ok()) return s;
    if (const Status s = check_members(*c); !s.ok()) return s;
    if (const Status s = check_numbers(name, *c); !s.ok()) return s;
    if (const Status s = read_layout("config.layout", c->layout, config.layout); !s.ok()) return s;
    config.head_dim = c->head_dim;
    config.rotary_dim = c->rotary_dim;
    config.rotary_offset = c->rotary_offset;
    set(config.base, c->base);
    set(config.interpolation_factor, c->interpolation_factor);
    set(config.attention_factor, c->attention_factor);
    config.is_reversed = c->is_reversed != 0;
    return read_schedule(*c, config.schedule);
}

inline Status read_axes(const rope_axes* given, AxisMap& map) {
    if (given == nullptr) return Status();
    Struct<rope_axes> a;
    if (const Status s = a.read("axes", "rope_axes", given); !s.ok()) return s;
    if (const Status s = check_named("axes.scheme", a->scheme, ROPE_LISTED_AXES + 1); !s.ok()) return s;
    if (a->scheme == ROPE_ONE_AXIS) {
        if (a->count == 0 && a->axis_of == nullptr) return Status();
        return invalid("axes.count is {}, and axes.scheme ROPE_ONE_AXIS (0), which reads no sections.", {a->count});
    }
    if (a->count < 1 || a->count > 8) return invalid("axes.count is {}; it must be from 1 to 8.", {a->count});
    const List<Index> sections(a->sections, a->sections + a->count);
    switch (a->scheme) {
        case ROPE_SECTIONS: map = mrope_sections(sections); break;
        case ROPE_INTERLEAVED_AXES: map = mrope_interleaved(sections); break;
        case ROPE_INTERLEAVED_AXES_4: map = mrope_interleaved(sections, LeftOver::fourth_axis); break;
        case ROPE_ALTERNATING_AXES: map = mrope_alternating(sections); break;
        case ROPE_APPORTIONED_AXES: map = mrope_apportioned(sections); break;
        case ROPE_MIXED_AXES: map = mixed_axes(a->count); break;
        case ROPE_LISTED_AXES:
            if (a->axis_of == nullptr || a->axis_of_count < 1 || a->axis_of_count > kMaxHeadDim)
                return invalid("axes.axis_of has {} {axis|axes}{}; there must be one for each pair.",
                               {a->axis_of_count, a->axis_of == nullptr ? " at NULL" : ""});
            map.axes = a->count;
            map.axis_of = List<unsigned char>(a->axis_of, a->axis_of + a->axis_of_count);
            break;
        default: return no_case("axes.scheme", a->scheme);
    }
    return Status();
}

/// A config and a map of axes, from which rows are made. Mixed axes have several frequencies for each pair, which no Config
/// holds, so those are a member of their own.
struct RowsOrigin {
    Config config;
    AxisMap map;
    std::optional<Frequencies> frequencies;

    HeadSlice slice() const noexcept { return {config.head_dim, config.rotary_offset}; }
};
inline Status read_origin(const rope_config* config, const rope_axes* axes, RowsOrigin& origin) {
    if (const Status s = read_axes(axes, origin.map); !s.ok()) return s;
    if (const Status s = read_config("config", config, origin.config); !s.ok()) return s;
    if (!origin.map.is_mixed) return Status();
    const auto* const custom = std::get_if<schedule::Custom>(&origin.config.schedule);
    if (custom == nullptr)
        return invalid(
            "config.schedule must be ROPE_CUSTOM (11) for mixed axes, with a frequency of each pair for "
            "each axis.");
    // Numbers for several axes are no Config's, and have no member for these.
    const Config& c = origin.config;
    const Index numbers = static_cast<Index>(custom->inv_freq.size()), features = numbers / origin.map.axes * 2;
    if (c.interpolation_factor != 1.0 || c.is_reversed)
        return invalid("config.interpolation_factor is {} and config.is_reversed {}; with mixed axes they must be 0.",
                       {c.interpolation_factor, c.is_reversed ? 1 : 0});
    if (c.rotary_dim != 0 && c.rotary_dim != features)
        return invalid("config.rotary_dim is {}; {} numbers for {} axes rotate {} features.",
                       {c.rotary_dim, numbers, origin.map.axes, features});
    origin.frequencies = Frequencies();
    origin.frequencies->inv_freq = custom->inv_freq;
    origin.frequencies->attention_factor = origin.config.attention_factor;
    return Status();
}

ROPE_DETAIL_END
