"""Rows that one program makes several of each and writes, and that another reads and splits at random."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from ....config.syntax.source import Refused
from ....findings import Evidence, Finding, Severity
from ...program import Program, last, receiver
from ...source import Parsed, read
from ..apart.multiplied import DEEP, SOUND, SPLITS, multiplied, splits
from ..rule import RULES

CODE = "split-after-duplication"
WRITES = ("to_csv", "to_json", "to_parquet", "to_excel", "to_pickle", "save_to_disk", "dump", "write_text", "writerows")
"""Calls that write rows: of the rows, or with the rows as their first argument."""
MOST = 40
"""Programs that are looked at."""
SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".pkl", ".txt", "")
"""Ends of names of files with rows; a folder has none."""


def split_elsewhere(files: Iterable[tuple[Path, str]]) -> list[Finding]:
    """Every split of rows that another program of the run had multiplied; the files are told by their names."""
    parsed = [p for path, name in [*files][:MOST] if (p := _parsed(path, name)) is not None]
    drawn = [p for p in parsed if any(w in p.text for w in SPLITS) and not SOUND.search(p.text)]
    writing = [p for p in parsed if any(w in p.text for w in WRITES)] if drawn else []
    made: dict[str, tuple[Parsed, ast.AST]] = {}
    for one in writing:
        with suppress(RecursionError):
            made |= {name: (one, node) for name, node in _written(Program(one))}
    found: list[Finding] = []
    for one in drawn if made else ():
        with suppress(RecursionError):
            hits = (f for f in _drawn(one, made) if f is not None)
            found += [f for f in hits][:1]
    return found


def _parsed(path: Path, name: str) -> Parsed | None:
    try:
        return read(path, name)
    except Refused:
        return None


def _written(program: Program) -> Iterator[tuple[str, ast.AST]]:
    """(name of a file, what multiplied its rows) of what a program writes."""
    for call in program.find(*WRITES):
        first = call.args[0] if call.args else None
        of_rows = last(program.path(call.func)).startswith(("to_", "save_"))
        rows = receiver(call) if of_rows else first
        names = [n for a in (call.args if of_rows else call.args[1:]) for n in _files(program, a)]
        node = multiplied(program, rows) if rows is not None and names else None
        if node is not None:
            yield from ((name, node) for name in names)


def _files(program: Program, expr: ast.expr) -> list[str]:
    """The last parts of the paths that stand in an expression, and in what its names stand for."""
    out = []
    for node in program.traced(expr, 2):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) < 300:
            path = PurePosixPath(node.value)
            if path.suffix.lower() in SUFFIXES and (path.suffix or "/" in node.value) and len(path.name) > 4:
                out.append(path.name)
    return out


def _drawn(parsed: Parsed, made: dict[str, tuple[Parsed, ast.AST]]) -> Iterator[Finding | None]:
    """The splits of a program whose rows come from a file that another one wrote."""
    program = Program(parsed)
    for call, data in splits(program):
        calls = (n for n in program.traced(data, DEEP) if isinstance(n, ast.Call))
        reads = [c for c in calls if last(program.path(c.func)) not in SPLITS]
        given = (a for c in reads for a in (*c.args, *(k.value for k in c.keywords)))
        names = {name for a in given for name in _files(program, a)}
        for name in sorted(names & set(made)):
            writer, node = made[name]
            if writer.name != parsed.name:
                yield _told(parsed, call, writer, node, name)


def _told(parsed: Parsed, call: ast.AST, writer: Parsed, node: ast.AST, name: str) -> Finding:
    return Finding(
        CODE, Severity(RULES[CODE].severity),
        f"{writer.name} makes several rows of each and writes {name}; {parsed.name} draws the held-out part of it by "
        "rows: variants of one sample, with one answer, stand on both sides.",
        f"{writer.name} 把每条样本变成多条并写入 {name}；{parsed.name} 再按行随机划分："
        "同一样本的变体会同时落入训练集和测试集。",
        (_place(parsed, call), _place(writer, node)), {"entry": RULES[CODE].entry, "file": name},
    )  # fmt: skip


def _place(parsed: Parsed, node: ast.AST) -> Evidence:
    row = node.lineno  # type: ignore[attr-defined]
    return Evidence(parsed.name, parsed.line(row), text=parsed.lines[row - 1].strip()[:200])
