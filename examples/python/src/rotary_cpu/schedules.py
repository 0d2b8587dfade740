# SPDX-License-Identifier: MIT
"""Schedules of a Config: how its frequencies are made. A field of None has the default of its formula."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "Ntk",
    "DynamicNtk",
    "Yarn",
    "Llama3",
    "LongRope",
    "Proportional",
    "Axial",
    "XPosQueries",
    "XPosKeys",
    "FreqFactors",
    "Custom",
]


@dataclass(frozen=True, kw_only=True)
class Ntk:
    """A larger base, for factor times the length. mixed_b: the exponent b of mixed NTK, where pair i is slowed by
    factor^(((i + 1) / pairs)^b), in place of it."""

    factor: float
    mixed_b: float | None = None


@dataclass(frozen=True, kw_only=True)
class DynamicNtk:
    """NTK scaling that grows with the sequence, beyond max_position_embeddings. The length is the argument seq_len of CosSinCache,
    Rows or RotaryEmbedding."""

    factor: float
    max_position_embeddings: int


@dataclass(frozen=True, kw_only=True)
class Yarn:
    """High frequencies are kept, low ones divided by factor, with a ramp between. truncate: the ramp begins and ends at whole pairs.
    magnitude: the formula of the factor on cos and sin, 'standard', 'deepseek' or 'none'; attention_factor: the factor itself.
    """

    factor: float
    original_max_position_embeddings: int
    max_position_embeddings: int | None = None
    beta_fast: float | None = None
    beta_slow: float | None = None
    extrapolation_factor: float | None = None
    attention_factor: float | None = None
    attn_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True
    magnitude: str = "standard"


@dataclass(frozen=True, kw_only=True)
class Llama3:
    """Frequencies are divided by factor where the wavelength exceeds original_max_position_embeddings / low_freq_factor, kept where
    it is below original_max_position_embeddings / high_freq_factor, and blended between."""

    factor: float
    original_max_position_embeddings: int = 8192
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0


@dataclass(frozen=True, kw_only=True)
class LongRope:
    """A divisor for each pair's frequency: short_factors within the original length, long_factors beyond it."""

    short_factors: Sequence[float]
    long_factors: Sequence[float]
    original_max_position_embeddings: int
    max_position_embeddings: int | None = None
    factor: float | None = None
    attention_factor: float | None = None


@dataclass(frozen=True, kw_only=True)
class Proportional:
    """Frequencies of the whole head, of which the last pairs stand still (Gemma 4)."""

    partial_rotary_factor: float
    factor: float | None = None


@dataclass(frozen=True, kw_only=True)
class Axial:
    """Pairs divided among so many axes, each with the same frequencies (vision transformers)."""

    axes: int


@dataclass(frozen=True, kw_only=True)
class XPosQueries:
    """xPos, the side of queries: a magnitude that grows with the position."""

    scale_base: float | None = None
    centre: float | None = None


@dataclass(frozen=True, kw_only=True)
class XPosKeys(XPosQueries):
    """xPos, the side of keys: a magnitude that shrinks with the position."""


@dataclass(frozen=True)
class FreqFactors:
    """A number for each pair, which divides its frequency (the tensor rope_freqs of GGUF files)."""

    numbers: Sequence[float]


@dataclass(frozen=True)
class Custom:
    """A frequency for each pair, radians per position; for mixed axes one for each axis and pair."""

    numbers: Sequence[float]
