// SPDX-License-Identifier: MIT
// Models through rope.h are those of the readers: descriptions, frequencies, tables, rows of steps, moves, and the steps of a
// layer as paths of a pass.
#include <rope/rope.h>
#include <rope/gguf_config.hpp>
#include <rope/hf_config.hpp>
#include <rope/rope.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "c/c_interface.hpp"

using c_test::Handle;
using c_test::made;
using c_test::make;
using c_test::pass;
using rope::Index;
using support::same_bits;
using support::size;

namespace {

const std::string kQwen3 = R"({"model_type": "qwen3", "hidden_size": 256, "head_dim": 64, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 512, "rope_theta": 1000000.0,
    "rms_norm_eps": 1e-06, "unknown_rope_key": 3})";
const std::string kQwen2Vl = R"({"model_type": "qwen2_vl", "hidden_size": 256, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 512, "rope_theta": 1000000.0,
    "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}})";
const std::string kLlama4 =
    R"({"model_type": "llama4_text", "hidden_size": 256, "head_dim": 64, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 4, "max_position_embeddings": 65536, "rope_theta": 500000.0,
    "rms_norm_eps": 1e-05, "attn_temperature_tuning": true, "floor_scale": 8192, "attn_scale": 0.1,
    "use_qk_norm": true})";
const std::string kDeepseek = R"({"model_type": "deepseek_v32", "hidden_size": 1024, "head_dim": 128,
    "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 3, "max_position_embeddings": 4096,
    "rope_theta": 10000.0, "rms_norm_eps": 1e-05, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "q_lora_rank": 512})";

Handle<rope_model> read(const std::string& text) {
    return made<rope_model>([&](auto... a) { return rope_model_from_json(text.data(), text.size(), 0, a...); });
}

void compare(const rope_model* given, const rope::ModelConfig& m) {
    auto info = make<rope_model_info>();
    pass([&](auto... a) { return rope_model_describe(given, &info, a...); });
    CHECK(std::string(info.model_type) == m.model_type);
    CHECK(std::string(info.path) == m.path);
    CHECK(info.layers == m.layers());
    CHECK(info.embeddings == static_cast<Index>(m.configs.size()));
    CHECK(info.max_position_embeddings == m.max_position_embeddings);
    CHECK(info.scaled_length == rope::scaled_length(m));
    CHECK(info.axes == m.axis_map.axes);
    CHECK(info.softmax_scale_factor == m.softmax_scale_factor);
    CHECK((info.reference_uses_other_layout != 0) == m.reference_uses_other_layout);
    CHECK(info.temperature_scale == m.attention_temperature.scale);
    CHECK(info.temperature_period == m.attention_temperature.period);
    CHECK((info.temperature_with_rope != 0) == m.attention_temperature.on_layers_with_rope);
    CHECK((info.temperature_without_rope != 0) == m.attention_temperature.on_layers_without_rope);
    CHECK(info.indexer_heads == (m.indexer ? m.indexer->heads : 0));
    REQUIRE(info.warnings == static_cast<Index>(m.warnings.size()));
    for (Index i = 0; i < info.warnings; ++i) CHECK(std::string(rope_model_warning(given, i)) == m.warnings[size(i)]);
    CHECK(rope_model_warning(given, info.warnings) == nullptr);

    for (Index layer = 0; layer < m.layers(); ++layer) {
        auto l = make<rope_layer_info>();
        pass([&](auto... a) { return rope_model_layer(given, layer, &l, a...); });
        const rope::Config* const c = m.layer(layer);
        CHECK(l.attention == static_cast<std::int32_t>(m.layer_types[size(layer)]));
        CHECK(l.embedding == m.config_of_layer[size(layer)]);
        CHECK(l.q_heads == m.heads[size(layer)].q);
        CHECK(l.k_heads == m.heads[size(layer)].k);
        CHECK(l.v_heads == m.heads[size(layer)].v);
        CHECK((l.layout == ROPE_HALF_SPLIT) == (c != nullptr && c->layout == rope::Layout::half_split));
        if (c != nullptr) {
            CHECK(l.head_dim == c->head_dim);
            CHECK(l.base == c->base);
            CHECK(std::string(l.schedule) == rope::schedule_name(c->schedule));
            const rope::Frequencies f = rope::frequencies(*c);
            const auto pairs = static_cast<Index>(f.inv_freq.size());
            std::vector<double> list(size(pairs));
            double factor = 0.0;
            pass([&](auto... a) {
                return rope_model_frequencies(given, layer, 0, list.data(), nullptr, pairs, &factor, a...);
            });
            CHECK(list == std::vector<double>(f.inv_freq.begin(), f.inv_freq.end()));
            CHECK(factor == f.attention_factor);
        }
        REQUIRE((l.has_recipe != 0) == rope::check_recipe(m, layer).ok());
        if (l.has_recipe == 0) continue;
        CHECK((l.makes_keys != 0) == rope::makes_keys(m, layer));
        CHECK((l.makes_values != 0) == rope::makes_values(m, layer));
        CHECK(l.softmax_scale == m.steps[size(layer)].softmax_scale);
        CHECK(l.keys_of_layer == m.steps[size(layer)].keys_of_layer);
        auto norm = make<rope_norm_info>();
        pass([&](auto... a) { return rope_model_norm(given, layer, ROPE_QUERIES, &norm, a...); });
        const rope::HeadNorm* const expected = rope::norm_of(m.steps[size(layer)].q);
        CHECK((norm.kind != ROPE_NO_NORM) == (expected != nullptr));
        if (expected == nullptr) continue;
        CHECK(norm.kind == static_cast<std::int32_t>(expected->kind));
        CHECK(norm.weight == static_cast<std::int32_t>(expected->weight));
        CHECK(norm.eps == expected->eps);
    }
}

/// The keys of a GGUF file.
struct File {
    std::vector<std::pair<std::string, rope::GgufValue>> values;
    std::string text;  // of the value that was found last

    const rope::GgufValue* find(std::string_view key) const {
        for (const auto& [name, value] : values)
            if (name == key) return &value;
        return nullptr;
    }
};
std::int32_t look_up(void* context, const char* key, rope_gguf_value* to) {
    const rope::GgufValue* const v = static_cast<File*>(context)->find(key);
    if (v == nullptr) return 0;
    to->kind = static_cast<std::int32_t>(v->index()) + ROPE_GGUF_BOOL;
    if (const auto* b = std::get_if<bool>(v)) to->integer = *b ? 1 : 0;
    if (const auto* i = std::get_if<std::int64_t>(v)) to->integer = *i;
    if (const auto* u = std::get_if<std::uint64_t>(v)) to->integer = static_cast<std::int64_t>(*u);
    if (const auto* d = std::get_if<double>(v)) to->real = *d;
    if (const auto* s = std::get_if<std::string>(v)) to->text = s->data(), to->count = static_cast<Index>(s->size());
    if (const auto* l = std::get_if<std::vector<std::int64_t>>(v))
        to->integers = l->data(), to->count = static_cast<Index>(l->size());
    if (const auto* l = std::get_if<std::vector<double>>(v))
        to->reals = l->data(), to->count = static_cast<Index>(l->size());
    return 1;
}

}  // namespace

TEST_CASE("descriptions of models") {
    for (const std::string& text : {kQwen3, kQwen2Vl, kLlama4, kDeepseek}) {
        INFO(text);
        compare(read(text).get(), rope::read_hf_config(text));
    }
    // A layout that is given beats the one of the model's type.
    const auto other = made<rope_model>(
        [&](auto... a) { return rope_model_from_json(kQwen3.data(), kQwen3.size(), ROPE_INTERLEAVED, a...); });
    compare(other.get(), rope::read_hf_config(kQwen3, rope::Layout::interleaved));
}

TEST_CASE("GGUF, by a lookup of the caller's") {
    using Ints = std::vector<std::int64_t>;
    File file = {{{"general.architecture", std::string("llama")},
                  {"llama.block_count", std::uint64_t(2)},
                  {"llama.context_length", std::uint64_t(4096)},
                  {"llama.embedding_length", std::int64_t(512)},
                  {"llama.attention.head_count", Ints{8, 8}},
                  {"llama.rope.freq_base", 5e5},
                  {"llama.rope.scaling.finetuned", true}},
                 {}};
    std::vector<float> factors(32, 2.0f);
    auto tensors = make<rope_gguf_tensors>();
    tensors.rope_freqs = factors.data();
    tensors.rope_freqs_count = 32;
    const auto model =
        made<rope_model>([&](auto... a) { return rope_model_from_gguf(&look_up, &file, &tensors, 0, a...); });
    const auto find = [&](std::string_view key) -> std::optional<rope::GgufValue> {
        const rope::GgufValue* const v = file.find(key);
        if (v == nullptr) return std::nullopt;
        return *v;
    };
    compare(model.get(), rope::read_gguf_config(find, {factors, {}, {}}));

    // A value of a kind that there is not, and a count without numbers.
    const auto refused = [&](rope_gguf_lookup lookup) {
        rope_model* none = nullptr;
        return c_test::ask([&](auto... a) { return rope_model_from_gguf(lookup, nullptr, nullptr, 0, &none, a...); });
    };
    CHECK(refused([](void*, const char*, rope_gguf_value* v) {
              v->kind = 9;
              return std::int32_t(1);
          }).sentence ==
          "value of key general.architecture has kind 9; it must be from ROPE_GGUF_BOOL (1) to ROPE_GGUF_REALS (7).");
    CHECK(refused([](void*, const char*, rope_gguf_value* v) {
              v->kind = ROPE_GGUF_STRING;
              v->count = 4;
              return std::int32_t(1);
          }).sentence ==
          "value of key general.architecture has a count of 4 at NULL; it must be that of its numbers or characters, "
          "at most 2^20.");
}

namespace {

constexpr Index kTokens = 3, kDim = 64;

template <class T>
void compare_embedding() {
    const auto model = read(kQwen3);
    auto options = make<rope_embedding_options>();
    options.type = c_test::type_of<T>;
    options.positions = 8;
    const auto embedding =
        made<rope_embedding>([&](auto... a) { return rope_embedding_new(model.get(), &options, a...); });
    rope::TableOptions in_cpp;
    in_cpp.positions = 8;
    rope::RotaryEmbedding<T> expected(rope::read_hf_config(kQwen3), in_cpp);
    const rope_tensor of_q = c_test::shape<T>(1, kTokens, 4, kDim), of_k = c_test::shape<T>(1, kTokens, 2, kDim);
    std::vector<T> q = support::normal<T>(kTokens * 4 * kDim, 1), k = support::normal<T>(kTokens * 2 * kDim, 2),
                   q_cpp = q, k_cpp = k;
    auto call = make<rope_call>();
    call.start = 40;
    const auto apply = [&](auto... a) {
        return rope_embedding_apply(embedding.get(), 1, &call, nullptr, q.data(), &of_q, k.data(), &of_k, a...);
    };
    CHECK(c_test::ask(apply).code == ROPE_OUT_OF_RANGE);
    pass([&](auto... a) { return rope_embedding_reserve(embedding.get(), 43, a...); });
    expected.reserve(43);
    pass(apply);
    expected.apply(1, rope::view(q_cpp.data(), kTokens, 4, kDim), rope::view(k_cpp.data(), kTokens, 2, kDim),
                   rope::start_at(40));
    CHECK(same_bits(q, q_cpp));
    CHECK(same_bits(k, k_cpp));
    const auto rows =
        made<rope_rows>([&](auto... a) { return rope_embedding_rows(embedding.get(), 0, ROPE_KEYS, a...); });
    const auto table = expected.table(0);
    CHECK(same_bits(c_test::rows_of<T>(rows.get(), 0, 43, kDim),
                    std::vector<T>(table->k.data(), table->k.data() + 43 * kDim)));
}

}  // namespace

TEST_CASE("the tables of a model") {
    compare_embedding<float>();
    compare_embedding<double>();

    // A layer without rotary embedding has no rows, and is not rotated.
    const auto model = read(kLlama4);
    auto options = make<rope_embedding_options>();
    options.max_positions = 64;
    const auto embedding =
        made<rope_embedding>([&](auto... a) { return rope_embedding_new(model.get(), &options, a...); });
    rope_rows* none = nullptr;
    pass([&](auto... a) { return rope_embedding_rows(embedding.get(), 3, ROPE_QUERIES, &none, a...); });
    CHECK(none == nullptr);
    std::vector<float> q(4 * kDim, 1.0f), before = q;
    const rope_tensor t = c_test::shape<float>(1, 1, 4, kDim);
    auto call = make<rope_call>();
    call.start = 5;
    std::vector<float> k = q;
    pass([&](auto... a) {
        return rope_embedding_apply(embedding.get(), 3, &call, nullptr, q.data(), &t, k.data(), &t, a...);
    });
    CHECK(same_bits(q, before));
}

TEST_CASE("rows of a step, which may outlive it, and moves") {
    const auto model = read(kQwen2Vl);
    rope_rows* rows = nullptr;
    const std::vector<std::int32_t> ids = {5, 6, 7, 5, 5, 9, 5, 8, 9};
    {
        const auto embedding =
            made<rope_embedding>([&](auto... a) { return rope_embedding_new(model.get(), nullptr, a...); });
        const auto step = made<rope_step>([&](auto... a) { return rope_step_new(embedding.get(), a...); });
        auto call = make<rope_call>();
        call.positions = ROPE_AXES;
        call.ids_type = ROPE_INT32;
        call.axes = 3;
        call.ids_count = kTokens;
        pass([&](auto... a) { return rope_step_build(step.get(), &call, ids.data(), kTokens, 1, a...); });
        pass([&](auto... a) { return rope_step_rows(step.get(), 1, ROPE_QUERIES, &rows, a...); });
    }
    const Handle<rope_rows> kept(rows);
    const rope::ModelConfig m = rope::read_hf_config(kQwen2Vl);
    rope::Rows<float> expected(*m.layer(1), m.axis_map);
    expected.build(rope::AxisPositions(ids, 3), kTokens);
    const std::vector<float> x = support::normal<float>(kTokens * kDim, 3);
    std::vector<float> y = x, y_cpp = x;
    const rope_tensor t = c_test::shape<float>(1, kTokens, 1, kDim);
    pass([&](auto... a) { return rope_apply(rows, nullptr, nullptr, y.data(), &t, a...); });
    rope::apply<rope::Layout::half_split>(rope::view(y_cpp.data(), kTokens, 1, kDim), expected);
    CHECK(same_bits(y, y_cpp));

    const auto moves = made<rope_rows>([&](auto... a) { return rope_model_moves_new(model.get(), 0, nullptr, a...); });
    pass([&](auto... a) { return rope_moves_build(moves.get(), 12, a...); });
    rope::Moves<float> moves_cpp(*m.layer(0), m.axis_map);
    moves_cpp.build(12);
    pass([&](auto... a) { return rope_apply(moves.get(), nullptr, nullptr, y.data(), &t, a...); });
    rope::apply<rope::Layout::half_split>(rope::view(y_cpp.data(), kTokens, 1, kDim), moves_cpp);
    CHECK(same_bits(y, y_cpp));
}

TEST_CASE("the steps of a layer as paths, and temperatures") {
    for (const std::string& text : {kQwen3, kLlama4}) {
        INFO(text);
        const auto model = read(text);
        const rope::ModelConfig m = rope::read_hf_config(text);
        auto options = make<rope_embedding_options>();
        options.max_positions = 20000;
        options.positions = 20000;
        const auto embedding =
            made<rope_embedding>([&](auto... a) { return rope_embedding_new(model.get(), &options, a...); });
        const rope::RotaryEmbedding<float> rotary(m, {20000, 20000});
        for (const Index layer : {Index(0), m.layers() - 1})
            for (const std::int32_t as_published : {0, 1}) {
                std::vector<rope::bfloat16> q = support::normal<rope::bfloat16>(kTokens * 4 * kDim, 4),
                                            k = support::normal<rope::bfloat16>(kTokens * 2 * kDim, 5), q_cpp = q,
                                            k_cpp = k, weight = support::normal<rope::bfloat16>(kDim, 6);
                std::vector<float> temperatures(kTokens), temperatures_cpp = temperatures;
                const rope_tensor of_tokens = c_test::shape<float>(1, kTokens, 1, 1);
                auto call = make<rope_call>();
                call.start = 16382;
                pass([&](auto... a) {
                    return rope_fill_temperatures(model.get(), &call, nullptr, temperatures.data(), &of_tokens, a...);
                });
                const auto in_cpp = rope::view(temperatures_cpp.data(), 1, kTokens, 1, 1);
                rope::fill_temperatures(m, rope::start_at(16382), in_cpp);
                REQUIRE(same_bits(temperatures, temperatures_cpp));

                const bool has_norm = rope::norm_of(m.steps[size(layer)].q) != nullptr;
                const bool has_weight =
                    has_norm && rope::norm_of(m.steps[size(layer)].q)->weight != rope::NormWeight::none;
                const rope_tensor of_q = c_test::shape<rope::bfloat16>(1, kTokens, 4, kDim),
                                  of_k = c_test::shape<rope::bfloat16>(1, kTokens, 2, kDim);
                rope_buffer buffers[] = {make<rope_buffer>(), make<rope_buffer>(), make<rope_buffer>(),
                                         make<rope_buffer>()};
                buffers[0].data = q.data(), buffers[0].shape = &of_q;
                buffers[1].data = k.data(), buffers[1].shape = &of_k;
                buffers[2].data = weight.data(), buffers[2].type = ROPE_BFLOAT16;
                buffers[3].data = temperatures.data(), buffers[3].shape = &of_tokens;
                rope_heads heads[] = {make<rope_heads>(), make<rope_heads>()};
                rope_recipe recipes[] = {make<rope_recipe>(), make<rope_recipe>()};
                rope_path paths[] = {make<rope_path>(), make<rope_path>()};
                for (int i = 0; i < 2; ++i) {
                    heads[i].codes = &buffers[i];
                    recipes[i].heads = i == 0 ? ROPE_QUERIES : ROPE_KEYS;
                    recipes[i].model = model.get();
                    recipes[i].layer = layer;
                    if (has_weight) recipes[i].weight = &buffers[2];
                    recipes[i].temperatures = &buffers[3];
                    recipes[i].as_published = as_published;
                    paths[i].source = &heads[i];
                    paths[i].recipe = &recipes[i];
                }
                // A layer without rotary embedding takes the rows of another.
                const auto rows = made<rope_rows>(
                    [&](auto... a) { return rope_embedding_rows(embedding.get(), 0, ROPE_QUERIES, a...); });
                pass([&](auto... a) { return rope_pass(rows.get(), &call, nullptr, paths, 2, a...); });

                rope::HeadWeights w;
                if (has_weight) w.q_norm = weight, w.k_norm = weight;
                w.temperatures = in_cpp;
                rope::RecipeOptions o;
                if (as_published != 0) o.rounding = rope::RecipeRounding::as_published;
                const auto table = rotary.table(0);
                rope::pass(table->layout(), table->q, rope::start_at(16382),
                           rope::query_path(m, layer, rope::heads(rope::view(q_cpp.data(), kTokens, 4, kDim)), w, o),
                           rope::key_path(m, layer, rope::heads(rope::view(k_cpp.data(), kTokens, 2, kDim)), w, o));
                CHECK(same_bits(q, q_cpp));
                CHECK(same_bits(k, k_cpp));
            }
    }
}

TEST_CASE("an indexer") {
    const auto model = read(kDeepseek);
    const rope::ModelConfig m = rope::read_hf_config(kDeepseek);
    auto o = make<rope_table_options>();
    o.max_positions = 32;
    const auto rows = made<rope_rows>([&](auto... a) { return rope_model_indexer_table_new(model.get(), &o, a...); });
    const rope::CosSinCache<float> table(m.indexer->config, 32);
    CHECK(same_bits(c_test::rows_of<float>(rows.get(), 0, 32, table.rotary_dim()),
                    std::vector<float>(table.data(), table.data() + 32 * table.rotary_dim())));

    std::vector<float> weight = support::normal<float>(128, 7), bias = support::normal<float>(128, 8),
                       k = support::normal<float>(kTokens * 128, 9), k_cpp = k;
    const rope_tensor t = c_test::shape<float>(1, kTokens, 1, 128);
    auto buffer = make<rope_buffer>(), w = buffer, b = buffer;
    buffer.data = k.data();
    buffer.shape = &t;
    w.data = weight.data();
    b.data = bias.data();
    auto heads = make<rope_heads>();
    heads.codes = &buffer;
    auto recipe = make<rope_recipe>();
    recipe.heads = ROPE_INDEXER_KEYS;
    recipe.model = model.get();
    recipe.weight = &w;
    recipe.bias = &b;
    auto path = make<rope_path>();
    path.source = &heads;
    path.recipe = &recipe;
    pass([&](auto... a) { return rope_pass(rows.get(), nullptr, nullptr, &path, 1, a...); });
    rope::HeadWeights in_cpp;
    in_cpp.k_norm = weight;
    in_cpp.k_norm_bias = bias;
    rope::pass(*m.indexer->config.layout, table,
               rope::indexer_key_path(m, 0, rope::heads(rope::view(k_cpp.data(), kTokens, 1, 128)), in_cpp));
    CHECK(same_bits(k, k_cpp));
}
