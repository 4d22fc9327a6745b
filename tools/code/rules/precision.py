"""Rules on number formats, loss scaling and clipping."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..flow import made_of
from ..patch import after, before, instead
from ..program import Program, argument, key, last, receiver
from ..running import never_both
from ..training import Event, Training
from .look import made_by, source
from .order import moved
from .rule import Fault, View, rule

SCALED = """
scaler = torch.cuda.amp.GradScaler()
for batch in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(**batch).loss
    scaler.scale(loss).backward()
    {unscale}
    {clip}
    {step}
    {update}
"""
FINE = dict(unscale="scaler.unscale_(optimizer)", clip="torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
            step="scaler.step(optimizer)", update="scaler.update()")  # fmt: skip
PLAIN = """
for batch in loader:
    optimizer.zero_grad()
    loss = model(**batch).loss
    {a}
    {b}
    {c}
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


def _scaled(**other: str) -> str:
    return SCALED.format(**{**FINE, **other})


def _scaler(view: View, training: Training) -> str:
    """The name of the scaler of a loop, empty where there is none."""
    for event in training.of("backward", "step"):
        if event.via == "scaler" and isinstance(event.node, ast.Call):
            on = receiver(event.node)
            on = receiver(on) if isinstance(on, ast.Call) else on
            if key(on):
                return key(on)
    return ""


@rule(
    "clip-before-unscale",
    "S2",
    "grad-clip-saturation",
    "scale( scaler mixed_precision",
    bad=_scaled(unscale="pass"),
    good=_scaled(),
)
def clip_before_unscale(view: View) -> Iterator[Fault]:
    """Gradients are clipped while they are still multiplied by the loss scale.

    Why: a norm of 1 becomes 65536: every gradient is clipped, and the update is tiny.
    """
    for training in view.trainings:
        yield from _past_accelerator(view, training)
        name = _scaler(view, training)
        order, steps = list(training.events), [s for s in training.of("step") if s.via == "scaler"]
        clips = [e for e in order if e.kind == "clip" or _clips_by_hand(view.program, e)]
        clips = [c for c in clips if any(not never_both(view.program, c.node, s.node) for s in steps)]
        if not name or not clips:
            continue
        unscaled = [order.index(u) for u in training.of("unscale")]
        first = order.index(clips[0])
        if any(i < first for i in unscaled) or key(clips[0].node) == "clip_grad_norm_":
            continue
        statement = view.program.statement(clips[0].node)
        optimizer, plain = key(steps[0].on), not unscaled and clips[0].kind == "clip"
        fix = (before(statement, f"{name}.unscale_({optimizer})"),) if optimizer and plain else ()
        yield Fault(clips[0].node, "gradients are clipped before they are unscaled: the loss scale is still in them",
                    "梯度在 unscale 之前裁剪：其中还乘着 loss scale", fix, beside=(steps[0].node,))  # fmt: skip


def _clips_by_hand(program: Program, event: Event) -> bool:
    """`p.grad.clamp_(-1, 1)`, `p.grad.mul_(limit / norm)`; not what takes a scale out again."""
    path = program.path(event.node.func) if isinstance(event.node, ast.Call) else ""
    changed = re.search(r"\.grad(\.data)?\.(clamp_|clip_|mul_|div_)$", path)
    return changed is not None and "scale" not in program.code(event.node)


def _past_accelerator(view: View, training: Training) -> Iterator[Fault]:
    """A clip of PyTorch where the library that scales the loss has its own."""
    program = view.program
    made = [c for c in program.find("Accelerator") if program.usually(argument(c, "mixed_precision") or c) == "fp16"]
    if not made or not any(b.via == "accelerator" for b in training.of("backward")) or training.of("unscale"):
        return
    for clip in training.of("clip"):
        if isinstance(clip.node, ast.Call) and program.path(clip.node.func).startswith("torch."):
            yield Fault(clip.node, "gradients are clipped while the accelerator's loss scale is in them: use its own clip",
                        "梯度里还乘着 accelerator 的 loss scale：应使用它自己的裁剪", beside=(made[0],))  # fmt: skip


@rule("scaler-not-updated", "S1", "loss-scale-collapse", "scaler scale(", bad=_scaled(update="pass"), good=_scaled())
def scaler_not_updated(view: View) -> Iterator[Fault]:
    """The gradient scaler is never updated.

    Why: the scale stays where it began: steps that overflow are skipped for ever, and `unscale_` fails the second time.
    """
    for training in view.trainings:
        steps = [s for s in training.of("step") if s.via == "scaler"]
        name = _scaler(view, training) if steps else ""
        kept = name.startswith("self.") and not any(
            last(key(receiver(c))) == last(name) for c in view.program.find("update"))  # fmt: skip
        if steps and (training.whole or kept) and not training.of("update"):
            beside = view.program.scope(training.node) if training.outer == () else None
            others = [c for c in view.program.find("update") if key(receiver(c)) == name
                      and not (view.program.scope(c) is beside and c.lineno > getattr(training.node, "lineno", 0))]  # fmt: skip
            if name and not others:
                fix = (
                    (after(view.program.statement(steps[-1].node), f"{name}.update()"),) if steps[-1].depth == 0 else ()
                )
                yield Fault(steps[-1].node, f"`{name}` is never updated: its scale stays where it began",
                            f"`{name}` 从不 update：缩放因子永远不变", fix)  # fmt: skip


@rule("scaled-gradients-stepped", "S0", "grad-explosion", "scale( scaler",
      bad=_scaled(unscale="pass", clip="pass", step="optimizer.step()"), good=_scaled())  # fmt: skip
def scaled_gradients_stepped(view: View) -> Iterator[Fault]:
    """The optimizer steps on gradients that are still multiplied by the loss scale.

    Why: they are tens of thousands of times too large, and infinite ones are not skipped.
    """
    checked = view.program.mentions("isfinite", "isinf", "isnan", "found_inf", "nan_to_num", "_check_inf")
    for training in view.trainings:
        scaled = [b for b in training.of("backward") if b.via == "scaler"]
        for step in training.of("step"):
            if not scaled or step.via or _other_way(step, scaled):
                continue
            name, on = _scaler(view, training), key(step.on)
            fix = (instead(step.node, f"{name}.step({on})"),) if name and on else ()
            if not training.of("unscale"):
                yield Fault(step.node, "the optimizer steps on gradients that still carry the loss scale",
                            "优化器直接使用了仍带 loss scale 的梯度", fix, beside=(scaled[0].node,))  # fmt: skip
                break
            if not checked and len({key(s.on) for s in training.of("step")}) == 1:
                yield Fault(step.node, "the optimizer is stepped beside the scaler: a step with infinite gradients is not skipped",
                            "绕过 scaler 直接 step：梯度为 inf/NaN 的步不会被跳过", fix, "S1", beside=(scaled[0].node,))  # fmt: skip
                break


def _other_way(event: Event, others: list[Event]) -> bool:
    """Whether something stands under a condition whose other branch holds one of the others."""
    turned = {(ast.dump(test), not positive) for test, positive in event.guards}
    return any((ast.dump(test), positive) in turned for o in others for test, positive in o.guards)


@rule("part-of-loss-not-scaled", "S1", "grad-vanishing", "scaler scale(",
      bad="""
      for batch in loader:
          optimizer.zero_grad()
          with torch.autocast("cuda", dtype=torch.float16):
              loss = model(**batch).loss
          scaler.scale(loss).backward()
          penalty = 0.01 * model.head.weight.pow(2).sum()
          penalty.backward()
          scaler.step(optimizer)
          scaler.update()
      """,
      good="""
      for batch in loader:
          optimizer.zero_grad()
          with torch.autocast("cuda", dtype=torch.float16):
              loss = model(**batch).loss
          scaler.scale(loss).backward()
          penalty = 0.01 * model.head.weight.pow(2).sum()
          scaler.scale(penalty).backward()
          scaler.step(optimizer)
          scaler.update()
      """)  # fmt: skip
def part_of_loss_not_scaled(view: View) -> Iterator[Fault]:
    """A loss is not multiplied by the scale by which the scaler divides its gradients.

    Why: `scaler.step` divides by some 65536: what was not scaled before has no effect.
    """
    for training in view.trainings:
        backwards, steps = training.of("backward"), training.of("step")
        if not steps or any(s.via != "scaler" for s in steps):
            continue
        for back in backwards:
            if back.via or back.on is None or _other_way(back, [*steps, *(b for b in backwards if b.via == "scaler")]):
                continue
            made = [n for n, _, _ in made_of(view.program, back.on, back.calls, 4) if isinstance(n, ast.Call)]
            if not any(last(view.program.path(n.func)) in ("scale", "scale_loss") for n in made):
                name = _scaler(view, training)
                yield Fault(back.node, f"this loss is not scaled, and `{name}.step` divides its gradients by the scale",
                            f"该损失没有乘 scale，而 `{name}.step` 会把它的梯度除以 scale", beside=(steps[0].node,))  # fmt: skip


@rule("backward-under-autocast", "S3", "precision-overflow", "autocast",
      bad="""
      for batch in loader:
          optimizer.zero_grad()
          with torch.autocast("cuda", dtype=torch.bfloat16):
              loss = model(**batch).loss
              loss.backward()
          optimizer.step()
      """,
      good="""
      for batch in loader:
          optimizer.zero_grad()
          with torch.autocast("cuda", dtype=torch.bfloat16):
              loss = model(**batch).loss
          loss.backward()
          optimizer.step()
      """)  # fmt: skip
def backward_under_autocast(view: View) -> Iterator[Fault]:
    """Backward runs inside the autocast block.

    Why: PyTorch advises against it: backward takes the formats of forward by itself.
    """
    for training in view.trainings:
        for event in training.of("backward"):
            if any(last(c.removesuffix("()")) == "autocast" for c in event.contexts) and event.via in ("", "scaler"):
                yield Fault(event.node, "backward runs inside autocast", "backward 在 autocast 内运行")


def _useless(training: Training, clip: Event) -> bool:
    """Whether no step uses the clipped gradients as they are."""
    order = list(training.events)
    at = order.index(clip)
    rest = [e for e in (*order[at + 1 :], *order[:at]) if e.kind in ("zero", "backward", "step")
            and set(e.guards) <= set(clip.guards) and not e.loops]  # fmt: skip
    if not rest or rest[0].kind not in ("zero", "backward") or not any(e.kind == "step" for e in rest):
        return False
    until = (*order[at + 1 :], *order[:at])
    if any(e.kind == "step" for e in until[: until.index(rest[0])]):
        return False
    return rest[-1].kind != "backward"


@rule("clip-without-effect", "S1", "grad-explosion", "clip_grad",
      bad=(PLAIN.format(a="loss.backward()", b="optimizer.step()", c=CLIP), PLAIN.format(a=CLIP, b="loss.backward()", c="optimizer.step()")),
      good=PLAIN.format(a="loss.backward()", b=CLIP, c="optimizer.step()"))  # fmt: skip
def clip_without_effect(view: View) -> Iterator[Fault]:
    """Gradients are clipped after the step, or before they are computed.

    Why: the optimizer sees them unclipped.
    """
    for training in view.trainings:
        clips, steps = training.of("clip"), training.of("step")
        if not steps:
            continue
        rare = training.accumulation is not None
        yield from _used_up(view, clips)
        for clip in clips:
            if rare and _behind(training, clip):
                yield Fault(clip.node, "clipping has no effect: no step uses these gradients", "裁剪不起作用：没有更新使用这些梯度",
                            beside=(steps[0].node,))  # fmt: skip
            elif not rare and not clip.loops and _useless(training, clip):
                own, step = view.program.statement(clip.node), view.program.statement(steps[0].node)
                order = list(training.events)
                behind = [b for b in training.of("backward") if order.index(b) > order.index(clip)]
                fix = moved(view, own, view.program.statement(behind[0].node)) if behind else _ahead(view, own, step)
                yield Fault(clip.node, "clipping has no effect: no step uses these gradients", "裁剪不起作用：没有更新使用这些梯度",
                            fix, beside=(steps[0].node,))  # fmt: skip


ONCE = ("parameters", "named_parameters", "filter", "map", "chain")


def _used_up(view: View, clips: list[Event]) -> Iterator[Fault]:
    """Clips of parameters that are an iterator, which the optimizer has gone through before."""
    program = view.program
    for clip in clips:
        found = program.binding(clip.on) if clip.on is not None and key(clip.on) else None
        made = found.value if found is not None and found.how == "assign" and found.part is None else None
        function = program.function(made) if isinstance(made, ast.Call) else None
        inside = program.within(function) if function is not None else ()
        yields = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in inside)
        if function is not None and made is not None and not yields:
            made = program.origin(made)
        listed = isinstance(made, ast.Call) and last(program.path(made.func)) in ONCE
        once = yields or listed or isinstance(made, ast.GeneratorExp)
        lazy = isinstance(made, ast.Call) and last(program.path(made.func)) in ONCE[:2]
        if once and not (lazy and isinstance(clip.on, ast.Name)):  # a plain name of that kind: `iterator-used-up`
            yield Fault(clip.node, f"`{key(clip.on)}` is an iterator, and is used up before it is clipped: nothing is clipped",
                        f"`{key(clip.on)}` 是迭代器，裁剪之前已经用尽：什么都没有裁剪", beside=(found.node,) if found else ())  # fmt: skip


def _behind(training: Training, clip: Event) -> bool:
    """Whether gradients are clipped between the step of an accumulation and their clearing."""
    order = list(training.events)
    same = [e for e in order if e.kind in ("step", "zero") and e.guards == clip.guards and e.loops == clip.loops]
    before_ = [e for e in same if order.index(e) < order.index(clip)]
    behind = [e for e in same if order.index(e) > order.index(clip)]
    return bool(before_) and before_[-1].kind == "step" and bool(behind) and behind[0].kind == "zero"


def _ahead(view: View, own: ast.stmt, step: ast.stmt) -> tuple:
    taken = moved(view, own, own)
    return (taken[0], before(step, source(view.program, own))) if taken else ()


@rule("clip-on-part-of-model", "S1", "grad-explosion", "clip_grad_norm_",
      bad="model = FSDP(Net())\n" + PLAIN.format(a="loss.backward()", b=CLIP, c="optimizer.step()"),
      good="model = FSDP(Net())\n" + PLAIN.format(a="loss.backward()", b="model.clip_grad_norm_(1.0)", c="optimizer.step()"))  # fmt: skip
def clip_on_part_of_model(view: View) -> Iterator[Fault]:
    """The gradients of an FSDP model are clipped by the norm of one rank's shards.

    Why: every rank clips by another norm, and the ranks' updates no longer fit together.
    Known gaps: `fully_shard` models are clipped rightly, and left alone.
    """
    wrapped = made_by(view, "FSDP", "FullyShardedDataParallel")
    for call in view.program.find("clip_grad_norm_"):
        inner = next((n for a in call.args[:1] for n in view.program.traced(a, 3) if isinstance(n, ast.Call)
                      and last(view.program.path(n.func)) == "parameters"), None)  # fmt: skip
        if wrapped and inner is not None:
            library = view.program.path(call.func).endswith("utils.clip_grad_norm_")
            if last(view.program.path(inner.func)) == "parameters" and key(receiver(inner)) in wrapped and library:
                most = argument(call, "max_norm", 1)
                fix = (
                    (instead(call, f"{key(receiver(inner))}.clip_grad_norm_({source(view.program, most)})"),)
                    if most
                    else ()
                )
                yield Fault(
                    call, "each rank clips by the norm of its own shards", "每个 rank 只按自己分片的范数裁剪", fix
                )
