"""Makefiles as shell scripts: variables become assignments, recipe lines commands, `$(X)` becomes `${X}`.

Conditionals, functions and rules that make would choose from are not followed: every recipe speaks.
"""

from __future__ import annotations

import re

from .shellsyntax import Traced

VARIABLE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*(?:\?|:{1,3}|\+)?=\s*(.*)")
EXPANSION = re.compile(r"\$\(([A-Za-z_]\w*)\)")


def as_shell(text: str) -> Traced:
    """The makefile as a script whose characters remember their place."""
    whole = Traced(text, range(len(text)))
    out, at, recipe = Traced("", []), 0, False
    for line in text.splitlines(keepends=True):
        piece, body = whole[at : at + len(line)], line.rstrip("\r\n")
        at += len(line)
        continued = out.text.endswith("\\\n")
        if line.startswith("\t") or (continued and recipe):
            recipe = True
            skip = len(body) - len(body.lstrip("\t @-" if not continued else "\t "))
            out = out + _expanded(piece[skip:])
        elif match := VARIABLE.fullmatch(body):
            recipe = False
            value = piece[match.start(2) : len(body)].strip()
            quote = "" if body.endswith("\\") else '"'
            out = out + piece[match.start(1) : match.end(1)] + _written("=" + quote) + _expanded(value)
            out = out + _written(quote + "\n")
        else:
            recipe = False
            out = out + _written("\n")
    return out


def _written(text: str) -> Traced:
    return Traced(text, [-1] * len(text))


def _expanded(piece: Traced) -> Traced:
    text = EXPANSION.sub(r"${\1}", piece.text)
    piece = Traced(text, piece.at)
    while (at := piece.text.find("$$")) >= 0:
        piece = piece[:at] + Traced("$", [piece.at[at]]) + piece[at + 2 :]
        if "$$" not in piece.text:
            break
    return piece
