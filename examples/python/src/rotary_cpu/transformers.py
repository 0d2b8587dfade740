# SPDX-License-Identifier: MIT
"""Models of transformers that rotate by this library: without a patched file, and with a way back.

replaced = rotary_cpu.transformers.use(model)
print(replaced)        # what was replaced, and what was not
model.generate(...)
replaced.undo()
"""

import dataclasses
import functools
import re
import sys

import torch

from .angles import angles_of
from .probe import probe

__all__ = ["use", "Replaced"]

_NAMES = re.compile(r"apply_.*(rotary|rope)")


class _Function:
    """A function of a module of transformers, and its replacement."""

    def __init__(self, module, name, form, old):
        self.module, self.name, self.form, self.old = module, name, form, old
        self.calls = self.passed_on = 0
        self.replacement = None

    def put(self):
        form, old, counts = self.form, self.old, self

        @functools.wraps(getattr(old, "forward", old))
        def rotary(*args, **kwargs):
            given = form.arguments(args, kwargs)
            is_taken = given is not None and form.takes(*given)
            if not torch.compiler.is_compiling():  # a count would be a guard of the compiled code
                counts.calls += is_taken
                counts.passed_on += not is_taken
            if is_taken:
                return form.rotate(*given)
            return old(*form.narrowed(args), **kwargs)

        rotary.of_rotary_cpu = self
        self.replacement = rotary
        setattr(self.module, self.name, rotary)

    def undo(self):
        if getattr(self.module, self.name) is self.replacement:  # else it is somebody else's by now
            setattr(self.module, self.name, self.old)

    def __str__(self):
        return f"{self.module.__name__}.{self.name}"


class Replaced:
    """A list of replacements. undo() puts the old functions back; a `with` does so at its end."""

    def __init__(self, functions, angles, kept):
        self.functions, self.angles, self.kept = functions, angles, kept

    @property
    def calls(self):
        """How many calls the library has answered; those under torch.compile are not counted."""
        return sum(f.calls for f in self.functions)

    @property
    def passed_on(self):
        """How many calls went to the old functions, since they had other shapes, dtypes or devices."""
        return sum(f.passed_on for f in self.functions)

    def undo(self):
        for replacement in (*self.functions, *self.angles):
            replacement.undo()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.undo()

    def __str__(self):
        lines = [f"Replaced {f} ({f.form})." for f in self.functions]
        lines += [f"Replaced the angles of {type(a.module).__name__}." for a in self.angles]
        lines += [f"Kept {name}: {why}." for name, why in self.kept]
        if self.functions:
            lines.append("The functions are those of all models of the same classes in this process, until undo().")
        return "\n".join(lines or ["Nothing was replaced: the model has no function that rotates by cos and sin."])


def use(model, *, exact_angles=False):
    """Makes a model of transformers rotate q and k by this library, with gradients, on the CPU; returns a Replaced.

    Functions with names like apply_rotary_pos_emb, in the modules that define the model's classes, are called on random numbers.
    Those that do what the library can do are replaced, for all models of these classes in the process. A call with other shapes,
    dtypes or devices, with rows of cos whose halves differ, within torch.func or forward-mode gradients, goes on to the old function.

    exact_angles: the model's rotary_emb is replaced, too, where it was seen to compute what the library does: cos and sin are then
    within 0.501 ulp of float32 below position 2^31, where transformers rounds position * inv_freq; and they stay float32 in models
    of other dtypes, if every function was replaced. torch.compile makes two graphs of such a model. A copy of the model has its
    old angles again. Raises nothing: what was kept, and why, is in the answer."""
    modules = {}
    for m in model.modules():
        for cls in type(m).__mro__:
            if cls.__module__.startswith(("transformers.models.", "transformers_modules.")):
                modules[cls.__module__] = sys.modules[cls.__module__]
    functions, kept = _functions(modules.values())
    angles = []
    if exact_angles:
        # float32 is for the library alone: functions that were kept would make everything behind them float32, too.
        kept_functions = bool(kept)
        angles, kept_angles = angles_of(model, keeps_float32=not kept_functions)
        kept += kept_angles
        if angles:
            for f in functions:
                f.form = dataclasses.replace(f.form, keeps_dtype=True, has_wide_cos=not kept_functions)
    return _put(functions, angles, kept)


def use_in(modules):
    """Does what `use` does, for all functions of the given Python modules."""
    functions, kept = _functions(modules)
    return _put(functions, [], kept)


def _put(functions, angles, kept):
    for replacement in (*functions, *angles):
        replacement.put()
    return Replaced(functions, angles, kept)


def _functions(modules):
    functions, kept = [], []
    for module in modules:
        for name, old in list(vars(module).items()):
            if not callable(old) or isinstance(old, type) or _NAMES.search(name) is None:
                continue
            place = f"{module.__name__}.{name}"
            form = None if hasattr(old, "of_rotary_cpu") else probe(old)
            if form is not None:
                functions.append(_Function(module, name, form, old))
            elif hasattr(old, "of_rotary_cpu"):
                kept.append((place, "it is this library's already"))
            else:
                kept.append((place, "it does something else than the forms that the library knows"))
    return functions, kept
