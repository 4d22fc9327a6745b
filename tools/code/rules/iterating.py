"""Rules on how data are gone through: iterators, generators, streams, and how texts are padded."""

# ruff: noqa: E501, SIM102  one sentence, pattern or program on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..patch import instead
from ..program import FUNCTIONS, Binding, Program, argument, key, last, passed, receiver
from ..source import walk
from ..training import CLIPS, Training
from .around.workers import only_given, padded_by_default
from .data import TRAINED, loaders
from .judging.dropping import by_a_trainer, made_for_both
from .look import EPOCH, TEST, inside, keyword
from .rule import Fault, View, rule


@rule("iterator-used-up", "S1", "loss-stagnation", "iter( map( filter( zip( islice yield for csv",
      bad="""
      batches = iter(loader)
      for epoch in range(3):
          for batch in batches:
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      for epoch in range(3):
          for batch in iter(loader):
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def iterator_used_up(view: View) -> Iterator[Fault]:
    """An iterator is made once and gone through in every epoch.

    Why: after the first epoch it is empty: the others do nothing, in no time and without an error.
    """
    yield from _spent(view)
    program = view.program
    for loop in (*program.each(ast.For), *program.each(ast.comprehension)):
        found = _made_once(view, _plain(program, loop.iter))
        if found is None or any(isinstance(n, (ast.Break, ast.Return)) for n in program.within(loop)):
            continue
        binding, calls = found
        again = _passes_over(program, loop, calls, binding.node)
        if again is not None:
            name = key(_plain(program, loop.iter))
            at = binding.node if calls else loop.iter
            yield Fault(at, f"`{name}` is an iterator made once: it is empty after the first epoch",
                        f"`{name}` 是只能遍历一次的迭代器：第一个 epoch 之后就空了", beside=(loop.iter,) if calls else (binding.node,))  # fmt: skip


def _plain(program: Program, expr: ast.expr) -> ast.expr:
    """What is gone through, without a counter or a progress bar around it."""
    while isinstance(expr, ast.Call) and last(program.path(expr.func)) in ("enumerate", "tqdm", "trange") and expr.args:
        expr = expr.args[0]
    return expr


def _made_once(view: View, expr: ast.expr) -> tuple[Binding, list[ast.Call]] | None:
    """(where an iterator gets its name, the calls that hand it on) where it has one make and can be gone through once."""
    program, calls = view.program, []
    for _ in range(3):
        found = program.bindings(expr)
        if not found and isinstance(expr, ast.Attribute) and (held := program.binding(expr)) is not None:
            found = [held]
        if len(found) != 1 or not key(expr):
            return None
        if found[0].how == "parameter":
            callers = program.callers(found[0].node)
            given = passed(found[0].node, callers[0]) if callers else ()
            value = next((v for own, v in given if own == key(expr)), None)
            if len(callers) != 1 or value is None:
                return None
            calls.append(callers[0])
            expr = value
            continue
        once = found[0].how == "assign" and found[0].part is None and _once(view, found[0].value)
        return (found[0], calls) if once else None
    return None


def _once(view: View, made: ast.expr | None, deep: int = 2) -> bool:
    """Whether a value is an iterator that comes to an end."""
    if isinstance(made, ast.GeneratorExp):
        return True
    if not isinstance(made, ast.Call):
        return False
    lazy = ("iter", "map", "filter", "zip", "itertools.chain", "itertools.islice", "itertools.chain.from_iterable")
    if view.program.path(made.func) in (*lazy, "csv.reader", "csv.DictReader"):
        return True
    function = view.program.function(made)
    ends = view.program.ends(made)
    if len(ends) == 1 and isinstance(ends[0], ast.Call) and deep and not _generator(view, made):
        return _once(view, ends[0], deep - 1)
    endless = function is not None and any(
        isinstance(n, ast.While) and isinstance(n.test, ast.Constant) and n.test.value for n in view.program.within(function))  # fmt: skip
    return function is not None and not endless and _generator(view, made)


def _passes_over(
    program: Program, loop: ast.For | ast.comprehension, calls: list[ast.Call], made: ast.AST
) -> ast.AST | None:
    """A loop over epochs, or a counted one, around a loop or around the calls that lead to it, but not around the make."""
    places: list[ast.AST] = [loop, *calls]
    scope = program.scope(loop)
    if key(loop.iter).startswith("self.") and isinstance(scope, FUNCTIONS):
        places += program.callers(scope)
    for place in places:
        for outer in program.loops(place):
            counted = (
                isinstance(outer, ast.For)
                and isinstance(outer.iter, ast.Call)
                and program.path(outer.iter.func) == "range"
            )
            counted = counted or (isinstance(outer, ast.While) and _counting(program, outer))
            named = isinstance(outer, ast.For) and any(EPOCH.search(key(n)) for n in walk(outer.target) if key(n))
            if (counted or named) and not inside(program, made, outer) and not _rebuilt(program, made, outer):
                return outer
    return None


def _counting(program: Program, loop: ast.While) -> bool:
    """Whether a loop goes on until a counter, which its own body raises, is high enough."""
    raised = {key(n.target) for n in loop.body if isinstance(n, ast.AugAssign)}
    return isinstance(loop.test, ast.Compare) and key(loop.test.left) in raised


def _rebuilt(program: Program, made: ast.AST, outer: ast.AST) -> bool:
    """Whether the function in which an iterator is made is itself called in the loop."""
    scope = program.scope(made)
    return isinstance(scope, FUNCTIONS) and any(inside(program, c, outer) for c in program.callers(scope))


def _spent(view: View) -> Iterator[Fault]:
    """A generator that is gone through twice, one time after the other."""
    program = view.program
    for scoped in program.bound.values():
        for name, bindings in scoped.items():
            only = bindings[0]
            if len(bindings) != 1 or only.how != "assign" or only.part is not None or not _generator(view, only.value):
                continue
            uses = [n for n in program.each(ast.Name) if n.id == name and _goes_through(program, n)
                    and program.scope(n) is program.scope(bindings[0].node)]  # fmt: skip
            if any(_counted(program, n) for n in program.each(ast.Name) if n.id == name):
                continue  # it has a length or places: no generator
            apart = [u for u in uses[1:] if not set(program.guards(u)) ^ set(program.guards(uses[0]))]
            if uses and apart:
                yield Fault(apart[0], f"`{name}` is a generator that was gone through before: nothing is left",
                            f"`{name}` 是生成器，前面已经遍历过：这里什么都不剩", beside=(uses[0],))  # fmt: skip


def _counted(program: Program, node: ast.Name) -> bool:
    above = program.parent.get(node)
    if isinstance(above, ast.Subscript):
        return above.value is node
    return isinstance(above, ast.Call) and node in above.args and getattr(above.func, "id", "") == "len"


def _generator(view: View, made: ast.expr | None) -> bool:
    if isinstance(made, ast.GeneratorExp):
        return True
    if not isinstance(made, ast.Call):
        return False
    function = view.program.function(made)
    if function is None:
        lazy = ("parameters", "named_parameters", "buffers", "modules")
        bare = (
            isinstance(made.func, ast.Attribute)
            and made.func.attr in lazy
            and view.roles.of(made.func.value) == "model"
        )
        return bare or view.program.path(made.func) in ("map", "filter", "zip")
    decorated = bool(function.decorator_list)
    yields = view.program.within(function, ast.Yield, ast.YieldFrom)
    return not decorated and any(view.program.scope(n) is function for n in yields)


TAKES = ("list", "sum", "sorted", "max", "min", "set", "tuple")
"""Functions of Python that take all of what they are given."""


def _goes_through(program: Program, node: ast.Name) -> bool:
    """Whether a use goes through all of it."""
    above = program.parent.get(node)
    if isinstance(above, (ast.For, ast.comprehension)):
        return above.iter is node
    return (
        isinstance(above, ast.Call)
        and node in above.args
        and (
            getattr(above.func, "id", "") in TAKES or _takes_all(program, above) or _gone_through(program, above, node)
        )
    )


def _gone_through(program: Program, call: ast.Call, node: ast.AST) -> bool:
    """Whether a function of this file goes through all of what it is given."""
    function = program.function(call)
    name = next((own for own, value in passed(function, call) if value is node), "") if function is not None else ""
    nodes = program.within(function) if function is not None and name else []
    stops = any(
        isinstance(n, ast.Break) or (isinstance(n, (ast.Return, ast.Yield)) and program.loops(n)) for n in nodes
    )
    again = any(
        b.how != "parameter" for n in nodes if isinstance(n, ast.Name) and n.id == name for b in program.bindings(n)
    )
    return not stops and not again and any(
        isinstance(n, ast.Name) and n.id == name and _whole(program, n) for n in nodes)  # fmt: skip


def _whole(program: Program, node: ast.AST) -> bool:
    """Whether a name is what a loop goes through, to its end, or what a function of Python takes all of."""
    above = program.parent.get(node)
    if isinstance(above, (ast.For, ast.comprehension)):
        return above.iter is node
    return isinstance(above, ast.Call) and node in above.args and getattr(above.func, "id", "") in TAKES


def _takes_all(program: object, call: ast.Call) -> bool:
    """Whether a call goes through the parameters that it is given: an optimizer, a clip."""
    name = last(program.path(call.func))  # type: ignore[attr-defined]
    return name in CLIPS or bool(re.search(r"^(AdamW?|SGD|Adagrad|RMSprop|Lion|Adafactor|\w{0,40}Adam\w{0,40})$", name))


@rule("first-batch-again", "S1", "overfitting", "next(iter(",
      bad="""
      for step in range(1000):
          batch = next(iter(loader))
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      batches = iter(loader)
      for step in range(1000):
          batch = next(batches)
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def first_batch_again(view: View) -> Iterator[Fault]:
    """Each step makes the loader's iterator anew and takes its first batch.

    Why: workers start again for every step; without shuffling it is the same batch for ever.
    """
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            if (
                not isinstance(call, ast.Call)
                or view.program.path(call.func) != "next"
                or not call.args
                or event.guards
            ):
                continue
            inner = call.args[0]
            if (
                isinstance(inner, ast.Call)
                and view.program.path(inner.func) == "iter"
                and (view.roles.of(inner.args[0]) == "loader" or _kept(view, training, inner.args[0]))
            ):
                yield Fault(
                    call,
                    "each step begins the loader anew and takes its first batch",
                    "每一步都重新开始遍历，只取第一个批次",
                )


def _kept(view: View, training: Training, expr: ast.expr) -> bool:
    """Whether a name stands for the same thing in every pass."""
    name = key(expr)
    return bool(name) and view.roles.of(expr) == "" and not any(
        inside(view.program, b.node, training.node) for b in view.program.bindings(expr))  # fmt: skip


@rule("workers-repeat-the-stream", "S2", "duplicate-surge", "IterableDataset",
      bad="""
      class Stream(IterableDataset):
          def __iter__(self):
              for line in open(self.path):
                  yield line


      loader = DataLoader(Stream(), batch_size=8, num_workers=4)
      """,
      good="""
      class Stream(IterableDataset):
          def __iter__(self):
              worker = get_worker_info()
              for i, line in enumerate(open(self.path)):
                  if i % worker.num_workers == worker.id:
                      yield line


      loader = DataLoader(Stream(), batch_size=8, num_workers=4)
      """)  # fmt: skip
def workers_repeat_the_stream(view: View) -> Iterator[Fault]:
    """Every worker of a loader goes through the whole stream.

    Why: with four workers each sample comes four times.
    """
    program = view.program
    if re.search(r"get_worker_info|worker_id|split_dataset", program.said):
        return
    for node in program.each(ast.ClassDef):
        if not any(last(program.path(b)) == "IterableDataset" for b in node.bases):
            continue
        for call, _ in loaders(view):
            workers, data = program.const(argument(call, "num_workers")), argument(call, "dataset", 0)
            made = program.origin(data) if data is not None else None
            own = isinstance(made, ast.Call) and last(program.path(made.func)) == node.name
            own = own or (isinstance(made, ast.Name) and only_given(program, made, node))
            told = argument(call, "num_workers") is not None
            if own and told and workers not in (0, 1):
                method = next((f for f in node.body if isinstance(f, FUNCTIONS) and f.name == "__iter__"), node)
                yield Fault(method, "each of the workers goes through the whole stream", "每个 worker 各自遍历整个数据流",
                            beside=(call,))  # fmt: skip


@rule("evaluation-drops-items", "S2", "eval-metrics-empty", "drop_last",
      bad="test_loader = DataLoader(test_set, batch_size=64, drop_last=True)\n",
      good="test_loader = DataLoader(test_set, batch_size=64, drop_last=False)\n")  # fmt: skip
def evaluation_drops_items(view: View) -> Iterator[Fault]:
    """The loader of an evaluation drops its last batch.

    Why: some items are never scored, and the score depends on the batch size.
    """
    yield from made_for_both(view)
    yield from by_a_trainer(view)
    for call, name in loaders(view):
        value = argument(call, "drop_last")
        data = key(argument(call, "dataset", 0))
        if (
            value is not None
            and keyword(call, "drop_last", view.program) is True
            and (TEST.search(name) or TEST.search(last(data)))
        ):
            if not TRAINED.search(name) and not TRAINED.search(data):
                yield Fault(
                    call, "the evaluation drops its last batch", "评测丢弃了最后一个批次", (instead(value, "False"),)
                )


@rule("batched-generation-padded-right", "S1", "padding-side-wrong", "padding_side generate(",
      bad="""
      tokenizer.padding_side = "right"
      inputs = tokenizer(prompts, padding=True, return_tensors="pt")
      out = model.generate(**inputs)
      """,
      good="""
      tokenizer.padding_side = "left"
      inputs = tokenizer(prompts, padding=True, return_tensors="pt")
      out = model.generate(**inputs)
      """)  # fmt: skip
def batched_generation_padded_right(view: View) -> Iterator[Fault]:
    """Prompts are padded on the right before generation.

    Why: a decoder goes on from padding: short prompts of a batch give rubbish.
    """
    program = view.program
    generated = [c for c in program.find("generate") if view.roles.of(receiver(c)) != "rollout"]
    padded = re.search(r"padding\s*=\s*(True|[\"'](longest|max_length))|pad_sequence\(|\.pad\(", program.text)
    if (
        not generated
        or not padded
        or re.search(r"""padding_side\s*=\s*["']left""", program.text)
        or "Seq2Seq" in program.text
    ):
        return
    if "padding_side" not in program.text and not view.trainings:
        yield from padded_by_default(view, generated[0])
    for node in program.nodes:
        value = None
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Attribute)
            and node.targets[0].attr == "padding_side"
        ):
            value = node.value
        elif isinstance(node, ast.Call):
            value = argument(node, "padding_side")
        if isinstance(value, ast.Constant) and value.value == "right" and not view.trainings:
            yield Fault(value, "prompts are padded on the right, and the model generates from padding",
                        "右侧填充后再生成：模型从 padding 之后续写", (instead(value, '"left"'),), beside=(generated[0],))  # fmt: skip
