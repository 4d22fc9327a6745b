"""Makefiles as shell scripts: variables become assignments, recipe lines commands, `$(X)` becomes `${X}`.

Conditionals, functions and rules that make would choose from are not followed: every recipe speaks.
"""

from __future__ import annotations

import re

from .shellwords import Traced

VARIABLE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*(?:\?|:{1,3}|\+)?=\s*(.*)")
EXPANSION = re.compile(r"\$\(([A-Za-z_]\w*)\)")


def as_shell(text: str) -> Traced:
    """The makefile as a script whose characters remember their place."""
    out: list[str] = []
    at: list[int] = []
    begin, recipe, continued = 0, False, False
    for line in text.splitlines(keepends=True):
        body = line.rstrip("\r\n")
        if line.startswith("\t") or (continued and recipe):
            recipe = True
            skip = len(body) - len(body.lstrip("\t " if continued else "\t @-"))
            _copy(text, begin + skip, begin + len(line), out, at)
        elif match := VARIABLE.fullmatch(body):
            recipe = False
            quote = "" if body.endswith("\\") else '"'
            _copy(text, begin + match.start(1), begin + match.end(1), out, at)
            _write("=" + quote, out, at)
            _copy(text, begin + match.start(2), begin + len(body.rstrip()), out, at)
            _write(quote + "\n", out, at)
        else:
            recipe = False
            _write("\n", out, at)
        continued = body.endswith("\\")
        begin += len(line)
    return Traced("".join(out), at)


def _write(text: str, out: list[str], at: list[int]) -> None:
    out.append(text)
    at.extend([-1] * len(text))


def _copy(text: str, start: int, end: int, out: list[str], at: list[int]) -> None:
    """Text of the file, with the shell's brackets and `$$` as the shell's `$`."""
    last = start
    for match in re.finditer(r"\$\$", text[start:end]):
        middle = start + match.start() + 1
        out.append(EXPANSION.sub(r"${\1}", text[last:middle]))
        at.extend(range(last, middle))
        last = middle + 1
    out.append(EXPANSION.sub(r"${\1}", text[last:end]))
    at.extend(range(last, end))
