"""The rule on rows of which each was made several before the held-out part is drawn from them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ....patterns import bounded
from ...program import Program, argument, key, last, receiver
from ...source import walk
from ..look import TEST, source
from ..rule import Fault, View, rule

SPLITS = ("train_test_split", "random_split")
SOUND = bounded(r"Group(?:Shuffle|K)|StratifiedGroup|groups\s{0,4}=|drop_duplicates|stratify\s{0,4}=\s{0,4}groups")
"""Words of programs that keep copies together, or take them out."""
JOINS = ("concat", "concatenate_datasets", "concatenate", "ConcatDataset", "vstack", "chain")
TARGETS = bounded(
    r"(?:^|_)(?:labels?|targets?|outputs?|answers?|summar(?:y|ies)|responses?|completions?|class|intent|score|y|gold"
    r"|reference|translation|标签|答案|摘要|输出)(?:$|_)"
)
"""What is to be given for an input."""
DEEP = 4
"""Names that are followed back from what is split."""


@rule("split-after-duplication", "S2", "eval-leakage", "train_test_split random_split len(",
      bad=("""
      data = concatenate_datasets([data] * 3)
      parts = data.train_test_split(test_size=0.1)
      """, """
      import torch
      rows = []
      for item in items:
          rows.append({"text": item["text"], "label": item["label"]})
          rows.append({"text": shuffled_words(item["text"]), "label": item["label"]})
      train, test = train_test_split(rows, test_size=0.2)
      """),
      good=("""
      parts = data.train_test_split(test_size=0.1)
      train = concatenate_datasets([parts["train"]] * 3)
      """, """
      import torch
      kept, test = train_test_split(items, test_size=0.2)
      rows = []
      for item in kept:
          rows.append({"text": item["text"], "label": item["label"]})
          rows.append({"text": shuffled_words(item["text"]), "label": item["label"]})
      """))  # fmt: skip
def split_after_duplication(view: View) -> Iterator[Fault]:
    """Data are repeated, or varied, before they are split into training and test.

    Why: copies and variants of the same sample, with the same answer, land on both sides, and the score is of memory.
    Known gaps: variants that another program makes; rows that hold several parts of one document.
    """
    program = view.program
    if SOUND.search(program.text):
        return
    for call, data in splits(program):
        node = multiplied(program, data)
        if node is not None:
            yield Fault(node, "the data are repeated or varied before they are split: copies land on both sides",
                        "先复制或增强再切分：同一样本的副本会同时落入训练集和测试集", beside=(call,))  # fmt: skip
            return


def splits(program: Program) -> Iterator[tuple[ast.AST, ast.expr]]:
    """(where, what is split) of calls, and of slices at a share of the length."""
    for call in program.find(*SPLITS):
        method = last(program.path(call.func)) == "train_test_split" and not call.args
        data = receiver(call) if method else call.args[0] if call.args else None
        if data is not None:
            yield call, data
    for node in program.each(ast.Subscript):
        cut = node.slice
        if isinstance(cut, ast.Slice) and cut.lower is None and cut.upper is not None and key(node.value):
            at = list(program.traced(cut.upper, 2))
            share = any(isinstance(n, ast.Constant) and isinstance(n.value, float) and 0 < n.value < 1 for n in at)
            of = {key(n.args[0]) for n in at if isinstance(n, ast.Call) and key(n.func) == "len" and n.args}
            if share and of & program.also(node.value):
                yield node, node.value


def multiplied(program: Program, data: ast.expr) -> ast.AST | None:
    """What makes several rows of each on the way of the data to here; None where they were split before."""
    found: ast.AST | None = None
    for node in program.traced(data, DEEP):
        if _is_split(program, node):
            return None
        if found is None and not TEST.search(source(program, node) if isinstance(node, ast.BinOp) else ""):
            found = _here(program, node)
    return found


def _here(program: Program, node: ast.AST) -> ast.AST | None:
    """Whether this very expression gives several rows for one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        times = isinstance(node.left, ast.List) or isinstance(program.const(node.right), int)
        rows = isinstance(node.left, ast.List) or re.search(r"data|rows|samples|examples|records", key(node.left))
        return node if times and isinstance(node.left, (ast.List, ast.Name)) and rows else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return node if _varied(program, [node.left, node.right]) else None
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return node if _product(node.generators, node.elt) else None
    if isinstance(node, ast.Call):
        return node if _by_call(program, node) else None
    return _filled(program, node) if isinstance(node, ast.Name) else None


def _by_call(program: Program, call: ast.Call) -> bool:
    """Whether a call draws rows with replacement, repeats each, or joins rows with what was made of them."""
    name = last(program.path(call.func))
    if name in ("sample", "resample"):
        again = argument(call, "replace")
        return isinstance(again, ast.Constant) and again.value is True
    if name == "repeat":
        return "index" in key(receiver(call))
    parts = call.args[0] if name in JOINS and call.args else None
    return isinstance(parts, (ast.List, ast.Tuple)) and _varied(program, parts.elts)


def _varied(program: Program, parts: list[ast.expr]) -> bool:
    """Whether one of the parts that are joined was made of all the rows of another."""
    for part in parts:
        for other in parts:
            if part is other or not key(part) or key(other) == key(part):
                continue
            made = list(program.traced(other, 2)) + [n for v in program.put_into(other) for n in walk(v)]
            loops = {key(a.iter) for v in program.put_into(other) for a in program.up(v) if isinstance(a, ast.For)}
            calls = (n for n in made if isinstance(n, ast.Call) and (_takes(n, key(part)) or _is_of(n, key(part))))
            over = (g for n in made for g in getattr(n, "generators", ()))
            if any(True for _ in calls) or any(_rows(g.iter) == key(part) for g in over) or key(part) in loops:
                return not any(_some(n) for n in made)
    return False


def _takes(call: ast.Call, name: str) -> bool:
    """Whether a call is given these rows whole."""
    return any(key(a) == name for a in call.args)


def _is_of(call: ast.Call, name: str) -> bool:
    """Whether these rows are mapped: `rows.map(...)`, `frame.assign(...)`, `frame.apply(...)`, `frame.copy()`."""
    return last(key(call.func)) in ("map", "apply", "assign", "copy", "sample") and key(receiver(call)) == name


def _some(node: ast.AST) -> bool:
    """Whether a part takes some of the rows alone, so that another part may be its rest."""
    name = last(key(node.func)) if isinstance(node, ast.Call) else ""
    picks = name in (
        "filter",
        "select",
        "head",
        "tail",
        "drop",
        "isin",
        "query",
        "nlargest",
        "shard",
        "drop_duplicates",
    )
    chosen = any(g.ifs for g in getattr(node, "generators", ()))
    return picks or chosen or (isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Slice, ast.Compare)))


def _rows(over: ast.expr) -> str:
    """The rows that a loop goes over: `rows` of `enumerate(rows)`, `frame` of `frame.iterrows()`."""
    if isinstance(over, ast.Call):
        name = last(key(over.func))
        if name in ("enumerate", "tqdm", "iter", "list") and over.args:
            return _rows(over.args[0])
        if name in ("iterrows", "itertuples", "to_dict", "items"):
            return key(receiver(over))
    return key(over)


def _product(generators: list[ast.comprehension], made: ast.expr) -> bool:
    """Whether rows are taken as often as something else has entries, which does not depend on them."""
    if len(generators) != 2:
        return False
    names = _names(generators[0].target) | _names(generators[1].target)
    first, second = _names(generators[0].target), generators[1].iter
    used = {key(n) for n in walk(made)}
    return not first & {key(n) for n in walk(second)} and bool(first & used) and names != first


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in walk(target) if isinstance(n, ast.Name)}


def _filled(program: Program, name: ast.Name) -> ast.AST | None:
    """The row that one loop puts into a list beside another with the same answer, or again and again."""
    put = [(v, [a for a in program.up(v) if isinstance(a, ast.For)]) for v in program.put_into(name)]
    if any(_is_split(program, n) for _, loops in put for a in loops for n in program.traced(a.iter, DEEP)):
        return None
    for value, loops in put:
        if len(loops) > 1 and _again(loops[0], loops[1], value):
            return value
    for i, (value, loops) in enumerate(put):
        for other, around in put[i + 1 :]:
            beside = loops and around and loops[0] is around[0] and _together(program, value, other)
            if beside and _alike(value, other, _row(loops[0])):
                return other
    return None


def _row(loop: ast.For) -> set[str]:
    """The names that are of one row: those of the loop, and what is made of it in each turn."""
    made = (n.targets[0] for n in walk(loop) if isinstance(n, ast.Assign))
    return _names(loop.target) | {name for target in made for name in _names(target)}


def _is_split(program: Program, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last(program.path(node.func)) in SPLITS


def _again(inner: ast.For, outer: ast.For, value: ast.expr) -> bool:
    """Whether an inner loop that knows nothing of the row puts it in several times."""
    row = _row(outer)
    counted = isinstance(inner.iter, ast.Call) and key(inner.iter.func) == "range"
    used = {key(n) for n in walk(value)} & row
    return counted and bool(used) and not row & {key(n) for n in walk(inner.iter)} and not _names(inner.target) & {
        key(n.slice) for n in walk(value) if isinstance(n, ast.Subscript)
    }  # fmt: skip


def _together(program: Program, one: ast.expr, other: ast.expr) -> bool:
    """Whether both run in one turn: not in two branches of one condition."""
    above = {a: b for b, a in _steps(program, one)}
    for below, node in _steps(program, other):
        if node in above:
            branch = isinstance(node, (ast.If, ast.Try, ast.IfExp))
            return not branch or (above[node] in getattr(node, "body", [])) == (below in getattr(node, "body", []))
    return False


def _steps(program: Program, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """(child, parent) from a node up."""
    for above in program.up(node):
        yield node, above
        node = above


def _alike(one: ast.expr, other: ast.expr, row: set[str]) -> bool:
    """Whether two rows have one answer, of the row of the loop, for inputs that differ and are of it too."""
    pairs = list(_pairs(one, other))
    if not pairs:
        first, second = ast.dump(one), ast.dump(other)
        return isinstance(other, ast.Call) and any(ast.dump(a) == first for a in other.args) and first != second
    same = [name for name, a, b in pairs if ast.dump(a) == ast.dump(b) and _of(a, row)]
    differ = [(a, b) for _, a, b in pairs if ast.dump(a) != ast.dump(b)]
    told = any(TARGETS.search(str(name).lower()) or name == len(pairs) - 1 for name in same)
    return (
        told
        and bool(differ)
        and not any(isinstance(a, ast.Constant) and isinstance(b, ast.Constant) for a, b in differ)
    )


def _of(expr: ast.expr, row: set[str]) -> bool:
    return bool({key(n) for n in walk(expr)} & row)


def _pairs(one: ast.expr, other: ast.expr) -> Iterator[tuple[object, ast.expr, ast.expr]]:
    """(key or place, value, value) of two dictionaries or tuples of the same form."""
    if isinstance(one, ast.Dict) and isinstance(other, ast.Dict):
        names = [k.value if isinstance(k, ast.Constant) else None for k in one.keys]
        others = {k.value: v for k, v in zip(other.keys, other.values, strict=True) if isinstance(k, ast.Constant)}
        yield from ((k, v, others[k]) for k, v in zip(names, one.values, strict=True) if k is not None and k in others)
    elif isinstance(one, (ast.Tuple, ast.List)) and isinstance(other, type(one)) and len(one.elts) == len(other.elts):
        yield from ((i, a, b) for i, (a, b) in enumerate(zip(one.elts, other.elts, strict=True)))
