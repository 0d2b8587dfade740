// SPDX-License-Identifier: MIT
#include "paths.hpp"

namespace rotary {
namespace {

using namespace nb::literals;

Path& add_step(Path& path, int32_t kind, double number, nb::object numbers, nb::object bias = nb::none()) {
    Step s;
    s.members.kind = kind;
    s.members.number = number;
    s.numbers = std::move(numbers);
    s.bias = std::move(bias);
    path.steps.push_back(std::move(s));
    return path;
}

struct NormArguments {
    bool over_token, adds_one;
    const char* rounding;
    nb::object squares;
    int64_t all_heads;
};

Path& add_norm(Path& path, int32_t kind, nb::object weight, nb::object bias, double eps, NormArguments options) {
    static const char* roundings[] = {"nowhere", "normalised", "root"};
    add_step(path, kind, eps, std::move(weight), std::move(bias));
    Step& s = path.steps.back();
    s.members.over_token = options.over_token ? 1 : 0;
    s.members.adds_one = options.adds_one ? 1 : 0;
    s.members.rounding = place_of(roundings, "rounding", options.rounding);
    s.members.all_heads = options.all_heads;
    s.squares = std::move(options.squares);
    return path;
}

void bind_norm(nb::class_<Path>& path, const char* name, int32_t kind, const char* doc) {
    path.def(
        name,
        [kind](Path& p, nb::object weight, double eps, bool over_token, bool adds_one, const char* rounding,
               nb::object squares, int64_t all_heads) -> Path& {
            return add_norm(p, kind, std::move(weight), nb::none(), eps,
                            {over_token, adds_one, rounding, std::move(squares), all_heads});
        },
        "weight"_a = nb::none(), "eps"_a = 1e-6, nb::kw_only(), "over_token"_a = false, "adds_one"_a = false,
        "rounding"_a = "nowhere", "squares"_a = nb::none(), "all_heads"_a = 0, nb::rv_policy::reference, doc);
}

void bind_steps(nb::class_<Path>& path) {
    const auto itself = nb::rv_policy::reference;
    path.def(
        "add", [](Path& p, nb::object numbers) -> Path& { return add_step(p, ROPE_ADD, 0, std::move(numbers)); },
        "numbers"_a, itself, "Adds numbers, [head_dim] or [heads, head_dim]: a bias.");
    path.def(
        "clamp", [](Path& p, double limit) -> Path& { return add_step(p, ROPE_CLAMP, limit, nb::none()); }, "limit"_a,
        itself, "Limits features to -limit .. limit.");
    path.def(
        "multiply",
        [](Path& p, nb::object by) -> Path& {
            double number = 0;
            if (nb::try_cast<double>(by, number, false) || PyLong_Check(by.ptr())) {
                return add_step(p, ROPE_MULTIPLY, PyLong_Check(by.ptr()) ? nb::cast<double>(by) : number, nb::none());
            }
            return add_step(p, ROPE_MULTIPLY, 0, std::move(by));
        },
        "by"_a, itself,
        "Multiplies by a number, or by numbers [head_dim], [heads, head_dim] or one for each token, [seq, 1, 1].");
    bind_norm(
        path, "rms_norm", ROPE_RMS_NORM,
        R"(Divides each head by the root of its mean square, and multiplies it by weight, [head_dim] or [heads, head_dim].

eps: added to the mean square. over_token: the mean is over all heads of a token. adds_one: weights are stored around 0 (Gemma).
rounding: where a model's code rounds to the dtype before the end. 'nowhere'; 'normalised': the normalised head, before the weight
(Llama); 'root': the reciprocal root and, without a weight, the normalised head (DeepSeek-V4's queries). squares, all_heads: for
tensor-parallel models, where other processes have some of the heads: the sums of squares of all heads (see sum_squares), and how
many heads all processes have.)");
    bind_norm(path, "l2_norm", ROPE_L2_NORM, "Divides each head by the root of its sum of squares. See rms_norm.");
    path.def(
        "layer_norm",
        [](Path& p, nb::object weight, nb::object bias, double eps, bool over_token, const char* rounding) -> Path& {
            return add_norm(p, ROPE_LAYER_NORM, std::move(weight), std::move(bias), eps,
                            {over_token, false, rounding, nb::none(), 0});
        },
        "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5, nb::kw_only(), "over_token"_a = false,
        "rounding"_a = "nowhere", itself, "Gives each head the mean 0 and the variance 1, then weight and bias.");
    const struct {
        const char* name;
        int32_t kind;
        const char* doc;
    } rotations[] = {
        {"rotate", ROPE_ROTATE,
         R"(Rotates. rows, positions: of this step; None: those of the pass. layout: the order in which pairs are left.

rounding: where a model's code rounds to the dtype before the end. 'nowhere'; 'rows': cos and sin; 'all': cos, sin, both products
and their sum.)"},
        {"rotate_inverse", ROPE_ROTATE_BACK, "Rotates back. See rotate."}};
    for (const auto& r : rotations) {
        path.def(
            r.name,
            [kind = r.kind](Path& p, const CosSinRows* rows, nb::object positions, Layout layout,
                            const char* rounding) -> Path& {
                static const char* roundings[] = {"nowhere", "rows", "all"};
                add_step(p, kind, 0, nb::none());
                Step& s = p.steps.back();
                s.members.layout = layout_of(layout);
                s.members.rounding = place_of(roundings, "rounding", rounding);
                if (rows != nullptr) s.rows = *rows;
                s.positions = std::move(positions);
                return p;
            },
            "rows"_a.none() = nb::none(), "positions"_a = nb::none(), nb::kw_only(), "layout"_a = nb::none(),
            "rounding"_a = "nowhere", itself, r.doc);
    }
    path.def(
        "hadamard",
        [](Path& p, int64_t block) -> Path& {
            add_step(p, ROPE_HADAMARD, 0, nb::none()).steps.back().members.block = block;
            return p;
        },
        "block"_a = 0, itself, "The orthonormal Walsh-Hadamard transform of blocks, a power of two; 0: of the head.");
    path.def(
        "round", [](Path& p) -> Path& { return add_step(p, ROPE_ROUND, 0, nb::none()); }, itself,
        "Rounds to the dtype of the source, as a model does that stores the numbers here.");
}

Path path_of(nb::object x, bool heads_first) {
    Path p;
    p.source = std::move(x);
    p.destination = p.weight = p.bias = p.temperatures = p.squares = nb::none();
    p.heads_first = heads_first;
    return p;
}

void bind_places(nb::module_& m) {
    nb::class_<Paged>(
        m, "Paged",
        R"(Pages of a cache: array [pages, page_size, heads, head_dim], or with heads_first [pages, heads, page_size, head_dim].

slots: for each token page * page_size + place, whole numbers [seq] or [batch, seq]; -1 skips the token.)")
        .def(
            "__init__",
            [](Paged* self, nb::object array, nb::object slots, bool heads_first) {
                new (self) Paged{std::move(array), std::move(slots), heads_first};
            },
            "array"_a, "slots"_a, nb::kw_only(), "heads_first"_a = false);
    nb::class_<Quantised>(m, "Quantised",
                          R"(Codes of a cache format, with scales and zeros; each an array or Paged.

format: 'int8', 'uint8', 'int4', 'uint4', 'fp8_e4m3', 'fp8_e5m2', 'mxfp4', 'nvfp4', or blocks of ggml, whose scales are inside:
'q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'iq4_nl', 'ggml_mxfp4'. codes: bytes of heads, [batch, seq, heads, bytes]. scales, zeros:
1 number for each head, or one for each group of its features. are_given: scales and zeros come from the model, and are only
read; else a pass that writes codes writes them, too. zeros_are_points: zeros are zero points, the code of 0.0; else they are the
least numbers. scale: one for the whole tensor (fp8 without scales, nvfp4); scale_divides: numbers are divided by it, not
multiplied. include/rope/guide/formats.md has bytes, groups and errors.)")
        .def(
            "__init__",
            [](Quantised* self, const char* format, nb::object codes, nb::object scales, nb::object zeros,
               bool heads_first, bool are_given, bool zeros_are_points, std::optional<double> scale,
               bool scale_divides) {
                static const char* formats[] = {"int8",     "uint8", "int4",  "uint4",  "fp8_e4m3",
                                                "fp8_e5m2", "mxfp4", "nvfp4", "q8_0",   "q4_0",
                                                "q4_1",     "q5_0",  "q5_1",  "iq4_nl", "ggml_mxfp4"};
                static_assert(std::size(formats) == ROPE_FORMAT_GGML_MXFP4);
                Quantised q;
                q.format = ROPE_FORMAT_INT8 + place_of(formats, "format", format);
                q.codes = std::move(codes);
                q.scales = std::move(scales);
                q.zeros = std::move(zeros);
                q.heads_first = heads_first;
                q.are_given = are_given;
                q.zeros_are_points = zeros_are_points;
                q.scale_divides = scale_divides;
                if (scale == 0.0) raise_value("scale is 0; other numbers are allowed.");
                q.scale = scale.value_or(0);
                new (self) Quantised(std::move(q));
            },
            "format"_a, "codes"_a, "scales"_a = nb::none(), "zeros"_a = nb::none(), nb::kw_only(),
            "heads_first"_a = false, "are_given"_a = false, "zeros_are_points"_a = false, "scale"_a = nb::none(),
            "scale_divides"_a = false);
}

}  // namespace

void bind_passes(nb::module_& m) {
    bind_places(m);
    nb::class_<Path> path(m, "Path",
                          "Heads, the steps that they take in order, at most 8, and where they go. Made by heads,\n"
                          "query_path, key_path and so on. Each method appends a step to this path, and returns it.");
    bind_steps(path);
    path.def(
        "to",
        [](Path& p, nb::object destination, std::optional<bool> heads_first, int64_t first_feature,
           int64_t features) -> Path& {
            p.destination = std::move(destination);
            p.destination_heads_first = heads_first;
            p.first_feature = first_feature;
            p.features = features;
            return p;
        },
        "destination"_a, nb::kw_only(), "heads_first"_a = nb::none(), "first_feature"_a = 0, "features"_a = 0,
        nb::rv_policy::reference,
        "Where heads go: an array, Paged or Quantised; without it they stay in place. Only `features` of each head go "
        "there,\n"
        "from first_feature on; 0: all.");
    m.def("heads", &path_of, "x"_a, nb::kw_only(), "heads_first"_a = false,
          "A path that begins at x: an array [batch, seq, heads, head_dim] or [seq, heads, head_dim], Paged, or "
          "Quantised, which is\n"
          "then read.");
    const char* recipes[] = {"query_path",  "key_path",           "value_path",
                             "output_path", "indexer_query_path", "indexer_key_path"};
    static_assert(std::size(recipes) == ROPE_INDEXER_KEYS + 1);
    for (int32_t kind = ROPE_QUERIES; kind <= ROPE_INDEXER_KEYS; ++kind) {
        m.def(
            recipes[kind],
            [kind](const ModelConfig& model, int64_t layer, nb::object x, nb::object weight, nb::object bias,
                   nb::object temperatures, nb::object squares, bool heads_first, bool as_published,
                   bool in_published_order, bool axes_are_alike) {
                Path p = path_of(std::move(x), heads_first);
                p.model = model;
                p.weight = std::move(weight);
                p.bias = std::move(bias);
                p.temperatures = std::move(temperatures);
                p.squares = std::move(squares);
                p.recipe.heads = kind;
                p.recipe.layer = layer;
                p.recipe.as_published = as_published ? 1 : 0;
                p.recipe.in_published_order = in_published_order ? 1 : 0;
                p.recipe.axes_are_alike = axes_are_alike ? 1 : 0;
                return p;
            },
            "model"_a, "layer"_a, "x"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), nb::kw_only(),
            "temperatures"_a = nb::none(), "squares"_a = nb::none(), "heads_first"_a = false, "as_published"_a = false,
            "in_published_order"_a = false, "axes_are_alike"_a = false,
            "A path with the steps of a model's layer.\n\n"
            "weight, bias: of its norm, if ModelConfig.norm says that there is one. temperatures: numbers that\n"
            "fill_temperatures wrote, for queries of models that have them. squares: see rms_norm. as_published: "
            "rounds\n"
            "wherever the published code does. in_published_order: leaves features in the order in which it does.\n"
            "axes_are_alike: tokens have the same position on all axes, as text has.");
    }
    m.def(
        "pass_",
        [](const CosSinRows* rows, nb::args paths, nb::handle positions, Layout layout) {
            Description description;
            for (nb::handle p : paths) {
                const Path* given = instance<Path>(p);
                if (given == nullptr)
                    raise_type("a path is no Path; heads(x) and what its methods return are allowed.");
                description.add(*given);
            }
            const Call call(positions, layout);
            checked([&](char* message, size_t room) {
                return rope_pass(rows != nullptr ? rows->get() : nullptr, call.get(), call.ids(),
                                 description.paths().data(), static_cast<int64_t>(description.paths().size()), message,
                                 room);
            });
        },
        "rows"_a.none(), "paths"_a, nb::kw_only(), "positions"_a = 0, "layout"_a = nb::none(),
        "Carries out all steps of 1 to 8 paths: reads every source once and writes every destination once.\n\n"
        "rows: of steps that have none of their own; None: no such step. positions, layout: as for apply. Nothing is "
        "written by a "
        "refused call.");
    m.def(
        "sum_squares",
        [](const Path& p, nb::handle sums) {
            Description description;
            description.add(p);
            const Array out = array(sums, "sums", Use::write);
            if (out.type != ROPE_FLOAT64) raise_value("sums has another dtype than float64, which alone is allowed.");
            const rope_tensor shape = tensor(out, "sums", false);
            const Call call(nb::int_(0));
            checked([&](char* message, size_t room) {
                return rope_sum_squares(description.paths().data(), call.get(), static_cast<double*>(out.data), &shape,
                                        message, room);
            });
        },
        "path"_a, "sums"_a,
        "Writes each token's sum of squares over the heads of a path to sums, float64 [batch, seq, 1, 1].");
    m.def(
        "reposition",
        [](nb::handle keys, const Moves& moves, std::optional<int64_t> hadamard_block, bool heads_first) {
            Description description;
            const rope_heads* where = description.heads(keys, "keys", heads_first, Use::write);
            const int64_t block = !hadamard_block ? 0 : *hadamard_block == 0 ? -1 : *hadamard_block;
            const Call call(nb::int_(0));
            checked([&](char* message, size_t room) {
                return rope_reposition(moves.get(), call.get(), where, block, message, room);
            });
        },
        "keys"_a, "moves"_a, nb::kw_only(), "hadamard_block"_a = nb::none(), "heads_first"_a = false,
        "Moves keys in a cache of any format, in place: an array, Paged or Quantised. Token s moves by row s of the "
        "moves, or all by\n"
        "one delta. hadamard_block: the block, if keys were stored behind hadamard(); 0: the head; None: no "
        "transform.");
}

}  // namespace rotary
