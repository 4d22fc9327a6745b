"""Rules on how data are gone through: iterators, generators, streams."""

# ruff: noqa: E501  one sentence, pattern or program on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..program import FUNCTIONS, argument, key, last
from .data import loaders
from .look import epoch_loop, inside
from .rule import Fault, View, rule


@rule("iterator-used-up", "S1", "loss-stagnation", "iter( map( filter( zip( islice yield for",
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
    for loop in [n for n in program.nodes if isinstance(n, ast.For)]:
        name, outer = key(loop.iter), epoch_loop(program, loop)
        if (
            isinstance(loop.iter, ast.Call)
            and last(program.path(loop.iter.func)) in ("enumerate", "tqdm")
            and loop.iter.args
        ):
            name = key(loop.iter.args[0])
        if not name or outer is None:
            continue
        made = [b for b in program.bindings(loop, name) if b.how == "assign"]
        once = [
            b for b in made if isinstance(b.value, (ast.Call, ast.GeneratorExp)) and not inside(program, b.node, outer)
        ]
        if (
            len(made) == 1
            and once
            and (
                isinstance(once[0].value, ast.GeneratorExp)
                or program.path(once[0].value.func)
                in (
                    "iter",
                    "map",
                    "filter",
                    "zip",
                    "itertools.chain",
                    "itertools.islice",
                    "itertools.chain.from_iterable",
                )
            )
        ):
            yield Fault(loop.iter, f"`{name}` is an iterator made once: it is empty after the first epoch",
                        f"`{name}` 是只能遍历一次的迭代器：第一个 epoch 之后就空了", beside=(once[0].node,))  # fmt: skip


def _spent(view: View) -> Iterator[Fault]:
    """A generator that is gone through twice, one time after the other."""
    program = view.program
    for scoped in program.bound.values():
        for name, bindings in scoped.items():
            made = bindings[0].value
            if (
                len(bindings) != 1
                or bindings[0].how != "assign"
                or bindings[0].part is not None
                or not _generator(view, made)
            ):
                continue
            uses = [n for n in program.nodes if isinstance(n, ast.Name) and n.id == name and _goes_through(program, n)
                    and program.scope(n) is program.scope(bindings[0].node)]  # fmt: skip
            apart = [u for u in uses[1:] if not set(program.guards(u)) ^ set(program.guards(uses[0]))]
            if uses and apart:
                yield Fault(apart[0], f"`{name}` is a generator that was gone through before: nothing is left",
                            f"`{name}` 是生成器，前面已经遍历过：这里什么都不剩", beside=(uses[0],))  # fmt: skip


def _generator(view: View, made: ast.expr | None) -> bool:
    if isinstance(made, ast.GeneratorExp):
        return True
    if not isinstance(made, ast.Call):
        return False
    function = view.program.function(made)
    if function is None:
        return view.program.path(made.func) in ("map", "filter", "zip")
    decorated = bool(function.decorator_list)
    return not decorated and any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(function))


def _goes_through(program: object, node: ast.Name) -> bool:
    """Whether a use goes through all of it."""
    above = program.parent.get(node)  # type: ignore[attr-defined]
    if isinstance(above, (ast.For, ast.comprehension)):
        return above.iter is node
    return (
        isinstance(above, ast.Call)
        and node in above.args
        and getattr(above.func, "id", "") in ("list", "sum", "len", "sorted", "max", "min", "set", "tuple")
    )


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
                and view.roles.of(inner.args[0]) == "loader"
            ):
                yield Fault(
                    call,
                    "each step begins the loader anew and takes its first batch",
                    "每一步都重新开始遍历，只取第一个批次",
                )


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
    if re.search(r"get_worker_info|worker_id|split_dataset", program.text):
        return
    for node in [n for n in program.nodes if isinstance(n, ast.ClassDef)]:
        if not any(last(program.path(b)) == "IterableDataset" for b in node.bases):
            continue
        for call, _ in loaders(view):
            workers, data = program.const(argument(call, "num_workers")), argument(call, "dataset", 0)
            made = program.origin(data) if data is not None else None
            own = isinstance(made, ast.Call) and last(program.path(made.func)) == node.name
            if own and isinstance(workers, int) and workers > 1:
                method = next((f for f in node.body if isinstance(f, FUNCTIONS) and f.name == "__iter__"), node)
                yield Fault(method, f"each of {workers} workers goes through the whole stream", f"{workers} 个 worker 各自遍历整个数据流",
                            beside=(call,))  # fmt: skip
