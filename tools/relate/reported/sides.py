"""Two numbers of reports against each other: right on longer and on shorter answers, measured and promised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ..line import means, plain
from .read import Said

RIGHT = bounded(r"(?:^|_)(?:acc|accuracy|correct|win_?rate|right)(?:_|$)|准确率|正确率|胜率")
LONG, SHORT = bounded(r"longer|更长"), bounded(r"shorter|更短")
HALF = 0.5
PROMISED = bounded(
    r"(?:^|_)(?:target|goal|sla|slo|budget|required|requirement|limit)s?(?:_(?!\d)|$)|目标|要求|指标要求"
)
"""What file, label or name says that a number was promised and not measured; with a number behind it (`budget_2048`) it
is a value that was tried."""
SLOWER = bounded(r"latency|ttft|tpot|itl|e2e|time_to|p9[059]|延迟|首字|时延")
FASTER = bounded(r"(?:^|_)(?:qps|rps|throughput|tok(?:ens)?_?(?:per_?)?s(?:ec)?|requests_per_s\w*)(?:_|$)|吞吐|每秒")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "毫秒": 1e-3, "秒": 1.0}
NO_PART = frozenset((*UNITS, "mean", "avg"))
MISSED = 1.1
"""Factor beyond a target from which on it is missed. Own judgement."""


def longer_and_shorter(said: Sequence[Said]) -> Iterator[Finding]:
    """One object that gives how often a scorer is right where the chosen answer is longer, and where it is shorter."""
    for s in said:
        if not (means(RIGHT, s.name) and means(SHORT, s.name)):
            continue
        stem = SHORT.sub("", plain(s.name))
        other = next((n for n in s.beside if means(LONG, n) and LONG.sub("", plain(n)) == stem), None)
        scale = 100.0 if s.value > 1 else 1.0
        if other is None or other == s.name or not s.value / scale < HALF < s.beside[other] / scale:
            continue
        yield Finding(
            "score-follows-length", Severity.S1,
            f"{s.name} is {s.value:.4g} and {other} {s.beside[other]:.4g}: right where the chosen answer is longer, "
            "below chance where it is shorter.",
            f"{s.name} 为 {s.value:.4g}，{other} 为 {s.beside[other]:.4g}：更长时打分正确，更短时低于随机。",
            (s.place,), {"shorter": s.value / scale, "longer": s.beside[other] / scale},
        )  # fmt: skip
        return


LABEL = 8
"""Words of a label at most. Ours."""
FEW_ROWS = 4
"""Values of one name in a file up to which the label of one of them can say that it is the promise; in a list of many
rows a label is the name of its row. Ours."""


class Held(NamedTuple):
    """What was measured beside what is promised."""

    target: Said
    measured: Said
    missed: bool


def targets(said: Sequence[Said]) -> Iterator[Finding]:
    """The first promise that was missed."""
    yield from (_missed(one.target, one.measured) for one in islice((h for h in held_against(said) if h.missed), 1))


def held_against(said: Sequence[Said]) -> Iterator[Held]:
    """What a server was measured at, beside what a file of the run promises under the same name."""
    speeds = [s for s in said if PROMISED.search(_around(s)) and (means(SLOWER, s.name) or means(FASTER, s.name))]
    measured = [s for s in said if not PROMISED.search(_around(s))]
    for target in (s for s in speeds if _of_one(s, speeds, measured) and s.value > 0):
        for s in measured:
            scale = _scale(s, target) if _stem(s) == _stem(target) else None
            if scale is not None:
                value, slow = s.value * scale, bool(means(SLOWER, s.name))
                yield Held(target, s, value > MISSED * target.value if slow else value * MISSED < target.value)


def _of_one(s: Said, speeds: list[Said], others: list[Said]) -> bool:
    """Whether a number is a promise by its own name or label (of few); under a heading or file that speaks of a target,
    only where it is the one number of its name there: several are results for that target of something else."""
    if PROMISED.search(plain(s.name)):
        return True
    if PROMISED.search(s.row):
        short = len(s.row.split("_")) <= LABEL  # a row of many words that speaks of a goal promises nothing
        return short and sum(o.name == s.name and o.place.file == s.place.file for o in speeds + others) <= FEW_ROWS
    where = s.about.removesuffix(s.row)
    return not any(o.name == s.name and o.place.file == s.place.file and o.value != s.value
                   and o.about.removesuffix(o.row) == where for o in speeds)  # fmt: skip


def _around(s: Said) -> str:
    return f"{plain(s.name)}_{s.about.replace(' ', '_')}"


def _stem(s: Said) -> frozenset[str]:
    """The words of its name in any order, without what says that it is promised, and without its unit."""
    return frozenset(w for w in PROMISED.sub("_", f"{plain(s.name)}_").split("_") if w) - NO_PART


def _scale(s: Said, target: Said) -> float | None:
    """What a value is multiplied by to be in the unit of another; None where only one says its unit."""
    mine, other = (next((UNITS[w] for w in plain(x.name).split("_") if w in UNITS), None) for x in (s, target))
    return 1.0 if mine == other else mine / other if mine and other else None


def _missed(target: Said, s: Said) -> Finding:
    places: tuple[Evidence, ...] = (s.place, target.place)
    return Finding(
        "target-missed", Severity.S2,
        f"{s.name} is {s.value:.5g} in {s.place.file}, and {target.place.file} asks for {target.value:.5g}.",
        f"{s.place.file} 中 {s.name} 为 {s.value:.5g}，而 {target.place.file} 要求 {target.value:.5g}。",
        places, {"metric": s.name, "measured": s.value, "target": target.value},
    )  # fmt: skip
