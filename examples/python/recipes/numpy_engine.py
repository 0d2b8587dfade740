# SPDX-License-Identifier: MIT
"""Attention of one layer with a cache of int8 keys, in numpy: a prompt, then token by token. The same numbers as all at once."""
import numpy as np

import rotary_cpu as rope

HEADS, KV_HEADS, DIM, LONGEST = 8, 2, 64, 256
CONFIG = rope.Config(DIM, base=500000.0, layout="half_split")
TABLE = rope.CosSinCache(CONFIG, LONGEST)
rng = np.random.default_rng(0)
q_norm, k_norm = rng.uniform(0.5, 1.5, (2, DIM)).astype("float32")


class Layer:
    def __init__(self):
        self.codes, self.scales = np.zeros((LONGEST, KV_HEADS, DIM), "int8"), np.zeros((LONGEST, KV_HEADS, 1), "float32")
        self.values, self.length = np.zeros((LONGEST, KV_HEADS, DIM), "float32"), 0

    def attend(self, q, k, v):
        """q [seq, HEADS, DIM], k and v [seq, KV_HEADS, DIM] of the next tokens, as their projections made them."""
        begin, end = self.length, self.length + len(q)
        cache = rope.Quantised("int8", self.codes[begin:end], self.scales[begin:end])
        q_path, k_path = rope.heads(q).rms_norm(q_norm, 1e-6).rotate(), rope.heads(k).rms_norm(k_norm, 1e-6).rotate()
        rope.pass_(TABLE, q_path, k_path.to(cache), positions=begin)
        self.values[begin:end], self.length = v, end
        keys = np.repeat(self.codes[:end] * self.scales[:end], HEADS // KV_HEADS, axis=1)
        scores = np.einsum("qhd,khd->hqk", q, keys) / np.sqrt(DIM)
        scores[:, np.arange(begin, end)[:, None] < np.arange(end)] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        values = np.repeat(self.values[:end], HEADS // KV_HEADS, axis=1)
        return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), values)


q, k, v = (rng.standard_normal((40, heads, DIM), "float32") for heads in (HEADS, KV_HEADS, KV_HEADS))
at_once = Layer().attend(q.copy(), k.copy(), v)
layer, parts = Layer(), [slice(0, 30), *(slice(t, t + 1) for t in range(30, 40))]
in_steps = np.concatenate([layer.attend(q[p].copy(), k[p].copy(), v[p]) for p in parts])
difference = np.abs(in_steps - at_once).max()
print(f"a prompt of 30 tokens and 10 steps, against 40 at once: differences of at most {difference:.1e}")
assert difference < 1e-5
