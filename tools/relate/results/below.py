"""A trained model whose results lie below those of the model it was trained from, whatever file each stands in.

Two rows are held against each other where their names are the same but for the words that say training and base
(`sum-eval`, `sum-ppo-eval`; `before`, `after`), or where one table of a model a row calls one the base and another
the trained. Beyond that nothing is asked of what the scores are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import hypot, isfinite, sqrt
from statistics import median
from typing import NamedTuple

from ...findings import Finding, Severity, clean
from ..line import plain
from .read import BASE, FILLER, SHARE, TRAINED, Row, good_way, place_words, words

CLEAR, GRAVE = 2.5, 10.0
"""Standard errors of a mean difference from which on it is told, and points of a share from which on it is grave."""
SEVERAL, MOSTLY, LITTLE = 3, 0.8, 0.03
"""Without a known error: measures, the share of them that fall, and how far they do in the middle, as a share of the
base's. Own judgement."""
FAR = 0.1
"""Share of the base's level by which a single measure lies below it. Own judgement."""
FEW = 20
"""Items below which nothing is told of a share."""
PAIRS = 4000


class Pair(NamedTuple):
    """The same measures of the model before and after the training."""

    base: Row
    tuned: Row
    metrics: tuple[str, ...]

    def apart(self, metric: str) -> float:
        """By how much the trained one is better, in the file's own unit."""
        return good_way(metric) * (self.tuned.values[metric] - self.base.values[metric])

    def error(self, metric: str) -> float | None:
        """Standard error of that: the files' own, or that of a share of `n` items."""
        a, b = _error(self.base, metric), _error(self.tuned, metric)
        return None if a is None or b is None else hypot(a, b)


def _error(row: Row, metric: str) -> float | None:
    said = next((v for k, v in row.values.items() if k in (f"{metric}_stderr", f"{metric}_se", f"{metric}_sem")), None)
    if said is not None and isfinite(said) and said > 0:
        return said
    scale = 1.0 if row.values[metric] <= 1 else 100.0
    p = min(max(row.values[metric] / scale, 0.02), 0.98)
    return scale * sqrt(p * (1 - p) / row.n) if row.n and SHARE.search(plain(metric)) else None


def below_base(rows: Sequence[Row]) -> list[Finding]:
    """The clearest pair in which the trained model is below its base."""
    found = [(p, f) for p in _pairs(rows) if (f := _judged(p)) is not None]
    found.sort(key=lambda one: (one[1], -len(one[0].metrics)))
    return [_told(found[0][0], found[0][1], found)] if found else []


def _pairs(rows: Sequence[Row]) -> Iterator[Pair]:
    """Every trained row with its base; of several bases the best."""
    some = [r for r in rows if any(good_way(k) for k in r.values)]
    known = [(r, place_words(r) | words(r.part)) for r in some]  # tables below other headings are of other tasks
    bases = [(r, w, _rest(w)) for r, w in known if not _is_trained(r, w)]
    tried = 0
    for row, said in known:
        if not _is_trained(row, said):
            continue
        for base, _, rest in bases:
            tried += 1
            if tried > PAIRS:
                return
            if (_rest(said) == rest or _beside(base, row)) and (pair := _pair(base, row)) is not None:
                yield pair


def _is_trained(row: Row, said: frozenset[str]) -> bool:
    """Whether the words of a row say a training; a base in a file that is called after one is none."""
    own = words(" ".join(row.names))
    base = any(map(BASE.fullmatch, own)) and not any(map(TRAINED.fullmatch, own))
    return not base and any(map(TRAINED.fullmatch, said))


def _rest(said: frozenset[str]) -> frozenset[str]:
    return frozenset(w for w in said if not (TRAINED.fullmatch(w) or BASE.fullmatch(w) or FILLER.fullmatch(w)))


def _beside(base: Row, tuned: Row) -> bool:
    """Whether one table of a model a row names one the base and the other trained."""
    one_each = len(base.names) == len(tuned.names) == 1 and (base.file, base.part) == (tuned.file, tuned.part)
    return one_each and any(BASE.fullmatch(w) for w in words(base.names[0]))


def _pair(base: Row, tuned: Row) -> Pair | None:
    both = [k for k in base.values if good_way(k) and k in tuned.values]
    both = [k for k in both if good_way(k) > 0] or both  # rates of faults are told where no score stands beside them
    both = [k for k in both if isfinite(base.values[k]) and isfinite(tuned.values[k]) and base.values[k] > 0]
    alike = base.n == tuned.n or not (base.n and tuned.n) or min(base.n, tuned.n) > 0.5 * max(base.n, tuned.n)
    return Pair(base, tuned, tuple(both)) if both and alike and (base.line, base.file, base.names) != (
        tuned.line, tuned.file, tuned.names) else None  # fmt: skip


def _judged(pair: Pair) -> Severity | None:
    """How grave it is that the trained one is below; None where it is not, or where chance may do it."""
    parts = [pair.apart(k) / pair.base.values[k] for k in pair.metrics]
    errors = [pair.error(k) for k in pair.metrics]
    down = sum(p < 0 for p in parts) / len(parts)
    if max(parts) > LITTLE and max(parts) > -min(parts):
        return None  # something else was won
    if all(e is not None for e in errors):
        return _by_errors(pair, [e for e in errors if e is not None])
    if pair.tuned.n is not None and pair.tuned.n < FEW:
        return None
    if len(parts) >= SEVERAL and down >= MOSTLY and median(parts) <= -LITTLE:
        return Severity.S2
    return Severity.S2 if median(parts) <= -FAR and down >= MOSTLY else None


def _by_errors(pair: Pair, errors: Sequence[float]) -> Severity | None:
    """By the mean over all measures, which lean on the same items where they stand in one row."""
    mean = sum(map(pair.apart, pair.metrics)) / len(errors)
    if -mean < CLEAR * (sum(errors) / len(errors)):
        return None
    scale = 100.0 if all(pair.base.values[k] <= 1 for k in pair.metrics) else 1.0
    return Severity.S1 if -mean * scale >= GRAVE else Severity.S2


def _told(pair: Pair, severity: Severity, found: Sequence[tuple[Pair, Severity]]) -> Finding:
    most = sorted(pair.metrics, key=lambda k: pair.apart(k) / pair.base.values[k])[:3]
    said = ", ".join(f"{k} {pair.base.values[k]:.4g} -> {pair.tuned.values[k]:.4g}" for k in most)
    error = pair.error(most[0])
    noise = f"; standard error {error:.2g}" if error is not None else ""
    size = f", n = {pair.tuned.n}" if pair.tuned.n else ""
    way, way_zh = ("below", "低于") if good_way(most[0]) > 0 else ("worse than", "不如")
    verb, verb_zh = ("lower", "下降") if good_way(most[0]) > 0 else ("worse", "变差")
    down, of = sum(pair.apart(k) < 0 for k in pair.metrics), len(pair.metrics)
    more = f"; {len(found) - 1} more comparisons say the same" if len(found) > 1 else ""
    base, tuned = clean(pair.base.said, 90), clean(pair.tuned.said, 90)
    data: Mapping[str, object] = {"score": most[0], "before": pair.base.values[most[0]], "fell": down,
                                  "compared": of, "after": pair.tuned.values[most[0]], "standard_error": error,
                                  "n": pair.tuned.n}  # fmt: skip
    return Finding(
        "benchmark-drop" if good_way(most[0]) > 0 else "fault-rate-rises", severity,
        f"{tuned} is {way} {base}, the model before training: {said} ({down} of {of} measures {verb}{size}"
        f"{noise}){more}.",
        f"训练后的 {tuned} {way_zh}训练前的 {base}：{said}（{of} 项中 {down} 项{verb_zh}{size}{noise}）。",
        (pair.tuned.evidence(most[0]), pair.base.evidence(most[0])), dict(data),
    )  # fmt: skip
