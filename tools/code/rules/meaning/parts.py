"""Rules on what goes into training and into evaluation, and what is loaded for each item of it."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ...source import walk
from ..evaluation import HELD
from ..rule import Fault, View, rule

RANDOM = re.compile(r"^(Random\w{1,40}|ColorJitter|AutoAugment|RandAugment|TrivialAugmentWide|AugMix)$")
PART = re.compile(r"(^|[/_\\.-])(val|valid|validation|test|dev|eval)([/_\\.-]|$)", re.I)
TRAIN = re.compile(r"(^|_)(tr|train|training|trn|fit)(_|$|ing)", re.I)
HELD_OUT = re.compile(r"(^|_)(te|va|val|valid|validation|test|eval|held(_?out)?|dev|holdout)(_|$)", re.I)
SMALL = re.compile(r"sub|sample|small|tiny|debug|preview|train|probe|head", re.I)
DEEP = 3
INF = float("inf")


@rule("evaluation-augmented", "S2", "eval-harness-drift", "Random ColorJitter Augment AugMix",
      bad="""
      augment = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
      train_set = ImageFolder("train", transform=augment)
      val_set = ImageFolder("val", transform=augment)
      loaders = DataLoader(train_set, 64, shuffle=True), DataLoader(val_set, 64)
      """,
      good="""
      augment = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
      plain = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor()])
      train_set = ImageFolder("train", transform=augment)
      val_set = ImageFolder("val", transform=plain)
      loaders = DataLoader(train_set, 64, shuffle=True), DataLoader(val_set, 64)
      """)  # fmt: skip
def evaluation_augmented(view: View) -> Iterator[Fault]:
    """Images of the evaluation go through random transforms.

    Why: the score is that of distorted images, lower than the model's, and another one each time.
    Known gaps: transforms that are chosen by a condition.
    """
    program = view.program
    if re.search(r"(?i)\btta\b|test.time.aug|simclr|contrastive|two_?crops|byol", program.text):
        return
    for call in program.each(ast.Call):
        value = argument(call, "transform") or next((a for a in call.args if _random(program, a) is not None), None)
        found = _random(program, value) if value is not None else None
        if (
            found is not None
            and last(program.path(call.func)) not in ("Compose", "DataLoader")
            and _held_out(program, call)
        ):
            yield Fault(call, f"the evaluation data go through `{last(program.path(found.func))}`: the score is of distorted images",
                        "评测数据经过随机增强：得到的是失真图像上的分数", beside=(found,))  # fmt: skip
    for table in program.each(ast.Dict):
        rows = {str(k.value): v for k, v in zip(table.keys, table.values, strict=True) if isinstance(k, ast.Constant)}
        for word in [w for w in rows if HELD_OUT.search(w)] if any(TRAIN.search(w) for w in rows) else ():
            if (found := _random(program, rows[word])) is not None:
                yield Fault(rows[word], f"the data of `{word}` go through `{last(program.path(found.func))}`: the score is of distorted images",
                            "评测数据经过随机增强：得到的是失真图像上的分数", beside=(found,))  # fmt: skip


def _random(program: Program, expr: ast.expr) -> ast.Call | None:
    """The random transform in a chain of transforms that is written out."""
    chain = program.origin(expr) if isinstance(expr, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else expr
    if not isinstance(chain, ast.Call) or last(program.path(chain.func)) != "Compose" or not chain.args:
        return None
    steps = program.origin(chain.args[0])
    made = [program.origin(e) for e in steps.elts] if isinstance(steps, (ast.List, ast.Tuple)) else []
    return next((m for m in made if isinstance(m, ast.Call) and RANDOM.search(last(program.path(m.func)))), None)


def _held_out(program: Program, call: ast.Call) -> bool:
    """Whether a dataset is one that is held out: as it says, by its folder, or by its name."""
    train, split = argument(call, "train"), argument(call, "split")
    if train is not None:
        return program.const(train) is False
    if split is not None:
        return bool(HELD_OUT.search(str(program.const(split))))
    statement = program.statement(call)
    name = key(statement.targets[0]) if isinstance(statement, ast.Assign) and statement.value is call else ""
    texts = [
        str(n.value) for a in call.args for n in walk(a) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    return bool(HELD.search(last(name))) or _each_part(program, call) or any(PART.search(t) for t in texts[-1:])


def _each_part(program: Program, call: ast.Call) -> bool:
    """Whether a dataset is made for each of several parts, one of them held out: `for part in ("train", "val")`."""
    names = {n.id for a in call.args for n in walk(a) if isinstance(n, ast.Name)}
    overs = [(g.target, g.iter) for up in program.up(call) for g in getattr(up, "generators", ())]
    overs += [(up.target, up.iter) for up in program.loops(call) if isinstance(up, ast.For)]
    for target, over in overs:
        parts = over.elts if isinstance(over, (ast.Tuple, ast.List)) else []
        words = [v for p in parts if isinstance(v := program.const(p), str)]
        if key(target) in names and any(HELD_OUT.search(w) for w in words) and any(TRAIN.search(w) for w in words):
            return True
    return False


@rule("parts-overlap", "S1", "eval-leakage", "train",
      bad="train_rows, test_rows = rows, rows[900:]\nloader = DataLoader(train_rows, 8, shuffle=True)\n",
      good="train_rows, test_rows = rows[:900], rows[900:]\nloader = DataLoader(train_rows, 8, shuffle=True)\n")  # fmt: skip
def parts_overlap(view: View) -> Iterator[Fault]:
    """The held-out part is cut from rows all of which are trained on.

    Why: the score says how well they are remembered.
    """
    program = view.program
    yield from _ranges(program)
    for pair in (n for n in program.each(ast.Tuple) if len(n.elts) == 2 and isinstance(n.ctx, ast.Load)):
        whole, part = pair.elts
        cut = part.slice if isinstance(part, ast.Subscript) else None
        bounds = [b for b in (cut.lower, cut.upper) if b is not None] if isinstance(cut, ast.Slice) else []
        if not bounds or not key(whole) or not isinstance(part, ast.Subscript) or key(part.value) != key(whole):
            continue
        for one, other in _given_names(program, pair):
            if TRAIN.search(last(one)) and HELD_OUT.search(last(other)) and not SMALL.search(last(other)):
                yield Fault(pair, f"`{other}` is a piece of `{one}`, all of which is trained on",
                            f"`{other}` 是 `{one}` 的一部分，而它全部参与训练")  # fmt: skip
                break


def _ranges(program: Program) -> Iterator[Fault]:
    """Two written stretches of the same rows, one to train on and one to evaluate, that have rows in common."""
    found: list[tuple[ast.Assign, str, Bound, Bound]] = []
    for node in program.each(ast.Assign):
        taken = _stretch(program, node.value)
        if taken is not None and key(node.targets[0]):
            found.append((node, *taken))
    rows_of = {rows for _, rows, _, _ in found}
    for node in program.each(ast.Assign) if found else ():
        alone = len(program.bindings(node.targets[0])) == 1 and TRAIN.search(last(key(node.targets[0])))
        if isinstance(node.value, ast.Name) and node.value.id in rows_of and alone:
            found.append((node, node.value.id, Bound("", 0), Bound("", INF)))
    for node, rows, low, high in found:
        if not HELD_OUT.search(last(key(node.targets[0]))) or SMALL.search(last(key(node.targets[0]))):
            continue
        for other, same, first, end in found:
            trains = (
                TRAIN.search(last(key(other.targets[0])))
                and same == rows
                and program.scope(other) is program.scope(node)
            )
            if trains and _common(low, high, first, end):
                yield Fault(node, f"`{key(node.targets[0])}` has rows in common with `{key(other.targets[0])}`",
                            f"`{key(node.targets[0])}` 与 `{key(other.targets[0])}` 有重叠的行", beside=(other,))  # fmt: skip
                break


class Bound(NamedTuple):
    """An end of a stretch: a number of rows, or a share of a length."""

    of: str
    """The length; empty for a number."""
    at: float


def _common(low: Bound, high: Bound, first: Bound, end: Bound) -> bool:
    """Whether two stretches have rows in common, as far as their ends are of one kind."""
    ends = (low, high, first, end)
    kinds = {b.of for b in ends if b.at not in (0, INF)}
    return len(kinds) < 2 and max(low.at, first.at) < min(high.at, end.at)


def _bound(program: Program, expr: ast.expr | None, on: ast.expr) -> Bound | None:
    """An end that is written out: `500`, `len(rows)`, `int(0.9 * n)`."""
    value = program.origin(expr, inside=False) if expr is not None else None
    number = program.const(value) if value is not None else None
    if isinstance(number, int):
        return Bound("", number) if number >= 0 else None
    if not isinstance(value, ast.Call) or len(value.args) != 1:
        return None
    inner = value.args[0]
    if key(value.func) == "len" and key(inner) == key(on):
        return Bound("", INF)
    if key(value.func) != "int" or not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Mult):
        return None
    for share, length in ((inner.left, inner.right), (inner.right, inner.left)):
        if isinstance(at := program.const(share), float) and 0 < at < 1:
            return Bound(program.code(length), at)
    return None


def _stretch(program: Program, expr: ast.expr) -> tuple[str, Bound, Bound] | None:
    """(of which rows, from, to) of `rows[a:b]`, `rows.select(range(a, b))` and `Subset(rows, range(a, b))`."""
    bounds: list[ast.expr | None] = []
    on: ast.expr | None = None
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Slice) and expr.slice.step is None:
        on, bounds = expr.value, [expr.slice.lower, expr.slice.upper]
    elif isinstance(expr, ast.Call) and expr.args and last(program.path(expr.func)) in ("select", "Subset"):
        by = expr.args[-1]
        on = receiver(expr) if last(program.path(expr.func)) == "select" else expr.args[0]
        if isinstance(by, ast.Call) and key(by.func) == "range" and len(by.args) < 3:
            bounds = list(by.args) if len(by.args) == 2 else [None, *by.args]
    if len(bounds) != 2 or on is None or not key(on):
        return None
    low = Bound("", 0) if bounds[0] is None else _bound(program, bounds[0], on)
    high = Bound("", INF) if bounds[1] is None else _bound(program, bounds[1], on)
    return (key(on), low, high) if low is not None and high is not None else None


def _given_names(program: Program, pair: ast.Tuple) -> Iterator[tuple[str, str]]:
    """The names that the two of a pair are given: here, or where the function is called that gives them back."""
    above = program.parent.get(pair)
    places = [above] if isinstance(above, ast.Assign) else []
    if isinstance(above, ast.Return):
        places = [program.parent.get(c) for c in program.callers(program.scope(pair))]
    for target in (p.targets[0] for p in places if isinstance(p, ast.Assign)):
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            yield key(target.elts[0]), key(target.elts[1])


@rule("loaded-for-each-item", "S2", "low-throughput", "from_pretrained",
      bad="""
      def collate(rows):
          tokenizer = AutoTokenizer.from_pretrained("gpt2")
          return tokenizer([r["text"] for r in rows], padding=True, return_tensors="pt")
      loader = DataLoader(rows, 32, shuffle=True, collate_fn=collate)
      """,
      good="""
      tokenizer = AutoTokenizer.from_pretrained("gpt2")
      def collate(rows):
          return tokenizer([r["text"] for r in rows], padding=True, return_tensors="pt")
      loader = DataLoader(rows, 32, shuffle=True, collate_fn=collate)
      """)  # fmt: skip
def loaded_for_each_item(view: View) -> Iterator[Fault]:
    """A tokenizer or a model is loaded anew for each item or batch.

    Why: reading it takes longer than what is done with it; workers wait for the disk and the GPU for them.
    """
    program = view.program
    for call in program.find("from_pretrained"):
        scope = program.scope(call)
        own = {a.arg for a in (*scope.args.args, *scope.args.kwonlyargs)} if isinstance(scope, FUNCTIONS) else set()
        other = {
            n.id for a in (*call.args, *(k.value for k in call.keywords)) for n in walk(a) if isinstance(n, ast.Name)
        }
        if own & other - {"self"} or program.guards(call) or not isinstance(scope, FUNCTIONS):
            continue
        if (place := _for_each(view, scope)) is not None:
            yield Fault(call, f"`{last(program.path(call.func).rpartition('.')[0])}` is loaded anew for each item or batch",
                        "每个样本或批次都重新加载一次", beside=(place,))  # fmt: skip


BY_BATCH = ("collate_fn", "data_collator", "reward_funcs", "formatting_func")
"""Arguments that take what is called for each batch or item."""


def _for_each(view: View, function: ast.AST, deep: int = DEEP) -> ast.AST | None:
    """Where a function is handed to what calls it for each item or batch, itself or through those that call it."""
    program = view.program
    if not isinstance(function, FUNCTIONS) or any("cache" in program.path(d) for d in function.decorator_list):
        return None
    if function.name in ("__getitem__", "training_step", "compute_loss"):
        return function
    owner = program.parent.get(function)
    name = owner.name if function.name == "__call__" and isinstance(owner, ast.ClassDef) else function.name
    for node in program.each(ast.Call):
        for handed in (v for word in BY_BATCH if (v := argument(node, word)) is not None):
            made = program.origin(handed, inside=False)
            named = [made.func if isinstance(made, ast.Call) else made, *getattr(made, "elts", ()), handed]
            if name in map(key, named):
                return node
    for call in program.find("map"):
        if call.args and key(call.args[0]) == function.name and isinstance(call.func, ast.Attribute):
            return call
    return next((p for c in (program.callers(function) if deep else ()) if not program.guards(c)
                 and (p := _for_each(view, program.scope(c), deep - 1)) is not None), None)  # fmt: skip
