"""What may be looked at in a case: read-only tools over what was read and over the files themselves, each bounded.

The same tools serve a model and, over MCP, coding agents. Files are named as the listing names them; no other path is
opened, nothing is run, and every text leaves cleaned. What would run a person's command stays with the person.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...knowledge.search import Index
from ...tools.findings import TriageError, clean
from ...tools.looking.calc import calc
from ...tools.looking.lines import WIDE, lines_at
from ...tools.looking.search import head_lines, matches, understood
from ...tools.looking.told import exact, measured, moved
from ...tools.relate.line import plain
from ...tools.relate.moves import level
from ...tools.relate.relate import Related
from ...tools.series import Series
from ...tools.store.answering import Limits
from ...tools.store.store import Described, Store
from ..evidence import Look, read_logs
from ..store import store_of

LONGEST = 3_000
"""Characters of one result, about 1,000 tokens: five of them and the evidence fit a context of 8k."""
MOST_LINES, LISTED, SHOWN = 80, 60, 8
"""Lines of one `read`, files of one listing, rows of a kind in one result."""
SECONDS = 10.0
"""Longest one tool looks."""
ROWS = 30
"""Rows of one query that are shown."""


@dataclass
class Toolbox:
    """The tools, bound to what was read of one case; `close` ends the store.

    Args:
        look: what the tools saw; None for a case without a run.
        books: the runbook.
        lang: of the runbook's words.
    """

    look: Look | None
    books: Callable[[], Index]
    lang: str = "en"
    _open: ExitStack = field(default_factory=ExitStack)

    def tools(self) -> dict[str, Callable[..., str]]:
        """By name, in the order in which they are told."""
        return {f.__name__: f for f in (self.files, self.read, self.grep, self.sql, self.relate, self.compare,
                                        self.calc, self.runbook)}  # fmt: skip

    def call(self, name: str, args: Mapping[str, Any]) -> str:
        """The bounded result of one call, or the reason why there is none."""
        try:
            return self.asked(name, args)
        except TriageError as error:
            return clean(str(error), 600)

    def asked(self, name: str, args: Mapping[str, Any]) -> str:
        """The bounded result of one call; arguments that the tool does not have are ignored.

        Raises:
            TriageError: there is no such tool, or nothing to give, and why.
        """
        tool = self.tools().get(name)
        if tool is None:
            raise TriageError(f"there is no tool {clean(name, 40)!r}; there are {', '.join(self.tools())}")
        known = tool.__annotations__.keys() - {"return"}
        try:
            text = tool(**{k: v for k, v in args.items() if k in known})
        except (TypeError, ValueError) as error:
            raise TriageError(f"{name}: bad arguments ({clean(str(error), 160)})") from None
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… over the limit of {LONGEST} characters"

    def close(self) -> None:
        self._open.close()

    def files(self) -> str:
        """List every file of the run: what it was read as, its rows and points, or why it was not read."""
        covered = self._seen.coverage
        lines = [
            f"{clean(c.file, 120)}: {c.read_as or 'NOT READ'}"
            + (f", {c.rows} rows" if c.rows else "")
            + (f", {c.points} points" if c.points else "")
            + (f" ({clean(c.why, 120)})" if c.why else "")
            for c in sorted(covered, key=lambda c: c.read_as is not None)[:LISTED]
        ]
        return _joined(lines, len(covered) - LISTED)

    def read(self, file: str, first: int = 1, last: int = 0) -> str:
        """Lines of one file, with their numbers; at most 80, of few the longer ones.

        Args:
            file: a name from `files`.
            first: number of the first line, counted from 1.
            last: number of the last line; 0 for the 40 lines from the first on.
        """
        first = max(1, int(first))
        last = min(int(last) or first + 39, first + MOST_LINES - 1)
        found = lines_at(self._path(file), range(first, last + 1))
        if 0 < len(found) < LONGEST // (2 * WIDE):
            found = lines_at(self._path(file), range(first, last + 1), LONGEST // len(found) - len(file[:120]) - 12)
        return "\n".join(f"{clean(file, 120)}:{n}: {text}" for n, text in found) or f"no line {first} to {last}"

    def grep(self, pattern: str, file: str = "") -> str:
        """Search the lines of the run's files: count, first and last match of each file and rank.

        Args:
            pattern: a regular expression (RE2: no look-around, no back-references); (?i) ignores case.
            file: a name from `files`; empty for all files.
        """
        names = [file] if file else [n for n, p in self._paths.items() if p.is_file()]
        understood(pattern)
        end, out, more = time.monotonic() + SECONDS, list[str](), 0
        for name in names:
            if time.monotonic() > end:
                out.append(f"stopped: over the limit of {SECONDS:g} s")
                break
            try:
                count, wanted, whole = matches(self._path(name), pattern, end, SHOWN if file else 2)
            except TriageError as error:
                if file:
                    raise
                out.append(f"{clean(name, 120)}: {clean(str(error), 160)}")
                continue
            more += bool(count) and len(out) >= LISTED
            if count and len(out) < LISTED:
                rank = next((f" (rank {a.rank})" for a in self._seen.run.artifacts if a.name == name and a.rank), "")
                out.append(
                    f"{clean(name, 120)}{rank}: {count} lines match" + ("" if whole else ", not read to its end")
                )
                out += [f"  {clean(name, 120)}:{n}: {text}" for n, text in lines_at(self._path(name), set(wanted))]
        return _joined(out, more) or f"no line matches {clean(pattern, 120)} in {len(names)} files"

    def sql(self, query: str) -> str:
        """Ask the run's tables with one SELECT (DuckDB); information_schema.tables lists them.

        Args:
            query: over files, series(metric, key, axis, "at", value, "group", file, line, rank; "at" is the step or
                whatever the axis counts), settings, events, claims, scores, findings, code_facts, and a table for each
                table that was read; empty for a list of those, with their columns and ranges.
        """
        if not query.strip():
            return "\n".join(_described(t) for t in self._store.describe() if t.file) or "no file was read as a table"
        found = self._store.ask(query, Limits(seconds=SECONDS, rows=ROWS))
        lines = [" | ".join(found.columns), *(" | ".join(map(_cell, row)) for row in found.rows)]
        return "\n".join(lines) + (f"\n({found.cut})" if found.cut else "")

    def relate(self, metric: str = "") -> str:
        """Where a measure changes for good, what changes with the onset, which group or rank differs.

        Args:
            metric: a measure's name; empty for the clearest changes of all, the onset and the differing groups.
        """
        found, wanted = self._related, plain(metric)
        moves = [m for m in found.moves if not wanted or wanted in (plain(m.line.name), plain(m.line.key))]
        if wanted and not moves:
            names = dict.fromkeys(m.line.key for m in found.moves)
            there = ", ".join(clean(n, 40) for n in list(names)[:40]) or "none"
            raise TriageError(f"no measure {clean(metric, 60)!r}; there are {there}")
        moves = sorted(moves, key=lambda m: -max((c.strength for c in m.lasting), default=0.0))
        out = [line for m in moves[:SHOWN] for line in moved(m, bool(wanted), SHOWN)]
        apart = [c for c in found.contrasts if not wanted or wanted in (plain(c.metric), plain(c.key))]
        out += [f"{clean(c.key, 60)} by {clean(c.by, 40)}: {', '.join(clean(d, 40) for d in c.different[:6])} "
                f"{level(c.theirs)}, the others {level(c.others)}" for c in apart[:SHOWN]]  # fmt: skip
        if found.onset and not wanted:
            begun = found.onset
            out.insert(0, f"onset: {begun.move.line.said} at {begun.move.line.where(begun.change.i)}; still: "
                          f"{', '.join(clean(m.line.said, 40) for m in begun.still[:SHOWN])}")  # fmt: skip
        scored = [f.message for r in self._seen.reports if r.tool == "relate" for f in r.findings if "score" in f.code]
        return "\n".join([*out, *scored[:4]]) or "nothing changes, and no group differs"

    def compare(self, first: str, second: str) -> str:
        """Compare two files or folders of the run: measures side by side, and lines that differ.

        Args:
            first: a file of `files`, or a folder that several of them lie in.
            second: the other.
        """
        sides = [self._under(first), self._under(second)]
        if sides[0] == sides[1]:
            raise TriageError(f"{clean(first, 120)!r} and {clean(second, 120)!r} are the same file; `files` lists the "
                              "names, in which those of a further run begin with its folder")  # fmt: skip
        logged = [{s.key: s for s in self._measured(side)} for side in sides]
        out = [f"{clean(k, 60)}: {measured(logged[0][k])} against {measured(logged[1][k])}"
               for k in logged[0].keys() & logged[1].keys()]  # fmt: skip
        if len(sides[0]) == len(sides[1]) == 1:
            one, other = (head_lines(self._path(side[0])) for side in sides)
            lines = [d for d in difflib.unified_diff(one, other, n=0, lineterm="") if d[:2] not in ("--", "++", "@@")]
            out = out or [clean(d, 200) for d in lines] or ["the lines are the same"]
        return _joined(out[: 5 * SHOWN], len(out) - 5 * SHOWN) or "they have no measure in common"

    def calc(self, expression: str) -> str:
        """Arithmetic with units (s, min, h, KiB, GB, tokens, ...), checked: units that do not fit are refused.

        Args:
            expression: for example `2048 * 512 tokens / (3.1 s)`.
        """
        return f"{clean(expression, 300)} = {calc(expression).said()}"

    def runbook(self, words: str) -> str:
        """Look up the runbook: the entries nearest to the words, with cause, check and symptom.

        Args:
            words: what to look up, in English or Chinese.
        """
        hits = [h for h in self.books().search(words[:400], 3) if h.score > 0.01]
        return "\n".join(
            f"{e.id}: {e.title.say(self.lang)}. {clean(next(iter(e.said(self.lang).values())), 500)} "
            f"{e.check_first.say(self.lang)}"
            for e in (h.entry for h in hits)
        ) or "the runbook has nothing on this"  # fmt: skip

    @property
    def _seen(self) -> Look:
        if self.look is None:
            raise TriageError("no run was given, so there are no files")
        return self.look

    @cached_property
    def _paths(self) -> dict[str, Path]:
        """Listed name -> where it lies: nothing else is opened."""
        seen = self._seen
        found = {a.name: a.path for a in (*seen.run.artifacts, *seen.elsewhere) if not a.path.is_dir()}
        root = seen.run.root if seen.run.root.is_dir() else seen.run.root.parent
        inside = root.resolve()
        for c in seen.coverage:
            path = root / c.file
            if (
                c.file not in found
                and not path.is_symlink()
                and path.is_file()
                and path.resolve().is_relative_to(inside)
            ):
                found[c.file] = path
        return found

    @cached_property
    def _store(self) -> Store:
        return self._open.enter_context(store_of(self._seen))

    @cached_property
    def _related(self) -> Related:
        found = next((r for r in self._seen.reports if isinstance(r, Related)), None)
        if found is None:
            raise TriageError("the relations of this run could not be computed")
        return found

    def _path(self, name: str) -> Path:
        if name not in self._paths:
            near = difflib.get_close_matches(name, self._paths, 3, 0.4)
            raise TriageError(f"no file {clean(name, 120)!r} in this case; `files` lists them"
                              + (f": {', '.join(clean(n, 80) for n in near)}" if near else ""))  # fmt: skip
        return self._paths[name]

    def _measured(self, names: Sequence[str]) -> Sequence[Series]:
        """What the files measure; those of another training are read for it."""
        seen = self._seen
        found = [s for s in seen.series if s.file in names]
        other = tuple(a for a in seen.elsewhere if a.name in names)
        return found or [*read_logs(replace(seen.run, artifacts=other)).table] if other or found else ()

    def _under(self, name: str) -> list[str]:
        name = name.rstrip("/")
        inside = [n for n in self._paths if n.startswith(f"{name}/")]
        if inside:
            return inside
        self._path(name)
        return [name]


def _described(table: Described) -> str:
    columns = (
        f"{clean(name, 60)} {type_}{f' ({clean(of, 80)})' if of else ''}" for name, type_, _, of in table.columns
    )
    return f"{table.name} ({clean(table.file, 80)}, {table.rows} rows): {', '.join(columns)}"


def _cell(value: object) -> str:
    return exact(value) if isinstance(value, float) else clean(str(value), 120)


def _joined(lines: Iterable[str], more: int) -> str:
    return "\n".join([*lines, *([f"… and {more} more"] if more > 0 else [])])
