"""Rows of small data files and what logs that measure nothing tell, beside what the open readers give of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ..documents.event import Claim, Event
from ..findings import TriageError
from ..reading import Chunk, head, lines_of
from ..run import Run
from ..tables.table import Column, Table

ASIDE = 8 << 20
"""Bytes up to which a file with a reader of its own is read for rows and dated lines as well."""
PROFILE = 64 << 10
"""Bytes up to which a log that measures nothing may be a profile."""
RUNS = (b"aten::", b"gemm", b"nccl", b"AllReduce", b"flash", b"Memcpy", b"elementwise", b"_kernel", b"softmax")
"""What stands among the names of kernels and operations."""
MOST_PARTS = 512
"""Parts of a table that are measured side by side."""
TRIALS = 2048
"""Bytes of a file of metrics up to which it is a handful of trials rather than a training."""


def aside(
    run: Run,
    measured: set[str],
    tables: Sequence[Table],
    events: Sequence[Event],
    claims: Sequence[Claim],
    logs: Mapping[str, Sequence[Chunk]],
) -> tuple[list[Table], list[Event], list[Claim]]:
    """The tables, events and claims, with those of files that have a reader of their own.

    Args:
        run: whose files are read.
        measured: names of files that gave series.
        tables, events, claims: what the open readers gave.
        logs: what was kept of each log when it was read.
    """
    rows, happened, said = [*tables], [*events], [*claims]
    for artifact in run.of("data", "generations", "log", "metrics"):
        with suppress(TriageError, OSError):
            size, counted = artifact.path.stat().st_size, artifact.kind == "metrics"
            if kept := logs.get(artifact.name):
                from ..tables.read import read_pairs, read_results
                from ..trackers.serving import of_server

                rows += [t for t in read_pairs(lines_of(kept), artifact.name) if not t.of("axis")]
                rows += () if of_server(kept) else read_results(lines_of(kept), artifact.name)
            if size > (TRIALS if counted else ASIDE) or (artifact.name in measured and not counted):
                continue
            if artifact.kind != "log":
                from ..tables.read import read_tables

                rows += read_tables(artifact.path, artifact.name)
            else:
                from ..documents.read import read_document

                rows += _profiles(artifact.path, artifact.name) if size <= PROFILE else []
                told = read_document(artifact.path, artifact.name)
                happened, said = [*happened, *told.events], [*said, *told.claims]
    return rows, happened, said


def _profiles(path: Path, name: str) -> list[Table]:
    """Profiles that lie as text: rows of kernels or operations with what each took."""
    start = head(path, PROFILE)
    if not any(word in start for word in RUNS):
        return []
    from ..tables.read import read_tables

    return [t for t in read_tables(path, name) if len(t) > 2 and not t.of("axis") and _of_kernels(t)]


def _of_kernels(table: Table) -> bool:
    """Whether one column names what ran, and others how long."""
    first = table.columns[0].values
    ran = sum(any(word in str(v).encode() for word in RUNS) for v in first) if first.dtype.kind == "O" else 0
    return ran > 1 and bool(table.of("measure"))


def cases(run: Run) -> list[Table]:
    """Rows of single cases in files of metrics: those with a text, a name or a truth value beside what was measured."""
    found: list[Table] = []
    for artifact in run.of("metrics"):
        with suppress(TriageError, OSError):
            if TRIALS < artifact.path.stat().st_size <= ASIDE:
                from ..tables.read import read_tables

                found += [t for t in read_tables(artifact.path, artifact.name) if t.of("group", "text", "identifier")]
    return found


def side_by_side(found: Sequence[Table]) -> list[Table]:
    """Of these the tables that measure several parts at each place: their curves are not all that they tell."""
    return [t for t in found if (end := t.at_end()) is not None and any(_each(end, c) for c in end.of("group"))]


def _each(end: Table, group: Column) -> bool:
    """Whether the rows at the last place are of parts of their own."""
    return len(set(group.values.tolist())) == len(end) <= MOST_PARTS
