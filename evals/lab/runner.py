"""Which cases to run, and running them: recordings and diagnoses over a few worker processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...tools.findings import TriageError
from .baselines import BASELINES
from .fault import Case, faults
from .loop import ATTEMPTS, Triage, repair, without
from .recipes import RECIPES
from .recording import base_model, first, record
from .scoring import Score, score

DOUBLES = (
    ("lr-too-low", "weight-decay-too-high"),
    ("personal-data", "eval-leakage"),
    ("duplicated-data", "pad-is-end"),
    ("poisoned-batch", "personal-data"),
)
"""Pairs of faults in one run; the two share a recipe, or the first one's recipe carries the second's change."""
QUICK = ("missing-package", "wrong-fields", "personal-data", "skipped-collective", "labels-on-prompt")
"""A handful over the families, for CI; with one healthy run."""
QUICK_HEALTHY = ("healthy-chat",)


@dataclass(frozen=True)
class Plan:
    """What to run."""

    cases: tuple[Case, ...]
    home: Path
    attempts: int = ATTEMPTS
    baselines: bool = True
    baseline_repairs: bool = False
    """Whether the baselines' proposals are trained and verified too, which triples the time."""
    hidden: tuple[str, ...] = ()
    """Finding codes that are taken away before triage diagnoses, as if their detectors did not exist."""


def cases(names: Sequence[str] = (), seeds: int = 2, quick: bool = False, first_seed: int = 1) -> tuple[Case, ...]:
    """The cases of a run of the lab, healthy ones and doubles included, with `seeds` seeds from the first on.

    Raises:
        TriageError: a name is no fault.
    """
    known = faults()
    if unknown := [n for name in names for n in name.split("+") if n not in known]:
        raise TriageError(f"no fault named {', '.join(unknown)}; `triage eval lab --list` shows them")
    if quick:
        return tuple(Case((name,), 2) for name in (*QUICK, *QUICK_HEALTHY))
    chosen = [tuple(n.split("+")) for n in names] if names else [*((n,) for n in known), *DOUBLES]
    return tuple(Case(combination, seed) for combination in chosen for seed in range(first_seed, first_seed + seeds))


def run(plan: Plan, jobs: int, done: Callable[[Case, list[Score]], None]) -> list[Score]:
    """Record, diagnose, repair and score every case, calling `done` after each."""
    for base in {RECIPES[RECIPES[c.fault.recipe].base].name for c in plan.cases if RECIPES[c.fault.recipe].base}:
        base_model(base, plan.home)
    work = partial(one, plan)
    out: list[Score] = []
    if jobs == 1:
        for case in plan.cases:
            scores = work(case)
            done(case, scores)
            out += scores
        return out
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        waiting = {pool.submit(work, case): case for case in plan.cases}
        for future in as_completed(waiting):
            scores = future.result()
            done(waiting[future], scores)
            out += scores
    return out


def one(plan: Plan, case: Case) -> list[Score]:
    """Every advisor on one case."""
    made = record(first(case), plan.home)
    advisors = [(Triage(plan.hidden), plan.attempts)]
    if plan.baselines:
        advisors += [(b, plan.attempts if plan.baseline_repairs else 0) for b in BASELINES]
    out = []
    for advisor, attempts in advisors:
        advice = advisor.advise(made.run, case.question)
        tried = [] if case.fault.healthy else repair(advisor, advice, made, plan.home, attempts)
        blind = None
        if isinstance(advisor, Triage) and not case.fault.healthy and (hidden := tuple(_codes(case))):
            blind = without(made.run, case.question, hidden)[0]
        out.append(score(advisor.name, made, advice, tried, blind, attempts > 0))
    return out


def _codes(case: Case) -> Iterable[str]:
    return (code for fault in case.all() for code in (*fault.shows, *fault.also))
