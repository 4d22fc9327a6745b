"""`triage bisect`: drives the search with real evaluations, in parallel, through kills and failures.

Which checkpoint is next is `search`; what an evaluation is, `evaluate`; what changed at the end, `changes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ...findings import TriageError
from . import search
from .evaluate import Command, Job, start
from .journal import Evaluation, Journal
from .observations import Observations
from .posterior import Posterior, posterior
from .row import Point

MOST_FAILURES = 4
"""Checkpoints that may fail before any gave a number; then the command is wrong, not the checkpoints."""
POLL = 0.05
"""Seconds between looks at running evaluations."""


@dataclass(frozen=True)
class Plan:
    """What is asked for."""

    points: list[Point]
    """The row from the good to the bad end."""
    command: Command
    confidence: float = 0.95
    budget: int = 0
    """Most observations; 0 for the prediction at 1.5 noise widths."""
    jobs: int = 1
    retries: int = 1
    """How often a failed evaluation is tried again before it counts as no observation."""

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            raise TriageError(f"--confidence {self.confidence:g}: give a probability from 0.5 to below 1, such as 0.95")
        if self.jobs < 1:
            raise TriageError(f"--jobs {self.jobs}: at least one")
        for point in self.points:
            self.command.words(point, 0)

    @property
    def most(self) -> int:
        return self.budget or max(search.predicted(len(self.points)).values())


@dataclass(frozen=True)
class Outcome:
    """Where the search ended."""

    plan: Plan
    end: Posterior | None
    """None without a single observation."""
    history: list[Evaluation]
    """In the order in which they finished, failures included."""
    settled: bool
    stopped: str
    """Why it stopped."""

    @property
    def failures(self) -> list[Evaluation]:
        return [e for e in self.history if e.value is None]


@dataclass
class _State:
    seen: Observations
    now: Posterior | None = None
    blocked: set[int] = field(default_factory=set)
    """Checkpoints that could not be evaluated."""
    history: list[Evaluation] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)

    def take(self, index: int, done: Evaluation) -> None:
        self.history.append(done)
        if done.value is None:
            self.blocked.add(index)
            return
        self.seen = self.seen.add(index, done.value)
        self.now = posterior(self.seen)

    def repeats(self, index: int) -> int:
        """Evaluations of a checkpoint made or under way."""
        return self.seen.index.count(index) + sum(j.index == index for j in self.running)


def run(plan: Plan, journal: Journal, tell: Callable[[Outcome], object] = lambda _: None) -> Outcome:
    """The whole bisection.

    Args:
        plan: what is asked for.
        journal: results on file are used instead of being measured again.
        tell: called after every evaluation with the state so far.

    Raises:
        TriageError: the command cannot be started.
    """
    state = _State(Observations(len(plan.points), family=plan.command.reading))
    try:
        while not (stopped := _launch(plan, journal, state)):
            known = len(state.history)
            finished = [job for job in state.running if job.poll()]
            for job in finished:
                state.running.remove(job)
                _finish(plan, journal, state, job)
            if len(state.history) > known:
                tell(_outcome(plan, state, ""))
            elif state.running and not finished:
                time.sleep(POLL)
        tell(_outcome(plan, state, stopped))
    finally:
        for job in state.running:
            job.stop("no longer needed")
    return _outcome(plan, state, stopped)


def _outcome(plan: Plan, state: _State, stopped: str) -> Outcome:
    settled = state.now is not None and state.now.settled(plan.confidence)
    return Outcome(plan, state.now, list(state.history), settled, stopped)


def _launch(plan: Plan, journal: Journal, state: _State) -> str:
    """Fill the free jobs; returns why to stop, or nothing."""
    while True:
        if state.now is not None and state.now.settled(plan.confidence):
            return f"{plan.confidence:.0%} reached"
        used = len(state.seen) + len(state.running)
        if len(state.seen) >= plan.most:
            return f"the budget of {plan.most} evaluations is used up"
        if len(state.blocked) >= (MOST_FAILURES if state.now is None else plan.most):
            return f"{len(state.blocked)} checkpoints could not be evaluated"
        if len(state.running) >= plan.jobs or used >= plan.most:
            return ""
        index = _next(plan, state)
        if index is None:
            return "" if state.running else "no further evaluation would tell more"
        repeat = state.repeats(index)
        known = journal.known(plan.points[index], repeat)
        if known is not None:
            state.take(index, known)
        else:
            slot = min(set(range(plan.jobs)) - {j.slot for j in state.running})
            state.running.append(start(plan.command, plan.points[index], index, repeat, slot, 1))


def _next(plan: Plan, state: _State) -> int | None:
    pending = [job.index for job in state.running]
    if state.now is not None:
        return search.next_index(state.now, pending, state.blocked)
    free = [i for i in range(len(plan.points) - 1, -1, -1) if i not in state.blocked and i not in pending]
    first = [i for i in (len(plan.points) - 1, 0, len(plan.points) // 2, *free) if i in free]
    return first[0] if first else None


def _finish(plan: Plan, journal: Journal, state: _State, job: Job) -> None:
    """Record a finished evaluation, or try a failed one again."""
    value, why = job.result(plan.command)
    if value is None and job.tries <= plan.retries:
        state.running.append(start(plan.command, job.point, job.index, job.repeat, job.slot, job.tries + 1))
        return
    tried = f" (tried {job.tries} times)" if value is None and job.tries > 1 else ""
    done = Evaluation(job.point.step, job.repeat, value, job.seconds, why + tried)
    journal.add(job.point, done)
    state.take(job.index, done)
