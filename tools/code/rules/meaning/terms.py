"""Rules on the terms of a loss: what they are made of, along which axis, and with which sign."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, argument, key, last, receiver
from ..look import model_call
from ..loss import entropies
from ..rule import Fault, View, rule
from ..steps.shifts import sliced
from .ways import SHAPES, constructor, forward_of, given, made, peeled, returns, whole

PROBABILITIES = frozenset(("softmax", "sigmoid", "softmin"))


LOGARITHMS = frozenset(("log_softmax", "log", "logsigmoid"))


SQUARES = frozenset(
    ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
)


def meaning(view: View, expr: ast.expr, deep: int = 5) -> tuple[str, ast.AST | None]:
    """(`probabilities` or `logarithms`, the call that makes them) of a value, through modules of this file."""
    program = view.program
    for _ in range(deep):
        expr = program.origin(expr)
        if isinstance(expr, ast.Subscript):
            expr = expr.value
            continue
        if not isinstance(expr, ast.Call):
            return "", None
        name, on = last(program.path(expr.func)), receiver(expr)
        if name in PROBABILITIES | LOGARITHMS:
            return ("probabilities" if name in PROBABILITIES else "logarithms"), expr
        if name in SHAPES and on is not None:
            expr = on
            continue
        forward = forward_of(view, expr)
        ends = returns(forward) if forward is not None else []
        if len(ends) != 1:
            return "", None
        expr = ends[0]
    return "", None


@rule("probabilities-of-the-model-as-logits", "S1", "loss-stagnation", "from_logits softmax sigmoid Softmax Sigmoid",
      bad="""
      class Net(nn.Module):
          def forward(self, x):
              return self.head(self.body(x)).softmax(dim=-1)
      net = Net()
      loss = torch.nn.functional.cross_entropy(net(x), y)
      """,
      good="""
      class Net(nn.Module):
          def forward(self, x):
              return self.head(self.body(x))
      net = Net()
      loss = torch.nn.functional.cross_entropy(net(x), y)
      """)  # fmt: skip
def probabilities_of_the_model_as_logits(view: View) -> Iterator[Fault]:
    """The model ends in a softmax, and the loss, which takes logits, applies another.

    Why: gradients are small, and the loss cannot fall far.
    """
    program = view.program
    yield from _of_keras(program)
    calls = [(c, x) for c, x, _ in entropies(view)]
    calls += [(c, c.args[0]) for c in program.find("binary_cross_entropy_with_logits") if c.args]
    calls += [(c, c.args[0]) for c in criteria(view, "BCEWithLogitsLoss") if c.args]
    for call, logits in calls:
        kind, where = meaning(view, logits)
        far = where is not None and program.scope(where) is not program.scope(call)
        entropy = last(program.path(call.func)) != "nll_loss" and not constructor(view, call.func).endswith("NLLLoss")
        if (
            kind == "probabilities"
            and where is not None
            and entropy
            and (far or call not in {c for c, _, _ in entropies(view)})
        ):
            yield Fault(call, "the loss takes logits and is given probabilities",
                        "损失应接收 logits，这里给的是概率", beside=(where,))  # fmt: skip
        elif (
            kind == ""
            and (end := last_layer(view, logits)) is not None
            and entropy
            and last(program.path(end.func)) in ("Softmax", "Sigmoid", "LogSigmoid")
        ):
            yield Fault(call, "the model ends in probabilities, and the loss takes logits",
                        "模型以概率结尾，而损失需要 logits", beside=(end,))  # fmt: skip


def _of_keras(program: Program) -> Iterator[Fault]:
    """A loss of Keras that is told to take logits, and the one model of its function ends in a softmax."""
    for call in program.find("SparseCategoricalCrossentropy", "CategoricalCrossentropy", "BinaryCrossentropy"):
        logits = argument(call, "from_logits")
        ends = [c for c in program.find("Dense") if program.scope(c) is program.scope(call)]
        last_one = max(ends, key=lambda c: c.lineno) if ends else None
        shape = argument(last_one, "activation") if last_one is not None else None
        if logits is not None and program.const(logits) is True and shape is not None and (
            program.const(shape) in ("softmax", "sigmoid")):  # fmt: skip
            yield Fault(call, "the loss takes logits and is given probabilities", "损失应接收 logits，这里给的是概率", beside=(shape,))  # fmt: skip


def criteria(view: View, *names: str) -> Iterator[ast.Call]:
    """Calls of criteria that are made by these constructors."""
    for node in view.program.each(ast.Call) if view.program.mentions(*names) else ():
        if key(node.func) and view.roles.of(node.func) == "criterion":
            if last(constructor(view, node.func)) in names:
                yield node


PEELED = ("to", "float", "cpu", "cuda", "flatten", "view", "reshape", "transpose", "permute", "squeeze", "contiguous")
"""Methods behind which a value means what it meant."""


UNSHAPED = ("to", "float", "cpu", "cuda", "contiguous")
"""Those that leave its shape, too."""


def last_layer(view: View, expr: ast.expr, peeled_: tuple[str, ...] = PEELED) -> ast.Call | None:
    """The last layer of the `Sequential` whose output a value is."""
    program = view.program
    for _ in range(5):
        expr = program.origin(expr)
        if not isinstance(expr, ast.Call):
            return None
        if last(program.path(expr.func)) in peeled_ and isinstance(expr.func, ast.Attribute):
            expr = expr.func.value
            continue
        forward = forward_of(view, expr)
        if forward is not None:
            ends = returns(forward)
            if len(ends) != 1:
                return None
            expr = ends[0]
            continue
        built = made(view, expr.func) if key(expr.func) else None
        if built is not None and last(program.path(built.func)) == "Sequential" and built.args:
            end = program.origin(built.args[-1])
            return end if isinstance(end, ast.Call) else None
        return built if built is not None and last(program.path(built.func)) == "Linear" else None
    return None


@rule("kl-of-probabilities", "S1", "loss-stagnation", "kl_div KLDivLoss",
      bad="loss = F.kl_div(F.softmax(student / T, dim=-1), F.softmax(teacher_logits / T, dim=-1), reduction='batchmean')\n",
      good=("loss = F.kl_div(F.log_softmax(student / T, dim=-1), F.softmax(teacher_logits / T, dim=-1), reduction='batchmean')\n",
            "loss = F.kl_div(F.log_softmax(student, -1), F.log_softmax(teacher_logits, -1), log_target=True, reduction='batchmean')\n"))  # fmt: skip
def kl_of_probabilities(view: View) -> Iterator[Fault]:
    """The divergence is given probabilities where it takes logarithms, or the other way round.

    Why: `kl_div` takes the logarithm of the first and, without `log_target`, not of the second: the number is no KL.
    """
    program = view.program
    for call in (*program.find("kl_div"), *criteria(view, "KLDivLoss")):
        if len(call.args) < 2:
            continue
        built = call if last(program.path(call.func)) == "kl_div" else made(view, call.func)
        logged = built is not None and given(view, built, "log_target")[1] is True
        first, second = meaning(view, call.args[0]), meaning(view, call.args[1])
        if first[0] == "probabilities":
            yield Fault(call, "the first argument of KL is to be logarithms and is probabilities",
                        "KL 的第一个参数应是对数概率，这里给的是概率", beside=(first[1],))  # pyright: ignore[reportArgumentType]  # fmt: skip
        elif second[0] == "logarithms" and not logged and built is not None and not given(view, built, "log_target")[0]:
            yield Fault(call, "the target of KL is logarithms without `log_target=True`",
                        "KL 的目标是对数概率，却没有 `log_target=True`", beside=(second[1],))  # pyright: ignore[reportArgumentType]  # fmt: skip


@rule("loss-broadcasts", "S2", "loss-stagnation", "MSELoss mse_loss L1Loss l1_loss SmoothL1Loss smooth_l1_loss HuberLoss",
      bad="""
      y = torch.from_numpy(np.log1p(frame["price"].to_numpy()))
      data = TensorDataset(x, y)
      net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
      for xb, yb in DataLoader(data, batch_size=32, shuffle=True):
          loss = nn.functional.mse_loss(net(xb), yb)
      """,
      good=("""
      y = torch.from_numpy(np.log1p(frame["price"].to_numpy()))
      data = TensorDataset(x, y)
      net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
      for xb, yb in DataLoader(data, batch_size=32, shuffle=True):
          loss = nn.functional.mse_loss(net(xb).squeeze(-1), yb)
      """, """
      y = torch.from_numpy(frame[["price"]].to_numpy())
      net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
      for xb, yb in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
          loss = nn.functional.mse_loss(net(xb), yb)
      """))  # fmt: skip
def loss_broadcasts(view: View) -> Iterator[Fault]:
    """A column of predictions is compared with a row of targets.

    Why: (B, 1) against (B,) becomes (B, B): every prediction is drawn to the mean of all targets.
    Known gaps: told only where the targets are seen to be one column, or other calls of the same net are squeezed.
    """
    program = view.program
    calls = [*program.find("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), *criteria(view, *SQUARES)]
    for call in calls:
        if len(call.args) < 2:
            continue
        sides = [(call.args[0], call.args[1]), (call.args[1], call.args[0])]
        for out, target in sides:
            if _column(view, out) and _row(view, target, call) and not _column(view, target):
                yield Fault(call, "a column of predictions (B, 1) is compared with targets (B,): they broadcast to (B, B)",
                            "预测是 (B, 1)，目标是 (B,)：广播成 (B, B)")  # fmt: skip
                break


def _column(view: View, expr: ast.expr) -> bool:
    """Whether a value is the output of a net that ends in one unit, with nothing done to its shape."""
    for node in view.program.traced(expr, 3):
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Call)
            and last(view.program.path(node.func))
            in ("squeeze", "view", "reshape", "flatten", "squeeze_", "mean", "sum", "unsqueeze")
        ):
            return False
        if isinstance(node, ast.Call) and key(node.func) and (end := last_layer(view, node, UNSHAPED)) is not None:
            width = argument(end, "out_features", 1)
            return (
                last(view.program.path(end.func)) == "Linear" and width is not None and view.program.const(width) == 1
            )
    return False


def _row(view: View, target: ast.expr, call: ast.Call) -> bool:
    """Whether targets are one column of a table, and nothing gives them a second axis."""
    program = view.program
    if re.search(r"unsqueeze|\[:, None\]|reshape\(|\.view\(|keepdim|newaxis|expand_dims|\[\[['\"]", program.text):
        return False
    name = key(target)
    data = next(program.find("TensorDataset"), None)
    if not name or data is None or len(data.args) < 2 or not any(b.how == "for" for b in program.bindings(target)):
        return False
    for node in program.traced(data.args[1], 6):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ):
            return True
    return False


@rule("fill-too-large-for-half", "S1", "precision-overflow", "masked_fill where",
      bad="""
      from torch.cuda.amp import autocast, GradScaler
      scaler = GradScaler()
      def attend(q, k, v, padding):
          scores = q @ k.transpose(-2, -1) / 8.0
          return scores.masked_fill(padding, -1e9).softmax(dim=-1) @ v
      """,
      good=("""
      from torch.cuda.amp import autocast, GradScaler
      scaler = GradScaler()
      def attend(q, k, v, padding):
          scores = q @ k.transpose(-2, -1) / 8.0
          return scores.masked_fill(padding, torch.finfo(scores.dtype).min).softmax(dim=-1) @ v
      """, """
      from torch.cuda.amp import autocast, GradScaler
      scaler = GradScaler()
      def attend(q, k, v, padding):
          scores = (q @ k.transpose(-2, -1)).float() / 8.0
          return scores.masked_fill(padding, -1e9).softmax(dim=-1) @ v
      """))  # fmt: skip
def fill_too_large_for_half(view: View) -> Iterator[Fault]:
    """Scores in half precision are filled with a number that it cannot hold.

    Why: float16 ends at 65504: PyTorch raises, or the mask becomes infinite and a row of it NaN.
    """
    program = view.program
    if not re.search(r"torch\.float16|torch\.half\b|GradScaler|\.half\(\)|fp16\s{0,4}=\s{0,4}True", program.text):
        return
    for call in program.find("masked_fill", "masked_fill_", "where"):
        on, value = receiver(call), argument(call, "value", 1)
        if last(program.path(call.func)) == "where":
            if len(call.args) != 3:
                continue
            on, value = call.args[2], call.args[1]
            made = (
                value
                if isinstance(value, ast.Call) and last(program.path(value.func)) in ("tensor", "full_like")
                else None
            )
            value = made.args[-1] if made is not None and made.args else value
        number = program.const(value) if value is not None else None
        if (
            on is None
            or not isinstance(number, (int, float))
            or isinstance(number, bool)
            or not 65504 < abs(number) < float("inf")
        ):
            continue
        product = raised = False
        for node in program.traced(on, 3):
            product |= isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
            name = last(program.path(node.func)) if isinstance(node, ast.Call) else ""
            product |= name in ("matmul", "einsum", "bmm", "baddbmm")
            raised |= (
                name in ("float", "double")
                or (name == "to" and "float32" in program.code(node))
                or (isinstance(node, ast.Attribute) and node.attr in ("float32", "bfloat16"))
            )
        off = any(re.search(r"autocast", c) for c in program.contexts(call))
        if product and not raised and not off:
            yield Fault(call, f"{number:g} does not fit float16", f"{number:g} 超出 float16 的范围")


@rule("logprobs-not-shifted", "S1", "loss-mask-misaligned", "gather",
      bad="""
      logits = model(input_ids).logits
      logps = logits.log_softmax(-1).gather(-1, input_ids.unsqueeze(-1)).squeeze(-1)
      """,
      good="""
      logits = model(input_ids).logits[:, :-1]
      logps = logits.log_softmax(-1).gather(-1, input_ids[:, 1:].unsqueeze(-1)).squeeze(-1)
      """)  # fmt: skip
def logprobs_not_shifted(view: View) -> Iterator[Fault]:
    """The probability of each token is read where the model has seen that token.

    Why: logits at a position are of the next token: these are probabilities of copying.
    """
    program = view.program
    for call in program.find("gather"):
        on = receiver(call)
        function = key(on) in ("torch", "th") if on is not None else False
        table, index = (
            (call.args[0], argument(call, "index", 2)) if function and call.args else (on, argument(call, "index", 1))
        )
        if table is None or index is None or not call.args:
            continue
        runs = [n for n in program.traced(table, 4) if isinstance(n, ast.Attribute) and n.attr == "logits"]
        runs = [n for n in runs if model_call(view, program.origin(n.value))]
        tokens = peeled(view, _all_of(index), SHAPES | {"clamp", "masked_fill"})
        fed = program.origin(runs[0].value) if runs else None
        same = (
            tokens is not None
            and isinstance(fed, ast.Call)
            and _text(program, tokens)
            in {
                _text(program, p)
                for a in (*fed.args, *(k.value for k in fed.keywords))
                for p in (a, peeled(view, a, SHAPES))
                if p is not None
            }
        )
        if same and not sliced(view, table, deep=4) and not _cut_later(view, call):
            yield Fault(
                call,
                "each token's probability is read at its own position, not at the one before",
                "在 token 自身的位置读取其概率，没有错开一位",
            )


def _all_of(expr: ast.expr) -> ast.expr:
    """`x` of `x[:, :, None]` and `x[..., None]`, which have another axis and leave nothing out."""
    while isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Tuple):
        full = (isinstance(p, ast.Slice) and not (p.lower or p.upper or p.step) for p in expr.slice.elts)
        new = (isinstance(p, ast.Constant) and p.value in (None, ...) for p in expr.slice.elts)
        if not all(f or n for f, n in zip(full, new, strict=True)):
            break
        expr = expr.value
    return expr


def _text(program: Program, node: ast.AST) -> str:
    return program.code(program.origin(node), 200)  # pyright: ignore[reportArgumentType]


def _cut_later(view: View, call: ast.Call) -> bool:
    """Whether the text around moves by a position after all."""
    return re.search(r":-1\]|, 1:\]|\[1:|roll\(|shift", whole(view.program, call)) is not None
