"""Rules on how data are gone through: iterators, generators, streams, and how texts are tokenised, padded and cut."""

# ruff: noqa: E501, SIM102  one sentence, pattern or program on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..patch import instead
from ..program import FUNCTIONS, Program, argument, key, last, receiver
from ..training import CLIPS, Training
from .data import TRAINED, loaders
from .look import TEST, epoch_loop, inside, keyword
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
        name, outer = key(loop.iter), epoch_loop(program, loop) or _whole_passes(program, loop)
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
                or (
                    isinstance(once[0].value, ast.Call)
                    and program.path(once[0].value.func)
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
            )
        ):
            yield Fault(loop.iter, f"`{name}` is an iterator made once: it is empty after the first epoch",
                        f"`{name}` 是只能遍历一次的迭代器：第一个 epoch 之后就空了", beside=(once[0].node,))  # fmt: skip


def _whole_passes(program: Program, loop: ast.For) -> ast.AST | None:
    """A loop over a range around one that goes to the end each time."""
    left = any(isinstance(n, (ast.Break, ast.Return)) for n in ast.walk(loop))
    around = program.loops(loop)
    outer = around[0] if around else None
    counted = (
        isinstance(outer, ast.For) and isinstance(outer.iter, ast.Call) and program.path(outer.iter.func) == "range"
    )
    return outer if counted and not left else None


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
            if any(_counted(program, n) for n in program.nodes if isinstance(n, ast.Name) and n.id == name):
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
    yields = (n for n in ast.walk(function) if isinstance(n, (ast.Yield, ast.YieldFrom)))
    return not decorated and any(view.program.scope(n) is function for n in yields)


def _goes_through(program: object, node: ast.Name) -> bool:
    """Whether a use goes through all of it."""
    above = program.parent.get(node)  # type: ignore[attr-defined]
    if isinstance(above, (ast.For, ast.comprehension)):
        return above.iter is node
    return (
        isinstance(above, ast.Call)
        and node in above.args
        and (
            getattr(above.func, "id", "") in ("list", "sum", "sorted", "max", "min", "set", "tuple")
            or _takes_all(program, above)
        )
    )


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


@rule("tokenised-in-the-loop", "S3", "dataloader-bottleneck", "tokenizer tok padding=",
      bad="""
      for batch in loader:
          inputs = tokenizer(batch["text"], return_tensors="pt", padding=True)
          loss = model(**inputs, labels=batch["labels"]).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def tokenised_in_the_loop(view: View) -> Iterator[Fault]:
    """Text is tokenised inside the training loop.

    Why: the GPU waits for it in every step; a loader's workers or a mapped dataset do it beside.
    """
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            if (
                (
                    (isinstance(call, ast.Call) and view.roles.of(call.func) == "tokenizer" and _encodes(call))
                    or (isinstance(call, ast.Call) and key(call.func) == "tokenizer")
                )
                and not event.guards
                and training.whole
                and not any(True for _ in view.program.find("generate"))
            ):
                yield Fault(
                    call, "text is tokenised in the training loop: the GPU waits", "在训练循环里分词：GPU 在等待"
                )
                break


@rule("evaluation-drops-items", "S2", "eval-metrics-empty", "drop_last",
      bad="test_loader = DataLoader(test_set, batch_size=64, drop_last=True)\n",
      good="test_loader = DataLoader(test_set, batch_size=64, drop_last=False)\n")  # fmt: skip
def evaluation_drops_items(view: View) -> Iterator[Fault]:
    """The loader of an evaluation drops its last batch.

    Why: some items are never scored, and the score depends on the batch size.
    """
    for call, name in loaders(view):
        value = argument(call, "drop_last")
        data = key(argument(call, "dataset", 0))
        if value is not None and keyword(call, "drop_last") is True and (TEST.search(name) or TEST.search(last(data))):
            if not TRAINED.search(name) and not TRAINED.search(data):
                yield Fault(
                    call, "the evaluation drops its last batch", "评测丢弃了最后一个批次", (instead(value, "False"),)
                )


@rule("batched-generation-padded-right", "S1", "padding-side-wrong", "padding_side",
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


def _encodes(call: ast.Call) -> bool:
    """Whether a call has the arguments of a tokenizer."""
    return any(k.arg in ("padding", "truncation", "return_tensors", "max_length") for k in call.keywords)
