# SPDX-License-Identifier: MIT
"""A full context: the oldest tokens after the first four are dropped, and the keys of all later ones are rotated on to their new
positions, within a cache of int8 codes."""

import numpy as np

import rotary_cpu as rope

TOKENS, SINK, DROPPED, HEADS, DIM = 64, 4, 20, 2, 128
config = rope.Config(DIM, base=500000.0, layout="half_split", schedule=rope.Llama3(factor=32.0))
table, moves = rope.CosSinCache(config, 4096), rope.Moves(config)
k = np.random.default_rng(0).standard_normal((TOKENS, HEADS, DIM), "float32")

codes, scales = np.zeros((TOKENS, HEADS, DIM), "int8"), np.zeros((TOKENS, HEADS, 1), "float32")
rope.pass_(table, rope.heads(k.copy()).rotate().to(rope.Quantised("int8", codes, scales)))

kept = np.r_[0:SINK, SINK + DROPPED : TOKENS]
codes, scales = codes[kept], scales[kept]
moves.build_between(kept, np.arange(len(kept)))
rope.reposition(rope.Quantised("int8", codes, scales), moves)

wanted = k[kept]
rope.apply(wanted, table)  # where the tokens stand now
error = np.abs(codes * scales - wanted).max() / np.abs(wanted).max()
print(
    f"{len(kept)} keys moved; against keys that were rotated to where they stand now: {error:.1e} of the largest number"
)
assert error < 0.02
