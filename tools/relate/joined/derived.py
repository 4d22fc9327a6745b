"""Measures that follow from one another: a perplexity from its loss, bits from nats, an F1 from its two parts.

A number that its own row contradicts was computed wrongly, and whatever is compared by it compares the mistake. Only
relations that hold by definition are asked; whether the measure itself is good is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..line import plain

HELD = r"(?:(?:eval|val|valid|validation|test|dev)_)?"
LEAST, MOST_ROWS = 3, 20_000
"""Rows that contradict, and rows of a table that are looked at."""
SHARE = 0.8
"""Share of the rows with both numbers that contradict. One row may be a slip of the pen, all of them are a formula."""
CAPPED = 15.0
"""Loss from which on programs cut the perplexity off."""
GOES_WITH, MULTIPLE = 0.9, 0.01
"""Correlation from which on a loss goes the way of a perplexity, and the relative spread within which one is a multiple
of the other (a formula without its exponential) or of its logarithm (another base). Own judgement."""
ROUNDED = 0.03
"""Relative difference that rounding and a mean of means make. Own judgement."""


@dataclass(frozen=True)
class Rule:
    """One measure and what it follows from."""

    of: str
    """Pattern of its plain name; `{held}` is the split, which all names of a rule share."""
    parts: tuple[str, ...]
    wrong: Callable[..., np.ndarray]
    """Where the measure and its parts, as arrays, contradict."""
    formula: str
    zh: str


RULES = (
    Rule(r"(?P<held>{held})(?:bpc|bits_per_char(?:acter)?|bpb|bits_per_byte)", (r"{held}(?:lm_)?(?:loss|nll|ce)",),
         lambda bits, loss: bits > loss / np.log(2) * (1 + ROUNDED),
         "a token has at least one character, so bits per character are at most loss / ln 2",
         "一个 token 至少一个字符，所以每字符比特数不超过 loss / ln 2"),
    Rule(r"(?P<held>{held})(?:ppl|perplexity)", (r"{held}(?:lm_)?(?:loss|nll|ce)",),
         lambda ppl, loss: (loss < CAPPED) & ~_near(logs(ppl), loss, np.log(1.5)) & ~_of_more(logs(ppl), loss),
         "the perplexity is exp(loss)", "困惑度等于 exp(loss)"),
    Rule(r"(?P<held>{held}(?:micro_)?)f1(?:_score)?", (r"{held}precision", r"{held}recall"),
         lambda f, p, r: f > (p + r) / 2 * (1 + ROUNDED),
         "F1 is at most the mean of precision and recall", "F1 不超过精确率与召回率的平均"),
)  # fmt: skip
_PATTERNS = {rule: bounded(rf"^{rule.of.format(held=HELD)}$") for rule in RULES}


def logs(ppl: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(ppl, 1e-9))


def _of_more(told: np.ndarray, loss: np.ndarray) -> bool:
    """Whether a loss lies above the logarithm of the perplexity in every row, goes its way and is no multiple of it: it
    holds further terms (label smoothing, a distillation, a penalty), which the perplexity leaves out."""
    known = np.isfinite(told) & np.isfinite(loss) & (told > 0)
    a, b = told[known], loss[known]
    if len(a) < LEAST or (a >= b).any() or not a.std() or not b.std():
        return False
    multiple = any(float(np.ptp(r)) <= MULTIPLE * float(np.median(r)) for r in (b / a, b / np.exp(a)))
    return not multiple and float(np.corrcoef(a, b)[0, 1]) > GOES_WITH


def _near(a: np.ndarray, b: np.ndarray, room: float) -> np.ndarray:
    return np.abs(a - b) <= room


def derived(tables: Sequence[Table]) -> Iterator[Finding]:
    """Measures that their own rows contradict."""
    for table in tables:
        names = {plain(c.name): c for c in table.columns if c.values.dtype.kind == "f"}
        for name, column in names.items() if LEAST <= len(table) <= MOST_ROWS else ():
            for rule, pattern in _PATTERNS.items():
                if match := pattern.match(name):
                    yield from _asked(table, column, rule, match["held"], names)


def _asked(table: Table, column: Column, rule: Rule, held: str, names: Mapping[str, Column]) -> Iterator[Finding]:
    found = [next((c for n, c in names.items() if bounded(f"^{p.format(held=held)}$").match(n)), None)
             for p in rule.parts]  # fmt: skip
    parts = [c for c in found if c is not None]
    if len(parts) < len(rule.parts):
        return
    both = np.isfinite(column.values) & np.logical_and.reduce([np.isfinite(c.values) for c in parts])
    wrong = both & rule.wrong(column.values, *(c.values for c in parts))
    for label, rows in _groups(table):
        here = wrong & rows
        if here.sum() < LEAST or here.sum() < SHARE * (both & rows).sum():
            continue
        i = int(np.flatnonzero(here)[-1])
        yield _told(table, (column, *parts), i, (rule, label, int(here.sum())))


def _groups(table: Table) -> Iterator[tuple[str, np.ndarray]]:
    """The rows of each group that a column of texts makes; the whole table where there is none."""
    texts = [c for c in table.columns if c.values.dtype.kind == "O"]
    group = next((c for c in texts if 1 < len(set(map(str, c.values.tolist()))) <= len(table) / LEAST), None)
    if group is None:
        yield "", np.ones(len(table), bool)
        return
    said = np.array([str(v) for v in group.values.tolist()], object)
    for name in dict.fromkeys(said.tolist()):
        yield f"{group.name} {name}", said == name


def _told(table: Table, columns: Sequence[Column], i: int, what: tuple[Rule, str, int]) -> Finding:
    rule, label, count = what
    said = ", ".join(f"{c.name} {c.values[i]:.4g}" for c in columns)
    of, of_zh = (f" of {label}", f"（{label}）") if label else ("", "")
    bits = f"; loss / ln 2 = {columns[1].values[i] / np.log(2):.4g}" if "ln 2" in rule.formula else ""
    evidence = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=c.name, value=float(c.values[i]))
                     for c in columns)  # fmt: skip
    return Finding(
        "measure-contradicts-itself", Severity.S2,
        f"{columns[0].name}{of} cannot be right in {count} rows: {rule.formula} ({said}{bits}). It was computed "
        "wrongly, so comparing by it compares the mistake.",
        f"{columns[0].name}{of_zh}有 {count} 行不可能成立：{rule.zh}（{said}{bits}）。它算错了，用它比较没有意义。",
        evidence, {"key": columns[0].name, "rows": count, "group": label},
    )  # fmt: skip
