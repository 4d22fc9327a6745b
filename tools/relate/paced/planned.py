"""The steps that are set against the tokens of the plan, by what the run itself counts a step: they differ by a factor
that is a part of the batch (the accumulation, the cards) where that part was forgotten, or counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...documents.event import Claim
from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ..line import Line, plain

TOKENS = bounded(
    r"(?:^|_)(?:tok|toks|token|tokens|ntok|n_tok)(?:_|$)|token\(|词元|已见|已读token|consumed_?tokens|tokens?_?seen|(?:^|_)seen_?(?:b|g)(?:_|$)"
)
NO_TOKENS = bounded(r"per|/|(?:^|_)(?:s|sec|gpu|rate|speed|batch|len|max|out|resp\w{0,5})(?:_|$)|每|速度|吞吐")
UNITS = ((bounded(r"(?:^|_|\()(?:b|g|bn|billions?)(?:_|\)|$)|十亿"), 1e9),
         (bounded(r"(?:^|_|\()(?:m|mtok|millions?)(?:_|\)|$)"), 1e6),
         (bounded(r"(?:^|_|\()(?:t|trillions?)(?:_|\)|$)"), 1e12), (bounded(r"亿"), 1e8))  # fmt: skip
STEPS = bounded(
    r"^(?:max|total|train|num|n|planned)_?(?:train_?)?(?:steps?|iters?|iterations|updates)$|^(?:train_)?(?:iters|updates|steps)$"
    r"|^t_?max$|总步数|训练步数"
)
TOTAL = bounded(
    r"^(?:train_?|total_?|max_?|num_?|n_?|budget_?)?tokens(?:_?(?:total|budget|planned))?$|^token_?(?:budget|total)$|总token"
)
PART = bounded(
    r"accum|(?:^|_)(?:grad_?acc|ga|acc|cards?|gpus?|world_?size|world|dp|tp|pp|cp|nodes?|n?proc\w{0,12}|devices?|per_?(?:card|gpu|device)"
    r"|micro\w{0,10}|mbs|replicas?|ranks?)(?:_|$)|累积|卡数"
)
EPOCHS = bounded(r"epoch|passes|repeat|遍|轮")
CLOSE, LEAST_ROWS = 0.04, 6


def beyond_plan(lines: Sequence[Line], stated: Sequence[Stated], claims: Sequence[Claim]) -> Iterator[Finding]:
    """The steps that are set, if they would train a whole number of times what is planned."""
    totals = {c.value for c in claims if c.of == "train_tokens" and c.value > 1e6}
    numbers = [s for s in stated if s.how == "said" and s.number and s.number > 0]
    totals |= {s.number for s in numbers if s.number and s.number > 1e8 and TOTAL.search(plain(s.key))}
    steps = [s for s in numbers if STEPS.search(plain(s.key)) and (s.number or 0) >= 100]
    if len(totals) != 1 or not steps or len({s.number for s in steps}) != 1:
        return
    total, setting = totals.pop(), steps[0]
    for line in lines:
        each = _each(line)
        if each is None:
            continue
        ratio = (setting.number or 0.0) * each / total
        factor = max(ratio, 1 / ratio) if ratio > 0 else 0.0
        whole = round(factor)
        if whole < 2 or abs(factor - whole) > CLOSE * whole or _epochs(numbers, factor):
            continue
        part = next((s for s in numbers if s.number == whole and PART.search(plain(s.key))), None)
        if part is not None:
            claim = next((c for c in claims if c.of == "train_tokens" and c.value == total), None)
            yield _told(line, each, total, setting, ratio, part, claim)
            return


def _each(line: Line) -> float | None:
    """Tokens of a step, by a counter of them along the steps."""
    own = plain(line.key)
    if line.axis != "step" or (not TOKENS.search(own) and not TOKENS.search(line.key.lower())) or NO_TOKENS.search(own):
        return None
    line = line.finite()
    if len(line) < LEAST_ROWS or line.x[-1] <= line.x[0] or (np.diff(line.values) <= 0).mean() > 0.05:
        return None
    scale = next((by for unit, by in UNITS if unit.search(own) or unit.search(line.key.lower())), 1.0)
    each = scale * float((line.values[-1] - line.values[0]) / (line.x[-1] - line.x[0]))
    return each if each >= 1e3 else None


def _epochs(numbers: Sequence[Stated], factor: float) -> bool:
    return any(EPOCHS.search(plain(s.key)) and s.number and abs(s.number - factor) < 0.5 for s in numbers)


def _told(
    line: Line, each: float, total: float, setting: Stated, ratio: float, part: Stated, claim: Claim | None
) -> Finding:
    need, steps = total / each, setting.number or 0.0
    said = f"{ratio:.3g} times" if ratio > 1 else f"1/{1 / ratio:.3g} of"
    said_zh = f"{ratio:.3g} 倍" if ratio > 1 else f"1/{1 / ratio:.3g}"
    places = [setting.evidence(), line.evidence(len(line) - 1), part.evidence()]
    if claim is not None:
        places.append(Evidence(claim.file, claim.line, metric=claim.of, value=claim.value, text=claim.text))
    return Finding(
        "steps-off-by-batch-part", Severity.S1,
        f"{setting.file}:{setting.line} sets {setting.key} {steps:,.0f}. By {line.key} in {line.file} a step is "
        f"{each:,.0f} tokens, so the {total:.4g} planned ones need {need:,.0f} steps: what is set is {said} that, and "
        f"{part.key} is {part.value} ({part.file}:{part.line}).",
        f"{setting.file}:{setting.line} 设 {setting.key} 为 {steps:,.0f}。按 {line.file} 的 {line.key}，每步 "
        f"{each:,.0f} 个 "
        f"token，计划的 {total:.4g} 个只需 {need:,.0f} 步：设置是它的 {said_zh}，恰为 {part.key} {part.value}"
        f"（{part.file}:{part.line}）。",
        tuple(places), {"steps": steps, "needed": need, "ratio": ratio, "part": plain(part.key)},
    )  # fmt: skip
