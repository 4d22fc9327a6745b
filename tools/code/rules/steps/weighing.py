"""Rules on how much each token, batch and rank counts in a mean."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice

from ...flow import made_of
from ...program import Binding, Program, argument, key, last, receiver
from ...source import walk
from ...training import Event, window
from ..accumulation import divisors, own, same
from ..distributed import collectives
from ..rule import Fault, View, rule

COUNTS = re.compile(r"sum\(|numel\(|count_nonzero\(")
"""How tokens are counted that are not padding."""
RANKS = re.compile(r"world|num_processes|n_ranks|nproc|n_gpus", re.I)
WEIGHED = re.compile(
    r"num_items_in_batch|n_?tok|num_tok|token_count|tokens_in|!= ?-100\)?\.|reduction\s{0,4}=\s{0,4}['\"]sum"
)
MASKED = re.compile(
    r"\[\s{0,4}(-100|\w{0,40}IGNORE\w{0,40})\s{0,4}\]\s{0,4}\*\s{0,4}[\w(]|padding_value\s{0,4}=\s{0,4}-100"
)
"""Prompts that are masked, or answers that are filled up."""
ANSWERS = re.compile(
    r"\b(sft|chat|instruct(ion)?s?|supervised|answers?|responses?|completions?|assistant|prompts?)\b|sft_|_sft", re.I
)
"""Words of training on answers, whose lengths differ."""


@rule("means-averaged-over-ranks", "S2", "eval-harness-drift", "all_reduce gather reduce reduction",
      bad="""
      import torch
      total, tokens = torch.zeros(()), torch.zeros(())
      for x, y in loader:
          total += F.cross_entropy(model(x), y, ignore_index=0, reduction="sum")
          tokens += (y != 0).sum()
      value = total / tokens
      dist.all_reduce(value)
      value /= dist.get_world_size()
      """,
      good="""
      import torch
      total, tokens = torch.zeros(()), torch.zeros(())
      for x, y in loader:
          total += F.cross_entropy(model(x), y, ignore_index=0, reduction="sum")
          tokens += (y != 0).sum()
      dist.all_reduce(total)
      dist.all_reduce(tokens)
      value = total / tokens
      """)  # fmt: skip
def means_averaged_over_ranks(view: View) -> Iterator[Fault]:
    """Each rank's mean over its own tokens is averaged over the ranks.

    Why: a rank with few tokens counts as much as one with many: the figure depends on how the data are dealt out.
    """
    program = view.program
    yield from _batch_means(view)
    yield from _own_tokens(view)
    reduced = {key(a) for c in collectives(view) for a in c.args[:1]} - {""}
    for call in _averages(view):
        made = program.origin(call.args[0])
        count = made.right if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div) else None
        raised = (
            [b for b in program.bindings(count) if b.how == "augment" and b.value is not None]
            if count is not None
            else []
        )
        counts = (program.code(b.value) + program.code(program.origin(b.value)) for b in raised if b.value is not None)
        tokens = any(COUNTS.search(c) for c in counts)
        if count is not None and tokens and key(count) not in reduced:
            yield Fault(made, f"each rank's mean is over its own `{key(count)}`, and the ranks count alike: sum both over the ranks first",
                        f"各 rank 按自己的 `{key(count)}` 求均值，再等权平均：应先分别求和", beside=(call,))  # fmt: skip


def _batch_means(view: View) -> Iterator[Fault]:
    """Means of batches, whose tokens differ in number, that are summed and counted over all ranks."""
    program = view.program
    if not re.search(r"ignore_index|-100|padding\s{0,3}=|pad_token|pad_sequence", program.text):
        return
    reduced: list[tuple[ast.Call, list[Binding]]] = []
    for call in collectives(view):
        if call.args and last(program.path(call.func)) in ("all_reduce", "reduce", "gather", "gather_for_metrics"):
            reduced.append((call, _raised(program, call.args[0])))
    for call, raised in reduced:
        beside = [b for c, each in reduced if program.scope(c) is program.scope(call) for b in each]
        if any(COUNTS.search(t) or WEIGHED.search(t) for t in (program.code(b.value) for b in beside if b.value)):
            continue
        one = next((b.node for b in raised if b.value is not None and _mean_and_one(program, b.value, beside)), None)
        if one is not None:
            yield Fault(one, "means of batches count alike over all ranks, although their tokens differ in number: sum losses and tokens",
                        "各批次的均值被等权平均，而 token 数并不相同：应分别累加 loss 之和与 token 数", beside=(call,))  # fmt: skip
            return


def _raised(program: Program, value: ast.expr) -> list[Binding]:
    """What is added to the names that a value is made of."""
    nodes = (n for n, _, _ in islice(made_of(program, value, (), 4), 120))
    named = {key(n): n for n in nodes if isinstance(n, (ast.Name, ast.Attribute))}
    return [b for n in named.values() for b in program.bindings(n) if b.how == "augment" and b.value is not None]


def _own_tokens(view: View) -> Iterator[Fault]:
    """A sum over tokens that each rank divides by its own number of them, before a library averages the ranks."""
    program = view.program
    wrapped = any(True for _ in program.find("DistributedDataParallel", "DDP"))
    for training in view.trainings if wrapped and "sum" in program.text else ():
        calls = (last(program.path(e.node.func)) for e in training.of("call") if isinstance(e.node, ast.Call))
        if any(c in ("all_reduce", "reduce", "all_gather", "gather") for c in calls):
            continue
        for event in (e for e in training.of("backward") if e.on is not None):
            for node, _, _ in made_of(program, event.on, event.calls, 5):  # type: ignore[arg-type]
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _token_mean(program, node):
                    yield Fault(node, "each rank divides by its own number of tokens, and the ranks then count alike: divide by the mean number over the ranks",
                                "各 rank 除以自己的 token 数后再被等权平均：应除以所有 rank 的平均 token 数", beside=(event.node,))  # fmt: skip
                    return


def _token_mean(program: Program, node: ast.BinOp) -> bool:
    """Whether a sum of losses is divided by how many labels are not ignored."""
    summed = any(
        isinstance(n, ast.Call) and program.const(argument(n, "reduction")) == "sum"
        for n in program.traced(node.left, 3)
    )
    counts = program.code(node.right) + " ".join(
        program.code(n) for n in program.traced(node.right, 3) if isinstance(n, ast.Call)
    )
    return (
        summed
        and bool(re.search(r"!=\s{0,3}-100|\.ne\(-100|!=\s{0,3}\w{0,20}ignore", counts, re.I))
        and "sum" in counts
    )


def _mean_and_one(program: Program, value: ast.expr, raised: list[Binding]) -> bool:
    """Whether what is added is the mean loss of a batch, and 1 is added beside it."""
    if isinstance(value, ast.Call) and last(program.path(value.func)) in ("stack", "tensor", "array") and value.args:
        parts = value.args[0].elts if isinstance(value.args[0], (ast.List, ast.Tuple)) else []
        return any(_mean_loss(program, p) for p in parts) and any(_one(program, p) for p in parts)
    return _mean_loss(program, value) and any(_one(program, b.value) for b in raised if b.value is not None)


def _one(program: Program, expr: ast.expr) -> bool:
    return program.const(expr) == 1 or (isinstance(expr, ast.Call) and last(program.path(expr.func)) == "ones_like")


def _mean_loss(program: Program, expr: ast.expr) -> bool:
    """Whether a value is the mean over the tokens of one batch, as it was made."""
    for _ in range(6):
        if isinstance(expr, ast.Call) and last(program.path(expr.func)) in ("item", "detach", "float", "double", "to"):
            expr = receiver(expr) or (expr.args[0] if expr.args else expr)
        expr = program.origin(expr)
    if isinstance(expr, ast.Attribute):
        return expr.attr == "loss" and isinstance(program.origin(expr.value), ast.Call)
    told = isinstance(expr, ast.Call) and last(program.path(expr.func)) == "cross_entropy"
    return told and argument(expr, "reduction") is None  # type: ignore[arg-type]


def _averages(view: View) -> Iterator[ast.Call]:
    """Calls by which a value becomes the mean of all ranks' values."""
    program = view.program
    for call in collectives(view):
        if last(program.path(call.func)) != "all_reduce" or not call.args:
            continue
        op = argument(call, "op", 1)
        scope, name = program.scope(call), key(call.args[0])
        divided = any(isinstance(n, (ast.BinOp, ast.AugAssign)) and isinstance(n.op, ast.Div) and RANKS.search(program.code(n))
                      and name in {key(x) for x in walk(n)} for n in program.within(scope))  # fmt: skip
        if name and (divided or (op is not None and program.code(op).endswith("AVG"))):
            yield call
    for call in program.find("gather", "reduce"):
        above = program.parent.get(call)
        mean = isinstance(above, ast.Attribute) and above.attr == "mean"
        told = program.const(argument(call, "reduction", 1)) == "mean"
        library = view.roles.of(receiver(call)) == "accelerator" or re.match(
            r"(self\.)?acc(el\w{0,12})?$", key(receiver(call))
        )
        if call.args and library and (mean or told):
            yield call


@rule("token-means-averaged", "S2", "grad-accum-loss-scaling", "-100 IGNORE ignore_index",
      bad="""
      labels = [-100] * len(prompt) + answer
      for i, batch in enumerate(loader):
          (model(**batch).loss / 8).backward()
          if (i + 1) % 8 == 0:
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      labels = [-100] * len(prompt) + answer
      for group in groups(loader, 8):
          tokens = sum((b["labels"] != -100).sum() for b in group)
          for batch in group:
              (loss_sum(model, batch) / tokens).backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def token_means_averaged(view: View) -> Iterator[Fault]:
    """Micro-batches whose answers differ in length count alike in one step.

    Why: a token of a short answer weighs many times as much as one of a long answer: the step is not that of one large batch.
    Known gaps: told only where the program masks prompts by itself and accumulates by itself.
    """
    program = view.program
    if not view.trainings:
        return
    masks = MASKED.search(program.text) is not None
    if not (masks or ANSWERS.search(program.text)) or WEIGHED.search(program.text):
        return
    for training, found in own(view):
        for event in training.of("backward"):
            counts = [c for c in (found.count, _together(program, event)) if c is not None]
            plain = [d for d in divisors(view, event) if any(same(program, d, c) for c in counts)]
            parts = list(program.traced(event.on, 4)) if event.on is not None else []
            mean = masks and any(isinstance(n, ast.Attribute) and n.attr == "loss" for n in parts)
            mean = mean or any(isinstance(n, ast.Call) and _mean_of_answers(program, n) for n in parts)
            if plain and mean:
                yield Fault(plain[0], "micro-batches count alike although their answers differ in length: divide the sum by all tokens of the step",
                            "各 micro-batch 等权，而回答长度不同：应除以该步全部 token 数", beside=(event.node,))  # fmt: skip


def _together(program: Program, event: Event) -> ast.expr | None:
    """How many batches a loop hands on together, where the backward runs over them: `for group in chunks(loader, n)`."""
    loop = next((x for x in event.loops if isinstance(x, (ast.For, ast.AsyncFor))), None)
    return window(program, loop.iter) if loop is not None else None


def _mean_of_answers(program: Program, call: ast.Call) -> bool:
    """Whether a call gives the mean over the tokens that are not left out, as it says."""
    told = argument(call, "ignore_index")
    return last(program.path(call.func)) == "cross_entropy" and told is not None and argument(call, "reduction") is None


@rule("averaged-once-more", "S2", "grad-accum-loss-scaling", "all_reduce",
      bad="""
      model = DistributedDataParallel(net)
      for x, y in loader:
          nll = F.cross_entropy(model(x), y, reduction="sum")
          tokens = (y != -100).sum()
          dist.all_reduce(tokens)
          loss = nll / tokens
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      model = DistributedDataParallel(net)
      for x, y in loader:
          nll = F.cross_entropy(model(x), y, reduction="sum")
          tokens = (y != -100).sum()
          dist.all_reduce(tokens)
          loss = nll * dist.get_world_size() / tokens
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def averaged_once_more(view: View) -> Iterator[Fault]:
    """The loss is divided by the tokens of all ranks, and the wrapper averages gradients over the ranks again.

    Why: gradients are too small by the number of ranks.
    """
    program = view.program
    wrapped = any(True for _ in program.find("DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP"))
    reduced = {key(c.args[0]) for c in collectives(view) if c.args and last(program.path(c.func)) == "all_reduce"} - {
        ""
    }
    if not wrapped or not reduced or any(".grad" in name for name in reduced):
        return
    for training in view.trainings:
        for event in training.of("backward"):
            nodes = list(program.traced(event.on, 4)) if event.on is not None else []
            shared = [
                n
                for n in nodes
                if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) and _of_all(program, n.right, reduced)
            ]
            if shared and not any(
                RANKS.search(program.path(n)) for n in nodes if isinstance(n, (ast.Name, ast.Attribute, ast.Call))
            ):
                yield Fault(shared[0], "the sum is divided by what all ranks counted, and gradients are averaged over the ranks again: multiply by their number",
                            "已除以全部 rank 的计数，而梯度还会再按 rank 求平均：应乘以 rank 数", beside=(event.node,))  # fmt: skip


def _of_all(program: Program, divisor: ast.expr, reduced: set[str]) -> bool:
    """Whether a divisor is what was summed over the ranks."""
    while isinstance(divisor, ast.Call) and isinstance(divisor.func, ast.Attribute):
        divisor = divisor.func.value
    return key(divisor) in reduced
