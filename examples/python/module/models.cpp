// SPDX-License-Identifier: MIT
#include "rows.hpp"

#include <nanobind/stl/vector.h>

namespace rotary {
namespace {

using namespace nb::literals;

class RotaryEmbedding {
 public:
    Owned<rope_embedding, rope_embedding_free> handle;
    int64_t axes = 1;
};
class RotaryStep {
 public:
    Owned<rope_step, rope_step_free> handle;
    int64_t axes = 1;
};

int32_t side_of(const char* heads) {
    static const char* names[] = {"queries", "keys", "values", "output", "indexer_queries", "indexer_keys"};
    return ROPE_QUERIES + place_of(names, "heads", heads);
}

rope_model_info info_of(const ModelConfig& m) {
    rope_model_info i = {};
    i.size = sizeof(i);
    checked([&](char* message, size_t room) { return rope_model_describe(m.get(), &i, message, room); });
    return i;
}

nb::object optional(bool is_known, nb::object value) { return is_known ? value : nb::none(); }

// The description of a layer as a dict, whose keys are the members of rope_layer_info.
nb::dict layer_of(const ModelConfig& m, int64_t layer) {
    static const char* attentions[] = {"full", "sliding", "chunked", "sparse", "compressed", "linear", "cross", "none"};
    static_assert(std::size(attentions) == ROPE_NO_ATTENTION + 1);
    rope_layer_info i = {};
    i.size = sizeof(i);
    checked([&](char* message, size_t room) { return rope_model_layer(m.get(), layer, &i, message, room); });
    nb::dict d;
    const bool rotates = i.embedding >= 0;
    d["attention"] = attentions[i.attention];
    d["embedding"] = optional(rotates, nb::int_(i.embedding));
    d["layout"] = layout_name(i.layout);
    d["head_dim"] = optional(rotates, nb::int_(i.head_dim));
    d["rotary_dim"] = optional(rotates, nb::int_(i.rotary_dim));
    d["rotary_offset"] = optional(rotates, nb::int_(i.rotary_offset));
    d["base"] = optional(rotates, nb::float_(i.base));
    d["interpolation_factor"] = optional(rotates, nb::float_(i.interpolation_factor));
    d["attention_factor"] = optional(rotates, nb::float_(i.attention_factor));
    d["schedule"] = rotates && i.schedule != nullptr ? nb::object(nb::str(i.schedule)) : nb::none();
    d["has_recipe"] = i.has_recipe != 0;
    if (i.has_recipe != 0) {
        d["q_heads"] = i.q_heads;
        d["k_heads"] = i.k_heads;
        d["v_heads"] = i.v_heads;
        d["makes_keys"] = i.makes_keys != 0;
        d["makes_values"] = i.makes_values != 0;
        d["values_from_key_projection"] = i.values_from_key_projection != 0;
        d["keys_are_values"] = i.keys_are_values != 0;
        d["keys_of_layer"] = i.keys_of_layer;
        d["softmax_scale"] = i.softmax_scale;
    }
    return d;
}

nb::object norm_of(const ModelConfig& m, int64_t layer, const char* heads) {
    static const char* kinds[] = {"", "rms_norm", "l2_norm", "layer_norm"};
    static const char* weights[] = {"none", "head_dim", "heads_x_head_dim", "all_heads"};
    static const char* roundings[] = {"nowhere", "normalised", "root"};
    static_assert(std::size(kinds) == ROPE_NORM_LAYER + 1 && std::size(weights) == ROPE_WEIGHT_ALL_HEADS + 1);
    rope_norm_info i = {};
    i.size = sizeof(i);
    const int32_t side = side_of(heads);
    checked([&](char* message, size_t room) { return rope_model_norm(m.get(), layer, side, &i, message, room); });
    if (i.kind == ROPE_NO_NORM) return nb::none();
    nb::dict d;
    d["kind"] = kinds[i.kind];
    d["weight"] = weights[i.weight];
    d["adds_one"] = i.adds_one != 0;
    d["has_bias"] = i.has_bias != 0;
    d["rounding"] = roundings[i.rounding];
    d["eps"] = i.eps;
    return d;
}

// Values of a dict, for the reader of GGUF metadata. They live until the next key is asked for.
struct Lookup {
    nb::dict metadata;
    nb::object held;
    std::string text;
    std::vector<int64_t> integers;
    std::vector<double> reals;

    static int32_t find(void* context, const char* key, rope_gguf_value* value) {
        Lookup& l = *static_cast<Lookup*>(context);
        if (!l.metadata.contains(key)) return 0;
        l.held = l.metadata[key];
        return l.fill(*value) ? 1 : 0;
    }

    bool fill(rope_gguf_value& v) {
        if (PyBool_Check(held.ptr())) {
            v.kind = ROPE_GGUF_BOOL;
            v.integer = held.ptr() == Py_True ? 1 : 0;
        } else if (PyLong_Check(held.ptr())) {
            v.kind = ROPE_GGUF_INTEGER;
            if (!nb::try_cast<int64_t>(held, v.integer)) return false;
        } else if (PyFloat_Check(held.ptr())) {
            v.kind = ROPE_GGUF_REAL;
            v.real = nb::cast<double>(held);
        } else if (nb::try_cast<std::string>(held, text)) {
            v.kind = ROPE_GGUF_STRING;
            v.text = text.data();
            v.count = static_cast<int64_t>(text.size());
        } else if (nb::try_cast<std::vector<int64_t>>(held, integers)) {
            v.kind = ROPE_GGUF_INTEGERS;
            v.integers = integers.data();
            v.count = static_cast<int64_t>(integers.size());
        } else if (nb::try_cast<std::vector<double>>(held, reals)) {
            v.kind = ROPE_GGUF_REALS;
            v.reals = reals.data();
            v.count = static_cast<int64_t>(reals.size());
        } else {
            return false;
        }
        return true;
    }
};

ModelConfig read_gguf(nb::dict metadata, Layout layout, nb::handle rope_freqs, nb::handle long_factors,
                      nb::handle short_factors) {
    Lookup lookup{std::move(metadata), {}, {}, {}, {}};
    rope_gguf_tensors tensors = {};
    tensors.size = sizeof(tensors);
    std::vector<float> memory[3];
    const auto take = [&](int i, nb::handle from, const char* name, const float*& data, int32_t& count) {
        if (from.is_none()) return;
        if (!nb::try_cast<std::vector<float>>(from, memory[i])) {
            raise_value(std::string(name) + " is no list of numbers; one number for each pair is allowed.");
        }
        data = memory[i].data();
        count = static_cast<int32_t>(memory[i].size());
    };
    take(0, rope_freqs, "rope_freqs", tensors.rope_freqs, tensors.rope_freqs_count);
    take(1, long_factors, "long_factors", tensors.rope_factors_long, tensors.rope_factors_long_count);
    take(2, short_factors, "short_factors", tensors.rope_factors_short, tensors.rope_factors_short_count);
    char message[ROPE_MESSAGE_ROOM];
    rope_model* model = nullptr;
    // The lookup calls Python, so other threads wait here.
    const int32_t code =
        rope_model_from_gguf(&Lookup::find, &lookup, &tensors, layout_of(layout), &model, message, sizeof message);
    if (code != ROPE_OK) raise(code, message);
    return ModelConfig{Owned<rope_model, rope_model_free>(model)};
}

void bind_model(nb::module_& m) {
    nb::class_<ModelConfig>(m, "ModelConfig",
                            "What a model's file says, layer by layer. Made by read_hf_config and read_gguf_config.")
        .def_prop_ro("model_type", [](const ModelConfig& c) { return std::string(info_of(c).model_type); })
        .def_prop_ro("layers", [](const ModelConfig& c) { return info_of(c).layers; })
        .def_prop_ro("axes", [](const ModelConfig& c) { return info_of(c).axes; })
        .def_prop_ro(
            "max_position_embeddings", [](const ModelConfig& c) { return info_of(c).max_position_embeddings; },
            "0: not known.")
        .def_prop_ro("softmax_scale_factor", [](const ModelConfig& c) { return info_of(c).softmax_scale_factor; })
        .def_prop_ro(
            "warnings",
            [](const ModelConfig& c) {
                std::vector<std::string> sentences;
                for (int64_t i = 0; const char* s = rope_model_warning(c.get(), i); ++i) sentences.emplace_back(s);
                return sentences;
            },
            "One sentence for each entry of the file that was guessed or not used.")
        .def("layer", &layer_of, "layer"_a,
             "What a layer is, counted from 0: attention, layout, head_dim, schedule, ... None where it does not "
             "rotate or is not\n"
             "known; heads and softmax_scale where has_recipe says that its steps are known. Raises IndexError.")
        .def("norm", &norm_of, "layer"_a, "heads"_a,
             "The norm of a layer's 'queries', 'keys', 'values', ...: its kind, the shape of its weight, eps; None if "
             "there is none.\n"
             "Raises ValueError where the steps of the layer are not known.")
        .def(
            "frequencies",
            [](const ModelConfig& c, int64_t layer, int64_t seq_len) {
                rope_layer_info i = {};
                i.size = sizeof(i);
                checked(
                    [&](char* message, size_t room) { return rope_model_layer(c.get(), layer, &i, message, room); });
                std::vector<double> inv_freq(static_cast<std::size_t>(i.rotary_dim / 2));
                double factor = 1;
                checked([&](char* message, size_t room) {
                    return rope_model_frequencies(c.get(), layer, seq_len, inv_freq.data(), nullptr, i.rotary_dim / 2,
                                                  &factor, message, room);
                });
                return nb::make_tuple(inv_freq, factor);
            },
            "layer"_a, "seq_len"_a = 0, "(inv_freq, attention_factor) of a layer, as Config.frequencies has them.");
    m.def(
        "model_from_json",
        [](const std::string& text, Layout layout) {
            rope_model* model = nullptr;
            const int32_t l = layout_of(layout);
            checked([&](char* message, size_t room) {
                return rope_model_from_json(text.data(), text.size(), l, &model, message, room);
            });
            return ModelConfig{Owned<rope_model, rope_model_free>(model)};
        },
        "text"_a, "layout"_a = nb::none(),
        "Reads the text of a config.json; read_hf_config takes files and objects, too.");
    m.def("read_gguf_config", &read_gguf, "metadata"_a, nb::kw_only(), "layout"_a = nb::none(),
          "rope_freqs"_a = nb::none(), "long_factors"_a = nb::none(), "short_factors"_a = nb::none(),
          "Reads the metadata of a GGUF file: a dict of its keys, such as 'llama.rope.freq_base'. rope_freqs, "
          "long_factors, short_factors:\n"
          "its tensors rope_freqs, rope_factors_long and rope_factors_short, lists of one number for each pair.");
    m.def(
        "fill_temperatures",
        [](const ModelConfig& c, nb::handle out, nb::handle positions) {
            const Array to = array(out, "out", Use::write);
            const rope_tensor shape = tensor(to, "out", false);
            const Call call(positions);
            checked([&](char* message, size_t room) {
                return rope_fill_temperatures(c.get(), call.get(), call.ids(), to.data, &shape, message, room);
            });
        },
        "model"_a, "out"_a, "positions"_a = 0,
        "Writes the factor on each token's queries to out, [batch, seq, 1, 1] or [seq, 1, 1]; 1 if there is none.");
}

// The rows of a layer, by rope_embedding_rows or rope_step_rows; None where it does not rotate.
template <auto get, class Holder>
nb::object rows_of(const Holder& from, int64_t layer, const char* heads) {
    const int32_t side = side_of(heads);
    CosSinRows made;
    made.handle = owned_rows([&](rope_rows** rows, char* message, size_t room) {
        return get(from.handle.get(), layer, side, rows, message, room);
    });
    return made.get() == nullptr ? nb::none() : nb::cast(std::move(made));
}

void bind_embedding(nb::module_& m) {
    nb::class_<RotaryEmbedding>(m, "RotaryEmbedding",
                                R"(The tables of a model, one for each distinct embedding of its layers.

max_positions: the most there will ever be; 0: the longest that the model's scaling is made for. positions: computed at once.
seq_len: for DynamicNtk and LongRope; 0: max_positions. max_bytes: of all tables; 0: 1 GiB. Raises ValueError, MemoryError.)")
        .def(
            "__init__",
            [](RotaryEmbedding* self, const ModelConfig& model, int64_t max_positions, int64_t positions,
               int64_t seq_len, const char* dtype, int64_t max_bytes) {
                rope_embedding_options o = {sizeof(o), table_type_of(dtype), max_positions, positions, seq_len,
                                            max_bytes};
                rope_embedding* embedding = nullptr;
                checked([&](char* message, size_t room) {
                    return rope_embedding_new(model.get(), &o, &embedding, message, room);
                });
                new (self) RotaryEmbedding{Owned<rope_embedding, rope_embedding_free>(embedding), info_of(model).axes};
            },
            "model"_a, nb::kw_only(), "max_positions"_a = 0, "positions"_a = 0, "seq_len"_a = 0, "dtype"_a = "float32",
            "max_bytes"_a = 0)
        .def(
            "reserve",
            [](RotaryEmbedding& e, int64_t positions) {
                checked([&](char* message, size_t room) {
                    return rope_embedding_reserve(e.handle.get(), positions, message, room);
                });
            },
            "positions"_a, "Makes the tables hold so many positions, up to max_positions: once per step.")
        .def("rows", &rows_of<&rope_embedding_rows, RotaryEmbedding>, "layer"_a, "heads"_a = "queries",
             "The table of a layer as it is now; None where the layer does not rotate.")
        .def(
            "apply",
            [](const RotaryEmbedding& e, int64_t layer, nb::handle q, nb::handle k, nb::handle positions,
               bool heads_first) {
                const Array a = array(q, "q", Use::write), b = array(k, "k", Use::write);
                const rope_tensor q_shape = tensor(a, "q", heads_first), k_shape = tensor(b, "k", heads_first);
                const Call call(positions);
                checked([&](char* message, size_t room) {
                    return rope_embedding_apply(e.handle.get(), layer, call.get(), call.ids(), a.data, &q_shape, b.data,
                                                &k_shape, message, room);
                });
            },
            "layer"_a, "q"_a, "k"_a, "positions"_a = 0, nb::kw_only(), "heads_first"_a = false,
            "Rotates q and k of a layer in place; nothing where it does not rotate. See apply.");
    nb::class_<RotaryStep>(m, "RotaryStep",
                           "Rows for the tokens of one step, on all axes of the model, for all its layers.")
        .def(
            "__init__",
            [](RotaryStep* self, const RotaryEmbedding& e) {
                rope_step* step = nullptr;
                checked(
                    [&](char* message, size_t room) { return rope_step_new(e.handle.get(), &step, message, room); });
                new (self) RotaryStep{Owned<rope_step, rope_step_free>(step), e.axes};
            },
            "embedding"_a)
        .def(
            "build",
            [](RotaryStep& s, nb::handle positions, std::optional<int64_t> seq, int64_t batch) {
                const Call call = Call::of_tokens(positions, s.axes, seq, batch);
                checked([&](char* message, size_t room) {
                    return rope_step_build(s.handle.get(), call.get(), call.ids(), call.seq(), call.batch(), message,
                                           room);
                });
            },
            "positions"_a, nb::kw_only(), "seq"_a = nb::none(), "batch"_a = 1,
            "Makes the rows of a step. See Rows.build.")
        .def("rows", &rows_of<&rope_step_rows, RotaryStep>, "layer"_a, "heads"_a = "queries",
             "The rows of a layer, which each build writes anew; None where it does not rotate.");
}

}  // namespace

void bind_models(nb::module_& m) {
    bind_model(m);
    bind_embedding(m);
}

}  // namespace rotary
