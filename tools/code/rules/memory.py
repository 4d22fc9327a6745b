"""Rules on memory that grows: graphs kept alive, tensors collected, cures that are none."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..conditions import repeated
from ..patch import instead, without
from ..program import FUNCTIONS, Program, key, last, receiver
from ..source import walk
from ..training import Event, Training
from .look import LOSS, carries_graph, each_time, inside, losses, model_call, no_grad, set_within, source
from .rule import Fault, Pace, View, rule
from .steps.holding import kept_by_modules, reduced

LOOP = """
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
{before}
for batch in loader:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    {inside}
"""


def regions(view: View) -> Iterator[tuple[Pace, Event]]:
    """What runs in each step and keeps a graph if it has one."""
    for pace in view.each_step:
        yield from ((pace, e) for e in pace.events if not no_grad(e.contexts))


def _added(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """(sum, what is added) of `s += x`, `s = s + x`, and of `s = 0.9 * s + 0.1 * x` with its first value."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return node.target, node.value
    if not isinstance(node, ast.Assign):
        return None
    name, values = base(node.targets[0]), [node.value]
    while any(isinstance(v, ast.IfExp) for v in values):
        values = [n for v in values for n in ((v.body, v.orelse) if isinstance(v, ast.IfExp) else (v,))]
    for value in values:
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and name:
            for own, more in ((value.left, value.right), (value.right, value.left)):
                kept = (
                    own
                    if not isinstance(own, ast.BinOp)
                    else next((s for s in (own.left, own.right) if base(s) == name), own)
                )
                if base(kept) == name and name not in {key(n) for n in walk(more)}:
                    return kept, more
    return None


def base(target: ast.expr) -> str:
    """The name of what is written to: `totals` of `totals[name]` and of `totals.setdefault(name, [])`."""
    while True:
        if isinstance(target, ast.Subscript) and not key(target):
            target = target.value
        elif (
            isinstance(target, ast.Call)
            and isinstance(target.func, ast.Attribute)
            and target.func.attr in ("setdefault", "get")
        ):
            target = target.func.value
        else:
            return key(target)


def _lives(view: View, pace: Pace, event: Event, name: str) -> bool:
    """Whether what has this name outlives the step."""
    if name == "self" or name.startswith("self."):
        return True
    if not pace.looped or not name:
        return False
    scope, root = view.program.scope(event.node), re.split(r"[.\[]", name)[0]
    if event.calls and isinstance(scope, FUNCTIONS) and scope is not view.program.scope(pace.node):
        if any(root in n.names for n in view.program.within(scope, ast.Nonlocal, ast.Global)):
            return True
        return all(b.how == "parameter" for b in view.program.bound.get(scope, {}).get(root, ()))
    return True


def _feeds_backward(view: View, training: Training | None, name: str) -> bool:
    if training is None:
        return False
    return any(name in {key(n) for n in view.program.traced(e.on)} for e in training.of("backward") if e.on)


def _detached(view: View, expr: ast.expr) -> str:
    text = source(view.program, expr)
    return (
        f"{text}.detach()"
        if isinstance(expr, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        else f"({text}).detach()"
    )


@rule("loss-kept-with-graph", "S2", "memory-leak", "backward training_step compute_loss",
      bad=LOOP.format(before="total = 0.0", inside="total += loss"),
      good=LOOP.format(before="total = 0.0", inside="total += loss.item()"))  # fmt: skip
def loss_kept_with_graph(view: View) -> Iterator[Fault]:
    """A running sum holds the loss with its graph.

    Why: the sum keeps the activations of every step alive, and memory grows until it runs out.
    Known gaps: sums that another file keeps.
    """
    for pace, event in regions(view):
        training = pace.training
        found = _added(event.node) if event.kind == "assign" else None
        if not found or isinstance(found[1], (ast.List, ast.Tuple, ast.ListComp)):
            continue
        name, value = base(found[0]), found[1]
        if not _lives(view, pace, event, name) or name in (losses(training) if training else ()):
            continue
        if _feeds_backward(view, training, name):
            continue
        stepped = training is not None and training.whole and training.of("step")
        returned = not stepped and re.search(rf"\breturn {re.escape(name)}\b", view.program.text)
        if returned or re.search(rf"\b{re.escape(name)}\.backward\(", view.program.text):
            continue  # the sum is what is trained on
        if set_within(view.program, name, event.node, pace.node) or not carries_graph(
            view, training, value, event.calls
        ):
            continue
        if training is None and not LOSS.search(source(view.program, value)) and not reduced(view, value):
            continue
        fix = (instead(value, _detached(view, value)),)
        yield Fault(event.node, f"`{name}` adds up the loss with its graph: every step's activations stay in memory",
                    f"`{name}` 累加的 loss 带着计算图：每一步的激活都留在显存里", fix)  # fmt: skip


@rule("tensors-kept-with-graph", "S1", "memory-leak", "append extend += [ self.",
      bad=LOOP.format(before="history = []", inside="history.append(loss)"),
      good=LOOP.format(before="history = []", inside="history.append(loss.item())"))  # fmt: skip
def tensors_kept_with_graph(view: View) -> Iterator[Fault]:
    """A list collects tensors that still hold their graph.

    Why: each of them keeps the activations of its step alive.
    """
    yield from kept_by_modules(view)
    for pace, event in regions(view):
        training = pace.training
        if pace.looped and training is not None and not training.of("step"):
            continue  # no step: the pieces of one pass, which are put together behind it
        found = collected(view, event)
        if found is None:
            continue
        name, values = found
        if not _lives(view, pace, event, name) or _feeds_backward(view, training, name):
            continue
        value = next((v for v in values if carries_graph(view, training, v, event.calls)), None)
        if value is None or set_within(view.program, name, event.node, pace.node) or _consumed(view, pace.node, name):
            continue
        yield Fault(event.node, f"`{name}` collects tensors with their graphs: memory grows with every step",
                    f"`{name}` 收集了带计算图的张量：显存随步数增长", (instead(value, _kept_of(view, training, value)),))  # fmt: skip


def _kept_of(view: View, training: Training | None, value: ast.expr) -> str:
    """What a list may keep: the number, of what backward is called on; else the tensor without its graph.

    A small tensor for each step scatters over the heap, and memory grows on.
    """
    one = isinstance(value, ast.Name) and training is not None and key(value) in losses(training)
    return f"{key(value)}.item()" if one else _detached(view, value)


def collected(view: View, event: Event) -> tuple[str, list[ast.expr]] | None:
    """(list, what is put into it) of `append`, `extend` and `+= [...]`."""
    node = event.node
    if isinstance(node, ast.Call) and node.args:
        how = last(view.program.path(node.func))
        on = receiver(node)
        if how in ("append", "appendleft") and on is not None:
            return base(on), _members(node.args[0])
        if how == "extend" and on is not None and isinstance(node.args[0], (ast.List, ast.Tuple)):
            return base(on), _members(node.args[0])
        return None
    joined = node.value if isinstance(node, ast.Assign) else None
    parts = joined.args[0] if isinstance(joined, ast.Call) and joined.args else None
    if isinstance(joined, ast.Call) and isinstance(parts, (ast.List, ast.Tuple)) and isinstance(node, ast.Assign):
        name, others = base(node.targets[0]), [e for e in parts.elts if key(e) != base(node.targets[0])]
        again = name and len(others) < len(parts.elts) and last(view.program.path(joined.func)) in JOINS
        return (name, others) if again else None
    added = _added(node) if event.kind == "assign" else None
    return (base(added[0]), _members(added[1])) if added and isinstance(added[1], (ast.List, ast.Tuple)) else None


def _members(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Dict):
        return [v for v in value.values if v is not None]
    return list(value.elts) if isinstance(value, (ast.Tuple, ast.List)) else [value]


def _consumed(view: View, region: ast.AST, name: str) -> bool:
    """Whether a loop itself empties the list."""
    return any(
        key(receiver(call)) == name and inside(view.program, call, region)
        for call in view.program.find("clear", "pop", "popleft")
    )


@rule("outputs-kept-on-device", "S2", "eval-loop-oom", "append cat( += [",
      bad="""
      @torch.no_grad()
      def evaluate(model, loader):
          model.eval()
          all_logits = []
          for batch in loader:
              logits = model(**batch).logits
              all_logits.append(logits)
          return torch.cat(all_logits)
      """,
      good="""
      @torch.no_grad()
      def evaluate(model, loader):
          model.eval()
          all_logits = []
          for batch in loader:
              logits = model(**batch).logits
              all_logits.append(logits.argmax(-1).cpu())
          return torch.cat(all_logits)
      """)  # fmt: skip
def outputs_kept_on_device(view: View) -> Iterator[Fault]:
    """An evaluation loop collects whole outputs of the model on the GPU.

    Why: the logits of a whole evaluation set do not fit; the run dies at the first evaluation.
    """
    program = view.program
    for node, name, values in _gathered(view):
        again = (
            isinstance(node, ast.ListComp)
            or program.loops(node)
            or (name.startswith("self.") and repeated(program, node))
        )
        if not again or not no_grad(program.contexts(node)):
            continue
        for given in values:
            value = _peeled(program, given)
            text = source(program, value)
            whole = (isinstance(value, ast.Attribute) and value.attr in ("logits", "last_hidden_state", "hidden_states")) or (
                isinstance(value, ast.Call) and model_call(view, value) and view.roles.of(value.func) == "model")  # fmt: skip
            if whole and "loss" not in text and not LOSS.search(key(given)):
                fix = (instead(given, f"{source(program, given)}.cpu()"),)
                yield Fault(node, f"`{name}` keeps every batch's outputs on the GPU until the loop ends",
                            f"`{name}` 把每个批次的输出一直留在 GPU 上", fix)  # fmt: skip
                break


JOINS = ("cat", "concat", "stack", "vstack", "hstack")
SHAPES = ("normalize", "softmax", "log_softmax", "sigmoid", "float", "half", "squeeze", "flatten", "view", "reshape",
          "detach", "contiguous", "clone", "interpolate", "upsample", "permute", "transpose", "unsqueeze", "exp", "double",
          "bfloat16", "log")  # fmt: skip
"""Calls after which there is as much as before, on the same device."""


def _peeled(program: Program, expr: ast.expr) -> ast.expr:
    """A value without what only shapes it: all but some positions, one of several layers, another scale."""
    for _ in range(8):
        expr = program.origin(expr)
        if isinstance(expr, ast.Subscript):
            expr = expr.value
            continue
        if not isinstance(expr, ast.Call) or last(program.path(expr.func)) not in SHAPES:
            break
        of_module = re.match(r"torch\b", program.path(expr.func)) and expr.args
        inner = expr.args[0] if of_module else receiver(expr)
        if inner is None:
            break
        expr = inner
    return expr


def _gathered(view: View) -> Iterator[tuple[ast.AST, str, list[ast.expr]]]:
    """(where, list or tensor, what is put into it) of `append`, `+= [...]` and `x = torch.cat([x, ...])`."""
    program = view.program
    for call in program.find("append"):
        if len(call.args) == 1 and (on := receiver(call)) is not None:
            yield call, base(on), _members(call.args[0])
    for comp in program.each(ast.ListComp):
        if len(comp.generators) == 1 and view.roles.of(comp.generators[0].iter) == "loader":
            yield comp, "the list", _members(comp.elt)
    for node in program.each(ast.AugAssign):
        if isinstance(node.value, (ast.List, ast.Tuple)):
            yield node, base(node.target), _members(node.value)
    for call in program.find("cat", "concat", "vstack"):
        statement = program.statement(call)
        name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        parts = call.args[0] if call.args else None
        if name and isinstance(parts, (ast.List, ast.Tuple)) and name in {key(e) for e in parts.elts}:
            yield statement, name, [e for e in parts.elts if key(e) != name]


@rule("empty-cache-every-step", "S2", "memory-leak", "empty_cache",
      bad=LOOP.format(before="", inside="torch.cuda.empty_cache()"),
      good=LOOP.format(before="", inside="pass") + "torch.cuda.empty_cache()\n")  # fmt: skip
def empty_cache_every_step(view: View) -> Iterator[Fault]:
    """The CUDA cache is emptied in every step.

    Why: it frees nothing that is in use, costs a synchronisation each time, and hides what really grows.
    """
    for pace in view.each_step:
        for event in pace.of("call"):
            if isinstance(event.node, ast.Call) and view.program.path(event.node.func).endswith("cuda.empty_cache"):
                if each_time(view.program, event):
                    statement = view.program.statement(event.node)
                    yield Fault(event.node, "the CUDA cache is emptied in every step: slow, and no cure for growth",
                                "每一步都清空 CUDA 缓存：慢，而且治不了显存增长", (without(statement),))  # fmt: skip


@rule("graph-retained", "S2", "memory-leak", "retain_graph create_graph",
      bad="""
      for batch in loader:
          loss = model(**batch).loss
          optimizer.zero_grad()
          loss.backward(retain_graph=True)
          optimizer.step()
      """,
      good="""
      for batch in loader:
          loss = model(**batch).loss
          optimizer.zero_grad()
          loss.backward()
          optimizer.step()
      """)  # fmt: skip
def graph_retained(view: View) -> Iterator[Fault]:
    """The graph is retained though nothing goes through it again.

    Why: the buffers of the step stay alive, and a state carried over grows by one step's graph each time.
    Known gaps: several losses over one graph need it, and are left alone.
    """
    for training in view.trainings:
        backwards = training.of("backward")
        for event in backwards:
            call = event.node
            kept = (
                next((k for k in call.keywords if k.arg in ("retain_graph", "create_graph")), None)
                if isinstance(call, ast.Call)
                else None
            )
            each = all("retain_graph" in source(view.program, b.node) for b in backwards)
            last_one = len(backwards) == 1 or (each and event is backwards[-1] and not event.guards)
            if kept and view.program.usually(kept.value) is True and last_one:
                if not any(True for _ in view.program.find("grad")) and not event.loops:
                    yield Fault(call, "backward retains the graph, and nothing goes through it again",
                                "backward 保留了计算图，但之后没有再用到", (instead(kept.value, "False"),))  # fmt: skip


@rule("hook-added-every-step", "S1", "memory-leak", "register_forward_hook register_hook register_full_backward_hook",
      bad="""
      for batch in loader:
          model.head.register_forward_hook(save)
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      model.head.register_forward_hook(save)
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def hook_added_every_step(view: View) -> Iterator[Fault]:
    """A module hook is registered in every step and never removed.

    Why: after a thousand steps it runs a thousand times, with all that it keeps.
    """
    names = ("register_forward_hook", "register_full_backward_hook", "register_forward_pre_hook")
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            named = isinstance(call, ast.Call) and last(view.program.path(call.func)) in names
            if named and _on_each(view, event) and not any(True for _ in view.program.find("remove")):
                yield Fault(call, "a hook is registered in every step and never removed",
                            "每一步都注册一个钩子，却从不移除")  # fmt: skip


def _on_each(view: View, event: Event) -> bool:
    """Whether something is done in each pass, to the model or to each of its layers of a kind."""
    over = all(isinstance(x, ast.For) and re.search(r"modules|children|layers|blocks", view.program.code(x.iter))
               for x in event.loops)  # fmt: skip
    chosen = all(
        re.match(r"isinstance\(|[\"'\w.]+ (not )?in ", view.program.code(t)) or event.depth == 0
        for t, _ in event.guards
    )
    return over and (not event.guards or (bool(event.loops) and chosen))
