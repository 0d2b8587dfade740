// SPDX-License-Identifier: MIT
// Config: the numbers of a model that define which part of a head rotates, and how fast.
#pragma once

#include <optional>

#include "errors.hpp"
#include "list.hpp"
#include "schedule.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

/// One rotary embedding, as a model's configuration describes it. An aggregate: set the fields that differ.
///
///     rope::Config config;
///     config.head_dim = 128;
///     config.base = 500000.0;  // "rope_theta"
///     config.schedule = rope::schedule::Llama3();
///
/// Pair i of position p rotates by  p * w_i / interpolation_factor  radians, where w_i = base^(-2i / rotary_dim) or as
/// the schedule makes it, and is multiplied by attention_factor and by the magnitude of the schedule, if it has one.
/// Source: Su et al., "RoFormer", arXiv:2104.09864; position interpolation: Chen et al., arXiv:2306.15595.
struct Config {
    ROPE_CROSSES_AGGREGATE(Config)
    /// Features of one head; 1 .. 2^20.
    Index head_dim = 0;
    /// Features that rotate: even, 2 .. head_dim; 0 means all of head_dim, which must then be even. The rest of the
    /// head passes through. (Partial rotary: head_dim * "partial_rotary_factor".)
    Index rotary_dim = 0;
    /// First feature of the slice that rotates; 0 .. head_dim - rotary_dim.
    Index rotary_offset = 0;
    /// "rope_theta": finite and above zero. 1 is allowed: every pair then rotates by one radian per position.
    double base = 10000.0;
    /// Divides every angle, after any schedule: position interpolation. Finite and above zero.
    double interpolation_factor = 1.0;
    /// Magnitude m: stands on cos and on sin of q and of k alike, so scores get m^2. From 2^-32 to 2^32, so that m^2
    /// and 1/m^2 are floats.
    double attention_factor = 1.0;
    /// How frequencies are made; see schedule.hpp.
    Schedule schedule = {};
    /// The layout that the model's weights are made for. Unless it is left out, a call with the other one is an error.
    std::optional<Layout> layout = std::nullopt;
    /// Whether every pair rotates by minus the angle (nanochat).
    bool is_reversed = false;
    /// Whether each w_i, after the schedule, is multiplied by e^log_scale[i], which the model learned (LeRoPE:
    /// Mistral-Large-4).
    bool has_log_scale = false;
    /// One number per pair, from -22 to 22, which the model's weights have. If has_log_scale is set and the list is
    /// empty, frequencies(config) leaves the factors out, and making a table is an error.
    List<double> log_scale = {};
};

/// Where the rotated slice lies in a head, for tables made from Frequencies, which know only the slice itself.
struct HeadSlice {
    ROPE_CROSSES_AGGREGATE(HeadSlice)
    /// Features of one head; 0 means the slice is the head.
    Index head_dim = 0;
    /// First feature of the slice.
    Index rotary_offset = 0;
};

/// Whether a Config can be used. The functions that take one call this first and throw its message.
ROPE_API Status check(const Config& config) noexcept;

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/angles/config_checks.hpp"
#endif

#include "detail/base/restore_macros.hpp"
