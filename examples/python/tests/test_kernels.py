# SPDX-License-Identifier: MIT
"""PyPI's `kernels` with this library behind its mark."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (a download of gigabytes)")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
kernels = pytest.importorskip("kernels", reason="kernels is not installed")
hub_kernels = pytest.importorskip("transformers.integrations.hub_kernels")
if not getattr(hub_kernels, "_kernels_available", hub_kernels.is_kernels_available()):
    pytest.skip(
        f"transformers {transformers.__version__} does not work with kernels {kernels.__version__}",
        allow_module_level=True,
    )
from test_transformers import answer, gradients, largest_difference  # noqa: E402
from tiny_models import tiny  # noqa: E402

import rotary_cpu.kernels  # noqa: E402
from rotary_cpu.transformers import use  # noqa: E402


@pytest.mark.parametrize("name", ["llama", "qwen3", "gpt_oss", "gpt_neox", "glm4", "olmo2"])
def test_kernelized(name, monkeypatch):
    model = tiny(name)
    eager, of_eager = answer(model), gradients(model)
    calls = []
    rotate = rotary_cpu.forms.Form.rotate
    monkeypatch.setattr(rotary_cpu.forms.Form, "rotate", lambda *a: calls.append(1) or rotate(*a))
    rotary_cpu.kernels.kernelize(model)
    marked = [
        f
        for m in model.modules()
        for f in getattr(m, "_kernel_funcs", {}).values()
        if f.kernel_layer_name == "rotary_pos_emb"
    ]
    got, of_got = answer(model), gradients(model)
    if not marked:
        pytest.skip(f"this version of transformers has no mark on {name}")
    assert len(calls) >= model.config.num_hidden_layers
    assert largest_difference(got, eager) < 2e-6
    scale = max(g.abs().max() for g in of_eager.values())
    assert max((of_got[p] - of_eager[p]).abs().max() / scale for p in of_eager) < 5e-6


def test_use_knows_marked_functions():
    model = tiny("llama")
    eager = answer(model)
    with use(model) as replaced:
        got = answer(model)
    assert replaced.calls == 2 and largest_difference(got, eager) < 2e-6
