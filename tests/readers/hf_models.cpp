// SPDX-License-Identifier: MIT
// read_hf_config on the config.json of models that people use: what is read is what the model is, and the frequencies
// are those of the formula with the published parameters.
#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "support/exact/float32_chain.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/schedules.hpp"
#include "support/readers/hf_models.hpp"

namespace {

using rope::Config;
using rope::Index;
using rope::ModelConfig;
using support::power_of_two;
using support::PublishedModel;
using support::PublishedRotary;
using support::Real;

const std::vector<PublishedModel>& models() {
    static const std::vector<PublishedModel> all = support::published_models();
    return all;
}
ModelConfig read(const PublishedModel& model) { return rope::read_hf_config(support::model_text(model.name)); }

Index turning(const Config& config) { return config.rotary_dim != 0 ? config.rotary_dim : config.head_dim; }
Real error_of(const Real& value, const Real& exact) {
    return exact == Real(0.0) ? abs(value) : abs(value - exact) / abs(exact);
}
bool is_close(double value, const Real& exact) { return error_of(value, exact) <= Real(1e-15); }

/// Calls f(read, published) for each kind of layer that turns, with the first such layer's rotary embedding.
template <class F>
void for_each_rotary(F&& f) {
    for (const PublishedModel& model : models()) {
        const ModelConfig config = read(model);
        std::set<const std::vector<PublishedRotary>*> seen;
        for (Index i = 0; i < model.layers; ++i) {
            const std::vector<PublishedRotary>* const rotary = model.rotary_at(i);
            if (rotary == nullptr || !seen.insert(rotary).second) continue;
            REQUIRE(config.layer(i) != nullptr);
            for (const PublishedRotary& published : *rotary) {
                INFO(model.name << ", layer " << i << ", sequences of " << published.seq_len);
                f(*config.layer(i), published);
            }
        }
        CHECK(static_cast<std::size_t>(config.configs.size()) == seen.size());
    }
}

}  // namespace

TEST_CASE("every published file has its row, and every row its file") {
    std::set<std::string> files, rows;
    for (const auto& entry : std::filesystem::directory_iterator(ROPE_TEST_MODELS))
        if (entry.path().extension() == ".json") files.insert(entry.path().stem().string());
    for (const PublishedModel& model : models()) CHECK(rows.insert(model.name).second);
    CHECK(rows.size() >= 28);
    CHECK(files == rows);
}

TEST_CASE("layers, heads and lengths are those of the model") {
    for (const PublishedModel& model : models()) {
        INFO(model.name);
        const ModelConfig config = read(model);
        REQUIRE(config.layers() == model.layers);
        CHECK(config.max_position_embeddings == model.max_positions);
        CHECK(config.reference_uses_other_layout == model.reference_uses_other_layout);
        for (Index i = 0; i < model.layers; ++i) {
            INFO("layer " << i);
            const rope::HeadCounts heads = config.heads[support::size(i)], expected = model.heads_at(i);
            CHECK(heads.q == expected.q);
            CHECK(heads.k == expected.k);
            CHECK(heads.v == expected.v);
            CHECK(config.layer_types[support::size(i)] == model.type_at(i));
        }
    }
}

TEST_CASE("each layer has the rotary embedding of the model, or none") {
    Index with = 0, without = 0;
    for (const PublishedModel& model : models()) {
        const ModelConfig config = read(model);
        REQUIRE(config.layers() == model.layers);
        for (Index i = 0; i < model.layers; ++i) {
            INFO(model.name << ", layer " << i);
            const std::vector<PublishedRotary>* const rotary = model.rotary_at(i);
            REQUIRE((config.layer(i) != nullptr) == (rotary != nullptr));
            rotary != nullptr ? ++with : ++without;
            if (rotary == nullptr) continue;
            const Config& got = *config.layer(i);
            const Config& expected = rotary->front().config;
            CHECK(got.layout == expected.layout);
            CHECK(got.head_dim == expected.head_dim);
            CHECK(turning(got) == turning(expected));
            CHECK(got.rotary_offset == expected.rotary_offset);
            CHECK(got.base == expected.base);
            CHECK(got.interpolation_factor == expected.interpolation_factor);
            CHECK(std::string(rope::schedule_name(got.schedule)) == rope::schedule_name(expected.schedule));
        }
    }
    std::printf("%zu models: %lld layers with a rotary embedding, %lld without\n", models().size(),
                static_cast<long long>(with), static_cast<long long>(without));
}

TEST_CASE("frequencies are those of the formula with the published parameters") {
    Real largest_sum, largest_first;
    for_each_rotary([&](const Config& got, const PublishedRotary& published) {
        const rope::Frequencies f = rope::frequencies(got, published.seq_len);
        const std::vector<Real> exact = support::real_frequencies(published.config, published.seq_len).inv_freq;
        REQUIRE(f.inv_freq.size() == exact.size());
        REQUIRE(f.inv_freq_low.size() == exact.size());
        for (std::size_t i = 0; i < exact.size(); ++i) {
            INFO("pair " << i << ": " << f.inv_freq[i] << ", where the formula says " << exact[i].to_double());
            const Real sum = error_of(Real(f.inv_freq[i]) + Real(f.inv_freq_low[i]), exact[i]);
            const Real first = error_of(f.inv_freq[i], exact[i]);
            CHECK(sum <= power_of_two(-90));
            CHECK(first <= power_of_two(-53));  // half an ulp
            largest_sum = support::max(largest_sum, sum);
            largest_first = support::max(largest_first, first);
        }
    });
    std::printf("inv_freq + inv_freq_low is right to %.3g, inv_freq to %.3g, relative\n", largest_sum.to_double(),
                largest_first.to_double());
}

TEST_CASE("magnitudes are those of the model") {
    for_each_rotary([](const Config& got, const PublishedRotary& published) {
        const double m = rope::frequencies(got, published.seq_len).attention_factor;
        INFO(m << ", where the formula says " << published.magnitude.to_double());
        CHECK(is_close(m, published.magnitude));
    });
}

TEST_CASE("softmax factors, sections and temperatures are those of the model") {
    Index tempered = 0, in_sections = 0, softmax = 0;
    for (const PublishedModel& model : models()) {
        INFO(model.name);
        const ModelConfig config = read(model);
        CHECK(is_close(config.softmax_scale_factor, model.softmax_scale));
        const rope::AxisMap axes = model.sections.empty()           ? rope::AxisMap()
                                   : model.sections_are_interleaved ? rope::mrope_interleaved(model.sections)
                                                                    : rope::mrope_sections(model.sections);
        CHECK(config.axis_map.axis_of == axes.axis_of);
        const rope::AttentionTemperature &got = config.attention_temperature, &expected = model.temperature;
        CHECK(got.on_layers_with_rope == expected.on_layers_with_rope);
        CHECK(got.on_layers_without_rope == expected.on_layers_without_rope);
        for (const Index position : {0, 8191, 8192, 16383, 16384, 100000}) {
            INFO("position " << position);
            const Real periods = floor(Real::integer(position + expected.shift) / Real(expected.period));
            CHECK(is_close(got.at(position), Real(1.0) + Real(expected.scale) * log(Real(1.0) + periods)));
        }
        tempered += expected.scale != 0.0 ? 1 : 0;
        in_sections += model.sections.empty() ? 0 : 1;
        softmax += model.softmax_scale == Real(1.0) ? 0 : 1;
    }
    CHECK(tempered >= 2);
    CHECK(in_sections >= 3);
    CHECK(softmax >= 4);
}

// With other schedules the chain begins with the schedule's frequency, which float32_chain's own test knows.
TEST_CASE("tables of default and linear schedules have the bits of the float32 chain") {
    Index tables = 0;
    for_each_rotary([&](const Config& got, const PublishedRotary& published) {
        if (!std::holds_alternative<rope::schedule::Default>(published.config.schedule)) return;
        ++tables;
        const support::Float32Chain chain(published.config);
        for (const Index first : {Index(0), Index(4090), Index(131070), (Index(1) << 24) - 1}) {
            INFO("positions from " << first);
            const auto table = rope::CosSinCache<float>::float32_chain(got, 6, first);
            CHECK(table.pairs() == turning(published.config) / 2);
            CHECK(support::different_entries(table, chain) == 0);
        }
    });
    CHECK(tables >= 25);
}

TEST_CASE("warnings are of what the file leaves out, and there are no others") {
    for (const PublishedModel& model : models()) {
        const ModelConfig config = read(model);
        for (const std::string& expected : model.warnings) {
            INFO(model.name << ": " << expected);
            const auto begins = [&](const std::string& warning) {
                return warning.compare(0, expected.size(), expected) == 0;
            };
            CHECK(std::count_if(config.warnings.begin(), config.warnings.end(), begins) == 1);
        }
        std::string all;
        for (const std::string& warning : config.warnings) all += "\n" + warning;
        INFO(model.name << " warns:" << all);
        CHECK(config.warnings.size() == model.warnings.size());
    }
}
