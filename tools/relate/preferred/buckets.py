"""How often a scorer is right, by how much longer the chosen answer is: signed ranges, ratios, or words for both sides.

`..summed.rates` and `..reported.sides` know the words `longer` and `shorter` of counts; here are ranges and shares,
in rows, in the keys of an object, or in columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...data.statistics import wilson
from ...findings import Evidence, Finding, Severity
from ...metrics import canonical
from ...patterns import bounded
from ...tables.table import Column, Table
from .places import SIZE, cells, spelled

MOST_ROWS, ITEMS, SHORT, LONG = 24, 60, 0.4, 0.7
"""Rows of a table of ranges, rows of one of items; shares below and above which both ends lie where nobody says of how
many. Own judgement."""
RIGHT = bounded(
    r"acc|correct|right|(?:^|_)hit|agree|match|consisten|准确|正确|命中|判对|一致|对率|选对|(?:^|_)(?:rm_?)?win_?rate"
)
COUNT = bounded(
    r"^(?:hits?|right|correct|matched|命中|判对|正确|选对|对)(?:数|次数)?$|(?:^n|num)_?(?:right|correct|hits?)"
)
"""What counts the right ones; a name of a share may hold whole percents."""
NOT_RIGHT = bounded(r"error|wrong|loss|margin|disagree|human_human|inter|错|不一致")
WHOLE = bounded(
    r"^(?:n|count|counts|total|size|pairs|items|num\w{0,12}|support|对数|条数|题数|样本数?|数量|总数|个数)$|n_pairs|num_pairs"
)
OF_PAIRS = bounded(
    r"chosen|preferred|winner|(?:^|_)(?:win|wins|rm|pairs?)(?:_|$)|human|(?:^|_)pick|better|gold|reward|judge|scorer"
    r"|人选|人工|人评|专家|被选|选中|胜|赢|优|更好|好的|偏好|打分|奖励|对数|成对|人喜欢"
)
LOSER = bounded(r"reject|拒|loser|lose|worse|没被?选|未选|落选|负|劣|败|输")
LONGER = bounded(
    r"longer|字数多|更长|较长|偏长|长于|长出|长的|字多|多字|more_?(?:tokens|words|chars)|是长|(?:^|_)long(?:_|$)|长$|长\b"
)
SHORTER = bounded(
    r"shorter|字数少|更短|较短|偏短|短于|短的|字少|少字|fewer|less_?(?:tokens|words)|(?:^|_)short(?:_|$)|短$|短\b"
)
NEAR = bounded(r"equal|same|similar|about|within|相等|相同|相近|接近|不到|以内|差不多|±|≈")
SIGNED = bounded(r"Δ|δ|delta|diff|gap|margin|minus|delta|差|−|[a-z]\s?-\s?[a-z]")
RATIO = bounded(r"ratio|times|倍|比")
NUMBER = bounded(r"(?<![\d.])[-−–+]?\s?(?:\d[\d,]*(?:\.\d+)?|inf|∞)")
SPLIT = bounded(r"\s{0,3}(?:~|～|\.\.\.?|…|\bto\b|到|至|,\s)\s{0,3}|(?<=\d)\s?[-–—]\s?(?=[-−+\d])")
BELOW, ABOVE = bounded(r"<|≤|小于|低于|below|under|less|以下"), bounded(r">|≥|大于|高于|above|over|more|以上|\+$")


@dataclass(frozen=True)
class Bucket:
    """Pairs whose chosen answer is longer (`side` above 0) or shorter, and how often a scorer is right on them."""

    side: float
    share: float
    of: float
    label: str
    place: Evidence

    def said(self, zh: bool = False) -> str:
        of = "" if not np.isfinite(self.of) else f"（{self.of:.0f} 对）" if zh else f" of {self.of:.0f}"
        return f"{self.label}: {self.share:.1%}{of}"


def buckets(table: Table) -> Iterator[Finding]:
    """Right nearly always where the chosen answer is the longer one, below chance where it is the shorter."""
    for some in (_rows(table), _keys(table), _named(table), _items(table)):
        if (told := _told(table, some)) is not None:
            yield told
            return


def _told(table: Table, some: list[Bucket]) -> Finding | None:
    short, long = [b for b in some if b.side < 0], [b for b in some if b.side > 0]
    if not short or not long:
        return None
    low, high = _pooled(short), _pooled(long)
    if np.isfinite(low[1]) and np.isfinite(high[1]):
        if min(low[1], high[1]) < 20 or wilson(round(low[0] * low[1]), round(low[1]))[1] >= 0.5:
            return None
    elif low[0] > SHORT:
        return None
    if high[0] < LONG or max(b.share for b in short) > min(b.share for b in long) + 0.02:
        return None
    every = sorted(some, key=lambda b: b.side)
    ends = every if len(every) <= 5 else (*every[:2], *every[-2:])
    said, zh = "; ".join(b.said() for b in ends), "；".join(b.said(True) for b in ends)
    return Finding(
        "score-follows-length", Severity.S1,
        f"Right in {high[0]:.1%} where the answer that was chosen is the longer one and in {low[0]:.1%}, below chance, "
        f"where it is the shorter ({said}): the scorer goes by length, and the mean over all pairs hides it.",
        f"被选中的回答更长时判对 {high[0]:.1%}，更短时只有 {low[0]:.1%}，低于随机（{zh}）：打分跟着长度走，总体准确率"
        "掩盖了这一点。",
        (*(b.place for b in every[:2]), every[-1].place),
        {"longer": high[0], "shorter": low[0], "buckets": [[b.label, b.share] for b in every]},
    )  # fmt: skip


def _pooled(some: list[Bucket]) -> tuple[float, float]:
    """(share, of how many) of all buckets of one side; NaN where a number is not known."""
    of = np.array([b.of for b in some])
    share = np.array([b.share for b in some])
    if np.isfinite(of).all() and of.sum() > 0:
        return float((share * of).sum() / of.sum()), float(of.sum())
    return float(share.mean()), float("nan")


def _about(table: Table, *names: str) -> str:
    return " ".join((spelled(table.file), spelled(table.part), *names)).lower()


def _rows(table: Table) -> list[Bucket]:
    """Of a table with a row a range."""
    if not 2 <= len(table) <= MOST_ROWS:
        return []
    right = _shares(table)
    if right is None:
        return []
    column, share, of = right
    for label in table.columns:
        if label is column or WHOLE.search(spelled(label.name)):
            continue
        about = _about(table, label.name, *(c.name for c in table.columns))
        said = [str(v) for v in cells(label).tolist()]
        sides = [_word(v, f"{label.name} {about}") for v in said]
        if not {-1.0, 1.0} <= {*sides}:
            sides = _ranges(label, said, about)
        if {-1.0, 1.0} <= {*(float(np.sign(s)) for s in sides if s is not None)}:
            return [Bucket(s, float(share[i]), float(of[i]), said[i][:40], _place(table, i, column, float(share[i])))
                    for i, s in enumerate(sides) if s is not None and np.isfinite(share[i])]  # fmt: skip
    return []


def _place(table: Table, i: int, column: Column, value: float) -> Evidence:
    return Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=value)


def _shares(table: Table) -> tuple[Column, np.ndarray, np.ndarray] | None:
    """(column, share of right ones in each row, of how many or NaN)."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    whole = next((c for c in numbers if WHOLE.search(spelled(c.name)) and np.nanmax(c.values, initial=0) > 1), None)
    of = whole.values if whole is not None else np.full(len(table), np.nan)
    for column in numbers:
        name, v = spelled(column.name), column.values
        if column is whole or not RIGHT.search(name) or NOT_RIGHT.search(name) or not np.isfinite(v).any():
            continue
        counted = whole is not None and (v == np.round(v)).all() and (v <= of).all() and not column.unit
        if counted and (v.max() > 100 or (v.max() > 1 and COUNT.search(name))):
            return column, v / np.maximum(of, 1), of
        if np.nanmin(v) >= 0 and np.nanmax(v) <= 100:
            return column, v / (100.0 if np.nanmax(v) > 1 else 1.0), of
    return None


def _word(said: str, about: str) -> float | None:
    """1 where a label says that the chosen answer is longer, -1 where it says shorter."""
    name = spelled(said)
    if NEAR.search(said.lower()) or NEAR.search(name):
        return None
    longer, shorter = bool(LONGER.search(name)), bool(SHORTER.search(name))
    if longer == shorter or not any(p.search(v) for p in (OF_PAIRS, LOSER) for v in (name, about)):
        return None
    side = 1.0 if longer else -1.0
    return -side if LOSER.search(name) and not OF_PAIRS.search(LOSER.sub("", name)) else side


def _ranges(label: Column, said: list[str], about: str) -> list[float | None]:
    """The middle of signed ranges of a difference in length, or of ratios; all None for other labels."""
    head = spelled(label.name)
    if not (SIZE.search(head) or SIZE.search(about) or LONGER.search(about)):
        return [None] * len(said)
    middle = [_middle(v) for v in said]
    known = [m for m in middle if m is not None]
    if len(known) < 3 or not _of_length(label.name, said):
        return [None] * len(said)
    if min(known) < 0 < max(known):
        if not (SIGNED.search(label.name.lower()) or SIGNED.search(about)):
            return [None] * len(said)
        return [None if m is None or _straddles(v) else m for m, v in zip(middle, said, strict=True)]
    if min(known) > 0 and min(known) < 0.9 and max(known) > 1.1 and RATIO.search(f"{head} {about}"):
        return [None if m is None or 0.9 <= m <= 1.1 else m - 1 for m in middle]
    return [None] * len(said)


def _of_length(name: str, said: list[str]) -> bool:
    """Whether labels are of lengths: their own head says so, or they are ranges below a head that names nothing else.

    A file on tokens also holds measures and their change (`PPL delta`: 0.62, 0.24, -62%), which are no ranges.
    """
    head = spelled(name)
    if SIZE.search(head) or LONGER.search(head):
        return True
    if canonical(name) is not None or RIGHT.search(head):
        return False
    ranges = [v for v in said if len(_ends(v)) == 2 or BELOW.search(v) or ABOVE.search(v)]
    rest = SIGNED.sub("", RATIO.sub("", name.lower())).strip(" _-:()（）")
    return 2 * len(ranges) > len(said) or not rest


def _ends(said: str) -> list[float]:
    parts = [p for p in SPLIT.split(said.strip(" []()（）【】")) if p.strip()]
    found = []
    for part in parts[:2]:
        if m := NUMBER.search(part):
            number = m[0].replace(" ", "").replace("−", "-").replace("–", "-").replace(",", "").replace("∞", "inf")
            found.append(float(number) if number not in ("+", "-") else 0.0)
    return found


def _middle(said: str) -> float | None:
    ends = _ends(said)
    if not ends:
        return None
    if len(ends) == 1:
        step = 1.0 if ABOVE.search(said) else -1.0 if BELOW.search(said) else 0.0
        return ends[0] + step * 0.01 if ends[0] else step or ends[0]
    finite = [e for e in ends if np.isfinite(e)]
    return sum(ends) / 2 if len(finite) == 2 else (finite[0] + np.sign(sum(ends)) * 0.01 if finite else None)


def _straddles(said: str) -> bool:
    ends = _ends(said)
    return len(ends) == 2 and ends[0] < 0 < ends[1]


def _keys(table: Table) -> list[Bucket]:
    """Of columns or keys that say the side: `acc_chosen_longer`, `优更短.准确率`; the last row counts."""
    found: dict[str, Bucket] = {}
    for column in table.columns:
        name = spelled(column.name)
        if (
            column.values.dtype.kind != "f"
            or not len(column.values)
            or not RIGHT.search(name)
            or NOT_RIGHT.search(name)
        ):
            continue
        stem = column.name.rpartition(".")[0] or column.name
        side = _word(RIGHT.sub("", stem), _about(table, column.name))
        known = np.flatnonzero(np.isfinite(column.values))
        if side is None or not len(known):
            continue
        i = int(known[-1])
        value = float(column.values[i])
        value = value / 100 if value > 1 else value
        if 0 <= value <= 1:
            found.setdefault(stem, Bucket(side, value, float("nan"), stem[:40], _place(table, i, column, value)))
    return [*found.values()]


def _named(table: Table) -> list[Bucket]:
    """Of an object whose keys are the ranges: `acc_by_len_gap: {"<-200": 0.12}`."""
    by: dict[str, list[tuple[str, float, Column]]] = {}
    for column in table.columns if len(table) == 1 else ():
        stem, _, label = column.name.partition(".")
        if column.values.dtype.kind == "f" and label and 0 <= column.values[0] <= 1:
            by.setdefault(stem, []).append((label, float(column.values[0]), column))
    for stem, some in by.items():
        name = spelled(stem)
        if RIGHT.search(name) and not NOT_RIGHT.search(name) and SIZE.search(name) and SIGNED.search(name):
            middle = [(_middle(label), label, value, c) for label, value, c in some if not _straddles(label)]
            return [Bucket(m, v, float("nan"), label, _place(table, 0, c, v)) for m, label, v, c in middle if m]
    return []


def _items(table: Table) -> list[Bucket]:
    """Of a row each pair: how much longer the chosen answer is, and whether the scorer was right."""
    if len(table) < ITEMS:
        return []
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    off = next((c for c in numbers if SIGNED.search(c.name.lower()) and SIZE.search(spelled(c.name))
                and (c.values < 0).any() and (c.values > 0).any()), None)  # fmt: skip
    if off is None or not OF_PAIRS.search(_about(table, *(c.name for c in table.columns))):
        return []
    for column in table.columns:
        said = np.array([v.strip().lower() for v in cells(column).tolist()], object)
        if not RIGHT.search(spelled(column.name)) or NOT_RIGHT.search(spelled(column.name)):
            continue
        yes = np.isin(said.astype(str), ["1", "true", "yes", "right", "correct", "对", "是"])
        no = np.isin(said.astype(str), ["0", "false", "no", "wrong", "incorrect", "错", "否"])
        if not yes.any() or not no.any() or (yes | no).mean() < 0.95:
            continue
        parts = [(np.flatnonzero((yes | no) & side), s) for side, s in ((off.values < 0, -1.0), (off.values > 0, 1.0))]
        spot = {s: _place(table, int(rows[0]), column, float(yes[rows].mean())) for rows, s in parts if len(rows)}
        return [Bucket(s, float(yes[rows].mean()), float(len(rows)), f"{off.name} {'<' if s < 0 else '>'} 0",
                       spot[s]) for rows, s in parts if len(rows)]  # fmt: skip
    return []
