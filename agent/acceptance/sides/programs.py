"""What was changed in the programs that two runs both hold: the lines that do something else now.

How a program is written (comments, blank lines, order of arguments on lines) and what it prints is no change. All
edits of the programs together are one: nothing says which of them belong to each other.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from ....tools.code.files import programs
from ....tools.config.diff import Difference
from ....tools.findings import TriageError
from ....tools.patterns import bounded
from ....tools.reading import head
from ....tools.run import Artifact, Run
from ....tools.secrets import visible

MOST_FILES, MOST_BYTES = 40, 256 << 10
"""Programs that are compared, and bytes of each."""
MOST_LETTERS = 80
"""Letters of a line that are shown."""
PRINTS = bounded(r"^(?:print|log(?:ger|ging)?(?:\.\w{1,20}){0,2}|tqdm\.write|pprint)\s{0,4}\(|^(?:import|from)\s")
"""Lines that say something, or name what is used elsewhere."""

CONSTANT = bounded(r"([A-Za-z_]\w{1,40})\s{0,9}=\s{0,9}[\w.+'\"</>|-]{1,60}")
"""A constant that a program sets."""


class Place(NamedTuple):
    """An edit: what stood there, what stands there now, where in the second run."""

    old: str
    new: str
    file: str
    lines: tuple[int, ...]


def edited(before: Run, after: Run, known: Iterable[Difference]) -> Difference | None:
    """All edits of the programs as one difference, less those whose setting is known to differ; None without one."""
    known = tuple(known)
    told, named = {d.where for d in known}, [_words(d.variable) for d in known]
    old, new = ({a.name: a for a in programs(run) if a.path.suffix == ".py"} for run in (before, after))
    found = [
        place
        for name in [n for n in old if n in new][:MOST_FILES]
        for place in _edits(name, _text(old[name]), _text(new[name]))
        if not all(f"{name}:{line}" in told for line in place.lines) and not _is_setting(place, named)
    ]
    if not found:
        return None
    first, files = found[0], len({p.file for p in found})
    note = f"{len(found)} places in {files} program{'s' * (files > 1)}" if len(found) > 1 else ""
    return Difference("code", first.old or None, first.new or None, f"{first.file}:{first.lines[0]}", note)


def _is_setting(place: Place, named: Iterable[frozenset[str]]) -> bool:
    """Whether the edit gives a constant another value, and a setting of that name is known to differ."""
    sides = [CONSTANT.fullmatch(side) for side in (place.old, place.new)]
    if None in sides or len({m[1] for m in sides if m}) != 1:
        return False
    words = _words(sides[0][1]) if sides[0] else frozenset()
    return any(words <= setting for setting in named)


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", name.lower()))


def _text(artifact: Artifact) -> str:
    try:
        return head(artifact.path, MOST_BYTES).decode("utf-8", "replace")
    except (TriageError, OSError):
        return ""


def _edits(name: str, old: str, new: str) -> Iterator[Place]:
    if not old or not new or old == new or _meaning(old) == _meaning(new):
        return
    sides = [[(i, line) for i, raw in enumerate(text.split("\n"), 1) if (line := _bare(raw))] for text in (old, new)]
    matched = difflib.SequenceMatcher(None, *([line for _, line in side] for side in sides), autojunk=False)
    for what, a, b, c, d in matched.get_opcodes():
        lines = [[line for _, line in side[i:j]] for side, (i, j) in zip(sides, ((a, b), (c, d)), strict=True)]
        if what == "equal" or all(PRINTS.search(line) for line in (*lines[0], *lines[1])):
            continue
        there = sides[1][c:d] or sides[1][min(c, len(sides[1]) - 1) :][:1]
        was, now = (visible(" ".join(part))[:MOST_LETTERS] for part in lines)
        yield Place(was, now, name, tuple(i for i, _ in there) or (1,))


def _bare(line: str) -> str:
    """A line without what surrounds it, empty for a comment."""
    line = line.strip()
    return "" if line.startswith("#") else line


def _meaning(text: str) -> str:
    """The program without its layout and remarks; its text where it is no whole program."""
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        tree = ast.parse(text)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [x for x in body if not _remark(x)]  # pyright: ignore[reportAttributeAccessIssue]
        return ast.dump(tree)
    return text


def _remark(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
