"""Criteria on evaluation results: scores before and after, in percentage points with their standard error.

"Before" is a result file of the base model (see `tools.scores`, which reads the files), or else the baseline's. Whether
the evaluation itself is sound is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...knowledge.entry import Criterion
from ...tools.data.records.plain import load_json
from ...tools.run import Run
from ...tools.scores import GENERAL, Pair, Scores, joint_error, pairs, scores
from .subject import Observation, Subject, metric, missing, seen

OOD = re.compile(r"(?i)(?:^|[^a-z])(?:ood|out_?of_?(?:domain|distribution)|unseen|novel|holdout|transfer)(?:[^a-z]|$)")


def before_after(subject: Subject, keep: re.Pattern[str] | None, base: bool = True) -> tuple[list[Pair], str]:
    """(name, before, after) of the scores in both, and where "before" comes from.

    Args:
        subject: the candidate, with its baseline.
        keep: names that count; None keeps those that `GENERAL` does not match.
        base: whether "before" is the model before training, where its results are there.
    """
    after = scores(subject.run)
    reference: Scores = scores(subject.run, base=True) if base else {}
    where = "the base model's result file"
    if not reference and subject.baseline:
        reference = (scores(subject.baseline.run, base=True) if base else {}) or scores(subject.baseline.run)
        where = "the baseline's result files"
    kept = {n: s for n, s in after.items() if (keep.search(n) if keep else not GENERAL.search(n))}
    return pairs(reference, kept), where


NO_PAIR = (
    "evaluation results of both sides are needed: `results.json` here, and the base model's as `base_results.json` "
    "(or in the baseline), with the same tasks, measured alike"
)


@metric("general_benchmark_drop")
def general_benchmark_drop(subject: Subject, criterion: Criterion) -> Observation:
    """Largest drop of a general benchmark, before minus after, in points (U-05)."""
    pairs, where = before_after(subject, GENERAL)
    if not pairs:
        return missing(NO_PAIR + "; general benchmarks are mmlu, ceval, hellaswag, gsm8k and the like")
    name, old, new = max(pairs, key=lambda p: p[1].value - p[2].value)
    words = f"largest drop of {len(pairs)} general benchmarks in points: {name} {old.value:.1f} -> {new.value:.1f}"
    words += f"; before: {where}" + ("" if joint_error(old, new) else "; number of items unknown, so no standard error")
    return seen(old.value - new.value, criterion, words, len(pairs), f"{old.file}, {new.file}", joint_error(old, new))


@metric("domain_gain_retained")
def domain_gain_retained(subject: Subject, criterion: Criterion) -> Observation:
    """Every domain score is at least the baseline's, within two standard errors."""
    pairs, where = before_after(subject, None, base=False)
    if not pairs:
        return missing("domain evaluation results of the baseline and of this run are needed, with the same tasks")
    return _no_worse(criterion, pairs, f"domain scores, before: {where}")


@metric("output_quality_retained")
def output_quality_retained(subject: Subject, criterion: Criterion) -> Observation:
    """No score falls by more than two standard errors; the source names no number."""
    pairs, where = before_after(subject, re.compile(""))
    if not pairs:
        return missing(f"needs a reference artifact: {NO_PAIR}")
    return _no_worse(criterion, pairs, f"all scores, before: {where}")


def _no_worse(criterion: Criterion, pairs: list[Pair], words: str) -> Observation:
    if unknown := [n for n, a, b in pairs if joint_error(a, b) is None and b.value < a.value]:
        return missing(
            f"{unknown[0]} fell, and its number of items is not in the files, so its noise is unknown", len(pairs)
        )
    worse = [n for n, a, b in pairs if b.value < a.value - 2 * (joint_error(a, b) or 0.0)]
    words += f"; {len(worse)} of {len(pairs)} fell by more than two standard errors" + (
        f": {', '.join(worse[:3])}" if worse else ""
    )
    return seen(not worse, criterion, words, len(pairs))


@metric("eval_regression")
def eval_regression(subject: Subject, criterion: Criterion) -> Observation:
    """Baseline score minus candidate score beyond two standard errors, the worst one, in points."""
    pairs, where = before_after(subject, re.compile(""), base=False)
    if not pairs:
        return missing("evaluation results of the baseline and of this run are needed, with the same tasks")
    if all(joint_error(a, b) is None for _, a, b in pairs):
        return missing("the number of items of the evaluation is not in the files, so the noise is unknown", len(pairs))
    known = [(n, a, b, e) for n, a, b in pairs if (e := joint_error(a, b)) is not None]
    name, old, new, error = max(known, key=lambda p: p[1].value - p[2].value - 2 * p[3])
    beyond = max(0.0, old.value - new.value - 2 * error)
    words = (
        f"points beyond two standard errors, worst of {len(known)}: {name} {old.value:.1f} -> {new.value:.1f}; {where}"
    )
    return seen(beyond, criterion, words, len(known), f"{old.file}, {new.file}", error)


@metric("ood_accuracy_gap")
def ood_accuracy_gap(subject: Subject, criterion: Criterion) -> Observation:
    """Accuracy on train-like items minus accuracy on OOD items, in percentage points (U-06)."""
    found = scores(subject.run)
    ood = {n: s for n, s in found.items() if OOD.search(f"{s.file}/{n}")}
    like = {
        n: s
        for n, s in found.items()
        if re.search(r"(?i)train|in_?dist|in_?domain|(?:^|[^a-z])i?id(?:[^a-z]|$)", f"{s.file}/{n}")
    }
    like = {n: s for n, s in like.items() if n not in ood}
    if not ood or not like:
        return missing("results on training-like and on OOD items are needed (task names with `train` and `ood`)")
    (left, a), (right, b) = max(like.items(), key=lambda kv: kv[1].value), min(ood.items(), key=lambda kv: kv[1].value)
    words = f"{left} {a.value:.1f} minus {right} {b.value:.1f}, percentage points (assumed)"
    return seen(a.value - b.value, criterion, words, 2, f"{a.file}, {b.file}", joint_error(a, b))


SETUP = ("git_hash", "n-shot", "versions", "config", "configs", "task_hashes", "chat_template_sha", "chat_template")
IGNORED = re.compile(r"(?i)model|device|batch|date|time|seed|path|gen_kwargs_str|cache")


@metric("eval_setup_identical")
def eval_setup_identical(subject: Subject, criterion: Criterion) -> Observation:
    """What the harness records of itself is equal in the result files, the model and the machine left out.

    The files are those of this run where it has several, as what is compared was measured again; else its one and the
    last of the baseline.
    """
    sides = _setups(subject.run)
    if len(sides) == 1 and subject.baseline:
        sides = [*_setups(subject.baseline.run)[-1:], *sides]
    if len(sides) < 2:
        return missing("two result files are needed that record the harness (`git_hash`, `versions`, `n-shot`)")
    names = {k for side in sides for k in side}
    differ = sorted(k for k in names if len({side.get(k) for side in sides}) > 1)
    words = f"{len(names)} recorded settings" + (f"; different: {', '.join(differ[:4])}" if differ else "")
    return seen(not differ, criterion, words, len(names))


def _setups(run: Run) -> list[dict[str, str]]:
    """What each result file records of the harness."""
    return [setup for artifact in run.of("eval") if (setup := _setup(load_json(artifact.path)))]


def _setup(value: object) -> dict[str, str]:
    out: dict[str, str] = {}
    if not isinstance(value, Mapping):
        return out
    for name in SETUP:
        item = value.get(name)
        if isinstance(item, Mapping):
            out |= {f"{name}.{k}": str(v) for k, v in item.items() if not IGNORED.search(str(k))}
        elif item is not None:
            out[name] = str(item)
    return out
