"""The rule on answers that are gathered from all ranks with the copies that fill the last batch."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, key, last, receiver
from ..look import no_grad
from ..rule import Fault, View, rule

ANSWERS = re.compile(r"pred|label|target|logit|answer|correct|output|\bys?\b|\bp\b", re.I)
CUT = re.compile(
    r"gather_for_metrics|even_batches\s{0,4}=\s{0,4}False|drop_last\s{0,4}=\s{0,4}True|len\((\w{1,30}\.)?\w{0,30}dataset|split_batches|remainder"
)
"""What takes the copies out again, or makes none."""


@rule("copies-counted-in-evaluation", "S2", "eval-harness-drift", "gather(",
      bad="""
      from accelerate import Accelerator
      accelerator = Accelerator()
      model, loader = accelerator.prepare(model, loader)
      model.eval()
      right = seen = 0
      for batch in loader:
          with torch.no_grad():
              preds = model(**batch).logits.argmax(dim=-1)
          preds, labels = accelerator.gather((preds, batch["labels"]))
          right += (preds == labels).sum().item()
          seen += labels.numel()
      """,
      good="""
      from accelerate import Accelerator
      accelerator = Accelerator()
      model, loader = accelerator.prepare(model, loader)
      model.eval()
      right = seen = 0
      for batch in loader:
          with torch.no_grad():
              preds = model(**batch).logits.argmax(dim=-1)
          preds, labels = accelerator.gather_for_metrics((preds, batch["labels"]))
          right += (preds == labels).sum().item()
          seen += labels.numel()
      """)  # fmt: skip
def copies_counted_in_evaluation(view: View) -> Iterator[Fault]:
    """Answers of all ranks are gathered with the copies by which a prepared loader fills its last batch.

    Why: some items count twice, and how many depends on the number of ranks: the same model gets another score on another
    machine. `gather_for_metrics` leaves the copies out.
    Known gaps: told only where the answers are gathered in an evaluation loop of the same function.
    """
    program = view.program
    if CUT.search(program.text) or not program.calls.get("prepare"):
        return
    for call in program.find("gather"):
        on = receiver(call)
        if on is None or view.roles.of(on) != "accelerator" or not program.loops(call) or not call.args:
            continue
        said = program.code(call.args[0])
        if ANSWERS.search(said) and "loss" not in said and _evaluates(program, call):
            yield Fault(call, "answers are gathered with the copies that fill the last batch: use `gather_for_metrics`",
                        "汇总时包含了补齐最后一个批次的重复样本：应使用 gather_for_metrics")  # fmt: skip
            return


def _evaluates(program: Program, call: ast.Call) -> bool:
    """Whether a loop runs without gradients, and trains nothing."""
    loop = program.loops(call)[0]
    inside = [n for n in program.within(loop) if isinstance(n, ast.Call)]
    trains = any(last(program.path(n.func)) == "backward" for n in inside)
    quiet = any(no_grad(program.contexts(n)) for n in (call, *inside))
    return quiet and not trains and bool(key(call.func))
