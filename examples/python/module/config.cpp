// SPDX-License-Identifier: MIT
#include "config.hpp"

#include <nanobind/stl/vector.h>
#include <iterator>

namespace rotary {
namespace {

using namespace nb::literals;

struct Real {
    const char* name;
    double rope_config::*member;
};
struct Whole {
    const char* name;
    int64_t rope_config::*member;
};
const Real reals[] = {{"factor", &rope_config::factor},
                      {"mixed_b", &rope_config::mixed_b},
                      {"beta_fast", &rope_config::beta_fast},
                      {"beta_slow", &rope_config::beta_slow},
                      {"extrapolation_factor", &rope_config::extrapolation_factor},
                      {"mscale", &rope_config::mscale},
                      {"mscale_all_dim", &rope_config::mscale_all_dim},
                      {"attn_factor", &rope_config::attn_factor},
                      {"attention_factor", &rope_config::schedule_attention_factor},
                      {"low_freq_factor", &rope_config::low_freq_factor},
                      {"high_freq_factor", &rope_config::high_freq_factor},
                      {"partial_rotary_factor", &rope_config::partial_rotary_factor},
                      {"scale_base", &rope_config::scale_base},
                      {"centre", &rope_config::centre}};
const Whole wholes[] = {{"original_max_position_embeddings", &rope_config::original_max_position_embeddings},
                        {"max_position_embeddings", &rope_config::max_position_embeddings},
                        {"axes", &rope_config::axes}};

template <class Members, class Value>
bool set_member(rope_config& config, const Members& members, const std::string& name, nb::handle value, Value) {
    for (const auto& m : members) {
        if (name != m.name) continue;
        Value number{};
        if (!nb::try_cast<Value>(value, number)) raise_value(name + " of the schedule is no number that is allowed.");
        config.*m.member = number;
        return true;
    }
    return false;
}

void append(std::vector<double>& numbers, const std::string& name, nb::handle value) {
    std::vector<double> more;
    const nb::object list =
        nb::hasattr(value, "tolist") ? value.attr("tolist")() : nb::borrow(value);  // of numpy and torch
    if (!nb::try_cast<std::vector<double>>(list, more)) {
        raise_value(name + " of the schedule is no list of numbers; one number for each pair is allowed.");
    }
    if (name == "long_factors" && more.size() != numbers.size()) {
        raise_value("long_factors has " + std::to_string(more.size()) + " numbers, short_factors " +
                    std::to_string(numbers.size()) + "; one for each pair is allowed in both.");
    }
    numbers.insert(numbers.end(), more.begin(), more.end());
}

}  // namespace

// Schedules are classes of Python, whose fields have the names of rope_config's members. Fields of None are left out.
void take_schedule(Config& config, nb::handle schedule) {
    static const char* names[] = {"None",         "Ntk",   "DynamicNtk",  "Yarn",     "Llama3",      "LongRope",
                                  "Proportional", "Axial", "XPosQueries", "XPosKeys", "FreqFactors", "Custom"};
    static_assert(std::size(names) == ROPE_CUSTOM + 1);
    rope_config& c = config.members;
    c.schedule =
        ROPE_DEFAULT + place_of(names, "schedule", nb::cast<std::string>(schedule.type().attr("__name__")).c_str());
    for (const auto& [key, value] : nb::cast<nb::dict>(schedule.attr("__dict__"))) {
        const std::string name = nb::cast<std::string>(key);
        if (value.is_none()) continue;
        if (name == "numbers" || name == "short_factors" || name == "long_factors") {
            append(config.numbers, name, value);
        } else if (name == "truncate") {
            if (!PyBool_Check(value.ptr()))
                raise_value("truncate of the schedule is no bool; True and False are allowed.");
            c.keeps_fractions = value.ptr() == Py_True ? 0 : 1;
        } else if (name == "magnitude") {
            static const char* magnitudes[] = {"standard", "deepseek", "none"};
            c.magnitude =
                ROPE_YARN_STANDARD + place_of(magnitudes, "magnitude", nb::cast<std::string>(nb::str(value)).c_str());
        } else {
            if (!set_member(c, reals, name, value, 0.0) && !set_member(c, wholes, name, value, int64_t{0})) {
                raise_value("the schedule has the field '" + name + "', which no schedule reads.");
            }
            // rope.h reads 0 as "left out": a given 0 must not turn into a default unnoticed.
            double number = 1;
            if (nb::try_cast<double>(value, number) && number == 0) {
                raise_value(name + " of the schedule is 0; other numbers are allowed, and None for its default.");
            }
        }
    }
}

void bind_config(nb::module_& m) {
    nb::class_<Config>(m, "Config", R"(One rotary embedding: which features rotate, and how fast.

head_dim: features of a head, even, 2 to 65536. rotary_dim: how many rotate, from rotary_offset on; None: all the rest.
base: theta of the frequencies base^(-2i / rotary_dim). interpolation_factor: positions are divided by it. attention_factor:
a factor on cos and sin; None: that of the schedule. layout: the order of pairs in the weights, 'half_split' (rotate_half) or
'interleaved' (rotate_every_two); None: every call says it. schedule: one of Ntk, DynamicNtk, Yarn, Llama3, LongRope,
Proportional, Axial, XPosQueries, XPosKeys, FreqFactors, Custom; None: the frequencies as they are. is_reversed: rotates by
the negative angle. Raises ValueError for a 0 and an unknown name; tables and frequencies() check the rest.)")
        .def(
            "__init__",
            [](Config* self, int64_t head_dim, double base, nb::handle schedule, std::optional<int64_t> rotary_dim,
               int64_t rotary_offset, double interpolation_factor, std::optional<double> attention_factor,
               Layout layout, bool is_reversed) {
                Config c;
                const auto not_zero = [](const char* name, double value) {
                    if (value == 0) raise_value(std::string(name) + " is 0; other numbers are allowed.");
                };
                not_zero("base", base);
                not_zero("interpolation_factor", interpolation_factor);
                c.members.size = sizeof(rope_config);
                c.members.head_dim = head_dim;
                c.members.base = base;
                c.members.rotary_offset = rotary_offset;
                c.members.interpolation_factor = interpolation_factor;
                c.members.layout = layout_of(layout);
                c.members.is_reversed = is_reversed ? 1 : 0;
                c.members.rotary_dim = rotary_dim.value_or(0);
                if (rotary_dim) not_zero("rotary_dim", static_cast<double>(*rotary_dim));
                c.members.attention_factor = attention_factor.value_or(0);
                if (attention_factor) not_zero("attention_factor", *attention_factor);
                if (!schedule.is_none()) take_schedule(c, schedule);
                new (self) Config(std::move(c));
            },
            "head_dim"_a, nb::kw_only(), "base"_a = 10000.0, "schedule"_a = nb::none(), "rotary_dim"_a = nb::none(),
            "rotary_offset"_a = 0, "interpolation_factor"_a = 1.0, "attention_factor"_a = nb::none(),
            "layout"_a = nb::none(), "is_reversed"_a = false)
        .def_prop_ro("head_dim", [](const Config& c) { return c.members.head_dim; })
        .def_prop_ro("base", [](const Config& c) { return c.members.base; })
        .def(
            "frequencies",
            [](const Config& c, int64_t seq_len) {
                const int64_t rotary_dim =
                    c.members.rotary_dim != 0 ? c.members.rotary_dim : c.members.head_dim - c.members.rotary_offset;
                std::vector<double> inv_freq(
                    static_cast<std::size_t>(std::min<int64_t>(std::max<int64_t>(rotary_dim / 2, 0), 65536)));
                const rope_config config = c.get();
                double factor = 1;
                checked([&](char* message, size_t room) {
                    return rope_frequencies(&config, seq_len, inv_freq.data(), nullptr,
                                            static_cast<int64_t>(inv_freq.size()), &factor, message, room);
                });
                return nb::make_tuple(inv_freq, factor);
            },
            "seq_len"_a = 0,
            "Returns (inv_freq, attention_factor): radians per position, one for each pair, within 1 ulp of double, "
            "and the\n"
            "factor on cos and sin. seq_len: of DynamicNtk and LongRope, the length of the sequence; 0: the original "
            "context.");
}

}  // namespace rotary
