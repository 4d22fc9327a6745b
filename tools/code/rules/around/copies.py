"""Rules on moving averages of weights: what is a copy, what comes back."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, key, last, receiver
from ..look import no_grad
from ..rule import Fault, View, rule

AVERAGE = re.compile(r"ema|shadow|(^|_)avg|average|swa|(^|_)target|teacher|momentum_", re.I)


@rule("average-refers-to-the-model", "S1", "silent-degradation", "shadow _ema_ averag avg",
      bad="""
      class EMA:
          def __init__(self, model, decay):
              self.decay = decay
              self.shadow = {n: p.data for n, p in model.named_parameters()}
          def update(self, model):
              for n, p in model.named_parameters():
                  self.shadow[n].mul_(self.decay).add_(p.data, alpha=1 - self.decay)
      optimizer = torch.optim.AdamW(model.parameters())
      """,
      good="""
      class EMA:
          def __init__(self, model, decay):
              self.decay = decay
              self.shadow = {n: p.data.clone() for n, p in model.named_parameters()}
          def update(self, model):
              for n, p in model.named_parameters():
                  self.shadow[n].mul_(self.decay).add_(p.data, alpha=1 - self.decay)
      optimizer = torch.optim.AdamW(model.parameters())
      """)  # fmt: skip
def average_refers_to_the_model(view: View) -> Iterator[Fault]:
    """A moving average begins as the live weights, not as a copy.

    Why: what is averaged is the model itself: both are changed at once, and the average is the model.
    """
    program = view.program
    for node in program.each(ast.Assign):
        name = key(node.targets[0])
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript) and isinstance(node.targets[0].slice, ast.Name):  # fmt: skip
            name = key(node.targets[0].value)
        if not name or not re.search(r"(^|_|\.)(shadow|ema|averaged?|avg)(_\w{1,20})?$", name) or not _live(program, node.value):  # pyright: ignore[reportAttributeAccessIssue]  # fmt: skip
            continue
        scope = program.scope(node)
        whole_ = isinstance(node.value, (ast.DictComp, ast.ListComp)) and not program.loops(node)
        first = (
            whole_
            or getattr(scope, "name", "") in ("__init__", "register", "", "setup")
            or isinstance(scope, ast.Module)
        )
        in_place = program.mentions(".mul_(", ".lerp_(", ".copy_(", ".add_(", ".sub_(")
        if first and in_place:
            yield Fault(node, f"`{name}` refers to the live weights, not to a copy",
                        f"`{name}` 指向模型自身的权重，而不是副本")  # fmt: skip


def _live(program: Program, value: ast.expr) -> bool:
    """Whether a value is the weights themselves."""
    part = value.value if isinstance(value, ast.DictComp) else value.elt if isinstance(value, ast.ListComp) else value
    text = program.code(value, 400)
    if re.search(r"clone|deepcopy|\.copy\(\)|\.cpu\(|zeros|\.to\(|\.float\(", text):
        return False
    over = isinstance(value, (ast.DictComp, ast.ListComp)) and re.search(
        r"named_parameters\(\)|\.parameters\(\)|state_dict\(\)", text
    )
    data = isinstance(part, (ast.Name, ast.Attribute)) or (
        isinstance(part, ast.Call) and last(program.path(part.func)) == "detach"
    )
    if over:
        return bool(data)
    plain = isinstance(part, ast.Call) and last(program.path(part.func)) == "state_dict"
    member = (isinstance(part, ast.Attribute) and part.attr == "data") or (
        isinstance(part, ast.Call) and program.code(part).endswith(".data.detach()")
    )
    return plain or member


@rule("average-keeps-the-graph", "S1", "memory-leak", "_ema_ shadow averag avg",
      bad="""
      for batch in loader:
          loss = model(batch).mean()
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          for n, p in model.named_parameters():
              shadow[n] = decay * shadow[n] + (1 - decay) * p
      """,
      good="""
      for batch in loader:
          loss = model(batch).mean()
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          with torch.no_grad():
              for n, p in model.named_parameters():
                  shadow[n] = decay * shadow[n] + (1 - decay) * p
      """)  # fmt: skip
def average_keeps_the_graph(view: View) -> Iterator[Fault]:
    """A moving average of weights is computed with gradients on.

    Why: each step hangs on the one before: the graph, and the memory, grow for ever.
    """
    program = view.program
    for node in program.each(ast.Assign):
        if (
            not isinstance(node, ast.Assign)
            or not isinstance(node.value, ast.BinOp)
            or not isinstance(node.value.op, ast.Add)
        ):
            continue
        target = program.code(node.targets[0])
        text = program.code(node.value, 400)
        loops = [
            x
            for x in program.loops(node)
            if isinstance(x, ast.For) and re.search(r"parameters\(\)|state_dict\(\)", program.code(x.iter, 400))
        ]
        plain = (
            loops
            and target in text
            and AVERAGE.search(target)
            and not re.search(r"\.data\b|detach|\.item\(|state_dict", text + program.code(loops[0].iter, 400))
        )
        if plain and not no_grad(program.contexts(node)) and not no_grad(_callers(program, node)):
            yield Fault(node, f"`{target}` is averaged with gradients on: its graph grows with every step",
                        f"`{target}` 在开启梯度时做平均：计算图每步都在增长")  # fmt: skip


def _callers(program: Program, node: ast.AST) -> list[str]:
    """The `with` blocks around the calls of the function that a node stands in."""
    scope = program.scope(node)
    return [c for call in program.calls.get(getattr(scope, "name", "?"), ()) for c in program.contexts(call)]


@rule("average-not-taken-back", "S2", "silent-degradation", "_ema_ averag swa shadow",
      bad="""
      for epoch in range(3):
          for batch in loader:
              loss = model(batch).mean()
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
              ema.update()
          ema.apply_shadow()
          validate(model, val_loader)
      """,
      good="""
      for epoch in range(3):
          for batch in loader:
              loss = model(batch).mean()
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
              ema.update()
          ema.apply_shadow()
          validate(model, val_loader)
          ema.restore()
      """)  # fmt: skip
def average_not_taken_back(view: View) -> Iterator[Fault]:
    """The averaged weights are put into the model to evaluate, and not taken out again.

    Why: training goes on from the average, with the optimizer's state of the others.
    """
    program = view.program
    for call in program.find("apply_shadow", "apply_ema", "copy_to", "swap_in", "apply_to"):
        on = key(receiver(call))
        back = any(
            True
            for n in ("restore", "restore_shadow", "swap_out", "restore_original", "undo", "swap")
            for _ in program.find(n)
        )
        looped = [x for x in program.loops(call) if any(x in (t.node, *t.outer) for t in view.trainings)]
        copied = call.args and re.search(r"ema|copy|eval", program.code(call.args[0]))
        if re.search(r"ema|avg|shadow", last(on), re.I) and looped and not back and not copied and not any(n.startswith("restore") for n in program.calls):  # fmt: skip
            yield _stays(call)
    for loop in {x: None for t in view.trainings for x in t.outer}:
        put = [c for c in program.within(loop, ast.Call) if last(program.path(c.func)) == "load_state_dict" and c.args]
        for call in put:
            on, what = receiver(call), re.sub(r"\W{1,3}(state_dict|items)\(\)$", "", program.code(call.args[0]))
            again = [c for c in put if c is not call and key(receiver(c)) == key(on) and c.lineno > call.lineno]
            trained = on is not None and view.roles.of(on) == "model"
            slow = AVERAGED.search(last(what)) and not AVERAGED.search(last(key(on)))
            if trained and slow and not again and not program.guards(call) and _steps(view, loop, on):
                yield _stays(call)


AVERAGED = re.compile(r"(^|_)(ema|shadow|averaged?|avg|swa)(_|$)", re.I)


def _stays(call: ast.Call) -> Fault:
    return Fault(call, "the averaged weights stay in the model, which goes on training",
                 "平均权重被写入模型后没有换回，训练从它继续")  # fmt: skip


def _steps(view: View, loop: ast.AST, model: ast.expr | None) -> bool:
    """Whether an optimizer of this model steps in a loop."""
    steps = [s.on for t in view.trainings if loop in t.outer for s in t.of("step") if s.on is not None]
    return any(key(n) == key(model) for on in steps for n in view.program.traced(on, 3))


@rule("soft-update-swapped", "S1", "rl-no-convergence", "tau polyak",
      bad="""
      for p, tp in zip(q.parameters(), q_target.parameters()):
          tp.data.copy_((1 - tau) * p.data + tau * tp.data)
      tau = 0.005
      optimizer = torch.optim.Adam(q.parameters())
      """,
      good="""
      for p, tp in zip(q.parameters(), q_target.parameters()):
          tp.data.copy_(tau * p.data + (1 - tau) * tp.data)
      tau = 0.005
      optimizer = torch.optim.Adam(q.parameters())
      """)  # fmt: skip
def soft_update_swapped(view: View) -> Iterator[Fault]:
    """The slow copy of a network takes the large part of the fast one.

    Why: with a tau of 0.005 the target is the network of this step: it no longer stands still.
    """
    program = view.program
    for loop in program.each(ast.For):
        text = program.code(loop.iter, 400)
        if (
            "zip" not in text
            or not re.search(r"param", text)
            or not isinstance(loop.target, ast.Tuple)
            or not isinstance(loop.iter, ast.Call)
        ):
            continue
        slow = {
            key(t)
            for t, a in zip(loop.target.elts, loop.iter.args, strict=False)
            if re.search(r"target|slow|ema|teacher|avg", program.code(a), re.I)
        } - {""}
        body = re.sub(
            r"\s|\.data|\.detach\(\)|self\.|args\.|cfg\.", "", "\n".join(program.code(s, 600) for s in loop.body)
        )
        for name in slow if len(slow) == 1 else ():
            own = re.escape(name)
            wrong = re.search(
                rf"(?<!-)\b(tau|polyak_tau)\*{own}\b|{own}\*(tau)\b|{own}\.mul_\(tau\)|\b{own}\.lerp_\(\w+,1(\.0)?-tau\)",
                body,
            )
            if wrong and _small(program, loop):
                yield Fault(loop.body[0], f"`{name}` keeps `tau` of itself and takes the rest of the fast network",
                            f"`{name}` 只保留自身的 `tau`，其余取自快网络")  # fmt: skip


def _small(program: Program, node: ast.AST) -> bool:
    """Whether tau is the small share, as it is wherever nothing says otherwise."""
    told = re.findall(r"\btau\b\s{0,4}(?::\s{0,4}float\s{0,4})?=\s{0,4}(\d\.\d+|\d(?:e-\d+)?|1e-\d)", program.text)
    return all(float(x) < 0.5 for x in told) and node is not None
