"""The options that a Python program offers, with their defaults: argparse, click, typer, fire, absl."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..pytree import walk
from ..source import DEFAULT
from .values import attributes, called, defaulted, keyword

ADDING = ("add_argument", "add_option", "option")
RUNNING = ("run", "Fire", "cli", "entrypoint", "CLI")
"""Last parts of `typer.run(f)`, `fire.Fire(f)`, `tyro.cli(f)`, `jsonargparse.CLI(f)`."""
COMMANDS = ("command", "main", "cli")
"""Last parts of decorators that make a function a command."""


def options(node: ast.Call, name: str) -> list[tuple[str, ast.expr, str]] | None:
    """(option, its value, style) of a call that declares or sets some; None of any other."""
    if name in ADDING:
        flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        value = keyword(node, "default")
        return [(_spelled(flags), value, DEFAULT)] if flags and value else []
    if name.startswith("DEFINE_") and node.args and isinstance(node.args[0], ast.Constant):
        value = keyword(node, "default") or (node.args[1] if len(node.args) > 1 else None)
        return [(str(node.args[0].value), value, DEFAULT)] if value else []
    if name == "set_defaults":
        return [(k.arg, k.value, DEFAULT) for k in node.keywords if k.arg]
    if name in ("setdefault", "putenv") and attributes(node.func)[-2:-1] in (["environ"], ["os"]):
        key = node.args[0] if len(node.args) == 2 else None
        return [(str(key.value), node.args[1], "env")] if isinstance(key, ast.Constant) else []
    if name == "update" and attributes(node.func)[-2:-1] == ["environ"]:
        return [(k.arg, k.value, "env") for k in node.keywords if k.arg] + [
            (str(k.value), v, "env")
            for one in node.args if isinstance(one, ast.Dict)
            for k, v in zip(one.keys, one.values, strict=True) if isinstance(k, ast.Constant)
        ]  # fmt: skip
    return None


def called_also(node: ast.Call, name: str) -> Iterator[tuple[str, str]]:
    """(what a launch may write, the option that it is) of `add_argument("-b", "--batch-size")`, `add_argument("data")`.

    A name without dashes is told by its place; `PLACE` stands for it.
    """
    flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if name not in ADDING or not flags:
        return
    if not flags[0].startswith("-"):
        yield PLACE, flags[0]
    long = _spelled(flags)
    yield from ((f.lstrip("-"), long) for f in flags if f.startswith("-") and f.lstrip("-") != long)


PLACE = ""


def _spelled(flags: list[str]) -> str:
    """The long one of an option's names, without dashes: of `-b`, `--batch-size` the second."""
    long = [f for f in flags if f.startswith("--")]
    return max(long or flags, key=len).lstrip("-")


def is_command(top: ast.FunctionDef | ast.AsyncFunctionDef, tree: ast.Module) -> bool:
    """Whether the parameters of a function are the options of the program."""
    for one in top.decorator_list:
        path = attributes(one.func if isinstance(one, ast.Call) else one)
        if path and path[-1] in COMMANDS:
            return True
    return any(
        isinstance(n, ast.Call) and called(n) in RUNNING and n.args and isinstance(n.args[0], ast.Name)
        and n.args[0].id == top.name for n in walk(tree)
    )  # fmt: skip


def parameters(top: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function with the defaults that are given."""
    places = [*top.args.posonlyargs, *top.args.args]
    given = list(zip(places[len(places) - len(top.args.defaults) :], top.args.defaults, strict=True))
    given += [(a, d) for a, d in zip(top.args.kwonlyargs, top.args.kw_defaults, strict=True) if d is not None]
    yield from ((a.arg, defaulted(d)) for a, d in given)
