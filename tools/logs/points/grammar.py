"""The grammar of metric lines: numbers with units, pairs of key and value, step counters, epochs, progress bars.

What belongs together in one line of one trainer is declared in `formats`; what a key means is in
`tools.metrics`, the words and units in `tools.vocabulary`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from math import isfinite

from ...metrics import canonical, of_split, splits
from ...patterns import bounded
from ...vocabulary import BARE_TIMES, COUNTERS, UNITS

NUM = (
    r"[-+]?(?:\d{1,3}(?:,\d{3}){1,9}(?:\.\d{1,25})?|\d{1,25}\.?\d{0,25}|\.\d{1,25})(?:[eE][-+]?\d{1,5})?"
    r"|[-+]?(?:nan|inf(?:inity)?)(?![\w.])"
)
"""Digits are bounded: the search takes no longer on a line of nothing but digits."""
_UNIT = rf"\s?({'|'.join(sorted(UNITS, key=len, reverse=True))})(?![\w/]|\s?[:=])"
VALUE = rf"(?:np\.\w{{1,12}}\(|tensor\(|\{{['\"][\w-]{{1,30}}['\"]:\s|[\[\"'])?\s*({NUM})(?:{_UNIT})?(?!\w|\.\d|-\d)"
"""A number with an optional wrapper (`np.float64(`, quotes, `[`) and unit; `nanms` and `1.2.3` are no values."""

_BEHIND = bounded(rf"\s?{_UNIT}", re.IGNORECASE)
_SCALES = sorted({1.0, *(unit.scale for unit in UNITS.values())})

Span = tuple[int, int]


AFTER_KEY = bounded(rf"[:=：\s]{VALUE}", re.IGNORECASE)
"""A number and what stands between it and its key: searching for numbers is cheaper than for keys."""
DICT_PAIR = bounded(rf"['\"]([^'\"\n]{{1,100}})['\"]\s*:\s*{VALUE}", re.IGNORECASE)
PIPE_PAIR = bounded(rf"(?:^|\|)\s*([A-Za-z][^|:]{{1,60}}):\s*{VALUE}", re.IGNORECASE)
DASH_PAIR = bounded(rf"(?:^|\s-\s)([^\s:]{{1,120}}):{VALUE}", re.IGNORECASE)
BAR_PAIR = bounded(rf"[,\[]\s*([A-Za-z][\w/@.\- ]{{0,60}}?)\s*[=:]\s*{VALUE}", re.IGNORECASE)
CLAUSE_PAIR = bounded(rf"(?:,|:|\])\s([A-Z][A-Za-z ]{{1,60}}):\s{VALUE}(?:\sreqs)?", re.IGNORECASE)
INDENTED_PAIR = re.compile(rf"^ {{2,8}}([A-Za-z][\w.]{{0,60}}/[\w/.() -]{{1,60}})={VALUE}\s{{0,16}}$", re.IGNORECASE)

_STEP = bounded(
    rf"({'|'.join(COUNTERS)}|(?<![同异单每逐进初跑])步(?=\s?[:=：]))"
    + r"(?:[:=#：]\s*|\s|(?=\[))\s*\[?\s*(\d{1,3}(?:,\d{3})+|\d+)(?!\w|\.\d|%|-\d)"
)
"""On lower-case text; what may stand before the word is `counters`' matter."""
_BEFORE_STEP = bounded(r"(?:^|[^\w.@-]|[\u4e00-\u9fff])((?:global|train(?:ing)?|optim\w*)[ _-])?$")
_NOT_A_STEP = bounded(
    r"\b(?:warm-?up|max|total|save|eval|logging|num|of|per|skipped|nan|every) $|(?:最大|总|预热|保存|评估|每)$"
)
_COUNTED = f"(?:{'|'.join(COUNTERS)})"
COUNTER_HINT = rf"{_COUNTED}[^a-z0-9\n]*[0-9]|步"
"""What every line with a counter holds."""
HEAD_HINT = rf"{_COUNTED}s?(?:  |\t| ?\|)|(?:  |\t|\| ?)[a-z_/]*{_COUNTED}"
"""What every head row of a table with a column of counters holds."""
_STEP_ZH = bounded(r"第\s*(\d+)\s*(?:个\s*)?(?:训练)?步")
BEFORE_A_SIZE = 3
"""Numbers with something before them from which on a batch behind them is a size."""
_SOURCE_LINE = re.compile(r"\s(?:-|\|)\s")
_KEY_END = bounded(r"[,|;{}\[\]\t\"'»，；。│]|  ")
_EPOCH = bounded(r"(?:(?<!\w)epochs?|轮次|第\s*(?=\d+\s*轮))\s*[:=#：\[\s]?\s*\[?\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_WITHIN = bounded(
    r"(?:\s?(?:/|of)\s?\d{1,9})?\s?[\])]?\s{0,3}[,|:;-]?\s{0,3}(?:(?:\w{1,12}[_-])?(?:mini)?(?:batch|iter|step|批次?)\w{0,8}"
    r"\s?[:=#]?\s?[\[(]?\s{0,8}(\d{1,9})(?![.:]?\d)|[\[(]?\s{0,8}(\d{1,9})\s?/\s?\d{1,9}(?![\d/]|\.\d)"
    r"|[\[(]\s{0,8}(\d{1,9}):\d{1,9}[\])])",
    re.IGNORECASE,
)
"""What counts inside an epoch, right behind its number: `, batch_id: 500`, ` | 143/573`, `[ 100:391]`."""
_NOT_THE_VALUE = frozenset(
    ("max", "min", "best", "std", "target", "prev", "previous", "threshold", "lowest", "highest", "initial")
)
_SPLIT = re.compile(splits())
_HELD = splits(r"\w*")
HELD_OUT = bounded(
    rf"^(?:[^=,]|,(?=\d)){{0,60}}?(?<![\w/.-])(?:{_HELD})(?![\w/.-])"
    rf"|^.{{0,200}}?\w=['\"]?(?:{_HELD})['\"]?(?=[\s,;|])",
    re.IGNORECASE,
)
"""The beginning of a line that tells of held-out data, or a field of it (`phase=val`)."""
SPLIT_NAMED = bounded(
    rf"(?:^|[\[(<{{}}|,;'\"])\s{{0,4}}(?:(train\w{{0,4}}|trn)|(?P<held>{splits()}))(?:\s?set)?['\"]?\s{{0,4}}"
    r"(?:[\])>|]|:\s{0,4}(?=[\[{(<]|\w{1,40}['\"]?\s?[=:]))",
    re.IGNORECASE,
)
"""A part of a line that tells of one split: `[valid] loss=2.1`."""
SETTINGS_TOO = {"learning_rate", "loss_scale", "batch_size", "epoch", "gpu_memory", "response_length", "num_zeros"}
"""Metrics whose names also stand in printed configurations: alone they do not make a line a record."""


def number(text: str, unit: str | None = None) -> float:
    """The float of a matched value in its canonical unit."""
    value = float(text.replace(",", ""))
    return value * UNITS[unit.lower()].scale if unit else value


def scale_of(raw: float, value: float, behind: str) -> float | None:
    """What a number as it is written was multiplied by to be a value; None where that is not told.

    Of 0, `nan` and `inf`, which are the same in every unit, it is told by the text behind them alone: 0 of a unit is
    not believed, for other numbers in its place may be written wider, and farther from their unit.
    """
    if raw == 0 or not isfinite(raw):
        unit = _BEHIND.match(behind)
        return 1.0 if unit is None else None if raw == 0 else UNITS[unit[1].lower()].scale
    scale = min(_SCALES, key=lambda s: abs(s * raw - value))
    return scale if scale * raw == value else None


def counted(text: str) -> int:
    """The whole number of a matched counter; `1.20k` is 1200."""
    plain = text.replace(",", "").lower()
    if plain.isdecimal():
        return min(int(plain[:18]), 1 << 60)
    return int(float(plain.rstrip("km")) * {"k": 1_000, "m": 1_000_000}.get(plain[-1], 1))


@lru_cache(maxsize=4)
def counters(text: str) -> tuple[tuple[int, str, int, Span], ...]:
    """(rank, name, value, place) of the step-like counters of a line, not `warmup steps: 100`, `max_step=5`.

    The lowest rank is the one to believe: the trainer's own step before a step, an iteration, a batch, and last what
    may be the line number of a source file (`train:train_step:123 - `).
    """
    return tuple(_counters(text))


def _counters(text: str) -> Iterator[tuple[int, str, int, Span]]:
    low = text.lower()
    if len(low) != len(text):
        low = text
    for match in _STEP.finditer(low):
        before = low[max(0, match.start() - 12) : match.start()]
        fits = _BEFORE_STEP.search(before)
        if not fits or _NOT_A_STEP.search(before):
            continue
        word, owner = match.group(1), fits.group(1) or ""
        if word == "batch" and _closes(text, match):
            continue
        rank = 3 if word == "batch" else 2 if word.startswith(("iter", "迭代")) else 0 if owner else 1
        if before[fits.start() : fits.start() + 1] == ":" and _SOURCE_LINE.match(low, match.end()):
            rank = 9
        yield rank, owner + word, counted(match.group(2)), match.span(2)
    if "第" in text:
        for match in _STEP_ZH.finditer(text):
            yield 1, "步", counted(match.group(1)), match.span(1)


def _closes(text: str, batch: re.Match[str]) -> bool:
    """Whether a bare `Batch 512` stands behind all else that a line says: a size, for what counts stands in front."""
    if text[batch.end() :].strip(" \t\r\n.|,;])}"):
        return False
    return sum(1 for _ in islice(AFTER_KEY.finditer(text, 0, batch.start()), BEFORE_A_SIZE)) == BEFORE_A_SIZE


def counter(text: str) -> tuple[str, int, Span] | None:
    """Name, value and place of the counter to believe."""
    found = counters(text)
    return min(found, key=lambda c: c[0])[1:] if found else None


def epoch_of(text: str) -> tuple[float, Span] | tuple[None, None]:
    """The epoch that a line names, and its place."""
    match = _EPOCH.search(text) if "poch" in text or "轮" in text or "POCH" in text else None
    return (float(match.group(1)[:12]), match.span(1)) if match else (None, None)


def within(text: str, epoch: Span) -> tuple[int, str, Span] | None:
    """The count inside an epoch that is being trained, its name and place; None where each epoch is told once."""
    match = _WITHIN.match(text, epoch[1])
    if not match or HELD_OUT.match(text):
        return None
    group = next(i for i in (1, 2, 3) if match[i])
    return int(match[group]), "batch", match.span(group)


def loose_pairs(text: str, rename: Mapping[str, str], held_out: bool) -> Iterator[tuple[str, float, Span]]:
    """`key: value`, `key=value`, `key value` and `value unit` with known keys, whatever stands between the pairs.

    A bare `val` after a loss is the loss of that split (`loss train: 2.1, val: 2.2`).
    """
    seen: set[str] = set()
    end, last = 0, ""
    for match in AFTER_KEY.finditer(text):
        phrase = text[max(end, match.start() - 80) : match.start()].strip(" \t:=：")
        end = match.end()
        key = ""
        if phrase:
            held_out = next((not part[1] for part in [*SPLIT_NAMED.finditer(phrase)][-1:]), held_out)
            key = known_end(phrase)
            key = rename.get(key or phrase.rsplit(None, 1)[-1].lower(), key)
            if not key and last and _SPLIT.fullmatch(phrase.strip(",| ").lower()):
                key = f"eval_{last}"
        unit = (match.group(2) or "").lower()
        key = key or (UNITS[unit].metric if unit else "") or ("step_time" if unit == "ms" and phrase == "|" else "")
        if not key:
            continue
        last = _base(key)
        if held_out and not last.startswith("eval_") and "train" not in key.lower():
            held = canonical(of_split(key, "eval"))
            if not held:
                continue
            key = held[0]
        if key not in seen:
            seen.add(key)
            yield key, number(match.group(1), match.group(2)), match.span(1)


def _base(key: str) -> str:
    hit = canonical(key)
    return hit[0] if hit else ""


@lru_cache(maxsize=4096)
def known_end(phrase: str) -> str:
    """The longest end of a phrase of words that is a known metric (`for the val loss` -> `val loss`)."""
    words = re.split(r"[\s:：]+", _KEY_END.split(phrase)[-1].strip())[-5:]
    if any(word.lower() in _NOT_THE_VALUE for word in words):
        return ""
    for i in range(len(words)):
        end = " ".join(words[i:])
        hit = canonical(end)
        if hit and hit[0] != "epoch":
            return "" if end.lower() in BARE_TIMES and i else end
    return ""


def telling(key: str) -> bool:
    """Whether a key is a metric that no configuration would print."""
    hit = canonical(key)
    return hit is not None and hit[0] not in SETTINGS_TOO
