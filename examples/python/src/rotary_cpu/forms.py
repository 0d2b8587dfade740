# SPDX-License-Identifier: MIT
"""Forms of functions of transformers that rotate q and k, and the call of rotary_cpu.torch that does the same."""

import dataclasses
import weakref

import torch

from .torch import is_transformed, rotate, rotate_one

# How a row of cos holds one number for each of its pairs.
NUMBERS = {
    "halves": lambda c: torch.cat((c, c), -1),
    "twos": lambda c: torch.repeat_interleave(c, 2, -1),
    "pairs": lambda c: c,
}
_ROWS = {"halves": "c0 c1 ... c0 c1 ...", "twos": "c0 c0 c1 c1 ...", "pairs": "c0 c1 ..."}
_FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


@dataclasses.dataclass(frozen=True)
class Form:
    """How a function is called, and what it does."""

    tensors: int = 2  # q and k; or one
    is_sin_first: bool = False
    dimensions: int = 4  # of q; 3 without a batch
    unsqueeze_dim: int | None = 1  # where cos is unsqueezed if the call does not say it; 1: heads first, 2: seq first
    unsqueeze_place: int | None = None  # of this argument, if there is one
    layout: str = "half_split"
    left_as: str = "half_split"
    numbers: str = "halves"
    is_reversed: bool = False
    is_at_the_end: bool = False  # a part of a head that rotates is its last features, not its first
    rotates_parts: bool = False  # a row of cos may be narrower than a head
    keeps_dtype: bool = False  # q keeps its dtype if cos has a wider one
    has_wide_cos: bool = False  # cos is wider because of this library, and the old function would take its dtype

    def __str__(self):
        what = f"{self.layout}, cos {_ROWS[self.numbers]}"
        return (
            what
            + (", reversed" if self.is_reversed else "")
            + (f", left {self.left_as}" if self.left_as != self.layout else "")
        )

    def arguments(self, args, kwargs):
        """(tensors, cos, sin, heads_first) of a call, or None for one that this form does not describe."""
        n = self.tensors
        rest = args[n + 2 :]
        dim = kwargs.get("unsqueeze_dim", self.unsqueeze_dim)
        if self.unsqueeze_place is not None and len(args) > self.unsqueeze_place:
            dim = args[self.unsqueeze_place]
            rest = rest[: self.unsqueeze_place - n - 2] + rest[self.unsqueeze_place - n - 1 :]
        others = [*rest, *(v for name, v in kwargs.items() if name != "unsqueeze_dim")]
        if len(args) < n + 2 or any(v is not None for v in others) or dim not in (1, 2):
            return None
        x, (cos, sin) = args[:n], args[n : n + 2]
        return (x, sin, cos, dim == 1) if self.is_sin_first else (x, cos, sin, dim == 1)

    def narrowed(self, args):
        """Arguments for the old function, with cos and sin of q's dtype if they are wider because of this library."""
        if not self.has_wide_cos or len(args) < self.tensors + 2:
            return args
        narrow = (t.to(args[0].dtype) for t in args[self.tensors : self.tensors + 2])
        return (*args[: self.tensors], *narrow, *args[self.tensors + 2 :])

    def takes(self, x, cos, sin, heads_first):
        """Whether tensors are of the kinds and shapes that the form was seen to rotate."""
        if not all(isinstance(t, torch.Tensor) and t.dtype in _FLOATS for t in (*x, cos, sin)):
            return False
        if x[0].device.type not in ("cpu", "meta") or any(t.device != x[0].device for t in (*x, cos, sin)):
            return False
        if cos.requires_grad or sin.requires_grad or not self._has_shapes(x, cos, sin, heads_first):
            return False
        if not all(self._keeps(t.dtype, cos.dtype) for t in x):
            return False
        return torch.compiler.is_compiling() or (not is_transformed() and _repeats(self.numbers, cos, sin))

    def _has_shapes(self, x, cos, sin, heads_first):
        first, seq_dim = x[0], -2 if heads_first else -3
        if first.dim() != self.dimensions or cos.dim() != first.dim() - 1 or cos.shape != sin.shape:
            return False
        seq, dim, width = first.shape[seq_dim], first.shape[-1], 2 * self._pairs(cos)
        is_whole = width == dim or (width < dim and self.rotates_parts)
        if cos.shape[-2] != seq or width == 0 or not is_whole or (self.numbers != "pairs" and cos.shape[-1] % 2 != 0):
            return False
        if self.dimensions == 4 and cos.shape[0] not in (1, first.shape[0]):
            return False
        heads_dim = -3 if heads_first else -2

        def but_heads(t):
            return [n for i, n in enumerate(t.shape) if i != t.dim() + heads_dim]

        return all(but_heads(t) == but_heads(first) for t in x[1:])

    def _keeps(self, dtype, of_cos):
        return dtype == of_cos or self.keeps_dtype or torch.promote_types(dtype, of_cos) == dtype

    def _pairs(self, cos):
        return cos.shape[-1] if self.numbers == "pairs" else cos.shape[-1] // 2

    def rotate(self, x, cos, sin, heads_first):
        """The result of the function."""
        pairs = self._pairs(cos)
        if self.numbers == "twos":
            cos, sin = cos[..., ::2], sin[..., ::2]
        options = dict(
            layout=self.layout,
            left_as=self.left_as,
            pairs=pairs,
            rotary_offset=x[0].shape[-1] - 2 * pairs if self.is_at_the_end else 0,
            heads_first=heads_first,
            is_reversed=self.is_reversed,
        )
        return rotate(*x, cos, sin, **options) if len(x) == 2 else rotate_one(*x, cos, sin, **options)


_last_seen = None


def _repeats(numbers, cos, sin):
    """Whether rows hold each number twice, where `numbers` says so: the library reads it once. All layers of a model have the same
    tensors, so the answer for the last ones is kept."""
    global _last_seen
    if numbers == "pairs" or cos.device.type == "meta" or torch._C._len_torch_dispatch_stack() > 0:
        return True  # without numbers, or with a mode that traces calls, nothing can be compared
    versions = None if cos.is_inference() or sin.is_inference() else (cos._version, sin._version)
    key = (numbers, cos.data_ptr(), sin.data_ptr(), versions)
    last = _last_seen
    if last is not None and last[0]() is cos and last[1]() is sin and last[2] == key:
        return last[3]
    answer = True
    for t in (cos, sin):
        one, other = t.chunk(2, -1) if numbers == "halves" else (t[..., ::2], t[..., 1::2])
        answer = answer and torch.equal(one, other)
    _last_seen = (weakref.ref(cos), weakref.ref(sin), key, answer)
    return answer
