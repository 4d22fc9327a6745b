"""Rules on what is counted and divided: figures by batches, best values that nothing beats, boundaries turned round."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import Program, argument, key, last, passed, receiver
from ...source import walk
from ..look import model_call, source
from ..rule import Fault, View, rule
from .ways import constructor, whole

COUNTS = re.compile(r"(^|_)(correct|right|hits?|n_correct|num_correct|ok|good|tp)(_\w{1,12})?$", re.I)


RATIOS = (
    "f1_score",
    "roc_auc_score",
    "average_precision_score",
    "precision_score",
    "recall_score",
    "corpus_bleu",
    "matthews_corrcoef",
    "r2_score",
    "pearsonr",
    "spearmanr",
)


@rule("count-divided-by-batches", "S1", "eval-harness-drift", "len(",
      bad="""
      correct = 0
      for x, y in val_loader:
          correct += (model(x).argmax(dim=1) == y).sum().item()
      print("accuracy", correct / len(val_loader))
      import torch
      """,
      good="""
      correct = 0
      for x, y in val_loader:
          correct += (model(x).argmax(dim=1) == y).sum().item()
      print("accuracy", correct / len(val_loader.dataset))
      import torch
      """)  # fmt: skip
def count_divided_by_batches(view: View) -> Iterator[Fault]:
    """Right answers are counted one by one and divided by the number of batches.

    Why: the accuracy is too high by the batch size.
    """
    program = view.program
    for node in program.each(ast.BinOp):
        call = program.origin(node.right, inside=False) if isinstance(node.op, ast.Div) and key(node.left) else None
        if not isinstance(call, ast.Call):
            continue
        if program.path(call.func) != "len" or len(call.args) != 1 or view.roles.of(call.args[0]) != "loader":
            continue
        name = node.left
        added = [b for b in program.bindings(name) if b.how == "augment" and b.value is not None] if key(name) else []
        sums = [b for b in added if isinstance(b.value, ast.Call) and _counted(program, b.value)]
        above = program.parent.get(node)
        again = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Div)
        one = re.search(r"batch_size\s{0,4}=\s{0,4}1\b", program.text)
        if sums and len(sums) == len(added) and not again and not one:
            yield Fault(node, f"`{key(name)}` counts items and is divided by the number of batches", f"`{key(name)}` 按样本计数，却除以批次数",
                        (instead(call.args[0], f"{source(program, call.args[0])}.dataset"),) if call is node.right and constructor(view, call.args[0]).endswith("DataLoader") else (), beside=(sums[0].node,))  # fmt: skip


def _counted(program: Program, value: ast.expr) -> bool:
    """`(predicted == y).sum().item()`."""
    names = [last(program.path(n.func)) for n in walk(value) if isinstance(n, ast.Call)]
    return (
        "sum" in names
        and ("eq" in names or any(isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Eq) for n in walk(value)))
        and not {"mean", "len", "size"} & set(names)
        and not any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in walk(value))
    )


@rule("means-divided-by-items", "S2", "eval-harness-drift", "loss Loss",
      bad="""
      total, seen = 0.0, 0
      for batch in val_loader:
          total += model(**batch).loss.item()
          seen += batch["input_ids"].size(0)
      print(total / seen)
      """,
      good="""
      total, seen = 0.0, 0
      for batch in val_loader:
          total += model(**batch).loss.item() * batch["input_ids"].size(0)
          seen += batch["input_ids"].size(0)
      print(total / seen)
      """)  # fmt: skip
def means_divided_by_items(view: View) -> Iterator[Fault]:
    """Means of batches are added up and divided by the number of items.

    Why: the figure is too small by the batch size, and changes with it.
    """
    program = view.program
    for node in program.each(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not key(node.left) or not _items(view, node.right):
            continue
        found = program.bindings(node.left)
        added = [b for b in found if b.how == "augment" and b.value is not None]
        given = [v for b in added if b.value is not None for v in _handed(program, b.value)]
        if added and all(_mean_loss(view, v) for v in given) and len(found) - len(added) <= 1:
            yield Fault(node, f"`{key(node.left)}` adds up means of batches and is divided by the number of items",
                        f"`{key(node.left)}` 累加的是每批的均值，却除以样本数", beside=(added[0].node,))  # fmt: skip


def _items(view: View, expr: ast.expr) -> bool:
    """Whether a number counts items: raised by the size of each batch, or the length of a dataset."""
    program = view.program
    if isinstance(expr, ast.Call):
        return program.path(expr.func) == "len" and bool(expr.args) and last(key(expr.args[0])) == "dataset"
    found = [b.value for b in program.bindings(expr) if b.how == "augment"] if key(expr) else []
    raised = [v for b in found for v in (_handed(program, b) if b is not None else (None,))]
    return bool(raised) and all(
        v is not None and re.search(r"\.size\(0\)$|\.shape\[0\]$|^len\(", program.code(v)) for v in raised)  # fmt: skip


def _handed(program: Program, value: ast.expr) -> list[ast.expr]:
    """A value; of a parameter of a method, as of a meter, what the first call that names a loss gives it, or any."""
    found = program.binding(value) if isinstance(value, ast.Name) else None
    calls = program.callers(found.node) if found is not None and found.how == "parameter" else []
    calls = [c for c in calls if re.search("loss", key(receiver(c)), re.I)] or calls
    given = [v for c in calls[:1] for own, v in passed(found.node, c) if own == key(value)]  # type: ignore[union-attr]
    return given or [value]


def _mean_loss(view: View, value: ast.expr) -> bool:
    """Whether a value is the mean that a model of Transformers or a loss of PyTorch gives, and nothing else."""
    program = view.program
    for _ in range(6):
        value = program.origin(value)
        if isinstance(value, ast.Attribute) and value.attr == "loss":
            made = program.origin(value.value)
            return isinstance(made, ast.Call) and model_call(view, made)
        if not isinstance(value, ast.Call):
            return False
        name = last(program.path(value.func))
        if name in ("item", "detach", "cpu", "float") and (on := receiver(value) or next(iter(value.args), None)):
            value = on
            continue
        made = constructed if isinstance(constructed := program.origin(value.func), ast.Call) else value
        given = argument(made, "reduction")
        of_torch = re.search(
            r"^torch\.nn\.(functional\.(cross_entropy|mse_loss|nll_loss)|(CrossEntropy|MSE|NLL|BCEWithLogits)Loss)$",
            program.path(made.func),
        )
        return of_torch is not None and (given is None or program.const(given) == "mean")
    return False


@rule("ratio-averaged-over-batches", "S2", "eval-harness-drift", "f1_score roc_auc_score precision_score recall_score average_precision_score corpus_bleu matthews_corrcoef spearmanr pearsonr r2_score",
      bad="""
      scores = []
      for x, y in val_loader:
          scores.append(f1_score(y, model(x).argmax(dim=1), average="macro"))
      print("F1", sum(scores) / len(scores))
      import torch
      """,
      good="""
      wanted, given = [], []
      for x, y in val_loader:
          wanted += y.tolist()
          given += model(x).argmax(dim=1).tolist()
      print("F1", f1_score(wanted, given, average="macro"))
      import torch
      """)  # fmt: skip
def ratio_averaged_over_batches(view: View) -> Iterator[Fault]:
    """A figure that is no mean over items is computed for each batch and averaged.

    Why: the F1, AUC or BLEU of a batch is of a few items; their mean is not the figure of all.
    """
    program = view.program
    yield from _logged_per_batch(view)
    for call in program.find(*RATIOS):
        loops = [x for x in program.loops(call) if isinstance(x, ast.For)]
        if not loops or not _over_batches(view, loops[0]):
            continue
        for node in walk(loops[0]):
            into = ""
            if isinstance(node, ast.AugAssign) and call in set(walk(node.value)):
                into = key(node.target)
            elif (
                isinstance(node, ast.Call)
                and last(program.path(node.func)) == "append"
                and node.args
                and call in set(walk(node.args[0]))
            ):
                into = key(receiver(node))
            text = whole(program, call)
            if (
                into
                and re.search(
                    rf"{re.escape(into)}\s{{0,4}}/|sum\({re.escape(into)}\)\s{{0,4}}/|mean\({re.escape(into)}\)", text
                )
                and "fold" not in program.code(loops[0].target)
            ):
                yield Fault(call, f"`{last(program.path(call.func))}` of each batch is averaged: it is no mean over items",
                            f"对每个批次的 `{last(program.path(call.func))}` 取平均：它不是逐样本均值")  # fmt: skip
                break


def _logged_per_batch(view: View) -> Iterator[Fault]:
    """A figure of one batch that Lightning is told to log, and averages over the epoch."""
    program = view.program
    for call in program.find(*RATIOS):
        scope = program.scope(call)
        if getattr(scope, "name", "") not in ("validation_step", "test_step") or not isinstance(
            program.parent.get(scope), ast.ClassDef):  # fmt: skip
            continue
        logs = [n for n in program.within(scope, ast.Call) if last(key(n.func)) in ("log", "log_dict")
                and key(receiver(n)) == "self"]  # fmt: skip
        if any(call in program.traced(a, 2) for n in logs for a in (*n.args[:2], *(k.value for k in n.keywords))):
            yield Fault(call, f"`{last(program.path(call.func))}` of each batch is averaged: it is no mean over items",
                        f"对每个批次的 `{last(program.path(call.func))}` 取平均：它不是逐样本均值")  # fmt: skip
            return


def _over_batches(view: View, loop: ast.For) -> bool:
    inner = loop.iter
    while (
        isinstance(inner, ast.Call)
        and inner.args
        and last(view.program.path(inner.func)) in ("enumerate", "tqdm", "track")
    ):
        inner = inner.args[0]
    return view.roles.of(inner) == "loader"


LIMIT = r"^(lowest|highest|smallest|largest)(_|$)"
"""Names of the best that do not say so."""


@rule("best-never-beaten", "S1", "checkpoint-regression", "best lowest highest smallest largest",
      bad="""
      best_loss = 0.0
      for epoch in range(10):
          loss = evaluate(model, val_loader)
          if loss < best_loss:
              best_loss = loss
              torch.save(model.state_dict(), "best.pt")
      """,
      good="""
      best_loss = float("inf")
      for epoch in range(10):
          loss = evaluate(model, val_loader)
          if loss < best_loss:
              best_loss = loss
              torch.save(model.state_dict(), "best.pt")
      """)  # fmt: skip
def best_never_beaten(view: View) -> Iterator[Fault]:
    """The best value begins where nothing can beat it, or is compared the wrong way round.

    Why: nothing is saved, or the worst; training stops early, or never.
    """
    program = view.program
    for node in program.each(ast.If):
        test = (
            node.test.values[0]
            if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
            else node.test
        )
        if (
            not isinstance(test, ast.Compare)
            or len(test.ops) != 1
            or not isinstance(test.ops[0], (ast.Lt, ast.Gt, ast.LtE, ast.GtE))
        ):
            continue
        left, right = test.left, test.comparators[0]
        less = isinstance(test.ops[0], (ast.Lt, ast.LtE))
        value, best, smaller = (left, right, less) if "best" in last(key(right)) else (right, left, not less)
        if "best" not in last(key(best)) and re.search(LIMIT, last(key(right))):
            value, best, smaller = left, right, less
        if not re.search(rf"best|{LIMIT}", last(key(best))) or not key(value):
            continue
        own = [
            b
            for b in walk(node)
            if isinstance(b, ast.Assign)
            and any(key(t) == key(best) for x in b.targets for t in (x.elts if isinstance(x, ast.Tuple) else [x]))
        ]
        start = [
            b.value
            for b in program.bindings(best)
            if b.how == "assign" and b.part is None and b.node not in own and b.value is not None
        ]
        if not own or len(start) != 1:
            continue
        number = program.const(start[0])
        text = program.code(start[0])
        low = number in (0, 0.0, -1, -1.0) or re.fullmatch(
            r"-\s{0,4}(float\(['\"]inf['\"]\)|math\.inf|np\.inf|torch\.inf)|float\(['\"]-inf['\"]\)", text
        )
        high = (isinstance(number, (int, float)) and number >= 100) or re.fullmatch(
            r"float\(['\"]\+?inf(inity)?['\"]\)|math\.inf|np\.inf|torch\.inf", text
        )
        loss = re.search(r"loss|ppl|perplexity|nll|error|mae|rmse|wer", key(value) + key(best), re.I)
        if (smaller and low and loss) or (not smaller and high):
            yield Fault(test, f"`{key(best)}` begins at `{text}`, which nothing beats",
                        f"`{key(best)}` 从 `{text}` 开始，永远不会被超过", beside=(start[0],))  # fmt: skip
