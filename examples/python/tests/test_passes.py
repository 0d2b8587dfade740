# SPDX-License-Identifier: MIT
"""Passes, cache formats, moves, model files and gradients on numpy's arrays, against float64."""

import json

import numpy as np
import pytest
from reference import angles, error, numbers, plain_of, rotated, table_for

import rotary_cpu as rope


def test_pass_normalises_rotates_and_writes():
    table = table_for("float32", layout="half_split")
    q, k, weight = numbers((5, 4, 64)), numbers((5, 2, 64), seed=1), numbers(64, seed=2)

    def normalised(x):
        x = np.asarray(x, "f8")
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight

    turned = angles(range(7, 12), 32)
    wanted_q, wanted_k = rotated(normalised(q), turned, "half_split"), rotated(normalised(k), turned, "half_split")
    slots = [70, 3, 4, -1, 16]
    pages = np.zeros((5, 16, 2, 64), "float16")
    rope.pass_(
        table,
        rope.heads(q).rms_norm(weight, 1e-6).rotate(),
        rope.heads(k).rms_norm(weight, 1e-6).rotate().to(rope.Paged(pages, slots)),
        positions=7,
    )
    assert error(q, wanted_q) < 1e-6
    flat = pages.reshape(-1, 2, 64)
    for token, slot in enumerate(slots):
        if slot >= 0:
            assert error(flat[slot], wanted_k[token]) < 1e-3
    assert np.count_nonzero(flat.any(axis=(1, 2))) == 4
    with pytest.raises(IndexError, match="slot"):
        rope.pass_(table, rope.heads(k).to(rope.Paged(pages, [0, 1, 2, 3, 80])))
    rope.pass_(None, rope.heads(k).multiply(2.0).add(weight).clamp(1.5))
    assert np.abs(k).max() == 1.5


def test_a_part_of_each_head_goes_elsewhere():
    x, part = numbers((5, 2, 64)), np.zeros((5, 2, 24), "float32")
    rope.pass_(None, rope.heads(x).multiply(2).to(part, first_feature=16, features=24))
    assert (part == 2 * x[..., 16:40]).all()


# By format: bytes of a head of 64, dtype and count of its scales, whether it has zeros, the largest error of a feature.
FORMATS = {
    "int8": (64, "float32", 1, False, 0.01),
    "uint8": (64, "float32", 1, True, 0.01),
    "int4": (32, "float32", 2, False, 0.15),
    "uint4": (32, "float32", 2, True, 0.15),
    "fp8_e4m3": (64, "float32", 1, False, 0.04),
    "fp8_e5m2": (64, None, 0, False, 0.15),
    "mxfp4": (32, "uint8", 2, False, 0.26),
    "nvfp4": (32, "uint8", 4, False, 0.2),
    "q8_0": (68, None, 0, False, 0.01),
    "q4_0": (36, None, 0, False, 0.15),
    "q4_1": (40, None, 0, False, 0.15),
    "q5_0": (44, None, 0, False, 0.08),
    "q5_1": (48, None, 0, False, 0.08),
    "iq4_nl": (36, None, 0, False, 0.15),
    "ggml_mxfp4": (34, None, 0, False, 0.26),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_written_and_read(name):
    size, dtype, groups, has_zeros, largest = FORMATS[name]
    k = numbers((6, 2, 64))
    codes = np.zeros((6, 2, size), "int8" if name == "int8" else "uint8")
    scales = np.zeros((6, 2, groups), dtype) if groups else None
    cache = rope.Quantised(name, codes, scales, np.zeros((6, 2, groups), "float32") if has_zeros else None)
    rope.pass_(None, rope.heads(k).to(cache))
    back = np.zeros_like(k)
    rope.pass_(None, rope.heads(cache).to(back))
    assert 0 < error(back, k) < largest
    moves = rope.Moves(rope.Config(64, layout="half_split"))
    moves.build(-5)
    rope.reposition(cache, moves)
    moved = np.zeros_like(k)
    rope.pass_(None, rope.heads(cache).to(moved))
    assert error(moved, rotated(back, angles([-5] * 6, 32), "half_split")) < largest


def test_keys_move():
    config = rope.Config(64, layout="half_split")
    table, moves = rope.CosSinCache(config, 100), rope.Moves(config)
    k = numbers((6, 2, 64))
    old, new = np.array([50, 51, 52, 60, 61, 62]), np.array([0, 1, 2, 3, 4, 5])
    there, wanted = k.copy(), k.copy()
    rope.apply(there, table, old)
    rope.apply(wanted, table, new)
    moves.build_between(old, new)
    rope.reposition(there, moves)
    assert error(there, wanted) < 4e-7
    moves.build_each(old - new)
    rope.reposition(there, moves)
    rope.apply_inverse(there, table, old)
    assert error(there, k) < 6e-7


LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


def test_model_files(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    for source in (LLAMA, str(tmp_path), tmp_path / "config.json", (tmp_path / "config.json").read_text()):
        model = rope.read_hf_config(source)
        assert (model.model_type, model.layers, model.axes) == ("llama", 2, 1)
    layer = model.layer(1)
    assert layer["schedule"] == "llama3" and layer["layout"] == "half_split" and layer["q_heads"] == 4
    assert model.norm(0, "queries") is None
    config = rope.Config(64, base=5e5, layout="half_split", schedule=rope.Llama3(factor=32.0))
    assert model.frequencies(0) == config.frequencies()
    embedding = rope.RotaryEmbedding(model, max_positions=4096)
    q, k = numbers((3, 4, 64)), numbers((3, 2, 64), seed=1)
    a, b = q.copy(), k.copy()
    embedding.apply(1, a, b, 9)
    rope.apply(q, k, rope.CosSinCache(config, 4096), 9)
    assert (a == q).all() and (b == k).all()
    step = rope.RotaryStep(embedding)
    step.build(9, seq=3)
    rope.apply_inverse(a, step.rows(0))
    rope.apply_inverse(q, embedding.rows(0), 9)
    assert (a == q).all()
    with pytest.raises(IndexError, match="layer"):
        model.layer(2)
    with pytest.raises(ValueError, match="rope_theta"):
        rope.read_hf_config({**LLAMA, "rope_theta": "large"})
    with pytest.raises(OSError):
        rope.read_hf_config(str(tmp_path / "nothing.json"))
    gguf = rope.read_gguf_config(
        {
            "general.architecture": "llama",
            "llama.embedding_length": 256,
            "llama.attention.head_count": 4,
            "llama.attention.head_count_kv": [2, 2],
            "llama.block_count": 2,
            "llama.context_length": 4096,
            "llama.rope.dimension_count": 64,
            "llama.rope.freq_base": 5e5,
            "llama.attention.layer_norm_rms_epsilon": 1e-5,
        }
    )
    assert gguf.layer(0)["base"] == 5e5 and gguf.layer(0)["layout"] == "interleaved"


def test_recipes_follow_the_model():
    model = rope.read_hf_config(
        {**LLAMA, "model_type": "qwen3", "head_dim": 64, "rope_scaling": None, "rms_norm_eps": 1e-5}
    )
    norm = model.norm(0, "queries")
    assert norm["kind"] == "rms_norm" and norm["weight"] == "head_dim" and norm["eps"] == 1e-5
    table = rope.RotaryEmbedding(model, max_positions=64).rows(0)
    x, weight = numbers((5, 4, 64)), numbers(64, seed=2)
    y = x.copy()
    rope.pass_(table, rope.query_path(model, 0, x, weight), positions=2)
    rope.pass_(table, rope.heads(y).rms_norm(weight, 1e-5).rotate(), positions=2)
    assert (x == y).all()
    with pytest.raises(ValueError, match="q_norm is missing"):
        rope.pass_(table, rope.query_path(model, 0, x))


def test_gradients_agree_with_finite_differences():
    config = rope.Config(8, layout="half_split")
    rng = np.random.default_rng(3)
    x, g = rng.standard_normal((2, 3, 2, 8)), rng.standard_normal((2, 3, 2, 8))

    def loss(positions, frequencies):
        turned = np.multiply.outer(positions, frequencies)
        return (rotated(x, turned, "half_split") * g).sum()

    at, frequencies = np.arange(3.0) + 4, plain_of(8)
    rows = rope.Rows(config, dtype="float64")
    rows.build(4, seq=3, batch=2)
    y = x.copy()
    rope.apply(y, rows)
    of_angles = np.zeros((2, 3, 1, 4))
    rope.add_angle_gradients(y, g, rows, of_angles)
    of_frequencies, of_positions = np.zeros(4), np.zeros((1, 6))
    rope.add_frequency_gradients(of_angles, of_frequencies, 4)
    rope.add_position_gradients(of_angles, config, of_positions)
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-6
        wanted = (loss(at, frequencies + step) - loss(at, frequencies - step)) / 2e-6
        assert abs(of_frequencies[i] - wanted) < 1e-6
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-6
        wanted = (loss(at + step, frequencies) - loss(at - step, frequencies)) / 2e-6
        assert abs(of_positions.reshape(2, 3).sum(0)[i] - wanted) < 1e-6


def test_norm_gradients_agree_with_finite_differences():
    table = rope.CosSinCache(rope.Config(8, layout="half_split"), 16, dtype="float64")
    rng = np.random.default_rng(4)
    x, g, w = rng.standard_normal((3, 2, 8)), rng.standard_normal((3, 2, 8)), rng.standard_normal(8)

    def loss(x, w):
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w
        return (rotated(y, angles(range(2, 5), 4), "half_split") * g).sum()

    dx, dw = np.zeros_like(x), np.zeros((1, rope.weight_gradient_rows(1, 3), 1, 8))
    rope.pass_backward(table, rope.heads(x).rms_norm(w, 1e-6).rotate(), g, dx, dw, positions=2)
    dw = dw.sum((0, 1, 2))
    for i in range(8):
        step = np.zeros(8)
        step[i] = 1e-6
        assert abs(dw[i] - (loss(x, w + step) - loss(x, w - step)) / 2e-6) < 1e-6
        moved = x.copy()
        moved[1, 1, i] += 1e-6
        other = x.copy()
        other[1, 1, i] -= 1e-6
        assert abs(dx[1, 1, i] - (loss(moved, w) - loss(other, w)) / 2e-6) < 1e-6


def test_sums_over_heads_of_several_ranks():
    x, weight = numbers((5, 4, 64)), numbers((4, 64), seed=1)
    whole = x.copy()
    rope.pass_(None, rope.heads(whole).rms_norm(weight, 1e-6, over_token=True))
    halves, sums = [x[:, :2].copy(), x[:, 2:].copy()], np.zeros((2, 5, 1, 1))
    for half, s in zip(halves, sums):
        rope.sum_squares(rope.heads(half), s)
    for i, half in enumerate(halves):
        rope.pass_(
            None,
            rope.heads(half).rms_norm(
                weight[2 * i : 2 * i + 2], 1e-6, over_token=True, squares=sums.sum(0), all_heads=4
            ),
        )
    assert error(np.concatenate(halves, 1), whole.astype("f8")) < 2e-7
