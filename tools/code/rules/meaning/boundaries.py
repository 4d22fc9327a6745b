"""Rules on where groups of passes end and what a schedule multiplies."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import FOLLOWED, FUNCTIONS, Program, argument, key, last
from ...running import place
from ...source import walk
from ..look import source
from ..rule import Fault, View, rule
from .ways import returns


@rule("boundary-turned-round", "S1", "grad-accum-loss-scaling", "%",
      bad="""
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / accum
          loss.backward()
          if (i + 1) % accum:
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / accum
          loss.backward()
          if (i + 1) % accum == 0:
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def boundary_turned_round(view: View) -> Iterator[Fault]:
    """The optimizer steps on every pass but the last of each group.

    Why: the remainder is true where it is not zero: it is the other way round than meant.
    """
    program = view.program
    for training in view.trainings:
        backs = training.of("backward")
        for step in training.of("step"):
            for test, positive in step.guards:
                bare = isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod) and positive
                plain = bare or (positive and isinstance(test, ast.Compare) and _left_over(program, test, True))
                found = plain or (
                    _left_over(program, test, positive) and any(all(t is not test for t, _ in b.guards) for b in backs)
                )
                if found and not any(
                    key(s.on) == key(step.on) and (test, positive) not in s.guards for s in training.of("step")
                ):
                    yield Fault(test, "the step is made where the remainder is not zero: on all passes but the last of a group", "余数不为零时才更新：与累积边界正好相反",
                                (instead(test, f"{source(program, test)} == 0"),) if bare else (), beside=(step.node,))  # fmt: skip


def _left_over(program: Program, test: ast.expr, positive: bool) -> bool:
    """Whether a condition, or its other side, holds where a remainder is not zero."""
    test = program.origin(test) if key(test) else test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _left_over(program, test.operand, not positive)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) is positive:
        return any(_left_over(program, v, positive) for v in test.values)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        return positive
    divided = isinstance(test, ast.Compare) and isinstance(test.left, ast.BinOp) and isinstance(test.left.op, ast.Mod)
    if not isinstance(test, ast.Compare) or not divided or program.const(test.comparators[0]) != 0:
        return False
    return isinstance(test.ops[0], ast.NotEq if positive else ast.Eq)


@rule("counted-from-one-twice", "S2", "grad-accum-loss-scaling", "enumerate",
      bad="""
      for i, batch in enumerate(loader, 1):
          loss = model(**batch).loss / accum
          loss.backward()
          if (i + 1) % accum == 0:
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      for i, batch in enumerate(loader, 1):
          loss = model(**batch).loss / accum
          loss.backward()
          if i % accum == 0:
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def counted_from_one_twice(view: View) -> Iterator[Fault]:
    """A counter that begins at 1 gets another 1 where groups end.

    Why: the first group is one pass short, and the last pass is left over.
    """
    program = view.program
    for training in view.trainings:
        found = training.accumulation
        left = found.left if found is not None else None
        if (
            isinstance(left, ast.BinOp)
            and isinstance(left.op, ast.Add)
            and program.const(left.right) == 1
            and isinstance(training.node, ast.For)
        ):
            call = training.node.iter
            begun = (
                argument(call, "start", 1)
                if isinstance(call, ast.Call) and last(program.path(call.func)) == "enumerate"
                else None
            )
            if (
                begun is not None
                and program.const(begun) == 1
                and key(left.left) in {key(n) for n in walk(training.node.target)}
            ):
                yield Fault(left, "the counter begins at 1 and gets another 1",
                            "计数已从 1 开始，又加了 1", (instead(left, source(program, left.left)),), beside=(call,))  # fmt: skip


@rule("gradient-read-after-clearing", "S2", "insufficient-logging", "grad",
      bad="""
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          norm = sum(p.grad.norm() for p in model.parameters() if p.grad is not None)
      """,
      good="""
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          norm = sum(p.grad.norm() for p in model.parameters() if p.grad is not None)
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def gradient_read_after_clearing(view: View) -> Iterator[Fault]:
    """Gradients are measured once they are cleared.

    Why: the norm that is logged is always zero, or nothing.
    """
    program = view.program
    for training in view.trainings:
        events = training.events
        zeros = [i for i, e in enumerate(events) if e.kind == "zero" and not e.loops]
        backs = [i for i, e in enumerate(events) if e.kind == "backward"]
        if len(zeros) != 1 or not backs or zeros[0] < max(backs):
            continue
        for event in events[zeros[0] + 1 :]:
            node = event.node
            text = program.code(node, 400)
            read = event.kind in ("call", "assign", "clip") and re.search(
                r"\.grad\.(\w{1,20}\.)?(norm|pow|abs|detach|data)|clip_grad_norm_|get_grad_norm|grad_norm\(", text
            )
            if read and not re.search(r"\.grad\s{0,4}=(?!=)", text) and events[zeros[0]].guards == event.guards[: len(events[zeros[0]].guards)]:  # fmt: skip
                yield Fault(place(event, events[zeros[0]]), "gradients are read behind the line that clears them",
                            "在清零之后才读取梯度", beside=(events[zeros[0]].node,))  # fmt: skip
                break


@rule("factor-is-the-rate", "S1", "lr-schedule-misconfig", "LambdaLR",
      bad="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
      schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 3e-4 * min(1.0, step / 100))
      """,
      good="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
      schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 100))
      """)  # fmt: skip
def factor_is_the_rate(view: View) -> Iterator[Fault]:
    """A schedule returns a learning rate where a factor of it is meant.

    Why: `LambdaLR` multiplies the optimizer's rate by it: the rate is squared, and next to nothing.
    """
    program = view.program
    for call in program.find("LambdaLR"):
        given = argument(call, "lr_lambda", 1)
        function = program.objects.target(given) if given is not None else None
        ends = [given.body] if isinstance(given, ast.Lambda) else returns(function) if function is not None else []
        optimizer = program.origin(call.args[0]) if call.args else None
        rate = argument(optimizer, "lr", 1) if isinstance(optimizer, ast.Call) else None
        if rate is None or not ends or program.usually(rate) in (1, 1.0):
            continue
        parts = [p for e in ends for p in _factors(program, e)]
        if any(isinstance(p, ast.BinOp) and _is_rate(program, p.right, rate) for p in parts):
            continue  # divided by the rate, somewhere: what is left is a factor
        held = next((p for p in parts if not isinstance(p, ast.BinOp) and _is_rate(program, p, rate)), None)
        if held is not None:
            yield Fault(_end_of(program, held, ends), "the factor holds the rate itself: the rate is multiplied twice",
                        "系数里又乘了学习率：学习率被乘了两次", beside=(call,))  # fmt: skip


def _factors(program: Program, end: ast.expr) -> Iterator[ast.expr]:
    """What a number is a product or a sum of, through names, branches and functions; a division as a whole beside."""
    waiting: list[tuple[ast.expr, int]] = [(end, FOLLOWED)]
    while waiting:
        expr, left = waiting.pop()
        if isinstance(expr, ast.BinOp):
            if isinstance(expr.op, ast.Div):
                yield expr
            waiting.append((expr.left, left))
            if not isinstance(expr.op, ast.Div):
                waiting.append((expr.right, left))
        elif isinstance(expr, ast.IfExp):
            waiting += [(expr.body, left), (expr.orelse, left)]
        elif isinstance(expr, ast.Call) and left:
            plain = key(expr.func) in ("float", "max", "min")
            waiting += [(v, left - 1) for v in (expr.args if plain else program.ends(expr))]
        else:
            yield expr
            found = program.binding(expr) if left and key(expr) else None
            if found is not None and found.how == "assign" and found.part is None and found.value is not None:
                waiting.append((found.value, left - 1))


def _is_rate(program: Program, expr: ast.expr, rate: ast.expr) -> bool:
    """Whether a value is the rate of the optimizer: by its name, or the same small number."""
    one, other = program.origin(expr), program.origin(rate)
    if key(one) and key(one) == key(other) and program.bindings(one) == program.bindings(other):
        return True
    value = program.usually(expr)
    return isinstance(value, float) and 0 < value < 0.5 and value == program.usually(rate)


def _end_of(program: Program, held: ast.expr, ends: list[ast.expr]) -> ast.expr:
    """What a function gives back, of that part."""
    return next((e for e in ends if e is held or e in program.up(held)), ends[0])


def _counted(program: Program, expr: ast.expr) -> bool:
    """Whether a value is the one thing that a function or `lambda` is given."""
    around = next((a for a in program.up(expr) if isinstance(a, (*FUNCTIONS, ast.Lambda))), None)
    return around is not None and [a.arg for a in around.args.args] == [key(expr)]


@rule("warmup-by-whole-numbers", "S1", "lr-schedule-misconfig", "warm",
      bad="""
      def factor(step):
          if step < warmup_steps:
              return step // warmup_steps
          return 1.0
      schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
      """,
      good="""
      def factor(step):
          if step < warmup_steps:
              return step / warmup_steps
          return 1.0
      schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
      """)  # fmt: skip
def warmup_by_whole_numbers(view: View) -> Iterator[Fault]:
    """A warm-up divides in whole numbers, or is a fraction where a number of steps is meant.

    Why: the rate is zero until the end of the warm-up, and full at once; of a fraction of a step there is no warm-up.
    """
    program = view.program
    for call in (c for c in program.each(ast.Call) if view.roles.of(c) == "scheduler"):
        made = last(program.path(call.func))
        given = argument(
            call, "num_warmup_steps", 2 if made == "get_scheduler" else 1 if made.endswith("_with_warmup") else None
        )
        told = program.usually(given) if given is not None else None
        named = given is not None and re.search(r"ratio|fraction|proportion", last(key(given)))
        if given is not None and ((isinstance(told, float) and 0 < told < 1) or (named and not isinstance(told, int))):
            yield Fault(
                given,
                "a fraction where a number of steps is meant: there is no warm-up",
                "此处应为步数却给了比例：没有预热",
            )
    for node in program.each(ast.BinOp):
        if (
            not isinstance(node, ast.BinOp)
            or not isinstance(node.op, ast.FloorDiv)
            or not re.search(r"warm", program.code(node.right), re.I)
        ):
            continue
        scope = program.scope(node)
        returned = any(
            n is node for v in (returns(scope) if isinstance(scope, FUNCTIONS) else []) for n in walk(v)
        ) or any(isinstance(a, ast.Lambda) for a in program.up(node))
        scaled = isinstance(program.parent.get(node), ast.BinOp) and re.search(
            r"lr|rate", program.code(program.parent[node])
        )
        if (
            (returned or scaled)
            and (re.search(r"step|it\b|epoch|iter", program.code(node.left)) or _counted(program, node.left))
            and isinstance(node.left, (ast.Name, ast.Attribute, ast.BinOp))
        ):
            yield Fault(node, "the warm-up divides in whole numbers: the rate stays zero until its end", "预热用了整除：学习率在结束前一直是零",
                        (instead(node, f"{source(program, node.left)} / {source(program, node.right)}"),))  # fmt: skip
