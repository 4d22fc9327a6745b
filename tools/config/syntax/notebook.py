"""Notebooks as Python programs: the code cells in order, without magic lines and without cells that do not parse.

The cells behind the last that ran did not; nor did any of a notebook of which no cell ran, beside one that did run.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...findings import TriageError
from ...reading import head
from . import pythonfile
from .source import MAX_BYTES, Item, Refused, Source, source

SOURCE = re.compile(r'"source"\s*:\s*(\[|"(?:[^"\\\n]|\\.)*")')
STRING = re.compile(r'\s*("(?:[^"\\\n]|\\.)*")\s*,?')
MAGIC = re.compile(r"^([ \t]*)[!%].*", re.MULTILINE)
RAN = re.compile(rb'"execution_count"\s{0,4}:\s{0,4}\d|"output_type"\s{0,4}:')
"""What stands in a file of which a cell ran."""


def idle(paths: Iterable[Path]) -> set[Path]:
    """The notebooks of a run none of whose cells ran, where those of another did: people's models and plans."""
    some = [p for p in paths if p.suffix.lower() == ".ipynb"]
    ran = {p for p in some if len(some) > 1 and _ran(p)}
    return set(some) - ran if ran else set()


def _ran(path: Path) -> bool:
    try:
        return RAN.search(head(path, MAX_BYTES["notebook"])) is not None
    except (OSError, TriageError):
        return True


def read(text: Source) -> list[Item]:
    """Settings of the code cells; their places are those of the strings that hold the code.

    Raises:
        Refused: not a notebook.
    """
    return _placed(code_lines(text), text)


def code_lines(text: Source) -> list[tuple[str, int]]:
    """The pieces of the code cells that parse, each with its offset in the file.

    Raises:
        Refused: not a notebook.
    """
    try:
        document = json.loads(text.text)
        cells = [c for c in document["cells"] if isinstance(c, dict)]
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise Refused(f"{text.name}: not a notebook: {type(error).__name__}") from None
    ran = [i for i, cell in enumerate(cells) if cell.get("cell_type") == "code" and _told(cell)]
    strings = iter(_strings(text.text))
    lines: list[tuple[str, int]] = []
    for i, cell in enumerate(cells):
        wanted = cell.get("source")
        wanted = [wanted] if isinstance(wanted, str) else wanted
        if not isinstance(wanted, list) or not all(isinstance(w, str) for w in wanted):
            continue
        placed = next((own for own in strings if [value for value, _ in own] == wanted), None)
        if placed is None:
            break
        if ran and i > ran[-1]:
            break
        if cell.get("cell_type") == "code" and _parses("".join(wanted)):
            lines += [*placed, ("\n", placed[-1][1] if placed else 0)]
    return lines


def _told(cell: dict[str, Any]) -> bool:
    """Whether a cell says that it ran."""
    return isinstance(cell.get("execution_count"), int) or bool(cell.get("outputs"))


def without_magic(line: str) -> str:
    """A piece of code of the same length in which nothing is a magic line."""
    return MAGIC.sub(lambda m: (m[1] + "pass").ljust(len(m[0])) if len(m[0]) > 4 else m[1] + "0", line)


def _strings(text: str) -> list[list[tuple[str, int]]]:
    """Every `source` of the file: its strings, decoded, with the offset of their first character."""
    out = []
    for match in SOURCE.finditer(text):
        if match[1] != "[":
            out.append([(json.loads(match[1], strict=False), match.start(1) + 1)])
            continue
        at, own = match.end(), []
        while piece := STRING.match(text, at):
            own.append((json.loads(piece[1], strict=False), piece.start(1) + 1))
            at = piece.end()
        out.append(own)
    return out


def _parses(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(MAGIC.sub(r"\1pass", code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _placed(lines: list[tuple[str, int]], text: Source) -> list[Item]:
    starts, code = [], ""
    for line, _ in lines:
        starts.append(len(code))
        code += without_magic(line)
    out = []
    for item in pythonfile.read(source(text.name, code)):
        index = bisect_right(starts, item.start) - 1
        begin = lines[index][1] + item.start - starts[index]
        end = begin + item.end - item.start
        same = text.text[begin:end] == code[item.start : item.end]
        out.append(replace(item, start=begin, end=end if same else begin))
    return out
