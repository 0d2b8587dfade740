# SPDX-License-Identifier: MIT
"""python3 custom_operator.py LIBRARY: the custom operator in ONNX Runtime, beside ONNX Runtime's own.

Needs numpy, onnx and onnxruntime 1.24 or later, whose CPU has the operator of opset 23. For every form of X it prints
the largest error of both against the formula in double, with the same caches, and the largest difference of both."""
import sys

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

BATCH, SEQ, HEADS, HEAD_SIZE, POSITIONS = 2, 6, 8, 64, 4096
TYPES = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}


def session(domain, x_type, cache_type, axes, attributes):
    """A model of one node; the domain "rope" is the library's, the empty one ONNX's."""
    names = ["X", "cos_cache", "sin_cache", "position_ids"]
    types = [x_type, cache_type, cache_type, TensorProto.INT64]
    inputs = [helper.make_tensor_value_info(n, t, [None] * a) for n, t, a in zip(names, types, [axes, 2, 2, 2])]
    output = helper.make_tensor_value_info("Y", x_type, [None] * axes)
    node = helper.make_node("RotaryEmbedding", names, ["Y"], domain=domain, **attributes)
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("rope", 1)]
    model = helper.make_model(helper.make_graph([node], "g", inputs, [output]), opset_imports=opsets, ir_version=10)
    options = ort.SessionOptions()
    if domain == "rope":
        options.register_custom_ops_library(sys.argv[1])
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def formula(x, cos, sin, ids, interleaved, dim):
    """In double; x is [batch, seq, heads, head_size]."""
    y = x.astype(np.float64)
    c, s = (rows.astype(np.float64)[ids][:, :, None] for rows in (cos, sin))
    first, second = (slice(0, dim, 2), slice(1, dim, 2)) if interleaved else (slice(0, dim // 2), slice(dim // 2, dim))
    a, b = y[..., first].copy(), y[..., second].copy()
    y[..., first], y[..., second] = a * c - b * s, a * s + b * c
    return y


def compare(kind, axes, interleaved, dim, draw):
    x = draw.standard_normal((BATCH, SEQ, HEADS, HEAD_SIZE)).astype(kind)
    ids = draw.integers(0, POSITIONS, (BATCH, SEQ))
    angles = np.arange(POSITIONS)[:, None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    given = x.transpose(0, 2, 1, 3).copy() if axes == 4 else x.reshape(BATCH, SEQ, -1)
    attributes = {"interleaved": int(interleaved), "num_heads": HEADS, "rotary_embedding_dim": dim % HEAD_SIZE}

    def run(domain, cache_kind):
        feed = {"X": given, "cos_cache": cos.astype(cache_kind), "sin_cache": sin.astype(cache_kind), "position_ids": ids}
        y = session(domain, TYPES[kind], TYPES[cache_kind], axes, attributes).run(None, feed)[0].astype(np.float64)
        return y.transpose(0, 2, 1, 3) if axes == 4 else y.reshape(x.shape)

    mine, own, exact = run("rope", np.float32), run("", kind), formula(x, cos, sin, ids, interleaved, dim)
    print("%-8s %d axes  %-11s  %2d of %d  %8.2g  %8.2g  %8.2g" % (
        np.dtype(kind).name, axes, "interleaved" if interleaved else "half-split", dim, HEAD_SIZE,
        np.abs(mine - exact).max(), np.abs(own - exact).max(), np.abs(mine - own).max()))
    return np.abs(mine - exact).max() <= (1e-6 if kind == np.float32 else 4e-3)


print("ONNX Runtime " + ort.__version__ + "\nX                 pairs        rotated   largest error: this operator, its own; difference")
generator = np.random.default_rng(1)
right = [compare(kind, axes, interleaved, dim, generator)
         for kind in TYPES for axes in (3, 4) for interleaved in (False, True) for dim in (64, 24)]
sys.exit(0 if all(right) else 1)
