"""Rules on what a dataset hands to its workers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import Program, argument, key, last, receiver
from ..meaning.ways import class_methods, given
from ..rule import Fault, View, rule


@rule("generator-copied-to-workers", "S2", "duplicate-surge", "default_rng RandomState Random( Generator",
      bad="""
      class Noisy(torch.utils.data.Dataset):
          def __init__(self, rows):
              self.rows, self.rng = rows, np.random.default_rng(0)
          def __getitem__(self, i):
              return self.rows[i] + self.rng.normal()
      loader = DataLoader(Noisy(rows), batch_size=8, num_workers=4)
      """,
      good="""
      class Noisy(torch.utils.data.Dataset):
          def __init__(self, rows):
              self.rows = rows
          def __getitem__(self, i):
              rng = np.random.default_rng([i, torch.initial_seed() % 2**32])
              return self.rows[i] + rng.normal()
      loader = DataLoader(Noisy(rows), batch_size=8, num_workers=4)
      """)  # fmt: skip
def generator_copied_to_workers(view: View) -> Iterator[Fault]:
    """A dataset draws from a generator that it makes in `__init__`, and several workers copy it.

    Why: every worker draws the same numbers, and each epoch begins again: the augmentation repeats.
    """
    program = view.program
    if program.mentions("worker_init_fn", "get_worker_info"):
        return
    several = [c for c in program.find("DataLoader") if _many_workers(view, c)]
    for function in program.functions.get("__init__", ()) if several else ():
        methods = class_methods(view, function.body[0])
        if "__getitem__" not in methods:
            continue
        for node in program.within(function):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            for name, value in _pairs(target, node.value if isinstance(node, ast.Assign) else None):
                seeded = isinstance(value, ast.Call) and last(program.path(value.func)) == "manual_seed"
                value = receiver(value) if seeded and isinstance(value, ast.Call) else value
                made = isinstance(value, ast.Call) and last(program.path(value.func)) in (
                    "default_rng",
                    "RandomState",
                    "Random",
                    *(("Generator",) if seeded else ()),
                )
                again = (
                    any(
                        b.how != "assign" or program.scope(b.node) is not function
                        for b in program.bindings(target, name)
                    )
                    if target is not None and name
                    else True
                )
                if made and not again and _drawn(view, methods, name):
                    yield Fault(node, f"`{name}` is copied into every worker: all draw the same numbers",
                                f"`{name}` 被复制到每个 worker：抽到的随机数都相同", beside=(several[0],))  # fmt: skip


def _pairs(target: ast.AST | None, value: ast.expr | None) -> list[tuple[str, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [(key(t), v) for t, v in zip(target.elts, value.elts, strict=True)]
    return [(key(target), value)] if target is not None and value is not None else []


@rule("gpu-work-in-the-data-set", "S2", "cuda-fork-init-error", "__getitem__",
      bad="""
      class Frames(torch.utils.data.Dataset):
          def __init__(self, paths, segmenter):
              self.paths, self.segmenter = paths, None
          def _mask(self, x):
              if self.segmenter is None:
                  self.segmenter = load_segmenter().to("cuda:0")
              return self.segmenter(x)
          def __getitem__(self, i):
              return self._mask(read(self.paths[i]))
      loader = DataLoader(Frames(paths, None), batch_size=8, num_workers=4)
      """,
      good=("""
      class Frames(torch.utils.data.Dataset):
          def __getitem__(self, i):
              return read(self.paths[i])
          def preview(self, i):
              return read(self.paths[i]).cuda()
      loader = DataLoader(Frames(), batch_size=8, num_workers=4)
      for x in loader:
          x = x.cuda()
      """, """
      class Frames(torch.utils.data.Dataset):
          def __getitem__(self, i):
              return read(self.paths[i]).cuda()
      loader = DataLoader(Frames(), batch_size=8, num_workers=0)
      """))  # fmt: skip
def gpu_work_in_the_data_set(view: View) -> Iterator[Fault]:
    """Items are made on the GPU, and forked workers make them.

    Why: a worker that was forked cannot use CUDA: it dies at its first item, and the other ranks wait for that one.
    Known gaps: data sets whose loader another file makes with no workers, or with workers that are spawned.
    """
    program = view.program
    loaders = list(program.find("DataLoader"))
    if program.mentions("spawn", "forkserver") or (loaders and not any(_many_workers(view, c) for c in loaders)):
        return
    for function in program.functions.get("__getitem__", ()):
        owner = program.parent.get(function)
        methods = class_methods(view, function.body[0]) if isinstance(owner, ast.ClassDef) else {}
        for node in _calls_of_items(view, methods):
            if _on_gpu(program, node):
                yield Fault(node, "items of the data set are made on the GPU, in workers that were forked",
                            "数据集在 fork 出来的 worker 里使用 GPU", beside=(function,))  # fmt: skip
                break


def _on_gpu(program: Program, call: ast.Call) -> bool:
    """Whether a call puts something on a GPU: `.cuda()`, `.to("cuda")`, `device="cuda"`."""
    if last(program.path(call.func)) == "cuda" and receiver(call) is not None:
        return key(receiver(call)) != "torch"
    said = [k.value for k in call.keywords if k.arg == "device"]
    said += call.args[:1] if last(program.path(call.func)) == "to" else []
    return any(re.match(r"f?[\"']cuda", program.code(program.origin(value))) for value in said)


def _calls_of_items(view: View, methods: dict) -> Iterator[ast.Call]:
    """The calls that are made for an item: in `__getitem__` and in the methods that it calls."""
    seen, waiting = set(), ["__getitem__"]
    while waiting:
        function = methods.get(waiting.pop())
        if function is None or function in seen:
            continue
        seen.add(function)
        for node in view.program.within(function, ast.Call):
            yield node
            if key(receiver(node)) == "self":
                waiting.append(last(view.program.path(node.func)))


def _drawn(view: View, methods: dict, name: str) -> bool:
    """Whether items draw from a generator: in `__getitem__` or in a method that it calls."""
    return any(
        key(receiver(node)) == name or any(k.arg == "generator" and key(k.value) == name for k in node.keywords)
        for node in _calls_of_items(view, methods)
    )


def _many_workers(view: View, call: ast.Call) -> bool:
    told, value = given(view, call, "num_workers")
    return told and value != 0


def only_given(program: Program, data: ast.Name, made: ast.ClassDef) -> bool:
    """Whether a loader is given what another file makes, and one class of this file alone can be meant."""
    found = program.bindings(data)
    handed = len(found) == 1 and found[0].how == "parameter" and not program.callers(found[0].node)
    sets = [c for c in program.each(ast.ClassDef) if any("Dataset" in last(program.path(b)) for b in c.bases)]
    return handed and sets == [made] and not program.calls.get(made.name)


RIGHT = re.compile(r"(^|/)(gpt2(-\w{2,6})?|distilgpt2|opt-[\w.]+|pythia-[\w.-]+|gpt-neo\w{0,2}-[\w.]+|phi-[12][\w.]*)$")
"""Decoders whose tokenizers pad on the right unless told otherwise."""


def padded_by_default(view: View, generated: ast.Call) -> Iterator[Fault]:
    """Batches of prompts for a decoder whose tokenizer pads on the right, as nothing tells it otherwise."""
    program = view.program
    fed = [
        n for v in (*generated.args, *(k.value for k in generated.keywords)) for n, _, _ in made_of(program, v, (), 4)
    ]
    batch = any(
        isinstance(n, ast.Call) and program.const(argument(n, "padding")) in (True, "longest", "max_length")
        for n in fed
    )
    for call in program.find("from_pretrained") if batch else ():
        name = program.usually(call.args[0]) if call.args and view.roles.of(call) == "tokenizer" else None
        if isinstance(name, str) and RIGHT.search(name):
            yield Fault(call, f"the tokenizer of `{name}` pads on the right, and the model generates from padding",
                        f"`{name}` 的分词器默认右侧填充，模型会从 padding 之后续写",
                        severity="S2", beside=(generated,))  # fmt: skip
            return
