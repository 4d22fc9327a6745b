"""Ranks of one training whose logs name the same samples, or their own losses to all digits, step after step.

Replicas that take the same samples do the work of one: the batch is that of one rank, whatever the number of
ranks. A loss that is averaged over the ranks is the same on all of them and says nothing; ranks that split one model
(tensor, pipeline and context parallel) see the same samples by design.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, islice
from math import prod

import numpy as np

from ..findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ..looking.kept import NOT_KEPT, Kept, kept_lines
from ..patterns import bounded
from ..run import Artifact, Run
from ..settings import Settings

CHECK = "samples of the ranks"
CODES = declare("same samples", ("same-samples-on-ranks", CHECK, "the ranks of a training take the same samples"))
LEAST, SAME, DISTINCT, DIGITS = 20, 0.98, 0.8, 4
"""Values of each rank that are held against each other, share of them that is the same, share of different ones among
a rank's own, and digits behind the point of a loss."""
FILES, LINES, CHARACTERS = 64, 20_000, 600
"""Logs, lines of each, and characters of each line that are read."""
PARALLEL = ("tensor_parallel", "pipeline_parallel", "context_parallel")
SPLIT = bounded(
    r"(?i)(?:tensor|pipeline|context|sequence)[ _-]?(?:model[ _-]?)?parallel\w{0,12}[\"']?[ =:.]{1,40}0*(?:[2-9]|1\d)"
    r"|(?<![a-z])(?:tp|pp|cp)(?:_?size)?[\"']?\s?[=:]\s?(?:[2-9]|1\d)|(?:张量|流水线?|序列)并行.{0,6}(?:[2-9]|1\d)"
)
"""What says that ranks split one model."""
RANK = bounded(r"(?i)(?<![a-z])(?:global[ _]?)?(?:rank|worker|dp)[\"']?[ =:_#-]{0,2}(\d{1,4})\b|(\d{1,4}) ?号卡")
SAMPLE = bounded(
    r"(?i)(?<![A-Za-z])[\"']?((?:[a-z]{1,12}_){0,2}(?:sample|example|doc(?:ument)?|record|item|prompt|row|data|uid|样本)s?"
    r"(?:_?(?:ids?|idx|indices|index|uid|hash|no|编号|序号))?|样本(?:编号|序号)?)[\"']?\s{0,2}[=:：]\s{0,2}[\[(\"']{0,2}"
    r"([\w-]{2,40})"
)
"""What names the sample that a rank has taken, and which."""
OWN = bounded(
    r"(?i)(?<![A-Za-z])[\"']?((?:[a-z]{1,12}_)?(?:local|own|per_?rank|this_?rank|rank|micro)_?(?:[a-z]{1,12}_)?loss"
    r"|loss_(?:local|own|rank)|(?:本地|本卡|单卡)_?loss)[\"']?\s{0,2}[=:：]\s{0,2}(\d{1,3}\.\d{4,17}(?:e[-+]?\d+)?)"
)
"""The loss of a rank by itself."""
Told = dict[str, list[tuple[str, int]]]
"""What is named -> its values with their lines."""


def check_same_samples(run: Run, settings: Settings, logs: Kept = NOT_KEPT) -> Report:
    """Whether the ranks' logs name the same samples."""
    told, split = _told(run, logs)
    whole = prod(int(v) for name in PARALLEL if isinstance(v := settings.value(name), int) and v > 0)
    if len(told) < 2 or (split and whole == 1):
        return Report("same samples", (), (Check(CHECK, "not-applicable", "no ranks that name what they take"),))
    found = [] if len(told) <= whole else list(islice(_alike(told), 1))
    return Report("same samples", tuple(found), (Check(CHECK, "found" if found else "clear"),))


def _told(run: Run, logs: Kept) -> tuple[Mapping[tuple[str, int], Told], bool]:
    """(file, rank) -> what it names; and whether a log says that ranks split one model."""
    found: dict[tuple[str, int], Told] = {}
    split = False
    for artifact in islice(run.of("log"), FILES):
        own = artifact.rank if artifact.rank is not None else _number(artifact.name.rpartition("/")[2])
        for number, text in _lines(artifact, logs):
            split = split or SPLIT.search(text) is not None
            for pattern in (SAMPLE, OWN):
                m = pattern.search(text)
                rank = _number(text) if m else None
                if m and (rank := own if rank is None else rank) is not None:
                    told = found.setdefault((artifact.name, rank), {})
                    told.setdefault(m[1].lower(), []).append((m[2], number))
    return found, split


def _number(text: str) -> int | None:
    m = RANK.search(text)
    return int(m[1] or m[2]) if m else None


def _lines(artifact: Artifact, logs: Kept) -> Iterator[tuple[int, str]]:
    try:
        for number, text in islice(kept_lines(artifact.path, logs.get(artifact.name, ())), LINES):
            yield number, text[:CHARACTERS]
    except (TriageError, OSError):
        return


def _alike(told: Mapping[tuple[str, int], Told]) -> Iterator[Finding]:
    """A finding for each thing that all ranks name, and of which all name the same."""
    for key in dict.fromkeys(k for some in told.values() for k in some):
        ranks = {rank: (file, some[key]) for (file, rank), some in told.items() if key in some}
        if len(ranks) < 2 or len(ranks) < len({rank for _, rank in told}):
            continue
        values = {rank: [v for v, _ in said] for rank, (_, said) in ranks.items()}
        if all(_moves(v) for v in values.values()) and all(_same(a, b) for a, b in combinations(values.values(), 2)):
            yield _finding(key, ranks)


def _moves(values: list[str]) -> bool:
    """Whether they are many, other ones each time, and no counter."""
    if len(values) < LEAST or len(set(values)) < DISTINCT * len(values):
        return False
    if not all(v.isdecimal() for v in values):
        return True
    steps = np.diff([float(v) for v in values])
    return bool(((steps < 0).mean() > 0.1) and ((steps > 0).mean() > 0.1))


def _same(a: list[str], b: list[str]) -> bool:
    n = min(len(a), len(b))
    return n >= LEAST and sum(x == y for x, y in zip(a, b, strict=False)) >= SAME * n


def _finding(key: str, ranks: Mapping[int, tuple[str, list[tuple[str, int]]]]) -> Finding:
    n = min(len(said) for _, said in ranks.values())
    first = sorted(ranks)[:2]
    places = tuple(
        Evidence(ranks[r][0], ranks[r][1][0][1], rank=r, metric=key, text=f"{key}={ranks[r][1][0][0]}") for r in first
    )
    return Finding(
        "same-samples-on-ranks", Severity.S1,
        f"{len(ranks)} ranks log the same {key} in all of {n} lines: they take the same samples, and together do the "
        "work of one.",
        f"{len(ranks)} 个 rank 的 {key} 在全部 {n} 行里都相同：它们取的是同样的样本，合起来只顶一个 rank。",
        places, {"ranks": len(ranks), "lines": n, "key": key},
    )  # fmt: skip
