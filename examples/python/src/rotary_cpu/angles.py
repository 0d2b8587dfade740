# SPDX-License-Identifier: MIT
"""Cosines and sines of a model of transformers by this library: from the frequencies that its configuration means, in double, in
place of products of float32."""

import copy
import inspect
import threading

import torch

from . import RotaryEmbedding, RotaryStep, read_hf_config, write_rows
from .forms import NUMBERS

# Their frequencies depend on the length of the text, which a module of transformers follows call by call.
_FOLLOW_THE_LENGTH = ("dynamic", "longrope")
_step_is_used = threading.Lock()  # a step is built and read for one call at a time


class Angles:
    """The replacement of one rotary_emb's forward: it makes the cos and sin of those types of layers whose numbers agreed when they were
    compared, and calls the old forward for others. In a copy of the module, or one that was pickled, the old forward is back.
    """

    def __init__(self, module, step, layers, keeps_float32):
        self.module, self.step, self.layers, self.keeps_float32 = module, step, layers, keeps_float32
        self.old, self.had_own = module.forward, vars(module).get("forward")
        self.signature = inspect.signature(self.old)

    def rows(self, layer, position_ids):
        """cos and sin of a layer, float32 [batch, seq, pairs]."""
        shape = position_ids.shape[-2:]
        with _step_is_used:
            self.step.build(position_ids.flatten(-2))
            rows = self.step.rows(layer)
            both = torch.empty(*shape, 2 * rows.pairs)
            write_rows(rows, both.flatten(0, -2))
        return both[..., : rows.pairs], both[..., rows.pairs :]

    @torch.compiler.disable  # it calls Python's module, which torch cannot trace
    def __call__(self, *args, **kwargs):
        given = self.signature.bind(*args, **kwargs).arguments
        layer, numbers = self.layers.get(given.get("layer_type"), (None, None))
        x, position_ids = given["x"], given["position_ids"]
        if layer is None or x.device.type != "cpu" or position_ids.device.type != "cpu":
            return self.old(*args, **kwargs)
        dtype = torch.float32 if self.keeps_float32 else x.dtype
        return tuple(NUMBERS[numbers](t).to(dtype) for t in self.rows(layer, position_ids))

    def put(self):
        self.module.forward = self

    def undo(self):
        if vars(self.module).get("forward") is not self:
            return  # somebody else's by now
        if self.had_own is None:
            del self.module.forward
        else:
            self.module.forward = self.had_own

    def __deepcopy__(self, memo):
        return copy.deepcopy(self.old, memo)

    def __reduce__(self):
        return _itself, (self.old,)


def _itself(forward):
    return forward


def angles_of(model, keeps_float32):
    """([Angles], [(place, why it was kept)]) of a model's modules that make cos and sin."""
    found, kept = [], []
    modules = [(name, m) for name, m in model.named_modules() if type(m).__name__.endswith("RotaryEmbedding")]
    if not hasattr(model, "config"):
        return [], [(name, "the model has no configuration") for name, _ in modules]
    try:
        config = read_hf_config(model.config)
        step = RotaryStep(RotaryEmbedding(config, max_positions=1))
    except ValueError as error:
        return [], [(name, str(error)) for name, _ in modules]
    layers = [(i, config.layer(i)) for i in range(config.layers)]
    layers = {d["embedding"]: (i, d) for i, d in reversed(layers) if d["embedding"] is not None}
    for name, module in modules:
        made = Angles(module, step, {}, keeps_float32)
        parameters = list(inspect.signature(made.old).parameters)
        if parameters[:2] != ["x", "position_ids"]:
            kept.append((name, f"its forward takes {', '.join(parameters)}"))
            continue
        kinds = sorted({d["attention"] for _, d in layers.values()}) if "layer_type" in parameters else [None]
        for kind in kinds:
            layer_type = None if kind is None else f"{kind}_attention"
            for layer, description in layers.values():
                if description["schedule"] in _FOLLOW_THE_LENGTH or (
                    kind is not None and description["attention"] != kind
                ):
                    continue
                numbers = _same_numbers(made, layer, layer_type, config.axes)
                if numbers is not None:
                    made.layers[layer_type] = (layer, numbers)
                    break
        if made.layers:
            found.append(made)
        else:
            kept.append(
                (name, "its angles are not those of a layer of the configuration, or follow the length of the text")
            )
    return found, kept


def _same_numbers(angles, layer, layer_type, axes):
    """How the module's cos holds the layer's numbers, or None: compares both at a few positions."""
    positions = torch.tensor([[0, 1, 2, 5, 9, 30], [3, 3, 4, 17, 40, 63]])
    if axes > 1:
        positions = torch.stack([positions, positions + 2, positions + 5][:axes])
    try:
        with torch.no_grad():
            theirs = angles.old(torch.zeros(2, 6, 1), positions, *(() if layer_type is None else (layer_type,)))
    except Exception:
        return None
    ours = angles.rows(layer, positions)
    for numbers, spread in NUMBERS.items():
        if all(spread(a).shape == b.shape and torch.allclose(spread(a), b, atol=1e-4) for a, b in zip(ours, theirs)):
            return numbers
    return None
