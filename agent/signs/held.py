"""A run that signs are asked of, and the ways in which a part of a sign holds there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from pathlib import PurePosixPath

import numpy as np

from ...tools.findings import Evidence, Finding
from ...tools.relate.line import CLOCK, Line, plain
from ...tools.relate.moves import Move
from ...tools.relate.relate import Related
from ...tools.tables.usual import usual
from ...tools.vocabulary import VOCABULARY
from .served import is_served, means_server

SLACK = 0.02
"""Share of the run by which two places may lie apart and still be one."""
_UNITS = re.compile(r"_(?:m?hz|ghz|c|w|[kmgt]i?b|bytes|pct|percent|ms|s|sec|seconds|[kmg]i?b_s|count|mean|avg)$")
_PERCENT = re.compile(r"(?i)(?:^|[_\W])(?:pct|percent(?:age)?)(?:$|[_\W])|[%％]|百分")
"""A name that says that its numbers are in percent: a share of them is a hundredth."""
_BARE = re.compile(
    r"(?:(?:mean|avg|average|median|rating|score|value|result|grade|mark|win|rate|评分|得分|分数|均值|\d+)_?)+"
)
"""A name that says nothing of what is measured: its file does."""
_OF_TIME = re.compile(
    r"_?per_(?:s|sec|second|min|minute|hour|h|day|epoch|step|iter)(?=_|$)|(?:^|_)(?:seconds|secs)(?=_|$)"
    r"|(?<=time_)second(?=_|$)|(?<=elapsed_)second(?=_|$)|(?<=duration_)second(?=_|$)|(?<=wall_)second(?=_|$)"
)
"""Words of a name that say the time by which something was counted, and nothing of what."""
_SPREAD = re.compile(r"(?:^|_)(?:norm|std|stddev|stdev|var|variance|grad|lr|learning_rate)(?:_|$)|范数|标准差|方差")
"""A name of how large or how wide something is: what a name with `*` does not ask for unless it says so."""
grade = attrgetter("severity")
Span = tuple[float, float]


@dataclass(frozen=True)
class Held:
    """One way in which a part holds."""

    en: str
    zh: str
    evidence: tuple[Evidence, ...] = ()
    span: Span | None = None
    """Where on the way; None where it holds everywhere."""
    move: Move | None = None
    """Of a part about one measure."""
    standing: str = ""
    """What kind of standing fact shows it (`STANDING`); empty where the run itself does."""
    note: bool = False
    """Whether nothing but a note of a tool shows it."""
    data: Mapping[str, object] = field(default_factory=dict)
    """Of a relation that names a thing: its name, and what its numbers ask for."""


class Asked:
    """A run that signs are asked of."""

    def __init__(self, related: Related, findings: Iterable[Finding]):
        self.related = related
        self.findings: dict[str, Finding] = {}
        for finding in sorted(findings, key=grade):
            self.findings.setdefault(finding.code, finding)
        self.lines = [move.line for move in related.moves]
        self.moves: dict[str, list[Move]] = {}
        for move in related.moves:
            key = plain(move.line.key)
            last = plain(move.line.key.rpartition("/")[2])
            of = f"{plain(PurePosixPath(move.line.file).stem)}_{key}" if _BARE.fullmatch(key) else key
            spelled = {_UNITS.sub("", key), _UNITS.sub("", last), usual(key)}
            for name in {plain(move.line.name), key, last, of} | spelled:
                self.moves.setdefault(name, []).append(move)
        ends = [float(m.line.x[-1]) for m in related.moves if m.line.axis == "step" and len(m.line)]
        self.slack = SLACK * max(ends, default=0.0)
        times = [x for m in related.moves if len(m.line) and (x := m.line.x)[-1] > CLOCK]
        self.slack_of_time = SLACK * max((float(x[-1] - x[0]) for x in times), default=0.0)

    def of(self, name: str) -> list[Move]:
        """The moves of a measure, those of the whole run first."""
        if "*" in name:
            pattern = re.compile(anything(name))
            wide = _SPREAD.search(name) is not None
            keys = (k for k in self.moves if wide or not _SPREAD.search(k))
            found = tuple({id(m): m for k in keys if pattern.fullmatch(_untimed(k)) for m in self.moves[k]}.values())
        else:
            found = self.moves.get(plain(name), ())
        if means_server(name):
            found = [m for m in found if is_served(m.line, self.related)]
        own = [m for m in found if m.line.name == name]
        return sorted(own or found, key=lambda m: bool(m.line.group))[:40]

    def value(self, name: str) -> tuple[float, str, tuple[Evidence, ...]] | None:
        """(number, how it came about, where) of a number, a quantity, a setting or the last level of a measure."""
        try:
            return float(name.rstrip("%")) / (100 if name.endswith("%") else 1), name, ()
        except ValueError:
            pass
        if (quantity := self.related.quantities.get(name)) is not None:
            return quantity.value, quantity.formula, quantity.evidence
        if (setting := self.related.settings.get(name)) is not None and isinstance(setting.value, (int, float)):
            return float(setting.value), f"{name} {setting.raw}", (setting.evidence(),)
        if found := self.of(name):
            line, last = found[0].line, found[0].ends[1]
            of = 100 if _in_percent(line) else 1
            return last / of, f"{line.said} {last:.4g}{'%' if of > 1 else ''}", (line.evidence(len(line) - 1),)
        return None


def _in_percent(line: Line) -> bool:
    """Whether a share is written in percent: by its name, and by values that no share has."""
    metric = VOCABULARY.get(line.name)
    if metric is None or metric.unit != "1" or not _PERCENT.search(line.key):
        return False
    return float(np.nanmax(line.values, initial=0.0)) > 1


def _untimed(key: str) -> str:
    """The name without the time by which something was counted: `steps_per_second` is about steps."""
    return _OF_TIME.sub("", key) if _OF_TIME.sub("", key).strip("_") else key


@lru_cache(maxsize=4096)
def anything(name: str) -> str:
    """The expression that a name stands for: `*` is any letters."""
    return ".{0,80}".join(re.escape(plain(piece)) for piece in name.split("*"))
