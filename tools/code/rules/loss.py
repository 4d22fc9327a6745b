"""Rules on the loss and its labels."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..patch import instead
from ..program import argument, key, last, receiver
from .look import inside, source
from .rule import Fault, View, rule

ENTROPY = ("cross_entropy", "CrossEntropyLoss")
LABELS = re.compile(r"(^|_|\b)(labels?|targets?|tgt|y_true|gold|target_ids)($|_|\b)", re.I)
LOGITS = re.compile(r"(^|_|\b)(logits?|preds?|outputs?|scores?)($|_|\b)", re.I)


SAME = frozenset(("view", "reshape", "contiguous", "to", "cuda", "clone", "long", "flatten", "squeeze", "detach", "copy",
                  "transpose", "masked_fill", "int"))  # fmt: skip
"""Methods after which a tensor still holds what it held, position by position."""


def entropies(view: View) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """(call, logits, labels) of every cross-entropy."""
    program = view.program
    if not program.mentions("cross_entropy", "CrossEntropyLoss"):
        return
    made = {n for s in program.bound.values() for n, bs in s.items() for b in bs
            if isinstance(b.value, ast.Call) and last(program.path(b.value.func)) == "CrossEntropyLoss"}  # fmt: skip
    for node in program.each(ast.Call):
        direct = last(program.path(node.func)) == "cross_entropy"
        object_ = key(node.func) in made or (
            isinstance(node.func, ast.Call) and last(program.path(node.func)) in ("CrossEntropyLoss",)
        )
        if direct or object_:
            logits, labels = argument(node, "input", 0), argument(node, "target", 1)
            if logits is not None and labels is not None:
                yield node, logits, labels


def core_name(view: View, expr: ast.expr) -> ast.expr:
    """A value without what only shapes it."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in SAME:
        expr = expr.func.value
    return expr


def base(view: View, expr: ast.AST) -> str:
    """The name of what a value is made of, through views, copies and devices."""
    named = ""
    for _ in range(12):
        named = key(expr) or named
        if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in SAME:
            expr = expr.func.value
            continue
        found = view.program.origin(expr) if isinstance(expr, (ast.Name, ast.Attribute)) else expr
        if found is expr:
            break
        expr = found
    return key(expr) or named


@rule("ignore-index-differs", "S1", "loss-mask-misaligned", "ignore_index cross_entropy CrossEntropyLoss",
      bad="""
      labels = ids.clone()
      labels[mask == 0] = -100
      loss = torch.nn.functional.cross_entropy(logits.view(-1, vocab), labels.view(-1), ignore_index=0)
      """,
      good="""
      labels = ids.clone()
      labels[mask == 0] = -100
      loss = torch.nn.functional.cross_entropy(logits.view(-1, vocab), labels.view(-1), ignore_index=-100)
      """)  # fmt: skip
def ignore_index_differs(view: View) -> Iterator[Fault]:
    """Labels are masked with one number, and the loss ignores another.

    Why: masked positions are trained on, or the loss fails on a label outside the vocabulary.
    """
    program = view.program
    masks = {v for n in program.each(ast.Assign, ast.BinOp, ast.Call) if (v := _mask_value(view, n)) is not None}
    if len(masks) != 1:
        return
    mask = next(iter(masks))
    for call in program.find("cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss"):
        given = argument(call, "ignore_index")
        value = program.const(given) if given is not None else -100
        if value is None and last(key(given)) in ("pad_token_id", "eos_token_id", "pad_id", "pad_idx"):
            yield Fault(call, f"labels are masked with {mask}, the loss ignores `{key(given)}`",
                        f"labels 用 {mask} 屏蔽，而 loss 忽略的是 `{key(given)}`")  # fmt: skip
        if isinstance(value, int) and value != mask:
            fix = (
                (instead(given, str(mask)),) if given is not None else _with_keyword(view, call, f"ignore_index={mask}")
            )
            yield Fault(call, f"labels are masked with {mask}, the loss ignores {value}",
                        f"labels 用 {mask} 屏蔽，而 loss 忽略的是 {value}", fix)  # fmt: skip


FILLED = re.compile(r"label|tags?\b|target|tgt|ignore", re.I)


def _with_keyword(view: View, call: ast.Call, text: str) -> tuple:
    whole = source(view.program, call)
    inner = ", " if call.args or call.keywords else ""
    return (instead(call, f"{whole[:-1]}{inner}{text})"),) if whole.endswith(")") and "\n" not in whole else ()


def _mask_value(view: View, node: ast.AST) -> int | None:
    """The negative number with which labels are masked, or filled up, here."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.BinOp):
        filled = node.right.left if isinstance(node.right.op, ast.Mult) else None
        value = view.program.const(filled.elts[0]) if isinstance(filled, ast.List) and len(filled.elts) == 1 else None
        word = (
            f"{view.program.code(node.left)} {view.program.code(filled.elts[0])}"
            if isinstance(filled, ast.List) and filled.elts
            else ""
        )
        return value if isinstance(value, int) and value < 0 and FILLED.search(word) else None
    if isinstance(node, ast.Call) and last(view.program.path(node.func)) == "pad_sequence" and node.args:
        value = view.program.const(argument(node, "padding_value", 2))
        return (
            value if isinstance(value, int) and value < 0 and FILLED.search(view.program.code(node.args[0])) else None
        )
    if (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and LABELS.search(key(node.targets[0].value))
    ):
        value = view.program.const(node.value)
        whole = not isinstance(node.targets[0].slice, ast.Constant)
        return value if whole and isinstance(value, int) and not isinstance(value, bool) and value < 0 else None
    if isinstance(node, ast.Call) and last(view.program.path(node.func)) in ("masked_fill", "masked_fill_"):
        value = view.program.const(argument(node, "value", 1))
        statement = view.program.statement(node)
        target = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        own = LABELS.search(key(receiver(node))) or LABELS.search(target)
        return value if own and isinstance(value, int) and value < 0 else None
    return None


@rule("softmax-before-cross-entropy", "S1", "loss-stagnation", "cross_entropy CrossEntropyLoss",
      bad="""
      probs = torch.softmax(model(x), dim=-1)
      loss = torch.nn.functional.cross_entropy(probs, labels)
      """,
      good="""
      logits = model(x)
      loss = torch.nn.functional.cross_entropy(logits, labels)
      """)  # fmt: skip
def softmax_before_cross_entropy(view: View) -> Iterator[Fault]:
    """Cross-entropy, which takes logits, is given probabilities.

    Why: the softmax is applied twice; gradients are small, and the loss cannot fall far.
    """
    for call, logits, _ in entropies(view):
        expr = logits
        for _ in range(6):
            expr = view.program.origin(expr)
            name = last(view.program.path(expr.func)) if isinstance(expr, ast.Call) else ""
            if name in (*SAME, "float", "permute") and isinstance(expr, ast.Call):
                expr = receiver(expr) or expr
                continue
            if isinstance(expr, ast.Subscript):
                expr = expr.value
                continue
            break
        if isinstance(expr, ast.Call) and last(view.program.path(expr.func)) in ("softmax", "sigmoid"):
            on = receiver(expr)
            inner = (
                expr.args[0] if expr.args and key(on) in ("F", "torch", "nn.functional", "torch.nn.functional") else on
            )
            fix = (
                (instead(expr, source(view.program, inner)),)
                if isinstance(inner, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
                else ()
            )
            yield Fault(expr, "cross-entropy takes logits and is given probabilities", "cross_entropy 应接收 logits，这里给的是概率",
                        fix, beside=(call,))  # fmt: skip


@rule("loss-arguments-swapped", "S1", "loss-stagnation", "cross_entropy CrossEntropyLoss nll_loss",
      bad="loss = torch.nn.functional.cross_entropy(labels.view(-1), logits.view(-1, vocab))\n",
      good="loss = torch.nn.functional.cross_entropy(logits.view(-1, vocab), labels.view(-1))\n")  # fmt: skip
def loss_arguments_swapped(view: View) -> Iterator[Fault]:
    """Labels and logits are given to the loss in the wrong order.

    Why: it fails, or with labels as probabilities trains the wrong thing.
    """
    for call, logits, labels in entropies(view):
        direct = [last(key(core_name(view, e))) for e in (logits, labels)]
        own = any(w.search(d) for d in direct for w in (LABELS, LOGITS))
        first, second = direct if own else (last(base(view, logits)), last(base(view, labels)))
        wrong = LABELS.search(first) and LOGITS.search(second)
        if wrong and not LOGITS.search(first) and not LABELS.search(second) and len(call.args) >= 2:
            a, b = source(view.program, call.args[0]), source(view.program, call.args[1])
            yield Fault(call, "labels and logits are given in the wrong order", "logits 与 labels 的次序颠倒",
                        (instead(call.args[0], b), instead(call.args[1], a)))  # fmt: skip


@rule("loss-through-argmax", "S1", "loss-stagnation", "argmax",
      bad="""
      for batch in loader:
          preds = model(batch["x"]).argmax(dim=-1)
          loss = torch.nn.functional.mse_loss(preds.float(), batch["y"])
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          preds = model(batch["x"])
          loss = torch.nn.functional.mse_loss(preds, batch["y"])
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def loss_through_argmax(view: View) -> Iterator[Fault]:
    """The loss is computed from an argmax of the model's outputs.

    Why: an argmax has no gradient; nothing is learned.
    """
    names = ("mse_loss", "l1_loss", "cross_entropy", "smooth_l1_loss", "binary_cross_entropy", "nll_loss")
    for training in view.trainings:
        for event in training.of("backward"):
            for node in view.program.traced(event.on, 3) if event.on is not None else ():
                if isinstance(node, ast.Call) and last(view.program.path(node.func)) in names and node.args:
                    first = view.program.origin(node.args[0])
                    while isinstance(first, ast.Call) and last(view.program.path(first.func)) in (
                        *SAME,
                        "float",
                        "view",
                        "to",
                        "long",
                        "squeeze",
                        "unsqueeze",
                        "type",
                        "double",
                    ):
                        first = view.program.origin(receiver(first) or first.args[0])
                    if isinstance(first, ast.Call) and last(view.program.path(first.func)) in ("argmax", "round"):
                        yield Fault(first, "the loss goes through an argmax, which has no gradient",
                                    "loss 经过 argmax，没有梯度", beside=(node,))  # fmt: skip


@rule("log-of-softmax", "S2", "unstable-op", "log(",
      bad="logps = torch.log(torch.softmax(logits, dim=-1))\n", good="logps = torch.log_softmax(logits, dim=-1)\n")  # fmt: skip
def log_of_softmax(view: View) -> Iterator[Fault]:
    """The logarithm of a softmax is taken in two steps.

    Why: a probability that rounds to zero becomes minus infinity, and the gradient NaN.
    """
    for call in view.program.find("log"):
        on = receiver(call)
        value = call.args[0] if call.args else on
        value = view.program.origin(value) if value is not None else None
        if not isinstance(value, ast.Call) or last(view.program.path(value.func)) != "softmax":
            continue
        if last(view.program.path(call.func)) != "log" or (call.args and key(on) not in ("torch", "F")):
            continue
        text = source(view.program, value)
        direct = inside(view.program, value, call) and "softmax(" in text
        fix = (instead(call, text.replace("softmax(", "log_softmax(", 1)),) if direct else ()
        yield Fault(call, "log of softmax in two steps: small probabilities become minus infinity",
                    "分两步计算 log(softmax)：小概率会变成 -inf", fix)  # fmt: skip
