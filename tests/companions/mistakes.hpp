// SPDX-License-Identifier: MIT
// Mistakes that <rope/testing.hpp> has names for, as changes of a right loop.
#pragma once

#include "support/exact/schedules.hpp"
#include "support/testing.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

/// A change that makes one mistake in a right loop.
using Spoiled = std::function<void(Loop&, const rope::Config&)>;

/// A right Loop's frequencies with a schedule, from the formula.
inline std::function<double(Index)> scheduled(const rope::Config& config, Index seq_len) {
    std::vector<double> w;
    for (const support::Real& x : support::real_frequencies(config, seq_len).inv_freq) w.push_back(x.to_double());
    return [w](Index i) { return w[support::size(i)]; };
}

/// Where every mistake with a schedule makes a difference, too.
inline rope::Config telling_schedule() {
    rope::Config config = telling_config();
    config.schedule = rope::schedule::Yarn{8.0, 4096};
    return config;
}

inline const std::map<std::string, Spoiled>& mistakes() {
    static const std::map<std::string, Spoiled> result = {
        {"no rotation", [](Loop& l, const auto&) { l.turn = [](double&, double&, double, double) {}; }},
        {"other layout",
         [](Loop& l, const auto&) {
             l.layout = l.layout == Layout::interleaved ? Layout::half_split : Layout::interleaved;
         }},
        {"sign of sin",
         [](Loop& l, const auto&) { l.angle = [](Index p, double w) { return -static_cast<double>(p) * w; }; }},
        {"cos and sin swapped",
         [](Loop& l, const auto&) {
             l.turn = [](double& a, double& b, double c, double s) {
                 const double before = a;
                 a = a * s - b * c;
                 b = b * s + before * c;
             };
         }},
        {"first half overwritten",
         [](Loop& l, const auto&) {
             l.turn = [](double& a, double& b, double c, double s) {
                 a = a * c - b * s;
                 b = b * c + a * s;
             };
         }},
        {"attention factor missing", [](Loop& l, const auto&) { l.m = 1.0; }},
        {"attention factor twice", [](Loop& l, const auto&) { l.m *= l.m; }},
        {"interpolation factor ignored",
         [](Loop& l, const rope::Config& c) { l.frequency = Loop::powers(c.base, l.rotary_dim, 1.0); }},
        {"schedule ignored", [](Loop&, const auto&) {}},  // a Loop knows no schedule
        {"magnitude of the schedule ignored", [](Loop& l, const rope::Config& c) { l.frequency = scheduled(c, 0); }},
        {"exponent 2i instead of i",
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(c.base, l.rotary_dim / 2, c.interpolation_factor);
         }},
        {"head_dim in the exponent",
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(c.base, l.head_dim, c.interpolation_factor);
         }},
        {"base 10000",
         [](Loop& l, const rope::Config& c) {
             l.frequency = Loop::powers(10000.0, l.rotary_dim, c.interpolation_factor);
         }},
        {"slice ignored",
         [](Loop& l, const rope::Config& c) {
             l.offset = 0;
             l.rotary_dim = l.head_dim;
             l.frequency = Loop::powers(c.base, l.head_dim, c.interpolation_factor);
         }},
        {"offset ignored", [](Loop& l, const auto&) { l.offset = 0; }},
        {"position one too large",
         [](Loop& l, const auto&) { l.position = [](Index t, const Index* p) { return p[t] + 1; }; }},
        {"position one too small",
         [](Loop& l, const auto&) { l.position = [](Index t, const Index* p) { return p[t] - 1; }; }},
        {"first token's position for all",
         [](Loop& l, const auto&) { l.position = [](Index, const Index* p) { return p[0]; }; }},
        {"token index as position", [](Loop& l, const auto&) { l.position = [](Index t, const Index*) { return t; }; }},
        {"angle in float32",
         [](Loop& l, const auto&) {
             l.angle = [](Index p, double w) {
                 return static_cast<double>(static_cast<float>(p) * static_cast<float>(w));
             };
         }},
        {"angle in 16 bits",
         [](Loop& l, const auto&) {
             l.angle = [](Index p, double w) {
                 return support::to_double(support::from_double<rope::bfloat16>(static_cast<double>(p))) * w;
             };
         }},
        {"other frequencies",
         [](Loop& l, const rope::Config& c) { l.frequency = Loop::powers(3.0 * c.base, l.rotary_dim, 1.0); }},
    };
    return result;
}
