# SPDX-License-Identifier: MIT
"""Tensors of torch: the plain functions in place, and the operators with gradients."""

import itertools

import numpy as np
import pytest
from reference import angles, rotated

torch = pytest.importorskip("torch", reason="torch is not installed (a download of gigabytes)")
import rotary_cpu as rope  # noqa: E402
import rotary_cpu.torch as rope_torch  # noqa: E402

CONFIG = rope.Config(16, layout="half_split")


def cos_sin(seq, dtype=torch.float32, dim=16):
    return rope_torch.cos_sin(rope.Config(dim), torch.arange(seq), dtype=dtype)


def eager(x, cos, sin):
    """Half-split, as transformers has it: x [batch, heads, seq, head_dim], cos and sin of pairs."""
    cos, sin = (torch.cat((t, t), -1) for t in (cos, sin))
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_plain_functions_write_torchs_memory(dtype):
    table = rope.CosSinCache(CONFIG, 64, dtype="float64" if dtype == torch.float64 else "float32")
    x = torch.randn(2, 5, 4, 16, dtype=dtype).transpose(1, 2)  # heads first, with strides
    wanted = rotated(x.double().transpose(1, 2), angles(range(3, 8), 8), "half_split").swapaxes(1, 2)
    pointer = x.data_ptr()
    rope.apply(x, table, torch.arange(3, 8), heads_first=True)
    largest = {torch.float64: 1e-14, torch.float32: 2e-7, torch.float16: 1e-3, torch.bfloat16: 8e-3}[dtype]
    assert x.data_ptr() == pointer and np.abs(x.double().numpy() - wanted).max() < largest * np.abs(wanted).max()


@pytest.mark.parametrize(
    "kind, sentence, make",
    [
        (
            ValueError,
            "x requires a gradient, which this function would lose; x.detach()",
            lambda: torch.ones(3, 2, 16, requires_grad=True),
        ),
        (ValueError, "x requires a gradient", lambda: torch.nn.Parameter(torch.ones(3, 2, 16))),
        (ValueError, "x cannot be read as memory", lambda: torch.ones(3, 2, 16, device="meta")),
        (ValueError, "x cannot be read as memory", lambda: torch.ones(3, 2, 16).to_sparse()),
        (ValueError, "x is a view that negates", lambda: torch.ones(3, 2, 16, dtype=torch.complex64).conj().imag),
        (ValueError, "x has the dtype complex64", lambda: torch.ones(3, 2, 16, dtype=torch.complex64)),
        (ValueError, "x has the dtype bool8", lambda: torch.ones(3, 2, 16, dtype=torch.bool)),
        (ValueError, "x is one number, expanded", lambda: torch.ones(1).expand(3, 2, 16)),
        (ValueError, "stride", lambda: torch.ones(3, 1, 16).expand(3, 2, 16)),
        (ValueError, "x has the shape", lambda: torch.ones(16)),
    ],
)
def test_what_plain_functions_refuse(kind, sentence, make):
    with pytest.raises(kind, match=sentence):
        rope.apply(make(), rope.CosSinCache(CONFIG, 8))


def test_wrapped_rows_hold_memory_that_torch_gives_up():
    module = torch.nn.Module()
    module.cos = torch.nn.Parameter(torch.ones(20000, 8), requires_grad=False)
    module.sin = torch.nn.Parameter(torch.zeros(20000, 8), requires_grad=False)
    rows = rope.WrappedRows(module.cos, module.sin)
    module.half()
    module.cos.data = torch.empty(0)
    x = torch.randn(4, 1, 16)
    rotated_x = x.clone()
    rope.apply(rotated_x, rows, 19990, layout="half_split")
    assert torch.equal(rotated_x, x)


def test_torch_knows_what_was_written():
    table, w, x = rope.CosSinCache(CONFIG, 8), torch.ones(16, requires_grad=True), torch.randn(4, 2, 16)
    y = (x * w).sum()
    rope.apply(x, table)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    written = torch.randn(4, 2, 16)
    z = (written * w).sum()
    rope.pass_(table, rope.heads(x).rotate().to(written))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    with torch.inference_mode():
        rope.apply(torch.randn(4, 2, 16), table)


def test_a_fake_tensor_has_no_memory():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.ones(3, 2, 16)
    with pytest.raises(ValueError, match="x has no memory"):
        rope.apply(x, rope.CosSinCache(CONFIG, 8))


@pytest.mark.parametrize(
    "layout, dtype, heads_first",
    itertools.product(
        ("half_split", "interleaved"), (torch.float64, torch.float32, torch.float16, torch.bfloat16), (True, False)
    ),
)
def test_operator(layout, dtype, heads_first):
    cos, sin = cos_sin(5, torch.float64 if dtype == torch.float64 else torch.float32, 8)
    q, k = torch.randn(2, 5, 4, 12, dtype=dtype), torch.randn(2, 5, 2, 12, dtype=dtype)
    wanted = [rotated(t.double(), angles(range(5), 4), layout, 3) for t in (q, k)]
    if heads_first:
        q, k = q.transpose(1, 2), k.transpose(1, 2)
    got = rope_torch.rotate(q, k, cos, sin, layout=layout, rotary_offset=3, heads_first=heads_first)
    alone = rope_torch.rotate_one(k, cos, sin, layout=layout, rotary_offset=3, heads_first=heads_first)
    assert torch.equal(alone, got[1])
    largest = {torch.float64: 1e-14, torch.float32: 2e-7, torch.float16: 1e-3, torch.bfloat16: 8e-3}[dtype]
    for x, t, w in zip((q, k), got, wanted):
        assert t.dtype == dtype and t.stride() == x.stride()
        t = (t.transpose(1, 2) if heads_first else t).double().numpy()
        assert np.abs(t - w).max() < largest * np.abs(w).max()


def test_cos_and_sin_of_every_form():
    q, k = torch.randn(2, 3, 5, 16), torch.randn(2, 1, 5, 16)
    cos, sin = rope_torch.cos_sin(CONFIG, [[0, 1, 2, 3, 4], [9, 8, 7, 6, 5]])
    wanted = [eager(x, cos[:, None], sin[:, None]) for x in (q, k)]
    wide = [torch.cat((t, t), -1) for t in (cos, sin)]
    twos = [torch.repeat_interleave(t, 2, -1) for t in (cos, sin)]
    turned = [t.transpose(0, 1).contiguous().transpose(0, 1) for t in (cos, sin)]
    for c, s, pairs in [
        (cos, sin, None),
        (*wide, 8),
        (twos[0][..., ::2], twos[1][..., ::2], None),
        (*turned, None),
        (cos.double(), sin.double(), None),
        (cos, wide[1], 8),
        (wide[0].double(), sin, 8),
    ]:
        for a, b in zip(rope_torch.rotate(q, k, c, s, pairs=pairs), wanted):
            assert torch.allclose(a, b, atol=2e-6)
    half = [t.to(torch.float16) for t in (cos, sin)]
    for a, b in zip(
        rope_torch.rotate(q, k, *half), (eager(x, half[0][:, None].float(), half[1][:, None].float()) for x in (q, k))
    ):
        assert torch.allclose(a, b, atol=2e-6)
    for a, b in zip(
        rope_torch.rotate(q, k, cos[:1], sin[:1]), (eager(x, cos[:1, None], sin[:1, None]) for x in (q, k))
    ):
        assert torch.allclose(a, b, atol=2e-6)


def test_the_other_layout_and_the_other_way():
    x, (cos, sin) = torch.randn(1, 2, 5, 16), cos_sin(5)
    back = rope_torch.rotate_one(rope_torch.rotate_one(x, cos, sin), cos, sin, is_reversed=True)
    assert torch.allclose(back, x, atol=2e-6)
    rotated_pairs = rope_torch.rotate_one(x, cos, sin, layout="interleaved")
    left = rope_torch.rotate_one(x, cos, sin, layout="interleaved", left_as="half_split")
    assert torch.equal(left, torch.cat((rotated_pairs[..., ::2], rotated_pairs[..., 1::2]), -1))


OPTIONS = [
    dict(layout=layout, left_as=left_as, rotary_offset=offset, heads_first=heads_first, is_reversed=is_reversed)
    for layout, left_as, (offset, heads_first, is_reversed) in itertools.product(
        ("half_split", "interleaved"),
        ("half_split", "interleaved"),
        [(0, True, False), (2, False, False), (0, True, True)],
    )
]


@pytest.mark.parametrize("options", OPTIONS)
def test_gradients(options):
    cos, sin = cos_sin(3, torch.float64, 6)
    shape = (
        (1, 2, 3, 8 if options["rotary_offset"] else 6)
        if options["heads_first"]
        else (1, 3, 2, 8 if options["rotary_offset"] else 6)
    )
    q, k = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(2))
    for f, inputs in [
        (lambda a, b: rope_torch.rotate(a, b, cos, sin, **options), (q, k)),
        (lambda a: rope_torch.rotate_one(a, cos, sin, **options), (q,)),
        (lambda a: rope_torch.rotate(a, k.detach(), cos, sin, **options)[0], (q,)),
        (lambda b: rope_torch.rotate(q.detach(), b, cos, sin, **options)[1], (k,)),
    ]:
        assert torch.autograd.gradcheck(f, inputs) and torch.autograd.gradgradcheck(f, inputs)


def test_operators_keep_torchs_rules():
    cos, sin = cos_sin(3, torch.float64, 8)
    q, k = torch.randn(1, 3, 2, 8, dtype=torch.float64).transpose(1, 2).requires_grad_(), torch.randn(
        1, 1, 3, 8, dtype=torch.float64, requires_grad=True
    )
    for leaves in (False, True):
        options = (4, 0, False, leaves, True, False)
        for operator, tensors in [
            (torch.ops.rotary_cpu.rotate.default, (q, k)),
            (torch.ops.rotary_cpu.rotate_one.default, (q,)),
        ]:
            assert set(torch.library.opcheck(operator, (*tensors, cos, sin, *options)).values()) == {"SUCCESS"}


@pytest.mark.parametrize("where", [0, 1, 2, 3])
def test_a_mixture_of_devices_is_refused(where):
    tensors = [torch.randn(1, 2, 5, 16), torch.randn(1, 1, 5, 16), *cos_sin(5)]
    tensors[where] = tensors[where].to("meta")
    with pytest.raises(ValueError, match="tensors are on the devices cpu, meta"):
        rope_torch.rotate(*tensors)
    q, k = rope_torch.rotate(*(t.to("meta") for t in tensors))
    assert q.device.type == "meta" and k.shape == (1, 1, 5, 16)
    with pytest.raises(ValueError, match="cos has the shape"):
        rope_torch.rotate_one(torch.empty(1, 2, 5, 16, device="meta"), *(torch.empty(4, 8, device="meta"),) * 2)


def test_transforms_are_refused():
    x, (cos, sin) = torch.randn(1, 2, 5, 16), cos_sin(5)
    with pytest.raises(ValueError, match="torch.func"):
        torch.func.jvp(lambda t: rope_torch.rotate_one(t, cos, sin), (x,), (x,))
    with pytest.raises(ValueError, match="torch.func"):
        torch.func.grad(lambda t: rope_torch.rotate_one(t, cos, sin).sum())(x)


@pytest.mark.parametrize("shape", [(0, 2, 5, 16), (1, 0, 5, 16), (1, 2, 0, 16)])
def test_no_elements(shape):
    cos, sin = (t.expand(shape[0], -1, -1) for t in cos_sin(shape[2]))
    assert rope_torch.rotate_one(torch.empty(shape), cos, sin).shape == shape


def test_compiled_without_a_break():
    cos, sin = cos_sin(5)

    def f(q, k):
        q, k = rope_torch.rotate(q * 2, k, cos, sin)
        return q.sin(), k

    q, k = torch.randn(1, 4, 5, 16, requires_grad=True), torch.randn(1, 2, 5, 16)
    wanted, got = f(q, k), torch.compile(f, fullgraph=True, backend="aot_eager")(q, k)
    for a, b in zip(got, wanted):
        assert torch.allclose(a, b, atol=1e-6)
    of_wanted, of_got = (torch.autograd.grad(out[0].sum(), q)[0] for out in (wanted, got))
    assert torch.allclose(of_wanted, of_got, atol=1e-6)


@pytest.mark.parametrize(
    "sentence, call",
    [
        (
            r"cos has the shape \[4, 8\]; for seq 5, batch 1 and 8 pairs",
            lambda x, c, s: rope_torch.rotate_one(x, c[:4], s[:4]),
        ),
        (r"sin has the shape", lambda x, c, s: rope_torch.rotate_one(x, c, s[:, :7])),
        (r"cos has the shape", lambda x, c, s: rope_torch.rotate_one(x, c, s, pairs=9)),
        (r"cos has the shape", lambda x, c, s: rope_torch.rotate_one(x, c, s, pairs=-1)),
        (r"cos has the shape", lambda x, c, s: rope_torch.rotate_one(x, torch.stack([c] * 3), torch.stack([s] * 3))),
        ("cos has another dtype", lambda x, c, s: rope_torch.rotate_one(x, c.int(), s.int())),
        ("q has another dtype", lambda x, c, s: rope_torch.rotate_one(x.int(), c, s)),
        ("q has 2 dimensions", lambda x, c, s: rope_torch.rotate_one(x[0, 0], c, s)),
        ("rotary_offset|head_dim|pairs", lambda x, c, s: rope_torch.rotate_one(x, c, s, rotary_offset=2)),
        ("k differs from q", lambda x, c, s: rope_torch.rotate(x, x[..., :4, :], c, s)),
        ("k differs from q", lambda x, c, s: rope_torch.rotate(x, x[..., :14], c, s)),
        ("k differs from q", lambda x, c, s: rope_torch.rotate(x, x.double(), c, s)),
        ("layout is 'x'", lambda x, c, s: rope_torch.rotate_one(x, c, s, layout="x")),
        ("left_as is 'x'", lambda x, c, s: rope_torch.rotate_one(x, c, s, left_as="x")),
        (
            "requires a gradient, which the operator does not have",
            lambda x, c, s: rope_torch.rotate_one(x, c.clone().requires_grad_(), s),
        ),
    ],
)
def test_what_operators_refuse(sentence, call):
    with pytest.raises((ValueError, RuntimeError), match=sentence):
        call(torch.randn(1, 2, 5, 16), *cos_sin(5))


def test_threads_write_the_same_bits():
    before, x, (cos, sin) = torch.get_num_threads(), torch.randn(1, 32, 1024, 128), cos_sin(1024, dim=128)
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(rope_torch.rotate_one(x, cos, sin))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(r, results[0]) for r in results)
