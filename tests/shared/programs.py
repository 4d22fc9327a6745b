"""Training programs that several tests begin with."""

LOOP = """\
import torch
model = torch.nn.Linear(4, 2)
opt = torch.optim.AdamW(model.parameters())
total = 0.0
for x, y in data:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    total += loss
"""
"""A sound loop but for one line: the sum of the loss keeps every graph."""
