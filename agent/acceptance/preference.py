"""Criteria on preference pairs, rewarded answers and annotations: what the labels reward, and whether people agree.

The statistics are those of `tools.data.preference`; whether a label is right is not judged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...knowledge.entry import Criterion
from ...tools.data.preference import Gathered, gather, preference
from ...tools.data.records.blocks import Stream
from .artifacts import Sample, data_of, sample
from .subject import Observation, Subject, metric, missing, once, seen


@once
def _preferences(subject: Subject) -> tuple[Sample, dict[str, Any]]:
    """(what was looked at, summary of the preference tool)."""
    data = sample([*data_of(subject.run), *subject.run.of("generations")])
    return data, dict(preference(data.parts).summary) if data.parts else {}


@metric("length_reward_correlation")
def length_reward_correlation(subject: Subject, criterion: Criterion) -> Observation:
    """Absolute Spearman correlation of length and reward, within the prompt where it can be (U-08)."""
    data, found = _preferences(subject)
    rho = found.get("length_reward_spearman")
    if rho is None or rho != rho:
        return missing("at least 30 answers with rewards are needed (chosen/rejected scores or a rollout dump)")
    low, high = found["length_reward_interval"]
    words = f"absolute Spearman, {found['length_reward_basis']}; 95% interval {low:.2f} to {high:.2f}"
    return seen(abs(rho), criterion, words, found["length_reward_points"], data.window, (high - low) / 3.92)


@metric("krippendorff_alpha")
def krippendorff_alpha(subject: Subject, criterion: Criterion) -> Observation:
    """Krippendorff's alpha of the annotation table, with its level of measurement (I-05)."""
    data, found = _preferences(subject)
    alpha = found.get("krippendorff_alpha")
    if alpha is None or alpha != alpha:
        return missing("an annotation table is needed: 30 items with two or more labels each (item, annotator, label)")
    return seen(
        alpha, criterion, f"alpha at {found['level_of_measurement']} level", found["annotated_items"], data.window
    )


@metric("preference_gap_mean")
def preference_gap_mean(subject: Subject, criterion: Criterion) -> Observation:
    """Mean of chosen minus rejected score on the run's own scale, which is printed (U-03)."""
    data = sample(data_of(subject.run))
    pairs = Gathered()
    for file, line, record in Stream(data.parts) if data.parts else ():
        gather(pairs, file, line, record.value)
    if len(pairs.gaps) < 30:
        return missing("at least 30 pairs with chosen_score and rejected_score are needed", len(pairs.gaps))
    low, high = min(pairs.rewards), max(pairs.rewards)
    mean, error = float(np.mean(pairs.gaps)), float(np.std(pairs.gaps) / len(pairs.gaps) ** 0.5)
    words = f"mean of chosen minus rejected score; scores run from {low:.3g} to {high:.3g}"
    if high <= 1 and low >= 0:
        why = "; on a scale of 0 to 1 a gap of 0.5 means something else than on the source's unnamed scale: not judged"
        return Observation(mean, len(pairs.gaps), data.window, words + why, None, error)
    return seen(mean, criterion, words, len(pairs.gaps), data.window, error)
