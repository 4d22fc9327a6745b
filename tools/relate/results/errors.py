"""Error rates of words or letters above 1 beside others that are low: more was wrong than the reference has words.

A rate counts words that are missing, wrong or too many by the words of the reference. Of the first two there are no
more than those, so a rate of 1 + x says that at least x as many were written on top of it. Above 1 nothing was
recognised; whether the model or the data are to blame is told by what the rows have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from statistics import median

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import COUNTER
from ..line import plain
from .read import Row

RATE = bounded(
    r"(?:^|_)(?:wer|cer|per(?!_(?!err|rate|mean|avg|all|total|test|dev|val|valid|eval|train|clean|other|raw|\d))|mer|ter|ser|(?:word|char(?:acter)?|phone(?:me)?|token)_?err(?:or)?(?:_?rate)?)(?:_|$)"
    r"|词错误?率|字错误?率|音素错误率"
)
"""Rates of errors by the reference, and what is none of a level."""
NO_LEVEL = bounded(
    r"(?:^|_)(?:std|stderr|se|delta|diff|change|gain|improve\w{0,6}|reduction|rel\w{0,6}|per_s)(?:_|$)|差|降"
)
NOTHING, FINE, RUNS = 0.9, 0.6, 1.5
"""Rate from which on hardly anything was recognised, up to which something was, and from which on half as many words
as the reference has stand there on top of it. Own judgement."""
APART = 2.5
"""Times the middle of the others."""
LEAST = 2
OVER = 1.01
"""Rate above which something was written, and wrongly: silence has a rate of 1."""
UNTAUGHT = bounded(
    r"(?i)pre-?trained|baseline|before|untrained|random|zero-?shot|no[ _-]fine"
    r"|(?:^|[_ -])(?:base|init|raw|step[_ -]?0)(?:[_ -]|$)"
    r"|未微调|微调前|训练前|基线|底座"
)
"""Names of a model that was not taught the task, whose rate is no fault."""


def beyond_reference(rows: Sequence[Row]) -> list[Finding]:
    """Of each measure and file, or of all with one row, the rows above 1; the measure with most of them is told."""
    by: dict[tuple[str, str], list[tuple[Row, float]]] = {}
    for row in rows:
        for name, value in row.values.items():
            said = plain(name)
            if (
                RATE.search(said)
                and not NO_LEVEL.search(said)
                and not COUNTER.search(said)
                and isfinite(value)
                and value >= 0
            ):
                by.setdefault((name, row.file), []).append((row, value))
    for name, file in [key for key, some in by.items() if len(some) == 1]:
        by.setdefault((name, ""), []).extend(by.pop((name, file)))
    found = [f for (name, _), some in by.items() for f in _beyond(name, some)]
    return [max(found, key=lambda f: (len(f.evidence), f.data["rows"], f.data["rate"]))] if found else []


def _beyond(name: str, rows: Sequence[tuple[Row, float]]) -> Iterator[Finding]:
    scale = 100.0 if median(v for _, v in rows) > APART else 1.0
    levels = [(row, value / scale) for row, value in rows]
    fine = [v for _, v in levels if v <= FINE]
    if not any(v > 1 for _, v in levels) or len(fine) < max(LEAST, sum(v >= NOTHING for _, v in levels) / 2):
        return
    bad = [(r, v) for r, v in levels if v >= max(NOTHING, APART * median(fine))]
    told = _goes_with(levels, bad)
    if told is None:  # around 1 is a model that has not learned it: as it began, or that says nothing
        bad = [(r, v) for r, v in bad if v >= RUNS]
    if any(not UNTAUGHT.search(" ".join(r.names)) for r, _ in bad):
        yield _told(name, sorted(bad, key=lambda one: -one[1]), fine, told)


def _goes_with(levels: Sequence[tuple[Row, float]], bad: Sequence[tuple[Row, float]]) -> tuple[str, str] | None:
    """(labels, the others) where each of those labels is bad in every row, and several rows each."""
    width = min(len(r.names) for r, _ in levels)
    for at in range(width):
        labels = list(dict.fromkeys(r.names[at] for r, _ in bad))
        rows = {label: [v for r, v in levels if r.names[at] == label] for label in labels}
        every = [v for some in rows.values() for v in some]
        whole = all(len(v) >= LEAST and min(v) >= NOTHING for v in rows.values())
        over = 2 * sum(v > OVER for v in every) >= len(every)
        beside = {n for r, _ in bad for i, n in enumerate(r.names) if i != at}
        elsewhere = {n for r, v in levels if v <= FINE for n in r.names}
        if whole and over and not any(map(UNTAUGHT.search, labels)) and beside <= elsewhere:
            return ", ".join(labels[:4]), ", ".join(sorted(beside)[:4])
    return None


def _told(name: str, bad: Sequence[tuple[Row, float]], fine: Sequence[float], told: tuple[str, str] | None) -> Finding:
    rate, low = bad[0][1], median(fine)
    where = ", ".join(f"{clean(r.said, 80)} {v:.4g}" for r, v in bad[:3])
    more, more_zh = (f" and {len(bad) - 3} more", f"等 {len(bad)} 处") if len(bad) > 3 else ("", "")
    runs = sum(v >= RUNS for _, v in bad) * 2 > len(bad)
    with_, with_zh = "", ""
    if told:
        with_ = f" It goes with {clean(told[0], 120)} in every row ({clean(told[1], 120)}), which are fine elsewhere."
        with_zh = f"它总是与 {clean(told[0], 120)} 同时出现（{clean(told[1], 120)}），后者在别处正常。"
    why = "the outputs run on behind what was said" if runs else "what was written is of something else than it is "
    why += "" if runs else "compared with (another recording, language or spelling), or goes on behind it"
    why_zh = (
        "输出在该结束后仍在继续" if runs else "输出与参考不是同一段内容（录音、语言或写法对不上），或在其后仍在继续"
    )
    return Finding(
        "error-rate-above-one", Severity.S2,
        f"{name} is above 1 in {where}{more}, where {len(fine)} others are around {low:.3g}: at {rate:.3g}, at least "
        f"{rate - 1:.2g} times as many words as the reference has stand there on top of it. No rate above 1 ranks "
        f"anything: {why}.{with_}",
        f"{name} 在 {where} {more_zh}大于 1，而另外 {len(fine)} 处约为 {low:.3g}：{rate:.3g} 意味着多写了至少相当于参考"
        f" {rate - 1:.2g} 倍的词。大于 1 的错误率不能用来排名：{why_zh}。{with_zh}",
        tuple(r.evidence(name) for r, _ in bad[:4]),
        {"score": name, "rate": rate, "rows": len(bad), "others": low, "kinds": ["runs-on" if runs else "apart"]},
    )  # fmt: skip
