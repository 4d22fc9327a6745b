"""Rules on which positions count: masks in the mean, masks by a position off, the wrong side masked, texts without end."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import Program, argument, key, last, receiver
from ...source import walk
from ..rule import Fault, View, rule
from ..steps.aligned import divided_by_all, masked_from_the_left, off_by_one
from .filling import filled_by_mask, mask_token, parts_of
from .terms import criteria, last_layer, meaning
from .ways import constructor, whole

MASK = re.compile(
    r"(^|_|\.)(keep|mask|masks|loss_mask|response_mask|completion_mask|action_mask|attention_mask|valid|pad_mask|token_mask)(_\w{1,20})?$|mask",
    re.I,
)


EACH = ("softmax_cross_entropy_with_integer_labels", "softmax_cross_entropy", "sigmoid_binary_cross_entropy")
"""Losses of optax, for each position."""
PER_TOKEN = re.compile(r"loss|nll|logp|(^|_)ce|kl|entropy|lp$|surr", re.I)


@rule("mean-over-what-is-masked", "S2", "loss-mask-misaligned", "mask reduction",
      bad="""
      nll = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
      loss = (nll * loss_mask).mean()
      """,
      good="""
      nll = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
      loss = (nll * loss_mask).sum() / loss_mask.sum()
      """)  # fmt: skip
def mean_over_what_is_masked(view: View) -> Iterator[Fault]:
    """A masked loss is averaged over all positions, masked ones with it.

    Why: the loss, and its gradient, shrink with the padding of the batch: short examples hardly count.
    """
    program = view.program
    yield from divided_by_all(view)
    for call in program.find("mean"):
        on = receiver(call)
        value = call.args[0] if call.args and key(on) in ("torch", "np", "jnp") else on
        along = [a for a in (*call.args, *(k.value for k in call.keywords)) if a is not value]
        if value is None or len(along) > 1 or (along and program.const(along[0]) not in (1, -1)):
            continue
        value = program.origin(value) if isinstance(value, ast.Name) else value
        if not along and _ignores(program, value):
            yield Fault(call, "the mean is over ignored positions too, whose loss is 0: divide the sum by how many are not ignored",
                        "均值把被忽略的位置（其 loss 为 0）也算了进去：应除以未被忽略的个数")  # fmt: skip
            continue
        for one, mask in _masked(program, value):
            word = key(_plain(program, mask))
            masked = (MASK.search(word) and not re.search(r"weight|scale|random|drop", word)) or _told(program, mask)
            per_token = PER_TOKEN.search(last(key(_plain(program, one)))) or _each_position(program, one)
            above = program.parent.get(call)
            again = isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Div, ast.Mult))
            if (
                masked
                and per_token
                and not again
                and not re.search(r"mask[\w.\[\]\"', ]{0,60}\.(float\(\)\.)?(mean|sum)\(", whole(program, call))
            ):
                yield Fault(call, "the mean is over masked positions too: divide the sum by the mask's sum",
                            "均值把被掩盖的位置也算了进去：应除以 mask 之和")  # fmt: skip
                break


def _ignores(program: Program, value: ast.expr) -> bool:
    """Whether a value is a loss for each position, 0 where the label is ignored: as it was made, in its shape at most."""
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("view", "reshape", "float")
    ):
        value = program.origin(value.func.value)
    if not isinstance(value, ast.Call) or last(program.path(value.func)) not in ("cross_entropy", "nll_loss"):
        return False
    return program.const(argument(value, "reduction")) == "none" and argument(value, "ignore_index") is not None


def _masked(program: Program, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """(what is masked, the mask) of a product, either way, of `where(mask, x, 0)` and of `x.masked_fill(~mask, 0)`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return [(value.left, value.right), (value.right, value.left)]
    name = last(program.path(value.func)) if isinstance(value, ast.Call) else ""
    if isinstance(value, ast.Call) and name == "where" and len(value.args) == 3 and _nothing(program, value.args[2]):
        return [(value.args[1], value.args[0])]
    on = receiver(value) if isinstance(value, ast.Call) else None
    if isinstance(value, ast.Call) and name == "masked_fill" and on is not None and len(value.args) == 2:
        mask = value.args[0].operand if isinstance(value.args[0], ast.UnaryOp) else value.args[0]
        return [(on, mask)] if _nothing(program, value.args[1]) else []
    return []


def _told(program: Program, mask: ast.expr) -> bool:
    """Whether a mask is a comparison of positions with lengths, or of tokens with padding."""
    made = program.origin(_plain(program, mask))
    said = program.code(made) if isinstance(made, ast.Compare) else ""
    return bool(re.search(r"len|pad|-100|ignore", said, re.I))


def _nothing(program: Program, expr: ast.expr) -> bool:
    """Whether a value is zero, or a tensor of zeros."""
    zeros = isinstance(expr, ast.Call) and last(program.path(expr.func)) in ("zeros_like", "zeros", "new_zeros")
    return zeros or program.const(expr) == 0


def _each_position(program: Program, expr: ast.expr) -> bool:
    """Whether a value is a loss for each position: one that is told not to reduce, or of a library that never does."""
    done: set[str] = set()
    for node in program.traced(expr, 3):
        if isinstance(node, ast.Call):
            done.add(last(program.path(node.func)))
            if done & set(EACH) or {"gather", "log_softmax"} <= done:
                return True
            if any(k.arg == "reduction" and program.const(k.value) == "none" for k in node.keywords):
                return True
    return False


def _plain(program: Program, expr: ast.expr) -> ast.expr:
    """A value without the calls and cuts around its name."""
    while True:
        if (
            isinstance(expr, ast.Call)
            and isinstance(expr.func, ast.Attribute)
            and not expr.func.attr.startswith("log_")
        ):
            expr = expr.func.value
        elif isinstance(expr, ast.Subscript) and not key(expr):
            expr = expr.value
        else:
            return expr


def _cut(expr: ast.expr) -> str:
    """`1:` or `:-1` of a value that is cut along its positions where it is used."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
        expr = expr.func.value
    place = expr.slice if isinstance(expr, ast.Subscript) else None
    for part in place.elts if isinstance(place, ast.Tuple) else [place]:
        if isinstance(part, ast.Slice) and part.step is None:
            if isinstance(part.lower, ast.Constant) and part.lower.value == 1 and part.upper is None:
                return "1:"
            if (
                part.lower is None
                and isinstance(part.upper, ast.UnaryOp)
                and ast.dump(part.upper.operand) == ast.dump(ast.Constant(1))
            ):
                return ":-1"
    return ""


FED = re.compile(r"input_ids\[[^\]]{0,20}:-1\]|log_softmax|cross_entropy|CrossEntropy|gather|logp")
"""Words of a function that computes a loss of the next tokens."""
TARGETS = re.compile(r"(^|_)(labels?|input_ids|ids|tokens|targets?)(['\"\]]{0,3})$")
OF_ANSWERS = re.compile(r"(loss|response|completion|answer|label|action|assistant|target)_?mask(['\"\]]{0,3})$")
"""Names of masks that say which tokens count."""


@rule("mask-cut-at-the-other-end", "S1", "loss-mask-misaligned", "mask padding_side",
      bad="""
      def loss_of(model, ids, loss_mask):
          logits, targets = model(ids).logits[:, :-1], ids[:, 1:]
          nll = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
          mask = loss_mask[:, :-1]
          return (nll * mask).sum() / mask.sum()
      """,
      good="""
      def loss_of(model, ids, loss_mask):
          logits, targets = model(ids).logits[:, :-1], ids[:, 1:]
          nll = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
          mask = loss_mask[:, 1:]
          return (nll * mask).sum() / mask.sum()
      """)  # fmt: skip
def mask_cut_at_the_other_end(view: View) -> Iterator[Fault]:
    """Targets are cut at the front and their mask at the back.

    Why: each token has its neighbour's mask: the first of the answer is left out, and one behind it counts.
    Known gaps: a mask that is made for the positions of the logits is told only by its name.
    """
    program = view.program
    if program.mentions("padding_side"):
        yield from masked_from_the_left(view)
    if not program.mentions(":-1", ": -1"):
        return
    yield from off_by_one(view)
    cut = {n: how for n in program.each(ast.Subscript) if (how := _cut(n))}
    if ":-1" not in cut.values():
        return
    for scope in [f for functions in program.functions.values() for f in functions] + [program.tree]:
        nodes = [n for n in program.within(scope, ast.Subscript) if n in cut]
        if scope is program.tree:
            nodes = [n for n in nodes if program.scope(n) is scope]
        called = {n: last(key(n.value)) or program.code(n.value) for n in nodes}
        targets = [n for n in nodes if cut[n] == "1:" and TARGETS.search(called[n])]
        masks = [n for n in nodes if n not in targets and OF_ANSWERS.search(called[n])]
        body = program.code(scope, 20_000) if scope is not program.tree else program.text
        if targets and {cut[n] for n in masks} == {":-1"} and FED.search(body):
            yield Fault(masks[0], "the mask is cut at the other end than the targets: it is off by one",
                        "mask 与目标的切法相反：错开一位", beside=(targets[0],))  # fmt: skip


@rule("answer-masked-instead", "S1", "loss-mask-misaligned", "-100 IGNORE ignore",
      bad="""
      def encode(row):
          prompt = tokenizer(row["prompt"])["input_ids"]
          ids = prompt + tokenizer(row["answer"])["input_ids"]
          labels = list(ids)
          labels[len(prompt):] = [-100] * (len(ids) - len(prompt))
          return {"input_ids": ids, "labels": labels}
      """,
      good="""
      def encode(row):
          prompt = tokenizer(row["prompt"])["input_ids"]
          ids = prompt + tokenizer(row["answer"], add_special_tokens=False)["input_ids"]
          labels = list(ids)
          labels[:len(prompt)] = [-100] * len(prompt)
          return {"input_ids": ids, "labels": labels}
      """)  # fmt: skip
def answer_masked_instead(view: View) -> Iterator[Fault]:
    """What is masked is the answer, not the prompt.

    Why: the model is trained to write prompts, and never on an answer.
    """
    program = view.program
    for node in program.each(ast.Assign):
        target = node.targets[0]
        if (
            not isinstance(target, ast.Subscript)
            or not re.search(r"label|target", last(key(target.value)) or program.code(target.value))
            or "-100"
            not in program.code(node.value) + ("-100" if re.search(r"IGNORE|ignore", program.code(node.value)) else "")  # pyright: ignore[reportAttributeAccessIssue]
        ):
            continue
        for part in walk(target.slice):
            if (
                isinstance(part, ast.Slice)
                and part.lower is not None
                and part.upper is None
                and re.search(r"prompt|source|instruction|question|prefix|context|head_len", program.code(part.lower))
                and not re.search(r"\+|answer|response|full|total", program.code(part.lower))
            ):
                yield Fault(node, "the answer is masked and the prompt is trained on", "被屏蔽的是回答，训练的却是提示")
    for node in program.each(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        if _masks_second(program, node) or _keeps_first(program, node):
            yield Fault(node, "the answer is masked and the prompt is trained on", "被屏蔽的是回答，训练的却是提示")
        right = node.right
        if (
            isinstance(right, ast.BinOp)
            and isinstance(right.op, ast.Mult)
            and re.fullmatch(r"\[(-100|\w*IGNORE\w*)\]", program.code(right.left))
        ):
            kept, masked = program.code(node.left), program.code(right.right)  # prompt + masked answer
            if (
                re.search(r"prompt|instruction|question|source", kept)
                and re.search(r"len\(\s{0,4}\w*(answer|response|completion|target|output)", masked)
                and not re.search(r"answer|response|-100|IGNORE", kept)
            ):
                yield Fault(node, "the answer is masked and the prompt is trained on", "被屏蔽的是回答，训练的却是提示")


def _masks_second(program: Program, node: ast.BinOp) -> bool:
    """`[-100] * len(b) + ids[len(b):]`, where `ids` is `a + b`."""
    if not isinstance(node.left, ast.BinOp):
        return False
    filled, rest = node.left, node.right
    if not _ignored(program, filled):
        return False
    count = program.origin(filled.right)
    whole = program.origin(rest.value) if isinstance(rest, ast.Subscript) else None
    whole = program.origin(whole.value) if isinstance(whole, ast.Subscript) else whole
    if isinstance(whole, ast.BinOp) and isinstance(whole.right, ast.List):
        whole = program.origin(whole.left)  # `a + b + [end]`
    measured = count.args[0] if isinstance(count, ast.Call) and key(count.func) == "len" and count.args else None
    if not isinstance(whole, ast.BinOp) or not isinstance(whole.op, ast.Add) or measured is None or not key(measured):
        return False
    return key(measured) == key(whole.right) != key(whole.left)


def _ignored(program: Program, node: ast.expr) -> bool:
    """`[-100] * n`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    return re.fullmatch(r"\[(-100|\w{0,40}IGNORE\w{0,40})\]", program.code(node.left)) is not None


def _keeps_first(program: Program, node: ast.BinOp) -> bool:
    """`ids[:len(a)] + [-100] * n`, where `ids` is `a + b`."""
    kept, filled = node.left, node.right
    if not isinstance(kept, ast.Subscript) or not isinstance(kept.slice, ast.Slice) or kept.slice.lower is not None:
        return False
    if not _ignored(program, filled):
        return False
    count = program.origin(kept.slice.upper) if kept.slice.upper is not None else None
    measured = count.args[0] if isinstance(count, ast.Call) and key(count.func) == "len" and count.args else None
    whole = program.origin(kept.value)
    joined = isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Add) and measured is not None
    return joined and key(measured) == key(whole.left) != ""  # type: ignore[union-attr, arg-type]


@rule("masked-tokens-not-predicted", "S1", "loss-mask-misaligned", "mask_token",
      bad="""
      labels = ids.clone()
      masked = torch.bernoulli(torch.full(ids.shape, 0.15)).bool()
      labels[masked] = -100
      ids[masked] = tokenizer.mask_token_id
      """,
      good="""
      labels = ids.clone()
      masked = torch.bernoulli(torch.full(ids.shape, 0.15)).bool()
      labels[~masked] = -100
      ids[masked] = tokenizer.mask_token_id
      """)  # fmt: skip
def masked_tokens_not_predicted(view: View) -> Iterator[Fault]:
    """In masked language modelling, the masked tokens are left out of the loss.

    Why: the model is trained to copy what it sees: the loss falls to nothing, and nothing is learned.
    """
    program = view.program
    filled = list(filled_by_mask(program))
    hidden = [(node, mask, where) for node, mask, value, where in filled if mask_token(program, value)]
    left_out = [(node, mask, where) for node, mask, value, where in filled if hidden and program.const(value) == -100]
    for node, mask, where in hidden:
        for other, same, place in left_out:
            if program.scope(other) is not program.scope(node) or not isinstance(same, ast.Name):
                continue
            moved = isinstance(other, ast.Assign) and isinstance(node, ast.Assign) and place == where
            if moved or same.id not in parts_of(program, mask):
                continue
            if not _assigned_between(program, same.id, other, node):
                yield Fault(other, "the masked tokens are left out of the loss", "被遮盖的 token 反而不计入 loss",
                            (instead(same, f"~{same.id}"),), beside=(node,))  # fmt: skip


def _assigned_between(program: Program, name: str, one: ast.AST, two: ast.AST) -> bool:
    low, high = sorted((one.lineno, two.lineno))  # pyright: ignore[reportAttributeAccessIssue]
    return any(low < getattr(b.node, "lineno", 0) < high for b in program.bindings(one, name))


@rule("scores-without-their-function", "S1", "loss-stagnation", "nll_loss NLLLoss binary_cross_entropy BCELoss",
      bad="""
      import torch
      net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
      loss = F.nll_loss(net(x), y)
      """,
      good="""
      import torch
      net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
      loss = F.nll_loss(F.log_softmax(net(x), dim=-1), y)
      """)  # fmt: skip
def scores_without_their_function(view: View) -> Iterator[Fault]:
    """A loss of probabilities, or of their logarithms, is given raw scores.

    Why: the number is no likelihood: it falls without end, or raises outside of 0 and 1.
    """
    program = view.program
    calls = [*program.find("nll_loss", "binary_cross_entropy"), *criteria(view, "NLLLoss", "BCELoss")]
    for call in calls:
        if not call.args:
            continue
        kind, _ = meaning(view, call.args[0])
        end = last_layer(view, call.args[0]) if not kind else None
        direct = program.origin(call.args[0])
        logits = isinstance(direct, ast.Attribute) and direct.attr == "logits"
        name = last(program.path(call.func)) + last(constructor(view, call.func))
        if (
            logits
            or (end is not None and last(program.path(end.func)) == "Linear")
            or (kind == "probabilities" and "nll" in name.lower())
        ):
            yield Fault(call, "this loss takes probabilities or their logarithms and is given something else",
                        "该损失需要概率或对数概率，这里给的不是", beside=(end,) if end is not None else ())  # fmt: skip
