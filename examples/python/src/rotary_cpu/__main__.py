# SPDX-License-Identifier: MIT
"""The demo: python -m rotary_cpu"""

import timeit

import numpy as np

import rotary_cpu as rope

TOKENS, HEADS, DIM = 2048, 32, 128


def by_numpy(x, cos, sin):
    """Half-split, as it is usually written: x [tokens, heads, head_dim], cos and sin [tokens, 1, pairs]."""
    a, b = x[..., : DIM // 2], x[..., DIM // 2 :]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def time_of(call):
    return min(timeit.repeat(call, number=1, repeat=7))


def main():
    print(f"rotary_cpu {rope.__version__}: instruction set {rope.active_isa()}, {rope.get_threads()} threads\n")
    config = rope.Config(DIM, base=500000.0, schedule=rope.Llama3(factor=32.0), layout="half_split")
    table = rope.CosSinCache(config, 131072)
    q = np.random.default_rng(0).standard_normal((TOKENS, HEADS, DIM), "float32")

    frequencies, _ = config.frequencies()
    first = 100000
    angles = np.outer(np.arange(first, first + TOKENS), frequencies)  # float64
    exact = by_numpy(q.astype("float64"), np.cos(angles)[:, None], np.sin(angles)[:, None])
    rounded = np.outer(np.arange(first, first + TOKENS, dtype="float32"), np.array(frequencies, "float32"))
    usual = by_numpy(q, np.cos(rounded)[:, None], np.sin(rounded)[:, None])
    x = q.copy()
    rope.apply(x, table, positions=first)
    print(f"Llama 3.2's frequencies, {TOKENS} tokens from position {first} on, largest errors:")
    print(f"  rotary_cpu.apply          {np.abs(x - exact).max():.1e}")
    print(f"  float32 angles, by numpy  {np.abs(usual - exact).max():.1e}\n")

    rope.apply_inverse(x, table, positions=first)
    print(f"rotated back: {np.abs(x - q).max():.1e} away from where it began")
    k = q[:1].copy()
    rope.apply(x[:1], k, table, positions=5)
    before = (x[:1] * k).sum()
    rope.apply_inverse(x[:1], k, table, positions=5)
    rope.apply(x[:1], k, table, positions=90005)
    print(f"a score at positions 5 and 5: {before:.3f}, at 90005 and 90005: {(x[:1] * k).sum():.3f}\n")

    cos, sin = (np.ascontiguousarray(f(angles).astype("float32")[:, None]) for f in (np.cos, np.sin))
    ours, theirs = time_of(lambda: rope.apply(x, table, first)), time_of(lambda: by_numpy(q, cos, sin))
    print(
        f"{TOKENS} x {HEADS} x {DIM}: {ours * 1e3:.2f} ms in place; by numpy {theirs * 1e3:.1f} ms, {theirs / ours:.0f} times as long\n"
    )
    try:
        rope.apply(x, table, positions=131071)
    except IndexError as error:
        print(f"refused: {error}")


if __name__ == "__main__":
    main()
