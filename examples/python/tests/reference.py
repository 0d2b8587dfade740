# SPDX-License-Identifier: MIT
"""The rotation in float64, pair by pair, as its definition says; and what tests are made of."""

import ml_dtypes
import numpy as np

import rotary_cpu as rope


def angles(positions, pairs, base=10000.0):
    return np.multiply.outer(np.asarray(positions, "f8"), base ** (-np.arange(pairs) / pairs))


def rotated(x, angle, layout, offset=0):
    """x [..., seq, heads, head_dim] by angle [seq, pairs] (or with batch before), in float64."""
    x, pairs = np.array(x, "f8"), angle.shape[-1]
    first = offset + (np.arange(pairs) * 2 if layout == "interleaved" else np.arange(pairs))
    second = first + (1 if layout == "interleaved" else pairs)
    c, s = np.cos(angle)[..., None, :], np.sin(angle)[..., None, :]
    a, b = x[..., first].copy(), x[..., second].copy()
    x[..., first], x[..., second] = a * c - b * s, a * s + b * c
    return x


def plain_of(dim):
    """The frequencies of base 10000."""
    return 10000.0 ** (-np.arange(dim // 2) / (dim // 2))


def numbers(shape, name="float32", seed=0):
    """An array of random numbers, always the same."""
    dtype = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def table_for(name, dim=64, positions=512, layout=None):
    """A table for data of a dtype."""
    dtype = "float64" if name == "float64" else "float32"
    return rope.CosSinCache(rope.Config(dim, layout=layout), positions, dtype=dtype)


def error(got, wanted):
    """The largest difference, in parts of the largest number."""
    return np.abs(np.asarray(got, "f8") - wanted).max() / np.abs(wanted).max()
