# SPDX-License-Identifier: MIT
"""Models of twelve types, tiny, with random weights."""

import torch
import transformers

_COMMON = dict(
    vocab_size=64,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=None,
)
_MOE = dict(
    n_routed_experts=4,
    num_experts_per_tok=2,
    n_group=1,
    topk_group=1,
    n_shared_experts=1,
    moe_intermediate_size=32,
    first_k_dense_replace=1,
)

# By name: (type of the configuration, what differs from the common sizes).
MODELS = {
    "llama": ("llama", {}),
    "qwen3": ("qwen3", dict(head_dim=32)),
    "gemma3": ("gemma3_text", dict(head_dim=32, sliding_window=16)),
    "gemma4": (
        "gemma4_text",
        dict(
            head_dim=32,
            global_head_dim=32,
            sliding_window=16,
            num_hidden_layers=3,
            layer_types=["sliding_attention", "full_attention", "full_attention"],
            vocab_size_per_layer_input=64,
            hidden_size_per_layer_input=8,
        ),
    ),
    "gpt_oss": ("gpt_oss", dict(head_dim=32, num_local_experts=4, num_experts_per_tok=2, sliding_window=16)),
    "gpt_neox": ("gpt_neox", dict(rotary_pct=0.25)),
    "cohere": ("cohere", {}),
    "phi": ("phi", dict(partial_rotary_factor=0.5)),
    "glm4": ("glm4", dict(head_dim=32, partial_rotary_factor=0.5)),
    "deepseek_v3": (
        "deepseek_v3",
        dict(
            _MOE,
            num_key_value_heads=4,
            q_lora_rank=24,
            kv_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=16,
            v_head_dim=16,
        ),
    ),
    "qwen2_5_vl": ("qwen2_5_vl_text", dict(rope_scaling=dict(rope_type="default", mrope_section=[2, 3, 3]))),
    "olmo2": ("olmo2", {}),
}


IDS = torch.randint(0, 64, (4, 64), generator=torch.Generator().manual_seed(3))


def tiny(name, dtype=torch.float32):
    """The model of a name, always with the same weights."""
    model_type, different = MODELS[name]
    config = transformers.CONFIG_MAPPING[model_type](**{**_COMMON, **different})
    config._attn_implementation = config._experts_implementation = "eager"
    torch.manual_seed(7)
    if name == "qwen2_5_vl":
        made = transformers.models.qwen2_5_vl.modeling_qwen2_5_vl.Qwen2_5_VLTextModel(config)
    else:
        made = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter, p in made.named_parameters():
            # Larger than their default, so that attention tells positions apart; but not where scores are not divided by the root
            # of head_dim, as in Gemma 4: attention to one key alone makes differences of rounding a hundred times as large.
            is_of_scores = name == "gemma4" and parameter.endswith(("q_norm.weight", "k_norm.weight"))
            p.normal_(0, 0.1) if p.dim() > 1 else p.uniform_(0.1, 0.3) if is_of_scores else p.uniform_(0.5, 1.5)
    return with_dtype(made.eval(), dtype)


def with_dtype(model, dtype):
    """The model with parameters of a dtype. Frequencies are buffers, and stay float32, as in models that were loaded from files."""
    for p in model.parameters():
        p.data = p.data.to(dtype)
    return model


def logits(model, ids):
    """The model's answers; the one without a head gives its last hidden states."""
    out = model(ids)
    return out.logits if hasattr(out, "logits") else out.last_hidden_state
