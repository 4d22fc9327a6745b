"""The metric series of a run: every log and metric file is read once, and a check says what came of it.

How a file is read is `lines` and `tables`; what is wrong with the series is judged in `tools.logs.detectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from pathlib import PurePosixPath

from ...data.records.record import UNREAD_ACCEPTED
from ...findings import Check, unread
from ...patterns import bounded
from ...run import Artifact, Run
from ...series import Series, SeriesTable
from ...vocabulary import VOCABULARY
from ..company import in_company
from .lines import Watcher, read_store
from .mined import Mine
from .points import POINT_BUDGET, Store

Read = tuple[SeriesTable, tuple[Check, ...]]


def read_series(
    run: Run, every: Callable[[], object] = lambda: None, watch: Callable[[Artifact], Watcher] | None = None
) -> Read:
    """The series of all logs and metric files of a run, and one check for each file that was read.

    A file that cannot be read is a `failed` check, one without any metric is `not-applicable`.

    Args:
        run: what was discovered in the path.
        every: tells the steps between log lines as the run's settings say it; asked only for lines that carry no step.
        watch: makes what looks at a log beside.
    """
    found: list[Series] = []
    checks: list[Check] = []
    budget = POINT_BUDGET
    for artifact in run.of("log", "metrics"):
        store = Store(max(budget, POINT_BUDGET // 20), lambda: _whole(every()))
        watcher = watch(artifact) if watch and artifact.kind == "log" else None
        try:
            shapes = read_store(artifact.path, store, watcher)
            mine = Mine(shapes)
            store.starts = shapes.opening.starts(min(store.first_line(), mine.first_line()))
            series = list(store.series(artifact.name, artifact.attempt, artifact.rank))
            series += mine.series(artifact, series, store.starts)
        except Exception as error:  # one file that cannot be read, or breaks its reader, must not silence the others
            checks.append(Check(f"metrics in {artifact.name}", "failed", unread(error)))
            if watcher:
                watcher.done((), unread(error))
            continue
        budget -= store.kept
        found += series
        checks += _checks(artifact, series, store)
        if watcher:
            watcher.done(series, starts=store.starts, whole=mine.whole())
    return SeriesTable(tuple(in_company(_by_file(found)))), tuple(checks)


HELD_OUT = bounded(r"(?i)(?:^|[^a-z])(?:eval\w{0,6}|valid\w{0,5}|val|dev|held.?out)(?:[^a-z][^/]{0,60})?$")
TRAINS = bounded(r"(?i)(?:^|[^a-z])tr(?:ain\w{0,5})?(?:[^a-z]|$)")
"""A file that its name says is of the evaluation; a name that says it is of the training."""


def _by_file(found: Sequence[Series]) -> Iterator[Series]:
    """The series, those in a file of the evaluation (`eval_log.txt`) as the evaluation's, where another file trains."""
    trains = {s.file for s in found if s.metric == "loss" and not _evaluates(s)}
    for s in found:
        held = f"eval_{s.metric}"
        other = trains - {s.file} and held in VOCABULARY and _evaluates(s) and not TRAINS.search(s.key)
        yield replace(s, metric=held) if other else s


def _evaluates(s: Series) -> bool:
    name = PurePosixPath(s.file).name
    return HELD_OUT.search(name.partition(".")[0]) is not None and TRAINS.search(name) is None


def _whole(every: object) -> int | None:
    """A share of the run (`0.05`), which trainers take too, is no interval."""
    return int(every) if isinstance(every, (int, float)) and 1 <= every < inf and float(every).is_integer() else None


def _checks(artifact: Artifact, series: Sequence[Series], store: Store) -> Iterator[Check]:
    name = f"metrics in {artifact.name}"
    points, metrics = sum(len(s) for s in series), len({s.metric for s in series})
    read = Check(name, "not-applicable", "no line in a known metric format", "没有已知格式的指标行")
    if points:
        why = f"read {points} points of {metrics} metrics"
        zh = f"读到 {metrics} 个指标的 {points} 个点"
        more = "; too many points, ordinary ones were thinned, non-finite ones kept" if store.thinned else ""
        read = Check(
            name, "clear", why + more, zh + ("；点太多，普通点已抽稀，非有限值全部保留" if store.thinned else "")
        )
    yield read
    if store.unread > UNREAD_ACCEPTED * store.rows:
        why = f"{store.unread} of {store.rows} records could not be read"
        yield Check(
            f"read {artifact.name} to its end", "failed", why, f"{store.rows} 条记录中有 {store.unread} 条无法读取"
        )
