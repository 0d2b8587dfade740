# SPDX-License-Identifier: MIT
"""A table by ctypes. Refusals are ValueError, and IndexError for positions."""
import ctypes as c

rope = c.CDLL("librope.so.0")
i32, i64, f64, pointer = c.c_int32, c.c_int64, c.c_double, c.c_void_p
ROPE_HALF_SPLIT, ROPE_LLAMA3, ROPE_IDS, ROPE_INT64 = 2, 4, 2, 7


def struct(*members):
    """A struct of rope.h with all its members in their order: the library refuses one of another size."""
    fields = [("size", c.c_uint32), *((name, kind) for kind, names in members for name in names.split())]
    made = type("Struct", (c.Structure,), {"_fields_": fields})
    return lambda **given: c.byref(made(size=c.sizeof(made), **given))


Config = struct(
    (i32, "layout"), (i64, "head_dim rotary_dim rotary_offset"), (f64, "base interpolation_factor attention_factor"),
    (i32, "schedule is_reversed"), (f64, "factor mixed_b beta_fast beta_slow extrapolation_factor mscale"),
    (f64, "mscale_all_dim attn_factor schedule_attention_factor low_freq_factor high_freq_factor"),
    (f64, "partial_rotary_factor scale_base centre"), (i64, "original_max_position_embeddings max_position_embeddings axes"),
    (i32, "keeps_fractions magnitude"), (pointer, "numbers"), (i64, "numbers_count"))
Options = struct((i32, "type"), (i64, "max_positions first_position seq_len"), (i32, "is_compact is_float32_chain"))
Tensor = struct((i32, "type"), (i64, "batch seq heads head_dim batch_stride seq_stride head_stride feature_stride"))
Call = struct(
    (i32, "layout direction positions ids_type only_checks"), (i64, "start ids_count axes axis_stride part parts"),
    (pointer, "executor executor_context"), (i64, "at_every_size"))


def must(function, *arguments):
    message = c.create_string_buffer(320)  # ROPE_MESSAGE_ROOM
    code = function(*arguments, message, c.c_size_t(320))
    if code != 0:
        raise {2: IndexError, 3: MemoryError}.get(code, ValueError)(message.value.decode())


class Table:
    """A table of a model with the schedule of Llama 3. The last reference frees it."""

    def __init__(self, head_dim, base, factor, positions):
        self.head_dim, self.rows = head_dim, pointer()
        config = Config(layout=ROPE_HALF_SPLIT, head_dim=head_dim, base=base, schedule=ROPE_LLAMA3, factor=factor)
        must(rope.rope_table_new, config, Options(max_positions=positions), c.byref(self.rows))

    def __del__(self, free=rope.rope_rows_free):
        free(self.rows)

    def apply(self, q, k, tokens, positions):
        """Rotates q and k in place: writable buffers of floats [tokens, heads, head_dim], each with heads of its own.
        positions: the first, or a list with one for each token. Other threads of Python run meanwhile."""
        ids = None if isinstance(positions, int) else (i64 * len(positions))(*positions)
        at = Call(start=positions) if ids is None else Call(positions=ROPE_IDS, ids_type=ROPE_INT64, ids_count=len(ids))
        must(rope.rope_apply_qk, self.rows, None, at, ids, *self.tensor(q, tokens), *self.tensor(k, tokens))

    def tensor(self, x, tokens):
        numbers = memoryview(x)
        heads, rest = divmod(numbers.nbytes, 4 * self.head_dim * tokens)
        if numbers.format != "f" or rest != 0:
            raise ValueError(f"{numbers.nbytes} bytes are not {tokens} tokens of whole heads of float")
        return c.byref(c.c_char.from_buffer(numbers)), Tensor(batch=1, seq=tokens, heads=heads, head_dim=self.head_dim)
