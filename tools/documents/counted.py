"""Counts of parts that a run's lines give: `64 of 128 shards found`, `12/40 keys matched`, `missing: 3 of 8`.

Only a line that says whether the parts are there counts. The place of one among several is no count (`[ t 1/4,
p 1/2 ]`, `rank 3/64`, `restart 1/3`), and neither is the way through all of them (`loaded 1/4`, `2/4`, ...).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise

from ..findings import Evidence, TriageError
from ..patterns import bounded
from ..reading import Chunk, Line, iter_lines, lines_of
from ..run import Run

FILES, BYTES, LINES, MOST, REPEATS = 40, 8 << 20, 60_000, 400, 200
OF = bounded(r"(?<![\d.:/-])(\d{1,9})\s?(?:of|out of|/|（?共)\s?(\d{1,9})(?![\d.:/-]|[ T]\d{1,2}:\d{2})")
THERE = bounded(
    r"\b(?:found|loaded|restored|matched|present|available|kept|used|verified|signed|received|read|resumed|valid)\b"
    r"|找到|加载|恢复|匹配|命中|有效|存在",
    2,
)
GONE = bounded(
    r"\b(?:missing|missed|skipp?ed|ignored|dropped|lost|absent|unmatched|unsigned"
    r"|not found|not loaded|failed|empty|zero"
    r"|random(?:ly)? init\w*|newly init\w*|unexpected|invalid|stale)\b|缺失|跳过|丢|未找到|未加载|失败|为空|无效",
    2,
)
MISSING = bounded(
    r"\b(?:missing|skipp?ed|ignored|dropped|lost|unmatched)(?: keys?)?\W{1,3}(\d{1,9})\b|缺失\D{0,4}(\d{1,9})", 2
)
RIGHT = bounded(
    r"(?i)\b(?:pass(?:es|ed)?|correct\w{0,2}|right|succe\w{2,8}|ok|accura\w{2,3}|solved|done|complete\w?|precision|recall)\b"
    r"|[✓✅]|通过|正确|成功|答对|完成|准确"
)
"""What is said of a score, or of what came to its end: not of parts that should be there."""
BY_IT = 24
"""Letters before and behind a count in which such a word speaks of it."""
_DIGITS = re.compile(r"\d+")
ONE = bounded(
    r"(?i)(?:[\[(,;|]\s{0,2}[a-z]p?|\b[tpdcev]p|\b(?:tensor|pipeline|data|context|expert|sequence)(?:[ _-]?parallel)?"
    r"|rank|\b(?:(?:re)?starts?|retry|retries|attempts?|try|tries|trials?|epochs?|steps?|iter(?:ation)?s?|pass(?:es)?"
    r"|batch|stage|phase|round|worker|node|host|replica|process|gpu|device|shard|part|partition|file|chunk|split|fold"
    r"|version|layer|group|instance|task|job|member|slot|number|no\.?)"
    r"|#|第|重启|重试|尝试|阶段|进程|节点|分片|分卷|卡|轮次)\s{0,2}[:=：]?\s{0,2}$"
)
"""What stands before the place of one among several: a short name in brackets, a word in the singular; or before the
way through what takes time."""
PASSED = bounded(
    r"(?i)^\s?(?:(?:re)?starts?|retr(?:y|ies)|attempts?|tries|trials?|epochs?|steps?|iter(?:ation)?s?|次|步|轮)"
)
"""What stands behind such a way."""
CLAUSE = bounded(
    r"[,;|()（），；。]|\.\s|\s[-–—]\s|\b(?:while|and|but|whereas|versus|vs|compared|against)\b|而|但|相比"
)
"""What parts a line: a word speaks of the count beside it, not of one in another clause."""
OWN = re.compile(r"\s(?=(?:\d|no|none|zero)\b)")
BAR = re.compile(r"%\s?\|[^|]{0,200}\|\s?$")
"""A progress bar before its count."""


@dataclass(frozen=True)
class Counted:
    """How many of a whole are there, as one line says it."""

    file: str
    line: int
    there: int
    whole: int
    text: str

    def evidence(self) -> Evidence:
        return Evidence(self.file, self.line, value=float(self.there), text=self.text)


def counted(run: Run, logs: Mapping[str, Sequence[Chunk]]) -> tuple[Counted, ...]:
    """The counts in logs and documents, at most a few of lines of one kind.

    Args:
        run: whose documents are read.
        logs: what was kept of each log when it was read.
    """
    found: list[Counted] = []
    for name, chunks in logs.items():
        found += _few(lines_of(chunks), name)
    for artifact in islice(run.of("document"), FILES):
        with suppress(TriageError, OSError):
            if artifact.path.stat().st_size <= BYTES:
                found += _few(iter_lines(artifact.path), artifact.name)
    return tuple(found[:MOST])


def _few(lines: Iterable[Line], name: str) -> list[Counted]:
    some = list(islice(_of(islice(lines, LINES), name), REPEATS))
    return _without_progress(some) if len(some) < REPEATS else []


def _without_progress(some: Sequence[Counted]) -> list[Counted]:
    """Without lines of one form that count up to their whole, one by one or in even strides."""
    alike: dict[tuple[str, int], list[Counted]] = {}
    for c in some:
        alike.setdefault((_DIGITS.sub("#", c.text), c.whole), []).append(c)
    through = {
        key for key, them in alike.items()
        if len(them) > 1 and them[-1].there == them[-1].whole
        and all(a.there < b.there for a, b in pairwise(them))
    }  # fmt: skip
    return [c for c in some if (_DIGITS.sub("#", c.text), c.whole) not in through]


def _says_the_rest(text: str, count: re.Match[str], rest: int) -> bool:
    """Whether the line says apart from the count how many are not among them, so that the count is of those there."""
    others = {int(n) for n in _DIGITS.findall(text[: count.start()] + " " + text[count.end() :])}
    return rest in others and rest != int(count[1])


def _of(lines: Iterator[tuple[int, str]], file: str) -> Iterator[Counted]:
    for number, text in lines:
        if len(text) > 1000 or not (THERE.search(text) or GONE.search(text)):
            continue
        for match in islice(OF.finditer(text), 2):
            a, b = int(match[1]), int(match[2])
            before = text[max(0, match.start() - 240) : match.start()]
            if ONE.search(before[-40:]) or BAR.search(before) or PASSED.search(text[match.end() :]):
                continue
            present = _says(text, match)
            if present is False and RIGHT.search(text[max(0, match.start() - BY_IT) : match.end() + BY_IT]):
                continue
            present = present if present is None else present or _says_the_rest(text, match, b - a)
            if b > 1 and a <= b and present is not None:
                yield Counted(file, number, a if present else b - a, b, text.strip()[:200])


def _says(text: str, count: re.Match[str]) -> bool | None:
    """Whether the count is of what is there or of what is gone; None where no word of its clause says so. A count that
    makes up its clause is what the clause before it speaks of; a word with a number of its own behind the count (`0
    failed`) speaks of that one."""
    ends = [m.span() for m in CLAUSE.finditer(text)]
    starts = [0, *(end for _, end in ends if end <= count.start())]
    stop = min((start for start, _ in ends if start >= count.end()), default=len(text))
    head, tail = text[starts[-1] : count.start()], OWN.split(text[count.end() : stop])[0]
    if len(starts) > 1 and not re.search(r"[^\W\d_]", head + tail):
        head = text[starts[-2] : starts[-1]]
    there, gone = (next((n for n, m in enumerate((word.search(head), word.search(tail))) if m), None)
                   for word in (THERE, GONE))  # fmt: skip
    if there is None and gone is None:
        return None
    if there != gone:
        return gone is None or (there is not None and there < gone)
    part = tail if there else head
    return THERE.search(part).start() < GONE.search(part).start()  # type: ignore[union-attr]
