"""What the run's own numbers ask of the next one: the level before the change, the need that the arithmetic gives, the
plan. They stand beside the entry's own criteria in a proposal.

Each number comes from a finding that speaks for the entry; a finding that gives none asks for nothing. `triage verify`
judges them beside the entry's own (`sides.promised`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...knowledge.entry import Criterion, Entry
from ...knowledge.sign import parse_sign
from ...tools.findings import Finding
from ...tools.patterns import bounded
from ...tools.series import SeriesTable
from ...tools.vocabulary import VOCABULARY
from .levels import asked, begun, beyond, left, reached

SLACK, NOISE = 0.05, 3.0
"""Share of a level, and points' noises, by which the next run may miss it."""
MOST = 4
QUEUE = 2
"""Requests that may wait for a moment where none waits for a limit."""
LEARNED = frozenset(("loss", "eval_loss", "perplexity", "eval_perplexity", "accuracy", "eval_accuracy", "reward",
                     "entropy", "grad_norm"))  # fmt: skip
"""Measures whose level moves as a model learns: that of another step is no target."""
BAD = {"rises": 1, "falls": -1}
"""Sign over a measure -> the way that it speaks of as bad."""
CARD = bounded(r"total capacity of (\d{1,4}(?:\.\d{1,3})?) GiB|; (\d{1,4}\.\d{1,3}) GiB total capacity")
ROOM = 0.9
"""Share of a card that a run may fill; the rest is for fragments and the longest batch."""
Data = Mapping[str, Any]


def demands(entry: Entry, findings: Iterable[Finding], table: SeriesTable | None = None) -> tuple[Criterion, ...]:
    """The criteria that the findings for an entry give, each with its number, and what the run itself reached."""
    findings = tuple(findings)
    held = [f for f in findings if f.code in entry.speaks.for_]
    found = [c for f in held if f.code in ASKS for c in ASKS[f.code](f.data)]
    found += [c for f in held if f.code == "cuda-oom" for c in _room(f)]
    found += [_given(one) for f in held for one in f.data.get("asks", ())]
    parts = [part for f in held if "sign" in f.data for part in parse_sign(str(f.data["sign"])).parts]
    worse = {part.names[0]: BAD[part.asks] for part in parts if part.asks in BAD and not part.negated}
    for changed in (f for f in findings if f.code == "metric-changed"):
        metric = str(changed.data.get("metric"))
        if any(metric in part.names for part in parts):
            found += _back(changed.data, worse.get(metric, 0))
    if table is not None:
        found += [*reached(held, table), *left(entry, table), *beyond(entry, table)]
    own = {c.metric for c in entry.acceptance if c.low is not None or c.high is not None}
    first: dict[str, Criterion] = {}
    for criterion in found:
        if criterion.metric not in own:
            first.setdefault(criterion.metric, criterion)
    return tuple(first.values())[:MOST]


def _given(one: Data) -> Criterion:
    """What a relation asks for itself."""
    return asked(str(one["metric"]), one["is"], float(one["bound"]), "", str(one["en"]), str(one["zh"]))


def _room(finding: Finding) -> Iterator[Criterion]:
    """The peak stays below the card that was full."""
    total = next((float(m[1] or m[2]) for e in finding.evidence if (m := CARD.search(e.text or ""))), None)
    if total:
        yield asked("peak_gpu_memory", "at-most", ROOM * total, "GiB", f"{ROOM:.0%} of the card's {total:g} GiB",
                     f"显卡 {total:g} GiB 的 {ROOM:.0%}")  # fmt: skip


def _back(data: Data, bad: int) -> Iterator[Criterion]:
    """A measure that got worse, by its own nature or by the sign that it meets, comes back to where it was."""
    metric, before, after = str(data["metric"]), float(data["before"]), float(data["after"])
    better = VOCABULARY[metric].better if metric in VOCABULARY else 0
    better = better or -bad
    if better * (after - before) < 0 and not data.get("group") and metric not in LEARNED:
        slack = max(SLACK * abs(before), NOISE * float(data.get("noise", 0.0)))
        said = (
            f"{before:.4g} before step {float(data['at']):.10g}",
            f"第 {float(data['at']):.10g} 步之前为 {before:.4g}",
        )
        is_, bound = ("at-least", before - slack) if better > 0 else ("at-most", before + slack)
        yield asked(metric, is_, bound, "", *said)


def _pool(data: Data) -> Iterator[Criterion]:
    need = float(data["need"])
    yield asked("kv_pool", "at-least", need, "GiB", f"one sequence needs {need:.3g} GiB of cache",
                 f"一条序列的 KV cache 需要 {need:.3g} GiB")  # fmt: skip
    if data.get("least_share") and data.get("most_share"):
        yield asked("gpu_memory_utilization", "at-least", float(data["least_share"]), "",
                     f"the smallest share that holds the weights and {need:.3g} GiB",
                     f"放下权重和 {need:.3g} GiB 的最小占比")  # fmt: skip


def _steps(data: Data) -> Iterator[Criterion]:
    yield asked("max_steps", "equals", round(float(data["computed"])), "steps", str(data.get("formula", "")),
                 str(data.get("formula", "")))  # fmt: skip


def _decays(data: Data) -> Iterator[Criterion]:
    planned, at = float(data["planned"]), float(data["at"])
    yield asked("lr_floor_step", "at-least", (planned + at) / 2, "steps",
                f"the floor is reached at step {at:.10g} of {planned:.10g}: nearer the end than that",
                f"最低值在第 {at:.10g} 步就达到，共需 {planned:.10g} 步：应更接近结束")  # fmt: skip


def _batch(data: Data) -> Iterator[Criterion]:
    if "token" in str(data.get("quantity", "")):
        yield asked("global_batch_tokens", "equals", float(data["computed"]), "tokens",
                     f"{data.get('formula')}; the plan's {float(data['other']):.3g} is not what the parts make",
                     f"{data.get('formula')}；计划中的 {float(data['other']):.3g} 与各项乘积不符")  # fmt: skip


def _score(data: Data) -> Iterator[Criterion]:
    before, after = float(data["before"]), float(data["after"])
    yield asked("score_at_first_bad_checkpoint", "at-least", (before + after) / 2, "points",
                 f"{data['score']} is {before:.1f} before and {after:.1f} from checkpoint {float(data['at']):.10g} on: "
                 "nearer the first",
                 f"{data['score']} 在检查点 {float(data['at']):.10g} 之前为 {before:.1f}，之后为 {after:.1f}："
                 "须更接近前者")  # fmt: skip


def _resumed(data: Data) -> Iterator[Criterion]:
    before, after = float(data["baseline"]), float(data["value"])
    yield asked("loss", "at-most", before + (after - before) / 10, "",
                f"{before:.4g} before the restart and {after:.4g} behind it, at the same step",
                f"重启前为 {before:.4g}，重启后为 {after:.4g}，步数相同")  # fmt: skip


def _alike(data: Data) -> Iterator[Criterion]:
    if data.get("alike_error"):
        error = 1.96 * float(data["alike_error"])
        yield asked("score_difference_same_weights", "at-most", error, "points",
                     f"1.96 standard errors of {float(data['alike_error']):.2g} points",
                     f"{float(data['alike_error']):.2g} 个点标准误的 1.96 倍")  # fmt: skip


def _queue(data: Data) -> Iterator[Criterion]:
    yield asked("requests_waiting", "at-most", QUEUE, "requests", f"{float(data['waiting']):.0f} waited",
                 f"原有 {float(data['waiting']):.0f} 个在等待")  # fmt: skip


def _first_token(data: Data) -> Iterator[Criterion]:
    fast, slow = (float(p) for p in data["first_p95"])
    yield asked("p95_time_to_first_token", "at-most", 1.1 * fast, "s", f"{fast:.3g} s before, {slow:.3g} s now",
                 f"之前 {fast:.3g} s，现在 {slow:.3g} s")  # fmt: skip


def _links(data: Data) -> Iterator[Criterion]:
    said = ", ".join(f"{name} {was:g} -> {now:g}" for name, (was, now) in data["grown"].items())
    yield asked("link_errors_grown", "equals", 0, "errors", said, said)


def _whole(data: Data) -> Iterator[Criterion]:
    least = 0.98 * float(data["others"])
    yield asked("checkpoint_size", "at-least", least, "", f"the others have {float(data['others']):g}",
                 f"其余为 {float(data['others']):g}")  # fmt: skip


def _like_trained(data: Data) -> Iterator[Criterion]:
    yield asked("chat_template_family_served", "equals", str(data["trained"]), "", "that of training", "与训练相同")


ASKS: dict[str, Callable[[Data], Iterator[Criterion]]] = {
    "requests-wait-at-limit": _queue,
    "rollout-requests-wait": _queue,
    "queue-before-first-token": _first_token,
    "link-counters-grow": _links,
    "checkpoint-smaller": _whole,
    "loss-jump-on-resume": _resumed,
    "template-differs-when-served": _like_trained,
    "kv-pool-below-need": _pool,
    "lr-floor-early": _decays,
    "starts-above-guessing": begun,
    "steps-contradict-tokens": _steps,
    "batch-contradicts-plan": _batch,
    "score-falls-at-checkpoint": _score,
    "score-falls-from-start": _score,
    "same-weights-scored-apart": _alike,
}
"""Finding -> the criteria that its numbers give."""
