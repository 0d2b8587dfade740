# SPDX-License-Identifier: MIT
"""The library behind Hugging Face's package `kernels`, which can replace functions that transformers has decorated for it. Those that
rotate are decorated with the name "rotary_pos_emb".

rotary_cpu.kernels.kernelize(model)
"""

import functools

import kernels
import torch

from .probe import probe

__all__ = ["kernelize", "mapping"]

_MARK = "rotary_pos_emb"
_forms = {}  # by the class that `kernels` makes of a function


class Rotary(torch.nn.Module):
    """The forward that `kernels` puts in place of a decorated function. Functions of several forms have the one name (gpt-oss has a cos
    of half the width), so the form of each is looked up; a call that its form does not describe goes to the old function.
    """

    can_torch_compile = True
    has_backward = True

    def forward(self, q, k, cos, sin, unsqueeze_dim=1):
        form = _form_of(self)
        given = None if form is None else form.arguments((q, k, cos, sin), {"unsqueeze_dim": unsqueeze_dim})
        if given is None or not form.takes(*given):
            return type(self).forward(self, q, k, cos, sin, unsqueeze_dim)
        return form.rotate(*given)


def _form_of(function):
    kind = type(function)
    if kind not in _forms and not torch.compiler.is_compiling():
        _forms[kind] = probe(functools.partial(kind.forward, function))
    return _forms.get(kind)


class _Repository:
    """A source of layers for `kernels`: this process, not a download."""

    layer_name = "rotary_cpu"

    def load(self):
        return Rotary

    def __str__(self):
        return "rotary_cpu"


_repository = _Repository()


def mapping():
    """The argument of kernels.use_kernel_mapping and register_kernel_mapping."""
    modes = kernels.Mode.INFERENCE | kernels.Mode.TORCH_COMPILE, kernels.Mode.TRAINING | kernels.Mode.TORCH_COMPILE
    return {_MARK: {"cpu": {mode: _repository for mode in modes}}}


def kernelize(model, *, mode=None):
    """Calls kernels.kernelize for this name, on the CPU; returns the model. mode: a kernels.Mode; None: for training, or inference, as the
    model is, also under torch.compile."""
    for module in model.modules():
        for function in getattr(module, "_kernel_funcs", {}).values():
            if function.kernel_layer_name == _MARK:
                _form_of(function)  # before torch.compile, which cannot trace it
    if mode is None:
        mode = (kernels.Mode.TRAINING if model.training else kernels.Mode.INFERENCE) | kernels.Mode.TORCH_COMPILE
    with kernels.use_kernel_mapping(mapping(), inherit_mapping=True):
        return kernels.kernelize(model, mode=mode, device="cpu")
