"""Rules on which parameters a step moves: those that no optimizer has, those that are frozen in name only."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...patch import instead
from ...program import Program, argument, key, last, receiver
from ...running import place
from ...source import walk
from ..look import LOSS, source
from ..optimizer import TRAIN
from ..rule import Fault, View, rule

WEIGHTED = re.compile(
    r"^torch\.nn\.(Linear|Conv\w{1,20}|Embedding(Bag)?|LSTM|GRU|RNN|Bilinear|MultiheadAttention|Parameter)$"
)
"""What has weights of its own that begin at random."""
FREEZES = re.compile(r"requires_grad|freez|frozen", re.I)
PARAMETERS = ("parameters", "named_parameters")
MODULES = re.compile(r"^(transformer|bert|roberta|encoder|decoder|backbone|base|base_model|features|trunk|body|layers|"
                     r"embeddings|vision_model|text_model|text_encoder|image_encoder|vision_tower|unet|vae|model)$")  # fmt: skip
"""Parts of a model that are modules by their name."""


@rule("parameters-left-out", "S1", "loss-stagnation", "parameters()",
      bad="""
      class Net(torch.nn.Module):
          def __init__(self, body):
              super().__init__()
              self.body = body
              self.kind = torch.nn.Linear(512, 10)
              self.place = torch.nn.Linear(512, 4)
      net = Net(body)
      optimizer = torch.optim.AdamW([{"params": net.body.parameters(), "lr": 1e-5}, {"params": net.kind.parameters()}], lr=1e-3)
      """,
      good="""
      class Net(torch.nn.Module):
          def __init__(self, body):
              super().__init__()
              self.body = body
              self.kind = torch.nn.Linear(512, 10)
              self.place = torch.nn.Linear(512, 4)
      net = Net(body)
      heads = [*net.kind.parameters(), *net.place.parameters()]
      optimizer = torch.optim.AdamW([{"params": net.body.parameters(), "lr": 1e-5}, {"params": heads}], lr=1e-3)
      """)  # fmt: skip
def parameters_left_out(view: View) -> Iterator[Fault]:
    """A new layer of the model is in no group of the optimizer.

    Why: it keeps its random weights: nothing trains it, and nothing complains.
    Known gaps: a program that freezes anything is left alone, as are groups that are told apart by names.
    """
    program = view.program
    if not view.roles.modules or FREEZES.search(program.text) or "add_param_group" in program.text:
        return
    made = [c for c in program.each(ast.Call) if c.args and view.roles.of(c) == "optimizer"
            and isinstance(c.func, (ast.Name, ast.Attribute)) and program.function(c) is None]  # fmt: skip
    given = {call: _parts(view, call.args[0]) for call in made}
    for call in made:
        found = given[call]
        whole = {id(owner) for taken in given.values() for owner, part in taken if not part}
        for owner in {o for o, part in found if part}:
            named = {part for taken in given.values() for o, part in taken if o is owner}
            if id(owner) in whole or len(named) < 2:
                continue
            for name, node in _new_parts(program, owner):
                if name not in named:
                    yield Fault(call, f"`{name}` of `{owner.name}` is in no group of the optimizer: it keeps its random weights",
                                f"`{owner.name}` 的 `{name}` 不在优化器的任何一组里：始终是随机权重", beside=(node,))  # fmt: skip


def _parts(view: View, groups: ast.expr) -> set[tuple[ast.ClassDef, str]]:
    """(class of this file, which part of it) of all that an optimizer is given; an empty part for the whole."""
    program, out = view.program, set()
    for source_ in made_of(program, groups):
        node = source_.node
        asked = isinstance(node, ast.Call) and last(program.path(node.func)) in PARAMETERS
        on = receiver(node) if asked and isinstance(node, ast.Call) else node
        if not isinstance(on, (ast.Name, ast.Attribute)) or (on is not node and not asked):
            continue
        if asked and (whole := program.kind(on)) is not None:
            out.add((whole, ""))
        while isinstance(on, ast.Attribute):
            owner = program.kind(on.value) or _only_owner(view, on)
            if owner is not None and owner.name in view.roles.modules:
                out.add((owner, on.attr))
            on = on.value
    return out


def _only_owner(view: View, part: ast.Attribute) -> ast.ClassDef | None:
    """The only module of this file that has a part of this name, where the whole is a parameter of which nothing is known."""
    found = view.program.binding(view.program.origin(part.value))
    if found is None or found.how != "parameter" or view.program.callers(found.node):
        return None
    owners = [c for n, c in view.program.classes.items() if n in view.roles.modules
              and f"self.{part.attr}" in view.program.bound.get(c, {})]  # fmt: skip
    return owners[0] if len(owners) == 1 else None


def _new_parts(program: Program, owner: ast.ClassDef) -> Iterator[tuple[str, ast.AST]]:
    """The layers of a module that begin at random, and are used."""
    for name, bindings in program.bound.get(owner, {}).items():
        value = bindings[0].value
        layers = [value, *value.args] if isinstance(value, ast.Call) and _in_order(program, value) else [value]
        new = any(isinstance(c, ast.Call) and WEIGHTED.search(program.path(c.func)) for c in layers)
        if new and name.startswith("self.") and value is not None and len(bindings) == 1:
            used = sum(1 for n in walk(owner) if isinstance(n, ast.Attribute) and n.attr == name[5:])
            if used > 1 or "def forward" not in program.text:
                yield name[5:], value


def _in_order(program: Program, call: ast.Call) -> bool:
    return program.path(call.func) == "torch.nn.Sequential"


@rule("frozen-in-name-only", "S1", "catastrophic-forgetting", "requires_grad",
      bad="""
      import torch
      model = AutoModelForCausalLM.from_pretrained(name)
      for layer in model.transformer.h[:6]:
          layer.requires_grad = False
      """,
      good="""
      import torch
      model = AutoModelForCausalLM.from_pretrained(name)
      for layer in model.transformer.h[:6]:
          layer.requires_grad_(False)
      """)  # fmt: skip
def frozen_in_name_only(view: View) -> Iterator[Fault]:
    """`requires_grad` is set on a module, which has no such switch.

    Why: it is a new attribute that nobody reads: the parameters go on as they were.
    """
    program = view.program
    for node in program.each(ast.Assign):
        target = node.targets[0]
        on = target.value if isinstance(target, ast.Attribute) and target.attr == "requires_grad" else None
        if on is not None and isinstance(node.value, ast.Constant) and _is_module(view, on):
            text = f"{source(program, on)}.requires_grad_({node.value.value})"
            yield Fault(node, f"`{source(program, on)}` is a module: setting `requires_grad` on it does nothing",
                            f"`{source(program, on)}` 是模块：在它上面设置 `requires_grad` 不起作用", (instead(node, text),))  # fmt: skip


def _is_module(view: View, expr: ast.expr) -> bool:
    """Whether a value is a module: a model, a part of one by its name, or one of its layers."""
    program = view.program
    if isinstance(expr, ast.Name) and (found := program.binding(expr)) is not None and found.how == "for":
        over = found.value
        while isinstance(over, ast.Subscript):
            over = over.value
        name = last(program.path(over.func if isinstance(over, ast.Call) else over)) if over is not None else ""
        return name in ("modules", "children", "named_children", "named_modules", "layers", "blocks", "h", "layer") and (
            found.part is None or name.startswith("named"))  # fmt: skip
    if not isinstance(expr, (ast.Name, ast.Attribute)):
        return False
    root = expr
    while isinstance(root, ast.Attribute) and key(root.value) not in ("self", ""):
        root = root.value
    return view.roles.of(root) == "model" and (root is expr or bool(MODULES.search(last(key(expr)))))


@rule("betas-swapped", "S1", "loss-oscillation", "betas",
      bad="optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.999, 0.9))\n",
      good="optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.999))\n")  # fmt: skip
def betas_swapped(view: View) -> Iterator[Fault]:
    """The two betas of Adam stand in the wrong order.

    Why: the direction is averaged over a thousand steps and its size over ten: updates are late and far too large.
    """
    program = view.program
    for call in (c for c in program.each(ast.Call) if view.roles.of(c) == "optimizer"):
        given = argument(call, "betas")
        pair = program.usual(given) if given is not None else None
        values = [program.usually(e) for e in pair.elts] if isinstance(pair, ast.Tuple) else []
        first, second = values if len(values) == 2 else (None, None)
        named = [last(key(e))[-1:] for e in pair.elts] == ["2", "1"] if isinstance(pair, ast.Tuple) else False
        known = isinstance(first, float) and isinstance(second, float)
        if known and second < first and (first >= 0.99 or named) and pair is not None:  # type: ignore[operator]
            yield Fault(given or call, f"the betas are {first:g} and {second:g}: they stand in the wrong order",
                        f"betas 为 {first:g} 与 {second:g}：次序颠倒")  # fmt: skip


@rule("loss-clamped", "S2", "grad-vanishing", "clamp clip min",
      bad=TRAIN.format(inner="pass", outer="pass").replace("loss = model(**batch).loss", "loss = model(**batch).loss.clamp(max=5.0)"),
      good=TRAIN.format(inner="pass", outer="pass"))  # fmt: skip
def loss_clamped(view: View) -> Iterator[Fault]:
    """The loss itself is cut off at an upper bound before backward.

    Why: above the bound it is constant: the batches that are learned least give no gradient at all.
    """
    program = view.program
    for training in view.trainings:
        for event in training.of("backward"):
            expr = program.origin(event.on) if event.on is not None else None
            expr = _whole_of(program, expr) if expr is not None else None
            if not isinstance(expr, ast.Call) or last(program.path(expr.func)) not in BOUNDS:
                continue
            of_torch = key(receiver(expr)) == "torch"
            on = expr.args[0] if of_torch and expr.args else receiver(expr)
            most = argument(expr, "max", 1 + of_torch) or (
                expr.args[-1] if last(program.path(expr.func)) in BOUNDS[2:] and expr.args else None
            )
            if last(program.path(expr.func)) in BOUNDS[3:] and not _number(program, most):
                continue  # the smaller of two losses
            if on is not None and most is not None and (LOSS.search(last(key(on))) or _a_loss(program, on)):
                yield Fault(expr, "the loss is cut off above: what is learned least gives no gradient",
                            "loss 在上界处被截断：学得最差的样本反而没有梯度", beside=(event.node,))  # fmt: skip


BOUNDS = ("clamp", "clip", "clamp_max", "minimum", "min")
"""Calls that cut a value off above."""


def _whole_of(program: Program, expr: ast.expr) -> ast.expr:
    """What a loss is a share or the mean of."""
    for _ in range(6):
        on = receiver(expr) if isinstance(expr, ast.Call) else None
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Div, ast.Mult)):
            expr = program.origin(expr.left)
        elif isinstance(expr, ast.Call) and last(program.path(expr.func)) in ("mean", "sum") and on is not None:
            of_module = key(on) == "torch" and expr.args
            expr = program.origin(expr.args[0] if of_module else on)
        else:
            break
    return expr


def _number(program: Program, expr: ast.expr | None) -> bool:
    """Whether a value is a number, or a tensor of one."""
    made = program.origin(expr) if expr is not None else None
    if (
        isinstance(made, ast.Call)
        and last(program.path(made.func)) in ("tensor", "as_tensor", "full_like")
        and made.args
    ):
        made = made.args[-1]
    return made is not None and isinstance(program.usually(made), (int, float))


def _a_loss(program: Program, expr: ast.expr) -> bool:
    made = program.origin(expr)
    while isinstance(made, ast.BinOp):
        made = program.origin(made.left)
    name = last(program.path(made.func if isinstance(made, ast.Call) else made))
    return bool(re.search(r"(^|_)loss$|cross_entropy", name))


BESIDE = re.compile(r"loss|criterion|sigma|temperature|log_|scale|^$|^self$|weights", re.I)
"""Words of the few parameters beside a model that need no clipping."""


@rule("clip-on-a-part", "S2", "grad-explosion", "clip_grad",
      bad="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      for batch in loader:
          model(**batch).loss.backward()
          torch.nn.utils.clip_grad_norm_(model.lm_head.parameters(), 1.0)
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      for batch in loader:
          model(**batch).loss.backward()
          torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def clip_on_a_part(view: View) -> Iterator[Fault]:
    """One part of the model is clipped, and the optimizer moves all of it; or each parameter is clipped for itself.

    Why: a large gradient anywhere else goes through; the part that is clipped learns at another rate than the rest.
    Known gaps: parts that are clipped one by one are left alone.
    """
    program = view.program
    for training in view.trainings:
        clips, steps = training.of("clip"), training.of("step")
        for clip in clips:
            found = program.binding(clip.on) if isinstance(clip.on, ast.Name) else None
            over = found.value if found is not None and found.how == "for" else None
            each = isinstance(over, ast.Call) and last(program.path(over.func)) in PARAMETERS
            by_norm = isinstance(clip.node, ast.Call) and "norm" in program.path(clip.node.func)
            if each and by_norm and clip.loops and steps:
                yield Fault(clip.node, "each parameter is clipped by its own norm: the direction of the update changes",
                            "逐个参数按各自的范数裁剪：更新方向被改变", beside=(steps[0].node,))  # fmt: skip
        if len(clips) != 1 or len({key(s.on) for s in steps}) != 1 or FREEZES.search(program.text):
            continue
        clip, step = clips[0], steps[0]
        part = clip.on if isinstance(clip.on, ast.Call) and last(program.path(clip.on.func)) in PARAMETERS else None
        on = receiver(part) if part is not None else None
        taken = [receiver(s.node) for s in made_of(program, step.on, deep=12) if isinstance(s.node, ast.Call)
                 and last(program.path(s.node.func)) in PARAMETERS] if step.on is not None else []  # fmt: skip
        names = {key(t) for t in taken if t is not None}
        rest = {n for n in names - {key(on)} if not n.startswith(f"{key(on)}.")} if on is not None else set()
        if part is not None and key(on) in names - {"self", ""} and rest and not any(BESIDE.search(n) for n in rest):
            yield Fault(place(clip, step), f"only `{source(program, on)}` is clipped, and the optimizer moves `{min(rest)}`, too",  # type: ignore[arg-type]
                        f"只裁剪了 `{source(program, on)}`，优化器还更新 `{min(rest)}`", beside=(step.node,))  # type: ignore[arg-type]  # fmt: skip
            continue
        above = isinstance(on, ast.Attribute) and on.attr != "module" and key(on.value) in names - {"self", ""}
        if above and on is not None and len(taken) == 1 and part is not None:
            yield Fault(place(clip, step), f"only `{source(program, on)}` is clipped, and the optimizer moves all of `{names.pop()}`",
                        f"只裁剪了 `{source(program, on)}`，优化器却更新整个模型", beside=(step.node,))  # fmt: skip
