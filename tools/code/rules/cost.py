"""Rules on what makes each step wait."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patterns import bounded
from ..flow import made_of
from ..patch import instead, without
from ..program import argument, key, last, receiver
from ..training import Event
from .apart.forwards import by_a_hook, decides, iterated, read_for_statistics, sometimes
from .look import always, carries_graph, model_call, source
from .rule import Fault, Pace, View, rule

LOOP = """
for step, batch in enumerate(loader):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    {inside}
"""


@rule("device-read-every-step", "S3", "low-throughput", ".item( .cpu( .tolist( .numpy( float(",
      bad=LOOP.format(inside="scores = model(**batch).logits.cpu()"),
      good=LOOP.format(inside="if step % 100 == 0:\n        scores = model(**batch).logits.cpu()"))  # fmt: skip
def device_read_every_step(view: View) -> Iterator[Fault]:
    """Many tensors are read back from the device in every step.

    Why: each read waits until the GPU has done all that was asked of it; a few a step are no matter, one for each
    parameter is.
    """
    names = ("item", "cpu", "tolist", "numpy", "float")
    yield from read_for_statistics(view)
    for pace in view.each_step:
        if not pace.looped and not pace.of("backward"):
            yield from by_a_hook(view, pace)
            continue
        reads = [(e, last(view.program.path(e.node.func))) for e in pace.of("call")
                 if isinstance(e.node, ast.Call) and not sometimes(view, e)]  # fmt: skip
        reads = [(e, name) for e, name in reads if name in names and (name != "float" or _loss(view, pace, e))]
        inner = [e for e, name in reads if name != "float" and _many(view, e.node, pace.node)]
        heavy = [e for e, name in reads if name in ("cpu", "tolist", "numpy") and not e.loops and _device(view, e.node)]
        plain = {id(e.node): e for e, name in reads if name in ("item", "float") and not e.loops}
        for event in (*inner[:1], *(heavy[:1] if not inner else ())):
            yield Fault(event.node, "tensors are read back from the device in every step: the GPU waits each time",
                        "每一步都把张量读回主机：GPU 每次都要等待", severity=_weight(view, pace, event, event in heavy))  # fmt: skip
        if not inner and not heavy and len(plain) >= 2:
            yield Fault(next(iter(plain.values())).node, f"{len(plain)} values are read back from the device in every step",
                        f"每一步都从设备读回 {len(plain)} 个值", severity=_waits(view, pace, len(plain)))  # fmt: skip
        elif not inner and not heavy and _waits(view, pace, len(plain)):
            one = next(iter(plain.values())).node
            if not decides(view.program, one):
                yield Fault(one, "a value is read back from the device in every step, whose copies are made not to wait",
                            "数据拷贝是异步的，却在每一步都从设备读回一个值", severity="S2")  # fmt: skip


def _weight(view: View, pace: Pace, event: Event, whole: bool) -> str:
    """How much a read costs: a whole output, or one wait for each parameter, is much in a training, whatever the model."""
    program = view.program
    trains = _trains(pace)
    around = list(program.up(event.node))
    iters = [i for a in around for i in (getattr(a, "iter", None), *(g.iter for g in getattr(a, "generators", ())))]
    return (
        "S2"
        if (trains and (whole and _gpu(view)))
        or (trains and any(i is not None and "parameters" in source(program, i) for i in iters))
        or (trains and sum("range(" in source(program, i) for i in iterated(view, event.node, pace.node)) > 1)
        else ""
    )


def _waits(view: View, pace: Pace, many: int) -> str:
    """Whether some reads a step are much: several, or any where all else is made so that the host runs ahead."""
    ahead = re.search(
        r"non_blocking\s{0,3}=\s{0,3}True|pin_memory\s{0,3}=\s{0,3}True|prefetch_factor", view.program.text
    )
    return "S2" if many and (many > 2 or ahead) and _trains(pace) and _gpu(view) else ""


def _trains(pace: Pace) -> bool:
    return pace.looped and bool(pace.of("backward")) and bool(pace.of("step"))


def _loss(view: View, pace: Pace, event: Event) -> bool:
    """Whether `float()` is of the loss."""
    call = event.node
    plain = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and len(call.args) == 1
    return plain and carries_graph(view, pace.training, call.args[0], event.calls)  # type: ignore[union-attr]


def _many(view: View, node: ast.AST, loop: ast.AST) -> bool:
    """Whether a call is made for each parameter or token within one step."""
    texts = (source(view.program, i) for i in iterated(view, node, loop))
    return any("parameters" in text or "range(" in text for text in texts)


def _device(view: View, node: ast.AST) -> bool:
    on = receiver(node) if isinstance(node, ast.Call) else None
    while (
        isinstance(on, ast.Call) and isinstance(on.func, ast.Attribute) and on.func.attr in ("detach", "float", "cpu")
    ):
        on = on.func.value
    if on is None:
        return False
    text = source(view.program, on)
    origin = view.program.origin(on)
    return bool(re.search(r"logits|hidden|grad$|embedding", text)) or (
        isinstance(origin, ast.Call) and model_call(view, origin) and view.roles.of(origin.func) == "model"
    )


@rule("tensor-printed-every-step", "S3", "low-throughput", "print( .info( .write(",
      bad=LOOP.format(inside="print(step, loss)"), good=LOOP.format(inside="if step % 100 == 0:\n        print(step, loss)"))  # fmt: skip
def tensor_printed_every_step(view: View) -> Iterator[Fault]:
    """A tensor is printed in every step.

    Why: printing reads it back from the device, so the step waits.
    """
    for pace in view.each_step:
        for event in pace.of("call"):
            call = event.node
            if not isinstance(call, ast.Call) or not always(event) or not _prints(view, call):
                continue
            shown = [a.value if isinstance(a, ast.FormattedValue) else a for b in call.args
                     for a in (b.values if isinstance(b, ast.JoinedStr) else [b])]  # fmt: skip
            if any(_on_device(view, pace, a, event.calls) for a in shown if not isinstance(a, ast.Constant)):
                much = _gpu(view) and pace.looped and pace.of("backward") and pace.of("step")
                yield Fault(call, "a tensor is printed in every step: the step waits for it",
                            "每一步都打印张量：这一步要等它算完", severity="S2" if much else "")  # fmt: skip


HOST = frozenset(("item", "tolist", "numpy", "float", "int", "len", "str", "round", "reduce_mean"))
"""Calls behind which a value lies on the host."""


def _on_device(view: View, pace: Pace, expr: ast.expr, calls: tuple[ast.Call, ...]) -> bool:
    """Whether a value is a tensor of this step, with its graph or cut from it."""
    if carries_graph(view, pace.training, expr, calls):
        return True
    program, nodes = view.program, []
    for source_ in made_of(program, expr, calls, 6, kept=False):
        node = source_.node
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return False
        if isinstance(node, ast.Call) and last(program.path(node.func)) in HOST:
            return False
        nodes.append(node)
    cut = any(isinstance(n, ast.Call) and last(program.path(n.func)) == "detach" for n in nodes)
    return cut and any(model_call(view, n) for n in nodes)


def _gpu(view: View) -> bool:
    """Whether a program says that it runs on a GPU."""
    return re.search(r"cuda|\.to\(\w{0,20}(device|dev|rank|gpu)\b|Accelerator|nccl", view.program.said) is not None


def _prints(view: View, call: ast.Call) -> bool:
    name = view.program.path(call.func)
    return name == "print" or (last(name) in ("info", "warning", "write") and bool(re.search(r"log|tqdm|bar", name)))


@rule("synchronised-every-step", "S3", "low-throughput", "synchronize",
      bad=LOOP.format(inside="torch.cuda.synchronize()"),
      good=LOOP.format(inside="if step % 100 == 0:\n        torch.cuda.synchronize()"))  # fmt: skip
def synchronised_every_step(view: View) -> Iterator[Fault]:
    """Every step waits until the device has done everything.

    Why: the host cannot prepare the next step meanwhile.
    Known gaps: a timing that needs it.
    """
    for pace in view.each_step:
        for event in pace.of("call"):
            call = event.node
            if (
                isinstance(call, ast.Call)
                and view.program.path(call.func).endswith("cuda.synchronize")
                and always(event)
            ) and not view.program.mentions("perf_counter", "time.time(", "Event("):
                yield Fault(
                    call,
                    "every step waits for the device",
                    "每一步都同步设备",
                    (without(view.program.statement(call)),),
                )


@rule("option-ignored", "S2", "lr-batch-mismatch", "add_argument",
      bad="""
      parser.add_argument("--grad-accum", type=int, default=8)
      parser.add_argument("--lr", type=float, default=1e-4)
      args = parser.parse_args()
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / args.grad_accum
          loss.backward()
          if (i + 1) % args.grad_accum == 0:
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      parser.add_argument("--grad-accum", type=int, default=8)
      parser.add_argument("--lr", type=float, default=1e-4)
      args = parser.parse_args()
      optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / args.grad_accum
          loss.backward()
          if (i + 1) % args.grad_accum == 0:
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def option_ignored(view: View) -> Iterator[Fault]:
    """An option of the command line that decides the training is never read.

    Why: whoever sets it believes in a setting that the program does not have.
    """
    program = view.program
    if not view.trainings:
        return
    holders = {n for s in program.bound.values() for n, bs in s.items() for b in bs if isinstance(b.value, ast.Call)
               and last(program.path(b.value.func)) in ("parse_args", "parse_known_args")}  # fmt: skip
    whole = any(key(a) in holders for n in program.each(ast.Call) for a in (*n.args, *(k.value for k in n.keywords)))
    read = {n.attr for n in program.each(ast.Attribute)}
    if not holders or (whole and not read & set(program.options)) or program.mentions("vars(", "getattr(", "__dict__"):
        return
    for call in program.find("add_argument"):
        flag = next((a.value for a in call.args if isinstance(a, ast.Constant) and str(a.value).startswith("--")), "")
        name = str(flag).lstrip("-").replace("-", "_")
        deciding = bounded(
            r"^(lr|learning_rate|batch_size|grad\w{0,40}accum\w{0,40}|gradient_accumulation_steps|accum\w{0,40}|warmup\w{0,40}|weight_decay|seed|max_grad_norm|grad_clip|clip\w{0,40}|beta|kl_coef|epochs)$"
        ).search(name)
        if deciding and name not in read and argument(call, "dest") is None and not whole:
            yield Fault(
                call, f"`--{str(flag).lstrip('-')}` is never read", f"选项 `--{str(flag).lstrip('-')}` 从未被读取"
            )


@rule("loss-averaged-over-batches", "S3", "eval-harness-drift", "len(",
      bad="""
      def evaluate(model, loader):
          model.eval()
          total, count = 0.0, 0
          with torch.no_grad():
              for batch in loader:
                  loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"], reduction="sum")
                  total += loss.item()
          return total / len(loader)
      """,
      good="""
      def evaluate(model, loader):
          model.eval()
          total, count = 0.0, 0
          with torch.no_grad():
              for batch in loader:
                  loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"], reduction="sum")
                  total += loss.item()
                  count += batch["y"].numel()
          return total / count
      """)  # fmt: skip
def loss_averaged_over_batches(view: View) -> Iterator[Fault]:
    """A loss that is summed over samples is divided by the number of batches.

    Why: it grows with the batch size, so that runs cannot be compared.
    Likewise a perplexity of the mean of the batches' means, where batches are padded and so of different length.
    """
    yield from _of_means(view)
    program = view.program
    for node in program.each(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.right, ast.Call):
            continue
        batches = (
            last(program.path(node.right.func)) == "len"
            and node.right.args
            and view.roles.of(node.right.args[0]) == "loader"
        )
        summed = batches and any(isinstance(n, ast.Call) and isinstance(r := argument(n, "reduction"), ast.Constant)
                                 and r.value == "sum" for n in program.traced(node.left, 4))  # fmt: skip
        if summed:
            yield Fault(
                node, "a sum over samples is divided by the number of batches", "对样本求和的 loss 却除以批次数"
            )


STEPS = """
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@rule("failed-steps-swallowed", "S2", "silent-degradation", "except",
      bad="""
      for batch in loader:
          try:
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
          except Exception:
              continue
      """,
      good="""
      for batch in loader:
          try:
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
          except torch.cuda.OutOfMemoryError:
              optimizer.zero_grad()
              continue
      """)  # fmt: skip
def failed_steps_swallowed(view: View) -> Iterator[Fault]:
    """Any error of a training step is passed over in silence.

    Why: broken batches, failing devices and programming errors all look like training; ranks fall out of step.
    """
    for training in view.trainings:
        for backward in training.of("backward"):
            for above in view.program.up(backward.node):
                if above is training.node or isinstance(above, (ast.FunctionDef, ast.Module)):
                    break
                for handler in getattr(above, "handlers", ()):
                    wide = handler.type is None or last(view.program.path(handler.type)) in (
                        "Exception",
                        "BaseException",
                    )
                    silent = all(isinstance(s, (ast.Pass, ast.Continue)) for s in handler.body)
                    if wide and silent:
                        yield Fault(
                            handler, "any error of a step is passed over in silence", "训练步骤的任何错误都被悄悄跳过"
                        )


@rule("anomaly-detection-left-on", "S3", "low-throughput", "detect_anomaly set_detect_anomaly",
      bad="torch.autograd.set_detect_anomaly(True)\n" + STEPS, good="torch.autograd.set_detect_anomaly(args.debug)\n" + STEPS)  # fmt: skip
def anomaly_detection_left_on(view: View) -> Iterator[Fault]:
    """Autograd's anomaly detection is on for all of the training.

    Why: it records a traceback for every operation; training is several times slower.
    """
    for call in view.program.find("set_detect_anomaly", "detect_anomaly"):
        value = call.args[0] if call.args else argument(call, "mode")
        on = (isinstance(value, ast.Constant) and value.value is True) or (
            value is None and last(view.program.path(call.func)) == "detect_anomaly")  # fmt: skip
        if on and view.trainings:
            fix = (instead(value, "False"),) if value is not None else ()
            yield Fault(
                call,
                "anomaly detection is left on: every operation is traced",
                "异常检测一直开启：每个算子都被追踪",
                fix,
            )


def _of_means(view: View) -> Iterator[Fault]:
    """The exponential of a mean of losses that are means of padded batches, each of another number of tokens."""
    program = view.program
    if "exp" not in program.calls or not re.search(r"padding\s*=\s*(True|[\"'])|pad_sequence|\.pad\(", program.text):
        return
    for call in program.find("exp"):
        nodes = [n for a in call.args[:1] for n in program.traced(a, 4)]
        averaged = any(isinstance(n, ast.Call) and last(program.path(n.func)) in ("mean", "fmean") for n in nodes)
        lists = {key(n) for n in nodes if isinstance(n, ast.Name)} if averaged else set()
        for add in program.find("append"):
            value = add.args[0] if add.args else None
            plain = value is not None and not any(isinstance(n, ast.BinOp) for n in program.traced(value, 2))
            mean = value is not None and any(
                isinstance(n, ast.Attribute) and n.attr == "loss" for n in program.traced(value, 2)
            )
            if key(receiver(add)) in lists and plain and mean:
                yield Fault(add, "means of batches of different length are averaged as if they counted alike",
                            "把不同长度批次的均值当作等权来平均", beside=(call,))  # fmt: skip
                return
