"""Errors that a log repeats from some place on until it ends, whatever they say: a part of the system fails there.

No table knows the errors of every sandbox, reward service or gateway. But a line of error that comes for good behind a
long stretch without it marks the place at which that part began to fail. Errors that come all along are the part's
usual noise, and a burst that ends was overcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...findings import Evidence, Finding, Severity, clean, declare
from ...patterns import bounded
from ...reading import split_prefix
from ..signatures.signature import CHECK

CODES = declare(
    "repeated",
    ("errors-begin", CHECK, "a log repeats errors from some place on until its end, and had hardly any before"),
)
HINTS = tuple(word.encode() for word in (
    "error", "Error", "ERR", "FATAL", "fatal", "CRITICAL", "PANIC", "panic", "SEVERE", "FAIL", "Fail", "fail",
    "xception", "timed out", "imeout", "TIMEOUT", "refused", "unavailable", "错误", "失败", "异常", "超时", "拒绝",
    "出错", "报错",
))  # fmt: skip
"""Of which a piece of a log holds one wherever a line of error stands."""
SAYS = bounded(
    r"(?i)(?<![A-Za-z])(?:err|fatal|critical|panic|severe|fail(?:ed|ure|ing|s)?|timed out|time-?out|refused"
    r"|unavailable)(?![A-Za-z])|(?:error|exception)(?![a-z])|错误|失败|异常|超时|拒绝|出错|报错"
)
"""A line of error."""
NOT_ONE = bounded(
    r"(?i)\b(?:no|zero|0|without|non-?)\s?(?:error|fail|time-?out|exception)"
    r"|(?:errors?|fail\w{0,4}|exceptions?|time-?outs?|错误|失败|异常|超时)"
    r"(?:[_ ]?(?:count|rate|total|frac\w{0,4}|ratio|num|数|率))?"
    r"[\"']?\s?[=:：]\s?[\"']?(?:\d|none|null|false|\[\]|\{\})"
    r"|(?:fail|error|exception|time-?out)\w{0,10}[_-]\w|\w[_-](?:fail|error|exception|time-?out)"
    r"|fail-?(?:over|safe|fast)|(?<![\w.-])\d{1,9} (?:errors|failures|exceptions|time-?outs|failed[,;)/])"
    r"|(?:\d ?[次个条]|无)(?:失败|错误|异常|超时)|(?-i:\b(?:INFO|DEBUG|TRACE)\b)"
)
"""It counts or names errors, or is a note of its own level: none happened."""
KEPT, SHAPES, LINE = 20_000, 200, 400
"""Lines of error kept of a log, different messages, and bytes of a line that are read."""
AGAIN, ABOVE, BEFORE = 30, 50, 0.1
"""Lines of error that are more than a burst; lines above the first of them, in number and as a part of the log."""
RATE, TIMES = 0.1, 10.0
"""Part of the lines behind the place that are errors, and how many times as many as above it."""
ENDS, REST = 0.1, 0.05
"""Last part of the stretch in which one must still come, and least part of the log that the stretch is."""
GOES_ON = 0.9
"""Part of the lines that are errors up to which the part does other work beside them."""
MOST = 3
"""Logs that are told of."""


@dataclass
class Errors:
    """The lines of error of one log on its way through the readers."""

    places: dict[str, list[int]] = field(default_factory=dict)
    """Message, what holds digits aside -> its lines."""
    texts: dict[str, str] = field(default_factory=dict)
    kept: int = 0

    def look(self, data: bytes, number: int, heard: Iterable[bytes]) -> None:
        """The lines of the next chunk, of which `heard` are the hints that it holds."""
        at = end = 0
        for spot in sorted(spot for hint in heard for spot in _spots(data, hint)):
            if spot < end or self.kept >= KEPT:
                continue
            start, stop = data.rfind(b"\n", 0, spot) + 1, data.find(b"\n", spot)
            number, at = number + data.count(b"\n", at, start), start
            end = stop if stop >= 0 else len(data)
            self._say(data[start : min(end, start + LINE)].decode("utf-8", "replace"), number)

    def _say(self, text: str, line: int) -> None:
        key = _shape(text)
        if key not in self.places and not self._is_one(text):
            return
        self.places.setdefault(key, []).append(line)
        self.texts.setdefault(key, text)
        self.kept += 1

    def _is_one(self, text: str) -> bool:
        """Whether a message of a new kind is an error, and there is room for it."""
        return len(self.places) < SHAPES and SAYS.search(text) is not None and not NOT_ONE.search(text)


@dataclass(frozen=True)
class Begin:
    """Where the errors of a log begin for good."""

    file: str
    line: int
    count: int
    lines: int
    """Of the whole log."""
    rate: float
    """Part of the lines from there on that are errors."""
    before: float
    """The same of the lines above it."""
    text: str
    """The first of them that comes most."""


def _spots(data: bytes, word: bytes) -> Iterator[int]:
    """The first place of a word in each line that has it."""
    spot = data.find(word)
    while spot >= 0:
        yield spot
        end = data.find(b"\n", spot)
        spot = data.find(word, end) if end >= 0 else -1


def _shape(text: str) -> str:
    """A message without what holds a digit, and without who says it: 16 workers say one thing."""
    return _NUMBERED.sub("#", split_prefix(text)[1])[:160]


def begun(file: str, errors: Errors, lines: int) -> Begin | None:
    """Where the errors of a log begin for good; None where they come all along, end, or are few."""
    late = {key: at for key, at in errors.places.items() if len(at) and at[0] > max(ABOVE, BEFORE * lines)}
    early = {key: at for key, at in errors.places.items() if key not in late}
    for some in (late, *({key: at} for key, at in early.items())):
        at = np.array(sorted(line for one in some.values() for line in one), np.int64)
        if (k := _split(at, lines)) is None:
            continue
        first = int(at[k])
        most = max(some, key=lambda key: sum(line >= first for line in some[key]))
        rest, above = lines - first + 1, first - 1
        return Begin(file, first, len(at) - k, lines, (len(at) - k) / rest, k / above, errors.texts[most])
    return None


def _split(at: np.ndarray, lines: int) -> int | None:
    """The first of these lines that belongs to the stretch full of them, by the likelihood of two rates."""
    if len(at) < AGAIN:
        return None
    k = np.arange(len(at))
    above, rest = at - 1.0, lines - at + 1.0
    fit = _log_likelihood(k, above) + _log_likelihood(len(at) - k, rest)
    best = int(np.argmax(np.where(at > max(ABOVE, BEFORE * lines), fit, -np.inf)))
    many, stretch = len(at) - best, float(rest[best])
    rate, before = many / stretch, best / max(float(above[best]), 1.0)
    enough = many >= AGAIN and at[best] > max(ABOVE, BEFORE * lines) and stretch >= REST * lines
    goes_on = at[-1] >= lines - ENDS * stretch or len(at) >= KEPT
    return best if enough and goes_on and rate >= max(RATE, TIMES * before) else None


def _log_likelihood(hits: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Of so many lines of error among so many lines, at their own rate."""
    rate = np.clip(hits / np.maximum(of, 1.0), 1e-9, 1 - 1e-9)
    return hits * np.log(rate) + np.maximum(of - hits, 0.0) * np.log(1 - rate)


def repeated(errors: Mapping[str, tuple[Errors, int]], found: Sequence[Finding]) -> Iterator[Finding]:
    """What begins to fail in each log; nothing of a log of which a known error says already what stopped it.

    Args:
        errors: log -> its lines of error, and how many lines it has.
        found: what the signatures say.
    """
    all_ = [b for name, (some, lines) in errors.items() if (b := begun(name, some, lines)) and not _stopped(b, found)]
    for b in sorted(all_, key=lambda b: -b.count)[:MOST]:
        said = clean(_STAMP.sub("", split_prefix(b.text.strip())[1]), 160)
        few = f"{b.before:.1%}" if b.before else "none"
        yield Finding(
            "errors-begin",
            Severity.S2,
            f"{b.file}:{b.line}: from here to the end {b.rate:.0%} of the lines are errors ({b.count} of them), above "
            f"it {few}: “{said}”.",
            f"{b.file}:{b.line}：从此处到末尾 {b.rate:.0%} 的行是报错（共 {b.count} 行），此前"
            f"{f'只有 {b.before:.1%}' if b.before else '一行也没有'}：“{said}”。",
            (Evidence(b.file, b.line, text=said),),
            {"count": b.count, "line": b.line, "lines": b.lines, "rate": b.rate, "before": b.before, "says": said},
        )


def _stopped(b: Begin, found: Sequence[Finding]) -> bool:
    """Whether a known error stopped the log; not where it is the one that is repeated while other work goes on."""
    fatal = [f for f in found if f.severity < Severity.S2 and any(e.file == b.file for e in f.evidence[:1])]
    return any(b.rate > GOES_ON or 2 * f.data.get("count", 0) < b.count for f in fatal)


def survived(found: Finding, begins: Sequence[Finding]) -> Finding:
    """A known error that is one of those that go on to the end of its log was not overcome: no note then."""
    own = found.evidence[0] if found.evidence else None
    if own is None or "survived" not in found.data or found.severity != Severity.S3:
        return found
    here = (b for b in begins if b.evidence[0].file == own.file and (own.line or 0) >= b.data["line"])
    if not any(2 * found.data["count"] >= b.data["count"] for b in here):
        return found
    more, zh = " It comes again and again until the log ends.", "此后一直反复出现，直到日志结束。"
    return replace(found, severity=Severity.S2, message=found.message + more, zh=found.zh + zh)


_STAMP = re.compile(r"^[\[(]?[\d:.,/TZ+ -]{8,40}[\])]?[\s|-]*")
_NUMBERED = bounded(r"[^\s=:,;/]*\d[^\s=:,;/]*")
