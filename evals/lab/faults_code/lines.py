"""Twelve faults of a line or two: what stands in the program instead, and what a run of it leads to."""

from __future__ import annotations

from typing import ClassVar

from ..fault import FAULTS, Family, Fault

MOVED = "    loss.backward()\n    optimizer.zero_grad()\n"


class Line(Fault):
    """A program that differs from the sound one in a line; the edit that is proposed must repair it."""

    family: ClassVar[Family] = "code"
    repairs = ("code",)
    asks = ("what is wrong with this run?", "这个训练有什么问题？")


TABLE = (
    # name, recipe, words of the program, what stands instead, the rule that names the line, entries that count as right
    ("sum-keeps-graphs", "written", "total += loss.item()", "total += loss", "loss-kept-with-graph", "memory-leak"),
    ("list-keeps-graphs", "written", "history.append(loss.item())", "history.append(loss)", "tensors-kept-with-graph",
     "memory-leak"),
    ("cleared-too-soon", "written", "    loss.backward()\n", MOVED, "gradients-cleared-before-step", "loss-stagnation"),
    ("severed-loss", "written", "    loss.backward()\n", "    loss = torch.tensor(loss.item(), requires_grad=True)\n"
     "    loss.backward()\n", "loss-cut-from-graph", "loss-stagnation"),
    ("no-update", "written", "    optimizer.step()\n", "", "optimizer-never-stepped", "loss-stagnation"),
    ("twice-softmax", "written", "logits = model(tokens[:, :-1])\n    loss",
     "logits = model(tokens[:, :-1]).softmax(-1)\n    loss", "softmax-before-cross-entropy", "loss-stagnation"),
    ("idle-schedule", "written", "    scheduler.step()\n", "", "scheduler-never-stepped", "lr-schedule-misconfig"),
    ("one-seed-for-all", "written", "    tokens = sample(cfg", "    torch.manual_seed(1234)\n    tokens = sample(cfg",
     "seed-set-every-step", "loss-stagnation overfitting"),
    ("other-parameters", "written", "scheduler = LambdaLR", "model = Model()\nscheduler = LambdaLR",
     "optimizer-holds-old-parameters", "loss-stagnation"),
    ("never-cleared", "written", "    optimizer.zero_grad()\n", "", "zero-grad-missing", "loss-stagnation"),
    ("schedule-too-fast", "accumulated", "    if (i + 1) % EVERY != 0:\n        continue\n",
     "    scheduler.step()\n    if (i + 1) % EVERY != 0:\n        continue\n", "schedule-per-micro-batch",
     "lr-schedule-misconfig"),
    ("same-object", "preferred", "copy.deepcopy(policy)", "policy", "reference-is-the-policy", "dpo-loss-stuck-ln2"),
)  # fmt: skip
LEFT_OUT = {"schedule-too-fast": (("    optimizer.step()\n    scheduler.step()\n", "    optimizer.step()\n"),)}
"""Further words that change with a fault."""
SETTINGS = {"never-cleared": "max_grad_norm=1000.0 learning_rate=1.0e-2"}
"""What makes a fault do its damage within so few steps."""
for _name, _recipe, _old, _new, _code, _right in TABLE:
    type(_name.title().replace("-", ""), (Line,), {
        "name": _name, "recipe": _recipe, "edits": ((_old, _new), *LEFT_OUT.get(_name, ())), "shows": (_code,),
        "right": tuple(_right.split()), "changes": SETTINGS.get(_name, ""),
    })  # fmt: skip
assert all(row[0] in FAULTS for row in TABLE)
