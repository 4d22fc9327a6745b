"""Rules on what gradients reach, what carries them too far, and results that nobody takes."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import LOOPS, Program, key, last, receiver
from ...source import walk
from ...training import Training
from ..look import model_call, no_grad, source
from ..rule import Fault, View, rule
from .ways import constructor, made, peeled

CUTS = frozenset(("detach", "detach_", "item", "tolist", "numpy", "no_grad", "stop_gradient"))


@rule("state-carried-with-graph", "S1", "memory-leak", "backward",
      bad="""
      state = None
      for x, y in batches:
          logits, state = model(x, state)
          loss = F.cross_entropy(logits, y)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good=("""
      state = None
      for x, y in batches:
          logits, state = model(x, state)
          state = tuple(s.detach() for s in state)
          loss = F.cross_entropy(logits, y)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """, """
      for x, y in batches:
          state = model.begin(len(x))
          logits, state = model(x, state)
          loss = F.cross_entropy(logits, y)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """))  # fmt: skip
def state_carried_with_graph(view: View) -> Iterator[Fault]:
    """A state goes from one batch to the next with its graph.

    Why: backward goes through the batches before, whose graph is freed: it raises, or memory and time grow.
    """
    program = view.program
    for training in view.trainings:
        if not isinstance(training.node, LOOPS):
            continue
        for event in training.of("assign"):
            node = event.node
            value = _run(program, node.value) if isinstance(node, ast.Assign) and not event.loops else None
            if not isinstance(node, ast.Assign) or value is None or not model_call(view, value):
                continue
            target = node.targets[0]
            names = {key(t) for t in (target.elts if isinstance(target, ast.Tuple) else [target])} - {""}
            given = {key(a) for a in (*value.args, *(k.value for k in value.keywords))} - {""}
            for name in names & given:
                if not _renewed(program, training, name, node) and not no_grad(event.contexts):
                    yield Fault(node, f"`{name}` is carried from batch to batch with its graph",
                                f"`{name}` 带着计算图从一个批次传到下一个")  # fmt: skip


def _run(program: Program, value: ast.expr) -> ast.Call | None:
    """The call that gives a value, or of whose result it is a part: `out.state`, `out[1]`."""
    part = isinstance(value, (ast.Attribute, ast.Subscript)) and isinstance(value.value, ast.Name)
    made = program.origin(value.value, inside=False) if part else value  # type: ignore[attr-defined]
    return made if isinstance(made, ast.Call) else None


def _renewed(program: Program, training: Training, name: str, own: ast.Assign) -> bool:
    """Whether a pass gives a name a new value, or cuts it, besides the call that carries it."""
    for node in walk(training.node):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets if node is not own else ():
            if name in {key(t) for t in (target.elts if isinstance(target, ast.Tuple) else [target])}:
                return True
        if isinstance(node, (ast.For, ast.comprehension)) and name in {key(n) for n in walk(node.target)}:
            return True
        if isinstance(node, ast.Call) and last(program.path(node.func)) in (
            "detach_",
            "clear",
            "append",
            "reset_state",
        ):
            if name in key(receiver(node)) or any(key(n) == name for n in walk(node)):
                return True
    return bool(
        re.search(rf"for \w+ in {re.escape(name)}\b[^\n]{{0,40}}:\s{{0,40}}\w+\.detach_|retain_graph", program.text)
    )


def parameters_of(view: View, optimizer: ast.expr | None) -> list[str]:
    """The models whose parameters an optimizer was given."""
    built = made(view, optimizer)
    if built is None or not built.args or view.roles.of(built) != "optimizer":
        return []
    calls = [
        n
        for n in view.program.traced(built.args[0], 3)
        if isinstance(n, ast.Call) and last(view.program.path(n.func)) in ("parameters", "named_parameters")
    ]
    return [key(receiver(c)) for c in calls]


def uncut(program: Program, expr: ast.expr) -> Iterator[tuple[ast.Call, bool]]:
    """(a call that a value is made of, whether what is behind it is cut off from the graph there)."""
    waiting: list[tuple[ast.AST, bool, int]] = [(expr, False, 6)]
    seen: set[tuple[int, bool]] = set()
    while waiting and len(seen) < 600:
        node, closed, deep = waiting.pop()
        if (id(node), closed) in seen:
            continue
        seen.add((id(node), closed))
        if isinstance(node, ast.Call):
            closed = closed or last(program.path(node.func)) in CUTS
            yield node, closed
            inner = [
                *node.args,
                *(k.value for k in node.keywords),
                *([on] if (on := receiver(node)) is not None else []),
            ]
            waiting += [(child, closed, deep) for child in inner]
            continue
        if isinstance(node, (ast.Name, ast.Attribute)) and deep and key(node):
            values = [b for b in program.bindings(node) if b.value is not None and b.how in ("assign", "augment")]
            found = program.binding(node)
            used = [b for b in values if b is found or b.how == "augment"]
            waiting += [
                (b.value, closed or no_grad(program.contexts(b.value)), deep - 1) for b in used if b.value is not None
            ]
        if not isinstance(node, ast.Lambda):
            waiting += [(child, closed, deep) for child in ast.iter_child_nodes(node)]


@rule("loss-misses-the-model", "S1", "loss-stagnation", "detach no_grad",
      bad="""
      net_g, net_d = Generator(), Critic()
      opt_g = torch.optim.Adam(net_g.parameters(), lr=2e-4)
      for real in loader:
          fake = net_g(noise)
          loss_g = bce(net_d(fake.detach()), ones)
          opt_g.zero_grad()
          loss_g.backward()
          opt_g.step()
      """,
      good="""
      net_g, net_d = Generator(), Critic()
      opt_g = torch.optim.Adam(net_g.parameters(), lr=2e-4)
      for real in loader:
          fake = net_g(noise)
          loss_g = bce(net_d(fake), ones)
          opt_g.zero_grad()
          loss_g.backward()
          opt_g.step()
      """)  # fmt: skip
def loss_misses_the_model(view: View) -> Iterator[Fault]:
    """The loss reaches the model whose optimizer steps only through what is cut off.

    Why: no gradient comes to its parameters: it never learns, and nothing complains.
    """
    program = view.program
    for training in view.trainings:
        backs, steps = training.of("backward"), training.of("step")
        if len({key(s.on) for s in steps}) < 2 and len(backs) != 1:
            continue
        for step in steps:
            models = parameters_of(view, step.on)
            before = [b for b in backs if training.events.index(b) < training.events.index(step)]
            zeros = [
                z
                for z in training.of("zero")
                if key(z.on) == key(step.on) and training.events.index(z) < training.events.index(step)
            ]
            since = max((training.events.index(z) for z in zeros), default=-1)
            own = [b for b in before if training.events.index(b) > since] or before[-1:]
            if len(models) != 1 or not models[0] or not own or any(b.on is None for b in own):
                continue
            runs = [
                (c, cut)
                for b in own
                for c, cut in uncut(program, b.on)  # pyright: ignore[reportArgumentType]
                if key(c.func) == models[0] or key(receiver(c)) == models[0]
            ]
            if runs and all(cut for _, cut in runs) and not _also(view, own, models[0]):
                yield Fault(own[0].node, f"this loss reaches `{models[0]}` only through what is cut from the graph",
                            f"该损失只经由被切断的值到达 `{models[0]}`", beside=(runs[0][0],))  # fmt: skip


def _also(view: View, backs: list, name: str) -> bool:
    """Whether the loss goes through a function of this file or one that is given the model, or holds its own parameters."""
    for back in backs:
        for call, closed in uncut(view.program, back.on):
            given = any(key(a) == name for a in (*call.args, *(k.value for k in call.keywords)))
            own = given or _asks_for(view.program, call, name) or key(receiver(call)) == name
            if own and not closed:
                return True
    return False


def _asks_for(program: Program, call: ast.Call, name: str) -> bool:
    """Whether a function of this file may run a model that it is not given: by its name, its object, or another function."""
    function = program.function(call)
    if function is None:
        return False
    own = re.search(rf"\b(self|{re.escape(last(name))})\b", program.code(function, 20_000))
    return bool(own) or any(program.function(c) is not None for c in program.within(function, ast.Call))


LOST = {
    "merge_and_unload": "model",
    "masked_fill": "tensor",
    "clamp": "tensor",
    "clip": "tensor",
    "detach": "tensor",
    "unsqueeze": "tensor",
    "squeeze": "tensor",
    "requires_grad": "",
    "rename_column": "data",
    "remove_columns": "data",
    "cast_column": "data",
    "set_transform": "",
    "train_test_split": "data",
}
"""Methods that give a new value and leave the old one -> what they are called on."""


@rule("result-thrown-away", "S1", "silent-degradation", "merge_and_unload masked_fill( .grad .clamp( .clip( .detach( rename_column remove_columns .map( .filter( .shuffle(",
      bad=("""
      import torch
      model = PeftModel.from_pretrained(base, adapter)
      model.merge_and_unload()
      model.save_pretrained("merged")
      """, """
      import torch
      labels = batch["input_ids"].clone()
      labels.masked_fill(batch["attention_mask"] == 0, -100)
      loss = model(**batch, labels=labels).loss
      """, """
      import torch
      data = load_dataset("squad", split="train")
      data.map(tokenize, batched=True)
      """),
      good=("""
      import torch
      model = PeftModel.from_pretrained(base, adapter)
      model = model.merge_and_unload()
      model.save_pretrained("merged")
      """, """
      import torch
      labels = batch["input_ids"].clone()
      labels.masked_fill_(batch["attention_mask"] == 0, -100)
      loss = model(**batch, labels=labels).loss
      """, """
      import torch
      data = load_dataset("squad", split="train")
      data = data.map(tokenize, batched=True)
      """))  # fmt: skip
def result_thrown_away(view: View) -> Iterator[Fault]:
    """A call gives a new value, which nobody takes.

    Why: the old one goes on unchanged: an adapter that is not merged, a mask that is not set, data that is not mapped.
    """
    program = view.program
    for only in (n.value for n in program.each(ast.Expr) if isinstance(n.value, ast.BinOp)):
        if key(only.left).endswith((".grad", ".grad.data")):
            yield Fault(only, f"`{source(program, only)}` is computed, and nobody takes it: the gradient stays as it was",
                        f"`{source(program, only)}` 算出后没有人接收：梯度没有变化")  # fmt: skip
    for name in (*LOST, "map", "filter", "shuffle"):
        for call in program.calls.get(name, ()):
            statement = program.parent.get(call)
            on = receiver(call)
            if (
                not isinstance(statement, ast.Expr)
                or on is None
                or isinstance(on, ast.Call)
                or not key(on)
                or _tested(view, call)
            ):
                continue
            if name in (
                "map",
                "filter",
                "shuffle",
                "train_test_split",
                "rename_column",
                "remove_columns",
                "cast_column",
            ):
                first = peeled(view, on, frozenset(("map", "filter", "shuffle", *LOST)))
                path = constructor(view, first)
                if not re.search(
                    r"(^|\.)load_dataset$|Dataset\.from_\w{1,20}$|load_from_disk$|concatenate_datasets$", path
                ) or "streaming" in program.code(program.origin(first) if first is not None else on):
                    continue
            elif name == "merge_and_unload":
                if view.roles.of(on) != "model" and "odel" not in key(on):
                    continue
            elif not _tensor(view, call, on):
                continue
            fix = (
                (instead(call, f"{key(on)} = {source(program, call)}"),)
                if statement.lineno == statement.end_lineno and "[" not in key(on)
                else ()
            )
            yield Fault(call, f"`{name}` gives a new value, and nobody takes it",
                        f"`{name}` 返回新值，却没有人接收", fix)  # fmt: skip


def _tested(view: View, call: ast.Call) -> bool:
    """Whether a call is made to see whether it raises."""
    return any(
        isinstance(a, (ast.With, ast.Try)) and (isinstance(a, ast.Try) or "raises" in view.program.code(a.items[0]))
        for a in view.program.up(call)
    )


def _tensor(view: View, call: ast.Call, on: ast.expr) -> bool:
    """Whether something is surely a tensor, on whose methods nothing of this file stands."""
    program = view.program
    if last(program.path(call.func)) in program.functions or "torch" not in program.text:
        return False
    value = program.origin(on)
    by = last(program.path(value.func)) if isinstance(value, ast.Call) else ""
    if key(on).endswith((".grad", ".grad.data")) or last(program.path(call.func)) == "masked_fill":
        return True
    word = re.search(
        r"(^|_)(labels?|logits|mask|ids|scores|logps?|targets?|ratio|loss|rewards?|adv\w{0,12})$", last(key(on))
    )
    return by in (
        "clone",
        "zeros",
        "ones",
        "full",
        "softmax",
        "log_softmax",
        "zeros_like",
        "ones_like",
        "tensor",
        "exp",
    ) or bool(word)
