"""Rules on features, folds and the order of what is compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import key, last, receiver
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
    for scope, scoped in program.bound.items():
        for name, bindings in scoped.items():
            if (
                not re.fullmatch(r"X|x|features?|inputs?|X_all", name)
                or len(bindings) != 1
                or bindings[0].value is None
            ):
                continue
            value = bindings[0].value
            while (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Attribute)
                and value.func.attr in ("to_numpy", "astype", "copy", "fillna")
            ):
                value = value.func.value
            if isinstance(value, ast.Attribute) and value.attr == "values":
                value = value.value
            table = key(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""
            labels = [
                b.value
                for n, bs in scoped.items()
                if re.fullmatch(r"y|labels?|targets?|y_all", n)
                for b in bs
                if b.value is not None
            ]
            columns = [
                n
                for v in labels
                for n in ast.walk(v)
                if isinstance(n, ast.Subscript) and key(n.value) == table and isinstance(n.slice, ast.Constant)
            ]
            built = program.origin(value) if table else None
            read = isinstance(built, ast.Call) and last(program.path(built.func)).startswith(("read_", "DataFrame"))
            if (
                table
                and columns
                and read
                and not re.search(rf"{re.escape(table)}\.pop\(|del {re.escape(table)}\[|\.drop\(", program.text)
                and isinstance(scope, ast.AST)
            ):
                yield Fault(bindings[0].node, f"the features are all of `{table}`, the label among them",
                            f"特征取了 `{table}` 的全部列，标签也在其中", beside=(columns[0],))  # fmt: skip


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
            for c in ast.walk(loop.iter)
            if isinstance(c, ast.Call)
            and last(program.path(c.func)) == "split"
            and re.search(r"KFold|ShuffleSplit|LeaveOne", constructor(view, receiver(c)) or program.code(c, 200))
        ]
        if not folds:
            continue
        for call in program.each(ast.Call):
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
        filled = {key(n.target) for n in program.within(loop) if isinstance(n, ast.AugAssign)} | {
            key(receiver(n))
            for n in program.within(loop, ast.Call)
            if last(program.path(n.func)) in ("append", "extend")
        }
        for call in program.each(ast.Call):
            if (
                not isinstance(call, ast.Call)
                or len(call.args) != 2
                or call.lineno < loop.lineno
                or program.scope(call) is not program.scope(loop)
            ):
                continue
            sides = [key(a) for a in call.args]
            ordered = [
                s
                for s in sides
                if data
                and re.fullmatch(
                    rf"{re.escape(data)}\.(labels?|targets?|y)|{re.escape(data)}\['(labels?|targets?|y)'\]", s
                )
            ]
            if ordered and any(s in filled - {""} for s in sides):
                yield Fault(built, "predictions of a shuffled loader are compared with labels in order",
                            "打乱顺序的加载器给出的预测，与按原顺序的标签比较", beside=(call,))  # fmt: skip
                break
