# SPDX-License-Identifier: MIT
"""Rotations of numpy's arrays, against float64."""

import threading
import time
import weakref

import numpy as np
import pytest
from reference import angles, error, numbers, plain_of, rotated, table_for

import rotary_cpu as rope

LAYOUTS = ("half_split", "interleaved")
# By dtype: the largest error in parts of the largest feature. The limit of float64 is the reference's error, whose angles are rounded.
DTYPES = {"float64": 1e-14, "float32": 1.5e-7, "float16": 7e-4, "bfloat16": 5e-3}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DTYPES)
def test_in_place_in_every_dtype(name, layout):
    x = numbers((2, 9, 3, 64), name)
    wanted = rotated(x, angles(range(100, 109), 32), layout)
    rope.apply(x, table_for(name), 100, layout=layout)
    assert error(x, wanted) < DTYPES[name]


@pytest.mark.parametrize("name", DTYPES)
def test_any_strides(name):
    table = table_for(name, layout="half_split")
    whole = numbers((2, 9, 6, 128), name)
    wanted = whole.copy()
    wanted = np.asarray(wanted, "f8")
    wanted[:, ::-1, 1::2, 64:] = rotated(whole[:, ::-1, 1::2, 64:], angles(range(9), 32), "half_split")
    rope.apply(whole[:, ::-1, 1::2, 64:], table)
    assert error(whole, wanted) < DTYPES[name]
    first = numbers((2, 3, 9, 64), name)
    wanted = np.swapaxes(rotated(np.swapaxes(first, 1, 2), angles(range(9), 32), "half_split"), 1, 2)
    rope.apply(first, table, heads_first=True)
    assert error(first, wanted) < DTYPES[name]
    features = numbers((9, 3, 128), name)
    wanted = rotated(features[..., ::2], angles(range(9), 32), "half_split")
    rope.apply(features[..., ::2], table)
    assert error(features[..., ::2], wanted) < DTYPES[name]


def test_two_tensors_and_copies():
    table = table_for("float32", layout="half_split")
    q, k = numbers((5, 8, 64)), numbers((5, 2, 64), seed=1)
    turned = angles(range(7, 12), 32)
    wanted_q, wanted_k = rotated(q, turned, "half_split"), rotated(k, turned, "half_split")
    out = np.zeros((5, 8, 64), "float16")
    rope.apply_copy(q, out, table, 7)
    assert error(out, wanted_q) < 7e-4
    rope.apply(q, k, table, positions=7)
    assert error(q, wanted_q) < 2e-7 and error(k, wanted_k) < 2e-7


def test_positions_of_every_kind():
    table = table_for("float32", layout="interleaved")
    x = numbers((2, 4, 3, 64))
    ids = np.array([[5, 9, 1, 300], [0, 0, 7, 2]])
    for given, at in [
        (ids, ids),
        (ids.astype("int32"), ids),
        (ids[0], [ids[0]] * 2),
        (list(ids[1]), [ids[1]] * 2),
        (np.int64(6), [range(6, 10)] * 2),
        (rope.Starts([3, 90]), [range(3, 7), range(90, 94)]),
        (np.asfortranarray(ids), ids),
        (ids[::-1, ::-1], ids[::-1, ::-1]),
        (tuple(int(i) for i in ids[0]), [ids[0]] * 2),
    ]:
        y = x.copy()
        rope.apply(y, table, given)
        assert error(y, rotated(x, angles(at, 32), "interleaved")) < 2e-7


def test_back_again():
    config = rope.Config(64, layout="half_split", attention_factor=1.5)
    table = rope.CosSinCache(config, 64)
    x = numbers((6, 2, 64))
    y = x.copy()
    rope.apply(y, table, 3)
    assert error(y, 1.5 * rotated(x, angles(range(3, 9), 32), "half_split")) < 2e-7
    back, gradient = y.copy(), np.empty_like(y)
    rope.apply_inverse(back, table, 3)
    rope.apply_transpose_copy(y, gradient, table, 3)
    assert error(back, x) < 3e-7 and error(gradient, 2.25 * x) < 3e-7


def test_schedules_and_frequencies():
    plain, factor = rope.Config(64, base=5e5).frequencies()
    assert factor == 1 and error(plain, 5e5 ** (-np.arange(32) / 32)) < 1e-15
    schedules = [
        rope.Ntk(factor=4),
        rope.DynamicNtk(factor=4, max_position_embeddings=1024),
        rope.Yarn(factor=4, original_max_position_embeddings=4096),
        rope.Llama3(factor=8),
        rope.LongRope(
            short_factors=[1.0] * 32, long_factors=[2.0] * 32, original_max_position_embeddings=4096, factor=4
        ),
        rope.Proportional(partial_rotary_factor=0.5),
        rope.Axial(axes=2),
        rope.XPosQueries(),
        rope.XPosKeys(),
        rope.FreqFactors([2.0] * 32),
        rope.Custom(list(np.linspace(1, 0.1, 32))),
    ]
    for schedule in schedules:
        frequencies, _ = rope.Config(64, schedule=schedule).frequencies(8192)
        assert np.isfinite(frequencies).all() and len(frequencies) == 32
    yarn, factor = rope.Config(64, schedule=schedules[2]).frequencies()
    assert error(yarn[-1], plain_of(64)[-1] / 4) < 1e-15 and yarn[0] == 1 and error(factor, 0.1 * np.log(4) + 1) < 1e-15
    assert error(rope.Config(64, schedule=schedules[9]).frequencies()[0], plain_of(64) / 2) < 1e-15
    halved = rope.Config(64, interpolation_factor=2.0)
    assert error(halved.frequencies()[0], plain_of(64) / 2) < 1e-15


def test_rows_on_axes_and_fractions():
    rows = rope.Rows(rope.Config(64, layout="half_split"), axes=rope.mrope_sections([8, 12, 12]))
    at = np.array([[3, 4, 5], [0, 7, 1], [9, 9, 2]])
    rows.build(at)
    sections = np.repeat([0, 1, 2], [8, 12, 12])
    turned = at[sections].T * plain_of(64)
    x = numbers((3, 2, 64))
    y = x.copy()
    rope.apply(y, rows)
    assert len(rows) == 3 and error(y, rotated(x, turned, "half_split")) < 2e-7
    rows.build(np.int64(3), seq=2)
    rows.build([5, 6])  # the same on all axes
    y = x[:2].copy()
    rope.apply(y, rows)
    assert error(y, rotated(x[:2], angles([5, 6], 32), "half_split")) < 2e-7
    fractions = rope.Rows(rope.Config(64, layout="half_split"))
    fractions.build(np.array([[0.5, 2.25, -3.0], [1.0, 1.5, 2.0]]))
    y = numbers((2, 3, 2, 64))
    wanted = rotated(y, angles([[0.5, 2.25, -3.0], [1.0, 1.5, 2.0]], 32), "half_split")
    rope.apply(y, fractions)
    assert error(y, wanted) < 2e-7
    fractions.build(4, seq=3)
    written = np.empty((3, 64), "float32")
    rope.write_rows(fractions, written)
    assert error(written[:, :32], np.cos(angles([4, 5, 6], 32))) < 6e-8


def test_wrapped_rows_are_read_in_place():
    turned = angles(range(4), 32)
    cos = np.concatenate([np.cos(turned)] * 2, -1).astype("float32")
    sin = np.concatenate([np.sin(turned)] * 2, -1).astype("float32")
    rows = rope.WrappedRows(cos, sin, pairs=32)
    x = numbers((4, 2, 64))
    y = x.copy()
    rope.apply(y, rows, layout="half_split")
    assert error(y, rotated(x, turned, "half_split")) < 2e-7
    cos[:], sin[:] = 1, 0
    y = x.copy()
    rope.apply(y, rows, layout="half_split")
    assert (y == x).all()
    held = weakref.ref(cos)
    del cos, sin
    assert held() is not None  # by the rows
    del rows
    assert held() is None
    with pytest.raises(ValueError, match="sin differs from cos"):
        rope.WrappedRows(np.zeros((4, 32), "f4"), np.zeros((4, 31), "f4"))


def test_threads_write_the_same_bits_and_python_goes_on():
    table = rope.CosSinCache(rope.Config(128, layout="half_split"), 4096)
    x = numbers((4096, 32, 128))
    before = rope.get_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            rope.set_threads(threads)
            assert rope.get_threads() == threads
            y = x.copy()
            rope.apply(y, table)
            results.append(y)
        assert all((y == results[0]).all() for y in results)
        copies = [x.copy() for _ in range(3)]  # calls at the same time
        workers = [threading.Thread(target=rope.apply, args=(c, table)) for c in copies]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        assert all((c == results[0]).all() for c in copies)
        rope.set_threads(1)
        ended = []

        def work():
            for _ in range(8):
                rope.apply(x, table)
            ended.append(time.monotonic())

        worker = threading.Thread(target=work)
        worker.start()
        counted = 0
        while not ended:
            counted += 1
        worker.join()
        assert counted > 100  # this thread ran beside the calls, not only between them
    finally:
        rope.set_threads(before)
