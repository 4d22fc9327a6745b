"""Tables of a paper's source as those of notes: each row of two cells on its own line, everything else blank.

Captions and headings stay as headings, so that a table of baselines is told by its own.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ...patterns import bounded
from ..syntax.source import Source

_HEADING = bounded(r"\\(?:caption|(?:sub){0,2}section|paragraph)\*?\{([^{}\n]{1,300})")
_CELL = re.compile(r"(?<!\\)&")
_END = bounded(r"\\\\(?:\[[^\]\n]{0,20}\])?\s*(?:\\\w{1,20}(?:\{[^}\n]{0,20}\})?\s*)*(?:%.*)?$")
_COMMAND = bounded(r"\\(?:text\w{0,4}|mathrm|mathbf|emph|num|SI|texttt)\{([^{}\n]{0,200})\}")
_LETTERS = {"beta": "β", "epsilon": "ε", "varepsilon": "ε", "gamma": "γ", "lambda": "λ", "alpha": "α", "theta": "θ"}
_LETTER = bounded(rf"\\({'|'.join(_LETTERS)})(?:_\{{?(\d)\}}?)?(?![A-Za-z])")
_POWER = bounded(r"(?<![\d.])(?<!times )(?<!cdot )(?<!times)(?<!cdot)10\s?\^\s?\{?(-?\d{1,3})\}?")
_LEFT = (("{,}", ""), ("\\,", ""), ("\\pm", ""), ("\\%", "%"), ("\\_", "_"), ("\\&", "and"), ("~", " "), ("$", ""))


def as_notes(source: Source) -> Source:
    """The text with its tables as rows between bars; every line keeps its number."""
    return replace(source, text="\n".join(_line(line) for line in source.text.split("\n")))


def _line(line: str) -> str:
    if line.lstrip().startswith("%"):
        return ""
    if found := _HEADING.search(line):
        return f"## {found[1]}"
    end = _END.search(line)
    cells = _CELL.split(line[: end.start()]) if end else []
    return f"| {' | '.join(_plain(cell) for cell in cells)} |" if len(cells) > 1 else ""


def _plain(cell: str) -> str:
    text = _LETTER.sub(lambda m: _LETTERS[m[1]] + (m[2] or ""), cell)
    text = _POWER.sub(r"1e\1", _COMMAND.sub(r"\1", text))
    for written, said in _LEFT:
        text = text.replace(written, said)
    return text.strip()
