"""Which attention training (or the offline evaluation) runs and which the service: the implementation and its window,
whatever the keys, held against how far into a text the answers agree.

Two right implementations differ in the last digits, and most services run another one than the training did: by itself
that is a note. It is a fault where the run measures that both agree up to some place and not beyond it: logits or
probabilities by position, or scores by the length of what was asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity, TriageError
from ...patterns import bounded
from ...relate.kinds.names import demand
from ...relate.line import means
from ...tables.read import read_tables
from ...tables.table import Column, Table
from .read import EVALUATES, Text, sections

NEEDS = bounded(r"(?i)att(?:entio)?n|\bfa[23]\b|sdpa|window|注意力|窗口")
VALUE = (
    r"(flash_?attention_?[23]?|flash_?attn(?:_?[23])?|flashinfer|flash|fa[23]|eager|sdpa|math|native|naive"
    r"|xformers|triton|mem(?:ory)?_?efficient)(?![a-z0-9])"
)
SET = bounded(
    r"(?i)(?:attn|attention|注意力)(?:[ _.-]?(?:impl(?:ementation)?|backend|kernel|type|mode|实现|后端|内核))?[\"']?\]?"
    rf"\s?(?:[:=]{{1,2}}|为|用|使用|\s)\s?[\"']?{VALUE}"
)
TOLD = bounded(
    r"(?i)(?:forward|前向|kernel|内核|using|runs?|use[sd]?|采用|使用)\W{0,12}(?:\w{1,12} )?"
    r"(flash[_ -]?att\w{0,8}[-_ ]?[23]?|fa[23]|eager|sdpa|xformers)(?![a-z0-9])"
)
WINDOW = bounded(
    r"(?i)(?:(?:sliding|attn|attention|local)[_ -]?window(?:_size)?|\bwindow(?:_size)?|滑动窗口|窗口)"
    r"[\"']?\s?[:=为]\s?[\[(]?(-?\d{1,7}|null|none)\b"
)
ATTENDS = bounded(r"(?i)sliding|att(?:entio)?n|\bfa[23]\b|flash|local|滑动|注意力")
OFF = bounded(r"(?i)disable[_-]sliding[_-]window|use_sliding_window[\"']?\s?[:=]\s?(?:false|0|no)\b")
CLASSES = (("flash", ("flash", "fa2", "fa3")), ("eager", ("eager", "math", "native", "naive")))
PLACE = bounded(r"^(?:pos(?:ition)?s?|token(?:_?(?:pos|idx|index))?|offset|idx|t|位置|下标|第几个token)$")
APART = bounded(r"(?i)diff|delta|(?:^|_)(?:kl|err(?:or)?|gap|mae|mse|abs)(?:_|$)|差")
LENGTH = bounded(
    r"^(?:n_?)?(?:prompt|input|context|ctx|question|history)_?(?:n_?)?(?:tok(?:en)?s?|len(?:gth)?|size)$|^(?:prompt|input)_?n$"
    r"|^(?:输入|提示|上下文|问题)_?(?:长度|token数?|tokens?)$"
)
SCORE = bounded(r"(?:^|_)(?:score|correct|acc\w*|right|pass\w*|solved|rating|f1|em|ok)(?:_|$)|得分|评分|正确|通过|分数")
LEAST, TIMES, WORSE, NEAR = 6, 8.0, 0.7, 1.6
"""Rows of either side; times that the differences are larger beyond the place; share of the score that is left beyond;
and how near to a window, as a factor, the place is that it explains. Own judgement."""
ERRORS = 6.0
FILES, BYTES = 20, 8 << 20


@dataclass(frozen=True)
class Said:
    """What one line says of the attention."""

    kind: str
    """Class of the implementation, empty where only a window is said."""
    word: str
    window: int | None
    """Positions that are looked back; 0 for all."""
    where: Evidence


@dataclass(frozen=True)
class Place:
    """Up to which place both sides agree, or the answers are good, and how it is measured."""

    at: float
    en: str
    zh: str
    where: tuple[Evidence, ...]
    ask: dict[str, object]
    """What the next run has to show."""


def attends_otherwise(texts: Sequence[Text]) -> Iterator[Finding]:
    """The first implementation or window of the service that is not the one of training."""
    some = [t for t in texts if t.has(NEEDS)]
    trained = [s for t in some if t.role == "train" for s in _said(t)]
    trained = trained or [s for t in some if t.role == "" and EVALUATES.search(t.name) for s in _said(t)]
    served = [s for t in some if t.role == "serve" for s in _said(t)]
    models = ([*_said(t)] for t in some if t.role == "model")
    model = [s for said in models if all(s.window != 0 for s in said) for s in said]
    pair = _pair(trained, served)
    if pair is None:
        return
    was, now = pair
    window = next((s for s in (*trained, *model) if s.window), None)
    place = next(_places(texts, float(window.window) if window and window.window else None), None)
    yield _told(was, now, window, place)


def _said(text: Text) -> Iterator[Said]:
    for number, line, under in sections(text):
        if number > 3000 or not NEEDS.search(line[:400]):
            continue
        found = SET.search(line[:400]) or TOLD.search(line[:400])
        word = found[1] if found else ""
        size = WINDOW.search(line[:400]) if ATTENDS.search(line) or ATTENDS.search(under) else None
        window = None if size is None else max(int(size[1]), 0) if size[1].lstrip("-").isdigit() else 0
        if OFF.search(line):
            window = 0
        if word or window is not None:
            yield Said(_class(word), word, _whole(window), text.at(number))


def _whole(window: int | None) -> int | None:
    """`(1023, 0)` looks back over 1023 positions and sees 1024 with its own."""
    return window + 1 if window and (window + 1) & window == 0 else window


def _class(word: str) -> str:
    low = re.sub(r"[_ -]", "", word.lower())
    return next((name for name, words in CLASSES if low.startswith(words)), low)


def _pair(trained: Sequence[Said], served: Sequence[Said]) -> tuple[Said, Said] | None:
    """A statement of each side that contradict each other, where no statement of the two sides agrees."""
    kinds, theirs = ([s for s in side if s.kind] for side in (trained, served))
    if kinds and theirs and not {s.kind for s in kinds} & {s.kind for s in theirs}:
        return kinds[0], theirs[0]
    sizes, others = ([s for s in side if s.window is not None] for side in (trained, served))
    if sizes and others and not {s.window for s in sizes} & {s.window for s in others}:
        return sizes[0], others[0]
    return None


def _places(texts: Sequence[Text], window: float | None) -> Iterator[Place]:
    """Where the run measures that both sides part; where a window is known, near to it."""
    for text in [t for t in texts if t.name.endswith((".csv", ".tsv", ".jsonl", ".json", ".txt"))][: 2 * FILES]:
        with suppress(TriageError, OSError, ValueError):
            if text.path.stat().st_size <= BYTES:
                for table in read_tables(text.path, text.name)[:4]:
                    place = _parts(table) or _worse(table)
                    if place is not None and (window is None or 1 / NEAR <= place.at / window <= NEAR):
                        yield place


def _column(table: Table, pattern: re.Pattern[str]) -> Column | None:
    return next((c for c in table.columns if c.values.dtype.kind == "f" and means(pattern, c.name)), None)


def _parts(table: Table) -> Place | None:
    """Differences by position that are small up to one and large beyond it."""
    place, apart = _column(table, PLACE), _column(table, APART)
    if place is None or apart is None or place is apart:
        return None
    keep = np.isfinite(place.values) & np.isfinite(apart.values)
    order = np.argsort(place.values[keep], kind="stable")
    x, y, rows = place.values[keep][order], np.abs(apart.values[keep][order]), np.flatnonzero(keep)[order]
    if len(x) < 2 * LEAST or len(np.unique(x)) < len(x) // 2:
        return None
    for i in range(LEAST, len(x) - LEAST + 1):
        level = float(np.max(y[:i]))
        if y[i:].min() > 3 * level and np.median(y[i:]) > TIMES * max(level, 1e-9):
            low, high = f"{np.median(y[:i]):.3g}", f"{np.median(y[i:]):.3g}"
            where = Evidence(table.file, int(table.lines[rows[i]]) or None, metric=apart.name, value=float(y[i]))
            return Place(
                float(x[i]), f"{apart.name} {low} up to {x[i - 1]:g} and {high} from {x[i]:g} on ({table.file})",
                f"{apart.name} 到位置 {x[i - 1]:g} 为 {low}，从 {x[i]:g} 起为 {high}（{table.file}）", (where,),
                demand(apart.name, "at-most", 3 * level, f"{low} before {x[i]:g}", f"位置 {x[i]:g} 之前为 {low}"),
            )  # fmt: skip
    return None


def _worse(table: Table) -> Place | None:
    """Scores that are good up to a length of what was asked and far worse beyond it."""
    length, score = _column(table, LENGTH), _column(table, SCORE)
    if length is None or score is None:
        return None
    keep = np.isfinite(length.values) & np.isfinite(score.values)
    order = np.argsort(length.values[keep], kind="stable")
    x, y, rows = length.values[keep][order], score.values[keep][order], np.flatnonzero(keep)[order]
    n, least = len(x), max(2 * LEAST, len(x) // 20)
    if n < 4 * least:
        return None
    sums, counts = np.cumsum(y), np.arange(1, n + 1)
    left, right = sums[:-1] / counts[:-1], (sums[-1] - sums[:-1]) / (n - counts[:-1])
    between = (left - right) ** 2 * counts[:-1] * (n - counts[:-1])
    cut = np.arange(n - 1)
    between[(cut < least) | (cut > n - least - 2) | (x[1:] == x[:-1])] = 0
    i = int(between.argmax())
    error = float(np.sqrt(np.var(y[: i + 1]) / (i + 1) + np.var(y[i + 1 :]) / (n - i - 1)))
    if between[i] <= 0 or right[i] > WORSE * left[i] or left[i] - right[i] < ERRORS * error:
        return None
    low, high = f"{right[i]:.3g}", f"{left[i]:.3g}"
    where = Evidence(table.file, int(table.lines[rows[i + 1]]) or None, metric=score.name, value=float(y[i + 1]))
    return Place(
        float(x[i + 1]), f"{score.name} is {high} up to {length.name} {x[i]:g} and {low} beyond ({table.file})",
        f"{length.name} 不超过 {x[i]:g} 时 {score.name} 为 {high}，超过后为 {low}（{table.file}）", (where,),
        demand(score.name, "at-least", float(left[i] + right[i]) / 2, f"beyond {x[i]:g}, where it is {low} now",
               f"长度超过 {x[i]:g} 的部分，现在为 {low}"),
    )  # fmt: skip


def _told(was: Said, now: Said, window: Said | None, place: Place | None) -> Finding:
    mine, theirs = (s.word or f"window {s.window or 'none'}" for s in (was, now))
    a, b = (f"{s.where.file}:{s.where.line}" for s in (was, now))
    en, zh = f"{a} attends with {mine}, and {b} serves with {theirs}", f"{a} 用 {mine} 注意力，{b} 部署用 {theirs}"
    if window is not None:
        en += f"; the window is {window.window} ({window.where.file}:{window.where.line})"
        zh += f"；窗口为 {window.window}（{window.where.file}:{window.where.line}）"
    if place is not None:
        en, zh = f"{en}; {place.en}", f"{zh}；{place.zh}"
    places = (was.where, now.where, *((window.where,) if window else ()), *(place.where if place else ()))
    return Finding(
        "attention-differs-when-served" if place else "attention-set-otherwise",
        Severity.S1 if place else Severity.S3, f"{en}.", f"{zh}。", places,
        {"trained": was.word, "served": now.word, "window": window.window if window else None,
         "place": place.at if place else None, "names": f"{theirs} -> {mine} ({b})",
         **({"asks": [place.ask]} if place else {})},
    )  # fmt: skip
