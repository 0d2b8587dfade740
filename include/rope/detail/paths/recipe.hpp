// SPDX-License-Identifier: MIT
// Definitions of recipe.hpp: the steps of a layer become steps of a path.
#pragma once

#include <type_traits>

#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../model_config.hpp"
#include "../../positions.hpp"
#include "../../recipe.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../positions/positions_in_table.hpp"
#include "../views/view_checks.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "heads_in_memory.hpp"
#    include "stages.hpp"

ROPE_DETAIL_BEGIN

/// A tensor of a recipe: its members of HeadSteps, HeadCounts and HeadWeights. The output of attention has no weights.
struct HeadTensor {
    const char* name;
    HeadStepList HeadSteps::*steps;
    Index HeadCounts::*count;
    StepNumbers HeadWeights::*norm, HeadWeights::*norm_bias;
    TensorView<const double> HeadWeights::*squares;
};

ROPE_COLD Status check_steps(const ModelConfig& model, Index layer) noexcept {
    const std::size_t layers = model.config_of_layer.size(), i = static_cast<std::size_t>(layer);
    if (layer < 0 || i >= layers)
        return out_of_range("layer is {}; this model has {} {layer|layers}, counted from 0.", {layer, layers});
    if (model.steps.empty())
        return invalid(
            "steps is empty, so the norms and factors of this model are not known; a recipe needs an entry "
            "per layer ({}). model_type is \"{}\".",
            {layers, model.model_type.c_str()});
    const bool is_whole = model.steps.size() == layers && model.heads.size() == layers &&
                          model.layer_types.size() == layers && model.config_of_layer[i] >= -1 &&
                          model.config_of_layer[i] < static_cast<Index>(model.configs.size());
    if (!is_whole) return check(model);
    if (model.layer_types[i] == LayerType::no_attention)
        return invalid("layer {} of this model has no attention, and so no heads to make a path of.", {layer});
    if (model.layer_types[i] == LayerType::cross_attention)
        return invalid("layer {} of this model attends to another input; its steps are not known.", {layer});
    if (model.steps[i].has_other_steps)
        return invalid(
            "layer {} of this model has steps that HeadSteps does not describe, such as learned factors; "
            "make its paths by hand.",
            {layer});
    return Status();
}

/// A path under way.
struct Recipe {
    const ModelConfig& model;
    const Index layer;
    const HeadTensor& tensor;
    const HeadWeights& weights;
    const RecipeOptions& options;
    Path& path;
    const HeadSteps& steps = model.steps[static_cast<std::size_t>(layer)];
    const Config* const config = model.layer(layer);  // null: the layer is not rotated
    const bool is_as_published = options.rounding == RecipeRounding::as_published;
    bool has_norm = false;

    Status add_steps() noexcept {
        const bool is_k = tensor.steps == &HeadSteps::k, is_v = tensor.steps == &HeadSteps::v;
        if ((is_k || is_v) && steps.keys_of_layer != layer)
            return steps.keys_of_layer < 0
                       ? invalid("layer {} of this model reads the keys and values of another model; it makes none.",
                                 {layer})
                       : invalid("layer {} of this model reads the keys and values of layer {}; it makes none.",
                                 {layer, steps.keys_of_layer});
        if (is_v && steps.keys_are_values)
            return invalid("layer {} of this model makes no values: its keys are the values, too.", {layer});
        const HeadStepList& list = steps.*tensor.steps;
        if (tensor.norm != nullptr && norm_of(list) == nullptr)
            if (const Status s = add_norm({}); !s.ok()) return s;  // numbers of a norm that there is not
        for (const HeadStep& step : list)
            if (const Status s = add(step); !s.ok()) return s;
        return Status();
    }
    Status add(const HeadStep& step) noexcept {
        const RotateRounding rounding = is_as_published ? step.rounding : RotateRounding::none;
        const bool is_rotation = step.kind == HeadStepKind::rotation || step.kind == HeadStepKind::rotation_back;
        if (step.kind == HeadStepKind::none || (is_rotation && config == nullptr)) return Status();
        Status s;
        switch (step.kind) {
            case HeadStepKind::none: break;
            case HeadStepKind::norm: s = add_norm(step.norm); break;
            case HeadStepKind::clamp: path.clamp(step.number); break;
            case HeadStepKind::factor: path.multiply(step.number); break;
            case HeadStepKind::temperature: s = add_temperature(); break;
            case HeadStepKind::rotation: s = add_rotation(rounding, false); break;
            case HeadStepKind::rotation_back: s = add_rotation(rounding, true);
        }
        if (is_as_published && !(is_rotation && rounding == RotateRounding::all)) path.round();  // its operation ends
        return s;
    }
    /// The numbers in `given` as [extents[0..3]], if the layer needs them. A pointer, and as many numbers in a row, take
    /// that shape; a batch of 1 serves any. Their name is `of` and `name`.
    Status shape_numbers(const char* of, const char* name, const StepNumbers& given, bool is_needed,
                         const Index (&extents)[4], StepNumbers& shaped) const noexcept {
        const NumbersKind kind = PathAccess::data(given).kind;
        if (!is_needed && kind == NumbersKind::none) return Status();
        if (!is_needed)
            return invalid("{}{} is given; layer {} of this model has no such numbers: leave it empty.",
                           {of, name, layer});
        if (kind == NumbersKind::none)
            return invalid("{}{} is missing; layer {} of this model needs it, with the shape [{}, {}, {}, {}].",
                           {of, name, layer, extents[0], extents[1], extents[2], extents[3]});
        HeadsInMemory m = PathAccess::data(given).numbers;
        bool fits = m.extents[0] == extents[0] || m.extents[0] == 1, is_row = m.strides[3] == 1;
        for (int axis = 1; axis < 4; ++axis) fits = fits && m.extents[axis] == extents[axis];
        Index count = 1;
        for (int axis = 3; axis >= 0; --axis) count = clamped_product(count, extents[axis]);
        for (int axis = 0; axis < 3; ++axis) is_row = is_row && m.extents[axis] == 1;
        if (kind == NumbersKind::per_feature || (!fits && is_row && m.extents[3] == count)) {
            for (Index axis = 3, stride = 1; axis >= 0; stride = clamped_product(stride, extents[axis]), --axis) {
                m.extents[axis] = extents[axis];
                m.strides[axis] = stride;
            }
        } else if (!fits) {
            return invalid(
                "{}{} has the shape [{}, {}, {}, {}]; in layer {} of this model it must have [{}, {}, {}, {}], or as "
                "many numbers in a row.",
                {of, name, m.extents[0], m.extents[1], m.extents[2], m.extents[3], layer, extents[0], extents[1],
                 extents[2], extents[3]});
        }
        shaped = PathAccess::make<StepNumbers>(GivenNumbers{m, NumbersKind::view});
        return Status();
    }
    Status add_norm(const HeadNorm& n) noexcept {
        if (has_norm || tensor.norm == nullptr)
            return invalid("{} of layer {} of this model has more norms than HeadWeights has members for.",
                           {tensor.name, layer});
        has_norm = true;
        const HeadsInMemory& x = PathAccess::data(path).source;
        const Index all = model.heads[static_cast<std::size_t>(layer)].*tensor.count;
        const bool is_norm = n.kind != NormKind::none, is_of_token = is_norm && n.weight == NormWeight::all_heads;
        const TensorView<const double> squares =
            tensor.squares != nullptr ? weights.*tensor.squares : TensorView<const double>();
        const bool has_squares = squares.data != nullptr || squares.batch != 0 || squares.seq != 0;
        if (has_squares && (!is_of_token || n.kind == NormKind::layer_norm))
            return invalid(
                "{}_squares is given; layer {} of this model has no rms_norm or l2_norm over a token: leave it "
                "empty.",
                {tensor.name, layer});
        if (is_of_token && x.extents[2] != all && n.kind == NormKind::layer_norm)
            return invalid(
                "heads of {} is {}; layer {} of this model takes the mean of all {} {head|heads} of a token: make "
                "the path by hand.",
                {tensor.name, x.extents[2], layer, all});
        if (is_of_token && x.extents[2] != all && !has_squares)
            return invalid(
                "heads of {} is {}; layer {} of this model norms all {} {head|heads} of a token together. For some of "
                "them "
                "give {}_squares, the sums over all heads of what rope::sum_squares makes of each part.",
                {tensor.name, x.extents[2], layer, all, tensor.name});
        const bool has_weight = is_norm && n.weight != NormWeight::none;
        const bool by_head = is_of_token || n.weight == NormWeight::heads_x_head_dim;
        const Index shape[4] = {1, 1, by_head ? x.extents[2] : 1, x.extents[3]};
        StepNumbers weight, bias;
        Status s = shape_numbers(tensor.name, "_norm", weights.*tensor.norm, has_weight, shape, weight);
        if (s.ok())
            s = shape_numbers(tensor.name, "_norm_bias", weights.*tensor.norm_bias, is_norm && n.has_bias, shape, bias);
        if (!s.ok() || !is_norm) return s;
        const NormSpan over = is_of_token ? NormSpan::token : NormSpan::head;
        const NormRounding rounding = is_as_published ? n.rounding : NormRounding::none;
        NormOptions how = {over, rounding, n.adds_one};
        if (has_squares) how.squares = squares;
        if (has_squares) how.all_heads = all;
        NormStage::append(PathAccess::data(path), how, n.kind, weight, bias, n.eps);
        return Status();
    }
    Status add_temperature() noexcept {
        const HeadsInMemory& x = PathAccess::data(path).source;
        const Index shape[4] = {x.extents[0], x.extents[1], 1, 1};
        StepNumbers shaped;
        const Status s = shape_numbers("", "temperatures", weights.temperatures, true, shape, shaped);
        if (s.ok()) path.multiply(shaped);
        return s;
    }
    Status add_rotation(RotateRounding rounding, bool is_back) noexcept {
        const bool reorders = !is_back && options.in_published_order && model.reference_uses_other_layout;
        if (reorders && !config->layout)
            return invalid("layout of the rotary embedding of layer {} is left open; in_published_order needs it.",
                           {layer});
        const bool is_interleaved = reorders && *config->layout == Layout::interleaved;
        RotateStage::append(PathAccess::data(path),
                            {rounding, is_back, reorders, is_interleaved ? Layout::half_split : Layout::interleaved,
                             model.axis_map.axes > 1 && !options.axes_are_alike});
        return Status();
    }
};

inline Path path_of(const HeadTensor& tensor, const ModelConfig& model, Index layer, const Path& heads,
                    const HeadWeights& weights, const RecipeOptions& options) {
    Path path = heads;
    Status s = check_steps(model, layer);
    if (s.ok()) s = Recipe{model, layer, tensor, weights, options, path}.add_steps();
    ok_or_raise(s);
    return path;
}

inline Path indexer_path_of(const HeadTensor& tensor, const ModelConfig& model, Index layer, const Path& heads,
                            const HeadWeights& weights, const RecipeOptions& options) {
    Path path = heads;
    Status s = check_steps(model, layer);
    if (s.ok() && model.layer_types[static_cast<std::size_t>(layer)] != LayerType::sparse_attention)
        s = invalid("layer {} of this model has no indexer: its attention is not sparse.", {layer});
    if (s.ok() && !model.indexer) s = invalid("the indexer of this model is not known; make its paths by hand.");
    if (s.ok()) {
        const Indexer& indexer = *model.indexer;
        const HeadStepList& list = tensor.steps == &HeadSteps::q ? indexer.q : indexer.k;
        RecipeOptions how = options;
        how.in_published_order = options.in_published_order && indexer.config.layout == Layout::interleaved;
        Recipe recipe = {
            model, layer, tensor, weights, how, path, model.steps[static_cast<std::size_t>(layer)], &indexer.config};
        if (norm_of(list) == nullptr) s = recipe.add_norm({});
        for (const HeadStep& step : list)
            if (s.ok()) s = recipe.add(step);
        if (indexer.has_hadamard) path.hadamard();
    }
    ok_or_raise(s);
    return path;
}

ROPE_DETAIL_END

ROPE_BEGIN

ROPE_API Path indexer_query_path(const ModelConfig& model, Index layer, const Path& q, const HeadWeights& weights,
                                 const RecipeOptions& options) {
    return detail::indexer_path_of(
        {"q", &HeadSteps::q, &HeadCounts::q, &HeadWeights::q_norm, &HeadWeights::q_norm_bias, nullptr}, model, layer, q,
        weights, options);
}
ROPE_API Path indexer_key_path(const ModelConfig& model, Index layer, const Path& k, const HeadWeights& weights,
                               const RecipeOptions& options) {
    return detail::indexer_path_of(
        {"k", &HeadSteps::k, &HeadCounts::k, &HeadWeights::k_norm, &HeadWeights::k_norm_bias, nullptr}, model, layer, k,
        weights, options);
}
ROPE_API Path query_path(const ModelConfig& model, Index layer, const Path& q, const HeadWeights& weights,
                         const RecipeOptions& options) {
    return detail::path_of(
        {"q", &HeadSteps::q, &HeadCounts::q, &HeadWeights::q_norm, &HeadWeights::q_norm_bias, &HeadWeights::q_squares},
        model, layer, q, weights, options);
}
ROPE_API Path key_path(const ModelConfig& model, Index layer, const Path& k, const HeadWeights& weights,
                       const RecipeOptions& options) {
    return detail::path_of(
        {"k", &HeadSteps::k, &HeadCounts::k, &HeadWeights::k_norm, &HeadWeights::k_norm_bias, &HeadWeights::k_squares},
        model, layer, k, weights, options);
}
ROPE_API Path value_path(const ModelConfig& model, Index layer, const Path& v, const HeadWeights& weights,
                         const RecipeOptions& options) {
    return detail::path_of(
        {"v", &HeadSteps::v, &HeadCounts::v, &HeadWeights::v_norm, &HeadWeights::v_norm_bias, nullptr}, model, layer, v,
        weights, options);
}
ROPE_API Path output_path(const ModelConfig& model, Index layer, const Path& output, const RecipeOptions& options) {
    return detail::path_of({"output", &HeadSteps::output, &HeadCounts::q, nullptr, nullptr, nullptr}, model, layer,
                           output, {}, options);
}
ROPE_API Path output_path(const ModelConfig& model, Index layer, const Path& output, RecipeRounding rounding) {
    RecipeOptions options;
    options.rounding = rounding;
    return output_path(model, layer, output, options);
}

ROPE_API bool makes_keys(const ModelConfig& model, Index layer) {
    detail::ok_or_raise(detail::check_steps(model, layer));
    return model.steps[static_cast<std::size_t>(layer)].keys_of_layer == layer;
}
ROPE_API bool makes_values(const ModelConfig& model, Index layer) {
    return makes_keys(model, layer) && !model.steps[static_cast<std::size_t>(layer)].keys_are_values;
}
ROPE_API Status check_recipe(const ModelConfig& model, Index layer) noexcept {
    return detail::check_steps(model, layer);
}

ROPE_END
#endif

ROPE_BEGIN

template <class T>
ROPE_ABI inline void fill_temperatures(const ModelConfig& model, PositionsArgument&& positions,
                                       const TensorView<T>& numbers) {
    using Storage = typename ElementTraits<T>::storage;
    static_assert(!std::is_void_v<Storage>,
                  "Temperatures are float, double, rope::half or rope::bfloat16, or a type for which "
                  "rope::ElementTraits names one of these, and not const: they are written.");
    if constexpr (!std::is_void_v<Storage>) {
        using Compute = std::conditional_t<std::is_same_v<Storage, double>, double, float>;
        const Positions& given = positions;
        const detail::TableShape all = {0, -detail::kMaxPosition, 2 * detail::kMaxPosition + 1, "function"};
        Status s = detail::check_extents(detail::named(detail::in_memory(numbers), "numbers"));
        if (s.ok() && (numbers.heads != 1 || numbers.head_dim != 1))
            s = detail::invalid(
                "numbers has {} {head|heads} of {} {feature|features}; it must have one number per token: "
                "rope::view(data, batch, seq, "
                "1, 1).",
                {numbers.heads, numbers.head_dim});
        if (s.ok()) s = detail::check_positions(given, numbers.batch, numbers.seq, all);
        detail::ok_or_raise(s);
        for (Index b = 0; b < numbers.batch; ++b)
            for (Index t = 0; t < numbers.seq; ++t)
                detail::Element<Compute, Storage>::store(
                    reinterpret_cast<Storage*>(&numbers(b, t, 0, 0)),
                    static_cast<Compute>(model.attention_temperature.at(given.at(b, t, numbers.seq))));
    }
}

ROPE_END
