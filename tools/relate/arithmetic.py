"""Batch, steps, tokens and the learning rate: what the numbers make together, against what was written and logged.

Every quantity carries its formula with the run's numbers in it. Only contradictions are findings; where a number that
the sum needs is not written anywhere, there is no sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..documents.event import Claim
from ..findings import PROPOSES, Evidence, Finding, Severity
from ..patterns import bounded
from ..settings import Settings
from . import schedule
from .line import Line, plain

CLOSE = 0.05
"""Relative difference up to which two numbers are the same: plans are rounded."""
FACTOR = 1.5
"""A ratio from which on the contradiction is grave."""
MISREAD = 1e4
"""A ratio from which on no slip in a plan explains it: one of the numbers is in another unit than it was read in."""
COUNTERS = {
    "tokens": ("tokens", "consumed_tokens", "total_tokens", "num_tokens", "tokens_seen", "train_tokens", "n_tokens",
               "num_input_tokens_seen", "train_num_input_tokens_seen", "tokens_consumed", "processed_tokens",
               "cumulative_tokens"),
    "samples": ("samples", "consumed_samples", "consumed_train_samples", "num_samples", "samples_seen",
                "total_samples", "examples_seen", "train_samples_seen"),
}  # fmt: skip
"""Measures that count what was consumed so far."""
FIRST, ABOVE_UNIFORM = 10, 1.5
"""Steps within which a loss is the first one, and nats that it may lie above ln(vocabulary). Own judgement."""
PHASES = ("data", "compute", "comm", "rollout")
"""Parts of a step whose times are known by name."""
TOTAL = bounded(
    r"^(?:total|wall|e2e|iter(?:ation)?)(?:_?(?:time|duration))?(?:_(?:s|sec|seconds|ms))?$|^总(?:耗时|用时|时间)"
)
"""What a step takes as a whole, beside its parts."""
FLOOR = 1.00001
"""The learning rate is at its floor within this factor of it."""
EARLY = 0.8
"""Share of the planned steps before which the floor is too early."""


@dataclass(frozen=True)
class Quantity:
    """A number that follows from others, or is measured, with how."""

    name: str
    value: float
    formula: str
    """With the run's numbers in it."""
    evidence: tuple[Evidence, ...] = ()


THERE = bounded(r"(?i)(?:^|[./])(?:data\w{0,8}|corpus|corpora)[./]")
"""Sections of what lies there to be trained on, of which a run may take a part."""


def number(value: float) -> str:
    """A count as people write it: `2.1M`, `300B`."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"


def quantities(settings: Settings, lines: Sequence[Line], claims: Iterable[Claim] = ()) -> dict[str, Quantity]:
    """What follows from settings and counters, by name."""
    found = [*_batch(settings), *_counted(lines), *shares(lines), *start(settings, lines), *_preferred(lines)]
    out = {q.name: q for q in found}
    step = out.get("tokens_per_step") or out.get("tokens_per_step_logged")
    total = _value(settings, "train_tokens") or next((c.value for c in claims if c.of == "train_tokens"), None)
    if step and total:
        steps = total / step.value
        out["steps_needed"] = Quantity(
            "steps_needed", steps, f"{number(total)} / {number(step.value)} = {number(steps)} steps",
            (*settings.sources("train_tokens"), *step.evidence),
        )  # fmt: skip
    return out


def _value(settings: Settings, variable: str) -> float | None:
    value = settings.value(variable)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def shares(lines: Sequence[Line]) -> Iterator[Quantity]:
    """What share of a step its parts take at the end, by the step's own time in the same file where it has one."""
    long = [x for x in reversed(lines) if len(x.finite()) >= 10 and (not x.group or x.group.startswith("rank"))]
    long.sort(key=lambda x: not x.group)
    ends = {x.name: x for x in long}
    wholes = {x.file: x for x in long if TOTAL.search(plain(x.key))} | {
        x.file: x for x in long if x.name == "step_time"
    }
    for part in PHASES:
        line = ends.get(f"{part}_time")
        whole = wholes.get(line.file, ends.get("step_time")) if line is not None else None
        if line is None:
            continue
        beside = [x for p in PHASES if (x := ends.get(f"{p}_time")) is not None and x.file == line.file]
        if whole is None and not {x.name for x in beside} - {line.name} & {"compute_time", "rollout_time"}:
            continue
        parts, took = sum(map(_at_end, beside)), _at_end(line)
        if whole is not None and whole.name != "step_time" and _at_end(whole) < parts / 1.5:
            whole = None  # a total of something else
        of = _at_end(whole) if whole is not None else parts
        if 0 <= took <= 1.5 * of and of:
            named = whole.key if whole is not None else "the parts together"
            formula = f"{line.key} {took:.3g} / {named} {of:.3g} = {took / of:.0%}"
            evidence = tuple(x.evidence(len(x) - 1) for x in (line, *([whole] if whole is not None else beside[:2])))
            yield Quantity(f"{part}_share", took / of, formula, evidence)


def _at_end(line: Line) -> float:
    return float(np.median(line.finite().values[-max(3, len(line) // 10) :]))


def start(settings: Settings, lines: Sequence[Line]) -> Iterator[Quantity]:
    """The first loss, and the most that a model with small random weights gives."""
    loss, vocabulary = next((x.finite() for x in lines if x.name == "loss"), None), _value(settings, "vocab_size")
    if loss is not None and len(loss) and loss.axis == "step" and loss.x[0] <= FIRST:
        said = f"{loss.key} {loss.values[0]:.4g} at step {loss.x[0]:.0f}"
        yield Quantity("loss_first", float(loss.values[0]), said, (loss.evidence(0),))
    if vocabulary:
        most = math.log(vocabulary) + ABOVE_UNIFORM
        said = f"ln({vocabulary:.0f}) + {ABOVE_UNIFORM:g} = {most:.4g}"
        yield Quantity("loss_at_init", most, said, settings.sources("vocab_size"))


def _preferred(lines: Sequence[Line]) -> Iterator[Quantity]:
    """What the chosen answers have lost of their reward, and what the margin over the rejected ones has gained."""
    for name, metric, sign in (("chosen_lost", "reward_chosen", -1), ("margin_gained", "reward_margin", 1)):
        line = next((x for one in lines if one.name == metric and len(x := one.finite()) >= 10), None)
        if line is not None:
            first, last = float(np.median(line.values[: max(3, len(line) // 20)])), _at_end(line)
            said = f"{line.key} {first:.3g} to {last:.3g}"
            yield Quantity(name, sign * (last - first), said, (line.evidence(0), line.evidence(len(line) - 1)))


def _batch(settings: Settings) -> Iterator[Quantity]:
    """Replicas, sequences and tokens of a step."""
    world = _value(settings, "world_size")
    parts = {v: _value(settings, v) or 1.0 for v in ("tensor_parallel", "pipeline_parallel", "context_parallel")}
    model = math.prod(parts.values())
    replicas = _value(settings, "data_parallel")
    said = ""
    if world and model > 1 and replicas:
        shape = " x ".join(f"{int(p)}" for p in parts.values() if p > 1)
        said = f"{int(world)} / ({shape}) = {int(replicas)}"
        yield Quantity("data_parallel", replicas, said, settings.sources("world_size", *parts))
    micro, accumulated = _value(settings, "micro_batch_size"), _value(settings, "grad_accumulation")
    if not (micro and accumulated and replicas):
        return
    batch = micro * accumulated * replicas
    sources = settings.sources("micro_batch_size", "grad_accumulation", "world_size", *parts)
    product = f"{int(micro)} x {int(accumulated)} x {int(replicas)}"
    yield Quantity("batch_made", batch, _joined(said, f"{product} = {int(batch)} sequences a step"), sources)
    length = _value(settings, "sequence_length")
    if length and not _value(settings, "num_generations"):  # rollouts end where they end, no window is filled
        tokens = batch * length
        formula = _joined(said, f"{product} x {int(length)} = {number(tokens)} tokens a step")
        yield Quantity("tokens_per_step", tokens, formula, (*sources, *settings.sources("sequence_length")))


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _counted(lines: Iterable[Line]) -> Iterator[Quantity]:
    """What the log itself counts a step, in tokens and in samples: a step has at least one."""
    for unit, names in COUNTERS.items():
        line = next((x for x in lines if plain(x.key) in names and x.axis == "step" and len(x) >= 5), None)
        if line is None:
            continue
        grown, steps = np.diff(line.values), np.diff(line.x)
        keep = np.isfinite(grown) & (steps > 0)
        if keep.sum() < 4 or (grown[keep] < 0).mean() > 0.05 or not (grown[keep] > 0).mean() > 0.9:
            continue
        each = float(np.median(grown[keep] / steps[keep]))
        if each < 1:  # counted in thousands, millions or billions
            continue
        shown = (line.evidence(len(line) - 1), line.evidence(0))
        yield Quantity(f"{unit}_per_step_logged", each, f"{line.key} grows by {number(each)} a step", shown)


def contradictions(
    settings: Settings, lines: Sequence[Line], claims: Sequence[Claim], made: dict[str, Quantity]
) -> list[Finding]:
    """Where what was written, what the parts make and what was logged are not the same."""
    sums = (*_batches(settings, claims, made), *_lengths(settings, claims, made))
    return [*(f for f in sums if not _misread(f.data["ratio"])), *_floor(settings, lines, made),
            *schedule.undecayed(settings, lines, claims)]  # fmt: skip


def _misread(ratio: float) -> bool:
    """Whether two numbers are apart by a unit: a thousand times, or more than anybody is wrong by."""
    apart = max(ratio, 1 / ratio) if ratio > 0 else math.inf
    return apart >= MISREAD or near(apart, 1000)


def _batches(settings: Settings, claims: Sequence[Claim], made: dict[str, Quantity]) -> Iterator[Finding]:
    """The planned batch against the one that the parts make, and that against the log."""
    tokens, batch = made.get("tokens_per_step"), made.get("batch_made")
    logged, counted = made.get("tokens_per_step_logged"), made.get("samples_per_step_logged")
    for claim in claims:
        of_tokens = claim.of == "tokens_per_step" or (claim.of == "global_batch_size" and claim.unit.startswith("tok"))
        pair = (logged, tokens) if of_tokens else (counted, batch) if claim.of == "global_batch_size" else ()
        real = _both(*pair) if pair else None
        if real and not near(claim.value, real.value):
            yield _claimed(claim, real, settings)
            break
    for real, written in ((logged, tokens), (counted, batch or _set_batch(settings))):
        if real and written and not near(real.value, written.value) and not _ramps(settings):
            ratio = real.value / written.value
            yield _finding(
                "batch-contradicts-log", ratio, written, f"{real.formula}, {ratio:.3g} times that"
                f"{_named(ratio, settings)}",
                f"而日志中 {real.formula}，为其 {ratio:.3g} 倍{_named_zh(ratio, settings)}",
                (*real.evidence, *written.evidence), real.value,
            )  # fmt: skip


def _set_batch(settings: Settings) -> Quantity | None:
    """The batch as it is set, where its parts do not make it."""
    setting, value = settings.get("global_batch_size"), _value(settings, "global_batch_size")
    if setting is None or value is None:
        return None
    return Quantity("batch_set", value, f"{setting.key} is {value:.0f}", (setting.evidence(),))


def _both(logged: Quantity | None, made: Quantity | None) -> Quantity | None:
    """What the log counts, said with the parts that make it where they agree."""
    if logged and made and near(logged.value, made.value):
        evidence = (*made.evidence, *logged.evidence)
        return Quantity(made.name, made.value, f"{made.formula}; {logged.formula}", evidence)
    return logged or made


def _ramps(settings: Settings) -> bool:
    return "batch_rampup" in settings or settings.value("packing") is False


def near(a: float, b: float) -> bool:
    return abs(a - b) <= CLOSE * max(abs(a), abs(b))


def _claimed(claim: Claim, real: Quantity, settings: Settings) -> Finding:
    ratio = claim.value / real.value
    unit = claim.unit or "a step"
    return _finding(
        "batch-contradicts-plan", ratio, real,
        f"{claim.file}:{claim.line} says {number(claim.value)} {unit}, {ratio:.3g} times "
        f"that{_named(ratio, settings)}",
        f"而 {claim.file}:{claim.line} 写的是 {number(claim.value)}，为其 {ratio:.3g} 倍{_named_zh(ratio, settings)}",
        (Evidence(claim.file, claim.line, metric=claim.of, value=claim.value, text=claim.text), *real.evidence),
        claim.value,
    )  # fmt: skip


FACTORS = ("tensor_parallel", "pipeline_parallel", "context_parallel", "grad_accumulation", "micro_batch_size",
           "data_parallel", "world_size", "epochs", "num_generations")  # fmt: skip
"""Factors that people forget or count twice."""


def factors(ratio: float, settings: Settings) -> tuple[str, ...]:
    """The settings whose product a ratio, or its inverse, is: the fewest that fit."""
    ratio = max(ratio, 1 / ratio) if ratio > 0 else 0.0
    known = {v: n for v in FACTORS if (n := _value(settings, v)) and n > 1}
    model = tuple(v for v in FACTORS[:3] if v in known)
    if model and ratio > 1 + CLOSE and near(math.prod(known[v] for v in model), ratio):
        return model  # the world taken for the replicas, the usual slip
    for count in (1, 2, 3):
        for names in combinations(known, count):
            if ratio > 1 + CLOSE and near(math.prod(known[n] for n in names), ratio):
                return names
    return ()


def _named(ratio: float, settings: Settings) -> str:
    names = factors(ratio, settings)
    return f": exactly {' x '.join(names)}" if names else ""


def _named_zh(ratio: float, settings: Settings) -> str:
    names = factors(ratio, settings)
    return f"，恰为 {' x '.join(names)}" if names else ""


def _finding(
    code: str,
    ratio: float,
    written: Quantity,
    en: str,
    zh: str,
    evidence: tuple[Evidence, ...],
    other: float,
    **more: object,
) -> Finding:
    grave = max(ratio, 1 / ratio) >= FACTOR if ratio > 0 else True
    data = {
        "computed": written.value,
        "other": other,
        "ratio": ratio,
        "formula": written.formula,
        "quantity": written.name,
        **more,
    }
    severity = Severity.S1 if grave else Severity.S2
    return Finding(code, severity, f"{written.formula}; {en}.", f"{written.formula}；{zh}。", evidence, data)


def _lengths(settings: Settings, claims: Sequence[Claim], made: dict[str, Quantity]) -> Iterator[Finding]:
    """Steps that were planned against the steps that the tokens need."""
    needed = made.get("steps_needed")
    if needed is None:
        return
    written = settings.get("max_steps") or settings.get("decay_steps")
    if written is not None and isinstance(written.value, (int, float)) and not near(written.value, needed.value):
        ratio = written.value / needed.value
        tokens = settings.get("train_tokens")
        if ratio < 1 and tokens is not None and THERE.search(tokens.key):
            return  # a part of the data is enough
        yield _finding(
            "steps-contradict-tokens", ratio, needed,
            f"{written.file}:{written.line} sets {written.key} {written.value:,}, {ratio:.3g} times that"
            f"{_named(ratio, settings)}",
            f"而 {written.file}:{written.line} 中 {written.key} 为 {written.value:,}，为其 {ratio:.3g} 倍"
            f"{_named_zh(ratio, settings)}",
            (written.evidence(), *needed.evidence), float(written.value),
            **{PROPOSES: {"variable": written.variable, "new": round(needed.value)}},
        )  # fmt: skip
        return
    claim = next((c for c in claims if c.of == "max_steps" and c.value > 0), None)
    if written is None and claim is not None and not near(claim.value, needed.value):
        yield _claimed(claim, needed, settings)


def _floor(settings: Settings, lines: Sequence[Line], made: dict[str, Quantity]) -> Iterator[Finding]:
    """The learning rate reaches its floor long before the planned end, or the run has gone on there for long."""
    if "constant" in str(settings.value("lr_schedule", "")).lower():
        return
    rates = schedule.rates(lines)
    needed = made.get("steps_needed")
    planned = needed.value if needed else max(_value(settings, "max_steps") or 0.0, 0.0)
    for rate in rates:
        other = len(rates) > 1 and (rate.x[-1] > planned * (1 + CLOSE) or schedule.held(rate) < schedule.OTHERS)
        own = 0.0 if other else planned  # the plan may be another run's
        if found := next(_early(settings, rate, own, needed if own else None, lines), None):
            yield found
            return


def _early(
    settings: Settings, rate: Line, planned: float, needed: Quantity | None, lines: Sequence[Line]
) -> Iterator[Finding]:
    peak, last = float(rate.values.max()), float(rate.values[-1])
    top = int(rate.values.argmax())
    if peak <= 0 or last > 0.5 * peak:
        return
    low = np.flatnonzero(rate.values[top:] <= max(last * FLOOR, last + 1e-6 * peak))
    at = top + int(low[0])
    held = len(rate) - at
    if held < max(5, len(rate) // 50):
        return
    if not planned:
        yield from schedule.lingering(rate, at, lines)
        return
    if rate.x[at] >= EARLY * planned:
        return
    share = float(rate.x[at]) / planned
    after = "" if needed is None else f" ({needed.formula})"
    yield Finding(
        "lr-floor-early", Severity.S1,
        f"{rate.key} is at its floor {last:.3g} from step {rate.x[at]:.0f} on, {share:.0%} of the {planned:,.0f} "
        f"steps that the run needs{after}; its peak was {peak:.3g}.",
        f"{rate.key} 从第 {rate.x[at]:.0f} 步起就处于最低值 {last:.3g}，仅为所需 {planned:,.0f} 步的 {share:.0%}"
        f"{after}；峰值为 {peak:.3g}。",
        (rate.evidence(at), rate.evidence(top), *(needed.evidence if needed else settings.sources("max_steps"))),
        {"at": float(rate.x[at]), "planned": planned, "share": share, "floor": last, "peak": peak},
    )  # fmt: skip
