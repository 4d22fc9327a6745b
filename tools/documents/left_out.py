"""Samples that a training's own lines say are left out: how many, and whether all of them were cut at the run's limit.

A loader that cannot use a sample says so once for each, with the numbers that do not fit (`image tokens 2011 != image
features 2592, sample skipped`). No message has to be known: one number of every such line stays just
below a length that the run sets, and another lies above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..findings import Check, Evidence, Finding, Report, Severity, clean, declare
from ..patterns import bounded
from ..reading import Chunk, Line, lines_of
from ..run import Run
from ..series import SeriesTable
from ..settings import Settings
from .stated import Stated, stated

CHECK = "samples that lines say are left out"
CODES = declare(
    "left out",
    ("samples-cut-at-limit", CHECK, "samples are left out of the loss that the length limit has cut"),
    ("samples-left-out", CHECK, "many lines of a training say that a sample is left out"),
)
FILES, LINES, LONGEST, SHAPES, KEPT = 40, 400_000, 400, 200, 4000
"""Logs, lines of each, letters of a line, forms of lines, and lines of a form whose numbers are looked at."""
CUT, MANY = 20, 100
"""Lines of one form from which on they are told: with the limit that explains them, and without. Own judgement."""
NEAR, ALL = 0.85, 0.95
"""Share of the limit that a sample cut at it still has (a picture has text around it), and of the lines that fit."""
SHARE, LATE = 0.05, 0.1
"""Shares: of the samples from which on it is likely wrong, and of such lines in the last quarter of the log."""
SAMPLE = bounded(
    r"(?i)\b(?:samples?|examples?|instances?|records?|rows?|items?|conversations?|documents?|utt(?:erance)?s?|pairs?)\b"
    r"|样本|数据|条目|记录|对话"
)
OUT = bounded(
    r"(?i)\b(?:skip(?:s|ped|ping)?|drop(?:s|ped|ping)?|discard(?:s|ed|ing)?|ignor(?:e|es|ed|ing)|exclud(?:es?|ed|ing)"
    r"|mask(?:ed|ing)|left out)\b|labels?\D{0,20}-100\b|跳过|丢弃|忽略|屏蔽|剔除|舍弃"
)
HINTS = (b"kip", b"rop", b"iscard", b"gnor", b"xclu", b"ask", b"left out", b"-100", "跳".encode(), "丢".encode(),
         "忽略".encode(), "屏蔽".encode(), "剔".encode(), "舍".encode())  # fmt: skip
NUMBER = re.compile(r"(?<![\w.])\d{1,7}(?![\w.]*\d)", re.ASCII)
_VARIES = re.compile(r"\d+|(?:/[\w.-]+){2,20}")
LIMIT = bounded(
    r"(?i)(?:max|limit|cut_?off|block|context|window|model).{0,16}(?:len|length|tokens?|size|ctx)$|^seq(?:uence)?_?len"
)


@dataclass
class Said:
    """Lines of one form."""

    file: str
    text: str
    line: int
    count: int = 0
    numbers: list[list[int]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def left_out(run: Run, logs: Mapping[str, Sequence[Chunk]], settings: Settings, table: SeriesTable) -> Report:
    """What the logs of a training say of samples that are left out.

    Args:
        run: whose files state limits.
        logs: what was kept of each log.
        settings: in force, for the batch and the distance of logged steps.
        table: what was measured: only logs with a loss are of a training.
    """
    trained = {s.file: s for s in table if s.metric == "loss" and len(s) >= 2}
    heard = [(s, end) for name in [n for n in logs if n in trained][:FILES] for s, end in _heard(logs[name], name)]
    limits = [*_limits(run, settings)] if heard else []
    found = list[Finding]()
    measured = {name: set(s.lines.tolist()) for name, s in trained.items()}
    heard = [(s, end) for s, end in heard if not measured[s.file].intersection(s.lines)]  # `skipped iterations: 0`
    for said, end in heard:
        cut = _cut(said, limits)
        if cut is not None:
            found.append(_told_cut(said, *cut))
        elif said.count >= MANY and np.mean(np.array(said.lines) > 0.75 * end) >= LATE:
            found.append(_told(said, _share(said, settings, trained[said.file].steps)))
    found.sort(key=lambda f: f.severity)
    return Report("left out", tuple(found[:2]), (Check(CHECK, "found" if found else "clear" if trained else
                                                       "not-applicable"),))  # fmt: skip


def _heard(chunks: Sequence[Chunk], name: str) -> Iterator[tuple[Said, int]]:
    """(lines of one form, the log's last line) of every form that comes often."""
    forms: dict[str, Said] = {}
    last = 0
    for line in _worth(chunks):
        last = line.number
        text = line.text
        if len(text) > LONGEST or not text or not (OUT.search(text) and SAMPLE.search(text)):
            continue
        key = _VARIES.sub("#", text)
        said = forms.get(key)
        if said is None:
            if len(forms) >= SHAPES:
                continue
            said = forms[key] = Said(name, text.strip(), line.number)
        said.count += 1
        if len(said.lines) < KEPT:
            said.lines.append(line.number)
            said.numbers.append([int(n) for n in NUMBER.findall(text)])
    yield from ((said, last) for said in _alike(forms.values()) if said.count >= CUT)


def _worth(chunks: Sequence[Chunk]) -> Iterator[Line]:
    """The lines of chunks that may say it, and the last one of each chunk, which tells how long the log is."""
    left = LINES
    for chunk in chunks:
        if left <= 0:
            return
        if any(hint in chunk.data for hint in HINTS):
            for line in lines_of((chunk,)):
                left -= 1
                yield line
        else:
            yield Line(chunk.first_line + chunk.data.count(b"\n"), "")


def _alike(forms: Iterable[Said]) -> list[Said]:
    """Forms of a file that say the same words with names that vary, put together."""
    kept: dict[str, Said] = {}
    for said in forms:
        plain = " ".join("#" if any(map(str.isdigit, word)) else word for word in said.text.split())
        words = re.sub(r"[^A-Za-z\u4e00-\u9fff=!<>-]+", " ", plain)
        first = kept.setdefault(words, said)
        if first is not said and len(first.numbers[0]) == len(said.numbers[0]):
            first.count += said.count
            first.numbers += said.numbers[: KEPT - len(first.numbers)]
            first.lines += said.lines[: KEPT - len(first.lines)]
    return list(kept.values())


def _limits(run: Run, settings: Settings) -> Iterator[tuple[float, Evidence]]:
    """Lengths in tokens that the run sets, the one in force first."""
    for name in ("sequence_length", "max_prompt_length"):
        one = settings.values.get(name)
        if one is not None and isinstance(one.value, (int, float)) and one.value >= 64:
            yield float(one.value), Evidence(one.file, one.line or None, metric=name, value=float(one.value),
                                             text=f"{one.key}: {one.value:g}")  # fmt: skip
    for s in stated(run):
        if isinstance(s, Stated) and (number := s.number) is not None and number >= 64 and LIMIT.search(s.key):
            yield number, s.evidence()


def _cut(said: Said, limits: Sequence[tuple[float, Evidence]]) -> tuple[float, Evidence, float, float] | None:
    """(limit, where it is set, the middle number below it and above it) where one number of the lines is cut at it."""
    width = len(said.numbers[0])
    rows = np.array([row for row in said.numbers if len(row) == width], float)
    if len(rows) < ALL * len(said.numbers) or width < 2:
        return None
    moving = [i for i in range(width) if len(np.unique(rows[:, i])) > 2]
    for limit, where in limits:
        below = [i for i in moving if np.mean((rows[:, i] <= limit) & (rows[:, i] >= NEAR * limit)) >= ALL]
        above = [i for i in moving if np.mean((rows[:, i] > limit) & (rows[:, i] < 50 * limit)) >= ALL]
        if below and above:
            return limit, where, float(np.median(rows[:, below[0]])), float(np.median(rows[:, above[-1]]))
    return None


def _share(said: Said, settings: Settings, steps: np.ndarray) -> float | None:
    """Share of the samples that were seen, where the batch is known."""
    batch = settings.value("global_batch_size")
    seen = float(batch) * float(steps[-1] - steps[0]) if isinstance(batch, (int, float)) else 0.0
    return min(1.0, said.count / seen) if seen > 0 else None


def _told_cut(said: Said, limit: float, where: Evidence, kept: float, needed: float) -> Finding:
    return Finding(
        "samples-cut-at-limit", Severity.S1,
        f"{said.count} lines of {said.file} say that a sample is left out; in all of them one number stays just below "
        f"{limit:.0f} ({kept:.0f} in the middle) and the other lies above it ({needed:.0f}): {where.file}:{where.line} "
        f"sets {limit:.0f}, so whatever needs more is cut there, and the training never learns from it.",
        f"{said.file} 中有 {said.count} 行说样本被排除；每一行都有一个数刚好低于 {limit:.0f}（中位 {kept:.0f}），"
        f"另一个高于它（中位 {needed:.0f}）：{where.file}:{where.line} 设为 {limit:.0f}，需要更长的样本都在此被截断，"
        "训练学不到它们。",
        (_at(said), where), {"limit": limit, "needed": needed, "count": said.count},
    )  # fmt: skip


def _told(said: Said, share: float | None) -> Finding:
    of = f", {share:.1%} of all that were seen" if share is not None else ""
    of_zh = f"，占读到的 {share:.1%}" if share is not None else ""
    return Finding(
        "samples-left-out", Severity.S2 if share is not None and share >= SHARE else Severity.S3,
        f"{said.count} lines of {said.file} say that a sample is left out, up to the end of the log{of}: "
        f"{clean(said.text, 160)}.",
        f"{said.file} 中有 {said.count} 行说样本被排除，一直到日志末尾{of_zh}：{clean(said.text, 160)}。",
        (_at(said),), {"count": said.count, "share": share},
    )  # fmt: skip


def _at(said: Said) -> Evidence:
    return Evidence(said.file, said.line, value=float(said.count), text=clean(said.text, 240))
