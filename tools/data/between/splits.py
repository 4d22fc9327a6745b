"""Rows of a test file that stand word for word in the training file of the same name, whatever format the rows have.

Records that a reader of data knows are compared by `similar`, small changes included; this is for rows of any other
shape (`LOG_TRAIN.csv` and `LOG_TEST.csv` without a head), record by record: a quoted cell may go over several lines.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, clean, declare
from ...reading import head
from ...run import Artifact, Run
from ...tables.delimited import cut

CHECK = "rows of the test file in the training file"
CODES = declare(
    "splits", ("test-rows-in-training", CHECK, "rows of the test file stand word for word in the training file")
)
SPLIT = re.compile(r"(?i)(?<![a-z])(?:(train(?:ing)?)|(test|eval(?:uation)?|val(?:id(?:ation)?)?|dev))(?![a-z])")
ROWS = {".csv": ",", ".tsv": "\t", ".jsonl": ""}
"""Endings of files of rows, and what parts the cells of a row."""
KINDS = ("table", "log", "metrics", "document")
"""Kinds of files that nobody else compares row by row; rows with a clock may be taken for a log."""
LIMIT = 4 << 20
"""Bytes of each file that are looked at, from its beginning."""
PAIRS = 20
"""Pairs of files that are compared."""
LONG = 20
"""Letters of a row below which equal ones may be chance (labels, numbers). Own judgement."""
FEW, SHARE = 3, 0.2
"""Rows, and share of the test file, from which on it is no accident. Own judgement."""


def check_splits(run: Run) -> Report:
    """Compare every test file with the training file that is called as it is."""
    pairs = [*_pairs(run)]
    if not pairs:
        why = "no training file has a test file of the same name"
        return Report("data", (), (Check(CHECK, "not-applicable", why, "没有同名的训练文件与测试文件"),))
    found = [f for train, held in pairs[:PAIRS] if (f := _compared(train, held))]
    return Report("data", tuple(found), (Check(CHECK, "found" if found else "clear", f"{len(pairs)} pairs"),))


def _pairs(run: Run) -> Iterator[tuple[Artifact, Artifact]]:
    """(training file, test file), in the same folder and called the same but for the split."""
    named: dict[str, list[tuple[bool, Artifact]]] = defaultdict(list)
    for artifact in run.of(*KINDS):
        path = PurePosixPath(artifact.name)
        if path.suffix.lower() in ROWS and (split := SPLIT.search(path.name.replace("_", " "))):
            name = path.name[: split.start()] + "*" + path.name[split.end() :]
            named[f"{path.parent}/{name}"].append((bool(split[1]), artifact))
    for files in named.values():
        for train in (a for trains, a in files if trains):
            yield from ((train, held) for trains, held in files if not trains)


def _compared(train: Artifact, held: Artifact) -> Finding | None:
    try:
        trained, rows = _rows(train), _rows(held)
    except TriageError:
        return None
    known, first = set(trained), trained[0] if trained else ""
    rows = rows[1:] if rows[:1] == [first] and len(rows) > FEW else rows  # a head row, perhaps
    shared = [i for i, row in enumerate(rows) if row in known]
    if len(shared) < FEW or len(shared) < SHARE * len(rows):
        return None
    return Finding(
        "test-rows-in-training",
        Severity.S1,
        f"{len(shared)} of {len(rows)} rows of {held.name} stand word for word in {train.name}: a score on them "
        "measures memory.",
        f"{held.name} 的 {len(rows)} 行中有 {len(shared)} 行原样出现在 {train.name} 中：在它们上的得分只反映记忆。",
        (Evidence(held.name, text=clean(rows[shared[0]], 200)), Evidence(train.name)),
        {"shared": len(shared), "rows": len(rows)},
    )


def _rows(artifact: Artifact) -> list[str]:
    """Its records, or its lines where quotes do not make records of one width of them."""
    lines = head(artifact.path, LIMIT).decode("utf-8", "replace").splitlines(keepends=True)
    separator = ROWS[artifact.path.suffix.lower()]
    if separator and any('"' in line for line in lines):
        *whole, last = (cells for cells in cut(lines, separator) if cells)  # the last one may be cut off
        records = [separator.join(cells) for cells in whole]
        closed = separator.join(last).count("\n") <= max((r.count("\n") for r in records), default=0)
        lines = [*records, separator.join(last)] if closed and len({*map(len, whole)}) == 1 else lines
    return [row for line in lines if len(row := line.strip()) >= LONG]
