"""Rules on training in fp16: what is not scaled, weights that are kept in it, losses that are computed in it."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ...source import walk
from ...training import Training
from ..look import always
from ..loss import entropies
from ..precision import FINE as SCALED_WELL
from ..precision import PLAIN, SCALED
from ..rule import Fault, View, rule

HALF = re.compile(r"(^|\.)(float16|half|HalfTensor)$")
WORD = re.compile(r"(torch\.)?(float16|fp16|half)$|(16|fp16)-true$")
"""How fp16 is written as a word; `16-true` is Lightning's."""


def half(program: Program, expr: ast.expr | None) -> bool:
    """Whether a number format is fp16: as it is written, by name, or by default."""
    if expr is None:
        return False
    value = program.usual(expr)
    if isinstance(value, ast.Call) and program.path(value.func) == "getattr" and len(value.args) > 1:
        value = program.usual(value.args[1])
    word = program.const(value)
    return bool(WORD.match(word)) if isinstance(word, str) else bool(HALF.search(program.path(value)))


@rule("fp16-without-scaler", "S1", "grad-vanishing", "float16 half autocast",
      bad=PLAIN.format(a="loss.backward()", b="optimizer.step()", c="pass").replace(
          "    loss =", "    with torch.autocast('cuda', dtype=torch.float16):\n        loss ="),
      good=SCALED.format(**SCALED_WELL))  # fmt: skip
def fp16_without_scaler(view: View) -> Iterator[Fault]:
    """Training under fp16 autocast without a gradient scaler.

    Why: gradients below 6e-8 become zero; small layers stop learning.
    """
    if any(True for _ in view.program.find("GradScaler", "ShardedGradScaler")) or view.roles.named("scaler"):
        return
    program = view.program
    for training in view.trainings:
        if (
            any(b.via for b in training.of("backward"))
            or "set_autocast" in program.text
            or _scaled_by_hand(view, training)
        ):
            continue
        entered = {c for e in training.events for c in e.contexts}
        called = {id(e.node) for e in training.of("call")}
        for call in program.find("autocast"):
            statement = program.statement(call)
            kept = (
                isinstance(statement, ast.Assign) and statement.value is call and key(statement.targets[0]) in entered
            )
            held = getattr(program.scope(call), "name", "?")
            kept = kept or any(c.endswith(f".{held}") for c in entered)  # a property
            used = kept or id(call) in called or _entered(view, training, call) or _of_forward(view, call)
            if used and _to_half(program, call):
                yield Fault(call, "fp16 autocast without a gradient scaler: small gradients become zero",
                            "fp16 autocast 没有 GradScaler：小梯度变成 0")  # fmt: skip


def _scaled_by_hand(view: View, training: Training) -> bool:
    """Whether the loss is multiplied by a scale that the gradients are divided by again."""
    said = [view.program.code(e.node) for e in training.of("call", "assign")]
    return any(re.search(r"\.grad\b", text) and re.search(r"div|/|mul", text) for text in said)


def _entered(view: View, training: Training, call: ast.Call) -> bool:
    """Whether a `with` block of the training is one that a call makes, somewhere behind its name."""
    blocks = [n for n in walk(training.node) if isinstance(n, ast.With)]
    return any(n is call for b in blocks for i in b.items for n in view.program.traced(i.context_expr, 3))


def _of_forward(view: View, call: ast.Call) -> bool:
    """Whether a call is what the forward pass of a module of this file runs under."""
    program = view.program
    above = program.parent.get(call)
    function = above if isinstance(above, FUNCTIONS) else program.scope(call)
    owner = program.parent.get(function)
    block = isinstance(above, (*FUNCTIONS, ast.withitem))
    return block and getattr(function, "name", "") == "forward" and getattr(owner, "name", "") in view.roles.modules


def _to_half(program: Program, call: ast.Call) -> bool:
    """Whether an autocast is to fp16: as it says, or on a GPU without a type."""
    on = argument(call, "enabled")
    if on is not None and program.usually(on) is False:
        return False
    value = argument(call, "dtype", 1 if len(call.args) > 1 else None)
    if value is not None:
        return half(program, value)
    if any(k.arg is None for k in call.keywords):
        return False
    device = argument(call, "device_type", 0)
    where = program.usually(device) if device is not None else ""
    return program.path(call.func) == "torch.cuda.amp.autocast" or where == "cuda"


@rule("weights-trained-in-half", "S1", "grad-vanishing", "half float16",
      bad="""
      model = Net().half()
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
      """ + PLAIN.format(a="loss.backward()", b="optimizer.step()", c="pass").replace("\n", "\n      "),
      good="""
      model = Net()
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
      """ + PLAIN.format(a="loss.backward()", b="optimizer.step()", c="pass").replace("\n", "\n      "))  # fmt: skip
def weights_trained_in_half(view: View) -> Iterator[Fault]:
    """The weights that the optimizer updates are kept in fp16.

    Why: updates smaller than a thousandth of a weight are lost, and Adam's epsilon of 1e-8 is zero.
    Known gaps: bf16 weights lose small updates too, which is a choice.
    """
    yield from _of_trainers(view)
    program = view.program
    trained = {key(n) for t in view.trainings for s in t.of("step") for o in [s.on] if o is not None
               for n in program.traced(o) if view.roles.of(n) == "model"} - {""}  # fmt: skip
    if program.has_word(r"FP16_(Unfused)?Optimizer|\bapex\b"):
        return  # the optimizer keeps weights of its own in full precision
    at = {t.node if isinstance(t.node, FUNCTIONS) else program.scope(t.node) for t in view.trainings}
    if not trained or any(b.via in ("engine", "accelerator") for t in view.trainings for b in t.of("backward")):
        return
    inside = {id(s.node) for t in view.trainings for e in t.of("step") if e.on is not None
              for s in made_of(program, e.on, e.calls)}  # fmt: skip
    for call in program.find("half"):
        if id(call) in inside and all(program.usually(t) is side for t, side, _ in program.guards(call)):
            yield _kept_in_half(call)
            continue
        owner = program.parent.get(program.scope(call))
        itself = key(receiver(call)) == "self" and getattr(owner, "name", "") in view.roles.modules
        if itself or (_same_model(program, call, at) and {key(receiver(call)), _target(view, call)} & trained):
            yield _kept_in_half(call)
    for call in program.find("to", "from_pretrained", "from_config"):
        value = argument(call, "dtype") or argument(call, "torch_dtype") or (call.args[0] if call.args else None)
        whole = _target(view, call) in trained or (
            last(program.path(call.func)) == "to" and key(receiver(call)) in trained
        )
        if whole and _same_model(program, call, at) and not _adapted(program) and half(program, value):
            yield _kept_in_half(call)
    yield from (_kept_in_half(c) for c in program.find("set_default_dtype", "set_default_tensor_type")
                if c.args and half(program, c.args[0]))  # fmt: skip


def _kept_in_half(call: ast.Call) -> Fault:
    return Fault(call, "the trained weights are in fp16: small updates are lost", "训练的权重为 fp16：小更新会丢失")


def _adapted(program: Program) -> bool:
    """Whether only an adapter is trained, or weights of fewer bits."""
    found = program.find("get_peft_model", "LoraConfig", "BitsAndBytesConfig", "prepare_model_for_kbit_training")
    return any(True for _ in found)


def _of_trainers(view: View) -> Iterator[Fault]:
    """What a trainer of a library trains: a model that was loaded in fp16, or all of it by its setting."""
    program = view.program
    if _adapted(program) or "deepspeed" in program.text.lower() or not any(True for _ in program.find("train", "fit")):
        return
    for name in [n for n in program.calls if n.endswith("Trainer")]:
        for call in program.calls[name]:
            if half(program, argument(call, "precision")):
                yield _kept_in_half(call)
            model = argument(call, "model", 0)
            made = program.origin(model) if model is not None and name != "GRPOTrainer" else None
            loaded = isinstance(made, ast.Call) and last(program.path(made.func)) == "from_pretrained"
            if isinstance(made, ast.Call) and loaded and not argument(call, "peft_config"):
                value = argument(made, "torch_dtype") or argument(made, "dtype")
                if half(program, value):
                    yield _kept_in_half(made)


def _same_model(program: Program, call: ast.Call, at: set[ast.AST]) -> bool:
    """Whether what a call is about can be what is trained: in the same function, or one that hands it on."""
    scope = program.scope(call)
    handed = isinstance(scope, FUNCTIONS) and any(
        isinstance(n, ast.Return) and n.value is not None for n in program.within(scope)
    )
    home = program.parent.get(scope)
    same = isinstance(home, ast.ClassDef) and any(program.parent.get(s) is home for s in at)
    own = same and "self." in program.code(program.statement(call))
    return scope in at or scope is program.tree or handed or own


def _target(view: View, call: ast.Call) -> str:
    """The name that a value is assigned to."""
    statement = view.program.statement(call)
    direct = isinstance(statement, ast.Assign) and view.program.origin(statement.targets[0]) is not None
    outer = statement.value if isinstance(statement, ast.Assign) else None
    while isinstance(outer, ast.Call) and outer is not call and isinstance(outer.func, ast.Attribute):
        outer = outer.func.value
    return key(statement.targets[0]) if direct and outer is call and isinstance(statement, ast.Assign) else ""


@rule("scaler-made-every-step", "S1", "loss-scale-collapse", "GradScaler",
      bad=SCALED.format(**SCALED_WELL).replace("scaler = torch.cuda.amp.GradScaler()\n", "").replace(
          "    optimizer.zero_grad()", "    scaler = torch.cuda.amp.GradScaler()\n    optimizer.zero_grad()"),
      good=SCALED.format(**SCALED_WELL))  # fmt: skip
def scaler_made_every_step(view: View) -> Iterator[Fault]:
    """The gradient scaler is made anew in every step.

    Why: its scale begins at 65536 each time: it never settles, and every step that overflows is skipped.
    """
    for training in view.trainings:
        for event in training.of("call"):
            made = isinstance(event.node, ast.Call) and last(view.program.path(event.node.func)) == "GradScaler"
            if made and always(event) and training.whole:
                yield Fault(event.node, "the gradient scaler is made anew in every step: its scale never settles",
                            "每一步都新建 GradScaler：缩放因子永远稳定不下来")  # fmt: skip


@rule("loss-computed-in-half", "S2", "precision-overflow", "cross_entropy CrossEntropyLoss",
      bad="""
      def loss_of(model, ids, labels):
          logits = model(ids).logits.half()
          return torch.nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))
      """,
      good="""
      def loss_of(model, ids, labels):
          logits = model(ids).logits.float()
          return torch.nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))
      """)  # fmt: skip
def loss_computed_in_half(view: View) -> Iterator[Fault]:
    """Logits are turned into 16 bit right before the loss.

    Why: the sum over a vocabulary loses what the small probabilities say, and overflows in fp16.
    """
    program = view.program
    for call, logits, _ in entropies(view):
        expr = logits
        for _ in range(8):
            expr = program.origin(expr)
            if isinstance(expr, ast.Subscript):
                expr = expr.value
                continue
            on = receiver(expr) if isinstance(expr, ast.Call) else None
            if not isinstance(expr, ast.Call) or on is None:
                break
            name = last(program.path(expr.func))
            to = (
                name == "to"
                and expr.args
                and (half(program, expr.args[0]) or program.path(program.usual(expr.args[0])).endswith("bfloat16"))
            )
            if name in ("half", "bfloat16") or to:
                yield Fault(expr, "logits are turned into 16 bit before the loss is computed", "计算 loss 之前 logits 被转成了 16 位",
                            beside=(call,))  # fmt: skip
                break
            if name not in ("view", "reshape", "flatten", "transpose", "permute", "contiguous", "to"):
                break
            expr = on


@rule("cast-to-half", "S2", "precision-overflow", "half float16",
      bad="""
      import torch.nn as nn

      class Block(nn.Module):
          def forward(self, x):
              return self.down((self.gate(x).half() * self.up(x).half()).to(x.dtype))
      """,
      good="""
      import torch.nn as nn

      class Block(nn.Module):
          def forward(self, x):
              return self.down((self.gate(x).float() * self.up(x).float()).to(x.dtype))
      """)  # fmt: skip
def cast_to_half(view: View) -> Iterator[Fault]:
    """A forward pass casts a value to fp16 and multiplies it.

    Why: a product of two activations passes 65504 long before either does; bf16 and fp32 hold it.
    """
    program = view.program
    for call in program.find("half", "to", "type"):
        inside = getattr(program.scope(call), "name", "")
        cast = (isinstance(call.func, ast.Attribute) and call.func.attr == "half") or any(
            HALF.search(program.path(a)) for a in (*call.args, *(k.value for k in call.keywords if k.arg == "dtype"))
        )
        if inside == "forward" and cast and any(_product(program, n) for n in _users(program, call)):
            yield Fault(call, "the forward pass multiplies values in fp16, whose products pass 65504",
                        "前向在 fp16 下相乘，乘积会超过 65504")  # fmt: skip
            return


def _product(program: Program, node: ast.AST) -> bool:
    """Whether a node multiplies what it is given."""
    if isinstance(node, ast.Call):
        return last(program.path(node.func)) in ("matmul", "bmm", "mul", "einsum", "baddbmm")
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.MatMult))


def _users(program: Program, call: ast.Call) -> Iterator[ast.AST]:
    """What a value stands in, and what the name that it is given stands in."""
    node: ast.AST | None = call
    while (node := program.parent.get(node)) is not None and not isinstance(node, ast.stmt):  # type: ignore[arg-type]
        yield node
    statement = program.statement(call)
    if isinstance(statement, ast.Assign):
        names = {key(n) for t in statement.targets for n in walk(t)} - {""}
        for use in program.within(program.scope(call), ast.BinOp, ast.Call):
            taken = [use.left, use.right] if isinstance(use, ast.BinOp) else [*use.args, receiver(use)]
            if names & {key(n) for n in taken}:
                yield use
