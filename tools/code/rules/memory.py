"""Rules on memory that grows: graphs kept alive, tensors collected, cures that are none."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..patch import instead, without
from ..program import FUNCTIONS, key, last, receiver
from ..training import Event, Training, events_of
from .look import LOSS, always, carries_graph, inside, losses, model_call, no_grad, set_within, source
from .rule import Fault, View, rule

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


def _regions(view: View) -> Iterator[tuple[Training | None, ast.AST, list[Event]]]:
    for training in view.trainings:
        yield training, training.node, [e for e in training.events if not no_grad(e.contexts)]
    for function in view.hot:
        yield None, function, list(events_of(view.program, view.roles, function))


def _added(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """(sum, what is added) of `s += x` and `s = s + x`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return node.target, node.value
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
        for own, more in ((node.value.left, node.value.right), (node.value.right, node.value.left)):
            if key(own) and key(own) == key(node.targets[0]):
                return own, more
    return None


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
    for training, region, events in _regions(view):
        for event in events:
            found = _added(event.node) if event.kind == "assign" else None
            if not found or isinstance(found[1], (ast.List, ast.Tuple)):
                continue
            name, value = key(found[0]), found[1]
            kept = name.startswith("self.") if training is None or not training.whole else bool(name)
            if not kept or name in (losses(training) if training else ()) or _feeds_backward(view, training, name):
                continue
            stepped = training is not None and training.whole and training.of("step")
            returned = not stepped and re.search(rf"\breturn {re.escape(name)}\b", view.program.text)
            if returned or re.search(rf"\b{re.escape(name)}\.backward\(", view.program.text):
                continue  # the sum is what is trained on
            if not carries_graph(view, training, value) or set_within(view.program, name, event.node, region):
                continue
            if training is None and not LOSS.search(source(view.program, value)):
                continue
            yield Fault(
                event.node,
                f"`{name}` adds up the loss with its graph: every step's activations stay in memory",
                f"`{name}` 累加的 loss 带着计算图：每一步的激活都留在显存里",
                (instead(value, _detached(view, value)),),
            )


@rule("tensors-kept-with-graph", "S1", "memory-leak", "append extend",
      bad=LOOP.format(before="history = []", inside="history.append(loss)"),
      good=LOOP.format(before="history = []", inside="history.append(loss.item())"))  # fmt: skip
def tensors_kept_with_graph(view: View) -> Iterator[Fault]:
    """A list collects tensors that still hold their graph.

    Why: each of them keeps the activations of its step alive.
    """
    for training, region, events in _regions(view):
        if training is not None and training.whole and not training.of("step"):
            continue  # no step: the pieces of one pass, which are put together behind it
        for event in events:
            call = event.node
            if event.depth and training is not None and _local(view, call):
                continue
            if not isinstance(call, ast.Call) or last(view.program.path(call.func)) not in ("append", "appendleft"):
                continue
            name = key(receiver(call))
            kept = name.startswith("self.") if training is None or not training.whole else bool(name)
            if not kept or not call.args or _feeds_backward(view, training, name):
                continue
            value = next((v for v in _members(call.args[0]) if carries_graph(view, training, v)), None)
            if value is None or set_within(view.program, name, call, region) or _consumed(view, region, name):
                continue
            yield Fault(
                call,
                f"`{name}` collects tensors with their graphs: memory grows with every step",
                f"`{name}` 收集了带计算图的张量：显存随步数增长",
                (instead(value, _detached(view, value)),),
            )


def _local(view: View, node: ast.AST) -> bool:
    """Whether a list is made anew by each call of the function that fills it."""
    name = key(receiver(node)) if isinstance(node, ast.Call) else ""
    scope = view.program.scope(node)
    return isinstance(scope, FUNCTIONS) and any(b.how == "assign" for b in view.program.bound[scope].get(name, ()))


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


@rule("outputs-kept-on-device", "S2", "eval-loop-oom", "append",
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
    for call in program.find("append"):
        loops = program.loops(call)
        if not loops or not call.args or not no_grad(program.contexts(call)) or len(call.args) != 1:
            continue
        value = program.origin(call.args[0])
        text = source(program, value)
        whole = (isinstance(value, ast.Attribute) and value.attr in ("logits", "last_hidden_state", "hidden_states")) or (
            isinstance(value, ast.Call) and model_call(view, value) and view.roles.of(value.func) == "model")  # fmt: skip
        if whole and "loss" not in text and not LOSS.search(key(call.args[0])):
            fix = (instead(call.args[0], f"{source(program, call.args[0])}.cpu()"),)
            yield Fault(call, f"`{key(receiver(call))}` keeps every batch's outputs on the GPU until the loop ends",
                        f"`{key(receiver(call))}` 把每个批次的输出一直留在 GPU 上", fix)  # fmt: skip


@rule("empty-cache-every-step", "S3", "memory-leak", "empty_cache",
      bad=LOOP.format(before="", inside="torch.cuda.empty_cache()"),
      good=LOOP.format(before="", inside="pass") + "torch.cuda.empty_cache()\n")  # fmt: skip
def empty_cache_every_step(view: View) -> Iterator[Fault]:
    """The CUDA cache is emptied in every step.

    Why: it frees nothing that is in use, costs a synchronisation each time, and hides what really grows.
    """
    for training in view.trainings:
        for event in training.of("call"):
            if isinstance(event.node, ast.Call) and view.program.path(event.node.func).endswith("cuda.empty_cache"):
                if always(event) and training.whole:
                    statement = view.program.statement(event.node)
                    yield Fault(event.node, "the CUDA cache is emptied in every step: slow, and no cure for growth",
                                "每一步都清空 CUDA 缓存：慢，而且治不了显存增长", (without(statement),))  # fmt: skip


@rule("graph-retained", "S2", "memory-leak", "retain_graph",
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
                next((k for k in call.keywords if k.arg == "retain_graph"), None)
                if isinstance(call, ast.Call)
                else None
            )
            if kept and isinstance(kept.value, ast.Constant) and kept.value.value is True and len(backwards) == 1:
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
            if named and always(event) and not any(True for _ in view.program.find("remove")):
                yield Fault(call, "a hook is registered in every step and never removed",
                            "每一步都注册一个钩子，却从不移除")  # fmt: skip
