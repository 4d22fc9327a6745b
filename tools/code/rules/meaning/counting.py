"""Rules on what is counted and divided: figures by batches, best values that nothing beats, boundaries turned round."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ..look import source
from ..rule import Fault, View, rule
from .ways import constructor, returns, whole

COUNTS = re.compile(r"(^|_)(correct|right|hits?|n_correct|num_correct|ok|good|tp)(_\w{1,12})?$", re.I)
RATIOS = (
    "f1_score",
    "roc_auc_score",
    "average_precision_score",
    "precision_score",
    "recall_score",
    "corpus_bleu",
    "matthews_corrcoef",
    "r2_score",
    "pearsonr",
    "spearmanr",
)


@rule("count-divided-by-batches", "S1", "eval-harness-drift", "len(",
      bad="""
      correct = 0
      for x, y in val_loader:
          correct += (model(x).argmax(dim=1) == y).sum().item()
      print("accuracy", correct / len(val_loader))
      import torch
      """,
      good="""
      correct = 0
      for x, y in val_loader:
          correct += (model(x).argmax(dim=1) == y).sum().item()
      print("accuracy", correct / len(val_loader.dataset))
      import torch
      """)  # fmt: skip
def count_divided_by_batches(view: View) -> Iterator[Fault]:
    """Right answers are counted one by one and divided by the number of batches.

    Why: the accuracy is too high by the batch size.
    """
    program = view.program
    for node in program.nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div) or not isinstance(node.right, ast.Call):
            continue
        call = node.right
        if program.path(call.func) != "len" or len(call.args) != 1 or view.roles.of(call.args[0]) != "loader":
            continue
        name = node.left
        added = [b for b in program.bindings(name) if b.how == "augment" and b.value is not None] if key(name) else []
        sums = [b for b in added if isinstance(b.value, ast.Call) and _counted(program, b.value)]
        above = program.parent.get(node)
        again = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Div)
        one = re.search(r"batch_size\s{0,4}=\s{0,4}1\b", program.text)
        if sums and len(sums) == len(added) and not again and not one:
            yield Fault(node, f"`{key(name)}` counts items and is divided by the number of batches", f"`{key(name)}` 按样本计数，却除以批次数",
                        (instead(call.args[0], f"{source(program, call.args[0])}.dataset"),) if constructor(view, call.args[0]).endswith("DataLoader") else (), beside=(sums[0].node,))  # fmt: skip


def _counted(program: Program, value: ast.expr) -> bool:
    """`(predicted == y).sum().item()`."""
    names = [last(program.path(n.func)) for n in ast.walk(value) if isinstance(n, ast.Call)]
    return (
        "sum" in names
        and any(isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Eq) for n in ast.walk(value))
        and not {"mean", "len", "size"} & set(names)
        and not any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in ast.walk(value))
    )


@rule("ratio-averaged-over-batches", "S2", "eval-harness-drift", "f1_score roc_auc_score precision_score recall_score average_precision_score corpus_bleu matthews_corrcoef spearmanr pearsonr r2_score",
      bad="""
      scores = []
      for x, y in val_loader:
          scores.append(f1_score(y, model(x).argmax(dim=1), average="macro"))
      print("F1", sum(scores) / len(scores))
      import torch
      """,
      good="""
      wanted, given = [], []
      for x, y in val_loader:
          wanted += y.tolist()
          given += model(x).argmax(dim=1).tolist()
      print("F1", f1_score(wanted, given, average="macro"))
      import torch
      """)  # fmt: skip
def ratio_averaged_over_batches(view: View) -> Iterator[Fault]:
    """A figure that is no mean over items is computed for each batch and averaged.

    Why: the F1, AUC or BLEU of a batch is of a few items; their mean is not the figure of all.
    """
    program = view.program
    for call in program.find(*RATIOS):
        loops = [x for x in program.loops(call) if isinstance(x, ast.For)]
        if not loops or not _over_batches(view, loops[0]):
            continue
        for node in ast.walk(loops[0]):
            into = ""
            if isinstance(node, ast.AugAssign) and call in set(ast.walk(node.value)):
                into = key(node.target)
            elif (
                isinstance(node, ast.Call)
                and last(program.path(node.func)) == "append"
                and node.args
                and call in set(ast.walk(node.args[0]))
            ):
                into = key(receiver(node))
            text = whole(program, call)
            if (
                into
                and re.search(
                    rf"{re.escape(into)}\s{{0,4}}/|sum\({re.escape(into)}\)\s{{0,4}}/|mean\({re.escape(into)}\)", text
                )
                and "fold" not in program.code(loops[0].target)
            ):
                yield Fault(
                    call,
                    f"`{last(program.path(call.func))}` of each batch is averaged: it is no mean over items",
                    f"对每个批次的 `{last(program.path(call.func))}` 取平均：它不是逐样本均值",
                )
                break


def _over_batches(view: View, loop: ast.For) -> bool:
    inner = loop.iter
    while (
        isinstance(inner, ast.Call)
        and inner.args
        and last(view.program.path(inner.func)) in ("enumerate", "tqdm", "track")
    ):
        inner = inner.args[0]
    return view.roles.of(inner) == "loader"


@rule("best-never-beaten", "S1", "checkpoint-regression", "best",
      bad="""
      best_loss = 0.0
      for epoch in range(10):
          loss = evaluate(model, val_loader)
          if loss < best_loss:
              best_loss = loss
              torch.save(model.state_dict(), "best.pt")
      """,
      good="""
      best_loss = float("inf")
      for epoch in range(10):
          loss = evaluate(model, val_loader)
          if loss < best_loss:
              best_loss = loss
              torch.save(model.state_dict(), "best.pt")
      """)  # fmt: skip
def best_never_beaten(view: View) -> Iterator[Fault]:
    """The best value begins where nothing can beat it, or is compared the wrong way round.

    Why: nothing is saved, or the worst; training stops early, or never.
    """
    program = view.program
    for node in (n for n in program.nodes if isinstance(n, ast.If)):
        test = (
            node.test.values[0]
            if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
            else node.test
        )
        if (
            not isinstance(test, ast.Compare)
            or len(test.ops) != 1
            or not isinstance(test.ops[0], (ast.Lt, ast.Gt, ast.LtE, ast.GtE))
        ):
            continue
        left, right = test.left, test.comparators[0]
        less = isinstance(test.ops[0], (ast.Lt, ast.LtE))
        value, best, smaller = (left, right, less) if "best" in last(key(right)) else (right, left, not less)
        if "best" not in last(key(best)) or not key(value):
            continue
        own = [
            b
            for b in ast.walk(node)
            if isinstance(b, ast.Assign)
            and any(key(t) == key(best) for x in b.targets for t in (x.elts if isinstance(x, ast.Tuple) else [x]))
        ]
        start = [
            b.value
            for b in program.bindings(best)
            if b.how == "assign" and b.part is None and b.node not in own and b.value is not None
        ]
        if not own or len(start) != 1:
            continue
        number = program.const(start[0])
        text = program.code(start[0])
        low = number in (0, 0.0, -1, -1.0) or re.fullmatch(
            r"-\s{0,4}(float\(['\"]inf['\"]\)|math\.inf|np\.inf|torch\.inf)|float\(['\"]-inf['\"]\)", text
        )
        high = (isinstance(number, (int, float)) and number >= 100) or re.fullmatch(
            r"float\(['\"]\+?inf(inity)?['\"]\)|math\.inf|np\.inf|torch\.inf", text
        )
        loss = re.search(r"loss|ppl|perplexity|nll|error|mae|rmse|wer", key(value) + key(best), re.I)
        if (smaller and low and loss) or (not smaller and high):
            yield Fault(
                test,
                f"`{key(best)}` begins at `{text}`, which nothing beats",
                f"`{key(best)}` 从 `{text}` 开始，永远不会被超过",
                beside=(start[0],),
            )


@rule("boundary-turned-round", "S1", "grad-accum-loss-scaling", "%",
      bad="""
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / accum
          loss.backward()
          if (i + 1) % accum:
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / accum
          loss.backward()
          if (i + 1) % accum == 0:
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def boundary_turned_round(view: View) -> Iterator[Fault]:
    """The optimizer steps on every pass but the last of each group.

    Why: the remainder is true where it is not zero: it is the other way round than meant.
    """
    program = view.program
    for training in view.trainings:
        for step in training.of("step"):
            for test, positive in step.guards:
                bare = isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod) and positive
                unequal = (
                    isinstance(test, ast.Compare)
                    and isinstance(test.left, ast.BinOp)
                    and isinstance(test.left.op, ast.Mod)
                    and isinstance(test.ops[0], ast.NotEq)
                    and program.const(test.comparators[0]) == 0
                    and positive
                )
                if (bare or unequal) and not any(
                    key(s.on) == key(step.on) and (test, positive) not in s.guards for s in training.of("step")
                ):
                    yield Fault(test, "the step is made where the remainder is not zero: on all passes but the last of a group", "余数不为零时才更新：与累积边界正好相反",
                                (instead(test, f"{source(program, test)} == 0"),) if bare else (), beside=(step.node,))  # fmt: skip


@rule("counted-from-one-twice", "S2", "grad-accum-loss-scaling", "enumerate",
      bad="""
      for i, batch in enumerate(loader, 1):
          loss = model(**batch).loss / accum
          loss.backward()
          if (i + 1) % accum == 0:
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      for i, batch in enumerate(loader, 1):
          loss = model(**batch).loss / accum
          loss.backward()
          if i % accum == 0:
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def counted_from_one_twice(view: View) -> Iterator[Fault]:
    """A counter that begins at 1 gets another 1 where groups end.

    Why: the first group is one pass short, and the last pass is left over.
    """
    program = view.program
    for training in view.trainings:
        found = training.accumulation
        left = found.left if found is not None else None
        if (
            isinstance(left, ast.BinOp)
            and isinstance(left.op, ast.Add)
            and program.const(left.right) == 1
            and isinstance(training.node, ast.For)
        ):
            call = training.node.iter
            begun = (
                argument(call, "start", 1)
                if isinstance(call, ast.Call) and last(program.path(call.func)) == "enumerate"
                else None
            )
            if (
                begun is not None
                and program.const(begun) == 1
                and key(left.left) in {key(n) for n in ast.walk(training.node.target)}
            ):
                yield Fault(
                    left,
                    "the counter begins at 1 and gets another 1",
                    "计数已从 1 开始，又加了 1",
                    (instead(left, source(program, left.left)),),
                    beside=(call,),
                )


@rule("gradient-read-after-clearing", "S2", "insufficient-logging", "grad",
      bad="""
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          norm = sum(p.grad.norm() for p in model.parameters() if p.grad is not None)
      """,
      good="""
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          norm = sum(p.grad.norm() for p in model.parameters() if p.grad is not None)
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def gradient_read_after_clearing(view: View) -> Iterator[Fault]:
    """Gradients are measured once they are cleared.

    Why: the norm that is logged is always zero, or nothing.
    """
    program = view.program
    for training in view.trainings:
        events = training.events
        zeros = [i for i, e in enumerate(events) if e.kind == "zero" and not e.loops]
        backs = [i for i, e in enumerate(events) if e.kind == "backward"]
        if len(zeros) != 1 or not backs or zeros[0] < max(backs):
            continue
        for event in events[zeros[0] + 1 :]:
            node = event.node
            text = program.code(node, 400)
            read = event.kind in ("call", "assign", "clip") and re.search(
                r"\.grad\.(\w{1,20}\.)?(norm|pow|abs|detach|data)|clip_grad_norm_|get_grad_norm|grad_norm\(", text
            )
            if (
                read
                and not re.search(r"\.grad\s{0,4}=(?!=)", text)
                and events[zeros[0]].guards == event.guards[: len(events[zeros[0]].guards)]
            ):
                yield Fault(
                    node,
                    "gradients are read behind the line that clears them",
                    "在清零之后才读取梯度",
                    beside=(events[zeros[0]].node,),
                )
                break


@rule("factor-is-the-rate", "S1", "lr-schedule-misconfig", "LambdaLR",
      bad="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
      schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 3e-4 * min(1.0, step / 100))
      """,
      good="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
      schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 100))
      """)  # fmt: skip
def factor_is_the_rate(view: View) -> Iterator[Fault]:
    """A schedule returns a learning rate where a factor of it is meant.

    Why: `LambdaLR` multiplies the optimizer's rate by it: the rate is squared, and next to nothing.
    """
    program = view.program
    for call in program.find("LambdaLR"):
        given = argument(call, "lr_lambda", 1)
        function = program.functions.get(given.id, [None])[0] if isinstance(given, ast.Name) else None
        ends = [given.body] if isinstance(given, ast.Lambda) else returns(function) if function is not None else []
        optimizer = program.origin(call.args[0]) if call.args else None
        rate = argument(optimizer, "lr") if isinstance(optimizer, ast.Call) else None
        if rate is None or not ends:
            continue
        unit = program.const(rate) == 1 or program.const(rate) == 1.0
        for end in ends:
            sides = [end.left, end.right] if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Mult) else []
            same = any(
                (key(s) and key(s) == key(rate))
                or (isinstance(v := program.const(s), float) and v == program.const(rate))
                for s in sides
            )
            if same and not unit:
                yield Fault(
                    end,
                    "the factor holds the rate itself: the rate is multiplied twice",
                    "系数里又乘了学习率：学习率被乘了两次",
                    beside=(call,),
                )
                break


@rule("warmup-by-whole-numbers", "S1", "lr-schedule-misconfig", "warm",
      bad="""
      def factor(step):
          if step < warmup_steps:
              return step // warmup_steps
          return 1.0
      schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
      """,
      good="""
      def factor(step):
          if step < warmup_steps:
              return step / warmup_steps
          return 1.0
      schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
      """)  # fmt: skip
def warmup_by_whole_numbers(view: View) -> Iterator[Fault]:
    """A warm-up divides in whole numbers.

    Why: the rate is zero until the end of the warm-up, and full at once.
    """
    program = view.program
    for node in program.nodes:
        if (
            not isinstance(node, ast.BinOp)
            or not isinstance(node.op, ast.FloorDiv)
            or not re.search(r"warm", program.code(node.right), re.I)
        ):
            continue
        scope = program.scope(node)
        returned = any(
            n is node for v in (returns(scope) if isinstance(scope, FUNCTIONS) else []) for n in ast.walk(v)
        ) or any(isinstance(a, ast.Lambda) for a in program.up(node))
        scaled = isinstance(program.parent.get(node), ast.BinOp) and re.search(
            r"lr|rate", program.code(program.parent[node])
        )
        if (
            (returned or scaled)
            and re.search(r"step|it\b|epoch|iter", program.code(node.left))
            and isinstance(node.left, (ast.Name, ast.Attribute, ast.BinOp))
        ):
            yield Fault(node, "the warm-up divides in whole numbers: the rate stays zero until its end", "预热用了整除：学习率在结束前一直是零",
                        (instead(node, f"{source(program, node.left)} / {source(program, node.right)}"),))  # fmt: skip


@rule("epoch-trained-again", "S2", "resume-loss-jump", "epoch",
      bad="""
      start = 0
      if resume:
          state = torch.load("last.pt")
          model.load_state_dict(state["model"])
          optimizer.load_state_dict(state["optimizer"])
          start = state["epoch"]
      for epoch in range(start, 10):
          train_one(model, loader, optimizer)
          torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "last.pt")
      """,
      good="""
      start = 0
      if resume:
          state = torch.load("last.pt")
          model.load_state_dict(state["model"])
          optimizer.load_state_dict(state["optimizer"])
          start = state["epoch"] + 1
      for epoch in range(start, 10):
          train_one(model, loader, optimizer)
          torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "last.pt")
      """)  # fmt: skip
def epoch_trained_again(view: View) -> Iterator[Fault]:
    """A run goes on with the epoch that it has finished.

    Why: its data are trained on twice, and the schedule is an epoch behind.
    """
    program = view.program
    for loop in (n for n in program.nodes if isinstance(n, ast.For) and isinstance(n.iter, ast.Call)):
        call = loop.iter
        name = key(loop.target)
        if (
            not name
            or program.path(call.func) != "range"
            or len(call.args) < 2
            or ("epoch" not in name and name != "ep")
        ):  # type: ignore[attr-defined]
            continue
        saved = [
            n
            for n in ast.walk(loop)
            if isinstance(n, ast.Dict)
            for k, v in zip(n.keys, n.values, strict=True)
            if isinstance(k, ast.Constant) and "epoch" in str(k.value) and key(v) == name
        ]
        start = call.args[0]  # type: ignore[attr-defined]
        values = [b.value for b in program.bindings(start) if b.value is not None] if key(start) else [start]
        for value in values:
            loaded = (
                isinstance(value, ast.Subscript)
                and isinstance(value.slice, ast.Constant)
                and "epoch" in str(value.slice.value)
            )
            if (
                saved
                and loaded
                and program.loops(saved[0])[:1] == [loop]
                and not re.search(r"start\s{0,4}\+=\s{0,4}1|epoch\s{0,4}\+\s{0,4}1", program.code(loop, 8000))
            ):
                yield Fault(
                    value,
                    f"`{name}` is saved when it is done, and the run goes on with the same",
                    f"保存的 `{name}` 已经完成，恢复后又重新训练它",
                    beside=(saved[0],),
                )
                break


@rule("saved-part-has-another-name", "S1", "checkpoint-load-failure", "torch.save",
      bad="""
      torch.save({"model": model.state_dict(), "optim": optimizer.state_dict()}, "last.pt")
      state = torch.load("last.pt")
      model.load_state_dict(state["model"])
      optimizer.load_state_dict(state["optimizer"])
      """,
      good="""
      torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
      state = torch.load("last.pt")
      model.load_state_dict(state["model"])
      optimizer.load_state_dict(state["optimizer"])
      """)  # fmt: skip
def saved_part_has_another_name(view: View) -> Iterator[Fault]:
    """A checkpoint is read by a name under which nothing is saved.

    Why: the run cannot be resumed: what raises is found out after the first crash.
    """
    program = view.program
    saved: set[str] = set()
    paths: set[str] = set()
    for call in program.find("save"):
        if program.path(call.func) != "torch.save" or len(call.args) < 2:
            continue
        value = program.origin(call.args[0])
        if not isinstance(value, ast.Dict) or any(not isinstance(k, ast.Constant) for k in value.keys):
            return
        name = key(call.args[0])
        if name and re.search(rf"{re.escape(name)}\[|{re.escape(name)}\.update", program.text):
            return
        saved |= {str(k.value) for k in value.keys if isinstance(k, ast.Constant)}
        paths.add(program.code(program.origin(call.args[1])))
    for node in program.nodes:
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ):
            made = program.origin(node.value)
            if (
                saved
                and isinstance(made, ast.Call)
                and program.path(made.func) == "torch.load"
                and made.args
                and program.code(program.origin(made.args[0])) in paths
                and node.slice.value not in saved
            ):
                tried = (
                    any(isinstance(a, ast.Try) for a in program.up(node))
                    or f"{node.slice.value!r} in" in program.text
                    or f'"{node.slice.value}" in' in program.text
                )
                if not tried:
                    yield Fault(
                        node, f"nothing is saved as `{node.slice.value}`", f"检查点里没有保存 `{node.slice.value}`"
                    )
