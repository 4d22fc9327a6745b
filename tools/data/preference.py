"""Preference and reward data: what the labels reward besides quality, and whether annotators agree.

Length bias, rank correlation of length and reward (within the prompt where possible), pairs that say nothing,
and Krippendorff's alpha. Whether a label is right is not judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..findings import Check, Evidence, Finding, Report, Severity, clean, declare
from .pii import mask
from .records.blocks import Stream
from .records.record import Part
from .records.shapes import responses_of, view
from .statistics import Level, correlation_interval, krippendorff, spearman, spearman_within, wilson

CODES = declare(
    "data preference",
    ("length-reward-correlation", ("length against reward", "longer answer preferred"),
     "longer answers are preferred or rewarded, whatever they say"),
    ("preference-gap-small", "chosen differs from rejected", "many pairs do not tell a better answer from a worse one"),
    ("annotator-disagreement", "annotator agreement", "annotators agree too little for the labels to be learned"),
)  # fmt: skip

LENGTH_ACCEPTED = 0.3
"""abs(Spearman) of length and reward stays below 0.3: runbook 000, `rm-length-bias`."""
LONGER_CHOSEN = 0.65
"""From this share of pairs (lower end of the interval) the longer answer wins too often; our choice."""
ALPHA_ACCEPTED = 0.67
"""Krippendorff's alpha of at least 0.67: runbook 000, `annotation-disagreement`."""
SMALL_GAP_SHARE = 0.2
ENOUGH = 30
"""Below this many pairs, points or units nothing is concluded."""
POINTS_KEPT = 1_000_000
SCORES = (("score_chosen", "score_rejected"), ("chosen_score", "rejected_score"),
          ("chosen_rating", "rejected_rating"), ("reward_chosen", "reward_rejected"),
          ("chosen_reward", "rejected_reward"))  # fmt: skip
RATINGS = ("ratings", "annotations", "labels", "votes", "scores_by_annotator")
ANNOTATOR = ("annotator", "annotator_id", "worker", "worker_id", "rater", "rater_id", "labeler", "user_id")
LABEL = ("label", "rating", "score", "choice", "preference", "vote")
UNIT = ("item", "item_id", "id", "example_id", "prompt_id", "pair_id", "sample_id", "prompt", "question")


@dataclass
class Gathered:
    """What the statistics need of all records."""

    records: int = 0
    pairs: int = 0
    longer: int = 0
    shorter: int = 0
    identical: int = 0
    no_gap: int = 0
    """Pairs whose scores are equal or the wrong way round."""
    scored: int = 0
    gaps: list[float] = field(default_factory=list)
    chosen_length: int = 0
    rejected_length: int = 0
    lengths: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    prompts: list[int] = field(default_factory=list)
    units: dict[Any, list[Any]] = field(default_factory=dict)
    places: dict[str, list[Evidence]] = field(default_factory=dict)

    def place(self, name: str, file: str, line: int, text: str) -> None:
        places = self.places.setdefault(name, [])
        if len(places) < 5:
            places.append(Evidence(file, line, text=clean(mask(text[:600]), 160)))


def preference(paths: Sequence[Path | Part], *, level: Level | None = None) -> Report:
    """Statistics of preference pairs, rewarded answers and annotations under `paths`.

    Args:
        paths: files or folders.
        level: of measurement of the annotations; None decides by the labels and says so.

    Raises:
        TriageError: a path does not exist or holds no data.
    """
    data = Gathered()
    stream = Stream(paths)
    for file, line, record in stream:
        gather(data, file, line, record.value)
    summary: dict[str, Any] = {"records": data.records}
    results: list[Finding | Check] = [
        *_judge_pairs(data, summary),
        *_judge_gap(data, summary),
        *_judge_length(data, summary),
        *_judge_agreement(data, summary, level),
    ]
    return stream.account.on(
        Report(
            "data preference",
            tuple(r for r in results if isinstance(r, Finding)),
            tuple(r for r in results if isinstance(r, Check)),
            summary,
        )
    )


def gather(data: Gathered, file: str, line: int, value: Any) -> None:
    """Add one record."""
    data.records += 1
    if not isinstance(value, Mapping):
        return
    seen = view(value)
    if seen.shape == "preference":
        _gather_pair(data, file, line, value, seen.response, seen.rejected)
    elif seen.shape == "rollout" and len(data.rewards) < POINTS_KEPT:
        _gather_rewards(data, value, seen.prompt)
    _gather_labels(data, value)


def _gather_pair(data: Gathered, file: str, line: int, value: Mapping[str, Any], chosen: str, rejected: str) -> None:
    data.pairs += 1
    data.chosen_length += len(chosen)
    data.rejected_length += len(rejected)
    data.longer += len(chosen) > len(rejected)
    data.shorter += len(chosen) < len(rejected)
    if chosen.strip() == rejected.strip():
        data.identical += 1
        data.place("gap", file, line, chosen)
    names = next((s for s in SCORES if all(_number(value.get(n)) is not None for n in s)), None)
    if names:
        gap = float(value[names[0]]) - float(value[names[1]])
        data.scored += 1
        data.gaps.append(gap)
        data.no_gap += gap <= 0
        if gap <= 0:
            data.place("gap", file, line, f"scores {value[names[0]]} and {value[names[1]]}")
        for text, name in ((chosen, names[0]), (rejected, names[1])):
            data.lengths.append(len(text))
            data.rewards.append(float(value[name]))
            data.prompts.append(-data.pairs)


def _gather_rewards(data: Gathered, value: Mapping[str, Any], prompt: str) -> None:
    answers = responses_of(value)
    rewards = rewards_of(value)
    for answer, reward in zip(answers, rewards, strict=False):
        if reward is not None:
            data.lengths.append(len(answer))
            data.rewards.append(reward)
            data.prompts.append(hash(prompt))


def rewards_of(value: Mapping[str, Any]) -> list[float | None]:
    """The reward of each answer of one rollout record."""
    for name in ("reward", "rewards", "score", "scores"):
        found = value.get(name)
        if isinstance(found, list):
            return [_number(v) for v in found]
        if _number(found) is not None:
            return [_number(found)]
    return []


def _number(value: Any) -> float | None:
    """A finite number that leaves room for sums of squares."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e100
    return float(value) if known else None


def _gather_labels(data: Gathered, value: Mapping[str, Any]) -> None:
    wide = next((value[n] for n in RATINGS if isinstance(value.get(n), list) and len(value[n]) > 1), None)
    if wide is not None:
        labels = [_label(v) for v in wide]
        data.units[("row", data.records)] = [v for v in labels if v is not None]
        return
    if any(n in value for n in ANNOTATOR):
        unit = next((value[n] for n in UNIT if n in value), None)
        label = next((value[n] for n in LABEL if n in value), None)
        if isinstance(unit, (str, int)) and (plain := _label(label)) is not None:
            data.units.setdefault(unit, []).append(plain)


def _label(value: Any) -> Any:
    if isinstance(value, Mapping):
        value = next((value[n] for n in LABEL if n in value), None)
    return value if isinstance(value, (str, bool)) or _number(value) is not None else None


def _judge_pairs(data: Gathered, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    if not data.pairs:
        yield Check("longer answer preferred", "not-applicable", "no chosen/rejected pairs")
        return
    apart = data.longer + data.shorter
    share = data.longer / apart if apart else 0.0
    low, high = wilson(data.longer, apart)
    summary |= {
        "pairs": data.pairs,
        "chosen_longer_share": share,
        "chosen_longer_interval": [low, high],
        "mean_chosen_characters": data.chosen_length / data.pairs,
        "mean_rejected_characters": data.rejected_length / data.pairs,
    }
    biased = apart >= ENOUGH and low > LONGER_CHOSEN
    yield Check(
        "longer answer preferred",
        "found" if biased else "clear" if apart >= ENOUGH else "not-applicable",
        f"the longer answer is chosen in {share:.0%} of {apart} pairs of different length "
        f"(95% interval {low:.0%} to {high:.0%})",
    )
    if biased:
        yield Finding(
            "length-reward-correlation",
            Severity.S2,
            f"The longer answer is the chosen one in {share:.0%} of {apart} pairs (95% interval {low:.0%} to "
            f"{high:.0%}): a model can win by length alone.",
            f"{apart} 对中有 {share:.0%} 选择了更长的回答（95% 区间 {low:.0%} 至 {high:.0%}）：仅靠长度即可取胜。",
            data={"share": share, "pairs": apart, "low": low, "high": high},
        )


def _judge_gap(data: Gathered, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    if not data.pairs:
        return
    weak = data.identical + data.no_gap
    share = weak / data.pairs
    summary |= {
        "identical_pairs": data.identical,
        "scored_pairs": data.scored,
        "pairs_without_gap": data.no_gap,
        "median_gap": float(np.median(data.gaps)) if data.gaps else None,
    }
    found = data.pairs >= ENOUGH and share >= SMALL_GAP_SHARE
    noted = data.identical > 0 and not found
    yield Check(
        "chosen differs from rejected",
        "found" if found or noted else "clear",
        f"{data.identical} identical, {data.no_gap} of {data.scored} scored pairs without a positive gap",
    )
    if found or noted:
        yield Finding(
            "preference-gap-small",
            Severity.S2 if found else Severity.S3,
            f"{weak} of {data.pairs} pairs ({share:.1%}) do not prefer anything: {data.identical} are identical, "
            f"{data.no_gap} have a chosen score that is not above the rejected one.",
            f"{data.pairs} 对中有 {weak} 对（{share:.1%}）没有偏好信息：{data.identical} 对相同，"
            f"{data.no_gap} 对分差不为正。",
            tuple(data.places.get("gap", ())),
            {"weak": weak, "pairs": data.pairs, "share": share},
        )


def _judge_length(data: Gathered, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    if len(data.rewards) < ENOUGH:
        yield Check("length against reward", "not-applicable", f"{len(data.rewards)} scored answers, {ENOUGH} needed")
        return
    x, y = np.array(data.lengths, float), np.array(data.rewards)
    pooled = spearman(x, y)
    rho, points = spearman_within(x, y, data.prompts)
    within = points >= ENOUGH
    rho, points = (rho, points) if within else (pooled, len(x))
    low, high = correlation_interval(rho, points)
    basis = "within the prompt" if within else "pooled over prompts"
    summary |= {
        "length_reward_spearman": rho,
        "length_reward_basis": basis,
        "length_reward_interval": [low, high],
        "length_reward_pooled": pooled,
        "length_reward_points": points,
    }
    if not math.isfinite(rho):
        yield Check("length against reward", "not-applicable", "length or reward does not vary")
        return
    biased = low > LENGTH_ACCEPTED or high < -LENGTH_ACCEPTED
    words = f"Spearman {rho:.2f} {basis}, {points} answers (95% interval {low:.2f} to {high:.2f})"
    yield Check("length against reward", "found" if biased else "clear", words)
    if biased:
        yield Finding(
            "length-reward-correlation",
            Severity.S2,
            f"Reward follows length: {words}; the runbook accepts below {LENGTH_ACCEPTED} either way.",
            f"奖励与长度相关：{words}；手册要求绝对值低于 {LENGTH_ACCEPTED}。",
            data={"spearman": rho, "points": points, "low": low, "high": high, "basis": basis},
        )


def _judge_agreement(data: Gathered, summary: dict[str, Any], level: Level | None) -> Iterator[Finding | Check]:
    units = [u for u in data.units.values() if len(u) > 1]
    if len(units) < ENOUGH:
        yield Check(
            "annotator agreement", "not-applicable", f"{len(units)} items with two or more labels, {ENOUGH} needed"
        )
        return
    level, why = (level, "as given") if level else _level(units)
    alpha = krippendorff(units, level)
    summary |= {"krippendorff_alpha": alpha, "level_of_measurement": level, "annotated_items": len(units)}
    words = f"Krippendorff's alpha {alpha:.2f} at {level} level ({why}), {len(units)} items"
    low = math.isfinite(alpha) and alpha < ALPHA_ACCEPTED
    result = "found" if low else "clear" if math.isfinite(alpha) else "not-applicable"
    yield Check("annotator agreement", result, words)
    if low:
        yield Finding(
            "annotator-disagreement",
            Severity.S2,
            f"Annotators agree too little: {words}; the runbook asks for at least {ALPHA_ACCEPTED}.",
            f"标注一致性不足：{words}；手册要求至少 {ALPHA_ACCEPTED}。",
            data={"alpha": alpha, "level": level, "items": len(units)},
        )


def _level(units: Sequence[Sequence[Any]]) -> tuple[Level, str]:
    values = {v for u in units for v in u}
    if any(isinstance(v, str) for v in values):
        return "nominal", "labels are words"
    if all(isinstance(v, int) or float(v).is_integer() for v in values) and len(values) <= 20:
        return ("nominal", "two values") if len(values) <= 2 else ("ordinal", "a scale of whole numbers")
    return "interval", "labels are numbers"
