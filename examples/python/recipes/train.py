# SPDX-License-Identifier: MIT
"""Training in torch: one layer of attention learns to repeat the token that stood three places before, which it can tell by the
rotation alone. Gradients go through rotary_cpu.torch.rotate."""

import torch

import rotary_cpu as rope
import rotary_cpu.torch as rope_torch

WORDS, WIDTH, HEADS, SEQ, BACK = 16, 64, 4, 32, 3
torch.manual_seed(0)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.qkv = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = torch.nn.Linear(WIDTH, WORDS)
        cos, sin = rope_torch.cos_sin(rope.Config(WIDTH // HEADS, base=100.0), torch.arange(SEQ))
        self.register_buffer("cos", cos), self.register_buffer("sin", sin)

    def forward(self, ids):
        q, k, v = (
            self.qkv(self.embedding(ids)).unflatten(-1, (3, HEADS, -1)).movedim(2, 0).transpose(2, 3)
        )  # [batch, heads, seq, dim]
        q, k = rope_torch.rotate(q, k, self.cos, self.sin)
        return self.out(
            torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        )


model = Model()
optimiser = torch.optim.Adam(model.parameters(), 5e-3)
for step in range(301):
    ids = torch.randint(0, WORDS, (32, SEQ))
    loss = torch.nn.functional.cross_entropy(model(ids)[:, BACK:].flatten(0, 1), ids[:, :-BACK].flatten())
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if step % 100 == 0:
        print(f"step {step:3}: loss {loss.item():.3f} (by chance {torch.tensor(float(WORDS)).log():.3f})")
assert loss < 0.5
