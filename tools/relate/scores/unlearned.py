"""Results of an evaluation that no model has which was scored as it should be: perplexities above any that was learned,
and answers right far less often than those of guessing, where the same items are answered well elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...data.statistics import items_of, wilson
from ...findings import Evidence, Finding, Severity, clean
from ...logs.chance import chance_of
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from .read import ERROR, SHOWN

PERPLEXITY = bounded(r"(?:^|_)(?:ppl|perplexity)$|困惑度$")
UNLEARNED = 1000.0
"""Perplexity that a trained model is far below; guessing gives the size of the vocabulary. Own judgement."""
MOST_ROWS = 200


def unlearned(table: Table) -> Iterator[Finding]:
    """The best perplexity of a table of results is in the thousands; along the steps of a training it begins so."""
    if not 1 <= len(table) <= MOST_ROWS or (len(table) > 1 and table.of("axis")):
        return
    for column in table.of("measure"):
        if not means(PERPLEXITY, column.name) or column.values.dtype.kind != "f":
            continue
        finite = np.flatnonzero(np.isfinite(column.values))
        if not len(finite) or column.values[finite].min() < UNLEARNED:
            continue
        best = int(finite[column.values[finite].argmin()])
        value = float(column.values[best])
        yield Finding(
            "perplexity-unlearned", Severity.S2,
            f"{column.name} is {value:,.0f} at best in {len(finite)} rows of {table.file}: a trained model is far "
            "below; the weights that are scored are not the trained ones, or the text is not in their tokens.",
            f"{table.file} 的 {len(finite)} 行中 {column.name} 最好也有 {value:,.0f}：训练过的模型远低于此；"
            "被评测的不是训练好的权重，或文本的分词与模型不符。",
            (Evidence(table.file, int(table.lines[best]) or None, metric=column.name, value=value),),
            {"best": value, "rows": len(finite)},
        )  # fmt: skip
        return


RIGHT = bounded(r"(?:^|_)(?:acc|accuracy|acc_norm|exact_match|em|score)$|准确率|正确率")
TOKENS = bounded(r"(?:^|_)(?:tokens|length|len)(?:_|$)|长度")
COUNTED = bounded(r"^(?:total|n|num|count|samples|num_samples|n_samples|questions)$|总数|题数")
OTHER = bounded(
    r"(?:^|_)(?:tokens?|time|len|length|s|ms|sec|seconds|count|num|n|cost|std|stderr|err|error|total|correct|latency|rank"
    r"|delta|diff|gain)(?:_|$)|时间|数量|增益"
)
"""What else than how often it is right is said of a benchmark in the name of a column."""
LABEL = 60
"""Characters of a label."""
HANDFUL = 5
"""Values that a share of so few items has at most."""
BELOW, ABOVE = 0.5, 1.5
"""Shares of the level of guessing: what nobody who answers falls below on so many items, small models on hard sets
included, and what shows that the items can be answered. Own judgement."""


def _handful(column: Column) -> bool:
    """Whether all of many rows have one of hardly any values: each is of a handful of items."""
    return len(column.values) >= 2 * HANDFUL and len(np.unique(column.values)) <= HANDFUL


EASY = bounded(r"(?i)hellaswag|arc[ _-]?e|piqa|boolq|sciq|copa|sst")
"""Benchmarks on which models of a hundred million parameters do better than guessing."""
UNTRAINED = bounded(r"(?i)random|guess|chance|untrained|(?:^|[_/\s-])init|随机|未训练")
"""What a row of a model that knows nothing is called."""
BENCHMARKS, GUESSED = 3, 0.03
"""Benchmarks from which on all at guessing is no accident, and how far from guessing each may lie. Own judgement."""


class Scored(NamedTuple):
    """How often one model was right on one benchmark, as a share."""

    value: float
    guess: float
    benchmark: str
    who: str
    said: str
    tokens: float | None
    n: float
    """Items; 0 where that is not told."""
    place: Evidence


def below_guessing(tables: Sequence[Table]) -> Iterator[Finding]:
    """A benchmark with choices that one model answers far worse than by guessing, and another one well."""
    some = [s for t in tables if 1 <= len(t) <= MOST_ROWS for s in _scored(t)]
    low = [s for s in some if s.value <= BELOW * s.guess and not _by_chance(s)]
    for s in low:
        others = [o for o in some if o.benchmark == s.benchmark and o.place.file == s.place.file and o.who != s.who]
        best = max(others, key=lambda o: o.value, default=None)
        if best is None or best.value < ABOVE * s.guess:
            continue
        both = s.tokens is not None and best.tokens is not None
        long, long_zh = (f" in {s.tokens:.4g} tokens", f"（{s.tokens:.4g} 个 token）") if both else ("", "")
        short, short_zh = (f" in {best.tokens:.4g}", f"（{best.tokens:.4g} 个）") if both else ("", "")
        yield Finding(
            "score-below-guessing", Severity.S2,
            f"{s.said} is right in {s.value:.1%}{long}, where guessing is in {s.guess:.0%} and {best.said} in "
            f"{best.value:.1%}{short}: its answers are cut or not read, so the scores tell how answers are written and "
            "not what is known.",
            f"{s.said} 的正确率为 {s.value:.1%}{long_zh}，随机猜测有 {s.guess:.0%}，而 {best.said} 为 "
            f"{best.value:.1%}{short_zh}：它的回答被截断或没有被解析，分数反映的是答案格式而不是知识。",
            (s.place, best.place), {"value": s.value, "guessing": s.guess, "below": len(low)},
        )  # fmt: skip
        return


def _by_chance(s: Scored) -> bool:
    """Whether so few items were asked that guessing may give a score below its level."""
    return s.n > 0 and wilson(round(s.value * s.n), round(s.n))[1] > s.guess


def all_at_guessing(tables: Sequence[Table]) -> Iterator[Finding]:
    """A file in which everything with choices is answered as by guessing, an easy benchmark among it: whatever was
    scored knows nothing. One place of a training may be its beginning."""
    files: dict[str, list[Scored]] = {}
    for table in tables:
        if 1 <= len(table) <= MOST_ROWS and (len(table) == 1 or not table.of("axis")):
            for s in _scored(table):
                files.setdefault(table.file, []).append(s)
    for file, some in files.items():
        names = dict.fromkeys(s.benchmark for s in some)
        guessed = all(abs(s.value - s.guess) <= max(GUESSED, 3 * _spread(s)) for s in some)
        if len(names) >= BENCHMARKS and guessed and any(map(EASY.search, names)) and not any(map(_untrained, some)):
            best = max(some, key=lambda s: s.value - s.guess)
            each = ", ".join(f"{clean(s.benchmark, 40)} {s.value:.1%} ({s.guess:.0%})" for s in some[:BENCHMARKS])
            yield Finding(
                "scores-all-at-guessing", Severity.S2,
                f"All {len(names)} benchmarks of {file} are answered as often as by guessing: {each}. Even small "
                "models do better on easy ones: the weights that are scored are not the trained ones, or know nothing.",
                f"{file} 的 {len(names)} 个基准全部与随机猜测相当：{each}。小模型在简单的基准上也会更高："
                "被评测的不是训练好的权重，或它什么也没学到。",
                tuple(s.place for s in (best, *(o for o in some if o is not best))[:3]),
                {"benchmarks": len(names), "best": best.value - best.guess},
            )  # fmt: skip


def _spread(s: Scored) -> float:
    """One standard error of guessing, as a share; 0 where nobody says of how many items."""
    return (s.guess * (1 - s.guess) / s.n) ** 0.5 if s.n else 0.0


def _untrained(s: Scored) -> bool:
    return UNTRAINED.search(s.said) is not None


def _short(column: Column) -> bool:
    return max((len(str(v)) for v in column.values.tolist()), default=0) <= LABEL


def _scored(table: Table) -> Iterator[Scored]:
    """The scores of a table on benchmarks whose level of guessing is known: by its rows, or by its columns' names."""
    labels = [(c, texts(c)) for c in table.columns if c.role in ("group", "identifier", "text") and _short(c)]
    for column in table.of("measure"):
        above, _, name = column.name.rpartition(".")
        own = chance_of(name) is not None and not means(OTHER, name)
        if not (means(RIGHT, name) or own) or SHOWN.search(plain(column.name)) or column.values.dtype.kind != "f":
            continue  # how many examples a benchmark is shown is no score of it
        beside = {plain(c.name.rpartition(".")[2]): c.values for c in table.columns
                  if c.name.rpartition(".")[0] == above and c.values.dtype.kind == "f"}  # fmt: skip
        tokens = next((v for n, v in beside.items() if means(TOKENS, n)), None)
        counts = next((v for n, v in beside.items() if means(COUNTED, n)), None)
        errors = next((v for n, v in beside.items() if ERROR.search(n)), None)
        scale = 100.0 if np.nanmax(column.values, initial=0.0) > 1 else 1.0
        few = items_of(column.values) or (HANDFUL if _handful(column) else 0)
        for i in np.flatnonzero(np.isfinite(column.values)).tolist():
            said = [str(t[i]) for _, t in labels] + [p for p in (*above.split("."), name if own else "") if p]
            said += [] if any(map(chance_of, said)) else [table.part.rpartition(" / ")[2]]
            parts = [p for p in said if (c := chance_of(p)) is not None and c.points]
            if not parts:
                continue
            value, guess = float(column.values[i]) / scale, chance_of(parts[0]).points / 100  # type: ignore[union-attr]
            n = float(counts[i]) if counts is not None else float(few)
            if not n and errors is not None and errors[i] > 0:
                n = float(value * (1 - value) * (scale / errors[i]) ** 2)
            if value > 1 or value < 0:
                break  # no share
            who = " ".join(p for p in said if p not in parts)
            place = Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=value)
            long = None if tokens is None else float(tokens[i])
            yield Scored(value, guess, parts[0], who, " ".join(said), long, n, place)
