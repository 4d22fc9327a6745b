"""Rules on numbers that 16 bits cannot hold: positions, and what is to keep a division from zero."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ..look import model_call
from ..rule import Fault, View, rule
from ..steps.half import half

SMALLEST = 3e-8
"""What is smaller becomes 0 in float16."""
WIDE = frozenset(("float", "double"))
LOW = frozenset(("half", "bfloat16"))
COUNTED = ("arange", "cumsum", "linspace")
"""Calls that give positions."""
RISKY = frozenset(("log", "sqrt", "rsqrt", "log2", "reciprocal"))
"""Functions that are infinite at 0."""
SAME = frozenset(("softmax", "sigmoid", "exp", "relu", "norm", "var", "std", "mean", "sum", "detach", "abs", "square", "pow",
                  "view", "reshape", "transpose", "squeeze", "unsqueeze", "flatten", "clone", "contiguous", "max", "min",
                  "gather", "clamp", "prod", "amax", "chunk"))  # fmt: skip
"""Calls that give what is as wide as what they are given."""


@rule("epsilon-lost-in-half", "S1", "unstable-op", "float16 half Half",
      bad="""
      import torch
      def distance(student, teacher):
          p = torch.softmax(teacher.half(), dim=-1)
          q = torch.softmax(student.half(), dim=-1)
          return (p * (torch.log(p + 1e-8) - torch.log(q + 1e-8))).sum(-1).mean()
      """,
      good="""
      import torch
      def distance(student, teacher):
          p = torch.softmax(teacher.float(), dim=-1)
          q = torch.softmax(student.float(), dim=-1)
          return (p * (torch.log(p + 1e-8) - torch.log(q + 1e-8))).sum(-1).mean()
      """)  # fmt: skip
def epsilon_lost_in_half(view: View) -> Iterator[Fault]:
    """What keeps a division or a logarithm from zero is itself zero in float16.

    Why: float16 ends at 6e-8: `p + 1e-8` is `p`, the logarithm of a small probability is minus infinity, and its gradient
    NaN.
    Known gaps: told only where the program says that the value is float16; under autocast such functions run in float32.
    """
    program = view.program
    for node in (*program.each(ast.BinOp), *program.find("clamp", "clamp_", "clamp_min", "maximum")):
        value, small = _guarded(program, node)
        number = _number(program, small) if small is not None else None
        if value is None or number is None or not 0 < number < SMALLEST or not _needs(program, node):
            continue
        if _in_half(view, value):
            yield Fault(
                node,
                f"{number:g} is 0 in float16: nothing keeps this from zero",
                f"{number:g} 在 float16 中就是 0：起不到保护作用",
            )
            return


def _guarded(program: Program, node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """(value, the small number) of `x + eps`, `x.clamp(min=eps)`."""
    if isinstance(node, ast.BinOp):
        return (node.left, node.right) if isinstance(node.op, ast.Add) else (None, None)
    if isinstance(node, ast.Call):
        of_module = key(receiver(node)) == "torch"
        value = node.args[0] if of_module and node.args else receiver(node)
        return value, argument(node, "min", 1 if of_module else 0)
    return None, None


def _number(program: Program, expr: ast.expr) -> float | None:
    """A small number as it is written, by its name, by default, or as a constant of the class."""
    found = program.usually(expr)
    if found is None and isinstance(expr, ast.Attribute) and key(expr.value) in ("self", "cls"):
        owner = next((n for n in program.up(expr) if isinstance(n, ast.ClassDef)), None)
        body = owner.body if owner is not None else ()
        found = next(
            (program.const(s.value) for s in body if isinstance(s, ast.Assign) and key(s.targets[0]) == expr.attr), None
        )
    return found if isinstance(found, float) else None


def _needs(program: Program, node: ast.AST) -> bool:
    """Whether a value is divided by, or goes where 0 is infinite."""
    above = program.parent.get(node)
    while isinstance(above, ast.Attribute) or (isinstance(above, ast.Call) and above.func is node):
        if isinstance(above, ast.Attribute) and above.attr in RISKY:
            return True
        node, above = above, program.parent.get(above)
    if isinstance(above, ast.BinOp):
        return isinstance(above.op, ast.Div) and above.right is node
    return isinstance(above, ast.Call) and last(program.path(above.func)) in RISKY


def _in_half(view: View, expr: ast.expr, deep: int = 8) -> bool:
    """Whether a value is float16, as the program says on its way."""
    program = view.program
    if not deep:
        return False
    if isinstance(expr, ast.BinOp):
        return _in_half(view, expr.left, deep - 1) or _in_half(view, expr.right, deep - 1)
    if isinstance(expr, ast.Subscript) and not key(expr):
        return _in_half(view, expr.value, deep - 1)
    if isinstance(expr, ast.Call):
        return _call_in_half(view, expr, deep)
    found = program.binding(expr)
    if found is None:
        return isinstance(expr, (ast.Subscript, ast.Attribute)) and _in_half(view, expr.value, deep - 1)
    if found.how == "parameter":
        given = program.given(found, key(expr))
        return _annotated_half(found.node, key(expr)) or (given is not None and _in_half(view, given, deep - 1))
    return found.how == "assign" and found.value is not None and _in_half(view, found.value, deep - 1)


def _call_in_half(view: View, call: ast.Call, deep: int) -> bool:
    program, name, on = view.program, last(view.program.path(call.func)), receiver(call)
    typed = argument(call, "dtype")
    if typed is not None:
        return half(program, typed)
    if name in ("to", "type") and call.args and not isinstance(call.args[0], ast.Constant):
        if half(program, call.args[0]):
            return True
        if re.search(r"float32|float64", program.code(call.args[0])):
            return False
    if name == "half" or (model_call(view, call) and _half_model(program, call.func)):
        return True
    if name in WIDE or name == "bfloat16":
        return False
    inner = (
        on if on is not None and key(on) not in ("torch", "F", "torch.nn.functional") else next(iter(call.args), None)
    )
    return name in SAME | {"to", "cuda", "type"} and inner is not None and _in_half(view, inner, deep - 1)


def _half_model(program: Program, func: ast.expr) -> bool:
    """Whether a model was made in float16."""
    for node in program.traced(func, 3):
        if isinstance(node, ast.Call):
            told = argument(node, "torch_dtype") or argument(node, "dtype")
            if last(program.path(node.func)) == "half" or half(program, told):
                return True
    return False


def _annotated_half(function: ast.AST, name: str) -> bool:
    arguments = function.args if isinstance(function, FUNCTIONS) else None
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if arguments is not None else ()
    said = next((a.annotation for a in every if a.arg == name), None)
    return last(key(said)) == "HalfTensor"
