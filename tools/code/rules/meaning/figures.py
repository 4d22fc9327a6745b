"""Rules on figures that runs are judged by: averages, rankings, arguments in order, the direction of better."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import Program, argument, key, last, receiver
from ...source import walk
from ..judging.chosen import compared
from ..look import epoch_loop, option, source
from ..rule import Fault, View, rule
from .ways import SHAPES, constructor, given, peeled, whole

LOWER = re.compile(
    r"loss|perplexity|(^|[_/])(ppl|wer|cer|mae|mse|rmse|error|err|nll|fid|eer|der|edit_distance)($|[_/\d])", re.I
)


HIGHER = re.compile(
    r"acc(urac(y|ies))?($|[_/\d])|(^|[_/])(f1|auc|auroc|bleu|rouge\w{0,9}|map|dice|iou|miou|recall|precision|score|exact_match|em|mcc|psnr|ssim|reward|win_rate|ndcg|r2|spearman\w{0,3}|pearson\w{0,3})($|[_/\d])",
    re.I,
)


@rule("perplexity-averaged", "S2", "eval-harness-drift", "exp(",
      bad="""
      values = []
      for batch in loader:
          values.append(math.exp(model(**batch).loss.item()))
      print("perplexity", sum(values) / len(values))
      """,
      good="""
      total, tokens = 0.0, 0
      for batch in loader:
          n = (batch["labels"][:, 1:] != -100).sum().item()
          total += model(**batch).loss.item() * n
          tokens += n
      print("perplexity", math.exp(total / tokens))
      """)  # fmt: skip
def perplexity_averaged(view: View) -> Iterator[Fault]:
    """Perplexities of batches are averaged.

    Why: the mean of exponentials is not the exponential of the mean: one hard batch makes the figure, and it changes
    with the batch size.
    """
    program = view.program
    for call in program.find("exp"):
        if program.path(call.func).split(".")[0] not in ("math", "torch", "numpy", "np") and not isinstance(
            call.func, ast.Attribute
        ):
            continue
        value = call.args[0] if call.args else receiver(call)
        if value is None or not (_is_loss(view, value) or _put_among_losses(view, call)):
            continue
        above = program.parent.get(call)
        if isinstance(above, (ast.ListComp, ast.GeneratorExp)) and above.elt is call:
            listed = key(program.statement(call).targets[0]) if isinstance(program.statement(call), ast.Assign) else ""  # type: ignore[attr-defined]
            if listed and _averaged(view, call, listed):
                yield Fault(call, "the perplexities of batches are averaged, not their losses",
                            "对各批次的困惑度取平均，而不是对损失取平均")  # fmt: skip
            continue
        if not program.loops(call):
            continue
        name = _gathered(view, call)
        if name and _averaged(view, call, name):
            yield Fault(call, "the perplexities of batches are averaged, not their losses",
                        "对各批次的困惑度取平均，而不是对损失取平均")  # fmt: skip


def _is_loss(view: View, expr: ast.expr) -> bool:
    """Whether a value is the loss of one batch, not a mean over batches."""
    for node in view.program.traced(expr, 2):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return False
    names = {n.attr if isinstance(n, ast.Attribute) else last(key(n)) for n in view.program.traced(expr, 3)}
    return any(re.search(r"loss|nll|(^|_)ce$", n, re.I) for n in names) and not any(
        re.search(r"kl|ratio|logp|adv", n, re.I) for n in names
    )


def _put_among_losses(view: View, call: ast.Call) -> bool:
    """Whether a value of the model is put among the losses: `losses[k] = x.exp().item()`."""
    value = call.args[0] if call.args else receiver(call)
    found = view.program.binding(value) if isinstance(value, ast.Name) else None
    made = found.value if found is not None else None
    of_model = isinstance(made, ast.Call) and view.roles.of(made.func) == "model"
    return of_model and bool(re.search(r"(^|_)(loss(es)?|nlls?)(_|$)", _gathered(view, call)))


def _gathered(view: View, call: ast.Call) -> str:
    """The name that a value of each pass is put into: a list, or a sum."""
    program = view.program
    names = {""}
    statement = program.statement(call)
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant):
            return key(target.value)
        names = {key(target)}
    for loop in program.loops(call)[:1]:
        for node in program.within(loop):
            if isinstance(node, ast.Call) and last(program.path(node.func)) == "append" and node.args:
                if call in set(walk(node.args[0])) or (key(node.args[0]) in names - {""}):
                    return key(receiver(node))
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                if node.value is call or key(node.value) in names - {""}:
                    return key(node.target)
    return ""


def _averaged(view: View, call: ast.Call, name: str) -> bool:
    """Whether what was gathered becomes a mean."""
    text = whole(view.program, call)
    own = re.escape(name)
    return bool(
        re.search(
            rf"(mean|average)\(\s{{0,9}}(torch\.\w{{1,20}}\()?{own}\b|{own}\s{{0,4}}/|sum\({own}\)\s{{0,4}}/|{own}(\.cpu\(\))?\.mean\(",
            text,
        )
    )


DECIDED = SHAPES | {"astype", "int", "long", "array", "concatenate", "asarray"}
"""Calls that leave decided classes what they are."""


RANKING = {"roc_auc_score": 1, "average_precision_score": 1, "roc_curve": 1, "precision_recall_curve": 1}
"""Figures of how scores rank -> the place of the scores."""


TRUE_FIRST = frozenset(
    ("roc_auc_score", "average_precision_score", "roc_curve", "precision_recall_curve", "precision_score", "recall_score", "classification_report",
     "confusion_matrix", "log_loss", "precision_recall_fscore_support", "r2_score")
)  # fmt: skip
"""Figures of scikit-learn that are not the same the other way round: the truth is first."""


def _cut(test: ast.Compare) -> bool:
    """Whether scores are cut into two classes: `scores > 0.5`."""
    return isinstance(test.ops[0], (ast.Gt, ast.GtE)) and isinstance(test.comparators[0], ast.Constant)


def _shape(view: View, expr: ast.expr) -> str:
    """`hard` for decided classes, `soft` for scores of a model, empty where nothing tells."""
    program = view.program
    for node in program.traced(expr, 3):
        if isinstance(node, ast.Call):
            name = last(program.path(node.func))
            if name in ("argmax", "round") or (name == "predict" and len(node.args) == 1):
                return "hard"
            if name in ("predict_proba", "decision_function", "sigmoid", "softmax"):
                return "soft"
        if isinstance(node, ast.Compare) and _cut(node):
            return "hard"
    word = last(key(expr))
    if re.search(r"(^|_)(prob(s|as|abilities)?|scores?|logits)$", word):
        return "soft"
    return "pred" if re.search(r"(^|_)(y_?(pred|hat)|preds?|predictions?|predicted)$", word) else ""


@rule("ranking-metric-of-hard-labels", "S2", "eval-harness-drift", "roc_auc_score average_precision_score roc_curve precision_recall_curve",
      bad="""
      import torch
      decided = torch.argmax(logits, dim=-1).cpu().numpy()
      print("AUC", roc_auc_score(labels, decided))
      """,
      good="""
      import torch
      scores = torch.softmax(logits, dim=-1)[:, 1].cpu().numpy()
      print("AUC", roc_auc_score(labels, scores))
      """)  # fmt: skip
def ranking_metric_of_hard_labels(view: View) -> Iterator[Fault]:
    """A figure of how scores rank is given decided classes.

    Why: with two values there is one threshold left: the figure is a kind of accuracy, and far too low.
    """
    program = view.program
    for call in program.find(*RANKING):
        scores = argument(call, "y_score", 1)
        if scores is None:
            continue
        value = peeled(view, scores, DECIDED)
        name = last(program.path(value.func)) if isinstance(value, ast.Call) else ""
        if isinstance(value, ast.ListComp):
            value = peeled(view, value.elt, DECIDED)
        cut = isinstance(value, ast.Compare) and _cut(value)
        model = (
            name == "predict"
            and isinstance(value, ast.Call)
            and re.search(r"Classifier|Regression$|SVC$|NB$", constructor(view, receiver(value)))
        )
        if name in ("argmax", "round") or cut or model:
            yield Fault(call, f"`{last(program.path(call.func))}` takes scores and is given decided classes",
                        f"`{last(program.path(call.func))}` 需要分数，这里给的是已判定的类别", beside=(value,))  # pyright: ignore[reportArgumentType]  # fmt: skip


@rule("metric-arguments-swapped", "S2", "eval-harness-drift", "_score classification_report roc_curve confusion_matrix log_loss precision_recall",
      bad="""
      import torch
      y_pred = torch.argmax(logits, dim=-1).cpu().numpy()
      print(precision_score(y_pred, y_true, average="macro"))
      """,
      good="""
      import torch
      y_pred = torch.argmax(logits, dim=-1).cpu().numpy()
      print(precision_score(y_true, y_pred, average="macro"))
      """)  # fmt: skip
def metric_arguments_swapped(view: View) -> Iterator[Fault]:
    """Predictions stand where the truth belongs.

    Why: precision becomes recall, and the other way round; a ranking of labels by labels means nothing.
    """
    program = view.program
    for call in program.find(*TRUE_FIRST):
        if len(call.args) < 2 or any(k.arg in ("y_true", "y_pred", "y_score") for k in call.keywords):
            continue
        first, second = _shape(view, call.args[0]), _shape(view, call.args[1])
        truth = re.search(
            r"true|truth|label|gold|target|(^|_)(y|gt|ref\w{0,9})$|y_test|y_val|y_te$",
            last(key(call.args[1])) or program.code(call.args[1]),
            re.I,
        )
        if first and not second and truth and not re.search(r"true|label|gold|target", last(key(call.args[0])) or "", re.I):  # fmt: skip
            a, b = (source(program, x) for x in call.args[:2])
            yield Fault(call, f"`{last(program.path(call.func))}` takes the truth first and is given predictions",
                        f"`{last(program.path(call.func))}` 的第一个参数应是真值，这里给的是预测", (instead(call.args[0], b), instead(call.args[1], a)))  # fmt: skip


@rule("metric-not-reset", "S2", "eval-harness-drift", "torchmetrics",
      bad="""
      from torchmetrics.classification import MulticlassAccuracy
      accuracy = MulticlassAccuracy(10)
      for epoch in range(3):
          for x, y in val_loader:
              accuracy.update(model(x), y)
          print(epoch, accuracy.compute())
      """,
      good="""
      from torchmetrics.classification import MulticlassAccuracy
      accuracy = MulticlassAccuracy(10)
      for epoch in range(3):
          for x, y in val_loader:
              accuracy.update(model(x), y)
          print(epoch, accuracy.compute())
          accuracy.reset()
      """)  # fmt: skip
def metric_not_reset(view: View) -> Iterator[Fault]:
    """A metric that gathers is computed in each epoch and never reset.

    Why: the figure is of all epochs so far: it lags behind, and a fall does not show.
    """
    program = view.program
    for call in program.find("compute"):
        name = key(receiver(call))
        path = constructor(view, receiver(call)) if name else ""
        if not path.startswith("torchmetrics.") or any(
            last(key(receiver(c))) == last(name) or not key(receiver(c)) for c in program.find("reset")
        ):
            continue
        built = program.binding(receiver(call))  # pyright: ignore[reportArgumentType]
        loop = epoch_loop(program, call) or _passes(program, call, name) or _called_in_a_loop(program, call)
        if loop is not None and built is not None and loop not in program.loops(built.node):
            yield Fault(call, f"`{name}` is computed in each epoch and never reset",
                        f"`{name}` 每个 epoch 都计算，却从不 reset")  # fmt: skip


def _called_in_a_loop(program: Program, call: ast.Call) -> ast.AST | None:
    """The loop around the one call of the method that computes a figure of its object."""
    on_self = key(receiver(call)).startswith("self.")
    callers = program.callers(program.scope(call)) if on_self and not program.loops(call) else []
    around = [loop for c in callers[:1] for loop in program.loops(c) if isinstance(loop, ast.For)]
    return around[0] if around and len(callers) == 1 else None


def _passes(program: Program, call: ast.Call, name: str) -> ast.AST | None:
    """The loop around a figure in each pass of which another loop gathers it."""
    around = program.loops(call)
    for update in program.find("update"):
        own = program.loops(update) if key(receiver(update)) == name else []
        if around and around[0] in own and own[0] is not around[0]:
            return around[0]
    return None


@rule("best-is-the-worst", "S1", "checkpoint-regression", "monitor metric_for_best_model mode= best ReduceLROnPlateau",
      bad=("""
      from lightning.pytorch.callbacks import ModelCheckpoint
      keep = ModelCheckpoint(monitor="val_acc", save_top_k=1)
      """, """
      from transformers import TrainingArguments
      args = TrainingArguments("out", eval_strategy="steps", load_best_model_at_end=True, metric_for_best_model="eval_f1", greater_is_better=False)
      """),
      good=("""
      from lightning.pytorch.callbacks import ModelCheckpoint
      keep = ModelCheckpoint(monitor="val_acc", mode="max", save_top_k=1)
      """, """
      from transformers import TrainingArguments
      args = TrainingArguments("out", eval_strategy="steps", load_best_model_at_end=True, metric_for_best_model="eval_f1")
      """))  # fmt: skip
def best_is_the_worst(view: View) -> Iterator[Fault]:
    """What is kept, or stopped for, as the best is the worst: the direction of the figure is turned round.

    Why: the default of Lightning and of schedules is that smaller is better, which an accuracy is not.
    """
    program = view.program
    for call in program.find("ModelCheckpoint", "EarlyStopping"):
        _, monitor = given(view, call, "monitor")
        told, mode = given(view, call, "mode")
        if not isinstance(monitor, str) and call.args and last(program.path(call.func)) == "EarlyStopping":
            monitor = program.const(call.args[0])
        keras = re.search(r"keras|tensorflow", program.path(call.func) + program.text[:2000])
        kept = given(view, call, "save_top_k")[1] if given(view, call, "save_top_k")[0] else 1
        if isinstance(monitor, str) and not keras and kept not in (-1, 0) and (not told or mode in ("min", "max")):
            yield from _turned(call, monitor, "min" if not told else str(mode))
    for call in [n for n in program.each(ast.Call) if argument(n, "greater_is_better") is not None]:
        monitor, larger = given(view, call, "metric_for_best_model")[1], given(view, call, "greater_is_better")[1]
        if isinstance(monitor, str) and isinstance(larger, bool):
            yield from _turned(call, monitor, "max" if larger else "min")
    yield from _plateau(view)
    for test, figure, mode in compared(program):
        yield from _turned(test, figure, mode)


def _turned(call: ast.AST, monitor: str, mode: str) -> Iterator[Fault]:
    lower, higher = bool(LOWER.search(monitor)), bool(HIGHER.search(monitor))
    if lower != higher and (mode == "min") is higher:
        yield Fault(call, f"the smallest `{monitor}` counts as the best" if higher else f"the largest `{monitor}` counts as the best",
                    f"把{'最小' if higher else '最大'}的 `{monitor}` 当作最好")  # fmt: skip


def _plateau(view: View) -> Iterator[Fault]:
    """A schedule that waits for a plateau, told the wrong direction."""
    program = view.program
    for call in program.find("step"):
        built = program.origin(receiver(call)) if call.args and key(receiver(call)) else None  # pyright: ignore[reportArgumentType]
        if isinstance(built, ast.Call) and last(program.path(built.func)) == "ReduceLROnPlateau":
            mode = option(program, built, "mode") or (built.args[1] if len(built.args) > 1 else None)
            value = "min" if mode is None else program.const(mode)
            if value in ("min", "max"):
                yield from _turned(call, last(key(call.args[0])), str(value))
