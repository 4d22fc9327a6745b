"""Words a verdict in English or Chinese: why, what changed, and the table of what was measured."""

from __future__ import annotations

from ...tools.findings import clean
from ..acceptance.verify import Judged, Verdict
from .entry import criterion
from .words import CHOSEN, COLUMNS, NEAR, RESULTS, VERDICTS


def verdict_text(v: Verdict, lang: str, brief: bool = False) -> str:
    """The verdict as Markdown; `brief` leaves out how each criterion is defined and was measured."""
    why = VERDICTS[v.why].say(
        lang,
        n=len(v.changed),
        remaining=", ".join(v.remaining),
        new=", ".join(v.new),
        must_reach=v.must_reach,
        reached=v.reached,
        missing="; ".join(clean(what, 300) for what in v.unseen),
    )
    lines = [f"**{v.verdict}**: {why}", ""]
    if v.chosen:
        lines += [CHOSEN.say(lang, old=clean(v.baseline, 200), new=clean(v.candidate, 200)), ""]
    lines += [
        f"- `{d.variable}`: {clean(str(d.old))} → {clean(str(d.new))} ({clean(d.where)})"
        + (f" — {d.note}" if d.note else "")
        for d in v.changed
    ]
    rows = [COLUMNS.say(lang).strip("| ").split(" | "), ["---"] * 5]
    for j in v.criteria:
        said = criterion(j.criterion, lang)
        cells = [said.partition(" (")[0] if brief else said, RESULTS[j.result].say(lang), measured(j, lang)]
        rows.append([*cells, str(j.observation.points), clean(how(j), 400)])
    for n in v.neighbours:
        rows.append([n.metric, RESULTS[n.result].say(lang), f"{n.before:.4g} → {n.after:.4g}", "", n.window])
    return "\n".join([*lines, "", *(f"| {' | '.join(row[:4] if brief else row)} |" for row in rows)])


def how(j: Judged) -> str:
    """What was looked at and how the number was made; for one that could not be, what is missing."""
    return ": ".join(part for part in (j.observation.window, j.observation.definition) if part)


def measured(j: Judged, lang: str) -> str:
    """The value with its standard error, and a word where that could have decided."""
    text = _number(j.observation.value)
    text = RESULTS[text].say(lang) if text in RESULTS else text
    if text and j.observation.noise:
        text += f" ± {j.observation.noise:.2g}"
    return text + (NEAR.say(lang) if j.near else "")


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
