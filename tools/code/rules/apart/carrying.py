"""The rule on what is carried from the device to the host in each step."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import key, last, receiver
from ..look import model_call
from ..rule import Fault, View, rule

FETCHES = ("cpu", "numpy", "tolist")
SMALL = frozenset(("argmax", "mean", "sum", "max", "min", "item", "gather", "topk", "norm", "squeeze", "std", "var", "any",
                   "all", "cross_entropy", "multinomial", "size", "numel", "sample", "amax", "logsumexp"))  # fmt: skip
"""Calls behind which little is left of the scores of a whole vocabulary."""
VOCABULARY = re.compile(
    r"ForCausalLM|ForMaskedLM|Seq2SeqLM|ForConditionalGeneration|LMHead|lm_head|vocab|GPT|Transformer(LM)?\("
)
"""What says that the scores are of words, which are many."""
STEP = """
for batch in loader:
    out = model(**batch)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    {look}
"""


@rule("logits-copied-every-step", "S2", "low-throughput", "logits",
      bad="model = AutoModelForCausalLM.from_pretrained(name)\n" + STEP.format(look="scores = out.logits.detach().float().cpu().numpy()\n    seen.update(scores.argmax(-1))"),
      good="model = AutoModelForCausalLM.from_pretrained(name)\n" + STEP.format(look="seen.update(out.logits.detach().argmax(-1))"))  # fmt: skip
def logits_copied_every_step(view: View) -> Iterator[Fault]:
    """The scores of the whole vocabulary are copied to the host in each training step.

    Why: a batch of 32 times 512 tokens and 50,000 words is 3 GB in float32; the GPU waits while they are copied and the CPU
    looks through them. What is wanted of them is computed on the device.
    """
    program = view.program
    if not VOCABULARY.search(program.text):
        return
    for pace in view.each_step:
        for event in pace.events:
            call = event.node
            if not isinstance(call, ast.Call) or last(program.path(call.func)) not in FETCHES or call.args:
                continue
            seldom = [t for t, side in event.guards if not (side and re.search(r"training$", program.code(t)))]
            kept = any(
                isinstance(a, ast.Call) and last(key(a.func)) in ("append", "extend", "add") for a in program.up(call)
            )
            if not seldom and not kept and not event.loops and (on := _whole(view, receiver(call))) is not None:
                yield Fault(call, f"`{on}` is copied to the host in each step, with a score for each word of the vocabulary",
                            f"每一步都把 `{on}` 整个拷回主机，包含整个词表的得分")  # fmt: skip
                return


def _whole(view: View, expr: ast.expr | None, deep: int = 8) -> str | None:
    """The name of the scores that a value still is, after nothing that makes them few."""
    program = view.program
    while expr is not None and deep:
        deep -= 1
        if isinstance(expr, ast.Attribute) and expr.attr == "logits":
            return key(expr) or "logits"
        if isinstance(expr, ast.Subscript):
            cut = expr.slice.elts if isinstance(expr.slice, ast.Tuple) else [expr.slice]
            whole = all(isinstance(c, ast.Slice) or (isinstance(c, ast.Constant) and c.value is ...) for c in cut)
            expr = expr.value if whole else None
            continue
        if isinstance(expr, ast.Call):
            if last(program.path(expr.func)) in SMALL or model_call(view, expr):
                return None
            on = receiver(expr)
            expr = expr.args[0] if key(on) in ("torch", "F") and expr.args else on
        elif isinstance(expr, ast.Name):
            found = program.binding(expr)
            value = found.value if found is not None and found.how == "assign" and found.part is None else None
            if found is not None and found.how == "parameter":
                value = program.given(found, expr.id)
            if value is not None and isinstance(value, ast.Call) and model_call(view, value):
                return expr.id if expr.id == "logits" else None
            expr = value
        else:
            return None
    return None
