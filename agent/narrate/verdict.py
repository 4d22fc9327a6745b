"""Words a verdict in English or Chinese: why, what changed, and the table of what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...tools.findings import clean
from ..acceptance.verify import Judged, Verdict
from .entry import criterion, finding_of
from .measures import measure
from .words import CHOSEN, COLUMNS, NAMED, NEAR, RESULTS, UNTIL, VERDICTS


class Row(NamedTuple):
    """A criterion or a neighbour in words, and what was measured of it."""

    said: str
    result: str
    """The key of `RESULTS`."""
    value: str
    points: str
    how: str


def verdict_text(v: Verdict, lang: str, brief: bool = False) -> str:
    """The verdict as Markdown; `brief` leaves out how each criterion is defined and was measured."""
    most = 4 if brief else 5
    table = [COLUMNS.say(lang).strip("| ").split(" | "), ["---"] * 5]
    for row in rows(v, lang):
        said = row.said.partition(" (")[0] if brief else row.said
        table.append([said, RESULTS[row.result].say(lang), row.value, row.points, row.how])
    lines = (f"| {' | '.join(cells[:most])} |" for cells in table)
    return "\n".join([headline(v, lang), "", *changes(v, lang), "", *lines])


def headline(v: Verdict, lang: str) -> str:
    """The verdict and the rule that gave it, in one line."""
    return NAMED[v.verdict].say(lang) + reason(v, lang)


def reason(v: Verdict, lang: str) -> str:
    """The rule that gave the verdict."""
    return VERDICTS[v.why].say(
        lang,
        until="" if v.reached is None else UNTIL.say(lang, reached=v.reached),
        n=len(v.changed),
        remaining=", ".join(v.remaining),
        new=", ".join(v.new),
        must_reach=v.must_reach,
        missing=("；" if lang == "zh" else "; ").join(measure(clean(what, 300), lang) for what in v.unseen),
    )


def changes(v: Verdict, lang: str) -> Iterator[str]:
    """Which runs were compared, where a choice was made, and the settings that differ."""
    if v.chosen:
        yield from (CHOSEN.say(lang, old=clean(v.baseline, 200), new=clean(v.candidate, 200)), "")
    for d in v.changed:
        note = f" — {d.note}" if d.note else ""
        yield f"- `{d.variable}`: {clean(str(d.old))} → {clean(str(d.new))} ({clean(d.where)}){note}"


def rows(v: Verdict, lang: str) -> Iterator[Row]:
    """Each criterion, then each neighbour."""
    for j in v.criteria:
        points, how = str(j.observation.points), clean(_how(j, lang), 400)
        yield Row(criterion(j.criterion, lang), j.result, _measured(j, lang), points, how)
    for n in v.neighbours:
        said = RESULTS["neighbour"].say(lang, metric=n.metric)
        yield Row(said, n.result, f"{n.before:.4g} → {n.after:.4g}", "", measure(n.window, lang))


def _how(j: Judged, lang: str) -> str:
    """What was looked at and how the number was made; for one that could not be, what is missing."""
    parts = (measure(part, lang) for part in (j.observation.window, j.observation.definition) if part)
    return ("：" if lang == "zh" else ": ").join(parts)


def _measured(j: Judged, lang: str) -> str:
    """The value with its standard error, and a word where that could have decided."""
    text = _number(j.observation.value)
    key = f"{text}-found" if finding_of(j.criterion) else text
    text = RESULTS[key].say(lang) if key in RESULTS else text
    if text and j.observation.noise:
        text += f" ± {j.observation.noise:.2g}"
    return text + (NEAR.say(lang) if j.near else "")


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
