// SPDX-License-Identifier: MIT
// The indexer of a Hugging Face configuration: heads with a norm and a rotation of their own, by whose scores sparse attention
// chooses its tokens.
#pragma once

#include <cstddef>
#include <string_view>

#include "layers.hpp"

ROPE_DETAIL_BEGIN

/// The indexer of a model type, whose name stands in a list between blanks.
struct HfIndexer {
    std::string_view types;
    Layout layout;
    bool norms_q;  // by the norm of the model's q and k, as k; else k alone has a norm: LayerNorm with weight and bias
    bool is_trailing;  // the last features rotate, not the first
    bool eps_is_of_model;
    bool has_hadamard;
    Index heads, head_dim;  // where the file does not say
};
inline constexpr HfIndexer kHfIndexers[] = {
    {" deepseek_v32 ", Layout::half_split, false, false, false, true, 64, 128},
    {" glm_moe_dsa ", Layout::interleaved, false, false, false, true, 32, 128},
    {" axk2 ", Layout::half_split, false, false, false, false, 16, 128},
    {" dots3_note_text dots3_note ", Layout::interleaved, false, false, false, false, 64, 128},
    {" hy_v4 hy_v4_vl_text hy_v4_vl ", Layout::half_split, false, true, true, false, 16, 128},
    {" minimax_m3_vl_text minimax_m3_vl ", Layout::half_split, true, false, true, false, 4, 128},
};

class HfIndexerReader : HfPart {
 public:
    ROPE_COLD explicit HfIndexerReader(HfFile& file) : HfPart(file) {}

    /// Nothing where the model has no such layer, or an indexer that no Indexer describes.
    ROPE_COLD void read() {
        const HfIndexer* of_type = nullptr;
        for (const HfIndexer& one : kHfIndexers)
            if (one.types.find(' ' + model_.model_type + ' ') != one.types.npos) of_type = &one;
        std::size_t layer = 0;
        while (layer < model_.layer_types.size() && !is_sparse(layer)) ++layer;
        if (of_type == nullptr || layer == model_.layer_types.size()) return;
        JsonFields& sparse = top_.inside("sparse_attention_config");  // MiniMax-M3
        auto heads = top_.count({"index_n_heads"});
        auto head_dim = top_.count({"index_head_dim"}, kAnyHeadDim);
        if (!heads) heads = sparse.count({"sparse_num_index_heads"});
        if (!head_dim) head_dim = sparse.count({"sparse_index_dim"}, kAnyHeadDim);
        heads = or_default(heads, "index_n_heads", of_type->heads);
        head_dim = or_default(head_dim, "index_head_dim", of_type->head_dim);
        const auto is_interleaved = top_.truth({"indexer_rope_interleave"});
        if (!ok()) return;
        Indexer indexer;
        indexer.heads = *heads;
        indexer.has_hadamard = of_type->has_hadamard;
        const HeadSteps& steps = model_.steps[layer];
        Config& config = indexer.config = model_.configs[static_cast<std::size_t>(model_.config_of_layer[layer])];
        config.rotary_dim = rotary_dim(config);
        if (config.rotary_dim > *head_dim)
            return fail("index_head_dim is {}; it must be at least the number of features that rotate ({}).",
                        {*head_dim, config.rotary_dim});
        config.head_dim = *head_dim;
        config.rotary_offset = of_type->is_trailing ? *head_dim - config.rotary_dim : 0;
        config.layout = !is_interleaved ? of_type->layout : *is_interleaved ? Layout::interleaved : Layout::half_split;
        HeadStep norm = {HeadStepKind::norm};
        const HeadNorm* const of_layer = norm_of(steps.q);
        if (of_type->norms_q && of_layer != nullptr)
            norm.norm = *of_layer;
        else
            norm.norm = {NormKind::layer_norm, NormWeight::head_dim, false, true, NormRounding::none, 1e-6};
        if (of_type->eps_is_of_model && !of_type->norms_q)
            norm.norm.eps = top_.number({"rms_norm_eps"}, kAnyPart).value_or(1e-6);
        HeadStep rotation = {HeadStepKind::rotation};
        for (const HeadStep& step : steps.q)
            if (step.kind == HeadStepKind::rotation) rotation = step;
        indexer.k = {{norm, rotation}};
        indexer.q = of_type->norms_q ? indexer.k : HeadStepList{{rotation}};
        model_.indexer = indexer;
    }

 private:
    ROPE_COLD bool is_sparse(std::size_t layer) const noexcept {
        return model_.layer_types[layer] == LayerType::sparse_attention && model_.config_of_layer[layer] >= 0;
    }
};

ROPE_DETAIL_END
