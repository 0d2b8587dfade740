# SPDX-License-Identifier: MIT
"""Calls with arrays and arguments of any kind: python tests/fuzz.py SECONDS [SEED]. A crash, an exception of another kind, or a
byte written outside of a view that may be written ends it."""

import random
import sys
import time

import numpy as np

import rotary_cpu as rope

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
try:
    import torch

    import rotary_cpu.torch as rope_torch
except ImportError:
    torch = None

ALLOWED = (ValueError, IndexError, TypeError, MemoryError, OverflowError, BufferError, RuntimeError)
GUARD = 64  # bytes before and behind, which nothing may change


class Choices(random.Random):
    """Most calls are nearly right: odd(usual, *others) is the usual value, but for a share that differs by call."""

    share = 0.1

    def odd(self, usual, *others):
        return self.choice(others) if self.random() < self.share else usual


def dtype(rng):
    other = np.dtype(
        rng.choice(["float64", "float16", "int8", "uint8", "int32", "int64", "complex64", "bool", ">f4", "object"])
    )
    if ml_dtypes is not None and rng.random() < 0.3:
        other = np.dtype(
            rng.choice([ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4])
        )
    return rng.odd(np.dtype("float32"), other)


class Arrays:
    """Views of guarded memory, made for one call."""

    def __init__(self, rng):
        self.rng, self.memory = rng, []

    def of(self, shape, kind=None):  # of shape and kind, or of a kind that is drawn
        rng = self.rng
        kind = kind or dtype(rng)
        if kind == object:
            return np.full(shape, None)
        count = int(np.prod(shape, dtype=np.int64))
        spread = rng.choice([1, 1, 1, 2, 3])
        base = np.frombuffer(bytearray(2 * GUARD + max(count * spread, 1) * kind.itemsize), "u1")
        base[:] = np.frombuffer(rng.randbytes(base.size), "u1")
        inner = base[GUARD:-GUARD][: count * spread * kind.itemsize].view(kind)
        if kind.kind == "f" and kind.isnative:
            inner[...] = 1
        view = inner[::spread].reshape(shape) if spread > 1 else inner.reshape(shape)
        if rng.random() < 0.3 and view.ndim > 1:
            order = rng.sample(range(view.ndim), view.ndim)
            view = np.moveaxis(view.reshape([shape[i] for i in order]), range(view.ndim), order)
        if rng.random() < 0.2:
            view = view[tuple(slice(None, None, rng.choice([1, -1])) for _ in shape)]
        self.memory.append((base, base.copy(), count * spread * kind.itemsize))
        if rng.odd(False, True):
            view = np.broadcast_to(view[:1] if view.ndim else view, shape) if shape and shape[0] else view
        if rng.odd(False, True):
            view.flags.writeable = False
        if torch is not None and rng.random() < 0.3 and view.flags.writeable:
            try:
                view = torch.from_numpy(view)
                choice = rng.odd(1, 0.05, 0.15, 0.32)
                if choice < 0.1:
                    view = view.to("meta")
                elif choice < 0.2 and view.is_floating_point():
                    view = view.clone().requires_grad_()
                elif view.is_floating_point() and rng.random() < 0.3:
                    view = view.clone().to(torch.bfloat16)
                elif choice < 0.35 and view.dim() > 0:
                    view = view[..., :1].expand(view.shape)
            except (TypeError, ValueError, RuntimeError):
                pass  # not a kind that torch has
        return view

    def check(self):
        for base, before, size in self.memory:
            if not (
                np.array_equal(base[:GUARD], before[:GUARD])
                and np.array_equal(base[GUARD + size :], before[GUARD + size :])
            ):
                raise SystemExit("a byte outside of an array was written")


def shape(rng, seq=3):
    usual = (rng.odd(2, 1, 3), rng.odd(seq, 0, 1, 5), rng.odd(2, 1, 4), rng.odd(8, 16, 7, 0))
    return rng.odd(usual, usual[1:], usual[2:], tuple(rng.choice([0, 1, 2, 8]) for _ in range(rng.randrange(6))))


def positions(rng):
    ids = [rng.odd(n, 63, 64, -1, 2**33) for n in (0, 7, 3)][: rng.odd(3, 0, 2)]
    kind = np.dtype(rng.odd("int64", "int32", "float32", "float64", "int8"))
    array = np.asarray(np.random.default_rng(rng.randrange(99)).integers(0, 9, shape(rng)[: rng.odd(2, 1, 3)])).astype(
        kind
    )
    return rng.odd(
        rng.choice([0, 5, ids, tuple(ids), array, array[::-1] if array.ndim else array, rope.Starts([0, 3]), None]),
        -1,
        2**40,
        -(2**62),
        2**64,
        "all",
        0.5,
        rope.Starts("x"),
        True,
        np.int64(3),
        np.float32(2),
    )


def config(rng):
    schedule = rng.odd(
        None,
        rope.Ntk(factor=rng.choice([2, float("nan"), 1e300])),
        rope.FreqFactors([1.0] * rng.choice([4, 3, 0])),
        rope.Yarn(factor=4, original_max_position_embeddings=rng.choice([64, -1])),
        rope.XPosQueries(),
        rope.Custom([1.0] * 8),
    )
    return rope.Config(
        rng.odd(8, 16, 7, -2, 2**40),
        layout=rng.odd("half_split", None, "interleaved"),
        schedule=schedule,
        rotary_dim=rng.odd(None, 4, 8, 3, -4),
        rotary_offset=rng.odd(0, 4, -1, 2**60),
    )


def rows(rng, arrays):
    made = rng.random()
    if made < 0.5:
        is_compact = rng.random() < 0.2  # such a table may be huge, and takes seconds
        most = 2**20 if is_compact else 2**50
        return rope.CosSinCache(
            config(rng), rng.odd(64, 1, 0, -1, most), dtype=rng.odd("float32", "float64"), is_compact=is_compact
        )
    if made < 0.75:
        r = rope.Rows(config(rng), axes=rng.odd(None, rope.mrope_sections([2, 2]), rope.mrope_interleaved([1, 2, 1])))
        r.build(positions(rng), seq=rng.odd(3, None, 5, 0, -1), batch=rng.odd(2, 1, 0, -1))
        return r
    kind, n, lead = np.dtype(rng.odd("float32", "float64")), rng.odd(4, 8, 3), rng.odd((8,), (2, 3), (0,), ())
    both = [rng.odd(np.ones((*lead, n), kind), arrays.of((*lead, n), kind)) for _ in range(2)]
    return rng.odd(rope.WrappedRows(*both, pairs=rng.odd(None, 4, 99, -1)), None, 3, "rows")


def moves(rng):
    r = rope.Moves(config(rng))
    rng.choice(
        [
            lambda: r.build(rng.odd(-3, 0, 2**62)),
            lambda: r.build_each(positions(rng), seq=3, batch=2),
            lambda: r.build_between(positions(rng), positions(rng), seq=3, batch=2),
        ]
    )()
    return r


def heads(rng, arrays):
    made = rng.random()
    if made < 0.5:
        return arrays.of(shape(rng))
    if made < 0.75:
        slots = [rng.odd(n, 0, -1, 99, -(2**63)) for n in range(rng.odd(6, 3, 0))]
        return rope.Paged(arrays.of((3, 4, 2, 8)), slots, heads_first=rng.odd(False, True))
    name, size = rng.choice(
        [("int8", 8), ("uint8", 8), ("int4", 4), ("fp8_e4m3", 8), ("q8_0", 34), ("q4_0", 18), ("mxfp4", 4)]
    )
    lead = shape(rng)[:-1]
    codes = arrays.of(
        (*lead, rng.odd(size, 8, 4, 16)), np.dtype(rng.odd("int8" if name == "int8" else "uint8", "int8"))
    )
    scales = None if size > 16 else arrays.of((*lead, rng.odd(1, 2)), np.dtype("float32"))
    zeros = arrays.of((*lead, 1), np.dtype("float32")) if name == "uint8" else None
    return rope.Quantised(
        name,
        codes,
        rng.odd(scales, None),
        rng.odd(zeros, None),
        are_given=rng.odd(False, True),
        scale=rng.odd(None, 2.0),
    )


def path(rng, arrays):
    p = rope.heads(heads(rng, arrays), heads_first=rng.odd(False, True))
    for _ in range(rng.randrange(4)):
        rng.choice(
            [
                lambda: p.rotate(),
                lambda: p.rms_norm(arrays.of(rng.odd((8,), (2, 8), (7,)), np.dtype("float32"))),
                lambda: p.round(),
                lambda: p.multiply(rng.choice([2.0, 3])),
                lambda: p.hadamard(rng.odd(0, 4, 3)),
                lambda: p.rotate_inverse(),
                lambda: p.clamp(rng.odd(1.0, -1.0)),
                lambda: p.add(arrays.of(rng.odd((8,), shape(rng)), np.dtype("float32"))),
                lambda: p.layer_norm(),
            ]
        )()
    if rng.random() < 0.6:
        p.to(
            heads(rng, arrays),
            heads_first=rng.odd(None, True),
            first_feature=rng.odd(0, 4, -1),
            features=rng.odd(0, 4, 2**60),
        )
    return p


def tensor(rng, shape):
    kind = rng.odd(torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32)
    t = torch.ones(
        shape, dtype=kind, device=rng.odd("cpu", "meta"), requires_grad=kind.is_floating_point and rng.odd(False, True)
    )
    return rng.odd(
        t, t.transpose(-1, -2), t[..., ::2], t[..., :1].expand(t.shape), torch.ones((), dtype=kind).expand(shape)
    )


def operator(rng):
    """A call of torch's operators; one that changes memory that it does not own ends the process sooner or later."""
    seq, dim, heads_first = rng.odd(3, 0, 1), rng.odd(8, 16, 7), rng.odd(True, False)
    lead = rng.odd((2,), (0,), (), (2, 2))
    q, k = (tensor(rng, (*lead, *((h, seq) if heads_first else (seq, h)), dim)) for h in (2, rng.odd(2, 1, 0)))
    rows = rng.odd((2, seq, 4), (1, seq, 4), (seq, 4), (3, seq, 4), (seq + 1, 4), (2, seq, 8), (2, seq, 3), (4,))
    cos, sin = tensor(rng, rows), tensor(rng, rows)
    options = dict(
        layout=rng.odd("half_split", "interleaved"),
        left_as=rng.odd(None, "interleaved"),
        pairs=rng.odd(None, 3, 5, -1, 2**40),
        rotary_offset=rng.odd(0, 2, -2, 2**62),
        heads_first=heads_first,
        is_reversed=rng.odd(False, True),
    )
    if rng.random() < 0.5:
        out = rope_torch.rotate(q, k, cos, sin, **options)
    else:
        out = (rope_torch.rotate_one(q, cos, sin, **options),)
    for t in out:
        if t.requires_grad:
            t.sum().backward()


def one(rng, arrays):
    if torch is not None and rng.random() < 0.1:
        return operator(rng)
    r = rows(rng, arrays)
    x = arrays.of(shape(rng))
    layout, first, at = rng.odd("half_split", None, "interleaved", "x"), rng.odd(False, True), positions(rng)
    rng.choice(
        [
            lambda: rope.apply(x, r, at, layout=layout, heads_first=first),
            lambda: rope.apply_inverse(x, arrays.of(shape(rng)), r, at, layout=layout, heads_first=first),
            lambda: rope.apply_copy(
                x, arrays.of(rng.odd(tuple(x.shape), shape(rng))), r, at, layout=layout, heads_first=first
            ),
            lambda: rope.apply_transpose(x, rng.odd(arrays.of(shape(rng)), x), r, at, layout=layout),
            lambda: rope.pass_(
                r, *[path(rng, arrays) for _ in range(rng.odd(1, 0, 2, 9))], positions=at, layout=layout
            ),
            lambda: rope.pass_(None, path(rng, arrays)),
            lambda: rope.reposition(heads(rng, arrays), moves(rng), hadamard_block=rng.odd(None, 0, 4, -3)),
            lambda: rope.write_rows(r, arrays.of(rng.odd((3, 8), (2, 3, 8), (3, 7)), np.dtype("float32")), at),
            lambda: rope.sum_squares(path(rng, arrays), arrays.of((2, 3, 1, 1), np.dtype("float64"))),
            lambda: rope.add_angle_gradients(x, x, r, arrays.of((2, 3, 1, 4), np.dtype("float64"))),
            lambda: rope.pass_backward(r, path(rng, arrays), x, arrays.of(tuple(x.shape)), positions=at),
        ]
    )()


def main(seconds, seed):
    rng, end, calls, answered = Choices(seed), time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        arrays = Arrays(rng)
        rng.share = rng.choice([0, 0.02, 0.1, 0.4])
        calls += 1
        try:
            one(rng, arrays)
            answered += 1
        except ALLOWED as error:
            if len(str(error)) < 10 or (isinstance(error, RuntimeError) and "bad_cast" in str(error)):
                raise SystemExit(f"no sentence: {error!r}") from error
        arrays.check()
    print(f"{calls} calls, {answered} answered, the others refused with a sentence")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 300, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
