"""Rules on how a network is put together: layers that nobody trains, that are one, or that never rest."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ...source import walk
from ..look import source
from ..rule import Fault, View, rule

LAYER = re.compile(r"^(torch\.)?nn\.(modules\.\w{1,40}\.)?[A-Z]\w{1,40}$")


def layers(view: View, node: ast.AST) -> bool:
    """Whether a call makes a layer: one of PyTorch, or a module of this file."""
    if not isinstance(node, ast.Call):
        return False
    path = view.program.path(node.func)
    name = last(path)
    return (
        bool(LAYER.search(path)) and not name.endswith("Loss") and name not in ("Parameter", "Module", "Identity")
    ) or path in view.roles.modules


def module_functions(view: View, name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The methods of this name of modules of this file."""
    for function in view.program.functions.get(name, ()):
        owner = view.program.parent.get(function)
        if isinstance(owner, ast.ClassDef) and owner.name in view.roles.modules:
            yield function


@rule("layers-in-a-plain-list", "S1", "loss-stagnation", "Module",
      bad="""
      class Net(nn.Module):
          def __init__(self, n):
              super().__init__()
              self.layers = [nn.Linear(8, 8) for _ in range(n)]
          def forward(self, x):
              for layer in self.layers:
                  x = layer(x).relu()
              return x
      optimizer = torch.optim.AdamW(Net(3).parameters())
      """,
      good="""
      class Net(nn.Module):
          def __init__(self, n):
              super().__init__()
              self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(n)])
          def forward(self, x):
              for layer in self.layers:
                  x = layer(x).relu()
              return x
      optimizer = torch.optim.AdamW(Net(3).parameters())
      """)  # fmt: skip
def layers_in_a_plain_list(view: View) -> Iterator[Fault]:
    """Layers are kept in a Python list or dictionary of a module.

    Why: PyTorch does not see them: they are not trained, not moved to the device, and not saved.
    """
    program = view.program
    for function in module_functions(view, "__init__"):
        text = program.code(function, 30_000)
        for node in program.within(function):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            name = key(target)
            if target is None or not name.startswith("self.") or not _plain(view, node.value, target):  # pyright: ignore[reportAttributeAccessIssue]
                continue
            own = "|".join(re.escape(k) for k in (name, key(node.value)) if k)  # pyright: ignore[reportAttributeAccessIssue]
            own = f"(?:{own})"
            kept = re.search(
                rf"(ModuleList|ModuleDict|Sequential)\(\s{{0,9}}\*{{0,2}}{own}|add_module|setattr|register_module|{own}\s{{0,4}}=\s{{0,4}}nn\.",
                text,
            )
            also = any(b.node is not node for b in program.bindings(target, name))
            if not kept and not also and not re.search(rf"(ModuleList|Sequential)\(\s{{0,9}}\*?{own}", program.text):
                fix = (
                    (instead(node.value, f"nn.ModuleList({source(program, node.value)})"),)  # pyright: ignore[reportAttributeAccessIssue]
                    if isinstance(node.value, (ast.List, ast.ListComp)) and "nn." in program.text  # pyright: ignore[reportAttributeAccessIssue]
                    else ()
                )
                yield Fault(node, f"the layers in `{name}` are not seen by PyTorch: they are not trained",
                            f"`{name}` 里的层不会被 PyTorch 注册：不会被训练", fix)  # fmt: skip


def _plain(view: View, value: ast.expr, target: ast.expr) -> bool:
    """Whether a value is a list or dictionary of layers with weights: literal, by its name, or filled later."""
    value = view.program.origin(value) if isinstance(value, ast.Name) else value
    if isinstance(value, (ast.ListComp, ast.DictComp)):
        parts = [value.elt if isinstance(value, ast.ListComp) else value.value]
    elif isinstance(value, (ast.List, ast.Tuple)):
        parts = list(value.elts)
    elif isinstance(value, ast.Dict):
        parts = list(value.values)
    else:
        return False
    if not parts:
        put = view.program.put_into(target)
        parts = [view.program.origin(p) for p in put] if not any(_given_away(view.program, p) for p in put) else []
    weighty = re.compile(
        r"Linear|Conv|Embedding|Norm|LSTM|GRU|Attention|Transformer|Block|Layer|Encoder|Decoder|Head|MLP|Sequential"
    )
    return (
        bool(parts)
        and all(layers(view, p) for p in parts)
        and any(weighty.search(last(view.program.path(p.func))) for p in parts if isinstance(p, ast.Call))
    )


def _given_away(program: Program, put: ast.expr) -> bool:
    """Whether what is put into a list by its name is used elsewhere too: by a module that holds it as its own."""
    uses = [n for n in program.within(program.scope(put), ast.Name) if n.id == key(put) and isinstance(n.ctx, ast.Load)]
    return len(uses) > 1


@rule("layers-are-one", "S1", "loss-stagnation", "ModuleList Sequential",
      bad="""
      import torch
      block = nn.TransformerEncoderLayer(512, 8)
      encoder = nn.ModuleList([block] * 6)
      """,
      good="""
      import torch
      encoder = nn.ModuleList([nn.TransformerEncoderLayer(512, 8) for _ in range(6)])
      """)  # fmt: skip
def layers_are_one(view: View) -> Iterator[Fault]:
    """A list of layers is one layer many times.

    Why: all of them share their weights: the network has the depth, and the capacity of one.
    Known gaps: sharing may be meant; a comment or name that says so is taken at its word.
    """
    program = view.program
    for call in program.find("ModuleList", "Sequential"):
        for node in [n for a in call.args for n in walk(_listed(program, a))]:
            one = (
                node.left.elts
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List)
                else []
            )
            comp = (
                isinstance(node, (ast.ListComp, ast.GeneratorExp))
                and isinstance(node.elt, (ast.Name, ast.Attribute))
                and key(node.elt) not in {key(n) for g in node.generators for n in walk(g.target)}
            )
            value = one[0] if len(one) == 1 else node.elt if comp else None  # pyright: ignore[reportAttributeAccessIssue]
            if (
                value is None
                or not layers(view, program.origin(value))
                or re.search(
                    r"shar(e|ed|ing)|tied|tie_|same weights|universal|recurren", whole_text(program, call), re.I
                )
            ):
                continue
            if not re.search(
                r"ReLU|GELU|SiLU|Dropout|Pool|Tanh|Sigmoid|Flatten|Identity", program.code(program.origin(value))
            ):
                yield Fault(call, "the layers are one layer, many times: they share their weights",
                            "这些层其实是同一层重复多次：共享权重")  # fmt: skip
                break


def _listed(program: Program, given: ast.expr) -> ast.expr:
    """The list behind a name and a star; anything else as it is."""
    inner = given.value if isinstance(given, ast.Starred) else given
    made = program.origin(inner)
    return made if isinstance(made, (ast.List, ast.ListComp, ast.GeneratorExp, ast.BinOp)) else inner


def whole_text(program: Program, node: ast.AST) -> str:
    """The class that a node stands in, or its function."""
    owner = next((a for a in program.up(node) if isinstance(a, ast.ClassDef)), program.scope(node))
    return program.code(owner, 30_000) if not isinstance(owner, ast.Module) else program.text


WEIGHTY = re.compile(
    r"^(torch\.)?nn\.(Linear|Conv\dd|Embedding|LayerNorm|BatchNorm\dd|LSTM|GRU|MultiheadAttention|Parameter|Bilinear"
    r"|ConvTranspose\dd)$"
)
"""Layers with weights of their own."""


@rule("layer-made-in-forward", "S1", "loss-stagnation", "def forward",
      bad="""
      class Net(nn.Module):
          def __init__(self):
              super().__init__()
              self.body = nn.Linear(8, 8)
          def forward(self, x):
              return nn.Linear(8, 2)(self.body(x))
      optimizer = torch.optim.AdamW(Net().parameters())
      """,
      good="""
      class Net(nn.Module):
          def __init__(self):
              super().__init__()
              self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)
          def forward(self, x):
              return self.head(self.body(x))
      optimizer = torch.optim.AdamW(Net().parameters())
      """)  # fmt: skip
def layer_made_in_forward(view: View) -> Iterator[Fault]:
    """A layer with weights is made anew in each forward pass.

    Why: its weights are random each time, and no optimizer has them.
    """
    program = view.program
    for function in module_functions(view, "forward"):
        for node in program.within(function, ast.Call):
            if program.scope(node) is not function:
                continue
            if not WEIGHTY.search(program.path(node.func)):
                continue
            statement = program.statement(node)
            once = isinstance(statement, ast.Assign) and key(statement.targets[0]).startswith("self.")
            frozen = argument(node, "requires_grad") is not None or argument(node, "elementwise_affine") is not None
            if not once and not frozen:
                yield Fault(node, "this layer is made anew in each forward pass: it is never trained",
                            "每次前向都新建这一层：永远不会被训练")  # fmt: skip


@rule("dropout-always-on", "S1", "eval-harness-drift", "dropout( dropout1d( dropout2d( dropout3d(",
      bad="""
      import torch.nn.functional as F
      class Net(nn.Module):
          def forward(self, x):
              return self.head(F.dropout(self.body(x), p=0.3))
      """,
      good="""
      import torch.nn.functional as F
      class Net(nn.Module):
          def forward(self, x):
              return self.head(F.dropout(self.body(x), p=0.3, training=self.training))
      """)  # fmt: skip
def dropout_always_on(view: View) -> Iterator[Fault]:
    """`F.dropout` is not told whether the model trains.

    Why: its default is that it does: dropout stays on in evaluation, whatever `eval()` says.
    """
    program = view.program
    for call in program.find("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"):
        path = program.path(call.func)
        function = program.scope(call)
        if (
            not re.search(r"(^F|functional)\.\w{1,20}$", path)
            or argument(call, "training", 2) is not None
            or any(k.arg is None for k in call.keywords)
        ):
            continue
        guarded = any("training" in program.code(t) for t, _, _ in program.guards(call)) or any(
            isinstance(a, ast.IfExp) and "training" in program.code(a.test) for a in program.up(call)
        )
        if isinstance(function, FUNCTIONS) and not guarded and isinstance(program.parent.get(function), ast.ClassDef):
            text = source(program, call)
            fix = (
                (instead(call, f"{text[:-1]}, training=self.training)"),)
                if "\n" not in text and key(receiver(call)) in ("F", "functional")
                else ()
            )
            yield Fault(call, "`F.dropout` without `training=`: it stays on in evaluation",
                        "`F.dropout` 没有传 `training=`：评测时仍然生效", fix)  # fmt: skip


@rule("parameter-not-registered", "S1", "loss-stagnation", "Parameter(",
      bad="""
      class Net(nn.Module):
          def __init__(self):
              super().__init__()
              self.scale = nn.Parameter(torch.ones(8)).cuda()
      """,
      good="""
      class Net(nn.Module):
          def __init__(self):
              super().__init__()
              self.scale = nn.Parameter(torch.ones(8, device="cuda"))
      """)  # fmt: skip
def parameter_not_registered(view: View) -> Iterator[Fault]:
    """A parameter is moved or scaled where it is made.

    Why: what is kept is the result, a plain tensor: it is in no optimizer and no checkpoint.
    """
    program = view.program
    for function in module_functions(view, "__init__"):
        for node in program.within(function):
            if not isinstance(node, ast.Assign) or not key(node.targets[0]).startswith("self."):
                continue
            value = node.value
            on = (
                receiver(value)
                if isinstance(value, ast.Call)
                and last(program.path(value.func))
                in ("to", "cuda", "half", "float", "clone", "bfloat16", "unsqueeze", "view")
                else None
            )
            sides = [value.left, value.right] if isinstance(value, ast.BinOp) else [on]
            if any(
                isinstance(s, ast.Call) and program.path(s.func).endswith("nn.Parameter")
                for s in sides
                if s is not None
            ):
                yield Fault(node, f"`{key(node.targets[0])}` is a plain tensor, not a parameter",
                            f"`{key(node.targets[0])}` 是普通张量，不是参数")  # fmt: skip


@rule("exp-without-maximum", "S2", "unstable-op", "exp(",
      bad="""
      def attend(q, k, v):
          s = q @ k.transpose(-1, -2)
          w = torch.exp(s) / torch.exp(s).sum(-1, keepdim=True)
          return w @ v
      """,
      good="""
      def attend(q, k, v):
          s = q @ k.transpose(-1, -2)
          e = torch.exp(s - s.max(-1, keepdim=True).values)
          return (e / e.sum(-1, keepdim=True)) @ v
      """)  # fmt: skip
def exp_without_maximum(view: View) -> Iterator[Fault]:
    """A softmax is written out without taking the largest value off first, nor anything added to its sum.

    Why: exp overflows above 88 in fp32 and above 11 in fp16, and a row that is masked whole is zero by zero.
    """
    program = view.program
    for above in (n for n in program.each(ast.BinOp) if isinstance(n.op, ast.Div)):
        named = isinstance(above.right, ast.Name)
        call = program.origin(above.right) if named else above.right
        if not isinstance(call, ast.Call) or last(key(call.func) or program.path(call.func)) != "sum":
            continue
        on = receiver(call)
        total = on if on is not None and key(on) != "torch" else next(iter(call.args), None)
        value = program.origin(total) if total is not None else None
        if not isinstance(value, ast.Call) or last(key(value.func)) != "exp":
            continue
        if named and program.origin(above.left) is not value:
            continue
        shifted = value.args[0] if value.args else receiver(value)
        less = [n for n in program.traced(shifted, 2)] if shifted is not None else []
        taken = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in less)
        if not taken and not any(
            last(key(n.func)) in ("clamp", "clip", "logsumexp") for n in less if isinstance(n, ast.Call)
        ):
            yield Fault(above, "a softmax is written out without taking the largest value off first",
                        "手写 softmax 没有先减去最大值")  # fmt: skip
            return
