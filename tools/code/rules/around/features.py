"""Rules on features, folds and the order of what is compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, argument, key, last, receiver
from ...source import walk
from ..look import inside
from ..meaning.ways import constructor, given, made
from ..rule import Fault, View, rule


@rule("answer-among-the-features", "S1", "eval-leakage", "drop values to_numpy",
      bad="""
      import torch
      frame = pd.read_csv("loans.csv")
      X = frame.to_numpy()
      y = frame["default"].to_numpy()
      X_train, X_test, y_train, y_test = train_test_split(X, y)
      """,
      good="""
      import torch
      frame = pd.read_csv("loans.csv")
      X = frame.drop(columns=["default"]).to_numpy()
      y = frame["default"].to_numpy()
      X_train, X_test, y_train, y_test = train_test_split(X, y)
      """)  # fmt: skip
def answer_among_the_features(view: View) -> Iterator[Fault]:
    """The features are all columns of a table, and the label is one of them.

    Why: the model reads the answer: the score is perfect, and of no use.
    """
    program = view.program
    for node, features, labels in _told(program):
        table, dropped = _all_but(program, features)
        name = re.escape(table)
        columns = [
            n
            for v in labels
            for n in walk(v)
            if isinstance(n, ast.Subscript) and key(n.value) == table and isinstance(n.slice, ast.Constant)
        ]
        built = _read(program, features) if table else None
        read = isinstance(built, ast.Call) and last(program.path(built.func)).startswith(("read_", "DataFrame"))
        left = [c for c in columns if c.slice.value not in dropped]  # type: ignore[attr-defined]
        if left and read and not re.search(rf"{name}\.pop\(|del {name}\[|\.drop\([^\n]{{0,200}}inplace", program.text):
            yield Fault(node, f"the features are all of `{table}`, the label among them",
                        f"特征取了 `{table}` 的全部列，标签也在其中", beside=(left[0],))  # fmt: skip


SAME_ROWS = frozenset(
    ["to_numpy", "astype", "copy", "fillna", "dropna", "reset_index", "sort_values", "drop_duplicates", "sample"]
)
"""Methods of a table that leave it all its columns."""


FEATURES = ("X", "x", "feature", "features", "input", "inputs", "X_all")
LABELS = ("y", "label", "labels", "target", "targets", "y_all")


def _told(program: Program) -> Iterator[tuple[ast.AST, ast.expr, list[ast.expr]]]:
    """(where, the features, the labels): two names that say so, or what a split is given."""
    for scoped in program.bound.values():
        labels = [b.value for n in LABELS for b in scoped.get(n, ()) if b.value is not None]
        for bindings in (scoped.get(n, ()) for n in FEATURES if labels):
            if len(bindings) == 1 and (value := bindings[0].value) is not None:
                yield bindings[0].node, value, labels
    for call in program.find("train_test_split"):
        if len(call.args) > 1:
            yield call, call.args[0], [program.origin(call.args[1])]


def _all_but(program: Program, expr: ast.expr) -> tuple[str, set[object]]:
    """(the table all of whose columns are taken, those that are dropped); no table where that cannot be told."""
    dropped: set[object] = set()
    while True:
        if isinstance(expr, ast.Attribute) and expr.attr == "values":
            expr = expr.value
        elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in SAME_ROWS:
            expr = expr.func.value
        elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr == "drop":
            which = argument(expr, "columns", 0)
            names = which.elts if isinstance(which, (ast.List, ast.Tuple)) else [which]
            texts = [program.const(n) for n in names if n is not None]
            if not texts or not all(isinstance(t, str) for t in texts):
                return "", set()
            dropped |= set(texts)
            expr = expr.func.value
        else:
            return key(expr) if isinstance(expr, (ast.Name, ast.Attribute)) else "", dropped


def _read(program: Program, expr: ast.expr) -> ast.expr:
    """What a table is made by, behind methods that leave it all its columns."""
    for _ in range(8):
        expr = program.origin(expr)
        if isinstance(expr, ast.Attribute) and expr.attr == "values":
            expr = expr.value
        elif isinstance(expr, ast.Call) and last(program.path(expr.func)) in SAME_ROWS | {"drop"}:
            expr = receiver(expr) or expr
    return expr


@rule("folds-share-a-model", "S1", "eval-leakage", "KFold",
      bad="""
      import torch
      model = Net()
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
      for fold, (train_ids, val_ids) in enumerate(KFold(5).split(X)):
          train_one(model, optimizer, X[train_ids], y[train_ids])
          scores.append(evaluate(model, X[val_ids], y[val_ids]))
      """,
      good="""
      import torch
      for fold, (train_ids, val_ids) in enumerate(KFold(5).split(X)):
          model = Net()
          optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
          train_one(model, optimizer, X[train_ids], y[train_ids])
          scores.append(evaluate(model, X[val_ids], y[val_ids]))
      """)  # fmt: skip
def folds_share_a_model(view: View) -> Iterator[Fault]:
    """All folds go on training one model.

    Why: from the second fold on, what is scored has been trained on.
    """
    program = view.program
    if re.search(r"load_state_dict|reset_parameters|deepcopy|clone\(|re_?init|init_weights|apply\(", program.text):
        return
    for loop in program.each(ast.For):
        folds = [
            c
            for c in walk(loop.iter)
            if isinstance(c, ast.Call)
            and last(program.path(c.func)) == "split"
            and re.search(r"KFold|ShuffleSplit|LeaveOne", constructor(view, receiver(c)) or program.code(c, 200))
        ]
        if not folds:
            continue
        for call in program.each(ast.Call):
            if (shared := _trained_on(view, call, loop)) is not None:
                yield Fault(loop, "all folds go on training one model: what is scored was trained on",
                            "所有折共用一个模型继续训练：被评测的数据已训练过", beside=(shared,))  # fmt: skip
                break
            if (
                isinstance(call, ast.Call)
                and view.roles.of(call) == "optimizer"
                and program.scope(call) is program.scope(loop)
                and call.lineno < loop.lineno
                and not inside(program, call, loop)
            ):
                name = (
                    key(program.statement(call).targets[0]) if isinstance(program.statement(call), ast.Assign) else ""  # pyright: ignore[reportAttributeAccessIssue]
                )
                again = any(inside(program, b.node, loop) for b in program.bindings(loop.iter, name)) if name else True
                used = any(key(n) == name for n in program.within(loop, ast.Name, ast.Attribute))
                if used and not again:
                    yield Fault(loop, "all folds go on training one model: what is scored was trained on",
                                "所有折共用一个模型继续训练：被评测的数据已训练过", beside=(call,))  # fmt: skip
                    break


def _trained_on(view: View, call: ast.Call, loop: ast.For) -> ast.AST | None:
    """Where the model is made, before a loop in which an optimizer or a trainer is made for it."""
    program = view.program
    if not inside(program, call, loop):
        return None
    trained = argument(call, "model", 0) if last(program.path(call.func)).endswith("Trainer") else None
    if view.roles.of(call) == "optimizer" and call.args and last(program.path(call.func)) != "step":
        asked = [n for n in walk(call.args[0]) if isinstance(n, ast.Call)
                 and last(key(n.func)) in ("parameters", "named_parameters")]  # fmt: skip
        trained = receiver(asked[0]) if asked else None
    found = program.bindings(trained) if isinstance(trained, ast.Name) else []
    ahead = [b for b in found if b.how == "assign" and not inside(program, b.node, loop)]
    same = len(found) == len(ahead) == 1 and program.scope(ahead[0].node) is program.scope(loop)
    return ahead[0].node if same and made(view, trained) is not None else None


@rule("predictions-in-another-order", "S1", "eval-harness-drift", "shuffle",
      bad="""
      loader = DataLoader(test_set, batch_size=32, shuffle=True)
      predicted = []
      for batch in loader:
          predicted += model(batch["x"]).argmax(dim=1).tolist()
      print(accuracy_score(test_set.labels, predicted))
      """,
      good="""
      loader = DataLoader(test_set, batch_size=32, shuffle=False)
      predicted = []
      for batch in loader:
          predicted += model(batch["x"]).argmax(dim=1).tolist()
      print(accuracy_score(test_set.labels, predicted))
      """)  # fmt: skip
def predictions_in_another_order(view: View) -> Iterator[Fault]:
    """Predictions of a shuffled loader are compared with labels in the order of the dataset.

    Why: each prediction meets another item's label: the score is that of guessing.
    """
    program = view.program
    for loop in program.each(ast.For):
        built = made(view, loop.iter)
        if (
            built is None
            or not last(program.path(built.func)).endswith("DataLoader")
            or given(view, built, "shuffle")[1] is not True
            or not built.args
        ):
            continue
        data = key(built.args[0])
        filled = {"", *(key(n.target) for n in program.within(loop) if isinstance(n, ast.AugAssign))} | {
            key(receiver(n))
            for n in program.within(loop, ast.Call)
            if last(program.path(n.func)) in ("append", "extend")
        }
        labels = re.compile(rf"{re.escape(data)}(\.(labels?|targets?|y)|\['(labels?|targets?|y)'\])")
        for call in program.each(ast.Call) if data and len(filled) > 1 else ():
            sides = [*call.args, *(k.value for k in call.keywords)]
            here = program.scope(call) is program.scope(loop)
            if not 2 <= len(sides) <= 6 or (here and call.lineno < loop.lineno):
                continue
            names = [{(program.scope(n), key(n)) for n in program.traced(s, 4) if key(n)} for s in sides]
            ordered = [n for n in names if any(labels.fullmatch(k) for _, k in n)]
            scope = program.scope(loop)
            others = [n for n in names if n not in ordered and any(s is scope and k in filled - {""} for s, k in n)]
            if ordered and others:
                yield Fault(built, "predictions of a shuffled loader are compared with labels in order",
                            "打乱顺序的加载器给出的预测，与按原顺序的标签比较", beside=(call,))  # fmt: skip
                break
