"""What a log measures again once its last step is done: of averaged, merged, quantised or exported weights.

The same measure stands under the same name before the end and behind it. Where it is clearly worse behind, what was
trained is not what is handed over, and the line that says so names the part of the way at which it was lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...findings import Evidence, Finding, Severity, clean, declare
from ...patterns import bounded
from ...series import Series, SeriesTable
from ...vocabulary import DOWN, EITHER, UP, VOCABULARY
from ..signatures.signature import CHECK
from ..texts import Text

CODES = declare(
    "again",
    ("averaged-weights-worse", CHECK, "averaged weights (EMA, SWA) measure clearly worse than those that were trained"),
    ("merged-weights-worse", CHECK, "merged weights measure clearly worse than those that were trained"),
    (
        "exported-weights-worse",
        CHECK,
        "quantised or exported weights measure clearly worse than those trained",
    ),
)
STAGES = (
    ("averaged-weights-worse", bounded(
        r"(?i)(?:^|[^a-z])(?:ema|swa|lawa|averag(?:ed?|ing)|soup|polyak)(?:[^a-z]|$)|平均")),
    ("merged-weights-worse", bounded(r"(?i)(?:^|[^a-z])merg(?:ed?|ing)(?:[^a-z]|$)|合并")),
    ("exported-weights-worse", bounded(
        r"(?i)(?:^|[^a-z])(?:(?:de)?quant\w{0,12}|int\d|fp[48]|nf4|gptq|awq|gguf|export(?:ed)?|convert(?:ed)?"
        r"|re-?load(?:ed)?|round-?trip|compress(?:ed)?|prun(?:ed?|ing)|onnx)(?:[^a-z]|$)|量化|导出|转换|剪枝")),
)  # fmt: skip
"""Code -> words of what was done to the weights before they were measured again."""
OTHER = bounded(r"(?i)(?:^|[^a-z])(?:test|ood|hold-?out|train(?:ing)?)(?:[^a-z]|$)|测试")
"""Of another set of data."""
WORSE, LEAST = 0.03, 0.02
"""Share of a loss by which it is clearly worse, and points of an accuracy. Own judgement."""
LABEL = 120
"""Characters at most before the name, in which it is said of which weights it is."""
_VALUE = r"(?:[ \t]{0,3}[:=|][ \t]{0,3}|[ \t]{1,3})(-?\d{1,9}(?:\.\d{1,10})?(?:e[-+]?\d{1,3})?)(?![\w.])"
_NUMBERED = bounded(r"[\w/.]{1,40}[ \t]{0,3}[:=][ \t]{0,3}-?\d")


class Again(NamedTuple):
    """One line behind the end that measures what a series measured."""

    line: int
    said: str
    value: float
    code: str


def measured_again(texts: Mapping[str, Text], table: SeriesTable) -> Iterator[Finding]:
    """The largest loss of each log between two of such lines, where all in all it is a clear one."""
    for name, text in texts.items():
        own = [s for s in table if s.file == name and s.metric.startswith("eval_") and len(s) and s.axis == "step"]
        found = [f for s in own if (f := _lost(s, _behind(s, text.tail)))]
        yield from sorted(found, key=lambda f: -f.data["share"])[:1]


def _behind(series: Series, tail: Sequence[tuple[int, str]]) -> list[Again]:
    """The lines behind the last point that give the measure a value and say of which weights, each stage once."""
    names = re.compile(rf"(?<![\w/.-]){re.escape(series.key)}{_VALUE}", re.IGNORECASE)
    out: list[Again] = []
    for number, line in tail:
        hit = names.search(line) if number > int(series.lines[-1]) else None
        stage = line[: hit.start()].strip() if hit else ""
        if hit and len(stage) <= LABEL and not OTHER.search(stage) and (code := _stage(stage)):
            out.append(Again(number, clean(_NUMBERED.split(stage)[0].strip(" |,;:-"), 60), float(hit[1]), code))
    return out


def _stage(said: str) -> str:
    return next((code for code, words in STAGES if words.search(said)), "")


def _lost(series: Series, again: Sequence[Again]) -> Finding | None:
    better = VOCABULARY[series.metric].better if series.metric in VOCABULARY else EITHER
    last = float(series.values[-1])
    if not again or better not in (UP, DOWN) or not abs(last) < float("inf"):
        return None
    way = 1 if better == DOWN else -1
    least = WORSE * abs(last) if way > 0 else LEAST * (100 if abs(last) > 1 else 1)
    before = [last, *(a.value for a in again[:-1])]
    at = max(range(len(again)), key=lambda i: way * (again[i].value - before[i]))
    lost = way * (again[at].value - before[at])
    if lost < least or way * (again[-1].value - last) < least:
        return None
    place = Evidence(series.file, int(series.lines[-1]), int(series.steps[-1]), metric=series.metric, value=last)
    return Finding(
        again[at].code, Severity.S2,
        f"{series.key} is {last:.5g} at the last step, and {again[at].value:.5g} at `{again[at].said}` "
        f"({series.file}:{again[at].line}): what is handed over is not as good as what was trained.",
        f"最后一步的 {series.key} 为 {last:.5g}，到 `{again[at].said}`（{series.file}:{again[at].line}）时为 "
        f"{again[at].value:.5g}：交付的权重不如训练出来的权重。",
        (place, *(Evidence(series.file, a.line, metric=series.metric, value=a.value) for a in again[at : at + 2])),
        {"last": last, "after": again[at].value, "share": lost / max(abs(last), 1e-9), "stage": again[at].said},
    )  # fmt: skip
