"""Rules on what is kept of a model: the best weights, the newest file, the names of the weights."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ....patterns import bounded
from ...patch import instead
from ...program import Binding, Program, argument, key, last, receiver
from ...roles import KEEPS
from ...source import walk
from ..look import source
from ..meaning.ways import constructor, given, made, whole
from ..rule import Fault, View, rule

WRAPPERS = ("DistributedDataParallel", "DDP", "DataParallel")


CHECKPOINT = re.compile(r"check_?points?|ckpt|step|epoch|iter|global_step|model[-_]", re.I)


PADDED = bounded(r":0\d{0,3}d?\}|:0>\d|zfill|%0\d|rjust")


@rule("best-weights-not-copied", "S1", "checkpoint-regression", "state_dict",
      bad="""
      best, best_state = 1e9, None
      for epoch in range(10):
          train_one(model, loader, optimizer)
          loss = evaluate(model, val_loader)
          if loss < best:
              best, best_state = loss, model.state_dict()
      model.load_state_dict(best_state)
      """,
      good="""
      best, best_state = 1e9, None
      for epoch in range(10):
          train_one(model, loader, optimizer)
          loss = evaluate(model, val_loader)
          if loss < best:
              best, best_state = loss, copy.deepcopy(model.state_dict())
      model.load_state_dict(best_state)
      """)  # fmt: skip
def best_weights_not_copied(view: View) -> Iterator[Fault]:
    """The best weights are kept as the live ones, not as a copy.

    Why: a state dict refers to the weights, which go on training: what is restored as the best is the last.
    """
    program = view.program
    yield from _written_beside(view)
    for scoped in program.bound.values():
        for name, bindings in scoped.items():
            for binding in bindings:
                value = _shallow(program, binding.value)
                live = (
                    binding.how == "assign"
                    and binding.part is None
                    and isinstance(value, ast.Call)
                    and last(program.path(value.func)) == "state_dict"
                )
                kept = re.search(
                    r"best|backup|saved|snapshot|initial|init_state|original|start", name, re.I
                ) or _if_better(program, binding.node)
                if live and kept and isinstance(value, ast.Call) and _model(view, value) and (
                    _restored(program, name, binding) or _kept_for_later(program, name, binding.node)):  # fmt: skip
                    yield Fault(value, f"`{name}` refers to the live weights, which go on training", f"`{name}` 指向仍在训练的权重，而不是副本",
                                (instead(binding.value or value, f"{{k: v.clone() for k, v in {source(program, value)}.items()}}"),))  # fmt: skip


def _written_beside(view: View) -> Iterator[Fault]:
    """Live weights that a thread writes while the training goes on."""
    program = view.program
    for call in program.find("Thread", "submit", "apply_async"):
        given = [n for a in (*call.args, *(k.value for k in call.keywords)) for n in walk(a)]
        if not any(last(program.path(n)) == "save" for n in given if isinstance(n, ast.Attribute)):
            continue
        for value in given:
            made = program.origin(value, inside=False) if isinstance(value, (ast.Name, ast.Call)) else None
            live = isinstance(made, ast.Call) and last(program.path(made.func)) == "state_dict"
            if isinstance(made, ast.Call) and live and _model(view, made):
                yield Fault(made, "a thread writes the live weights while they are trained on: the file holds some of each step",
                            "线程写出的是仍在训练的权重：文件里混有不同步的参数", beside=(call,))  # fmt: skip
                break


def _if_better(program: Program, node: ast.AST) -> bool:
    """Whether a line is run where a figure is better than the one that is then set to it."""
    for test, side, branch in program.guards(node):
        compared = [test.left, *test.comparators] if isinstance(test, ast.Compare) else []
        ordered = side and compared and isinstance(test.ops[0], (ast.Lt, ast.Gt, ast.LtE, ast.GtE))  # type: ignore[attr-defined]
        names = {key(c) for c in compared} - {""}
        written = {key(t) for s in branch.body if isinstance(s, ast.Assign) for t in walk(s.targets[0])}
        if ordered and names & written:
            return True
    return False


def _model(view: View, call: ast.Call) -> bool:
    on = receiver(call)
    return on is not None and view.roles.of(on) not in ("optimizer", "scheduler", "scaler", "loader", "sampler")


def _shallow(program: Program, value: ast.expr | None) -> ast.expr | None:
    """What a new dictionary of the same tensors is made of: `x.copy()`, `dict(x)`, `copy.copy(x)`."""
    if isinstance(value, ast.Call) and program.path(value.func) in ("dict", "copy.copy", "collections.OrderedDict"):
        return value.args[0] if len(value.args) == 1 and not value.keywords else value
    copied = isinstance(value, ast.Call) and not value.args and last(program.path(value.func)) == "copy"
    return receiver(value) if copied and isinstance(value, ast.Call) else value


def _restored(program: Program, name: str, kept: Binding) -> bool:
    """Whether weights are loaded from the name again, and it is set in a loop or before one."""
    for call in program.find("load_state_dict"):
        field = program.binding(call.args[0]) if call.args else None
        if call.args and (key(call.args[0]) == name or (field is not None and field.value is kept.value)):
            return not re.search(
                rf"{re.escape(name)}\s{{0,4}}=\s{{0,4}}[^\n]{{0,40}}(deepcopy|clone)", whole(program, kept.node)
            )
    return False


def _kept_for_later(program: Program, name: str, node: ast.AST) -> bool:
    """Whether what a name holds is written or given back once the loop is over in which it was kept."""
    loops = program.loops(node)
    if not loops or re.search(
        rf"{re.escape(name)}\s{{0,4}}=\s{{0,4}}[^\n]{{0,40}}(deepcopy|clone)", whole(program, node)
    ):
        return False
    end = getattr(loops[-1], "end_lineno", 0) or 0
    uses = [n for n in program.within(program.scope(node), ast.Name, ast.Attribute) if key(n) == name]
    later = [n for n in uses if isinstance(n.ctx, ast.Load) and n.lineno > end]
    for use in later:
        for above in program.up(use):
            if isinstance(above, ast.Return) or (
                isinstance(above, ast.Call) and last(program.path(above.func)) in ("save", "save_file", "dump")
            ):
                return True
            if isinstance(above, ast.stmt):
                break
    return False


@rule("checkpoints-sorted-as-text", "S2", "checkpoint-regression", "sorted( .sort( max(",
      bad="""
      import torch
      def latest(folder):
          return sorted(glob.glob(os.path.join(folder, "checkpoint-*")))[-1]
      """,
      good=("""
      import torch
      def latest(folder):
          return sorted(glob.glob(os.path.join(folder, "checkpoint-*")), key=lambda p: int(p.rsplit("-", 1)[1]))[-1]
      """, """
      import torch
      def latest(folder):
          return sorted(glob.glob(os.path.join(folder, "shard-*")))
      """))  # fmt: skip
def checkpoints_sorted_as_text(view: View) -> Iterator[Fault]:
    """Checkpoints are put in order by the text of their names.

    Why: `step-10000` stands before `step-9000`: the wrong one is resumed from, or the newest are deleted.
    """
    program = view.program
    if PADDED.search(program.text):
        return
    for call in program.find("sorted", "max", "sort"):
        method = isinstance(call.func, ast.Attribute)
        if _by_number(program, argument(call, "key")) or (last(program.path(call.func)) == "sort") is not method:
            continue
        value = receiver(call) if method else call.args[0] if len(call.args) == 1 else None
        made = program.origin(value) if isinstance(value, ast.Name) else value
        value = made if argument(call, "key") is not None else value
        if value is None or isinstance(getattr(made, "elt", None), ast.Tuple) or not _listed(program, value):
            continue
        whose = key(value) if method else _name(program, call)
        if last(program.path(call.func)) == "max" or isinstance(program.parent.get(call), ast.Subscript) or _ends(program, call, whose):  # fmt: skip
            yield Fault(call, "checkpoints are put in order by text: step-10000 comes before step-9000",
                        "检查点按文本排序：step-10000 会排在 step-9000 之前")  # fmt: skip


def _by_number(program: Program, how: ast.expr | None) -> bool:
    """Whether things are put in order by anything but their own text or name."""
    if how is None or key(how) == "str":
        return False
    body = how.body if isinstance(how, ast.Lambda) else None
    own = how.args.args[0].arg if isinstance(how, ast.Lambda) and how.args.args else ""
    text = isinstance(body, ast.Attribute) and body.attr in ("name", "stem") and key(body.value) == own
    return not text and not (isinstance(body, ast.Call) and key(body.func) == "str")


def _name(program: Program, call: ast.Call) -> str:
    statement = program.statement(call)
    return key(statement.targets[0]) if isinstance(statement, ast.Assign) and statement.value is call else ""


def _listed(program: Program, expr: ast.expr) -> bool:
    """Whether a value is a listing of checkpoints: a pattern, or names that a program writes itself."""
    for node in program.traced(expr, 3):
        if not isinstance(node, ast.Call) or last(program.path(node.func)) not in (
            "glob",
            "listdir",
            "iterdir",
            "rglob",
        ):
            continue
        words = " ".join(
            str(n.value)
            for a in (expr, program.origin(expr), *node.args)
            for n in walk(a)
            if isinstance(n, ast.Constant) and isinstance(n.value, str)
        )
        folder = " ".join(key(n) for a in node.args for n in walk(a))
        if CHECKPOINT.search(words) or (not words and re.search(r"check_?point|ckpt", folder, re.I)):
            return not re.search(r"\d{4}|%Y|rank|shard", words)
    return False


def _ends(program: Program, call: ast.Call, name: str) -> bool:
    """Whether an end of the list is what is used."""
    own = re.escape(name)
    return (
        bool(name)
        and re.search(
            rf"(?<![\w.]){own}\[\s{{0,4}}:?\s{{0,4}}-|(?<![\w.]){own}\.pop\(|(?<![\w.]){own}\[-1\]|(?<![\w.]){own}\[0\]",
            whole(program, call),
        )
        is not None
    )


@rule("wrapped-weights-not-matched", "S1", "checkpoint-load-failure", "strict",
      bad="""
      def train():
          model = DistributedDataParallel(Net().cuda())
          torch.save({"model": model.state_dict()}, "last.pt")
      def predict():
          net = Net()
          net.load_state_dict(torch.load("last.pt")["model"], strict=False)
      """,
      good="""
      def train():
          model = DistributedDataParallel(Net().cuda())
          torch.save({"model": model.module.state_dict()}, "last.pt")
      def predict():
          net = Net()
          net.load_state_dict(torch.load("last.pt")["model"], strict=False)
      """)  # fmt: skip
def wrapped_weights_not_matched(view: View) -> Iterator[Fault]:
    """Weights of a wrapped model are loaded into a bare one with `strict=False`.

    Why: every name begins with `module.`, none matches, and the model stays as it was initialised, without a word.
    """
    program = view.program
    if "load_state_dict" not in program.calls or re.search(
        r"['\"]module\.['\"]|consume_prefix|removeprefix|_orig_mod|\.module\.state_dict|len\(['\"]module", program.text
    ):
        return
    saved = [c for c in program.find("state_dict") if last(constructor(view, receiver(c))) in (*WRAPPERS, "compile")]
    inner = [m.args[0] for c in saved if (m := made(view, receiver(c))) is not None and m.args]
    kinds = {constructor(view, i) for i in inner} - {""}
    for call in program.find("load_state_dict") if saved else ():
        loose = given(view, call, "strict")[1] is False or (len(call.args) > 1 and program.const(call.args[1]) is False)
        built = made(view, receiver(call))
        bare = built is not None and last(program.path(built.func)) not in WRAPPERS and (
            view.roles.of(built) == "model" or program.path(built.func) in kinds)  # fmt: skip
        if loose and bare and program.scope(call) is not program.scope(saved[0]):
            yield Fault(call, "names of wrapped weights match none of a bare model, and `strict=False` says nothing",
                        "包装模型的权重名与裸模型全不匹配，`strict=False` 又不报错", beside=(saved[0],))  # fmt: skip


@rule("mismatches-unread", "S3", "checkpoint-load-failure", "load_state_dict",
      bad="""
      import torch
      model.load_state_dict(torch.load(path), strict=False)
      """,
      good="""
      import torch
      missing, unexpected = model.load_state_dict(torch.load(path), strict=False)
      assert not unexpected, unexpected
      """)  # fmt: skip
def mismatches_unread(view: View) -> Iterator[Fault]:
    """Weights are loaded with `strict=False`, and nobody reads what did not match.

    Why: a renamed layer stays as it was initialised, and nothing says so.
    """
    program = view.program
    for call in program.find("load_state_dict"):
        loose = given(view, call, "strict")[1] is False or (len(call.args) > 1 and program.const(call.args[1]) is False)
        if (
            loose
            and _unread(program, call)
            and not re.search(r"lora|adapter|peft|ema|missing_keys", program.text, re.I)
        ):
            wrapped = re.search(r"(\b|_)ddp(\b|_)|DistributedDataParallel", program.text, re.I) and not view.distributed
            bare = wrapped and not re.search(r"[\"']module|consume_prefix|removeprefix", program.text)
            yield Fault(call, "nobody reads which weights did not match", "没有人检查哪些权重没有匹配",
                        severity="S2" if bare else "")  # fmt: skip


def _unread(program: Program, call: ast.Call) -> bool:
    """Whether nothing reads what a call gives back: it is given to no name, or to names that nothing asks for."""
    above = program.parent.get(call)
    if not isinstance(above, ast.Assign):
        return isinstance(above, ast.Expr)
    names = {n.id for t in above.targets for n in walk(t) if isinstance(n, ast.Name)}
    plain = all(isinstance(n, (ast.Name, ast.Tuple, ast.Store)) for t in above.targets for n in walk(t))
    asked = (n for n in program.within(program.scope(call), ast.Name) if n.id in names)
    return plain and not any(isinstance(n.ctx, ast.Load) for n in asked)


@rule("copy-is-the-original", "S1", "silent-degradation", "_ema_ target teacher",
      bad="""
      model = Net()
      ema_model = model
      for batch in loader:
          loss = model(batch).mean()
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          for p, q in zip(ema_model.parameters(), model.parameters()):
              p.data.lerp_(q.data, 0.001)
      """,
      good="""
      model = Net()
      ema_model = copy.deepcopy(model)
      for batch in loader:
          loss = model(batch).mean()
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          for p, q in zip(ema_model.parameters(), model.parameters()):
              p.data.lerp_(q.data, 0.001)
      """)  # fmt: skip
def copy_is_the_original(view: View) -> Iterator[Fault]:
    """An average, target or teacher is another name of the model itself.

    Why: it follows every step: there is nothing to average and no target that stands still.
    """
    program = view.program
    for node in program.each(ast.Assign):
        named = node.value
        while isinstance(named, ast.Call) and isinstance(named.func, ast.Attribute) and named.func.attr in KEEPS:
            named = named.func.value  # of a module these give back the module itself
        if not isinstance(named, (ast.Name, ast.Attribute)):
            continue
        name, value = key(node.targets[0]), key(named)
        wanted = re.search(
            r"(^|_|\.)(ema|ema_model|target_net|target_network|target_model|q_target|target_q|target_critic|target_actor|teacher|teacher_model|shadow|swa_model)$",
            name,
        )
        alike = re.search(r"ema|target|teacher|shadow|copy|swa|avg", last(value), re.I)
        plain = view.roles.of(named) == "model" and isinstance(made(view, named), ast.Call)
        if wanted and not alike and plain and name != value and not program.guards(node):
            others = [b for b in program.bindings(node.targets[0]) if b.node is not node]
            if not others:
                yield Fault(node, f"`{name}` is another name of `{value}`, not a copy", f"`{name}` 只是 `{value}` 的另一个名字，不是副本",
                            (instead(named, f"copy.deepcopy({value})"),) if re.search(r"^import copy", program.text, re.M) else ())  # fmt: skip
