// SPDX-License-Identifier: MIT
// How many heads each layer of a Hugging Face configuration has, and how large they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "../../../model_config.hpp"
#include "json.hpp"
#include "models.hpp"
#include "names.hpp"

#include "../../hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// The heads of a layer that attends.
struct ROPE_ABI HfHeads {
    Index q = 0, kv = 0;
    Index head_dim = 0;            ///< of the tensor that is rotated
    std::string head_dim_is = {};  ///< the paths of the keys that say so
    Index rotary_dim = 0;          ///< where a key counts them; 0: see partial_rotary_factor
    Index plain_dim = 0;           ///< latent attention: features of a head that are not rotated
    bool is_latent = false;
};

class ROPE_ABI HfHeadReader {
 public:
    ROPE_COLD HfHeadReader(JsonFields& top, const HfModel& type)
        : top_(top), type_(type), diagnostics_(top.diagnostics()) {}

    /// One entry per layer. Entries of lists beyond the layers, `extra` of them, are allowed.
    ROPE_COLD std::vector<HfHeads> read(const List<LayerType>& types, std::size_t extra) {
        const HfHeads usual = read_usual();
        if (!diagnostics_.ok()) return {};
        std::vector<HfHeads> heads(types.size(), usual);
        const auto where = [&](LayerType type, const HfHeads& given) {
            for (std::size_t i = 0; i < types.size(); ++i)
                if (types[i] == type) heads[i] = given;
        };
        where(LayerType::full_attention, full(usual));
        where(LayerType::sliding_attention, sliding(usual));
        const auto per_layer = [&](const char* key, Index HfHeads::*member) {
            const auto list = top_.per_layer(key, top_.counts(key, kAnyCount), types.size(), types.size() + extra);
            for (std::size_t i = 0; list && i < list->size(); ++i) heads[i].*member = (*list)[i];
        };
        per_layer("num_attention_heads_per_layer", &HfHeads::q);
        per_layer("num_key_value_heads_per_layer", &HfHeads::kv);
        read_blocks(heads);
        read_per_layer_config(heads);
        return heads;
    }

 private:
    /// What a missing count means for the model's type; 0: nothing.
    ROPE_COLD std::optional<Index> or_default(std::optional<Index> value, const char* key, Index of_type) {
        if (value || of_type == 0) return value;
        top_.warn_of_default(key, std::to_string(of_type), "the default of its model_type");
        return of_type;
    }

    ROPE_COLD HfHeads read_usual() {
        HfHeads h;
        const auto q = or_default(top_.count(kQueryKeys), "num_attention_heads", type_.q_heads);
        top_.require(q.has_value(), "num_attention_heads", "every model");
        JsonFields& attn_config = top_.inside("attn_config");  // DBRX
        auto kv = top_.count(kKeyKeys);
        if (!kv) kv = attn_config.count({"kv_n_heads"});
        if (type_.kv_heads != type_.q_heads || type_.kv_heads == 0)
            kv = or_default(kv, "num_key_value_heads", type_.kv_heads);
        // Falcon: one key head unless the newer architecture, which counts them, is meant.
        const bool multi_query = top_.truth({"multi_query"}).value_or((type_.traits & kMultiQuery) != 0);
        if (multi_query && !top_.truth({"new_decoder_architecture"}).value_or(false)) kv = 1;
        auto hidden = top_.count(kHiddenKeys);
        // DeepSeek-OCR: false means plain attention.
        const bool is_mla = top_.truth({"use_mla"}).value_or(true);
        auto turning = top_.count({"qk_rope_head_dim"}, is_mla ? kAnyHeadDim : kAnyCountOrNone);
        turning = is_mla ? or_default(turning, "qk_rope_head_dim", type_.latent_dim) : std::nullopt;
        h.plain_dim = top_.count({"qk_nope_head_dim"}, kAnyCountOrNone).value_or(0);
        top_.count({"qk_head_dim"}, kAnyCountOrNone);
        const auto head_dim = top_.count(kHeadDimKeys, kAnyHeadDim);
        if (!diagnostics_.ok()) return h;
        h.q = *q;
        h.kv = kv.value_or(*q);
        h.is_latent = turning && (type_.traits & kTrailingSlice) == 0;
        if (turning && !h.is_latent) h.rotary_dim = *turning;
        h.head_dim_is = h.is_latent ? top_.path_of("qk_rope_head_dim") : top_.path_of_first(kHeadDimKeys);
        if (!h.is_latent && !head_dim) hidden = or_default(hidden, "hidden_size", type_.hidden);
        if (h.is_latent || head_dim) {
            h.head_dim = h.is_latent ? *turning : *head_dim;
        } else if (type_.head_dim != 0) {
            const bool is_usual = hidden && *hidden == type_.head_dim * *q;
            h.head_dim = is_usual ? type_.head_dim : *or_default({}, "head_dim", type_.head_dim);
        } else if (!hidden) {
            top_.require(false, "head_dim", "a model without hidden_size");
        } else if (*hidden % *q != 0 || *hidden / *q > kMaxHeadDim) {
            diagnostics_.fail(top_.path_of_first(kHiddenKeys) + " is " + std::to_string(*hidden) +
                              "; without head_dim it must be a multiple of " + top_.path_of_first(kQueryKeys) + " (" +
                              std::to_string(*q) + "), and at most 2^20 times as much.");
        } else {
            h.head_dim = *hidden / *q;
            h.head_dim_is = top_.path_of_first(kHiddenKeys) + " / " + top_.path_of_first(kQueryKeys);
        }
        return h;
    }

    /// Gemma 4: full layers have larger heads, and fewer of them for keys.
    ROPE_COLD HfHeads full(HfHeads h) {
        const auto kv = top_.count({"num_global_key_value_heads"});
        if (kv && top_.truth({"attention_k_eq_v"}).value_or(true)) h.kv = *kv;
        auto head_dim = top_.count({"global_head_dim"}, kAnyHeadDim);
        // What transformers writes back says it layer by layer.
        if (!top_.says("per_layer_config")) head_dim = or_default(head_dim, "global_head_dim", type_.global_head_dim);
        if (head_dim) set_head_dim(h, *head_dim, top_.path_of("global_head_dim"));
        return h;
    }
    /// MiMo-V2, Step-3.5: sliding layers have other numbers of heads.
    ROPE_COLD HfHeads sliding(HfHeads h) {
        JsonFields& other = top_.inside("attention_other_setting");
        other.text({"attention_type"});
        const auto other_q = other.count({"num_attention_heads"}), other_kv = other.count({"num_attention_groups"});
        const auto other_dim = other.count({"head_dim"}, kAnyHeadDim);
        const auto q = top_.count({"swa_num_attention_heads", "num_sliding_attention_heads"});
        const auto kv = top_.count({"swa_num_key_value_heads"});
        const auto head_dim = top_.count({"swa_head_dim"}, kAnyHeadDim);
        top_.count({"swa_v_head_dim"}, kAnyHeadDim);
        h.q = q.value_or(other_q.value_or(h.q));
        h.kv = kv.value_or(other_kv.value_or(h.kv));
        if (head_dim) set_head_dim(h, *head_dim, top_.path_of("swa_head_dim"));
        if (!head_dim && other_dim) set_head_dim(h, *other_dim, other.path_of("head_dim"));
        return h;
    }
    ROPE_COLD static void set_head_dim(HfHeads& h, Index head_dim, const std::string& path) {
        if (h.is_latent) return;
        h.head_dim = head_dim;
        h.head_dim_is = path;
    }

    /// Nemotron-NAS: how many query heads share a key head, block by block.
    ROPE_COLD void read_blocks(std::vector<HfHeads>& heads) {
        const Json* const list = top_.objects("block_configs");
        for (std::size_t i = 0; list != nullptr && i < std::min(list->size(), heads.size()); ++i) {
            JsonFields block(&(*list)[i], top_.path_of("block_configs"), diagnostics_);
            JsonFields& attention = block.inside("attention");
            if (const auto group = attention.count({"n_heads_in_group"})) {
                if (heads[i].q % *group != 0)
                    diagnostics_.fail(attention.path_of("n_heads_in_group") + " is " + std::to_string(*group) +
                                      "; it must divide the " + std::to_string(heads[i].q) + " query heads.");
                heads[i].kv = heads[i].q / *group;
            }
            if (const auto kv = attention.count({"num_key_value_heads"})) heads[i].kv = *kv;
        }
    }
    /// What differs from the keys for all layers, by the number of the layer.
    ROPE_COLD void read_per_layer_config(std::vector<HfHeads>& heads) {
        JsonFields& layers = top_.inside("per_layer_config");
        for (const std::string& key : layers.keys()) {
            const bool is_number = !key.empty() && key.size() <= 6 && key.find_first_not_of("0123456789") == key.npos;
            const std::size_t i = is_number ? std::stoul(key) : heads.size();
            if (i >= heads.size())
                return diagnostics_.fail(layers.path_of(in_path(key)) +
                                         " is not the number of a layer; it must be from 0 to " +
                                         std::to_string(heads.size() - 1) + ".");
            JsonFields& here = layers.inside(key);
            HfHeads& h = heads[i];
            h.q = here.count({"num_attention_heads"}).value_or(h.q);
            h.kv = here.count({"num_key_value_heads"}).value_or(h.kv);
            h.plain_dim = here.count({"qk_nope_head_dim"}, kAnyCountOrNone).value_or(h.plain_dim);
            if (const auto turning = here.count({"qk_rope_head_dim"}, kAnyHeadDim); turning && h.is_latent) {
                h.head_dim = *turning;
                h.head_dim_is = here.path_of("qk_rope_head_dim");
            }
            if (const auto head_dim = here.count({"head_dim"}, kAnyHeadDim))
                set_head_dim(h, *head_dim, here.path_of("head_dim"));
        }
    }

    JsonFields& top_;
    const HfModel& type_;
    Diagnostics& diagnostics_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../../restore_macros.hpp"
