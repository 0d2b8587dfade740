# SPDX-License-Identifier: MIT
"""q and k rotated at two kinds of positions, and a refusal. cpp/demo.cpp is the same in C++."""
import array
from table import Table

TOKENS, HEAD_DIM = 2, 64


def show(what, x):
    total, words = 2166136261, array.array("I", x.tobytes())
    for word in words:
        total = (total ^ word) * 16777619 & 0xFFFFFFFF
    begin = len(x) - HEAD_DIM
    print(f"{what:14}", *(f"{word:08x}" for word in words[begin : begin + 8]), "sum", f"{total:08x}")


q = array.array("f", ((i - 100) / 8 for i in range(TOKENS * 2 * HEAD_DIM)))
k = array.array("f", ((50 - i) / 8 for i in range(TOKENS * HEAD_DIM)))
table = Table(HEAD_DIM, 500000, 32, 131072)  # Llama 3.2 1B

table.apply(q, k, TOKENS, 100000)  # positions 100000 and 100001
show("q from 100000:", q)
show("k from 100000:", k)
table.apply(q, k, TOKENS, [7, 131071])
show("q by ids:", q)
show("k by ids:", k)
try:
    table.apply(q, k, TOKENS, 131071)
except IndexError as refusal:
    print("refused:", refusal)
show("q as it was:", q)
