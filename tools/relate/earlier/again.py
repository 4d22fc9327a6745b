"""Two logs that show one course of training, though the data between them are said to be others: the later run read the
same batches again.

The loss of a batch is noise around its trend, and no two orders of data make the same noise. Logs of one run are copies
of each other to the digit and to the second; two runs that agree point by point and began at different times had the
same data, order, start and rate. That is trouble where the files say that the data had changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, islice

import numpy as np

from ...data.earlier import FILES, ROWS, SAME, TRIED, Amount, amounts
from ...findings import Check, Finding, Report, Severity, declare
from ...heads import beginning
from ...patterns import bounded
from ...run import Artifact, Run
from ...series import Series, SeriesTable
from ..changes import middles

CHECK = "the course of a training against that of another"
CODES = declare(
    "again",
    ("trained-on-the-same-again", CHECK, "two runs agree point by point, though the data are said to have changed"),
    ("courses-agree", CHECK, "two runs agree point by point: the same batches in the same order"),
)
LEAST, MOST_LOGS = 20, 8
"""Steps that both logs have, and logs that are compared."""
FOLLOWS, APART = 0.98, 0.2
"""Correlation of the points around their trends, and their distance as a share of that noise. Own judgement: another
order of the data has a correlation about 0."""
FAR = 2.0
"""Times as many rows from which on a count is of something else."""
WHEN = bounded(r"\d{4}[-/]\d\d[-/]\d\d[ T_]\d\d:\d\d(?::\d\d)?|\b\d\d[-/]\d\d \d\d:\d\d:\d\d|\[?\d\d:\d\d:\d\d\b")
LINES = bounded(r"^\s{0,8}(\d{3,10})\s{1,8}\S{1,200}\.(?:jsonl|json|csv|tsv|txt|parquet)\s{0,4}$")
"""What `wc -l` prints."""
CELLS = bounded(
    r"(?i)^\|[^|]{0,30}\b(?:rows|examples|samples|records|conversations|dialog(?:ue)?s|pairs|lines)\b[^|]{0,20}\|"
    r"(?:\s?[\d,]{3,12}\s?\|){0,3}\s?(\d{1,3}(?:,\d{3}){1,3}|\d{3,10})\s?\|"
)
"""A row of a table that counts rows; its last cell."""
MORE = bounded(
    r"(?i)(?<![\w.-])(\d{1,3}(?:,\d{3}){1,3}|\d{3,10})\s?(?:lines|dialog(?:ue)?s|conversations|questions|documents)\b"
    r"|\b(?:lines|dialog(?:ue)?s)\s?[:=]\s?(\d{1,3}(?:,\d{3}){1,3}|\d{3,10})"
)
TRAIN = bounded(
    r"(?i)\b(?:train(?:ing)?|训练集?)\s?[:=：]?\s?(\d{1,3}(?:,\d{3}){1,3}|\d{3,10})(?![\d.,%]|\s?(?:step|tok))"
)
"""What a log says that it trains on, without the word for rows."""
LOGGED = ("log", "metrics")


def trained_again(run: Run, table: SeriesTable) -> Report:
    """Two of the logs that lie under a path, as one course; before copies were left out and one training chosen."""
    placed = {a.name: a for a in run.artifacts if a.kind in LOGGED and a.rank is None}
    losses = [s for s in table if s.metric == "loss" and s.file in placed and len(s) >= LEAST]
    pair = next((p for p in combinations(losses[:MOST_LOGS], 2) if _one_course(*p, placed)), None)
    if pair is None:
        none = len(losses) < 2
        return Report("again", (), (Check(CHECK, "not-applicable" if none else "clear"),))
    found = _told(pair, _changed(run, [placed[s.file] for s in pair]))
    return Report("again", (found,), (Check(CHECK, "found"),))


def _one_course(a: Series, b: Series, placed: dict[str, Artifact]) -> bool:
    """Whether two logs agree point by point, and are not one log twice."""
    if a.file == b.file:
        return False
    i, j = _common(a, b)
    if len(i) < max(LEAST, 0.5 * min(len(a), len(b))):
        return False
    x, y = a.values[i], b.values[j]
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return False
    noise = [v - middles(v) for v in (x, y)]
    size = float(np.std(noise[0]))
    if size <= 0 or float(np.std(noise[1])) <= 0 or float(np.median(np.abs(x - y))) > APART * size:
        return False
    if np.unique(x).size < LEAST or float(np.corrcoef(np.array(noise))[0, 1]) < FOLLOWS:
        return False
    begun = [_begun(placed[s.file]) for s in (a, b)]
    return bool(begun[0] and begun[1] and begun[0] != begun[1])


def _common(a: Series, b: Series) -> tuple[np.ndarray, np.ndarray]:
    """Which points of two logs are at one step: by their numbers, or by their order where steps are not numbered."""
    if "line" in (a.step_is, b.step_is):
        every = np.arange(len(a) if len(a) == len(b) else 0)
        return every, every
    _, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
    return i, j


def _begun(artifact: Artifact) -> str:
    """The first time that a log writes, as it writes it."""
    match = WHEN.search(beginning(artifact.path, 1 << 16))
    return match[0] if match else ""


def _changed(run: Run, logs: Sequence[Artifact]) -> tuple[Amount, Amount] | None:
    """(rows that a log read, rows that another file counts of the data), where they are not the same."""
    names = {a.name for a in logs}
    read = [n for a in logs for n in _counted(a, ROWS, MORE, TRAIN, logged=True)]
    said = [n for a in run.artifacts if a.name not in names and a.kind in ("table", "config", "document", "data", "log")
            for n in _counted(a, ROWS, LINES, CELLS, MORE)][:FILES * 20]  # fmt: skip
    own = {n.value for n in read}
    confirmed = [n for n in read if any(_same(n.value, m.value) for m in said)] or read
    for n in confirmed:
        other = [m for m in said if m.value not in own and not any(_same(m.value, v) for v in own)
                 and 1 / FAR <= m.value / n.value <= FAR]  # fmt: skip
        if other:
            return n, other[0]
    return None


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= SAME * max(a, b)


def _counted(artifact: Artifact, *patterns: re.Pattern[str], logged: bool = False) -> Iterator[Amount]:
    """Counts of rows that are trained on, in the first lines of a file."""
    if artifact.path.is_dir():
        return
    for _, amount in islice(amounts(artifact, *patterns), 40):
        if amount.value >= 500 and (logged or not TRIED.search(amount.text)):
            yield amount


def _told(pair: tuple[Series, Series], changed: tuple[Amount, Amount] | None) -> Finding:
    a, b = pair
    i, j = _common(a, b)
    apart = float(np.median(np.abs(a.values[i] - b.values[j])))
    noise = float(np.std(a.values[i] - middles(a.values[i])))
    en = (f"{a.file} and {b.file} agree point by point: over {len(i)} common steps their losses lie {apart:.2g} "
          f"apart, where one point is {noise:.2g} off its trend; the same batches came in the same order")  # fmt: skip
    zh = (f"{a.file} 与 {b.file} 逐点一致：{len(i)} 个共同的步上 loss 相差 {apart:.2g}，"
          f"而单点相对趋势的起伏为 {noise:.2g}；两次读到的是同样顺序的同样批次")  # fmt: skip
    places = (a.at(int(i[0])), b.at(int(j[0])), a.at(int(i[-1])), b.at(int(j[-1])))
    data = {"steps": len(i), "apart": apart, "noise": noise, "files": [a.file, b.file]}
    if changed is None:
        return Finding("courses-agree", Severity.S3, f"{en}.", f"{zh}。", places, data)
    read, now = changed
    return Finding(
        "trained-on-the-same-again", Severity.S2,
        f"{en}. {read.file}:{read.line} read {read.value:,.0f} rows; {now.file}:{now.line} counts {now.value:,.0f}.",
        f"{zh}。{read.file}:{read.line} 读了 {read.value:,.0f} 行，而 {now.file}:{now.line} 为 {now.value:,.0f} 行。",
        (*places, read.evidence(), now.evidence()),
        {**data, "read": read.value, "now": now.value, "names": f"{now.value:,.0f} rows"},
    )  # fmt: skip
