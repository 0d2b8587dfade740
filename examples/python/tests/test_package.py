# SPDX-License-Identifier: MIT
"""The package as a whole: its demo, stubs, docstrings, what it leaves behind."""

import ast
import importlib.resources
import json
import multiprocessing
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import rotary_cpu as rope


def run(*arguments, **more):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=600, **more
    )


def test_the_demo():
    done = run("-m", "rotary_cpu")
    assert done.returncode == 0 and done.stderr == ""
    print(done.stdout)
    assert "refused: positions start at 131071 and seq is 2048; this cache holds positions 0 to 131071." in done.stdout


def test_nothing_is_left_at_the_end():
    done = run(
        "-c",
        "import numpy, rotary_cpu as r; t = r.CosSinCache(r.Config(8, layout='half_split'), 8);"
        "x = numpy.ones((2, 1, 8), 'f4'); r.apply(x, t); p = r.heads(x).rms_norm(x[0, 0]).rotate(t, [1, 2]).to(r.Paged(x[None], [0, 1]))",
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr  # nanobind says what leaks


def public():
    return {
        name: thing
        for name, thing in vars(rope).items()
        if not name.startswith("_") and getattr(thing, "__module__", "").startswith("rotary_cpu")
    }


def test_everything_has_a_docstring_and_a_stub():
    stub = ast.parse(importlib.resources.files("rotary_cpu").joinpath("_core.pyi").read_text())
    in_stub = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names = public()
    assert len(names) > 45
    for name, thing in names.items():
        assert thing.__doc__, f"{name} has no docstring"
        if thing.__module__ == "rotary_cpu._core":
            assert name in in_stub, f"{name} is not in the stub"
    assert importlib.resources.files("rotary_cpu").joinpath("py.typed").is_file()


def threads_here():
    """How many threads this process has; 3 where the system does not say it."""
    tasks = pathlib.Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else 3


def in_child(queue):
    table = rope.CosSinCache(rope.Config(128, layout="half_split"), 4096)
    x = np.ones((4096, 32, 128), "float32")
    rope.apply(x, table)
    queue.put((float(x.sum()), threads_here()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
def test_threads_after_a_fork():
    context = multiprocessing.get_context("fork")
    results, before = context.Queue(), rope.get_threads()
    try:
        rope.set_threads(3)
        in_child(results)  # here, so that threads wait
        child = context.Process(target=in_child, args=(results,))
        child.start()
        child.join(60)
        (here, _), (there, threads) = results.get(timeout=5), results.get(timeout=5)
        assert child.exitcode == 0 and here == there and threads >= 3  # its own: those of this process are not there
    finally:
        rope.set_threads(before)


def test_torch_is_not_imported():
    done = run("-c", "import sys, rotary_cpu; print('torch' in sys.modules, 'numpy' in sys.modules)")
    assert done.stdout == "False False\n"


def test_a_short_fuzz():
    done = run("-W", "ignore", str(pathlib.Path(__file__).with_name("fuzz.py")), "3", "11")
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


def test_the_programs_of_the_readme(tmp_path, monkeypatch):
    """One after another, as they stand there, with a model where a reader has one."""
    config = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8}
    config |= {"num_hidden_layers": 2, "rope_theta": 500000.0, "max_position_embeddings": 8192}
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    readme = pathlib.Path(__file__).parent.parent / "README.md"
    programs = re.findall(r"```python\n(.*?)```", readme.read_text(), re.S)
    names = {"q_weight": np.ones(128, "float32"), "k_weight": np.ones(128, "float32")}
    assert len(programs) == 5
    for program in programs:
        if "torch" in program:
            pytest.importorskip("torch", reason="torch is not installed")
        if "transformers" in program:
            pytest.importorskip("transformers", reason="transformers is not installed")
            from tiny_models import IDS, tiny

            names["model"] = tiny("llama")
            program = program.replace("(...)", "(IDS)")
            names["IDS"] = IDS[:1, :4]
        exec(program, names)
    assert names["q"].shape == (1, 32, 2048, 128)


RECIPES = pathlib.Path(__file__).parent.parent / "recipes"


@pytest.mark.parametrize("name", sorted(p.name for p in RECIPES.glob("*.py")))
def test_recipe(name):
    source = (RECIPES / name).read_text()
    for package in ("torch", "transformers"):
        if f"import {package}" in source:
            pytest.importorskip(package, reason=f"{package} is not installed")
    done = run("-W", "ignore", str(RECIPES / name))
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
