# SPDX-License-Identifier: MIT
"""Times of the plain functions and of the operator beside transformers' apply_rotary_pos_emb, one thread, medians of one run:
python examples/python/benchmark.py"""

import statistics
import time

import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

import rotary_cpu as rope
import rotary_cpu.torch as rope_torch
from rotary_cpu.transformers import use_in

HEADS, DIM = 32, 128


def median(calls, seconds=1.0):
    """Microseconds of each call, which take turns, so that all see the machine in the same state."""
    for call in calls:
        call()
    began, times = time.perf_counter(), [[] for _ in calls]
    many = max(1, int(5e-4 / max(_once(call) for call in calls)))
    while time.perf_counter() - began < seconds * len(calls) or len(times[0]) < 15:
        for call, t in zip(calls, times):
            begin = time.perf_counter()
            for _ in range(many):
                call()
            t.append((time.perf_counter() - begin) / many * 1e6)
    return [statistics.median(t) for t in times]


def _once(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main():
    torch.set_num_threads(1)
    rope.set_threads(1)
    module = __import__("transformers.models.llama.modeling_llama", fromlist=["_"])
    replaced = use_in([module])
    in_model = module.apply_rotary_pos_emb
    replaced.undo()
    print(f"q and k of [1, {HEADS}, seq, {DIM}], one thread, {rope.active_isa()}, torch {torch.__version__}, medians")
    print(
        f"{'dtype':9}{'seq':>5}{'eager':>11}{'plain':>10}{'ratio':>7}{'operator':>10}{'ratio':>7}{'in a model':>12}{'with gradient':>15}"
    )
    for dtype in (torch.float32, torch.bfloat16):
        for seq in (1, 2048):
            q, k = (torch.randn(1, seq, HEADS, DIM).to(dtype).transpose(1, 2) for _ in range(2))
            table = rope.CosSinCache(rope.Config(DIM, layout="half_split"), seq + 8)
            cos, sin = rope_torch.cos_sin(rope.Config(DIM), torch.arange(seq)[None])
            wide = [torch.cat((t, t), -1).to(dtype) for t in (cos, sin)]
            tracked = q.clone().requires_grad_()
            with torch.no_grad():
                eager, plain, operator, model = median(
                    [
                        lambda: apply_rotary_pos_emb(q, k, *wide),
                        lambda: rope.apply(q, k, table, 5, heads_first=True),
                        lambda: rope_torch.rotate(q, k, cos, sin),
                        lambda: in_model(q, k, *wide),
                    ]
                )
            (gradient,) = median([lambda: rope_torch.rotate(tracked, k, cos, sin)])
            name = str(dtype).removeprefix("torch.")
            print(
                f"{name:9}{seq:5}{eager:9.1f}us{plain:8.1f}us{plain / eager:7.3f}{operator:8.1f}us{operator / eager:7.2f}{model:10.1f}us{gradient:13.1f}us"
            )
    x = torch.randn(1, HEADS, 1, DIM)
    table = rope.CosSinCache(rope.Config(DIM, layout="half_split"), 8)
    one, array = median(
        [
            lambda: rope.apply(x, table, 5, heads_first=True),
            lambda a=x.numpy(): rope.apply(a, table, 5, heads_first=True),
        ]
    )
    print(f"one tensor of one token: torch {one:.2f} us, numpy {array:.2f} us, of which the rotation itself is a part")


if __name__ == "__main__":
    main()
