"""The tools by which a coding agent looks into a run itself: the same read-only tools that a model of triage has.

Each takes the run's paths, because nothing is kept between calls but what was read last.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import BeforeValidator, Field

from ..agent.evidence import Look, look
from ..agent.session import index
from ..agent.wording.toolbox import Toolbox
from ..tools.boundary import Boundary
from ..tools.run import stamped
from .mcp_results import Shown
from .roots import Roots

Paths = Annotated[
    list[str],
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
    Field(description="Run directories or files.", min_length=1),
]
"""A string is taken for a list of one: that is what models send."""
File = Annotated[str, Field(description="A name from `files`.")]


@dataclass(frozen=True)
class Looking:
    """The tools that look; each public method that returns a result is one."""

    roots: Roots
    home: Path
    _last: dict[str, Any] = field(default_factory=dict)

    def files(self, paths: Paths, ctx: Context) -> Shown:
        """Every file of a run: what it was read as, its rows and points, or why it was not read."""
        return self._call(paths, ctx, "files")

    def read(
        self,
        paths: Paths,
        file: File,
        ctx: Context,
        first: Annotated[int, Field(ge=1)] = 1,
        last: Annotated[int, Field(ge=0, description="0: the 40 lines from the first on.")] = 0,
    ) -> Shown:
        """Lines of one file of a run with their numbers, at most 80."""
        return self._call(paths, ctx, "read", file=file, first=first, last=last)

    def grep(
        self,
        paths: Paths,
        pattern: Annotated[str, Field(description="A regular expression (RE2).", max_length=500)],
        ctx: Context,
        file: Annotated[str, Field(description="A name from `files`; empty: all.")] = "",
    ) -> Shown:
        """Search the lines of a run's files: count, first and last match of each file and rank."""
        return self._call(paths, ctx, "grep", pattern=pattern, file=file)

    def sql(
        self,
        paths: Paths,
        ctx: Context,
        query: Annotated[str, Field(description="One SELECT (DuckDB); empty: the tables.")] = "",
    ) -> Shown:
        """Ask a run's tables: files, series, settings, events, claims, scores, findings, code_facts, tables read."""
        return self._call(paths, ctx, "sql", query=query)

    def relate(
        self, paths: Paths, ctx: Context, metric: Annotated[str, Field(description="Empty: the clearest of all.")] = ""
    ) -> Shown:
        """Where measures change for good, what changes with the onset, which group or rank differs."""
        return self._call(paths, ctx, "relate", metric=metric)

    def compare(self, paths: Paths, first: File, second: File, ctx: Context) -> Shown:
        """Two files or folders of a run: measures side by side, or the lines that differ."""
        return self._call(paths, ctx, "compare", first=first, second=second)

    def calc(self, expression: Annotated[str, Field(max_length=300)], ctx: Context) -> Shown:
        """Arithmetic with units (s, h, GiB, tokens, ...): `2048 * 512 tokens / (3.1 s)`, checked."""
        return self._call((), ctx, "calc", expression=expression)

    def _call(self, paths: Sequence[str], ctx: Context, tool: str, **args: Any) -> Shown:
        with self._reading(ctx):
            box = Toolbox(self._look([self.roots.path(name) for name in paths]), lambda: index(self.home))
            try:
                return Shown(text=Boundary().hide(box.asked(tool, args)))
            finally:
                box.close()

    def _look(self, paths: Sequence[Path]) -> Look | None:
        """What the tools see in the paths; the last one again where no file of it has changed."""
        if not paths:
            return None
        stamp = (tuple(paths), stamped(paths))
        if self._last.get("stamp") != stamp:
            self._last.update(stamp=None, seen=look(paths))
            self._last["stamp"] = stamp
        return self._last["seen"]

    def _reading(self, ctx: Context) -> AbstractContextManager[Any]:
        """What is told while files are read; the server says how."""
        return nullcontext()
