"""The rule on examples in a prompt that come from the items which are scored."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from ...program import Binding, Program, argument, key, last, names, passed, receiver
from ...source import walk
from ..judging.measures import answer_given
from ..judging.prompts import drawn_for_text, partial, shown
from ..rule import Fault, View, rule

SHOTS = re.compile(r"shot|exemplar|demo|in_?context|icl|few|knn|nearest|neighbou?r|retriev", re.I)
HELD = re.compile(r"(^|_)(test|val|valid|validation|eval|dev|holdout)(_|$|\d)", re.I)
SAME = (
    "list",
    "tuple",
    "sorted",
    "reversed",
    "tqdm",
    "enumerate",
    "sample",
    "choices",
    "choice",
    "join",
    "permutation",
)
"""Functions that give rows of their first argument."""
KEEPS = ("shuffle", "select", "take", "to_list", "with_format", "map", "copy", "filter")
"""Methods that give rows of what they are called on."""
READS = re.compile(r"^(open|loads?|read_\w{1,40}|from_json)$")
"""Functions that read rows from a file."""
MOST_CALLS = 4
"""Functions that rows are followed through, each once."""
Root = tuple[object, str]
"""What rows come from, as (the call or the name that makes it, its split)."""


@rule("test-items-in-prompts", "S1", "eval-leakage", "test eval _val_ valid answer",
      bad="""
      shots = random.sample(test_set, 5)
      for item in test_set:
          prompt = build(shots, item["question"])
          score(model_answer(prompt), item["answer"])
      """,
      good="""
      shots = random.sample(train_set, 5)
      for item in test_set:
          prompt = build(shots, item["question"])
          score(model_answer(prompt), item["answer"])
      """)  # fmt: skip
def test_items_in_prompts(view: View) -> Iterator[Fault]:
    """The examples in the prompt are taken from the items that are scored.

    Why: the model sees answers of the test; the score is too high.
    """
    program = view.program
    yield from answer_given(view)
    scored = _scored(program)
    if not scored:
        return
    yield from _of_all_parts(program, scored)
    yield from _written(program)
    scored = {root: place for root, place in scored.items() if _held(root) or _judged(place, program)}
    if not scored:
        return
    bound = [(name, b) for scoped in program.bound.values() for name, bindings in scoped.items() for b in bindings]
    for name, binding in bound:
        if binding.how != "assign" or binding.value is None:
            continue
        made = binding.value.func if isinstance(binding.value, ast.Call) else None
        around = [getattr(n, "name", "") for n in program.up(binding.node) if isinstance(n, ast.ClassDef)]
        words = " ".join((last(name), last(key(made)), *around))
        if not SHOTS.search(words) and not drawn_for_text(program, name, binding):
            continue
        found = next((r for r in _rows(program, binding.value) if r in scored), None)
        if found is not None and not _begins_later(program, found):
            yield Fault(binding.node, f"the examples of the prompt come from `{found[1]}`, which is scored",
                        f"提示中的示例取自 `{found[1]}`，而它正是被评测的数据", beside=(scored[found],))  # fmt: skip


def _written(program: Program) -> Iterator[Fault]:
    """Question and answer of some rows, written into a text, where the same rows are all gone through elsewhere."""
    some = [(n, rows) for n in (*program.each(ast.For), *program.each(ast.comprehension))
            if (rows := _some(program, n)) is not None]  # fmt: skip
    inner = {
        x for n, _ in some for x in (*walk(n), *walk(program.parent[n] if isinstance(n, ast.comprehension) else n))
    }
    scored = _scored(program, inner) if some else {}
    for node, rows in some:
        found = next(
            (r for r in _rows(program, rows) if r in scored and (_held(r) or _judged(scored[r], program))), None
        )
        if found is not None and not shown(program, node) and not _begins_later(program, found):
            yield Fault(node.iter, f"the examples of the prompt come from `{found[1]}`, which is scored",
                        f"提示中的示例取自 `{found[1]}`，而它正是被评测的数据", beside=(scored[found],))  # fmt: skip
            return


def _begins_later(program: Program, root: Root) -> bool:
    """Whether the rows are elsewhere gone through from behind the first ones on: `rows[shots:]`."""
    for cut in (n for n in program.each(ast.Subscript) if isinstance(n.slice, ast.Slice)):
        low = cut.slice.lower if isinstance(cut.slice, ast.Slice) and cut.slice.upper is None else None
        first = low is None or (isinstance(low, ast.Constant) and not low.value)
        if not first and root in _rows(program, cut.value):
            return True
    return False


def _some(program: Program, node: ast.For | ast.comprehension) -> ast.expr | None:
    """The collection of which a loop takes some rows, the first or any, and writes two fields of each into a text."""
    way = program.origin(node.iter)
    if not partial(program, way):
        return None
    body = [program.parent[node]] if isinstance(node, ast.comprehension) else node.body
    texts = [t for s in body for t in walk(s) if isinstance(t, (ast.JoinedStr, ast.BinOp))]
    for text in texts:
        fields: dict[str, set[object]] = {}
        whose: dict[str, ast.expr] = {}
        for one in (n for n in walk(text) if isinstance(n, (ast.Subscript, ast.Attribute))):
            part = (
                one.slice.value
                if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant)
                else getattr(one, "attr", None)
            )
            if isinstance(part, str):
                fields.setdefault(program.code(one.value), set()).add(part)
                whose[program.code(one.value)] = one.value
        for name, parts in fields.items():
            if len(parts) < 2:
                continue
            row = whose[name]
            if key(row) == key(node.target) != "":
                return way
            if isinstance(row, ast.Subscript) and key(row.slice) == key(node.target) != "":
                return row.value  # places that were drawn
    return None


def _judged(place: ast.AST, program: Program) -> bool:
    """Whether rows are gone through in a function that evaluates, and are asked one by one."""
    scope = program.scope(place)
    named = re.search(r"^(evaluate|accuracy|score|test|bench)", getattr(scope, "name", ""))
    asked = (n for n in program.within(scope, ast.Compare) if isinstance(n.ops[0], ast.Eq))
    return bool(named) and any(True for _ in asked)


def _of_all_parts(program: Program, scored: dict[Root, ast.AST]) -> Iterator[Fault]:
    """A pool of examples that is put together from all parts of a data set, that which is scored with them."""
    for call in program.find("concatenate_datasets"):
        each = call.args[0] if call.args else None
        over = each.generators[0].iter if isinstance(each, ast.ListComp) else None
        on = (
            receiver(over)
            if isinstance(over, ast.Call) and last(program.path(over.func)) in ("values", "keys")
            else over
        )
        made = program.origin(on or over) if over is not None else None  # type: ignore[arg-type]
        name = key(getattr(program.statement(call), "targets", [None])[0])
        used = (
            any(
                name in {key(a) for a in c.args} and SHOTS.search(last(program.path(c.func)))
                for c in program.each(ast.Call)
            )
            if name
            else False
        )
        found = next((r for r in scored if r[0] is made and _held(r)), None)
        if found is not None and (used or SHOTS.search(name)):
            yield Fault(call, f"the examples of the prompt come from all parts, `{found[1]}` among them, which is scored",
                        f"提示中的示例取自所有划分，其中包括被评测的 `{found[1]}`", beside=(scored[found],))  # fmt: skip


def _held(root: Root) -> bool:
    """Whether rows are of a part that is kept for tests."""
    return bool(HELD.search(root[1])) and not re.search(r"dev", root[1])


def _scored(program: Program, without: Collection[ast.AST] = ()) -> dict[Root, ast.AST]:
    """What the rows come from that are gone through, with the place; those behind a beginning that is left out not."""
    out: dict[Root, ast.AST] = {}
    for node in (n for n in program.each(ast.For, ast.comprehension, ast.Subscript) if n not in without):
        if isinstance(node, (ast.For, ast.comprehension)):
            joined = isinstance(node, ast.comprehension) and _in_shots(program, node)
            if not joined:
                for root in _rows(program, node.iter, whole=True):
                    out.setdefault(root, node.iter)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and not _in_shots(program, node):
            counted = any(b.how == "for" for b in program.bindings(node.slice))
            for root in _rows(program, node.value, whole=True) if counted else ():
                out.setdefault(root, node)
    return out


def _in_shots(program: Program, node: ast.AST) -> bool:
    """Whether a node stands where examples are chosen or written."""
    statement = program.statement(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    drawn = key(node.iter) if isinstance(node, ast.comprehension) else ""
    named = isinstance(statement, ast.Return) and SHOTS.search(getattr(program.scope(node), "name", ""))
    return bool(named) or any(SHOTS.search(last(key(t))) for t in targets) or bool(SHOTS.search(last(drawn)))


def _rows(program: Program, expr: ast.expr, deep: int = 14, whole: bool = False,
          calls: tuple[ast.Call, ...] = ()) -> Iterator[Root]:  # fmt: skip
    """What the rows of a collection come from.

    Args:
        expr: the collection.
        deep: names and calls that are followed.
        whole: whether a collection without its beginning is none.
        calls: the calls through which it came.
    """
    if not deep:
        return
    if isinstance(expr, ast.Call):
        yield from _of_call(program, expr, deep, whole, calls)
    elif isinstance(expr, (ast.ListComp, ast.GeneratorExp)):
        first = expr.generators[0]
        if any(names(t) - names(first.target) for t in first.ifs):
            return  # some are left out: the one that is asked, it may be
        if isinstance(expr.elt, ast.Call) and (one := next((a for a in expr.elt.args if _taken(a, first)), None)):
            expr = ast.copy_location(ast.ListComp(one, expr.generators), expr)  # what is written of each row
        taken = isinstance(expr.elt, ast.Subscript) and not isinstance(expr.elt.slice, ast.Constant)
        inner = expr.elt if taken else first.iter
        yield from _rows(program, inner.value if isinstance(inner, ast.Subscript) else inner, deep - 1, whole, calls)
    elif isinstance(expr, ast.Subscript):
        part = expr.slice.value if isinstance(expr.slice, ast.Constant) else None
        part = program.usually(expr.slice) if isinstance(expr.slice, ast.Name) else part
        made = program.origin(expr.value)
        if isinstance(part, str):
            if isinstance(made, ast.Call) and last(program.path(made.func)) == "load_dataset":
                yield made, part
        elif not (whole and isinstance(expr.slice, ast.Slice) and expr.slice.lower is not None):
            yield from _rows(program, expr.value, deep - 1, whole, calls)
    elif isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        sides = [s.value for s in (expr.left, expr.right) if isinstance(s, ast.Subscript)]
        if len(sides) == 2 and key(sides[0]) and key(sides[0]) == key(sides[1]):
            return  # what stands before and behind the one that is asked
        for side in (expr.left, expr.right):
            yield from _rows(program, side, deep - 1, whole, calls)
    elif key(expr):
        found = program.binding(expr)
        if found is None:
            yield key(expr), last(key(expr))
        elif found.how == "parameter":
            yield from _of_parameter(program, found, key(expr), deep, whole, calls)
        elif found.how == "assign" and found.part is None and found.value is not None:
            rows = list(_rows(program, found.value, deep - 1, whole, calls))
            read = not rows and any(
                isinstance(n, ast.Call) and READS.search(last(program.path(n.func))) for n in walk(found.value)
            )
            yield from rows or ([(found.value, last(key(expr)))] if read else [])


def _taken(expr: ast.expr, of: ast.comprehension) -> bool:
    """`pool[i]` for each `i`."""
    return isinstance(expr, ast.Subscript) and bool(key(of.target)) and key(expr.slice) == key(of.target)


def _of_call(program: Program, call: ast.Call, deep: int, whole: bool, calls: tuple[ast.Call, ...]) -> Iterator[Root]:
    name, on = last(program.path(call.func)), receiver(call)
    if name == "load_dataset":
        split = argument(call, "split")
        yield call, str(program.const(split)) if split is not None else ""
    elif name == "zip":
        for value in call.args:
            yield from _rows(program, value, deep - 1, whole, calls)
    elif (function := program.function(call)) is not None:
        again = len(calls) >= MOST_CALLS or any(program.function(c) is function for c in calls)
        for value in program.returned(function) if not again else ():
            yield from _rows(program, value, deep - 1, whole, (*calls, call))
    elif name in KEEPS and on is not None:
        ranged = call.args[0] if name == "select" and call.args else None
        if not (whole and isinstance(ranged, ast.Call) and len(ranged.args) > 1 and program.const(ranged.args[0]) != 0):
            yield from _rows(program, on, deep - 1, whole, calls)
    elif name in SAME and call.args:
        yield from _rows(program, call.args[0], deep - 1, whole, calls)


def _of_parameter(program: Program, found: Binding, name: str, deep: int, whole: bool,
                  calls: tuple[ast.Call, ...]) -> Iterator[Root]:  # fmt: skip
    mine = [c for c in calls if program.function(c) is found.node]
    callers = mine[-1:] or [c for c in program.callers(found.node) if program.scope(c) is not found.node][:4]
    deep = deep - 1 if len(callers) < 2 else max(deep - 4, 1)
    if not callers:
        yield (found.node, name), name
    for call in callers:
        for own, value in passed(found.node, call):
            if own == name:
                yield from _rows(program, value, deep, whole, calls[: calls.index(call)] if call in calls else ())
