"""A model before and after a training in one file: figures of both side by side in a record, or marks of both for the
same items. All figures equal to the last digit say that no answer changed; marks that fall item by item, that it got
worse.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Evidence, Finding, Severity, declare
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from ..summed.words import named_score
from ..texts.same import ASKED, BASE, MODEL

CODES = declare(
    "paired",
    ("scores-of-the-base", "scores in tables", "all figures of a trained model are those of its base"),
    ("benchmark-drop", "scores in tables", "a trained model is marked clearly lower than its base, item by item"),
)
BEFORE = bounded(r"(?:^|[_./])(?:base(?:line|_?model)?|before|pre(?:_?train(?:ed|ing)?)?|orig(?:inal)?|vanilla"
                 r"|untuned|zero_?shot)(?=[_./]|$)|底座|基座|训练前|微调前")  # fmt: skip
AFTER = bounded(r"(?:^|[_./])(?:ft|fine_?tun(?:ed?|ing)|tuned|after|post(?:_?train(?:ed|ing)?)?|trained|lora|qlora"
                r"|adapter|sft|dpo)(?=[_./]|$)|微调后|训练后|微调")  # fmt: skip
JUDGED = bounded(r"acc|f1|recall|precision|exact|(?:^|_)em(?:_|$)|bleu|rouge|score|rate|pass|auc|mcc|准确|得分|召回")
SAME_BY_CHANCE, LEAST = 4, 3
"""Digits from which on two figures are not the same by chance, and different figures of a record. Own judgement."""
MARK = bounded(
    r"help|quality|score|rating|correct|coheren|relevan|fluen|accura|faithful|mark|grade|评分|得分|质量|打分"
)
ITEMS, SURE, LOWEST = 20, 3.0, 0.05
"""Items that both were marked on, standard errors of the paired difference, and share of the mark that it is."""
MOST = 20_000


def sides(table: Table) -> Iterator[Finding]:
    """The figures of a record that are written for a model before and after its training are all the same."""
    if len(table) != 1:
        return
    numbers = {plain(c.name): c for c in table.of("measure") if c.values.dtype.kind == "f" and means(JUDGED, c.name)}
    after = {_rest(AFTER, name): c for name, c in numbers.items() if means(AFTER, name)}
    before = {_rest(BEFORE, name): c for name, c in numbers.items() if means(BEFORE, name)}
    both = [(before[k], after[k]) for k in before if k in after and before[k] is not after[k]]
    values = [float(a.values[0]) for a, _ in both]
    fine = {v for v in values if len(f"{v:.10g}".replace(".", "").strip("0")) >= SAME_BY_CHANCE}
    if len(set(values)) < LEAST or len(fine) < LEAST or any(a.values[0] != b.values[0] for a, b in both):
        return
    said = ", ".join(f"{b.name} {float(b.values[0]):.4g}" for _, b in both[:3])
    yield Finding(
        "scores-of-the-base", Severity.S2,
        f"All {len(both)} figures of the trained model are those of its base to the last digit ({said}): no answer "
        "changed, as where the base was scored or the training had no effect.",
        f"训练后模型的 {len(both)} 个指标与底座完全相同（{said}）：没有一个回答改变，"
        "说明被评测的是底座，或训练没有生效。",
        tuple(_place(table, 0, c) for pair in both[:2] for c in pair), {"scores": len(both)},
    )  # fmt: skip


def _rest(pattern: object, name: str) -> str:
    """A name without the word that says which side it is of."""
    return " ".join(pattern.sub(" ", name).replace("_", " ").replace(".", " ").split())  # type: ignore[attr-defined]


def marked_lower(table: Table) -> Iterator[Finding]:
    """The same items are marked for a base and for what was trained of it, and the marks fall."""
    if not 2 * ITEMS <= len(table) <= MOST:
        return
    words = [c for c in table.columns if c.values.dtype.kind == "O"]
    model = next((c for c in words if means(MODEL, c.name) and any(map(BASE.search, set(texts(c)[:MOST])))), None)
    asked = next((c for c in table.columns if c is not model and means(ASKED, c.name)), None)
    marks = [c for c in table.of("measure") if c.values.dtype.kind == "f"
             and (means(MARK, c.name) or named_score(c.name))]  # fmt: skip
    if model is None or asked is None or not marks:
        return
    who, what = texts(model).astype(str), texts(asked).astype(str)
    names = list(dict.fromkeys(who.tolist()))
    bases = [n for n in names if BASE.search(n)]
    if len(bases) != 1 or not 2 <= len(names) <= 8:
        return
    both = [(m, n, _apart(m.values, who, what, bases[0], n)) for m in marks for n in names if n != bases[0]]
    found = [(z, m, n, d) for m, n, d in both if d is not None and (z := _errors(d)) is not None]
    fell = [f for f in found if f[0] <= -SURE and -f[3].mean() >= LOWEST * _level(f[1].values, who, bases[0])]
    if not fell or any(f[0] >= SURE for f in found):
        return
    z, mark, name, change = min(fell, key=lambda f: f[0])
    low, high = (float(np.nanmean(mark.values[who == n])) for n in (name, bases[0]))
    worst = np.flatnonzero((who == name) & np.isfinite(mark.values))
    worst = worst[np.argsort(mark.values[worst], kind="stable")[:2]]
    yield Finding(
        "benchmark-drop", Severity.S2,
        f"{mark.name} of {name} is {low:.4g} and was {high:.4g} with {bases[0]} over the same {len(change)} items: "
        f"{int((change < 0).sum())} are marked lower, {int((change > 0).sum())} higher ({-z:.1f} standard errors).",
        f"同样的 {len(change)} 条上，{name} 的 {mark.name} 为 {low:.4g}，{bases[0]} 为 {high:.4g}："
        f"{int((change < 0).sum())} 条更低，{int((change > 0).sum())} 条更高（{-z:.1f} 个标准误）。",
        tuple(_place(table, int(i), mark) for i in worst),
        {"score": mark.name, "before": high, "after": low, "drop": high - low, "items": len(change)},
    )  # fmt: skip


def _level(values: np.ndarray, who: np.ndarray, name: str) -> float:
    return abs(float(np.nanmean(values[who == name])))


def _apart(values: np.ndarray, who: np.ndarray, what: np.ndarray, base: str, name: str) -> np.ndarray | None:
    """(n,) marks of the one less those of the base, for the items that both were marked on."""
    of = [{q: v for q, v, w in zip(what.tolist(), values.tolist(), who.tolist(), strict=True)
           if w == side and np.isfinite(v)} for side in (base, name)]  # fmt: skip
    both = [q for q in of[0] if q in of[1]]
    return np.array([of[1][q] - of[0][q] for q in both]) if len(both) >= ITEMS else None


def _errors(change: np.ndarray) -> float | None:
    """The mean difference in its standard errors; None where no item differs."""
    spread = float(change.std(ddof=1))
    return float(change.mean()) / spread * len(change) ** 0.5 if spread > 0 else None


def _place(table: Table, row: int, column: Column) -> Evidence:
    return Evidence(table.file, int(table.lines[row]) or None, metric=column.name, value=float(column.values[row]))


LOOKS = (sides, marked_lower)
