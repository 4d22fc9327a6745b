"""Canonical metric series with the file and line of every point.

`read_series` reads them from every log and metric file of a run; what is wrong with them is judged elsewhere
(`tools.logs`), which key means which metric in `tools.metrics`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .findings import Check, Evidence, TriageError
from .run import Run, natural


@dataclass(frozen=True)
class Series:
    """One canonical metric of one attempt (one monotone stretch of steps) on one rank, in file order."""

    metric: str
    """Canonical name, see `METRICS`; an unknown metric keeps its own key."""
    key: str
    """The name that the log itself uses."""
    steps: np.ndarray
    """(n,) int64."""
    values: np.ndarray
    """(n,) float64, non-finite values kept."""
    lines: np.ndarray
    """(n,) int64, one-based line in `file`."""
    file: str
    """Artifact name."""
    attempt: str = ""
    """Attempt directory, with `#2`, `#3` for restarts inside one file."""
    rank: int | None = None
    step_is: str = "step"
    """`step` if the log says so, `line` if steps are the order of the log lines (HF dict lines), `cumulative` if
    the log counts steps per epoch and they were added up, `epoch` if only epochs are numbered."""

    def __len__(self) -> int:
        return len(self.steps)

    def at(self, i: int) -> Evidence:
        """The point as evidence."""
        value = float(self.values[i])
        return Evidence(self.file, int(self.lines[i]), int(self.steps[i]), self.rank, self.metric, value)


@dataclass(frozen=True)
class SeriesTable:
    """All series of a run."""

    series: tuple[Series, ...] = ()

    def all(self, metric: str) -> Sequence[Series]:
        return [s for s in self.series if s.metric == metric]

    def get(self, metric: str) -> Series | None:
        """The longest series of the last attempt: what one number about the run should be computed from.

        Of equally long ones that with real steps, then the lowest rank.
        """
        found = self.all(metric)
        if not found:
            return None
        last = max((s.attempt for s in found), key=natural)
        return max(
            (s for s in found if s.attempt == last),
            key=lambda s: (len(s), s.step_is == "step", -(s.rank or 0)),
        )

    def metrics(self) -> list[str]:
        """Names of all metrics, in the order in which they were first read."""
        return list(dict.fromkeys(s.metric for s in self.series))

    def __iter__(self) -> Iterator[Series]:
        return iter(self.series)

    def __len__(self) -> int:
        return len(self.series)


def read_series(run: Run) -> tuple[SeriesTable, tuple[Check, ...]]:
    """The series of all logs and metric files of a run, and one check for each file that was read.

    A file that cannot be read is a `failed` check, one without any metric is `not-applicable`.
    """
    from .logs.points.lines import read_pasted, read_store
    from .logs.points.points import POINT_BUDGET, Store
    from .logs.points.tables import cut_short

    found: list[Series] = []
    checks: list[Check] = []
    every = logging_steps(run)
    budget = POINT_BUDGET
    for artifact in run.of("log", "metrics"):
        store = Store(max(budget, POINT_BUDGET // 20))
        try:
            read_store(artifact.path, store, every)
        except TriageError as error:
            checks.append(Check(f"metrics in {artifact.name}", "failed", str(error)))
            continue
        series = list(store.series(artifact.name, artifact.attempt, artifact.rank))
        budget -= store.kept
        found += series
        checks.append(_check(artifact.name, series, store.thinned))
        if artifact.kind == "metrics" and cut_short(artifact.path):
            why = "the file ends in the middle of its JSON (a save that was cut off?); what stands before that was read"
            checks.append(
                Check(
                    f"end of {artifact.name}", "failed", why, "文件在 JSON 中间结束（保存被中断？）；之前的内容已读取"
                )
            )
    if run.pasted:
        store = Store()
        read_pasted(run.pasted, store)
        series = list(store.series("<question>", "", None))
        found += series
        checks.append(_check("<question>", series, store.thinned))
    return SeriesTable(tuple(found)), tuple(checks)


def logging_steps(run: Run) -> int | None:
    """`logging_steps` as the run's configuration files say it, None if they do not or disagree."""
    from .reading import head

    values: set[int] = set()
    for artifact in run.of("config", "script"):
        try:
            text = head(artifact.path, 256 << 10).decode("utf-8", "replace") if artifact.path.is_file() else ""
        except TriageError:
            continue
        values |= {int(v) for v in re.findall(r"^[^#\n]*?\blogging[_-]steps\b[\"']?[\s:=]+(\d{1,6})\b", text, re.M)}
    return values.pop() if len(values) == 1 else None


def _check(name: str, series: Sequence[Series], thinned: bool) -> Check:
    points = sum(len(s) for s in series)
    if not points:
        why = "no line in a known metric format"
        return Check(f"metrics in {name}", "not-applicable", why, "没有已知格式的指标行")
    metrics = len({s.metric for s in series})
    note = "; too many points, ordinary ones were thinned, non-finite ones kept" if thinned else ""
    return Check(
        f"metrics in {name}", "clear", f"read {points} points of {metrics} metrics{note}",
        f"读到 {metrics} 个指标的 {points} 个点" + ("；点太多，普通点已抽稀，非有限值全部保留" if thinned else ""),
    )  # fmt: skip
