# SPDX-License-Identifier: MIT
"""Operators of torch: rotation of q and k by given cosines and sines, with gradients, also under torch.compile.

    cos, sin = rotary_cpu.torch.cos_sin(rotary_cpu.Config(128), torch.arange(seq))
    q, k = rotary_cpu.torch.rotate(q, k, cos, sin)  # [batch, heads, seq, 128]

Tensors are of the CPU, and may have any strides. Torch's threads do the work.
"""

import pathlib

import torch
import torch.autograd.forward_ad as forward_ad

from . import Config, Rows, write_rows

__all__ = ["cos_sin", "rotate", "rotate_one"]

_binary = next(pathlib.Path(__file__).parent.glob("_torch*.so"), None)
if _binary is None:
    raise ImportError("rotary_cpu.torch is there on Linux alone; the plain functions of rotary_cpu take tensors, too.")
if tuple(int(n) for n in torch.__version__.split(".")[:2]) < (2, 10):
    raise ImportError(f"rotary_cpu.torch needs torch 2.10 or later, and this is {torch.__version__}.")

_library = torch.library.Library("rotary_cpu", "DEF")
_OPTIONS = (
    "int pairs, int rotary_offset, bool is_interleaved, bool leaves_interleaved, bool is_heads_first, bool is_transpose"
)
for _schema in (
    f"rotate(Tensor q, Tensor k, Tensor cos, Tensor sin, {_OPTIONS}) -> (Tensor, Tensor)",
    f"rotate_one(Tensor x, Tensor cos, Tensor sin, {_OPTIONS}) -> Tensor",
):
    _library.define(_schema, tags=(torch.Tag.pt2_compliant_tag,))
torch.ops.load_library(_binary)
_rotate, _rotate_one = torch.ops.rotary_cpu.rotate.default, torch.ops.rotary_cpu.rotate_one.default


def _fake(x, cos, sin, pairs, is_heads_first):
    """Empty results, for tensors without memory. Torch calls it for a mixture of those and others, too."""
    places = {t.device.type for t in (*x, cos, sin)}
    if len(places) != 1:
        raise ValueError(
            f"tensors are on the devices {', '.join(sorted(places))}; the CPU is allowed, for all of them."
        )
    seq = x[0].shape[-2 if is_heads_first else -3]
    for name, t in (("cos", cos), ("sin", sin)):
        if t.dim() not in (2, 3) or t.shape[-2] != seq or t.shape[-1] < pairs:
            raise ValueError(
                f"{name} has the shape {list(t.shape)}; for seq {seq} and {pairs} pairs, [seq, n] and [batch or 1, seq, n] are allowed."
            )
    return tuple(torch.empty_like(t) for t in x)


@torch.library.register_fake("rotary_cpu::rotate")
def _(q, k, cos, sin, pairs, rotary_offset, is_interleaved, leaves_interleaved, is_heads_first, is_transpose):
    return _fake((q, k), cos, sin, pairs, is_heads_first)


@torch.library.register_fake("rotary_cpu::rotate_one")
def _(x, cos, sin, pairs, rotary_offset, is_interleaved, leaves_interleaved, is_heads_first, is_transpose):
    return _fake((x,), cos, sin, pairs, is_heads_first)[0]


def is_transformed():
    """Whether tensors are those of forward-mode gradients or of torch.func, whose rules the operators do not have."""
    return forward_ad._current_level >= 0 or torch._C._functorch.peek_interpreter_stack() is not None


# The gradient of a rotation is the rotation back, with the factor on cos and sin: the operator's transpose.
def _keep(ctx, inputs, output):
    *_, cos, sin, pairs, rotary_offset, is_interleaved, leaves_interleaved, is_heads_first, is_transpose = inputs
    ctx.save_for_backward(cos, sin)
    ctx.options = (pairs, rotary_offset, leaves_interleaved, is_interleaved, is_heads_first, not is_transpose)


def _back_of_two(ctx, of_q, of_k):
    if of_q is not None and of_k is not None:
        of_q, of_k = _rotate(of_q, of_k, *ctx.saved_tensors, *ctx.options)
    elif of_q is not None:
        of_q = _rotate_one(of_q, *ctx.saved_tensors, *ctx.options)
    elif of_k is not None:
        of_k = _rotate_one(of_k, *ctx.saved_tensors, *ctx.options)
    return of_q, of_k, None, None, *(None,) * len(ctx.options)


def _back_of_one(ctx, of_x):
    return _rotate_one(of_x, *ctx.saved_tensors, *ctx.options), None, None, *(None,) * len(ctx.options)


torch.library.register_autograd("rotary_cpu::rotate", _back_of_two, setup_context=_keep)
torch.library.register_autograd("rotary_cpu::rotate_one", _back_of_one, setup_context=_keep)


_LAYOUTS = ("half_split", "interleaved")


def _options(cos, sin, layout, left_as, pairs, rotary_offset, heads_first, is_reversed):
    if not torch.compiler.is_compiling() and is_transformed():
        raise ValueError(
            "q is inside of torch.func or of forward-mode gradients, which the operators do not have; backward is allowed."
        )
    if cos.requires_grad or sin.requires_grad:
        raise ValueError(
            "cos or sin requires a gradient, which the operator does not have; cos.detach() is allowed. "
            "rotary_cpu.add_angle_gradients has the gradient of angles."
        )
    for name, value in (("layout", layout), ("left_as", left_as or layout)):
        if value not in _LAYOUTS:
            raise ValueError(f"{name} is {value!r}; 'half_split' and 'interleaved' are allowed.")
    return (
        cos.shape[-1] if pairs is None else pairs,
        rotary_offset,
        layout == "interleaved",
        (left_as or layout) == "interleaved",
        heads_first,
        is_reversed,
    )


def rotate(
    q,
    k,
    cos,
    sin,
    *,
    layout="half_split",
    left_as=None,
    pairs=None,
    rotary_offset=0,
    heads_first=True,
    is_reversed=False,
):
    """Returns q and k, rotated: new tensors of the same dtypes, in the strides of torch.empty_like, with gradients.

    q, k: [batch, heads, seq, head_dim], or with heads_first=False [batch, seq, heads, head_dim]; batch may be left out. cos, sin:
    [seq, n] or [batch or 1, seq, n], of any floating dtype, of which the first `pairs` numbers count (None: all n), one for each
    pair. 2 * pairs features rotate, from rotary_offset on. layout: 'half_split' (rotate_half) or 'interleaved'. left_as: the
    layout in which pairs are left, if it is another. is_reversed: by the negative angle. Raises ValueError, and RuntimeError
    from the operator."""
    return _rotate(q, k, cos, sin, *_options(cos, sin, layout, left_as, pairs, rotary_offset, heads_first, is_reversed))


def rotate_one(
    x, cos, sin, *, layout="half_split", left_as=None, pairs=None, rotary_offset=0, heads_first=True, is_reversed=False
):
    """Returns x, rotated. See rotate."""
    return _rotate_one(
        x, cos, sin, *_options(cos, sin, layout, left_as, pairs, rotary_offset, heads_first, is_reversed)
    )


def cos_sin(config: Config, positions, *, axes=None, dtype=torch.float32, seq_len=0):
    """Returns cos and sin, [seq, pairs] or [batch, seq, pairs], of float32 or float64; float32 within 0.501 ulp below 2^31.

    positions: a tensor or list, [seq] or [batch, seq]; with axes [seq], [axes, seq] or [axes, batch, seq]."""
    rows = Rows(config, axes=axes, dtype=str(dtype).removeprefix("torch."), seq_len=seq_len)
    positions = torch.as_tensor(positions)
    if positions.dim() not in (1, 2, 3):
        raise ValueError(f"positions has {positions.dim()} dimensions; 1, 2 and 3 are allowed.")
    has_axes = positions.dim() == 3 or (positions.dim() == 2 and axes is not None)
    shape = positions.shape[1:] if has_axes else positions.shape
    rows.build(positions.flatten(1) if has_axes else positions.flatten())
    both = torch.empty(*shape, 2 * rows.pairs, dtype=dtype)
    write_rows(rows, both.flatten(0, -2))
    return both[..., : rows.pairs], both[..., rows.pairs :]
