// SPDX-License-Identifier: MIT
// Definitions of recipe.hpp: from the facts of a layer to the steps of a path.
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
#include "places.hpp"
#include "stages.hpp"

ROPE_DETAIL_BEGIN

/// The tensor of a recipe and, of HeadWeights, its numbers.
enum class HeadKind : unsigned char { q, k, v };
struct NumbersOfNorm {
    const char* name;
    const StepNumbers& numbers;
};

/// The numbers in `given` as [extents[0..3]], if a layer needs them. A pointer, and as many numbers in a row, take that
/// shape; a batch of 1 serves any.
inline Status shape_numbers(const NumbersOfNorm& given, bool is_needed, Index layer, const Index (&extents)[4],
                            StepNumbers& shaped) noexcept {
    const NumbersKind kind = PathAccess::data(given.numbers).kind;
    if (!is_needed && kind == NumbersKind::none) return Status();
    if (!is_needed)
        return invalid("{} is given; layer {} of this model has no such numbers: leave it empty.", {given.name, layer});
    if (kind == NumbersKind::none)
        return invalid("{} is missing; layer {} of this model needs it, with the shape [{}, {}, {}, {}].",
                       {given.name, layer, extents[0], extents[1], extents[2], extents[3]});
    HeadsInMemory m = PathAccess::data(given.numbers).numbers;
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
            "{} has the shape [{}, {}, {}, {}]; in layer {} of this model it must have [{}, {}, {}, {}], or as many "
            "numbers in a row.",
            {given.name, m.extents[0], m.extents[1], m.extents[2], m.extents[3], layer, extents[0], extents[1],
             extents[2], extents[3]});
    }
    shaped = PathAccess::make<StepNumbers>(GivenNumbers{m, NumbersKind::view});
    return Status();
}

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
class Recipe {
 public:
    Recipe(const ModelConfig& model, Index layer, HeadKind kind, const RecipeOptions& options, Path& path) noexcept
        : model_(model),
          steps_(model.steps[static_cast<std::size_t>(layer)]),
          layer_(layer),
          kind_(kind),
          options_(options),
          path_(path) {
        const Index c = model.config_of_layer[static_cast<std::size_t>(layer)];
        if (c >= 0) config_ = &model.configs[static_cast<std::size_t>(c)];
    }

    Status add_steps(const HeadWeights& w) noexcept {
        if (const Status s = check_source(); !s.ok()) return s;
        if (const Status s = take_numbers(w); !s.ok()) return s;
        const bool is_rotated = config_ != nullptr && (kind_ != HeadKind::v || steps_.rotates_values);
        if (!norm().is_after_rotation) add_norm();
        if (steps_.clip != 0.0) end_of(path_.clamp(steps_.clip));
        if (!steps_.factors_follow_rotation || kind_ == HeadKind::v) add_factor();
        if (is_rotated)
            if (const Status s = add_rotation(); !s.ok()) return s;
        if (norm().is_after_rotation) add_norm();
        if (steps_.factors_follow_rotation && kind_ != HeadKind::v) add_factor();
        if (has_temperature()) end_of(path_.multiply(temperatures_));
        return Status();
    }
    void add_rotation_back() noexcept {
        if (config_ == nullptr || !steps_.keys_are_values) return;
        end_of(path_.rotate_back(rotate_rounding()));
    }

 private:
    const HeadNorm& norm() const noexcept {
        return kind_ == HeadKind::q ? steps_.q : kind_ == HeadKind::k ? steps_.k : steps_.v;
    }
    bool has_norm() const noexcept { return norm().kind != NormKind::none; }
    bool has_temperature() const noexcept {
        const AttentionTemperature& t = model_.attention_temperature;
        return kind_ == HeadKind::q && t.scale != 0.0 &&
               (config_ != nullptr ? t.on_layers_with_rope : t.on_layers_without_rope);
    }
    RotateRounding rotate_rounding() const noexcept {
        return options_.rounding == RecipeRounding::once ? RotateRounding::none : steps_.rotate_rounding;
    }
    /// The end of an operation of the published code.
    void end_of(Path& operation) const noexcept {
        if (options_.rounding == RecipeRounding::as_published) operation.round();
    }

    Status check_source() const noexcept {
        if (kind_ != HeadKind::q && steps_.keys_of_layer != layer_)
            return steps_.keys_of_layer < 0
                       ? invalid("layer {} of this model reads the keys and values of another model; it makes none.",
                                 {layer_})
                       : invalid("layer {} of this model reads the keys and values of layer {}; it makes none.",
                                 {layer_, steps_.keys_of_layer});
        if (kind_ == HeadKind::v && steps_.keys_are_values)
            return invalid("layer {} of this model makes no values: its keys are the values, too.", {layer_});
        const HeadCounts& counts = model_.heads[static_cast<std::size_t>(layer_)];
        const Index all = kind_ == HeadKind::q ? counts.q : kind_ == HeadKind::k ? counts.k : counts.v;
        const Index heads = PathAccess::data(path_).source.extents[2];
        if (has_norm() && norm().weight == NormWeight::all_heads && heads != all)
            return invalid(
                "heads of {} is {}; layer {} of this model norms all {} {head|heads} of a token together. For some of "
                "them make the path by hand: {}multiply(rope::view(r, batch, seq, 1, 1)), r = 1 / sqrt({} + eps) of "
                "each token over all its heads, then multiply by the weight of these heads.",
                {kind_ == HeadKind::q   ? "q"
                 : kind_ == HeadKind::k ? "k"
                                        : "v",
                 heads, layer_, all, norm().kind == NormKind::layer_norm ? "add minus its mean, then " : "",
                 norm().kind == NormKind::rms  ? "mean(x^2)"
                 : norm().kind == NormKind::l2 ? "sum(x^2)"
                                               : "variance(x)"});
        return Status();
    }
    Status take_numbers(const HeadWeights& w) noexcept {
        const HeadsInMemory& x = PathAccess::data(path_).source;
        const bool by_head = norm().weight == NormWeight::heads_x_head_dim || norm().weight == NormWeight::all_heads;
        const Index of_norm[4] = {1, 1, by_head ? x.extents[2] : 1, x.extents[3]};
        const Index of_tokens[4] = {x.extents[0], x.extents[1], 1, 1};
        const NumbersOfNorm weights[] = {{"q_norm", w.q_norm}, {"k_norm", w.k_norm}, {"v_norm", w.v_norm}};
        const NumbersOfNorm biases[] = {
            {"q_norm_bias", w.q_norm_bias}, {"k_norm_bias", w.k_norm_bias}, {"v_norm_bias", w.v_norm_bias}};
        const int i = static_cast<int>(kind_);
        const bool has_weight = has_norm() && norm().weight != NormWeight::none,
                   has_bias = has_norm() && norm().has_bias;
        if (const Status s = shape_numbers(weights[i], has_weight, layer_, of_norm, weight_); !s.ok()) return s;
        if (const Status s = shape_numbers(biases[i], has_bias, layer_, of_norm, bias_); !s.ok()) return s;
        if (!has_temperature()) return Status();
        return shape_numbers({"temperatures", w.temperatures}, true, layer_, of_tokens, temperatures_);
    }

    void add_norm() noexcept {
        if (!has_norm()) return;
        const HeadNorm& n = norm();
        const NormSpan over = n.weight == NormWeight::all_heads ? NormSpan::token : NormSpan::head;
        const bool is_as_published = options_.rounding == RecipeRounding::as_published;
        const NormRounding rounding = is_as_published ? n.rounding : NormRounding::none;
        NormStage::append(PathAccess::data(path_), {{over, rounding, n.adds_one}, n.kind}, weight_, bias_, n.eps);
        end_of(path_);
    }
    void add_factor() noexcept {
        const double factor = kind_ == HeadKind::q   ? steps_.q_factor
                              : kind_ == HeadKind::k ? steps_.k_factor
                                                     : steps_.v_factor;
        if (factor != 1.0) end_of(path_.multiply(factor));
    }
    Status add_rotation() noexcept {
        if (options_.in_published_order && model_.reference_uses_other_layout) {
            if (!config_->layout)
                return invalid("layout of the rotary embedding of layer {} is left open; in_published_order needs it.",
                               {layer_});
            const bool is_interleaved = *config_->layout == Layout::interleaved;
            path_.rotate_into(is_interleaved ? Layout::half_split : Layout::interleaved, rotate_rounding());
        } else {
            path_.rotate(rotate_rounding());
        }
        if (rotate_rounding() != RotateRounding::all) end_of(path_);
        return Status();
    }

    const ModelConfig& model_;
    const HeadSteps& steps_;
    const Config* config_ = nullptr;  // null: the layer is not rotated
    Index layer_;
    HeadKind kind_;
    const RecipeOptions& options_;
    Path& path_;
    StepNumbers weight_, bias_, temperatures_;
};

inline Path path_of(HeadKind kind, const ModelConfig& model, Index layer, const Path& heads, const HeadWeights& weights,
                    const RecipeOptions& options) {
    Path path = heads;
    Status s = check_steps(model, layer);
    if (s.ok()) s = Recipe(model, layer, kind, options, path).add_steps(weights);
    ok_or_raise(s);
    return path;
}

ROPE_DETAIL_END

ROPE_BEGIN

ROPE_ABI inline Path query_path(const ModelConfig& model, Index layer, const Path& q, const HeadWeights& weights,
                                const RecipeOptions& options) {
    return detail::path_of(detail::HeadKind::q, model, layer, q, weights, options);
}
ROPE_ABI inline Path key_path(const ModelConfig& model, Index layer, const Path& k, const HeadWeights& weights,
                              const RecipeOptions& options) {
    return detail::path_of(detail::HeadKind::k, model, layer, k, weights, options);
}
ROPE_ABI inline Path value_path(const ModelConfig& model, Index layer, const Path& v, const HeadWeights& weights,
                                const RecipeOptions& options) {
    return detail::path_of(detail::HeadKind::v, model, layer, v, weights, options);
}
ROPE_ABI inline Path output_path(const ModelConfig& model, Index layer, const Path& output, RecipeRounding rounding) {
    Path path = output;
    RecipeOptions options;
    options.rounding = rounding;
    detail::ok_or_raise(detail::check_steps(model, layer));
    detail::Recipe(model, layer, detail::HeadKind::q, options, path).add_rotation_back();
    return path;
}

ROPE_ABI inline bool makes_keys(const ModelConfig& model, Index layer) {
    detail::ok_or_raise(detail::check_steps(model, layer));
    return model.steps[static_cast<std::size_t>(layer)].keys_of_layer == layer;
}
ROPE_ABI inline bool makes_values(const ModelConfig& model, Index layer) {
    return makes_keys(model, layer) && !model.steps[static_cast<std::size_t>(layer)].keys_are_values;
}
ROPE_ABI inline Status check_recipe(const ModelConfig& model, Index layer) noexcept {
    return detail::check_steps(model, layer);
}

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
