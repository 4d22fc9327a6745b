"""Rules on how adapters start and on the terms of variational models."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import key, last, receiver
from ...source import walk
from ..look import source
from ..rule import Fault, View, rule
from .layers import module_functions, whole_text
from .ways import class_methods


@rule("adapter-starts-dead", "S1", "finetune-no-effect", "lora adapter Adapter",
      bad="""
      class LoRALinear(nn.Module):
          def __init__(self, base, r):
              super().__init__()
              self.base = base
              self.lora_A = nn.Parameter(torch.zeros(r, base.in_features))
              self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
      """,
      good="""
      class LoRALinear(nn.Module):
          def __init__(self, base, r):
              super().__init__()
              self.base = base
              self.lora_A = nn.Parameter(torch.randn(r, base.in_features) * 0.01)
              self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
      """)  # fmt: skip
def adapter_starts_dead(view: View) -> Iterator[Fault]:
    """Both matrices of a low-rank adapter start at zero, or neither does.

    Why: with two zeros each one's gradient is zero for ever; with none the model starts out disturbed.
    """
    program = view.program
    for function in module_functions(view, "__init__"):
        pairs: dict[str, tuple[ast.AST, str]] = {}
        for node in program.within(function):
            target = key(node.targets[0]) if isinstance(node, ast.Assign) else ""
            found = re.fullmatch(r"self\.(?:lora_?|adapter_?)?(A|B|a|b|down|up)(?:_?weight)?", target)
            if found and isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                side = found[1].lower().replace("down", "a").replace("up", "b")
                pairs[side] = (node, _start(view, function, target, node.value))
        if set(pairs) == {"a", "b"} and re.search(r"lora|low.?rank|adapter|alpha", whole_text(program, function), re.I):
            starts = {s for _, s in pairs.values()}
            if starts == {"zero"} or starts == {"random"}:
                what = ("both matrices start at zero: neither ever gets a gradient", "两个矩阵都从零开始：梯度永远为零") if starts == {"zero"} else (
                    "neither matrix starts at zero: the adapter disturbs the model from the first step", "两个矩阵都不从零开始：一开始就扰动模型")  # fmt: skip
                yield Fault(pairs["b"][0], *what, severity="" if starts == {"zero"} else "S2", beside=(pairs["a"][0],))


def _start(view: View, function: ast.AST, name: str, value: ast.Call) -> str:
    """`zero`, `random` or nothing known of what a matrix starts as."""
    program = view.program
    text = program.code(value)
    methods = class_methods(view, function.body[0])  # pyright: ignore[reportAttributeAccessIssue]
    bodies = "\n".join(
        program.code(m, 8000)
        for m in methods.values()
        if m.name in ("__init__", "reset_parameters", "_init_weights", "reset", "init_weights")
    )
    own = re.escape(name)
    later = re.findall(rf"init\.(\w{{1,30}})\(\s{{0,9}}{own}(?:\.weight)?\b", bodies) or re.findall(
        rf"{own}(?:\.weight)?\.data\.(\w{{1,20}})\(", bodies
    )
    if later:
        return "zero" if later[-1].startswith("zero") else "random"
    if re.search(r"zeros\(", text):
        return "zero"
    return "random" if re.search(r"randn|rand\(|normal|nn\.Linear", text) else ""


@rule("deviation-from-variance", "S1", "loss-oscillation", "logvar log_var",
      bad="""
      def reparameterise(mu, logvar):
          std = torch.exp(logvar)
          return mu + std * torch.randn_like(std)
      """,
      good="""
      def reparameterise(mu, logvar):
          std = torch.exp(0.5 * logvar)
          return mu + std * torch.randn_like(std)
      """)  # fmt: skip
def deviation_from_variance(view: View) -> Iterator[Fault]:
    """A standard deviation is made from the logarithm of a variance without its half.

    Why: samples are spread as the variance: far too wide or too narrow, and the KL no longer fits.
    """
    program = view.program
    for call in program.find("exp"):
        value = call.args[0] if call.args else receiver(call)
        statement = program.statement(call)
        name = key(statement.targets[0]) if isinstance(statement, ast.Assign) and statement.value is call else ""
        if (
            value is not None
            and re.search(r"(^|_)log_?var(iance)?$", last(key(value)))
            and re.search(r"(^|_)(std|sigma|stddev)$", last(name))
        ):
            yield Fault(call, f"`{name}` is the variance: the half of the logarithm is missing", f"`{name}` 其实是方差：对数少了一半",
                        (instead(value, f"0.5 * {source(program, value)}"),))  # fmt: skip


@rule("divergence-sign-flipped", "S1", "loss-oscillation", "logvar log_var",
      bad="""
      kl = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
      loss = reconstruction + kl
      """,
      good=("""
      kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
      loss = reconstruction + kl
      """, """
      kl = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
      loss = reconstruction - kl
      """))  # fmt: skip
def divergence_sign_flipped(view: View) -> Iterator[Fault]:
    """The divergence of a variational model has lost its minus, and is added to the loss.

    Why: the model is paid for moving away from the prior: the loss falls without end.
    """
    program = view.program
    for node in program.each(ast.Assign):
        if not re.search(r"(^|_)(kl|kld|kl_loss|kl_div)(_|$)", last(key(node.targets[0])), re.I):
            continue
        text = re.sub(r"\s", "", source(program, node.value))
        if re.search(r"1(\.0)?\+(\w+\.)*log_?var-", text) and re.search(
            r"-(\w+\.)*log_?var\.exp\(\)|-torch\.exp\((\w+\.)*log_?var\)", text
        ):
            negative = any((isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub)) for n in walk(node.value))
            name = re.escape(key(node.targets[0]))
            used = re.search(
                rf"-\s{{0,4}}(\w{{1,30}}\s{{0,4}}\*\s{{0,4}})?{name}\b|{name}\s{{0,4}}\*=\s{{0,4}}-", program.text
            )
            if not negative and not used:
                yield Fault(node, "the divergence lacks its minus: moving away from the prior is rewarded",
                            "KL 少了负号：偏离先验反而被奖励")  # fmt: skip


@rule("weights-drawn-with-unit-spread", "S2", "bad-init", "normal_",
      bad="""
      class Split(nn.Module):
          def __init__(self, width, out, ranks):
              super().__init__()
              self.kernel = nn.Parameter(torch.empty(out // ranks, width))
              torch.nn.init.normal_(self.kernel)
          def forward(self, x):
              return F.linear(x, self.kernel)
      """,
      good=("""
      class Split(nn.Module):
          def __init__(self, width, out, ranks):
              super().__init__()
              self.kernel = nn.Parameter(torch.empty(out // ranks, width))
              torch.nn.init.normal_(self.kernel, std=0.02)
          def forward(self, x):
              return F.linear(x, self.kernel)
      """, """
      class Table(nn.Module):
          def __init__(self, words, width):
              super().__init__()
              self.weight = nn.Parameter(torch.empty(words, width))
              nn.init.normal_(self.weight)
          def forward(self, ids):
              return F.embedding(ids, self.weight)
      """))  # fmt: skip
def weights_drawn_with_unit_spread(view: View) -> Iterator[Fault]:
    """The weights of a layer are drawn with a standard deviation of 1: `normal_` without one.

    Why: the outputs grow with the square root of the width: logits and loss begin at many times that of guessing.
    Known gaps: weights that another file draws again, or loads; vectors and tables of embeddings, which start so.
    """
    program = view.program
    if program.mentions("from_pretrained", "load_state_dict"):
        return
    for call in program.find("normal_"):
        of_module = ".init.normal_" in f".{program.path(call.func)}" and len(call.args) == 1
        target = call.args[0] if of_module else receiver(call) if not call.args else None
        if target is None or call.keywords or not _of_a_layer(view, call, key(target).removesuffix(".data")):
            continue
        text, drawn = source(program, call), "std=0.02" if of_module else "0.0, 0.02"
        fix = (instead(call, f"{text[:-1]}{', ' if of_module else ''}{drawn})"),)
        yield Fault(call, f"`{key(target)}` is drawn with a standard deviation of 1: the layer multiplies what it is given",
                    f"`{key(target)}` 以标准差 1 初始化：该层会把输入成倍放大", fix)  # fmt: skip


def _of_a_layer(view: View, call: ast.Call, name: str) -> bool:
    """Whether a name is the matrix of a layer: by the guard around the call, or by its shape and use in the class."""
    program = view.program
    tests = " ".join(program.code(test) for test, taken, _ in program.guards(call) if taken)
    if not name.startswith("self."):
        return name.endswith(".weight") and "Linear" in tests and "mbed" not in tests
    owner = next((n for n in program.up(call) if isinstance(n, ast.ClassDef)), None)
    text = program.code(owner, 20_000) if owner is not None else ""
    own = re.escape(name)
    matrix = re.search(
        rf"{own}\s{{0,4}}=[^\n]{{0,60}}Parameter\([^\n]{{0,40}}empty\(\s{{0,4}}[^,()\n]{{1,60}},\s{{0,4}}[^,()=\n]",
        text,
    )
    used = re.search(
        rf"linear\([^\n]{{0,80}},\s{{0,4}}{own}|matmul\([^\n]{{0,80}}{own}|@\s{{0,4}}{own}|{own}(?:\.T|\.t\(\))?\s{{0,4}}@|einsum\([^\n]{{0,120}}{own}",
        text,
    )
    return bool(matrix and used and "mbedding(" not in text)
