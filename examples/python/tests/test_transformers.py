# SPDX-License-Identifier: MIT
"""Models of transformers, twelve types with random weights, by their own functions and by this library."""

import copy
import glob
import importlib
import os
import pickle
import sys
import threading

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (a download of gigabytes)")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
from tiny_models import IDS, MODELS, logits, tiny, with_dtype  # noqa: E402

import rotary_cpu.forms  # noqa: E402
from rotary_cpu.transformers import use, use_in  # noqa: E402

MORE_IDS = torch.randint(0, 64, (12, 128), generator=torch.Generator().manual_seed(4))


def answer(model, ids=IDS):
    with torch.no_grad():
        return logits(model, ids)


def gradients(model):
    model.zero_grad()
    logits(model, IDS).double().pow(2).mean().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def largest_difference(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


@pytest.mark.parametrize("name", MODELS)
def test_float32(name):
    model = tiny(name)
    eager, of_eager = answer(model), gradients(model)
    with use(model) as replaced:
        got = answer(model)
        layers = model.config.num_hidden_layers
        assert replaced.calls >= layers and replaced.passed_on == 0
        of_got = gradients(model)
    assert largest_difference(got, eager) < 2e-6
    scale = max(g.abs().max() for g in of_eager.values())
    assert of_got.keys() == of_eager.keys()
    assert max((of_got[p] - of_eager[p]).abs().max() / scale for p in of_eager) < 5e-6
    calls = replaced.calls
    assert torch.equal(answer(model), eager) and replaced.calls == calls  # undone


@pytest.mark.parametrize("name", MODELS)
def test_exact_angles(name):
    model = tiny(name)
    eager = answer(model)
    with use(model, exact_angles=True) as replaced:
        assert len(replaced.angles) == 1, str(replaced)
        assert largest_difference(answer(model), eager) < 5e-6
    assert torch.equal(answer(model), eager)


@pytest.mark.parametrize("name", MODELS)
def test_bfloat16_is_not_worse(name):
    model = tiny(name, torch.bfloat16)
    exact = answer(with_dtype(copy.deepcopy(model), torch.float64), MORE_IDS)

    def error():
        off = (answer(model, MORE_IDS).double() - exact).norm(dim=-1) / exact.norm(dim=-1)
        return off.median().item()  # of tokens: an expert that is chosen otherwise makes a few of them wholly different

    eager = error()
    with use(model) as replaced:
        plain = error()
        assert replaced.calls > 0
    with use(model, exact_angles=True) as replaced:
        rotary_emb = replaced.angles[0].module
        layer_types = [t for t in replaced.angles[0].layers if t is not None]
        positions = torch.ones(*([3] if name == "qwen2_5_vl" else []), 1, 3)
        cos, _ = rotary_emb(torch.zeros(1, 3, 8, dtype=torch.bfloat16), positions, *layer_types[:1])
        # One of Gemma 4's functions, for images, is kept, and would make everything behind it float32.
        assert cos.dtype == (torch.bfloat16 if name == "gemma4" else torch.float32)
        exact_angles = error()
        assert replaced.calls > 0
    print(
        f"{name}: median error {eager:.2e}; with the library {plain / eager:.3f} of it, with exact angles {exact_angles / eager:.3f}"
    )
    assert max(plain, exact_angles) < 1.03 * eager  # another order of sums alone changes it by 2 percent


@pytest.mark.parametrize("name", [n for n in MODELS if n != "qwen2_5_vl"])
def test_the_same_tokens(name):
    model = tiny(name)
    options = dict(max_new_tokens=24, do_sample=False, attention_mask=torch.ones(1, 8, dtype=torch.long))
    eager = model.generate(IDS[:1, :8], **options)
    with use(model) as replaced:
        got = model.generate(IDS[:1, :8], **options)
    assert torch.equal(got, eager) and replaced.calls >= 24


@pytest.mark.parametrize("name", ["llama", "gemma3", "glm4"])
def test_compiled_without_a_break(name):
    model = tiny(name)
    model.config.use_cache = False
    eager = answer(model)
    with use(model):
        torch._dynamo.reset()
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        with torch.no_grad():
            got = logits(compiled, IDS)
        text = (
            torch.fx.experimental.proxy_tensor.make_fx(
                lambda q: transformers.models.llama.modeling_llama.apply_rotary_pos_emb(
                    q, q, torch.ones(1, 3, 8), torch.ones(1, 3, 8)
                )
            )(torch.ones(1, 2, 3, 8)).code
            if name == "llama"
            else "rotary_cpu"
        )
        assert "rotary_cpu" in text
    assert largest_difference(got, eager) < 2e-6


FORMS = {  # of modules: the function that is tried, in every form that there is
    "llama": "apply_rotary_pos_emb",
    "gpt_neox": "apply_rotary_pos_emb",
    "gpt_oss": "apply_rotary_pos_emb",
    "gptj": "apply_rotary_pos_emb",
    "glm4": "apply_rotary_pos_emb",
    "cohere": "apply_rotary_pos_emb",
    "nanochat": "apply_rotary_pos_emb",
    "gemma3n": "apply_rotary_pos_emb",
    "deepseek_v4": "apply_rotary_pos_emb",
    "deepseek_v3": "apply_rotary_pos_emb_interleave",
    "qwen2_vl": "apply_rotary_pos_emb_vision",
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_in_other_shapes(name):
    module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    old = getattr(module, FORMS[name])
    with use_in([module]) as replaced:
        form = next(f.form for f in replaced.functions if f.name == FORMS[name])
        new = getattr(module, FORMS[name])
        tries = 0
        for batch, seq, heads, dim, part in [(1, 7, 4, 32, 1), (3, 2, 1, 64, 1), (2, 5, 6, 32, 2), (1, 1, 8, 128, 4)]:
            if part > 1 and not form.rotates_parts:
                continue
            tries += 1
            lead = (batch,) if form.dimensions == 4 else ()
            shape = (*lead, heads, seq, dim) if form.unsqueeze_dim == 1 else (*lead, seq, heads, dim)
            x = [torch.randn(shape) for _ in range(form.tensors)]
            angles = torch.randn(*lead, seq, dim // 2 // part)
            spread = rotary_cpu.forms.NUMBERS[form.numbers]
            cos, sin = spread(angles.cos()), spread(angles.sin())
            pair = (sin, cos) if form.is_sin_first else (cos, sin)
            got, wanted = new(*x, *pair), old(*x, *pair)
            for a, b in zip(got if len(x) == 2 else [got], wanted if len(x) == 2 else [wanted]):
                assert a.shape == b.shape and torch.allclose(a, b, atol=2e-6)
        assert tries >= 2 and sum(f.calls for f in replaced.functions if f.name == FORMS[name]) == tries


def test_calls_that_go_on_to_the_old_function():
    rotary = transformers.models.llama.modeling_llama
    old = rotary.apply_rotary_pos_emb
    q, angles = torch.randn(1, 2, 3, 8), torch.randn(1, 3, 8)
    with use_in([rotary]) as replaced:
        other_halves = rotary.apply_rotary_pos_emb(q, q, angles.cos(), angles.sin())
        assert torch.equal(other_halves[0], old(q, q, angles.cos(), angles.sin())[0]) and replaced.calls == 0
        cos, sin = (torch.cat((t, t), -1) for t in (angles[..., :4].cos(), angles[..., :4].sin()))
        for _ in range(2):
            rotary.apply_rotary_pos_emb(q, q, cos, sin)
        cos[..., 0] = 7  # in place: the answer for these tensors is asked again
        assert torch.equal(rotary.apply_rotary_pos_emb(q, q, cos, sin)[0], old(q, q, cos, sin)[0])
        assert (replaced.calls, replaced.passed_on) == (2, 2)
        cos[..., 0] = cos[..., 4]
        tangent = torch.func.jvp(lambda t: rotary.apply_rotary_pos_emb(t, q, cos, sin)[0], (q,), (q,))[1]
        assert torch.allclose(tangent, old(q, q, cos, sin)[0])


def test_copies_and_other_peoples_hooks():
    model = tiny("llama")
    eager = answer(model)
    hooked, calls = model.model.rotary_emb, []
    hook = lambda *a, _old=hooked.forward, **k: calls.append(1) or _old(*a, **k)  # noqa: E731
    ways = [copy.deepcopy]
    if "kernels" not in sys.modules:
        ways.append(lambda m: pickle.loads(pickle.dumps(m)))  # with PyPI's `kernels` no model can be pickled
    replaced = use(model, exact_angles=True)
    for way in ways:
        other = way(model)
        assert largest_difference(answer(other), eager) < 5e-6
        replaced.undo()
        assert torch.equal(answer(other), eager)
        replaced = use(model, exact_angles=True)
    replaced.undo()
    hooked.forward = hook
    with use(model, exact_angles=True):
        answer(model)
    assert hooked.forward is hook
    answer(model)
    assert calls
    with use(model, exact_angles=True):
        later = hooked.forward = lambda *a, **k: hook(*a, **k)
    assert hooked.forward is later
    for without_config in (torch.nn.Linear(2, 2), torch.nn.Sequential(model.model.rotary_emb)):
        use(without_config, exact_angles=True).undo()


def test_threads_share_exact_angles():
    model = tiny("llama")
    positions = [torch.arange(64)[None], torch.arange(64)[None] * 3 + 50]
    with use(model, exact_angles=True), torch.no_grad():
        wanted = [model(IDS[:1], position_ids=p).logits for p in positions]
        wrong = []

        def work(i):
            with torch.no_grad():
                for _ in range(60):
                    if not torch.equal(model(IDS[:1], position_ids=positions[i]).logits, wanted[i]):
                        wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def test_positions_far_away_are_better():
    model = tiny("llama")
    positions = torch.arange(64)[None] + 1_000_000
    with torch.no_grad():
        eager = model(IDS, position_ids=positions).logits
        exact = model(IDS, position_ids=positions - 1_000_000).logits  # attention depends on distances alone
        with use(model, exact_angles=True):
            got = model(IDS, position_ids=positions).logits
    assert largest_difference(got, exact) < 2e-5 < 1e-3 < largest_difference(eager, exact)


def test_what_is_said():
    model = tiny("llama")
    replaced = use(model)
    again = use(model)
    assert (
        "Replaced transformers.models.llama.modeling_llama.apply_rotary_pos_emb (half_split, cos c0 c1 ... c0 c1 ...)"
        in str(replaced)
    )
    assert "all models of the same classes" in str(replaced) and "it is this library's already" in str(again)
    again.undo()
    rotary = transformers.models.llama.modeling_llama.apply_rotary_pos_emb
    q, cos = torch.ones(1, 2, 3, 8), torch.ones(1, 3, 8)
    assert rotary.of_rotary_cpu is replaced.functions[0]
    before = replaced.passed_on
    for other in ((q, q, cos.to(torch.float64), cos.to(torch.float64)), (q, q, cos.requires_grad_(), cos)):
        rotary(*other)
    with pytest.raises(RuntimeError):  # the old function's own refusal
        rotary(q, q, torch.ones(1, 3, 6), torch.ones(1, 3, 6))
    assert replaced.passed_on == before + 3
    replaced.undo()
    assert not hasattr(transformers.models.llama.modeling_llama.apply_rotary_pos_emb, "of_rotary_cpu")
    assert "Nothing was replaced" in str(use(torch.nn.Linear(2, 2)))


def test_nearly_all_functions_are_taken():
    root, seen, kept = os.path.dirname(transformers.__file__), 0, []
    for file in sorted(glob.glob(root + "/models/*/modeling_*.py")):
        with open(file, encoding="utf-8") as f:
            if "\ndef apply_rotary_pos_emb(" not in f.read():
                continue
        module = importlib.import_module(f"transformers.models.{file.split('/')[-2]}.{os.path.basename(file)[:-3]}")
        with use_in([module]) as replaced:
            seen += 1
            if not any(f.name == "apply_rotary_pos_emb" for f in replaced.functions):
                kept.append(module.__name__)
    print(f"{seen - len(kept)} of {seen} functions are taken; kept: {', '.join(kept)}")
    assert seen > 100 and kept == ["transformers.models.clvp.modeling_clvp"]  # it has a function of q, k and v
