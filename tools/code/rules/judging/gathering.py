"""The rule on what is gathered in an evaluation, with the rows that fill up the last batch."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, key, last, receiver
from ..look import inside, no_grad
from ..rule import Fault, View, rule

EACH = re.compile(r"pred|label|logit|target|truth|gold|answer|guess|correct|token|score|refer|output|prob", re.I)
"""Names of what has a row for each item."""
CUT = re.compile(
    r"\[\s{0,2}:\s{0,2}(len\(|\w{0,40}(total|n_|num_|remain|size|seen))|remainder|samples_seen|even_batches\s{0,2}=\s{0,2}False|drop_duplicates|\bset\(|unique|seen_ids|drop_last\s{0,2}=\s{0,2}True|split_between_processes"
)
"""What takes out the rows that stand there twice, or leaves none to be taken out."""
EVALUATION = """
accelerator = Accelerator()
model, eval_loader = accelerator.prepare(model, eval_loader)
model.eval()
for batch in eval_loader:
    with torch.no_grad():
        predictions = model(**batch).logits.argmax(-1)
    predictions, references = accelerator.{gather}((predictions, batch["labels"]))
    metric.add_batch(predictions=predictions, references=references)
"""


@rule("gathered-with-duplicates", "S2", "eval-harness-drift", "gather(",
      bad=EVALUATION.format(gather="gather"), good=EVALUATION.format(gather="gather_for_metrics"))  # fmt: skip
def gathered_with_duplicates(view: View) -> Iterator[Fault]:
    """Predictions are gathered from all processes with the rows that filled up the last batch.

    Why: Accelerate repeats rows from the beginning so that all processes have batches alike; they are counted twice, and the
    score depends on the number of GPUs. `gather_for_metrics` leaves them out.
    Known gaps: a data set that the processes divide without a rest.
    """
    program = view.program
    if "gather_for_metrics" in program.text:
        return
    prepared = [
        c for c in program.find("prepare", "prepare_data_loader") if view.roles.of(receiver(c)) == "accelerator"
    ]
    if not prepared or CUT.search(program.text):
        return
    for call in program.find("gather"):
        loops = program.loops(call)
        if view.roles.of(receiver(call)) != "accelerator" or not call.args or not loops:
            continue
        trained = any(inside(program, b, loops[0]) for b in program.find("backward"))
        if trained or not _closed(program, call, loops[0]) or not _rows(program, call.args[0]):
            continue
        yield Fault(call, "rows that fill up the last batch are gathered and counted too: `gather_for_metrics` leaves them out",
                    "补齐最后一个批次的重复样本也被收集并计入指标：应使用 `gather_for_metrics`")  # fmt: skip
        return


def _closed(program: Program, call: ast.Call, loop: ast.AST) -> bool:
    """Whether a loop runs without gradients."""
    return no_grad(program.contexts(call)) or any(
        no_grad(program.contexts(n)) for n in program.within(loop, ast.Call))  # fmt: skip


def _rows(program: Program, expr: ast.expr) -> bool:
    """Whether what is gathered has a row for each item: predictions, labels."""
    parts = expr.elts if isinstance(expr, (ast.Tuple, ast.List)) else [expr]
    return any(EACH.search(last(key(p)) or program.code(p)) for p in parts) and not all(
        re.search(r"loss", program.code(p)) for p in parts)  # fmt: skip
