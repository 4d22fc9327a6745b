"""The rules on measuring several models, one after the other, in one process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....patterns import bounded
from ...program import Program, argument, key, last
from ...source import walk
from ..rule import Fault, View, rule

PEAKS = ("max_memory_allocated", "max_memory_reserved", "max_memory_cached")
RESETS = bounded(r"reset_(?:peak|max)_memory|reset_accumulated_memory|subprocess|multiprocessing|mp\.Process|os\.fork")
"""What sets the peak back, or measures each model in a process of its own."""
LOADS = (
    "from_pretrained",
    "pipeline",
    "LLM",
    "SentenceTransformer",
    "load_model",
    "FastLanguageModel",
    "load_checkpoint",
)
"""Calls that put a model on the device; tokenizers and configurations are told by their class."""
SMALL = bounded(r"(?i)tokeni[sz]er|processor|config|feature_?extractor|scheduler$")
COLLECTS = bounded(r"gc\.collect|\bcollect\(")

MODELS = """
for name in names:
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    {before}
    answers = model.generate(**inputs)
    peaks[name] = torch.cuda.max_memory_allocated()
    {after}
"""


@rule("peak-memory-never-reset", "S2", "memory-leak", "max_memory_allocated max_memory_reserved",
      bad=MODELS.format(before="pass", after="del model"),
      good=MODELS.format(before="torch.cuda.reset_peak_memory_stats()", after="del model; gc.collect()"))  # fmt: skip
def peak_memory_never_reset(view: View) -> Iterator[Fault]:
    """The peak memory of several models is read in one process and never set back.

    Why: it is the highest of all models so far: it only grows in the order in which they are loaded.
    Known gaps: models that are loaded in another file.
    """
    program = view.program
    if RESETS.search(program.text):
        return
    for call in program.find(*PEAKS):
        loop = next((a for a in _around(program, call) if _loads(program, a)), None)
        if loop is not None and "memory" in program.path(call.func):
            yield Fault(call, "the peak is never set back between the models: it is the highest of all so far",
                        "各模型之间从不重置峰值：读到的是到目前为止所有模型的最大值", beside=(loop,))  # fmt: skip
            return


@rule("model-outlives-its-turn", "S2", "memory-leak", "from_pretrained pipeline LLM",
      bad="""
      for name in names:
          model = AutoModelForCausalLM.from_pretrained(name).cuda()
          generator = pipeline("text-generation", model=model)
          scores[name] = measure(generator)
          del generator
          torch.cuda.empty_cache()
      """,
      good="""
      for name in names:
          model = AutoModelForCausalLM.from_pretrained(name).cuda()
          generator = pipeline("text-generation", model=model)
          scores[name] = measure(generator)
          del generator, model
          gc.collect()
          torch.cuda.empty_cache()
      """)  # fmt: skip
def model_outlives_its_turn(view: View) -> Iterator[Fault]:
    """A loop frees what it made for a model, but not the model, before it loads the next.

    Why: the old model is still there while the new one is loaded: memory, and its peak, are those of both.
    Known gaps: what else refers to the model; a deleted one that a cycle holds is a note (S3) where nothing collects.
    """
    program = view.program
    for loop in program.each(ast.For):
        freed = [n for n in walk(loop) if isinstance(n, ast.Delete)]
        empties = [n for n in walk(loop) if isinstance(n, ast.Call) and last(key(n.func)) == "empty_cache"]
        if not freed or not empties or any(isinstance(a, ast.For) for a in program.up(loop)):
            continue
        gone = {key(t) for d in freed for target in d.targets for t in getattr(target, "elts", [target])}
        made = {k: c for c in _loads(program, loop) if (k := _name(program, c)) and not _moved(program, c, loop)}
        left = next((c for k, c in made.items() if k not in gone and not _given_up(loop, k)), None)
        if left is not None:
            yield Fault(freed[0], f"`{_name(program, left)}` is not freed: it stays while the next one is loaded",
                        f"没有释放 `{_name(program, left)}`：加载下一个模型时它还占着内存", beside=(left,))  # fmt: skip
        elif made and not COLLECTS.search(program.text) and any(_spread(program, c) for c in made.values()):
            yield Fault(freed[0], "what is deleted may be held by a cycle: nothing calls `gc.collect`",
                        "被删除的对象可能还被循环引用占着：没有调用 `gc.collect`", severity="S3")  # fmt: skip


def _around(program: Program, call: ast.Call) -> Iterator[ast.AST]:
    """The loops around a call, and those around the one call of the function that it stands in."""
    yield from program.loops(call)
    for caller in program.callers(program.scope(call)):
        yield from program.loops(caller)


def _loads(program: Program, loop: ast.AST) -> list[ast.Call]:
    """The calls that load a model in each turn: of what the loop goes over, in it or in a function that it calls."""
    calls = [n for n in walk(loop) if isinstance(n, ast.Call)]
    inner = [f for c in calls if (f := program.function(c)) is not None]
    calls += [n for f in inner for n in walk(f) if isinstance(n, ast.Call)] if isinstance(loop, ast.For) else []
    return [c for c in calls if isinstance(loop, ast.For) and _is_load(program, c)]


def _is_load(program: Program, call: ast.Call) -> bool:
    path = program.path(call.func)
    fixed = all(isinstance(a, ast.Constant) for a in call.args) and bool(call.args) and last(path) != "pipeline"
    held = last(path) == "pipeline" and argument(call, "model") is not None
    return last(path) in LOADS and not SMALL.search(path) and not fixed and not held


def _name(program: Program, call: ast.Call) -> str:
    """What a model is called in the loop; empty where a function gives it back."""
    statement = program.statement(call)
    return key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def _moved(program: Program, call: ast.Call, loop: ast.AST) -> bool:
    """Whether it is loaded in a function, whose names end with it."""
    return program.scope(call) is not program.scope(loop)


def _given_up(loop: ast.AST, name: str) -> bool:
    """Whether the name gets another value at the end of a turn: `model = None`, `model = model.cpu()`."""
    assigned = [n for n in walk(loop) if isinstance(n, ast.Assign) and key(n.targets[0]) == name]
    moved = (n for n in walk(loop) if isinstance(n, ast.Call) and key(n.func) in (f"{name}.cpu", f"{name}.to"))
    small = any(last(key(c.func)) == "cpu" or "cpu" in {getattr(a, "value", "") for a in c.args} for c in moved)
    return small or any(isinstance(n.value, ast.Constant) for n in assigned) or _wrapped(loop, name)


def _wrapped(loop: ast.AST, name: str) -> bool:
    """Whether it goes on as a part of another that is kept by the loop: a base model in its adapter."""
    return any(
        isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and key(n.targets[0]) not in ("", name)
        and last(key(n.value.func)) in ("from_pretrained", "get_peft_model", "merge_and_unload")
        and name in {key(a) for a in (*n.value.args, *(k.value for k in n.value.keywords))}
        for n in walk(loop)
    )  # fmt: skip


def _spread(program: Program, call: ast.Call) -> bool:
    """Whether the model is put on devices by hooks, which refer to it and are referred to by it."""
    return argument(call, "device_map") is not None
