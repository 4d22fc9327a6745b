"""What the numbers of a line are called: the words before them, the head above them, the unit behind them.

Which of them counts, and which is measured, is judged in `mined`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...metrics import canonical, of_split, split_named
from ...patterns import bounded
from ...registry import table
from ...vocabulary import UNITS, VOCABULARY, Unit
from ..company import TIMES
from .grammar import SPLIT_NAMED
from .shapes import ANY_NOISE, TOKEN, Shape

STEPS = frozenset((
    "step", "steps", "it", "iter", "iters", "iteration", "iterations", "batch", "batches", "b", "i", "n", "s",
    "u", "update", "updates", "num_updates", "global_step", "global-step", "episode_step", "frame", "frames",
    "timestep", "timesteps", "minibatch", "mb", "sample", "samples", "tick", "步", "步数", "步骤", "批", "批次", "迭代",
    "迭代次数",
))  # fmt: skip
EPOCHS = frozenset((
    "epoch", "epochs", "ep", "e", "round", "rounds", "episode", "episodes", "game", "generation", "cycle",
    "trial", "pass", "轮", "轮次", "周期",
))  # fmt: skip
"""Last words of a counter's name; the latter go round while the former rise."""
PARTICLES = "はがを为是約约"
"""What Japanese and Chinese put between a name and its number."""
SHORT = 3
"""Letters of a name that says less than the unit behind its number."""
_NORM = bounded(r"(\|{1,2}[\w∇]{1,6}\|{1,2}|‖[\w∇]{1,6}‖)[\s=:]{0,4}$")
"""A norm as it is written in mathematics."""
MOST_NAMED = 32
"""Letters of a column's name; more are a sentence."""
_FILLERS = frozenset((
    "is", "was", "are", "and", "of", "at", "to", "the", "a", "an", "with", "in", "on", "for", "now", "by",
    "from", "has", "be", "after", "only", "but", "so", "far", "equals", "currently", "your", "this", "its",
    "-", "->", "=>", "=", ":", "~", "≈",
    ">", "*", "•", "/", "→", "·",
))  # fmt: skip
"""Words at either end of a name that do not belong to it."""
_IN_UNIT = bounded(r"([^\W\d][\w/ -]{1,40}?\s?\([A-Za-z%/]{1,12}\))\s{0,4}[:=：]\s{0,4}$")
"""A name with its unit in brackets before a number: `gen throughput (token/s): `."""
_CUT = bounded(r"[,|;#(){}\[\]<>\t\"'，；。！│]|  | - |(?<![\w/])-{2,}|(?<=\w): (?=\S)")
_COUNTED_AFTER = bounded(r"^\s?(轮|步|批|个?epoch|(?:st|nd|rd|th) (?:step|epoch|iteration))", re.IGNORECASE)
_UNIT_AFTER = bounded(r"^(?:\s?([A-Za-z%µμ][\w/%]{0,15})(?=\s*[)\]}|,;]|\s*$|  )|([A-Za-z%µμ/][\w/%]{0,15})(?=\s))")
_KILO = bounded(r"^[kKM](?=\s|$|[,|)])")
_GLUED = bounded(r"[A-Za-zµμ%/][\w/%]{0,15}(?=[\s,;|)\]}])")
"""A unit right behind the number before, which is no word of the next one's name."""
_EDGES = re.compile(r"^[^\w(|‖∇]+|[^\w)|‖∇?]+$")
"""Signs and pictures around a name."""
_RATED = bounded(r"^\s?(?:tok(?:en)?s?|samples|words)/s\b")
_MEASURED = bounded(r"(?<=\d)\s?(?:ms|us|s|%|x|[kKMGTB](?:i?B)?)(?=[\s,;|)\]]|$)")
"""A unit behind a number in a row of a table."""
_SAYS_COLUMNS = bounded(
    r"^\s{0,40}(?:#+|//|--|%+)?\s{0,8}(?:(?:cols?|columns?|fields?|header|列|字段)\s{0,4}[:=：])?", re.IGNORECASE
)
"""What a comment says before the names of the columns."""
_BETWEEN = bounded(r"[\s|│,;·]{1,40}$")
"""What may stand between one measure and the next that has no name."""
_SPENT = bounded(r"^\s?(ms|us|[µμ]s|s)\b")
_LASTS = re.compile(r"#\s?(?:ms|us|[µμ]s|s)\b|#")
"""A number with its unit of time, which may be another in the next line."""
_SECONDS = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6}
_PERCENTILE = bounded(r"(?i)(?:^|[_ -])p\d{2}|latenc|ttft|tpot|duration|elapsed|延迟|耗时")
"""Times that one program prints in seconds or in milliseconds, as they are long or short."""
_ALONE: Mapping[str, Unit] = table("ALONE", (
    ("s", Unit(1.0, "step_time")), ("ms", Unit(1e-3, "step_time")), ("G", Unit(1.0, "gpu_memory")),
    ("GB", Unit(1.0, "gpu_memory")), ("GiB", Unit(1.0, "gpu_memory")), ("MiB", Unit(1 / 1024, "gpu_memory")),
    ("/s", Unit(1.0, "samples_per_second")),
))  # fmt: skip
"""Units that say what is measured where a training's line has no other word for it: `1.09s  45.1GiB`."""
_APART = re.compile(r"(?<=[a-z])\s?/\s?(?=[a-z])")
"""What stands between the words of a unit that is written apart: `0.35s / iter`."""
_OF_RATE = re.compile(r"(?i)^(?:(?:avg|mean|cur\w{0,4})[ _])?(?:speed|time|cost|pace|throughput|速度|耗时|用时)$")
"""Names that say no more than the unit behind their number."""
_THOUSANDS = {"k": 1e3, "K": 1e3, "M": 1e6}
_LETTERS = re.compile(r"[^\W\d_]+")
_RATE = bounded(r"s/it|it/s|<|\?")
_OF_UNITS = frozenset(("mb", "s"))
"""Counters that behind another word are a unit: `rss_mb`."""
_SPACED = re.compile(r"[\s_]+")
_SOURCE = bounded(r"(?:\.(?:py|cc|cpp|cu|h|rs|go)|>|:\w+):$|\.py\"?, line $")
"""Before the line number of a program."""
_BEST = bounded(r"\b(?:best|lowest|highest|max|min)\b", re.IGNORECASE)
_NEW_BEST = bounded(r"\bnew best\b", re.IGNORECASE)
_BAR = bounded(r"%\|\|\s*$")
"""Before the count of a progress bar, see `shapes`."""
OTHER_BAR = bounded(
    r"^\s*(?:load|map|filter|download|fetch|generat|token|preproc|sav|extract|creat|convert|eval|valid|test|infer)"
    r"[^|\n]{0,80}%\|"
    r"|^(?:\s{2,}|\t)(?:return|yield|raise|assert)\s(?!\s)|^\s*return\b[^\n]{0,80};\s*$"
    r"|^[^\n]{0,120}\b(?:should|must|shall|would|will|to)\sreturn\s",
    re.IGNORECASE,
)
"""A bar that is not that of the training, and what a printed program or text on it returns."""
LEAST = 3
"""Lines of one shape that make a series."""
COUNTING = frozenset(("step", "steps", "iter", "iters", "iteration", "iterations", "batch", "batches", "minibatch"))
"""Words of which a name of several says that it counts: `batch_id`."""
_NAME_PARTS = re.compile(r"[\s_.-]+")
SIZES = frozenset(("batch", "batches", "b", "minibatch", "mb", "批", "批次"))
"""Words that name a batch by its number or by its size."""
GROUPS = 16
"""Different values of a whole number that may tell groups apart."""
SCALES = 128
"""Powers of two from which on they are no labels."""
MEASURED = bounded(r"(?i)time|secs?\b|seconds|elapsed|len(?:gth)?\b|用时|耗时|时间|长度")
"""Names of whole numbers that come again and tell no groups apart."""
_DATA = frozenset(("data", "data_time", "data_t", "dl", "load", "loader", "io"))
"""Names of the time of the data."""


@dataclass(eq=False)
class Column:
    """One number of a shape."""

    name: str
    values: np.ndarray
    whole: bool
    delimited: bool
    """Whether `:` or `=` stands between name and number."""
    total: bool = False
    """Whether it is the y of `x/y`."""
    unit: str = ""
    """The unit of time behind it, where its numbers were not made seconds."""
    glued: bool = False
    """Whether letters stand right behind it, as those of a unit do."""

    @property
    def changes(self) -> bool:
        return len(self.values) > 1 and bool((self.values != self.values[0]).any())

    @property
    def last(self) -> str:
        words = _SPACED.split(self.name.lower())
        return "" if not words or (words[-1] in _OF_UNITS and len(words) > 1) else words[-1]

    @property
    def is_size(self) -> bool:
        """Whether it is how large a batch is, and not which one: it stays as it is in most lines."""
        return self.last in SIZES and self.rising == 0.0

    @property
    def rising(self) -> float:
        """Share of the steps by which it rises by the usual amount."""
        strides = np.diff(self.values)
        moved = strides[strides != 0]
        if not self.whole or len(moved) < 0.3 * len(strides):
            return 0.0
        usual = np.median(moved) if len(moved) else 0.0
        return float(((strides == usual) | (strides == 0)).mean()) if usual > 0 else 0.0


def counts_within(column: Column, epochs: np.ndarray, columns: Sequence[Column]) -> bool:
    """Whether it counts what is done of each epoch: it rises within all of them, and is said to count or has a total
    behind it (`batch_id: 500`, `[ 100:391]`, `143/573`).

    Args:
        column: the numbers that may count.
        epochs: of the same lines.
        columns: all numbers of the line.
    """
    if len(column.values) < 2 * LEAST:
        return False
    new = np.diff(epochs) != 0
    if (np.diff(column.values)[~new] <= 0).any() or 2 * (int(new.sum()) + 1) > len(column.values):
        return False
    if set(_NAME_PARTS.split(column.name.lower())) & COUNTING:
        return True
    behind = next((c for c in columns[[*columns].index(column) + 1 :]), None)
    if behind is None or not behind.whole or behind.changes or behind.values[0] < column.values.max():
        return False
    return behind.total or not behind.name


def beside_data(column: Column, columns: Sequence[Column]) -> bool:
    """Whether a time stands beside that of the data, each of one step: no clock that runs."""
    data = any(plain(c.name) in _DATA and not c.whole for c in columns)
    return data and not column.whole and bool((np.diff(column.values) < 0).any())


def tells_apart(column: Column) -> bool:
    """Whether it goes round a few whole numbers: `top 1 acc`, `top 5 acc`."""
    if (
        not column.changes
        or column.delimited
        or column.glued
        or len(column.values) < 2 * LEAST
        or MEASURED.search(column.name)
    ):
        return False
    values, counts = np.unique(column.values[:10_000], return_counts=True)
    if values[0] >= SCALES and bool((np.frexp(values)[0] == 0.5).all()):
        return False  # a loss scale
    return len(values) <= GROUPS and int(counts.min()) >= LEAST and bool((np.diff(column.values) < 0).any())


def columns_of(shape: Shape) -> Iterator[Column]:
    text, end, before, held = shape.text, 0, "", ""
    heads = _heads(shape)
    for i, ((start, stop), values) in enumerate(zip(shape.spans, shape.columns, strict=True)):
        glued = _GLUED.match(text, end, start) if end else None
        gap, after = ANY_NOISE.sub("|", text[glued.end() if glued else end : start]), text[stop : stop + 40]
        total = end > 0 and gap.strip() in ("/", "of", "\\") and not _RATED.match(after)
        name = heads[i] if heads else _name(gap, after, before, bool(end))
        whole = re.fullmatch(r"[-+]?[\d,]+", text[start:stop]) is not None
        numbers = np.array(values)
        if whole:
            whole = bool(
                np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all() and (abs(numbers) < 1e15).all()
            )
        held = next((part["held"] or "" for part in [*SPLIT_NAMED.finditer(gap)][-1:]), held)
        name = of_split(name, split_named(held)) if name else name
        if not name and before and not gap.strip() and not glued and not after[:1].isalpha():
            name, before = f"{before} 2", ""  # two numbers under one name
        said = name
        if _SOURCE.search(gap):
            name = "line"
        elif _BEST.search(gap) or _NEW_BEST.search(text, 0, start):
            name = f"best {name}".replace("best best", "best").strip()
        if _BAR.search(gap):
            name = "step"
        elif after.startswith("%||"):
            name = "line"
        name, scale, unit = (name, 1.0, "") if total else _in_units(name, after, whole)
        whole = whole and scale >= 1.0
        if not name and not total and end and _BETWEEN.match(gap) and (alone := _alone(after, numbers)):
            name, scale = alone.metric, alone.scale
        scaled = numbers if scale == 1.0 else numbers * scale
        yield Column(name, scaled, whole, gap.rstrip()[-1:] in (":", "=", "："), total, unit, after[:1].isalpha())
        end, before = stop, "" if whole else said if said and not said.endswith(" 2") else before if said else ""


def _in_units(name: str, after: str, whole: bool) -> tuple[str, float, str]:
    """The name, the scale to its own unit, and a unit of time that its numbers keep."""
    rate = _rate(_APART.sub("/", after))
    if rate and (
        name == rate.metric or len(name) <= SHORT or _OF_RATE.search(name) or name.endswith(" " + _unit(after))
    ):
        return rate.metric, rate.scale, ""
    spent = _SPENT.match(after)
    if spent and not whole and name.lower() in STEPS:  # `iter=170.5ms` counts nothing
        return "step_time", _SECONDS.get(spent[1], 1.0), ""
    if spent and name:
        known = canonical(name)
        seconds = known[1] == 1.0 and VOCABULARY[known[0]].unit == "s" if known else _timed(name)
        return (name, _SECONDS.get(spent[1], 1.0), "") if seconds else (name, 1.0, spent[1])
    if after.startswith("%"):
        return name, 0.01, ""
    return name, _THOUSANDS.get(after[:1], 1.0) if _KILO.match(after) else 1.0, ""


def _timed(name: str) -> bool:
    return bool(_PERCENTILE.search(name)) or plain(name) in TIMES


def _unit(after: str) -> str:
    """The word behind a number that can be its unit."""
    unit = _UNIT_AFTER.match(after)
    return (unit[1] or unit[2]) if unit else ""


def _rate(after: str) -> Unit | None:
    """The unit that by itself says what is measured: `147ktps`."""
    found = UNITS.get(_unit(after).lower())
    return found if found and found.metric else None


def _alone(after: str, numbers: np.ndarray) -> Unit | None:
    """What a number without a name measures by its unit; a clock that only rises counts from the start of all."""
    clock = len(numbers) > 2 and bool((np.diff(numbers) >= 0).all()) and numbers[-1] > 2 * numbers[0]
    return None if clock else _ALONE.get(_unit(after)) if after[:1].strip() else None


def joined(parts: Sequence[Column], order: np.ndarray) -> Column:
    values = np.concatenate([c.values for c in parts])[order]
    return replace(parts[0], values=values, whole=all(c.whole for c in parts), total=all(c.total for c in parts))


def _name(gap: str, after: str, before: str, inner: bool) -> str:
    """The words before a number; in brackets behind another number, that one's name goes first."""
    unit = _unit(_KILO.sub("", after))
    counted = _COUNTED_AFTER.match(after)
    if counted:
        return counted.group(1).lower().removeprefix("个").split()[-1]
    if norm := _NORM.search(gap):
        return norm[1]
    if in_unit := _IN_UNIT.search(gap):
        return in_unit[1]
    pieces = _CUT.split(gap.rstrip(" :=：~≈'\""))
    words = pieces[-1].split()
    words = words[max((i + 1 for i, w in enumerate(words[:-1]) if "=" in w.strip("=")), default=0) :]
    while words and (words[0].lower() in _FILLERS or (inner and len(words) > 1 and words[0].lower() in STEPS | EPOCHS)):
        words.pop(0)
    while words and words[-1].lower() in _FILLERS:
        words.pop()
    name = _EDGES.sub("", " ".join(words[-5:])).rstrip(PARTICLES)
    if inner and gap.strip().startswith("(") and ")" not in gap and len(pieces) > 1 and before:
        return f"{before} {name or unit or 'in brackets'}".strip()
    if not name and unit and canonical(unit) and gap.strip() != "=":  # no product: `(* 1 = 0.3 loss)`
        return unit
    return name if len(name) <= 80 and re.search(r"[^\W\d_]", name) and not re.search(r"[~$#\\]|://", name) else ""


def _heads(shape: Shape) -> list[str]:
    """The names in a head line above rows of nothing but numbers."""
    if not shape.above or re.search(r"[^\W\d_]", re.sub(r"[-+.\deE]+|nan|inf", "", _MEASURED.sub("", shape.text))):
        return []
    ends = [0, *(stop for _, stop in shape.spans)]
    counted = [i for i, (at, _) in enumerate(shape.spans) if shape.text[ends[i] : at].strip() != "/"]
    head = _SAYS_COLUMNS.sub("", shape.above).strip()
    head = head.strip("|│").strip() if shape.text.lstrip()[:1] in ("|", "│") else head
    for cut in (r"\s+[|│]\s+", r"\s*[|│,;]\s*", r"\t+|\s{2,}", r"\s+"):
        names = [n.strip(" :*#") for n in re.split(cut, head)]
        if len(names) == len(counted) and all(len(n) <= MOST_NAMED for n in names):
            told = dict(zip(counted, names, strict=True))
            return [told.get(i, "") for i in range(len(shape.spans))]
    return []


def words_of(shape: Shape) -> str:
    """What shapes have in common that differ in signs and in the form of their numbers alone."""
    return " ".join(_LETTERS.findall(_RATE.sub("", _LASTS.sub(" ", TOKEN.sub("#", shape.text)))))


def plain(name: str) -> str:
    return _SPACED.sub("_", name.strip().lower())
