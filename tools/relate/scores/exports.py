"""One model's results in files of their own, each made of its weights in another number format.

Told from what the small files state: the format, what identifies the weights, how it was measured, and right answers
of so many. A further result settles whether it is the format or the engine that the score goes with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import PurePosixPath
from typing import NamedTuple

from ...documents.stated import Stated
from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import plain
from ..summed.words import COUNTED, WHOLE, apart, named_score
from .formats import CLEAR, FULL, LOST, REDUCED, UNKNOWN_SIZE
from .read import SETUP, WEIGHTS

BARE = bounded(r"(?i)^(?:none|null|no|false|off)$")
QUANTISED = bounded(r"(?i)quant|量化")
HELD = bounded(r"(?i)prompt|template|temperature|decoding|seed|shots?$|max_(?:gen|new)|few|模板|温度")
"""Names of what two results must have in common besides the model."""
SAME = bounded(r"(?i)^(?:base_?|source_?|src_?)?(?:model|checkpoint|ckpt|revision|模型|权重)(?:_?(?:name|id|path))?$")
NAMES = bounded(
    r"(?i)(?:^|_)(?:model|checkpoint|ckpt|weights?|engine_model|served_model)(?:_?(?:name|id|path|dir))?$|^(?:模型|权重)"
)
"""What a result calls its model by."""
NEAR, FILES = 3, 24
"""Lines that a count and its whole lie apart at most, and results that are compared."""


class Right(NamedTuple):
    """A share of right answers, of how many, and where it stands."""

    share: float
    of: float
    place: Stated


class Result(NamedTuple):
    """One file: what it says of the model and of how it was measured, and its scores in their order."""

    file: str
    format: str
    full: bool
    says: dict[str, str]
    scores: list[Right]


def exported(stated: Sequence[Stated]) -> Iterator[Finding]:
    """Scores that a smaller number format of the same weights loses."""
    results = [*_results(stated)][:FILES]
    for whole, less in permutations(results, 2):
        if whole.full and not less.full and _same(whole, less) and (lost := _lost(whole, less)):
            yield _told(whole, less, lost, _settles(whole, less, results))
            return


def _results(stated: Sequence[Stated]) -> Iterator[Result]:
    files: dict[str, list[Stated]] = {}
    for one in stated:
        if one.how == "said":
            files.setdefault(one.file, []).append(one)
    for file, said in files.items():
        labels: dict[str, str] = {}
        for one in said:
            if one.number is None or WEIGHTS.search(plain(one.key)) or HELD.search(one.key):
                labels.setdefault(one.key, one.value)
        form = next((f for key, value in labels.items() if (f := _format(key, value))), None)
        scores = [*_scores(said)]
        if form is not None and scores:
            yield Result(file, *form, labels, scores)


def _format(key: str, value: str) -> tuple[str, bool] | None:
    """(the format that a statement names, whether it is an unreduced one)."""
    if REDUCED.search(value):
        return value, False
    bare = QUANTISED.search(key) and BARE.search(value)
    return (value, True) if FULL.fullmatch(value) or bare else None


def _scores(said: Sequence[Stated]) -> Iterator[Right]:
    for i, one in enumerate(said):
        value, name = one.number, plain(one.key)
        if value is None or value < 0:
            continue
        near = [s for s in said[max(0, i - 2) : i + 3] if abs(s.line - one.line) <= NEAR and s is not one]
        right = COUNTED["right"].search(name) and float(value).is_integer()
        wholes = (s.number or 0.0 for s in near if right and WHOLE.search(plain(s.key)))
        of = next((n for n in wholes if n >= max(value, 1)), None)
        if of:
            yield Right(value / of, of, one)
        elif named_score(one.key) and value <= 100:
            yield Right(value / (100 if value > 1 else 1), UNKNOWN_SIZE, one)


def _same(one: Result, other: Result) -> bool:
    """Whether both are of the same weights, measured alike, task by task."""
    both = one.says.keys() & other.says.keys()
    model = {k for k in both if WEIGHTS.search(plain(k)) or SAME.search(plain(k))}
    model = {k for k in model if not _format(k, one.says[k]) and not _format(k, other.says[k])}
    asked = {k for k in both if HELD.search(k) or SETUP.search(plain(k))} - model - {s.place.key for s in one.scores}
    asked = {k for k in asked if not _format(k, one.says[k]) and not _format(k, other.says[k])}
    tasks = [s.place.key for s in one.scores] == [s.place.key for s in other.scores]
    return (
        (bool(model) or _made_of(one, other)) and tasks and all(one.says[k] == other.says[k] for k in (*model, *asked))
    )


def _made_of(one: Result, other: Result) -> bool:
    """Whether the model of one result is called as that of the other with a number format behind it."""
    named = [{PurePosixPath(v).name.lower() for k, v in r.says.items() if NAMES.search(plain(k))} for r in (one, other)]
    bare = [{REDUCED.sub("", name).strip(" _-.()") for name in names} - {""} for names in named]
    return bool(bare[0] & bare[1]) and named[0] != named[1]


def _lost(whole: Result, less: Result) -> list[tuple[Right, Right]]:
    """(unreduced, reduced) scores of the tasks that are clearly lower, the worst first."""
    pairs = [(a, b) for a, b in zip(whole.scores, less.scores, strict=True) if a.share - b.share >= LOST
             and apart(a.share * a.of, a.of, b.share * b.of, b.of) >= CLEAR]  # fmt: skip
    better = [a for a, b in zip(whole.scores, less.scores, strict=True) if b.share - a.share >= LOST]
    return sorted(pairs, key=lambda p: p[1].share - p[0].share) if not better else []


def _settles(whole: Result, less: Result, results: Sequence[Result]) -> Result | None:
    """A further result of the same weights: another reduced format that loses nothing where this one is served, or this
    one that loses as much where something else serves it."""
    for other in results:
        if other in (whole, less) or other.full or not _same(whole, other):
            continue
        lost, alike = bool(_lost(whole, other)), other.format == less.format
        if lost == alike and (alike or _served(other) == _served(less)):
            return other
    return None


def _served(result: Result) -> str:
    return next((v for k, v in result.says.items() if plain(k) in ("engine", "backend", "server", "runtime")), "")


def _told(whole: Result, less: Result, lost: Sequence[tuple[Right, Right]], third: Result | None) -> Finding:
    def said(r: Right) -> str:
        return f"{100 * r.share:.1f}%" + (f" ({r.place.value} of {r.of:g})" if r.of != UNKNOWN_SIZE else "")

    a, b = lost[0]
    first = third.scores[less.scores.index(b)] if third else None
    more = more_zh = ""
    if third and first:
        more = f"; {third.file} in {third.format} has {said(first)}, so it is this format and not what serves it"
        more_zh = f"；{third.file}（{third.format}）为 {said(first)}，可见是该格式而不是推理引擎造成的"
    places = (a.place, b.place, *((first.place,) if first else ()))
    return Finding(
        "score-follows-format" if third else "quality-lost-in-format", Severity.S2,
        f"The same weights measured alike: {less.file} in {less.format} scores {said(b)} where {whole.file} in "
        f"{whole.format} scores {said(a)}, and clearly less in {len(lost)} of {len(whole.scores)} scores{more}.",
        f"同一份权重、同样的测法：{less.file}（{less.format}）为 {said(b)}，"
        f"{whole.file}（{whole.format}）为 {said(a)}，"
        f"{len(whole.scores)} 项得分中有 {len(lost)} 项明显更低{more_zh}。",
        tuple(p.evidence() for p in places),
        {"before": a.share, "after": b.share, "lost": a.share - b.share, "format": less.format,
         "settled": bool(third)},
    )  # fmt: skip
