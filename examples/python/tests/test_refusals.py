# SPDX-License-Identifier: MIT
"""What is refused, each with a sentence, and nothing written."""

import numpy as np
import pytest

import rotary_cpu as rope

TABLE = rope.CosSinCache(rope.Config(8, layout="half_split"), 16)
ANY_LAYOUT = rope.CosSinCache(rope.Config(8), 16)


def x(*shape, dtype="float32"):
    return np.ones(shape or (3, 2, 8), dtype)


def read_only():
    a = x()
    a.flags.writeable = False
    return a


class OnAGpu:
    """What an array on another device says of itself."""

    shape, dtype = (3, 2, 8), np.dtype("float32")

    def __dlpack__(self, **_):
        raise BufferError("it is in the memory of a GPU")

    def __dlpack_device__(self):
        return (2, 0)


REFUSALS = {
    "no array": (
        TypeError,
        r"x is of the type list; arrays of numpy, torch and others",
        lambda: rope.apply([1.0], TABLE),
    ),
    "device": (
        ValueError,
        "x cannot be read as memory: it is in the memory of a GPU",
        lambda: rope.apply(OnAGpu(), TABLE),
    ),
    "dimensions": (
        ValueError,
        r"x has the shape \[2, 8\]; \[batch, seq, heads, head_dim\] and",
        lambda: rope.apply(x(2, 8), TABLE),
    ),
    "heads first": (
        ValueError,
        r"x has the shape \[8\]; \[batch, heads, seq, head_dim\] and",
        lambda: rope.apply(x(8), TABLE, heads_first=True),
    ),
    "many dimensions": (
        ValueError,
        "x has 9 dimensions; at most 8",
        lambda: rope.apply(x(1, 1, 1, 1, 1, 1, 1, 1, 8), TABLE),
    ),
    "head_dim": (ValueError, "head_dim", lambda: rope.apply(x(3, 2, 6), TABLE)),
    "complex": (
        ValueError,
        "x has the dtype complex64; float64, float32",
        lambda: rope.apply(x(dtype="complex64"), TABLE),
    ),
    "int": (ValueError, "type", lambda: rope.apply(x(dtype="int32"), TABLE)),
    "bool": (ValueError, "x has the dtype bool8", lambda: rope.apply(x(dtype="bool"), TABLE)),
    "text": (ValueError, "x has the dtype str32", lambda: rope.apply(np.array(["a"]), TABLE)),
    "objects": (ValueError, "x has the dtype object", lambda: rope.apply(np.array([None]), TABLE)),
    "float64 with rows of float32": (ValueError, "rows of float", lambda: rope.apply(x(dtype="float64"), TABLE)),
    "read-only": (ValueError, "x is read-only, and would be written", lambda: rope.apply(read_only(), TABLE)),
    "bytes": (ValueError, "x has the shape|x is read-only", lambda: rope.apply(b"12345678", TABLE)),
    "expanded": (ValueError, "read-only", lambda: rope.apply(np.broadcast_to(x(8), (3, 2, 8)), TABLE)),
    "overlapping": (
        ValueError,
        "stride|same memory|overlap",
        lambda: rope.apply(np.lib.stride_tricks.as_strided(x(64), (3, 2, 8), (0, 32, 4)), TABLE),
    ),
    "one number": (
        ValueError,
        "x is one number, expanded",
        lambda: rope.apply(np.lib.stride_tricks.as_strided(x(1), (3, 2, 8), (0, 0, 0)), TABLE),
    ),
    "misaligned": (
        ValueError,
        "align",
        lambda: rope.apply(np.frombuffer(bytearray(3 * 2 * 8 * 4 + 1), "u1")[1:].view("f4").reshape(3, 2, 8), TABLE),
    ),
    "other byte order": (ValueError, "another byte order", lambda: rope.apply(x(dtype=">f4"), TABLE)),
    "no layout": (ValueError, "layout is None", lambda: rope.apply(x(), ANY_LAYOUT)),
    "unknown layout": (
        ValueError,
        "layout is 'half'; 'interleaved' and 'half_split' are allowed",
        lambda: rope.apply(x(), TABLE, layout="half"),
    ),
    "layout of another type": (TypeError, "incompatible function arguments", lambda: rope.apply(x(), TABLE, layout=2)),
    "no rows": (TypeError, "incompatible function arguments", lambda: rope.apply(x(), None)),
    "rows for x": (TypeError, "x is of the type CosSinCache", lambda: rope.apply(TABLE, TABLE)),
    "position": (IndexError, "holds positions 0 to 15", lambda: rope.apply(x(), TABLE, 14)),
    "negative position": (IndexError, "-1", lambda: rope.apply(x(), TABLE, [0, -1, 3])),
    "huge position": (
        ValueError,
        "positions is a number that 64 bits do not hold",
        lambda: rope.apply(x(), TABLE, 2**70),
    ),
    "count of positions": (ValueError, "2 ids", lambda: rope.apply(x(), TABLE, [1, 2])),
    "fractions": (ValueError, "no whole numbers", lambda: rope.apply(x(), TABLE, np.array([0.5, 1, 2]))),
    "list of fractions": (ValueError, "other things than whole numbers", lambda: rope.apply(x(), TABLE, [0.5, 1, 2])),
    "text for positions": (TypeError, "positions is of the type str", lambda: rope.apply(x(), TABLE, "all")),
    "positions without dimensions": (ValueError, "no dimensions", lambda: rope.apply(x(), TABLE, np.array(3))),
    "shapes of a copy": (
        ValueError,
        r"out.heads is 4; it must be that of in \(2\)",
        lambda: rope.apply_copy(x(), x(3, 4, 8), TABLE),
    ),
    "copy onto itself": (
        ValueError,
        "out|overlap|memory",
        lambda: (lambda a: rope.apply_copy(a[:3], a[1:], TABLE))(x(4, 2, 8)),
    ),
    "k of another seq": (ValueError, "seq", lambda: rope.apply(x(), x(4, 2, 8), TABLE)),
    "odd head_dim": (ValueError, "head_dim is 7", lambda: rope.CosSinCache(rope.Config(7), 8)),
    "no positions": (ValueError, "max_positions", lambda: rope.CosSinCache(rope.Config(8), 0)),
    "more than memory": (MemoryError, "", lambda: rope.CosSinCache(rope.Config(65536), 2**40)),
    "dtype of a table": (
        ValueError,
        "dtype is 'float16'; 'float32' and 'float64'",
        lambda: rope.CosSinCache(rope.Config(8), 8, dtype="float16"),
    ),
    "schedule": (ValueError, "schedule is 'str'", lambda: rope.Config(8, schedule="yarn")),
    "a 0 of a schedule": (
        ValueError,
        "beta_slow of the schedule is 0",
        lambda: rope.Config(8, schedule=rope.Yarn(factor=2, original_max_position_embeddings=8, beta_slow=0)),
    ),
    "lists of other lengths": (
        ValueError,
        "long_factors has 5 numbers, short_factors 3",
        lambda: rope.Config(
            8, schedule=rope.LongRope(short_factors=[1] * 3, long_factors=[1] * 5, original_max_position_embeddings=8)
        ),
    ),
    "truncate": (
        ValueError,
        "truncate of the schedule is no bool",
        lambda: rope.Config(8, schedule=rope.Yarn(factor=2, original_max_position_embeddings=8, truncate=1)),
    ),
    "an object without its __init__": (
        TypeError,
        "made without its __init__",
        lambda: rope.pass_(None, rope.heads(rope.Quantised.__new__(rope.Quantised))),
    ),
    "a path without its __init__": (
        TypeError,
        "made without its __init__",
        lambda: rope.pass_(None, rope.Path.__new__(rope.Path)),
    ),
    "starts without their __init__": (
        TypeError,
        "made without its __init__",
        lambda: rope.apply(x(), TABLE, rope.Starts.__new__(rope.Starts)),
    ),
    "no positions of a list": (ValueError, "0 ids", lambda: rope.apply(x(), TABLE, [])),
    "too many positions": (
        ValueError,
        "more than 1000000000",
        lambda: rope.Rows(rope.Config(8)).build(np.broadcast_to(np.int64(3), (2**20, 2**20))),
    ),
    "a batch for axes": (
        ValueError,
        "positions has 2 for its axes, and the rows have 3",
        lambda: rope.Rows(rope.Config(8), axes=rope.mrope_sections([2, 1, 1])).build(np.zeros((2, 5), "i8")),
    ),
    "text in a schedule": (
        ValueError,
        "factor of the schedule is no number",
        lambda: rope.Config(8, schedule=rope.Ntk(factor="2")),
    ),
    "base": (ValueError, "base is 0", lambda: rope.Config(8, base=0)),
    "negative base": (ValueError, "base", lambda: rope.CosSinCache(rope.Config(8, base=-1), 8)),
    "NaN": (ValueError, "base", lambda: rope.CosSinCache(rope.Config(8, base=float("nan")), 8)),
    "count of factors": (
        ValueError,
        "factors|pairs",
        lambda: rope.CosSinCache(rope.Config(8, schedule=rope.FreqFactors([1.0])), 8),
    ),
    "sections": (ValueError, "sections has 0 numbers", lambda: rope.mrope_sections([])),
    "too many sections": (ValueError, "sections has 9 numbers", lambda: rope.mrope_sections([1] * 9)),
    "axes of pairs": (ValueError, "axis_of has 8", lambda: rope.listed_axes([8])),
    "axes that do not fit": (
        ValueError,
        "section|pairs",
        lambda: rope.Rows(rope.Config(8), axes=rope.mrope_sections([1, 1, 1])),
    ),
    "rows that were not built": (
        IndexError,
        "built|row",
        lambda: rope.apply(x(), rope.Rows(rope.Config(8, layout="half_split"))),
    ),
    "seq of a number": (ValueError, "seq is None", lambda: rope.Rows(rope.Config(8)).build(3)),
    "negative seq": (ValueError, "seq", lambda: rope.Rows(rope.Config(8)).build(3, seq=-1)),
    "axes of positions": (ValueError, "dimensions", lambda: rope.Rows(rope.Config(8)).build(np.zeros((1, 1, 1, 1)))),
    "format": (ValueError, "format is 'int3'; 'int8', 'uint8'", lambda: rope.Quantised("int3", x())),
    "codes of another size": (
        ValueError,
        r"destination of path 1 is \[1, 3, 2, 7\]",
        lambda: rope.pass_(None, rope.heads(x()).to(rope.Quantised("int8", x(3, 2, 7, dtype="int8"), x(3, 2, 1)))),
    ),
    "no scales": (
        ValueError,
        "scales",
        lambda: rope.pass_(None, rope.heads(x()).to(rope.Quantised("int8", x(3, 2, 8, dtype="int8")))),
    ),
    "read-only codes": (
        ValueError,
        "codes is read-only",
        lambda: rope.pass_(
            None, rope.heads(x()).to(rope.Quantised("q8_0", np.frombuffer(bytes(204), "u1").reshape(3, 2, 34)))
        ),
    ),
    "no paths": (ValueError, "path", lambda: rope.pass_(TABLE)),
    "nine paths": (ValueError, "path", lambda: rope.pass_(TABLE, *[rope.heads(x()) for _ in range(9)])),
    "nine steps": (
        ValueError,
        "step",
        lambda: (lambda p: ([p.round() for _ in range(9)], rope.pass_(TABLE, p)))(rope.heads(x())),
    ),
    "no path": (TypeError, "a path is no Path", lambda: rope.pass_(TABLE, x())),
    "rotation without rows": (ValueError, "rows|rotat", lambda: rope.pass_(None, rope.heads(x()).rotate())),
    "weight": (ValueError, "weight|numbers", lambda: rope.pass_(None, rope.heads(x()).rms_norm(x(7)))),
    "slots": (
        ValueError,
        "slots|slot",
        lambda: rope.pass_(None, rope.heads(x()).to(rope.Paged(x(2, 4, 2, 8), [0, 1]))),
    ),
    "slots that are a number": (
        ValueError,
        "slots is no list",
        lambda: rope.pass_(None, rope.heads(x()).to(rope.Paged(x(2, 4, 2, 8), 3))),
    ),
    "moves that were not built": (
        ValueError,
        "built|build",
        lambda: rope.reposition(x(), rope.Moves(rope.Config(8, layout="half_split"))),
    ),
    "doubles": (
        ValueError,
        "angles has another dtype than float64",
        lambda: rope.add_angle_gradients(x(), x(), TABLE, x(3, 1, 4)),
    ),
    "threads": (ValueError, "threads is 0; 1 to 1024", lambda: rope.set_threads(0)),
    "json": (ValueError, "", lambda: rope.read_hf_config("{")),
    "json without a type": (ValueError, "", lambda: rope.read_hf_config({})),
    "side": (
        ValueError,
        "heads is 'q'; 'queries', 'keys'",
        lambda: rope.read_hf_config({"model_type": "llama"}).norm(0, "q"),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name):
    kind, sentence, call = REFUSALS[name]
    with pytest.raises(kind, match=sentence) as caught:
        call()
    assert type(caught.value) is kind and len(str(caught.value)) > 20


def test_nothing_is_written_by_a_refused_call():
    q, k = x(), x(3, 2, 8)
    k.flags.writeable = False
    for call in (
        lambda: rope.apply(q, k, TABLE),
        lambda: rope.apply(q, x(4, 2, 8), TABLE),
        lambda: rope.apply(q, TABLE, 15),
        lambda: rope.pass_(TABLE, rope.heads(q).multiply(2.0), rope.heads(k).rotate()),
    ):
        with pytest.raises((ValueError, IndexError)):
            call()
    assert (q == 1).all()
