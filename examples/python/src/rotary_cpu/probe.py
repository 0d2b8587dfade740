# SPDX-License-Identifier: MIT
"""The form of a function, found out by calling it on random numbers."""

import dataclasses
import inspect
import itertools

import torch

from .forms import NUMBERS, Form

__all__ = ["probe"]

_LAYOUTS = ("half_split", "interleaved")
_BATCH, _HEADS, _SEQ, _DIM = 2, 4, 3, 16


def probe(function):
    """The Form of a function, or None if it does nothing that is known."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for way in _ways_to_call(function):
            form = _Trial(function, way).form()
            if form is not None:
                return form
    return None


def _ways_to_call(function):
    """Forms of which only the calling is known, by the names of arguments: q, k, cos, sin, or one tensor, sin before cos."""
    # PyPI's `kernels` makes a module of each function that it may replace.
    parameters = inspect.signature(getattr(function, "forward", function)).parameters
    names = list(parameters)
    for tensors in (1, 2):
        pair = names[tensors : tensors + 2]
        if sorted(pair) != ["cos", "sin"]:
            continue
        way = Form(tensors=tensors, is_sin_first=pair[0] == "sin")
        if "unsqueeze_dim" in names:
            default = parameters["unsqueeze_dim"].default
            yield dataclasses.replace(way, unsqueeze_dim=default, unsqueeze_place=names.index("unsqueeze_dim"))
        else:  # such a function is for one order of extents, with a batch or without
            for dimensions, dim in ((4, 2), (3, 2), (4, 1), (3, 1)):
                yield dataclasses.replace(way, dimensions=dimensions, unsqueeze_dim=dim)


class _Trial:
    """Calls of a function in one way."""

    def __init__(self, function, way):
        self.function, self.way, self.heads_first = function, way, way.unsqueeze_dim == 1
        self.lead = (_BATCH,) if way.dimensions == 4 else ()
        extents = (_HEADS, _SEQ) if self.heads_first else (_SEQ, _HEADS)
        self.x = tuple(torch.randn(*self.lead, *extents, _DIM) for _ in range(way.tensors))

    def call(self, numbers, pairs, dtype=torch.float32):
        """(what the function returns, cos, sin), or None if it refuses."""
        angles = torch.randn(*self.lead, _SEQ, pairs)
        cos, sin = (NUMBERS[numbers](f(angles)) for f in (torch.cos, torch.sin))
        try:
            out = self.function(*(t.to(dtype) for t in self.x), *((sin, cos) if self.way.is_sin_first else (cos, sin)))
        except Exception:  # whatever a function raises that is for other shapes
            return None
        out = out if isinstance(out, tuple) else (out,)
        is_alike = len(out) == len(self.x) and all(getattr(o, "shape", None) == t.shape for o, t in zip(out, self.x))
        return (out, cos, sin) if is_alike else None

    def agrees(self, form, seen):
        if seen is None:
            return False
        out, cos, sin = seen
        ours = form.rotate(self.x, cos, sin, self.heads_first)
        return all(torch.allclose(a, b, atol=1e-5) for a, b in zip(out, ours if isinstance(ours, tuple) else (ours,)))

    def form(self):
        for numbers in NUMBERS:
            whole = self.call(numbers, _DIM // 2)
            for layout, left_as, is_reversed in itertools.product(_LAYOUTS, _LAYOUTS, (False, True)):
                form = dataclasses.replace(
                    self.way, layout=layout, left_as=left_as, numbers=numbers, is_reversed=is_reversed
                )
                if self.agrees(form, whole):
                    return self.with_dtype(self.with_parts(form))
        return None

    def with_parts(self, form):
        """The form with where in a head the pairs are, if a row of cos may be narrower than a head."""
        part = self.call(form.numbers, _DIM // 4)
        for is_at_the_end in (False, True):
            narrow = dataclasses.replace(form, rotates_parts=True, is_at_the_end=is_at_the_end)
            if self.agrees(narrow, part):
                return narrow
        return form

    def with_dtype(self, form):
        rounded = self.call(form.numbers, _DIM // 2, torch.bfloat16)
        keeps = rounded is not None and all(o.dtype == torch.bfloat16 for o in rounded[0])
        return dataclasses.replace(form, keeps_dtype=keeps)
