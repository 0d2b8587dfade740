# SPDX-License-Identifier: MIT
"""A model's configuration, read and used without the model: q and k are rotated in place as transformers rotates them."""

import torch
import transformers
from transformers.models.qwen3.modeling_qwen3 import Qwen3RotaryEmbedding, apply_rotary_pos_emb

import rotary_cpu as rope

scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "rope_theta": 1e6}
config = transformers.Qwen3Config(num_hidden_layers=2, rope_parameters=scaling, max_position_embeddings=131072)
model = rope.read_hf_config(config)
print(f"{model.model_type}: {model.layer(0)}")
for sentence in model.warnings:
    print(sentence)

q, k = torch.randn(1, config.num_attention_heads, 50, 128), torch.randn(1, config.num_key_value_heads, 50, 128)
positions = torch.arange(1000, 1050)
cos, sin = Qwen3RotaryEmbedding(config)(q, positions[None])
by_transformers = apply_rotary_pos_emb(q, k, cos, sin)

embedding = rope.RotaryEmbedding(model, max_positions=131072)
embedding.apply(0, q, k, positions, heads_first=True)
difference = max((a - b).abs().max().item() for a, b in zip((q, k), by_transformers))
print(f"differences of at most {difference:.1e}, which are those of float32 angles at position 1000")
assert difference < 1e-3
