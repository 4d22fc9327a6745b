"""What a training gathers on the GPU from step to step, without its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...program import key, last, receiver
from ...training import Training
from ..look import LOSS, carries_graph, inside, model_call, set_within, source
from ..memory import collected, regions
from ..rule import Fault, View, rule

LOOP = """
class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader, self.seen = model, loader, []
        self.optimizer = torch.optim.AdamW(model.parameters())
    def fit(self):
        for x, y in self.loader:
            h = self.model(x.cuda())
            self.seen.append({kept})
            loss = F.cross_entropy(h, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
"""


@rule("outputs-gathered-while-training", "S3", "memory-leak", "detach .data clone",
      bad=LOOP.format(kept="h.detach()"),
      good=(LOOP.format(kept="h.detach().cpu()"), LOOP.format(kept="h.mean().item()")))  # fmt: skip
def outputs_gathered_while_training(view: View) -> Iterator[Fault]:
    """A list that outlives the step is given whole outputs of the model in each step, and they stay on the GPU.

    Why: without its graph each is small, and memory still grows with every step until somebody empties the list.
    Known gaps: a list that is emptied often enough; where that depends on a setting, the setting may be off.
    """
    program = view.program
    for pace, event in regions(view):
        found = collected(view, event)
        if found is None or not found[0].startswith("self.") or set_within(program, found[0], event.node, pace.node):
            continue
        name, values = found
        emptied = [c for c in program.find("clear") if key(receiver(c)) == name]
        if any(inside(program, c, pace.node) for c in emptied) or LOSS.search(name):
            continue
        if any(_whole(view, pace.training, value) for value in values):
            more = f"; it is emptied in line {emptied[0].lineno} alone" if emptied else ", and nothing empties it"
            more_zh = f"，只在第 {emptied[0].lineno} 行清空" if emptied else "，从不清空"
            yield Fault(event.node, f"`{name}` is given an output of the model in every step, on the GPU{more}",
                        f"`{name}` 每一步都收下一份模型输出，留在 GPU 上{more_zh}",
                        beside=tuple(emptied[:1]))  # fmt: skip


def _whole(view: View, training: Training | None, value: ast.expr) -> bool:
    """Whether a value is a tensor of the model's without its graph, as it lies on the device."""
    program = view.program
    text = source(program, value)
    for _ in range(4):
        if isinstance(value, ast.Call) and last(program.path(value.func)) in ("detach", "clone"):
            value = receiver(value) or value
        elif isinstance(value, ast.Attribute) and value.attr == "data":
            value = value.value
        else:
            break
    if text == source(program, value) or LOSS.search(text):
        return False
    made = program.origin(value)
    return (isinstance(made, ast.Call) and model_call(view, made)) or carries_graph(view, training, value)
